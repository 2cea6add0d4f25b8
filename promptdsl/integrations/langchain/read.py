"""Reads LangChain's messages, also those with content parts in the formats of providers.

Read ``_read_message`` first.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence

from langchain_core import messages as lc

from promptdsl import (
    Block,
    DataError,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    UnknownBlock,
    block_from_dict,
)
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.integrations import Converted
from promptdsl.integrations.langchain.details import (
    NATIVE,
    ORIGINS,
    ROLE_KEY,
    SIGNATURES_KEY,
    read_reasoning,
    read_usage,
)
from promptdsl.integrations.shared import (
    SIGNATURE,
    Conversion,
    address_source,
    instruction_role,
    joined_reasoning,
    list_of,
    mapping_of,
    media_block,
    media_kind,
    message_list,
)

_BLOCK_TYPES = {
    "image": "image",
    "audio": "audio",
    "video": "video",
    "file": "document",
    "text-plain": "document",
}
"""The type of an attachment's block, by the type of its part."""
_CALL_TYPES = (
    *("tool_call", "invalid_tool_call", "tool_call_chunk", "input_json_delta"),
    *("tool_use", "function_call", "custom_tool_call"),
)
"""The types of the parts that are calls. A reply also has its calls outside of the content."""
_LANGCHAIN_ONLY = (
    *("server_tool_call", "server_tool_call_chunk", "server_tool_result"),
    *_BLOCK_TYPES,
)
"""The types of the parts that no provider has in its own format."""


class LangChainReader(Conversion):
    """A conversion from LangChain; ``current`` is the message that is read now."""

    current: lc.BaseMessage

    @property
    def origin(self) -> str | None:
        """The provider of the current message, by promptdsl's name if there is one."""
        provider: str | None = self.current.response_metadata.get("model_provider")
        return ORIGINS.get(provider or "", provider)


def read(messages: object) -> Converted[tuple[Message, ...]]:
    """Return the messages of a LangChain conversation; see ``from_langchain``."""
    reader, read_messages = LangChainReader("promptdsl"), list[Message]()
    conversation = message_list(messages, "LangChain's messages")
    try:
        for reader.index, source in enumerate(conversation):
            read_messages.append(_read_message(reader, source, read_messages))
    except DataError as error:
        raise reader.located(error) from None
    return Converted(tuple(read_messages), reader.checked(strict=False))


def _read_message(reader: LangChainReader, source: object, before: Sequence[Message]) -> Message:
    """Return a message of LangChain; ``before`` are the messages before it.

    Raises :class:`DataError` for an object of another class.
    """
    if not isinstance(source, lc.AIMessage | lc.ToolMessage | lc.HumanMessage | lc.SystemMessage):
        fix = "give system, human, AI and tool messages"
        raise DataError(f"a {type(source).__name__} is not a message of a conversation", fix=fix)
    reader.current = source
    if isinstance(source, lc.AIMessage):
        return _read_reply(reader, source)
    content = _read_content(reader, source.content)
    if isinstance(source, lc.ToolMessage):
        if source.artifact is not None:
            reader.hint("unsent_key", "the artifact of a result")
        is_error = source.status == "error"
        result = ToolResultBlock(source.tool_call_id, content, source.name, is_error=is_error)
        return Message("tool", (result,), kind="recorded")
    if isinstance(source, lc.HumanMessage):
        return Message("user", content, kind="recorded", name=source.name)
    is_developer = source.additional_kwargs.get(ROLE_KEY) == "developer"
    role, kind = instruction_role(before, is_developer=is_developer)
    return Message(role, content, kind=kind, name=source.name)


