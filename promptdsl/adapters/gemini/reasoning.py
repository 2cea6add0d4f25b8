"""Thoughts and their signatures, both ways: replayed on exactly the part they came with."""

import base64
from typing import Any

from promptdsl.adapters.gemini.spelling import is_base64
from promptdsl.blocks import ReasoningBlock, optional
from promptdsl.encoding import is_whole
from promptdsl.messages import Message
from promptdsl.wire.entries import entry
from promptdsl.wire.request import Param
from promptdsl.wire.turns import Turns

SIGNATURE = "thought_signature"

UNSIGNED = base64.b64encode(b"skip_thought_signature_validator").decode()
"""What stands for a signature that is missing, as Google's documentation of them has it."""

_WORDS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
SUBSTITUTES = frozenset(
    {*_WORDS, *(base64.b64encode(word.encode()).decode() for word in _WORDS)},
)
"""All that is documented to stand for one, as text and as bytes."""


def thought_param(request: Turns, block: ReasoningBlock) -> Param | None:
    """Return a thought as a part, ``None`` (a hint) where it cannot be replayed."""
    signature = "" if block.signature in SUBSTITUTES else block.signature or ""
    mine = request.message.role == "assistant" and block.origin == "gemini"
    if not (mine and is_whole(block.text) and is_base64(signature)):
        request.lose("hint", "reasoning", "not of this provider, or it cannot be sent as it came")
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


def ask_signature(request: Turns, param: Param) -> None:
    """Note the message of a call without a signature, where it stands for one until all is said."""
    if request.facts.signatures and SIGNATURE not in param:
        param[SIGNATURE] = request.message


def settle_signatures(request: Turns) -> None:
    """Give the first call of each step a signature, where the model refuses one without.

    Each step of the conversation, not only of the current turn, which is all that is asked: what
    was sent once stays. On the other calls of a step the substitute would do harm.
    """
    for turn in request.turns:
        calls = [part for part in turn["content"] if "function_call" in part]
        for number, part in enumerate(calls):
            said = part.get(SIGNATURE)
            if isinstance(said, Message):
                _substitute(request, part, said, first=number == 0)


def _substitute(request: Turns, part: Param, said: Message, *, first: bool) -> None:
    del part[SIGNATURE]
    if first:
        part[SIGNATURE] = UNSIGNED
        why = "this model needs one on the first call of a step: a substitute is sent"
        request.lose("hint", "a call without a signature", why, subject=said)


def kept_signature(value: object) -> str | None:
    """Return a signature as it came, ``None`` for a substitute and what the SDK would refuse."""
    if not isinstance(value, str) or value in SUBSTITUTES:
        return None
    return value if value and is_base64(value) else None
