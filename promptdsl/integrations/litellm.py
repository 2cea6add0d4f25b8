"""LiteLLM: convert the messages of ``litellm.completion`` both ways. LiteLLM need not be installed.

LiteLLM takes OpenAI Chat messages for all providers. It adds keys for what Chat does not have:
``thinking_blocks``, ``cache_control`` and ``provider_specific_fields``.
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
"""The origin of Chat messages that are read without the name of a server."""
_FIELDS = "provider_specific_fields"
_ITEMS = "reasoning_items"
_OWN_KEYS = (_FIELDS, _ITEMS, "cache_control", "annotations")
"""The keys of a message that are read in this file, or only reported as hints."""


def to_litellm(
    rendered: Rendered, *, strict: bool = False
) -> Converted[list[dict[str, Any]]]:  # Any: these entries are for LiteLLM
    """Return the ``messages`` and ``tools`` of ``litellm.completion``.

    >>> from promptdsl import Timeline, User, render
    >>> from promptdsl.integrations.litellm import to_litellm
    >>> to_litellm(render(Timeline(User("Hi.")))).messages
    [{'role': 'user', 'content': 'Hi.'}]

    Render for the model that LiteLLM calls: texts, roles, cache marks and signatures are written
    for this model, so do not send them to another model.

    Raises :class:`PendingToolCalls` if the last calls have no results yet, and with
    ``strict=True`` :class:`LossError` if text or media is lost.
    """
    target = rendered if rendered.facts.provider else rendered.for_target(_GATEWAY)
    converted = target._through_gateway(_GATEWAY, **_changes_for(target.facts))
    payload = converted._payload()
    losses = partial(_losses, target, converted)
    located = strictly(losses, "LiteLLM") if strict else losses
    # The output schema is a setting of the call, not of the messages.
    converted._warn_of([loss for loss in converted._losses if loss.path != "output"])
    return Converted(payload["messages"], located, tuple(payload.get("tools", ())))


def _losses(rendered: Rendered, converted: Rendered) -> tuple[Loss, ...]:
    """Return the losses of a prompt and of its settings.

    ``converted`` is the prompt as it is written for LiteLLM.
    """
    # The output schema belongs to the call: ``lose_settings`` has a hint for it.
    reported = (*converted.losses, *converted.hints)
    losses = [loss for loss in reported if loss.path != "output"]
    if rendered.facts.wire.two_sided:
        # LiteLLM leaves out names, because these models do not accept them. These models also need
        # tools if there are calls.
        losses = [loss for loss in losses if loss.name != "speaker_name"]
        losses += [hint for hint in rendered.hints if hint.name in ("speaker_name", "no_tools")]
    conversion = Conversion("LiteLLM", tuple(losses))
    conversion.lose_settings(rendered)
    return tuple(conversion.losses)


_AS_AT_A_SERVER = (
    *("later_system", "several_systems", "list_roles", "media", "document_types", "exact_id"),
    *("user_after_results", "result_names", "missing_reasoning"),
)
"""The facts of a Chat server that LiteLLM has, too: it sends Chat messages unchanged."""


@lru_cache(maxsize=64)
def _changes_for(model: ModelFacts) -> dict[str, Any]:  # Any: each fact has its own type
    """Return the facts of LiteLLM that depend on the model that LiteLLM calls."""
    wire = model.wire
    # LiteLLM writes Gemini's signatures into ids, so these may be long (BerriAI/litellm#37849).
    longest_id = 40 if model.provider in ("openai", "openai_responses") else None
    changes: dict[str, Any] = {
        "longest_id": longest_id,
        "names": True,
        "binds_reasoning": model.binds_reasoning,
        "later_system": True,
        "instructions": model.instructions,
        "result_instructions": model.result_instructions,
        # LiteLLM passes cache marks on. For Gemini, it would store only the marked messages in a
        # cache, which changes their order.
        "cache_marks": model.cache_marks,
        "answer_marks": model.answer_marks,
        "tool_marks": model.tool_marks,
        # A model that takes a cache mark after a tool supports these facts of cache_control, too.
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
        # LiteLLM would move a later system message, and tell the model so. So it is sent in a user
        # message, as without LiteLLM. LiteLLM passes on the addresses of files; promptdsl has
        # already loaded other addresses.
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

    Takes dictionaries, and LiteLLM's ``Message``. Reasoning is read from ``thinking_blocks``.
    ``origin`` is the provider that wrote the reasoning: only this provider gets it back. Content
    that is lost is in ``losses``, and lost details are in ``hints``. Raises :class:`TargetError`
    for an unknown origin, and :class:`DataError` for anything but Chat messages.
    """
    originals = [_plain_message(original) for original in listed(messages, "LiteLLM's messages")]
    conversion, read_messages = Conversion("promptdsl"), list[Message]()
    # A Chat server may add any keys. read_payload() refuses an unknown name.
    provider_format: ProviderName = "openai"
    if origin is not None and (
        origin not in provider_names() or ModelFacts(origin).wire.provider_format == provider_format
    ):
        provider_format = origin
    chat_messages = read_payload([*map(_message_of_chat, originals)], provider_format).messages
    try:
        for conversion.index, message in enumerate(chat_messages):
            original = mapping_of(originals[conversion.index])
            read_messages.append(_complete_message(conversion, message, original, origin))
    except DataError as error:
        raise conversion.located(error) from None
    return Converted(tuple(read_messages), conversion.checked(strict=False))


