"""LiteLLM: convert the messages of ``litellm.completion`` both ways. LiteLLM is not needed.

LiteLLM takes OpenAI Chat messages for all providers. It has its own keys for what Chat does not
have: ``thinking_blocks``, ``cache_control``, ``provider_specific_fields``.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, Final

import attrs

from promptdsl import (
    Block,
    DataError,
    Loss,
    MediaSource,
    Message,
    ModelFacts,
    ProviderName,
    ReasoningBlock,
    Rendered,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    block_from_dict,
    provider_names,
    read_payload,
)
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.integrations import Converted
from promptdsl.integrations.shared import (
    ITEM,
    MESSAGE_CACHE_MARK,
    ORIGIN_KEY,
    SIGNATURE,
    CacheableBlock,
    Conversion,
    MediaBlock,
    list_of,
    listed,
    mapping_of,
    strictly,
)

__all__ = ["from_litellm", "to_litellm"]

_GATEWAY: Final = "litellm"
"""The provider format of LiteLLM's messages."""
_CHAT = "openai_compatible"
"""The origin of what is read in Chat format without the name of a server."""
_FIELDS = "provider_specific_fields"
_ITEMS = "reasoning_items"
_OWN_KEYS = (_FIELDS, _ITEMS, "cache_control", "annotations")
"""The keys of a message that are read here, or only reported as hints."""


def to_litellm(
    rendered: Rendered, *, strict: bool = False
) -> Converted[list[dict[str, Any]]]:  # Any: these entries are for LiteLLM
    """Return the ``messages`` and ``tools`` of ``litellm.completion``.

    >>> from promptdsl import Timeline, User, render
    >>> from promptdsl.integrations.litellm import to_litellm
    >>> to_litellm(render(Timeline(User("Hi.")))).messages
    [{'role': 'user', 'content': 'Hi.'}]

    Render for the model that LiteLLM calls. Texts, roles, cache marks and signatures are written
    for this model, so do not send them to another model.

    Raises :class:`PendingToolCalls` when the last calls have no result yet, and with
    ``strict=True`` :class:`LossError` when text or media is lost.
    """
    target = rendered if rendered.facts.provider else rendered.for_target(_GATEWAY)
    written = target._through_gateway(_GATEWAY, **_changes_for(target.facts))
    payload = written._payload()
    losses = partial(_losses, target, written)
    located = strictly(losses, "LiteLLM") if strict else losses
    # The output schema is a setting of the call.
    written._warn_of([loss for loss in written._losses if loss.path != "output"])
    return Converted(payload["messages"], located, tuple(payload.get("tools", ())))


def _losses(rendered: Rendered, written: Rendered) -> tuple[Loss, ...]:
    """Return the losses of a prompt that is written for LiteLLM, and of its settings."""
    # The output schema belongs to the call: that is a separate hint.
    reported = (*written.losses, *written.hints)
    losses = [loss for loss in reported if loss.path != "output"]
    if rendered.facts.wire.two_sided:
        # LiteLLM leaves out names, because these models do not take them. They also need tools.
        losses = [loss for loss in losses if loss.name != "speaker_name"]
        losses += [hint for hint in rendered.hints if hint.name in ("speaker_name", "no_tools")]
    conversion = Conversion("LiteLLM", tuple(losses))
    conversion.lose_settings(rendered)
    return tuple(conversion.losses)


_AS_AT_A_SERVER = (
    *("later_system", "several_systems", "list_roles", "media", "document_types", "exact_id"),
    *("user_after_results", "result_names", "missing_reasoning"),
)
"""The facts of a Chat server that are true for LiteLLM, too: it sends Chat messages unchanged."""


