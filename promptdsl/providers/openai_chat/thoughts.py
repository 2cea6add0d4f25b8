"""Write and read the reasoning of servers with the Chat format, and the keys they take back.

Such a server sends its reasoning under a key of the answer, or between tags at the beginning of the
text. Some servers send further keys: signatures, or reasoning in pieces. The facts of a server have
the keys that it takes back.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.models import OPEN
from promptdsl.foundation.frozen import EMPTY, is_list, is_mapping, mapping_or_empty, text_or_empty
from promptdsl.foundation.json import JsonObject
from promptdsl.messages import Block, ReasoningBlock, TextBlock, ToolUseBlock
from promptdsl.messages.read_blocks import text_block
from promptdsl.providers.openai_chat.parts import ChatRequest
from promptdsl.providers.shared.blocks import (
    ITEM,
    ORIGIN_KEY,
    SIGNATURE,
    is_sendable,
    is_signed,
    json_copy,
    lose_keys,
    lose_reasoning,
)
from promptdsl.providers.shared.openai_parts import SEPARATOR, ChatLike, is_current, why_foreign
from promptdsl.providers.shared.request import OWN_SEPARATOR, Location, Param, joined_texts
from promptdsl.providers.shared.streamed import merge, replace

GEMINI = "gemini"
"""The provider whose signatures LiteLLM puts into the fields of answers and calls."""
THINKING_BLOCKS = "thinking_blocks"
"""LiteLLM's key of an answer for its signed reasoning, in Anthropic's format."""
THINKING = "thinking"
"""The key in the recorded data of a block for reasoning in Anthropic's format."""
FIELDS = "provider_specific_fields"
"""LiteLLM's key of an answer or a call with a signature of Gemini, and other fields."""
TEXT_KEYS = ("reasoning_content", "reasoning", "reasoning_text")
"""The keys of an answer whose value is its reasoning as a text."""
STATE_KEYS = ("reasoning_details", "reasoning_opaque", THINKING_BLOCKS, "extra_content")
"""The keys of an answer for reasoning in another format, or a signature."""
CALL_KEYS = ("extra_content", FIELDS)
"""The further keys of a call."""
Tags: TypeAlias = tuple[str, str, str]
"""The tags around reasoning, and the white space between them and the text."""
GAP = "gap"
"""The key for the white space after reasoning between tags. It is never sent."""
_IN_PIECES = {"reasoning_details": ("text", "summary", "data"), THINKING_BLOCKS: ("thinking",)}
"""By key of an answer with a list, the keys of its items that are streamed in pieces."""
_SUBSTITUTE = "skip_thought_signature_validator"
"""The substitute for a signature that another model did not write (Google's documentation)."""


# Reading.


def read_reasoning(answer: Param, facts: ModelFacts) -> list[Block]:
    """Return the reasoning under the keys of an answer. Its first block has the further keys.

    Some servers send the same text under two keys.
    """
    keys = dict.fromkeys((*TEXT_KEYS, facts.reasoning_key))
    texts = [answer.get(key) for key in keys if key not in (None, "content")]
    read = dict.fromkeys(map(text_or_empty, texts))
    read.pop("", None)
    state = {key: answer[key] for key in (*STATE_KEYS, *facts.kept_keys) if answer.get(key)}
    origin = facts.wire.unnamed
    thoughts: list[Block] = [ReasoningBlock(text, origin=origin) for text in read]
    if state:
        text = next(iter(read), "")
        extra = {**state, ORIGIN_KEY: origin}
        thoughts[:1] = [ReasoningBlock(text, origin=origin, extra=extra)]
    return thoughts