def _plain_message(message: object) -> object:
    """Return a message as a dictionary, with each address of a picture in a mapping, as in Chat."""
    dump = getattr(message, "model_dump", None)
    message = dump(exclude_none=True) if callable(dump) else message
    parts = [mapping_of(part) or part for part in list_of(mapping_of(message).get("content"))]
    for index, part in enumerate(parts):
        entries = mapping_of(part)
        url = entries.get("image_url")
        url = mapping_of(url).get("url", url)
        if isinstance(url, str) and url.startswith("data:") and not url.startswith("data:image/"):
            # LiteLLM writes a file of any type as a picture.
            other_entries = {key: value for key, value in entries.items() if key != "image_url"}
            parts[index] = {**other_entries, "type": "file", "file": {"file_data": url}}
        elif isinstance(entries.get("image_url"), str):
            parts[index] = {**entries, "image_url": {"url": url}}
    return {**mapping_of(message), "content": parts} if parts else message


def _message_of_chat(message: object) -> object:
    """Return a message with only the keys of Chat, without those of replies and of LiteLLM."""
    entries = mapping_of(message)
    if not entries:
        return message
    chat_message = {key: value for key, value in entries.items() if key not in _OWN_KEYS}
    calls, parts = list_of(entries.get("tool_calls")), list_of(entries.get("content"))
    if calls:
        chat_message["tool_calls"] = [
            _without(call, {"index": None, "cache_control": None, "function": (_FIELDS,)})
            for call in calls
        ]
    if parts:
        chat_message["content"] = [
            _without(part, {"image_url": ("format",), "file": ("format",)}) for part in parts
        ]
    for part in list_of(chat_message.get("content")):
        if isinstance(part, dict) and part.get("cache_control"):
            # With this cache mark of Chat, the reader leaves out the empty line before the next
            # text.
            part["prompt_cache_breakpoint"] = True
    return chat_message