def _read_reply(reader: LangChainReader, reply: lc.AIMessage) -> Message:
    """Return an answer. Reasoning and a refusal may be outside of its content; calls always are."""
    blocks = list(_read_content(reader, reply.content))
    kwargs: Mapping[str, object] = reply.additional_kwargs
    # Older messages have reasoning outside of the content: an item of OpenAI Responses, or a text.
    if not any(isinstance(block, ReasoningBlock) for block in blocks):
        item, text = mapping_of(kwargs.get("reasoning")), kwargs.get("reasoning_content")
        if "summary" in item:
            blocks.insert(0, read_reasoning({"type": "reasoning", **item}, reader.origin))
        elif text and isinstance(text, str):
            blocks.insert(0, ReasoningBlock(text, origin=reader.origin))
    # After the content: a spoken answer, a refusal, and calls with their signatures.
    audio = kwargs.get("audio")
    if isinstance(audio, bytes):
        data = b64encode(audio).decode("ascii")
        blocks.append(media_block("audio", "audio/wav", {"data": data}))
    elif audio:
        reader.lose("content", "a spoken answer")
    refusal = kwargs.get("refusal")
    if refusal:
        blocks.append(TextBlock(str(refusal), extra={"refusal": True}))
    signatures = mapping_of(kwargs.get(SIGNATURES_KEY))
    for index, call in enumerate((*reply.tool_calls, *reply.invalid_tool_calls)):
        if call.get("error"):
            reader.hint("unsent_key", "the error of a call")
        signature = signatures.get(call["id"] or "")
        signed = {} if signature is None else {SIGNATURE: signature}
        arguments = "" if call["args"] is None else call["args"]
        use = {"type": "tool_use", "id": call["id"] or f"call_{index}", "input": arguments}
        blocks.append(block_from_dict({**use, "name": call["name"] or "", **signed}))
    reasons = map(reply.response_metadata.get, ("finish_reason", "stop_reason", "stopReason"))
    return Message(
        "assistant",
        tuple(blocks),
        kind="recorded",
        name=reply.name,
        token_usage=read_usage(reader, reply.usage_metadata),
        finish_reason=next(filter(None, reasons), None),
        raw_finish_reason=reply.response_metadata.get("raw_finish_reason"),
    )


def _read_content(reader: LangChainReader, content: object) -> tuple[Block, ...]:
    """Return the blocks of a content without the calls of a model, which the message also has."""
    parts = [content] if isinstance(content, str) else list_of(content)
    blocks = (block for part in parts for block in _part_blocks(reader, part))
    # Empty texts are left out.
    return joined_reasoning(
        block for block in blocks if not isinstance(block, TextBlock) or block.text or block.extra
    )


def _part_blocks(reader: LangChainReader, part: JsonValue) -> Iterable[Block]:
    """Return the blocks of a part; a call in a reply has none here.

    Raises :class:`DataError` for a part that is not valid.
    """
    if isinstance(part, str):
        return [TextBlock(part)]
    outer = mapping_of(part)
    is_standard = outer.get("type") != "non_standard"
    inner = outer if is_standard else outer.get("value")
    if not isinstance(inner, Mapping):
        raise DataError("the value of a 'non_standard' block must be a dictionary")
    kind = inner.get("type")
    if isinstance(reader.current, lc.AIMessage) and kind in _CALL_TYPES:
        return []
    if kind == "tool_result":
        return [_read_result(reader, inner)]
    if kind == "redacted_thinking":
        encrypted, origin = inner.get("data"), reader.origin or "anthropic"
        data = {"type": "reasoning", "text": "", "encrypted": encrypted, "origin": origin}
        return [block_from_dict(data)]
    if is_standard:
        return _standard_blocks(reader, outer)
    # A block of the type "non_standard" stays unchanged.
    if kind == "unknown":
        return [block_from_dict(inner)]
    return [UnknownBlock(inner)] if reader.origin is None else _unknown_blocks(reader, inner)


def _read_result(reader: LangChainReader, part: JsonObject) -> ToolResultBlock:
    """Return the result in a part of Anthropic. Raises :class:`DataError` for a wrong part."""
    content = _read_content(reader, part.get("content") or "")
    if any(isinstance(block, ToolResultBlock) for block in content):
        raise DataError("a 'tool_result' block may not contain a 'tool_result' block")
    id = part.get("tool_use_id")
    if not isinstance(id, str):
        raise DataError("a 'tool_result' block needs 'tool_use_id', a string")
    cache = reader.read_cache(part.get("cache_control"))
    return ToolResultBlock(id, content, is_error=part.get("is_error") is True, cache=cache)