def read_tagged(blocks: Sequence[Block], facts: ModelFacts) -> list[Block]:
    """Return the blocks of a content; reasoning between tags at its beginning is a block."""
    tags = facts.thinking_tags
    first = blocks[0] if blocks else None
    if tags is None or not isinstance(first, TextBlock) or not first.text.startswith(tags[0]):
        return [*blocks]
    thought, closing, text = first.text.removeprefix(tags[0]).partition(tags[1])
    if not closing:
        return [*blocks]
    answer = text.lstrip()
    item: JsonObject = {"tags": [*tags, text[: len(text) - len(answer)]]}
    rest: list[Block] = [text_block(answer)] if answer else []
    reasoning = ReasoningBlock(thought, origin=facts.wire.unnamed, extra={ITEM: item})
    return [reasoning, *rest, *blocks[1:]]


def text_after_reasoning(text: str, tags: tuple[str, str]) -> str:
    """Return the text after reasoning between tags, empty while it may still be reasoning."""
    opening, closing = tags
    if opening.startswith(text):
        return ""
    if not text.startswith(opening):
        return text
    return text.removeprefix(opening).partition(closing)[2].lstrip()


def read_call_keys(call: Param, facts: ModelFacts) -> JsonObject:
    """Return the further keys of a call as the ``extra`` of its block, with their origin."""
    keys = {key: call[key] for key in (*CALL_KEYS, *facts.kept_keys) if call.get(key)}
    return {**keys, ORIGIN_KEY: facts.wire.unnamed} if keys else EMPTY


def add_state(message: Param, delta: Param, kept_keys: Sequence[str]) -> None:
    """Move the further keys of an answer from a delta to the message of a stream.

    Lists of reasoning come in pieces. Other values are complete, and the last one is used.
    """
    for key in dict.fromkeys((*STATE_KEYS, *kept_keys)):
        if key in TEXT_KEYS:
            continue
        piece = delta.pop(key, None)
        if key in _IN_PIECES and is_list(piece):
            message[key] = _joined_items(message.get(key) or (), piece, _IN_PIECES[key])
        elif piece:
            replace(message, {key: piece})


def _joined_items(
    items: Sequence[Any], pieces: Sequence[Any], text_keys: Sequence[str]
) -> list[Any]:  # Any: JSON
    """Return items with the pieces of a delta. Pieces of one type and number are one item."""
    joined = [*items]
    for piece in pieces:
        location = _location_of(joined, piece)
        if location is None:
            joined.append(piece)
            continue
        longer: Param = dict(joined[location])
        merge(longer, {key: piece[key] for key in text_keys if key in piece})
        replace(longer, {key: piece[key] for key in piece if key not in text_keys})
        joined[location] = longer
    return joined


def _location_of(items: Sequence[Any], piece: Any) -> int | None:  # Any: JSON
    """Return the index of the item that a piece continues, ``None`` if it begins an item.

    The item has the same number as the piece, or else the same id. Without these it is the last
    item. An item with a signature is complete.
    """
    if not is_mapping(piece):
        return None
    name = next((key for key in ("index", "id") if piece.get(key) is not None), None)
    for location in range(len(items) - 1, -1, -1):
        item: Any = items[location]
        if not is_mapping(item) or item.get("type") != piece.get("type"):
            continue
        if name is not None and item.get(name) != piece.get(name):
            continue
        if item.get("signature") or item.get("data"):
            return None
        return location if name is not None or location == len(items) - 1 else None
    return None


# Writing.


def send_reasoning(
    request: ChatRequest, location: Location, parts: list[Param], entry: Param, *, calls: bool
) -> None:
    """Add the reasoning of an answer, which was put aside, to its entry or its parts."""
    thoughts, request.pending_reasoning = request.pending_reasoning, []
    facts = request.facts
    key = None if facts.reasoning_key == "content" else facts.reasoning_key
    texts: list[Param] = []
    tagged: list[Param] = []
    for block, index in thoughts:
        request.block_index = index
        kept = _send_keys(request, location, block, entry)
        if is_thinking(block, facts):
            texts += _send_thinking(request, location, block, entry)
            continue
        tags = _tags_of(block, facts)
        why = _why_left_out(request, location, block, has_key=bool(key or tags))
        if why:
            if not kept or block.text not in _text_in(kept):
                request.hint(location, "unsent_reasoning", "reasoning block", why)
            continue
        if not block.text and ITEM not in block.extra:
            continue
        param: Param = {"type": "text", "text": request.clean(location, block.text, "reasoning")}
        request.note(location, block, param)
        _hint_moved_reasoning(request, location, index)
        if tags:
            tagged.append(_between_tags(request, param, tags))
        else:
            texts.append(param)
    request.block_index = None
    _put_before(parts, tagged)
    if texts:
        entry[str(key)] = joined_texts(SEPARATOR, texts, request.notes)
    elif calls and key and facts.missing_reasoning is not None and is_current(request, location):
        entry.setdefault(key, facts.missing_reasoning)


