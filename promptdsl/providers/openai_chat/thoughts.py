"""The reasoning of servers near Chat, and the further keys that go back to them, both ways.

Such a server writes its reasoning under a key of the answer, or between tags at the beginning of
the text, and some write further keys: signatures, or reasoning in pieces. The facts of a server say
which of these it takes again.
"""

from collections.abc import Sequence
from typing import Any

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.frozen import EMPTY, is_list, is_mapping
from promptdsl.foundation.json import JsonObject
from promptdsl.messages import Block, ReasoningBlock, TextBlock, ToolUseBlock
from promptdsl.messages.fast_path import text_block
from promptdsl.providers.shared.blocks import FROM, ITEM, SIGNATURE, lose_keys
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.openai_parts import JOINT, ChatLike, why_foreign
from promptdsl.providers.shared.request import Param, Place
from promptdsl.providers.shared.sent_places import OWN_JOINT, joined_texts
from promptdsl.providers.shared.streamed import merge, replace

ORIGIN = "openai_compatible"
"""The origin of what is read of such a server without its name."""

TEXT_KEYS = ("reasoning_content", "reasoning", "reasoning_text")
"""The keys of an answer whose value is its reasoning as a text."""
STATE_KEYS = ("reasoning_details", "reasoning_opaque", "thinking_blocks", "extra_content")
"""The keys of an answer with its reasoning in another form, or with a signature."""
CALL_KEYS = ("extra_content", "provider_specific_fields")
"""The further keys of a call."""
_IN_PIECES = {"reasoning_details": ("text", "summary", "data"), "thinking_blocks": ("thinking",)}
"""By key of an answer with a list, the keys of its items that come in pieces in a stream."""
_SUBSTITUTE = "skip_thought_signature_validator"
"""What stands for a signature that another model did not write (Google, "Thought signatures")."""


# Reading.


def read_thoughts(answer: Param, kept_keys: Sequence[str]) -> list[Block]:
    """Return the reasoning under the keys of an answer; its further keys belong to the first.

    Some servers write the same text under two keys.
    """
    texts = [answer.get(key) for key in TEXT_KEYS]
    read = dict.fromkeys(text for text in texts if text and isinstance(text, str))
    state = {key: answer[key] for key in (*STATE_KEYS, *kept_keys) if answer.get(key)}
    thoughts: list[Block] = [ReasoningBlock(text, origin=ORIGIN) for text in read]
    if state:
        text = next(iter(read), "")
        extra = {**state, FROM: ORIGIN}
        thoughts[:1] = [ReasoningBlock(text, origin=ORIGIN, extra=extra)]
    return thoughts


def read_tagged(blocks: Sequence[Block], tags: tuple[str, str] | None) -> list[Block]:
    """Return the blocks of a content with the reasoning between ``tags`` at its beginning apart."""
    first = blocks[0] if blocks else None
    if tags is None or not isinstance(first, TextBlock) or not first.text.startswith(tags[0]):
        return [*blocks]
    thought, closing, text = first.text.removeprefix(tags[0]).partition(tags[1])
    if not closing:
        return [*blocks]
    answer = text.lstrip()
    gap = text[: len(text) - len(answer)]
    item: JsonObject = {"tags": [*tags], "gap": gap}
    rest: list[Block] = [text_block(answer)] if answer else []
    return [ReasoningBlock(thought, origin=ORIGIN, extra={ITEM: item}), *rest, *blocks[1:]]


def read_call_keys(call: Param, kept_keys: Sequence[str]) -> JsonObject:
    """Return the further keys of a call as the ``extra`` of its block, with their origin."""
    keys = {key: call[key] for key in (*CALL_KEYS, *kept_keys) if call.get(key)}
    return {**keys, FROM: ORIGIN} if keys else EMPTY


def add_state(message: Param, delta: Param) -> None:
    """Move the keys with reasoning in another form from a delta to the message of a stream."""
    for key in STATE_KEYS:
        piece = delta.pop(key, None)
        if key in _IN_PIECES and is_list(piece):
            message[key] = _joined_items(message.get(key) or (), piece, _IN_PIECES[key])
        elif piece:
            replace(message, {key: piece})


def _joined_items(
    items: Sequence[Any], pieces: Sequence[Any], text_keys: Sequence[str]
) -> list[Any]:  # Any: JSON
    """Return items with the pieces of a delta: those of one type and number are one item."""
    joined = [*items]
    for piece in pieces:
        last: Any = joined[-1] if joined else None
        both = is_mapping(last) and is_mapping(piece)
        if not both or any(last.get(key) != piece.get(key) for key in ("type", "index")):
            joined.append(piece)
            continue
        if last.get("signature") or last.get("data"):
            # An item with a signature is whole.
            joined.append(piece)
            continue
        longer: Param = dict(last)
        merge(longer, {key: piece[key] for key in text_keys if key in piece})
        replace(longer, {key: piece[key] for key in piece if key not in text_keys})
        joined[-1] = longer
    return joined