@lru_cache(maxsize=64)
def _changes_for(model: ModelFacts) -> dict[str, Any]:  # Any: each fact has its own type
    """Return the facts of LiteLLM that depend on the model that it calls."""
    wire = model.wire
    # Gemini's signatures are in ids (BerriAI/litellm#37849).
    longest_id = 40 if model.provider in ("openai", "openai_responses") else None
    changes: dict[str, Any] = {
        "longest_id": longest_id,
        "names": True,
        "binds_reasoning": model.binds_reasoning,
        "later_system": True,
        "instructions": model.instructions,
        "result_instructions": model.result_instructions,
        # Cache marks are passed on. For Gemini, LiteLLM would store only the marked messages in a
        # cache, which changes their order.
        "cache_marks": model.cache_marks,
        "answer_marks": model.answer_marks,
        "tool_marks": model.tool_marks,
        # These are facts of cache_control: models that take a mark after a tool have it.
        "lasting_marks": model.tool_marks,
        "message_marks": model.tool_marks,
        # A model that takes blocks gets a separate block for each text.
        "joins_texts": wire.joins or not wire.two_sided,
        "media": model.media,
        "tool_schemas": model.tool_schemas,
        "strict_schemas": model.strict_schemas,
    }
    if wire.provider_format == "openai" and model.provider != _GATEWAY:
        changes |= {name: getattr(model, name) for name in _AS_AT_A_SERVER}
    if wire.two_sided:
        # LiteLLM would move a later system message and tell the model so. Therefore it is sent in a
        # user message, as without LiteLLM. Addresses of files are passed on; other addresses are
        # already loaded.
        changes |= {"later_system": False, "file_addresses": True}
    if wire.provider_format == "anthropic":
        changes["result_media"] = ("image", "document")
    return changes


def from_litellm(
    messages: Iterable[object], *, origin: ProviderName | None = None
) -> Converted[tuple[Message, ...]]:
    """Return the messages of a LiteLLM conversation, for a ``History``.

    >>> from promptdsl.integrations.litellm import from_litellm
    >>> from_litellm([{"role": "user", "content": "Hi."}]).messages[0].text
    'Hi.'

    Takes dictionaries and LiteLLM's own ``Message``. Reasoning is read from ``thinking_blocks``.
    ``origin`` is the provider that wrote it; only that provider gets it again. Losses are in
    ``losses``. Raises :class:`TargetError` for an unknown origin, :class:`DataError` for anything
    but Chat messages.
    """
    items = [_plain_message(item) for item in listed(messages, "LiteLLM's messages")]
    conversion, read_messages = Conversion("promptdsl"), list[Message]()
    # A Chat server may have any other keys. An unknown name is refused when the payload is read.
    named: ProviderName = "openai"
    if origin is not None and (
        origin not in provider_names() or ModelFacts(origin).wire.provider_format == named
    ):
        named = origin
    chat_messages = read_payload([*map(_message_of_chat, items)], named).messages
    try:
        for conversion.index, message in enumerate(chat_messages):
            item = mapping_of(items[conversion.index])
            read_messages.append(_complete_message(conversion, message, item, origin))
    except DataError as error:
        raise conversion.located(error) from None
    return Converted(tuple(read_messages), conversion.checked(strict=False))


def _plain_message(item: object) -> object:
    """Return a message as a dictionary, with each address in a mapping, as in Chat."""
    dump = getattr(item, "model_dump", None)
    item = dump(exclude_none=True) if callable(dump) else item
    parts = [mapping_of(part) or part for part in list_of(mapping_of(item).get("content"))]
    for index, part in enumerate(parts):
        entries = mapping_of(part)
        url = entries.get("image_url")
        url = mapping_of(url).get("url", url)
        if isinstance(url, str) and url.startswith("data:") and not url.startswith("data:image/"):
            # LiteLLM also writes a file of another type as a picture.
            others = {key: value for key, value in entries.items() if key != "image_url"}
            parts[index] = {**others, "type": "file", "file": {"file_data": url}}
        elif isinstance(entries.get("image_url"), str):
            parts[index] = {**entries, "image_url": {"url": url}}
    return {**mapping_of(item), "content": parts} if parts else item


def _message_of_chat(item: object) -> object:
    """Return a message with only the keys of Chat: without those of replies and of LiteLLM."""
    entries = mapping_of(item)
    if not entries:
        return item
    chat_item = {key: value for key, value in entries.items() if key not in _OWN_KEYS}
    calls, parts = list_of(entries.get("tool_calls")), list_of(entries.get("content"))
    if calls:
        chat_item["tool_calls"] = [
            _without(call, {"index": None, "cache_control": None, "function": (_FIELDS,)})
            for call in calls
        ]
    if parts:
        chat_item["content"] = [
            _without(part, {"image_url": ("format",), "file": ("format",)}) for part in parts
        ]
    for part in list_of(chat_item.get("content")):
        if isinstance(part, dict) and part.get("cache_control"):
            # A blank line before the text after this Chat mark is left out when it is read.
            part["prompt_cache_breakpoint"] = True
    return chat_item


