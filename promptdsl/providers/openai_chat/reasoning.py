"""Read and write the reasoning of servers with the Chat format, and the keys they take back.

Such a server sends its reasoning under a key of the answer, or between tags at the beginning of the
text. Some servers send further keys: signatures, or reasoning in pieces. The facts of a server name
the keys that the server takes back. Read ``read_reasoning`` and ``send_reasoning`` first.
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
"""The provider whose signatures LiteLLM puts into answers and calls, under ``FIELDS``."""
THINKING_BLOCKS = "thinking_blocks"
"""LiteLLM's key of an answer for its signed reasoning, in Anthropic's format."""
THINKING = "thinking"
"""The key in the note ``ITEM`` of a block for reasoning in Anthropic's format."""
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
"""The key for the white space after reasoning between tags. The key is never sent."""
_IN_PIECES = {"reasoning_details": ("text", "summary", "data"), THINKING_BLOCKS: ("thinking",)}
"""By the key of a list in an answer, the keys of its items that are streamed in pieces."""
_SUBSTITUTE = "skip_thought_signature_validator"
"""The substitute for a signature that another model did not write (Google's documentation)."""


# Read reasoning.


def read_reasoning(answer: Param, facts: ModelFacts) -> list[Block]:
    """Return the reasoning under the keys of an answer. The first block has the further keys.

    Some servers send the same text under two keys. Such a text becomes one block.
    """
    text_keys = dict.fromkeys((*TEXT_KEYS, facts.reasoning_key))
    texts = [answer.get(key) for key in text_keys if key not in (None, "content")]
    texts_in_order = dict.fromkeys(map(text_or_empty, texts))
    texts_in_order.pop("", None)
    state = {key: answer[key] for key in (*STATE_KEYS, *facts.kept_keys) if answer.get(key)}
    origin = facts.wire.unnamed
    reasoning: list[Block] = [ReasoningBlock(text, origin=origin) for text in texts_in_order]
    if state:
        text = next(iter(texts_in_order), "")
        extra = {**state, ORIGIN_KEY: origin}
        reasoning[:1] = [ReasoningBlock(text, origin=origin, extra=extra)]
    return reasoning


def read_tagged(blocks: Sequence[Block], facts: ModelFacts) -> list[Block]:
    """Return the blocks of a content. Reasoning between tags at its beginning becomes a block."""
    tags = facts.thinking_tags
    first = blocks[0] if blocks else None
    if tags is None or not isinstance(first, TextBlock) or not first.text.startswith(tags[0]):
        return [*blocks]
    reasoning_text, closing, text = first.text.removeprefix(tags[0]).partition(tags[1])
    if not closing:
        return [*blocks]
    answer = text.lstrip()
    tags_and_gap: JsonObject = {"tags": [*tags, text[: len(text) - len(answer)]]}
    rest: list[Block] = [text_block(answer)] if answer else []
    reasoning = ReasoningBlock(
        reasoning_text, origin=facts.wire.unnamed, extra={ITEM: tags_and_gap}
    )
    return [reasoning, *rest, *blocks[1:]]


def text_after_reasoning(text: str, tags: tuple[str, str]) -> str:
    """Return the text after reasoning between tags, empty as long as all may be reasoning."""
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

    Lists of reasoning come in pieces. Other values are complete: a later value replaces an earlier.
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
    """Return items with the pieces of a delta. Pieces with one type and index become one item."""
    joined = [*items]
    for piece in pieces:
        index = _index_of_item(joined, piece)
        if index is None:
            joined.append(piece)
            continue
        longer_item: Param = dict(joined[index])
        merge(longer_item, {key: piece[key] for key in text_keys if key in piece})
        replace(longer_item, {key: piece[key] for key in piece if key not in text_keys})
        joined[index] = longer_item
    return joined


def _index_of_item(items: Sequence[Any], piece: Any) -> int | None:  # Any: JSON
    """Return the index of the item that a piece continues, ``None`` if it begins an item.

    It is the item with the same index as the piece, or else with the same id. If the piece has
    neither, it is the last item. An item with a signature or encrypted data is complete.
    """
    if not is_mapping(piece):
        return None
    name = next((key for key in ("index", "id") if piece.get(key) is not None), None)
    for index in range(len(items) - 1, -1, -1):
        item: Any = items[index]
        if not is_mapping(item) or item.get("type") != piece.get("type"):
            continue
        if name is not None and item.get(name) != piece.get(name):
            continue
        if item.get("signature") or item.get("data"):
            return None
        return index if name is not None or index == len(items) - 1 else None
    return None