def _text_in(value: object) -> str:
    """Return all texts in a value, one after the other."""
    if is_mapping(value):
        return "".join(map(_text_in, value.values()))
    if is_list(value):
        return "".join(map(_text_in, value))
    return text_or_empty(value)


def _send_keys(request: ChatLike, location: Location, block: ReasoningBlock, entry: Param) -> Param:
    """Add the further keys of reasoning to an answer, and return those that are sent.

    Lists of several thoughts are joined. An answer has only one of any other value, so an earlier
    one is lost. Chat has no field for a signature next to the text.
    """
    facts = request.facts
    kept = _kept(block.extra, facts) if block.origin in facts.answer_origins else {}
    for key, value in kept.items():
        known = entry.get(key)
        if is_list(known) and is_list(value):
            entry[key] = [*known, *value]
            continue
        if known is not None and known != value:
            why = "an answer has one value for this key, and a later one is sent"
            request.lose(location, "content", f"key {key!r}", why)
        entry[key] = value
    if ORIGIN_KEY in block.extra:
        lose_keys(request, location, block, sent_keys=kept)
    signed = bool(block.signature or block.encrypted)
    if signed and block.origin in facts.answer_origins and not is_thinking(block, facts):
        why = f"{facts.provider} has no field for it"
        request.lose(location, "content", "the signature of reasoning", why)
    return kept


def is_thinking(block: ReasoningBlock, facts: ModelFacts) -> bool:
    """Return whether reasoning is sent to LiteLLM in Anthropic's format: signed, or read so.

    Otherwise there is no field for a signature of Gemini next to its text.
    """
    is_signed_elsewhere = block.origin != GEMINI and bool(block.signature or block.encrypted)
    return facts.litellm_keys and (is_signed_elsewhere or THINKING in _item_of(block))


def _send_thinking(
    request: ChatRequest, location: Location, block: ReasoningBlock, entry: Param
) -> list[Param]:
    """Add reasoning in Anthropic's format to an answer; return the text recorded with it."""
    why = why_foreign(request, block)
    if not why and location.message_index < request.first_valid_reasoning:
        why = "the content before it has changed"
    if why:
        lose_reasoning(request, location, block, why)
        return []
    item = _item_of(block)
    param: Param = {"type": "thinking", "thinking": block.text, "signature": block.signature}
    if block.encrypted:
        param = {"type": "redacted_thinking", "data": block.encrypted}
    if is_mapping(recorded := item.get(THINKING)):
        param = json_copy(dict(recorded))
    if not is_sendable(request, location, *map(str, param.values())):
        return []
    request.note(location, block, param)
    entry.setdefault(THINKING_BLOCKS, []).append(param)
    _hint_moved_reasoning(request, location, request.block_index or 0)
    text = item.get("reasoning_content")
    if not isinstance(text, str):
        return []
    return [{"type": "text", "text": request.clean(location, text, "reasoning")}]


def _hint_moved_reasoning(request: ChatRequest, location: Location, index: int) -> None:
    """Record a hint if reasoning after other parts of an answer is sent before them."""
    if any(block.type != "reasoning" for block in location.message.content[:index]):
        why = "it comes after other parts of the answer, but Chat sends it before them"
        request.hint(location, "moved_reasoning", "reasoning block", why)