def _without(part: JsonValue, paths: Mapping[str, tuple[str, ...] | None]) -> JsonValue:
    """Return a part or a call without some keys; ``None`` for a key removes it completely.

    Otherwise only the inner keys are removed from the mapping under that key.
    """
    if not isinstance(part, Mapping):
        return part
    entries = dict(part)
    for key, inner_keys in paths.items():
        if inner_keys is None:
            entries.pop(key, None)
        elif isinstance(entries.get(key), Mapping):
            inner = mapping_of(entries[key])
            entries[key] = {key: value for key, value in inner.items() if key not in inner_keys}
    return entries


def _complete_message(
    conversion: Conversion, message: Message, item: JsonObject, origin: str | None
) -> Message:
    """Return a message with everything that LiteLLM has in addition to its content."""
    blocks = _marked_blocks(conversion, message.content, item)
    if message.role == "assistant":
        calls = iter(list_of(item.get("tool_calls")))
        for index, block in enumerate(blocks):
            if isinstance(block, ToolUseBlock):
                call = mapping_of(next(calls, None))
                blocks[index] = _signed_call(conversion, block, call, origin)
        blocks = _answer_blocks(blocks, item, origin)
    if item.get("annotations"):
        conversion.hint("unsent_key", "annotations of a message")
    return message if tuple(blocks) == message.content else message.replace(content=tuple(blocks))


def _answer_blocks(blocks: list[Block], item: JsonObject, origin: str | None) -> list[Block]:
    """Return the blocks of an answer: its reasoning with the other keys, then the other blocks."""
    chat_thoughts, others = list[ReasoningBlock](), list[Block]()
    for block in blocks:
        if isinstance(block, ReasoningBlock):
            chat_thoughts.append(block)
        else:
            others.append(block)
    keys = _further_keys(chat_thoughts, item)
    fields = mapping_of(keys.get(_FIELDS))
    texts = [block for block in others if isinstance(block, TextBlock)]
    signatures = list_of(fields.get("thought_signatures"))
    is_of_text = len(fields) == len(texts) == len(signatures) == 1
    if is_of_text and isinstance(item.get("content"), str):
        text = texts[0]
        signed = attrs.evolve(text, extra={**text.extra, SIGNATURE: signatures[0]})
        others[others.index(text)] = signed
        del keys[_FIELDS]
    thoughts = _thoughts(chat_thoughts, item, origin)
    if not keys:
        return [*thoughts, *others]
    first = thoughts[0] if thoughts else ReasoningBlock("", origin=origin)
    extra = {**first.extra, **keys, ORIGIN_KEY: origin or _CHAT}
    return [attrs.evolve(first, extra=extra), *thoughts[1:], *others]


def _further_keys(chat_thoughts: list[ReasoningBlock], item: JsonObject) -> dict[str, JsonValue]:
    """Return the other keys of an answer, without the copy of the reasoning in them."""
    keys: dict[str, JsonValue] = {}
    for block in chat_thoughts:
        keys |= block.extra
    keys |= {key: item[key] for key in (_FIELDS, _ITEMS) if item.get(key)}
    keys.pop("thinking_blocks", None)
    keys.pop(ORIGIN_KEY, None)
    fields = dict(mapping_of(keys.get(_FIELDS)))
    if "thinking_blocks" in fields and fields["thinking_blocks"] == item.get("thinking_blocks"):
        # LiteLLM repeats the thinking blocks in its replies.
        del fields["thinking_blocks"]
        keys[_FIELDS] = fields
    if not fields:
        keys.pop(_FIELDS, None)
    return keys


def _thoughts(
    chat_thoughts: list[ReasoningBlock], item: JsonObject, origin: str | None
) -> list[ReasoningBlock]:
    """Return the reasoning of an answer: its thinking blocks, else its text."""
    thoughts = [_read_thought(part, origin) for part in list_of(item.get("thinking_blocks"))]
    text = item.get("reasoning_content")
    if not isinstance(text, str) or not text:
        return thoughts or [attrs.evolve(block, extra={}) for block in chat_thoughts if block.text]
    if thoughts:
        return [_with_item(thoughts[0], {"reasoning_content": text}), *thoughts[1:]]
    return [ReasoningBlock(text, origin=origin or _CHAT)]


def _with_item(block: ReasoningBlock, item: JsonObject) -> ReasoningBlock:
    """Return reasoning with more data under ``ITEM``."""
    return attrs.evolve(
        block, extra={**block.extra, ITEM: {**mapping_of(block.extra.get(ITEM)), **item}}
    )