def _standard_blocks(reader: LangChainReader, original: JsonObject) -> Iterator[Block]:
    """Yield the blocks of a part; LangChain converts the part to standard content blocks."""
    for part in _standard_parts(reader, original):
        kind, text = part.get("type"), part.get("text")
        extras = {**part, **mapping_of(part.get("extras"))}
        cache_control = {**original, **extras}.get("cache_control")
        source = _source_of(part)
        if kind == "reasoning":
            yield read_reasoning(part, reader.origin)
        elif isinstance(text, str) and kind in ("text", "text-plain"):
            if any(extras.get(key) or original.get(key) for key in ("annotations", "citations")):
                reader.hint("unsent_key", "annotations of a text")
            if extras.get("title"):
                reader.hint("media_field", "the title of an attachment")
            if extras.get("context"):
                reader.lose("content", "the context of an attachment")
            signature = extras.get("signature")
            signed = {SIGNATURE: signature} if isinstance(signature, str) else {}
            yield TextBlock(text, reader.read_cache(cache_control), signed)
        elif isinstance(kind, str) and kind in _BLOCK_TYPES and source:
            media_type = part.get("mime_type", "text/plain" if kind == "text-plain" else None)
            title = extras.get("filename") if extras.get("title") is None else extras["title"]
            # Only a document may have these keys.
            document_keys = ("context", "citations") if _BLOCK_TYPES[kind] == "document" else ()
            yield media_block(
                _BLOCK_TYPES[kind],
                media_type,
                source,
                title=title,
                detail=extras.get("detail"),
                cache=reader.read_cache(cache_control),
                **{key: extras[key] for key in document_keys if extras.get(key)},
            )
        else:
            yield from _unknown_blocks(reader, original)


def _standard_parts(reader: LangChainReader, part: JsonObject) -> Sequence[JsonObject]:
    """Return the standard content blocks for a part; LangChain converts most parts itself.

    Raises :class:`DataError` for a part that LangChain cannot convert.
    """
    if part.get("type") == "reasoning":
        return [part]
    if part.get("type") == "media":
        kind = media_kind(part.get("mime_type"))
        addresses = {"base64": part.get("data"), "url": part.get("file_uri")}
        return [
            {
                "type": "file" if kind == "document" else kind,
                "mime_type": part.get("mime_type"),
                **{key: value for key, value in addresses.items() if value is not None},
            }
        ]
    message_class = lc.AIMessage if isinstance(reader.current, lc.AIMessage) else lc.HumanMessage
    metadata = reader.current.response_metadata
    try:
        blocks = message_class([dict(part)], response_metadata=metadata).content_blocks
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        name = f"a block of type {part.get('type')!r}"
        raise DataError(f"{name} cannot be read: {error}") from None
    return [mapping_of(block) for block in blocks]


def _source_of(part: JsonObject) -> JsonObject:
    """Return the source of a part as a dictionary; it is empty for a part without a source."""
    data: object = part.get("base64")
    if data is not None:
        text = b64encode(data).decode("ascii") if isinstance(data, bytes) else data
        return mapping_of({"data": text})
    if part.get("url") is not None:
        return address_source(part["url"])
    id = part.get("file_id", part.get("id"))
    return {} if id is None else {"file_id": id}


def _unknown_blocks(reader: LangChainReader, part: JsonObject) -> Iterator[Block]:
    """Yield a part unchanged if it has the format of a provider; record a loss for other parts."""
    data = {key: value for key, value in part.items() if key != "index"}
    if reader.origin in NATIVE and data.get("type") not in _LANGCHAIN_ONLY:
        yield UnknownBlock(data, reader.origin)
    elif "cachePoint" in data or "cache_point" in data:
        reader.hint("cache_mark", "a cache point")
    else:
        reader.lose("content", f"a block of type {data.get('type')!r}")