# Writing.


def send_thoughts(
    request: ChatLike, place: Place, parts: list[Param], entry: Param, *, calls: bool
) -> None:
    """Add the reasoning of an answer that was put aside to its entry, or to its parts."""
    thoughts, request.thoughts = request.thoughts, []
    facts, key = request.facts, request.facts.reasoning_key
    is_current = facts.reasoning_back != "turn" or place.number > request.asked
    texts: list[Param] = []
    for block, at in thoughts:
        takes_some = facts.reasoning_back != "never" or facts.kept_keys
        refused = why_foreign(request, block) if takes_some else _why_never(facts)
        kept = {} if refused else _kept(block.extra, facts.kept_keys)
        for name, value in kept.items():
            known = entry.get(name)
            entry[name] = [*known, *value] if is_list(known) and is_list(value) else value
        request.block = at
        if FROM in block.extra:
            lose_keys(request, place, block, known=kept)
        tags = _tags_of(block, facts)
        goes_back = facts.reasoning_back != "never" and is_current and (key or tags)
        if refused or not (goes_back or kept):
            why = refused or f"{facts.provider} takes that of the current turn alone"
            request.hint(place, "unsent_reasoning", "reasoning block", why)
        elif goes_back and block.text:
            text = request.clean(place, block.text, "reasoning")
            param: Param = {"type": "text", "text": text}
            request.note(place, block, param)
            if tags:
                _put_between_tags(request, parts, param, tags)
                item: Any = block.extra.get(ITEM) or {}  # Any: JSON
                if len(parts) > 1 and parts[1]["type"] == "text":
                    parts[1].setdefault(OWN_JOINT, str(item.get("gap", "\n")))
            else:
                texts.append(param)
        request.block = None
    if texts:
        entry[str(key)] = joined_texts(JOINT, texts, request.notes)
    elif calls and is_current and facts.missing_reasoning is not None:
        entry[str(key)] = facts.missing_reasoning


def _why_never(facts: ModelFacts) -> str:
    why = "the target takes no such block in an assistant message"
    if facts.provider != ORIGIN:
        return why
    return f"{why}: name the server, such as provider='deepseek', or register_provider()"


def _kept(extra: JsonObject, kept_keys: Sequence[str]) -> dict[str, Any]:  # Any: JSON
    return {key: json_copy(extra[key]) for key in extra if key in kept_keys}


def _tags_of(block: ReasoningBlock, facts: ModelFacts) -> Sequence[str] | None:
    """Return the tags that reasoning goes back in: those it came in, or those of the server."""
    item = block.extra.get(ITEM)
    tags = item.get("tags") if is_mapping(item) else None
    if is_list(tags) and len(tags) == len([tag for tag in tags if isinstance(tag, str)]) == 2:
        return [str(tag) for tag in tags]
    return facts.thinking_tags if facts.reasoning_key == "content" else None


def _put_between_tags(
    request: ChatLike, parts: list[Param], param: Param, tags: Sequence[str]
) -> None:
    """Put reasoning between tags before the first text of an answer."""
    opening, closing = tags
    param["text"] = f"{opening}{param['text']}{closing}"
    request.note_change(param, param, lead=len(opening))
    parts.insert(0, param)


def call_keys(request: ChatLike, place: Place, block: ToolUseBlock, *, first: bool) -> Param:
    """Return the further keys of a call that its server takes again; others are losses.

    The first call of a step needs a signature where the model asks for one: the one that Gemini
    wrote elsewhere, or a substitute.
    """
    facts = request.facts
    own = block.extra.get(FROM) in facts.origins
    keys = _kept(block.extra, facts.kept_keys) if own else {}
    sent = [*keys]
    if facts.signatures and "extra_content" not in keys:
        signature = block.extra.get(SIGNATURE)
        if isinstance(signature, str) and signature:
            sent.append(SIGNATURE)
            keys["extra_content"] = {"google": {SIGNATURE: signature}}
        elif first:
            reason = "this model needs one on the first call of a step: a substitute is sent"
            request.hint(place, "unsigned_call", "a call without a signature", reason)
            keys["extra_content"] = {"google": {SIGNATURE: _SUBSTITUTE}}
    lose_keys(request, place, block, known=("custom", *sent))
    return keys