def _marked_blocks(
    conversion: Conversion, blocks: tuple[Block, ...], item: JsonObject
) -> list[Block]:
    """Return the blocks of a message with the cache marks and the media types of its parts."""
    parts = [mapping_of(part) for part in list_of(item.get("content"))]
    match blocks:
        case [ToolResultBlock() as result, *_]:
            content = _marked_contents(conversion, result.content, parts)
            marked: list[Block] = [attrs.evolve(result, content=tuple(content))]
        case _:
            marked = _marked_contents(conversion, blocks, parts)
    # The mark of the message: it belongs to the text if the content is one, else to the last block.
    mark = conversion.read_cache(item.get("cache_control"))
    texts = [index for index, block in enumerate(marked) if isinstance(block, TextBlock)]
    if mark and texts and isinstance(item.get("content"), str):
        text = marked[texts[0]]
        assert isinstance(text, TextBlock)
        marked[texts[0]] = attrs.evolve(text, cache=mark, extra={ITEM: MESSAGE_CACHE_MARK})
    elif mark and marked and isinstance(marked[-1], CacheableBlock):
        marked[-1] = attrs.evolve(marked[-1], cache=mark)
    elif mark:
        conversion.hint("cache_mark", "a cache mark", "there is nothing before it")
    return marked


def _marked_contents(
    conversion: Conversion, blocks: tuple[Block, ...], parts: list[JsonObject]
) -> list[Block]:
    """Return the blocks of parts, each with the cache mark and the media type of its part."""
    marked = [*blocks]
    for index, (block, part) in enumerate(zip(blocks, parts, strict=False)):
        mark = conversion.read_cache(part.get("cache_control"))
        if "cache_control" in part and isinstance(block, CacheableBlock):
            marked[index] = attrs.evolve(block, cache=mark)
        media = marked[index]
        if isinstance(media, MediaBlock):
            fields = mapping_of(part.get("file", part.get("image_url")))
            marked[index] = attrs.evolve(media, source=_source(media, fields.get("format")))
    return marked


def _source(block: MediaBlock, media_type: JsonValue) -> MediaSource:
    """Return the source of an attachment, with the media type that LiteLLM has next to it.

    LiteLLM takes a URL in the key of an id.
    """
    source = block.source
    if isinstance(media_type, str):
        source = attrs.evolve(source, media_type=source.media_type or media_type)
    if source.kind == "file_id" and source.value.startswith(("http://", "https://")):
        source = attrs.evolve(source, kind="url")
    return source


def _signed_call(
    conversion: Conversion, block: ToolUseBlock, call: JsonObject, origin: str | None
) -> ToolUseBlock:
    """Return a call with its cache mark, and with Gemini's signature if that is its only field."""
    cache = conversion.read_cache(call.get("cache_control")) or block.cache
    extra: dict[str, JsonValue] = dict(block.extra)
    fields = mapping_of(call.get(_FIELDS))
    of_function = dict(mapping_of(mapping_of(call.get("function")).get(_FIELDS)))
    if fields.keys() <= {SIGNATURE}:
        signature = fields.get(SIGNATURE, of_function.pop(SIGNATURE, None))
        if isinstance(signature, str):
            extra.pop(_FIELDS, None)
            extra[SIGNATURE] = signature
    if of_function:
        conversion.hint("unsent_key", f"{_FIELDS} of a function")
    extra.pop(ORIGIN_KEY, None)
    if not extra.keys() <= {SIGNATURE}:
        extra[ORIGIN_KEY] = origin or _CHAT
    return attrs.evolve(block, extra=extra, cache=cache)


def _read_thought(part: JsonValue, origin: str | None) -> ReasoningBlock:
    """Return the reasoning of a thinking block.

    LiteLLM has the reasoning of all providers in this format of Anthropic.
    """
    if not isinstance(part, Mapping):
        raise DataError(f"a thinking block must be a dictionary, not {type(part).__name__}")
    entries = mapping_of(part)
    if entries.get("type") == "redacted_thinking":
        content, keys = {"text": "", "encrypted": entries.get("data")}, {"type", "data"}
    else:
        content = {"text": entries.get("thinking") or "", "signature": entries.get("signature")}
        keys = {"type", "thinking", "signature"}
    block = block_from_dict({"type": "reasoning", **content, "origin": origin})
    assert isinstance(block, ReasoningBlock)
    # Gemini signs parts, not thoughts.
    is_usual = set(entries) == keys and (block.signature or block.encrypted) and origin != "gemini"
    return block if is_usual else _with_item(block, {"thinking": dict(entries)})
