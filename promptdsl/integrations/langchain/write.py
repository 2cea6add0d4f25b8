"""Writes messages as LangChain's messages, with LangChain's standard content blocks.

Read ``write`` and ``_langchain_messages`` first.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from langchain_core import messages as lc

from promptdsl import (
    Block,
    Message,
    ReasoningBlock,
    Rendered,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.integrations import Converted
from promptdsl.integrations.langchain.details import (
    NATIVE,
    PROVIDERS,
    ROLE_KEY,
    SIGNATURES_KEY,
    reasoning_parts,
    written_usage,
)
from promptdsl.integrations.shared import (
    SIGNATURE,
    Conversion,
    MediaBlock,
    is_developer,
    mapping_of,
    signature_of,
)

_Content: TypeAlias = str | list[str | dict[str, JsonValue]]


def write(rendered: Rendered, *, strict: bool) -> Converted[tuple[lc.BaseMessage, ...]]:
    """Return LangChain's messages and tools; see ``to_langchain``."""
    conversion = Conversion.of("LangChain", rendered)
    messages: list[lc.BaseMessage] = []
    for conversion.index, conversion.message in enumerate(rendered.messages):
        messages.extend(_langchain_messages(conversion, conversion.message))
    tools: list[JsonObject] = []
    for tool in conversion.portable_tools(rendered):
        description = {} if tool.description is None else {"description": tool.description}
        function = {"name": tool.name, **description, "parameters": thawed(tool.input_schema)}
        tools.append({"type": "function", "function": function})
    return Converted(tuple(messages), conversion.checked(strict=strict), tuple(tools))


def _langchain_messages(conversion: Conversion, message: Message) -> Iterator[lc.BaseMessage]:
    """Yield LangChain's messages for a message: one for each result, then one for all else."""
    role = message.role
    blocks: list[Block] = []
    for block in message.content:
        if isinstance(block, ToolResultBlock) and role in ("tool", "user"):
            # The name of a tool message is the name of the tool.
            tool_name = message.name if role == "tool" else None
            yield _tool_message(conversion, block, tool_name)
            continue
        # Only an answer may have calls, and no other message here may have results.
        is_misplaced_call = isinstance(block, ToolUseBlock) and role != "assistant"
        if is_misplaced_call or isinstance(block, ToolResultBlock):
            conversion.lose_block(block)
        else:
            blocks.append(block)
    if role == "assistant":
        yield from _ai_message(conversion, message, blocks)
        return
    origin = _origin_of(blocks)
    content = _content_of(conversion, blocks, origin)
    if not content:
        return
    name, metadata = conversion.clean_optional(message.name), _metadata(origin)
    if role == "user":
        yield lc.HumanMessage(content, name=name, response_metadata=metadata)
        return
    kwargs = {ROLE_KEY: "developer"} if is_developer(message) else {}
    yield lc.SystemMessage(content, name=name, response_metadata=metadata, additional_kwargs=kwargs)


def _tool_message(
    conversion: Conversion, block: ToolResultBlock, tool_name: str | None
) -> lc.ToolMessage:
    """Return the message of a result; ``tool_name`` is used if the result has no name."""
    conversion.lose_hints(block)
    origin = _origin_of(block.content)
    content = _content_of(conversion, block.content, origin)
    return lc.ToolMessage(
        content,
        tool_call_id=conversion.clean_id(block.tool_use_id),
        name=conversion.clean_optional(tool_name if block.name is None else block.name),
        status="error" if block.is_error else "success",
        response_metadata=_metadata(origin),
    )