def _without(part: JsonValue, paths: Mapping[str, tuple[str, ...] | None]) -> JsonValue:
    """Return a part or a call without some keys.

    ``None`` for a key of ``paths`` removes this key. A tuple removes these keys from the mapping
    under the key.
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
    conversion: Conversion, message: Message, original: JsonObject, origin: str | None
) -> Message:
    """Return a message with what LiteLLM has in addition to Chat: marks, signatures, reasoning."""
    blocks = _marked_blocks(conversion, message.content, original)
    if message.role == "assistant":
        calls = iter(list_of(original.get("tool_calls")))
        for index, block in enumerate(blocks):
            if isinstance(block, ToolUseBlock):
                call = mapping_of(next(calls, None))
                blocks[index] = _signed_call(conversion, block, call, origin)
        blocks = _answer_blocks(blocks, original, origin)
    if original.get("annotations"):
        conversion.hint("unsent_key", "annotations of a message")
    return message if tuple(blocks) == message.content else message.replace(content=tuple(blocks))


def _answer_blocks(blocks: list[Block], original: JsonObject, origin: str | None) -> list[Block]:
    """Return the blocks of an answer: first its reasoning, with the other keys of the answer."""
    chat_reasoning, other_blocks = list[ReasoningBlock](), list[Block]()
    for block in blocks:
        if isinstance(block, ReasoningBlock):
            chat_reasoning.append(block)
        else:
            other_blocks.append(block)
    keys = _further_keys(chat_reasoning, original)
    fields = mapping_of(keys.get(_FIELDS))
    texts = [block for block in other_blocks if isinstance(block, TextBlock)]
    signatures = list_of(fields.get("thought_signatures"))
    is_of_text = len(fields) == len(texts) == len(signatures) == 1
    if is_of_text and isinstance(original.get("content"), str):
        text = texts[0]
        signed = attrs.evolve(text, extra={**text.extra, SIGNATURE: signatures[0]})
        other_blocks[other_blocks.index(text)] = signed
        del keys[_FIELDS]
    reasoning = _reasoning_blocks(chat_reasoning, original, origin)
    if not keys:
        return [*reasoning, *other_blocks]
    first = reasoning[0] if reasoning else ReasoningBlock("", origin=origin)
    extra = {**first.extra, **keys, ORIGIN_KEY: origin or _CHAT}
    return [attrs.evolve(first, extra=extra), *reasoning[1:], *other_blocks]


def _further_keys(
    chat_reasoning: list[ReasoningBlock], original: JsonObject
) -> dict[str, JsonValue]:
    """Return the other keys of an answer, without the copies of the reasoning in them."""
    keys: dict[str, JsonValue] = {}
    for block in chat_reasoning:
        keys |= block.extra
    keys |= {key: original[key] for key in (_FIELDS, _ITEMS) if original.get(key)}
    keys.pop("thinking_blocks", None)
    keys.pop(ORIGIN_KEY, None)
    fields = dict(mapping_of(keys.get(_FIELDS)))
    if "thinking_blocks" in fields and fields["thinking_blocks"] == original.get("thinking_blocks"):
        # LiteLLM has the thinking blocks twice in its replies.
        del fields["thinking_blocks"]
        keys[_FIELDS] = fields
    if not fields:
        keys.pop(_FIELDS, None)
    return keys


def _reasoning_blocks(
    chat_reasoning: list[ReasoningBlock], original: JsonObject, origin: str | None
) -> list[ReasoningBlock]:
    """Return the reasoning of an answer: its thinking blocks, else the text of its reasoning."""
    reasoning = [_read_thinking(part, origin) for part in list_of(original.get("thinking_blocks"))]
    text = original.get("reasoning_content")
    if not isinstance(text, str) or not text:
        return reasoning or [
            attrs.evolve(block, extra={}) for block in chat_reasoning if block.text
        ]
    if reasoning:
        return [_with_item(reasoning[0], {"reasoning_content": text}), *reasoning[1:]]
    return [ReasoningBlock(text, origin=origin or _CHAT)]


def _with_item(block: ReasoningBlock, recorded: JsonObject) -> ReasoningBlock:
    """Return a reasoning block with more data under ``ITEM``."""
    return attrs.evolve(
        block, extra={**block.extra, ITEM: {**mapping_of(block.extra.get(ITEM)), **recorded}}
    )


def _marked_blocks(
    conversion: Conversion, blocks: tuple[Block, ...], original: JsonObject
) -> list[Block]:
    """Return the blocks of a message with the cache marks and the media types of its parts."""
    parts = [mapping_of(part) for part in list_of(original.get("content"))]
    match blocks:
        case [ToolResultBlock() as result, *_]:
            content = _marked_contents(conversion, result.content, parts)
            marked: list[Block] = [attrs.evolve(result, content=tuple(content))]
        case _:
            marked = _marked_contents(conversion, blocks, parts)
    # The cache mark of the message belongs to the text if the content is a text, else to the last
    # block.
    cache_mark = conversion.read_cache(original.get("cache_control"))
    texts = [index for index, block in enumerate(marked) if isinstance(block, TextBlock)]
    if cache_mark and texts and isinstance(original.get("content"), str):
        text = marked[texts[0]]
        assert isinstance(text, TextBlock)
        marked[texts[0]] = attrs.evolve(text, cache=cache_mark, extra={ITEM: MESSAGE_CACHE_MARK})
    elif cache_mark and marked and isinstance(marked[-1], CacheableBlock):
        marked[-1] = attrs.evolve(marked[-1], cache=cache_mark)
    elif cache_mark:
        conversion.hint("cache_mark", "a cache mark", "there is nothing before it")
    return marked


def _marked_contents(
    conversion: Conversion, blocks: tuple[Block, ...], parts: list[JsonObject]
) -> list[Block]:
    """Return the blocks of a content, each with the cache mark and the media type of its part."""
    marked = [*blocks]
    for index, (block, part) in enumerate(zip(blocks, parts, strict=False)):
        cache_mark = conversion.read_cache(part.get("cache_control"))
        if "cache_control" in part and isinstance(block, CacheableBlock):
            marked[index] = attrs.evolve(block, cache=cache_mark)
        media = marked[index]
        if isinstance(media, MediaBlock):
            fields = mapping_of(part.get("file", part.get("image_url")))
            marked[index] = attrs.evolve(media, source=_source(media, fields.get("format")))
    return marked


def _source(block: MediaBlock, media_type: JsonValue) -> MediaSource:
    """Return the source of an attachment, with the media type that LiteLLM has next to it.

    LiteLLM has a URL under the key of an id.
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
    """Return a call with its cache mark; with Gemini's signature if it has no other field."""
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


def _read_thinking(part: JsonValue, origin: str | None) -> ReasoningBlock:
    """Return the reasoning of a thinking block.

    LiteLLM has the reasoning of all providers in Anthropic's format. Raises :class:`DataError` for
    anything but a dictionary.
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
    # Gemini signs parts, not reasoning.
    is_usual = set(entries) == keys and (block.signature or block.encrypted) and origin != "gemini"
    return block if is_usual else _with_item(block, {"thinking": dict(entries)})