# Write reasoning.


def send_reasoning(
    request: ChatRequest,
    location: Location,
    parts: list[Param],
    message_param: Param,
    *,
    calls: bool,
) -> None:
    """Add the pending reasoning of an answer to its param, or to the beginning of its parts."""
    pending, request.pending_reasoning = request.pending_reasoning, []
    facts = request.facts
    key = None if facts.reasoning_key == "content" else facts.reasoning_key
    texts: list[Param] = []
    tagged: list[Param] = []
    for block, index in pending:
        request.block_index = index
        sent_keys = _send_keys(request, location, block, message_param)
        if is_thinking(block, facts):
            texts += _send_thinking(request, location, block, message_param)
            continue
        tags = _tags_of(block, facts)
        why = _why_left_out(request, location, block, has_key=bool(key or tags))
        if why:
            if not sent_keys or block.text not in _text_in(sent_keys):
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
        message_param[str(key)] = joined_texts(SEPARATOR, texts, request.notes)
    elif calls and key and facts.missing_reasoning is not None and is_current(request, location):
        message_param.setdefault(key, facts.missing_reasoning)


def _text_in(value: object) -> str:
    """Return all texts in a value, one after the other."""
    if is_mapping(value):
        return "".join(map(_text_in, value.values()))
    if is_list(value):
        return "".join(map(_text_in, value))
    return text_or_empty(value)


def _send_keys(
    request: ChatLike, location: Location, block: ReasoningBlock, message_param: Param
) -> Param:
    """Add the further keys of reasoning to an answer, and return them.

    The lists of several reasoning blocks are joined. Of any other value, an answer can have only
    one, so a later value replaces an earlier, which is a loss. Chat has no field for the signature
    of a reasoning text, so the signature is a loss, too.
    """
    facts = request.facts
    sent_keys = _keys_to_send(block.extra, facts) if block.origin in facts.answer_origins else {}
    for key, value in sent_keys.items():
        earlier = message_param.get(key)
        if is_list(earlier) and is_list(value):
            message_param[key] = [*earlier, *value]
            continue
        if earlier is not None and earlier != value:
            why = "an answer can have one value for this key, so only the last value is sent"
            request.lose(location, "content", f"key {key!r}", why)
        message_param[key] = value
    if ORIGIN_KEY in block.extra:
        lose_keys(request, location, block, sent_keys=sent_keys)
    is_signed_block = bool(block.signature or block.encrypted)
    if is_signed_block and block.origin in facts.answer_origins and not is_thinking(block, facts):
        why = f"{facts.provider} has no field for it"
        request.lose(location, "content", "the signature of reasoning", why)
    return sent_keys


def is_thinking(block: ReasoningBlock, facts: ModelFacts) -> bool:
    """Return whether reasoning is sent in Anthropic's format, which only LiteLLM takes.

    It is if it was read in this format, or if it is signed. Gemini's signatures do not count: they
    have no field in this format.
    """
    is_signed_elsewhere = block.origin != GEMINI and bool(block.signature or block.encrypted)
    return facts.litellm_keys and (is_signed_elsewhere or THINKING in _recording_of(block))


def _send_thinking(
    request: ChatRequest, location: Location, block: ReasoningBlock, message_param: Param
) -> list[Param]:
    """Add reasoning in Anthropic's format to an answer.

    Returns a list with the text that was recorded under ``reasoning_content``, empty without one.
    """
    why = why_foreign(request, block)
    if not why and location.message_index < request.first_valid_reasoning:
        why = "the content before it has changed"
    if why:
        lose_reasoning(request, location, block, why)
        return []
    recording = _recording_of(block)
    param: Param = {"type": "thinking", "thinking": block.text, "signature": block.signature}
    if block.encrypted:
        param = {"type": "redacted_thinking", "data": block.encrypted}
    if is_mapping(recorded_param := recording.get(THINKING)):
        param = json_copy(dict(recorded_param))
    if not is_sendable(request, location, *map(str, param.values())):
        return []
    request.note(location, block, param)
    message_param.setdefault(THINKING_BLOCKS, []).append(param)
    _hint_moved_reasoning(request, location, request.block_index or 0)
    text = recording.get("reasoning_content")
    if not isinstance(text, str):
        return []
    return [{"type": "text", "text": request.clean(location, text, "reasoning")}]