def _ai_message(
    conversion: Conversion, message: Message, blocks: Sequence[Block]
) -> Iterator[lc.AIMessage]:
    """Yield the message of an answer; nothing for an answer without content."""
    origin = _origin_of(blocks)
    uses = [block for block in blocks if isinstance(block, ToolUseBlock)]
    calls: list[lc.ToolCall] = []
    invalid_calls: list[lc.InvalidToolCall] = []
    for use in uses:
        conversion.lose_hints(use, SIGNATURE)
        name, id = conversion.clean(use.name, "a tool's name"), conversion.clean_id(use.id)
        arguments = conversion.clean_json(use.arguments)
        if not arguments.strip():
            arguments, why = "{}", "they are blank, so {} is sent"
            conversion.hint("mended_arguments", "arguments of a call", why, block=use)
        # If the arguments are not a JSON object, the input is None.
        args = ToolUseBlock(id, name, arguments).input
        if args is not None:
            calls.append({"type": "tool_call", "name": name, "args": args, "id": id})
        else:
            invalid_calls.append(
                lc.InvalidToolCall(
                    type="invalid_tool_call", name=name, args=arguments, id=id, error=None
                )
            )
    other_blocks = [block for block in blocks if not isinstance(block, ToolUseBlock)]
    content = _content_of(conversion, other_blocks, origin)
    # Refusals and the signatures of calls are not in the content.
    kwargs: dict[str, object] = {}
    signatures = {
        conversion.clean_id(use.id): conversion.clean_optional(signature, "a signature")
        for use in uses
        if (signature := signature_of(use)) is not None
    }
    if signatures:
        kwargs[SIGNATURES_KEY] = signatures
    texts = [
        block.text for block in other_blocks if isinstance(block, TextBlock) and _is_refusal(block)
    ]
    if refusal := "\n\n".join(filter(None, texts)):
        kwargs["refusal"] = conversion.clean(refusal, "a refusal")
    if not (content or uses or kwargs):
        return
    metadata = _metadata(origin)
    for key in ("finish_reason", "raw_finish_reason"):
        if (reason := getattr(message, key)) is not None:
            metadata[key] = reason
    if origin is not None and not isinstance(content, str):
        # LangChain reads the blocks of a provider only in this format, which also has the calls.
        metadata["output_version"] = "v1"
        content = [*content, *(dict(mapping_of(call)) for call in (*calls, *invalid_calls))]
    yield lc.AIMessage(
        content,
        name=conversion.clean_optional(message.name),
        additional_kwargs=kwargs,
        response_metadata=metadata,
        usage_metadata=written_usage(conversion, message),
        tool_calls=calls,
        invalid_tool_calls=invalid_calls,
    )


def _metadata(origin: str | None) -> dict[str, str]:
    return {} if origin is None else {"model_provider": PROVIDERS[origin]}


def _origin_of(blocks: Iterable[Block]) -> str | None:
    """Return the provider of blocks, if LangChain has a name for it.

    Of several providers, it is the first in ``PROVIDERS``, whatever the order of the blocks: blocks
    may come back in another order.
    """
    origins = set[str | None]()
    for block in blocks:
        if isinstance(block, ReasoningBlock):
            origins.add(block.origin)
        elif isinstance(block, UnknownBlock):
            origins.add(block.origin if block.origin in NATIVE else None)
        elif signature_of(block) is not None:
            origins.add("gemini")
    return next((origin for origin in PROVIDERS if origin in origins), None)


def _is_refusal(block: TextBlock) -> bool:
    return block.extra.get("refusal") is True


def _content_of(conversion: Conversion, blocks: Sequence[Block], origin: str | None) -> _Content:
    """Return the content of a message whose provider is ``origin``: a text, or content blocks."""
    parts: list[dict[str, JsonValue]] = []
    for block in blocks:
        match block:
            case TextBlock():
                if _is_refusal(block):
                    continue
                signature = conversion.clean_optional(signature_of(block), "a signature")
                if block.text or signature is not None:
                    conversion.lose_hints(block, SIGNATURE)
                    extras = {} if signature is None else {"extras": {"signature": signature}}
                    text = conversion.clean(block.text, "a text")
                    parts.append({"type": "text", "text": text, **extras})
            case _ if isinstance(block, MediaBlock):
                parts.append(_file_part(conversion, block))
            case ReasoningBlock():
                parts += reasoning_parts(conversion, block, origin)
            case UnknownBlock() if block.origin == origin and origin in NATIVE:
                parts.append({"type": "non_standard", "value": thawed(block.data)})
            case UnknownBlock():
                kind = block.data.get("type", next(iter(block.data), None))
                owner = "no known provider" if block.origin is None else f"only {block.origin}"
                what, reason = f"a block of type {kind!r}", f"{owner} has it"
                conversion.lose("content", what, reason, block=block)
            case _:
                conversion.lose_block(block)
    if not parts:
        return ""
    is_text = len(parts) == 1 and parts[0].keys() == {"type", "text"}
    return str(parts[0]["text"]) if is_text else [*parts]


def _file_part(conversion: Conversion, block: MediaBlock) -> dict[str, JsonValue]:
    """Return the part of an attachment."""
    conversion.lose_hints(block, "title", "detail")
    source = block.source
    key = source.kind if source.kind in ("base64", "file_id") else "url"
    part: dict[str, JsonValue] = {
        "type": "file" if block.type == "document" else block.type,
        key: conversion.clean(source.value, "a source"),
    }
    if source.media_type is not None:
        part["mime_type"] = conversion.clean(source.media_type, "a media type")
    fields = {"filename": block.title, "detail": block.detail}
    extras = {key: conversion.clean(text, key) for key, text in fields.items() if text is not None}
    return {**part, "extras": extras} if extras else part