def _item_of(block: ReasoningBlock) -> Mapping[str, object]:
    return mapping_or_empty(block.extra.get(ITEM))


def _why_left_out(
    request: ChatLike, location: Location, block: ReasoningBlock, *, has_key: bool
) -> str:
    """Return why the text of reasoning is not sent, empty if it is.

    ``has_key`` is whether there is a key or a pair of tags for it.
    """
    facts = request.facts
    foreign = why_foreign(request, block)
    if foreign and facts.wire.is_server:
        return foreign
    if facts.reasoning_back == "never" and not facts.kept_keys:
        why = "the target takes no such block in an assistant message"
        advice = ": name the server, such as provider='deepseek', or register_provider()"
        return f"{why}{advice}" if facts.provider == OPEN else why
    if foreign:
        return foreign
    if not is_current(request, location):
        return f"{facts.provider} takes only reasoning of the current turn"
    if facts.reasoning_back == "never" or not has_key:
        return f"{facts.provider} takes no reasoning as a text"
    return ""


def _kept(extra: JsonObject, facts: ModelFacts) -> Param:
    return {key: json_copy(extra[key]) for key in extra if key in facts.kept_keys}


def _tags_of(block: ReasoningBlock, facts: ModelFacts) -> Tags | None:
    """Return the tags around reasoning that is sent: the recorded ones, or the server's."""
    match block.extra.get(ITEM):
        case {"tags": [str() as opening, str() as closing, str() as gap]}:
            return opening, closing, gap
        case _ if facts.reasoning_key == "content" and facts.thinking_tags:
            return (*facts.thinking_tags, "\n")
        case _:
            return None


def _between_tags(request: ChatLike, param: Param, tags: Tags) -> Param:
    """Return reasoning between tags, with the white space after it."""
    opening, closing, gap = tags
    param["text"] = f"{opening}{param['text']}{closing}"
    param[GAP] = gap
    request.note_change(param, param, lead=len(opening))
    return param


def _put_before(parts: list[Param], tagged: list[Param]) -> None:
    """Put reasoning between tags before the parts of an answer."""
    before = [*tagged, *parts]
    for number, param in enumerate(tagged, 1):
        gap = param.pop(GAP)
        if number < len(before) and before[number]["type"] == "text":
            before[number].setdefault(OWN_SEPARATOR, gap)
    parts[:] = before


def signature_for(block: TextBlock | ToolUseBlock, facts: ModelFacts) -> str:
    """Return the signature of Gemini on a block that is sent to Gemini, empty without one."""
    signature = block.extra.get(SIGNATURE)
    if isinstance(signature, str) and (facts.signatures or GEMINI in facts.answer_origins):
        return signature
    return ""


def call_keys(request: ChatLike, location: Location, block: ToolUseBlock, *, first: bool) -> Param:
    """Return the further keys of a call that its server takes back. Others are losses.

    If the model asks for a signature, the first call of a step gets one: a signature that Gemini
    wrote elsewhere, or a substitute.
    """
    facts = request.facts
    is_returned = block.extra.get(ORIGIN_KEY) in facts.answer_origins
    keys = _kept(block.extra, facts) if is_returned else {}
    sent = [*keys]
    signature = signature_for(block, facts)
    if facts.litellm_keys:
        # If a model needs a substitute, LiteLLM sends it.
        if signature:
            keys.setdefault(FIELDS, {SIGNATURE: signature})
            sent.append(SIGNATURE)
    elif facts.signatures and not is_signed("extra_content", keys.get("extra_content")):
        if signature:
            sent.append(SIGNATURE)
            keys["extra_content"] = {"google": {SIGNATURE: signature}}
        elif first:
            reason = "this model needs one on the first call of a step, so a substitute is sent"
            request.hint(location, "unsigned_call", "a call without a signature", reason)
            keys["extra_content"] = {"google": {SIGNATURE: _SUBSTITUTE}}
    lose_keys(request, location, block, sent_keys=("custom", *sent))
    return keys