def _hint_moved_reasoning(request: ChatRequest, location: Location, index: int) -> None:
    """Record a hint if reasoning was after other parts of an answer: it is sent before them."""
    if any(block.type != "reasoning" for block in location.message.content[:index]):
        why = "it comes after other parts of the answer, but Chat sends it before them"
        request.hint(location, "moved_reasoning", "reasoning block", why)


def _recording_of(block: ReasoningBlock) -> Mapping[str, object]:
    """Return the note ``ITEM`` about how reasoning was recorded, empty without one."""
    return mapping_or_empty(block.extra.get(ITEM))


def _why_left_out(
    request: ChatLike, location: Location, block: ReasoningBlock, *, has_key: bool
) -> str:
    """Return why the text of reasoning is not sent, empty if it is.

    ``has_key`` says whether the target has a key or a pair of tags for it.
    """
    facts = request.facts
    why_refused = why_foreign(request, block)
    if why_refused and facts.wire.is_server:
        return why_refused
    if facts.reasoning_back == "never" and not facts.kept_keys:
        why = "the target takes no such block in an assistant message"
        advice = ": name the server, such as provider='deepseek', or register_provider()"
        return f"{why}{advice}" if facts.provider == OPEN else why
    if why_refused:
        return why_refused
    if not is_current(request, location):
        return f"{facts.provider} takes only reasoning of the current turn"
    if facts.reasoning_back == "never" or not has_key:
        return f"{facts.provider} takes no reasoning as a text"
    return ""


def _keys_to_send(extra: JsonObject, facts: ModelFacts) -> Param:
    """Return the keys in ``extra`` that a server takes back."""
    return {key: json_copy(extra[key]) for key in extra if key in facts.kept_keys}


def _tags_of(block: ReasoningBlock, facts: ModelFacts) -> Tags | None:
    """Return the tags to put around reasoning: the recorded tags, or the server's; or ``None``."""
    match block.extra.get(ITEM):
        case {"tags": [str() as opening, str() as closing, str() as gap]}:
            return opening, closing, gap
        case _ if facts.reasoning_key == "content" and facts.thinking_tags:
            return (*facts.thinking_tags, "\n")
        case _:
            return None


def _between_tags(request: ChatLike, param: Param, tags: Tags) -> Param:
    """Put a reasoning param between tags, and note the white space after it."""
    opening, closing, gap = tags
    param["text"] = f"{opening}{param['text']}{closing}"
    param[GAP] = gap
    request.note_change(param, param, lead=len(opening))
    return param


def _put_before(parts: list[Param], tagged: list[Param]) -> None:
    """Put reasoning between tags before the parts of an answer."""
    parts_in_order = [*tagged, *parts]
    for index, param in enumerate(tagged, 1):
        gap = param.pop(GAP)
        if index < len(parts_in_order) and parts_in_order[index]["type"] == "text":
            parts_in_order[index].setdefault(OWN_SEPARATOR, gap)
    parts[:] = parts_in_order


def signature_for(block: TextBlock | ToolUseBlock, facts: ModelFacts) -> str:
    """Return Gemini's signature on a block if the target is Gemini, otherwise an empty text."""
    signature = block.extra.get(SIGNATURE)
    if isinstance(signature, str) and (facts.signatures or GEMINI in facts.answer_origins):
        return signature
    return ""


def call_keys(request: ChatLike, location: Location, block: ToolUseBlock, *, first: bool) -> Param:
    """Return the further keys of a call that its server takes back. Other keys are hints or losses.

    If the model asks for signatures, the call gets Gemini's own signature. Without one, the
    ``first`` call of an answer gets a substitute.
    """
    facts = request.facts
    is_returned = block.extra.get(ORIGIN_KEY) in facts.answer_origins
    keys = _keys_to_send(block.extra, facts) if is_returned else {}
    sent_keys = [*keys]
    signature = signature_for(block, facts)
    if facts.litellm_keys:
        # If a model needs a substitute, LiteLLM sends it.
        if signature:
            keys.setdefault(FIELDS, {SIGNATURE: signature})
            sent_keys.append(SIGNATURE)
    elif facts.signatures and not is_signed("extra_content", keys.get("extra_content")):
        if signature:
            sent_keys.append(SIGNATURE)
            keys["extra_content"] = {"google": {SIGNATURE: signature}}
        elif first:
            reason = "this model needs one on the first call of a step, so a substitute is sent"
            request.hint(location, "unsigned_call", "a call without a signature", reason)
            keys["extra_content"] = {"google": {SIGNATURE: _SUBSTITUTE}}
    lose_keys(request, location, block, sent_keys=("custom", *sent_keys))
    return keys
