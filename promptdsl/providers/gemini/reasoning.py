"""Thoughts and their signatures, both ways: replayed on exactly the part they came with."""

import base64
from typing import Any

from promptdsl.foundation.unicode import is_whole
from promptdsl.messages import ReasoningBlock
from promptdsl.messages.field_checks import optional
from promptdsl.messages.message import Message
from promptdsl.providers.gemini.spelling import is_base64
from promptdsl.providers.shared.checks import entry
from promptdsl.providers.shared.request import Param, Place, loss_about
from promptdsl.providers.shared.two_sided import Turns

SIGNATURE = "thought_signature"

UNSIGNED = base64.b64encode(b"skip_thought_signature_validator").decode()
"""What stands for a signature that is missing, as Google's documentation of them has it."""

_WORDS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
SUBSTITUTES = frozenset(
    {*_WORDS, *(base64.b64encode(word.encode()).decode() for word in _WORDS)},
)
"""All that is documented to stand for one, as text and as bytes."""


def thought_param(request: Turns, place: Place, block: ReasoningBlock) -> Param | None:
    """Return a thought as a part, ``None`` (a hint) where it cannot be replayed."""
    signature = "" if block.signature in SUBSTITUTES else block.signature or ""
    mine = place.message.role == "assistant" and block.origin == "gemini"
    if not (mine and is_whole(block.text) and is_base64(signature)):
        why = "not of this provider, or it cannot be sent as it came"
        request.lose(place, "hint", "reasoning", why)
        return None
    if not (block.text or signature):
        return None
    signed = {SIGNATURE: signature} if signature else {}
    return {"text": block.text, "thought": True, **signed}


def read_thought(entries: dict[str, Any]) -> ReasoningBlock:
    """Return the block of a thought that was recorded."""
    text = entry(entries, "text", str)
    signature = optional(entries.get(SIGNATURE), SIGNATURE)
    return ReasoningBlock(text, signature, origin="gemini")


def ask_signature(request: Turns, place: Place, param: Param) -> None:
    """Note the message of a call without a signature, where it stands for one until all is said."""
    if request.facts.signatures and SIGNATURE not in param:
        param[SIGNATURE] = place.message


def signed(request: Turns, parts: list[Param]) -> list[Param]:
    """Return what a model said in a step, the first call signed where the model asks for it.

    In each step of the conversation, not only in the current turn, which is all that is asked: what
    was sent once stays. On the other calls of a step the substitute would do harm.
    """
    calls, sent = 0, parts
    for place, part in enumerate(parts):
        if "function_call" not in part:
            continue
        calls += 1
        said = part.get(SIGNATURE)
        if isinstance(said, Message):
            sent = [*parts] if sent is parts else sent
            sent[place] = _substituted(request, part, said, first=calls == 1)
    return sent


def _substituted(request: Turns, part: Param, said: Message, *, first: bool) -> Param:
    unsigned = {key: value for key, value in part.items() if key != SIGNATURE}
    if not first:
        return unsigned
    why = "this model needs one on the first call of a step: a substitute is sent"
    request.late.append(loss_about(said, "hint", "a call without a signature", why))
    return {**unsigned, SIGNATURE: UNSIGNED}


def kept_signature(value: object) -> str | None:
    """Return a signature as it came, ``None`` for a substitute and what the SDK would refuse."""
    if not isinstance(value, str) or value in SUBSTITUTES:
        return None
    return value if value and is_base64(value) else None
