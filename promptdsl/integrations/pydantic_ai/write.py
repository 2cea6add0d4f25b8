"""Writes messages as Pydantic AI's requests and responses.

Read ``write`` first, then ``_request_parts`` and ``_reply_parts``.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, TypeAlias, TypeVar

from pydantic_ai import messages as ai
from pydantic_ai.tools import ToolDefinition

from promptdsl import (
    Block,
    Message,
    ReasoningBlock,
    Rendered,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.json import ABSENT, read_json
from promptdsl.integrations import Converted
from promptdsl.integrations.pydantic_ai.details import (
    DEVELOPER,
    ITEM_DETAILS,
    PROVIDERS,
    REDACTED_IDS,
    Media,
    written_media,
    written_reason,
    written_usage,
)
from promptdsl.integrations.shared import (
    ITEM,
    JSON,
    RESPONSES,
    SIGNATURE,
    Conversion,
    MediaBlock,
    further_keys,
    is_developer,
    list_of,
    mapping_of,
    signature_of,
    summaries,
)

_ENCRYPTED_REASON = "the encrypted reasoning is sent in its place"
"""Why a signature is not sent: Pydantic AI has one field for both."""
_TIMESTAMP = datetime(1970, 1, 1, tzinfo=UTC)
"""The time of all parts: so the same prompt always gives the same history."""

_ReplyPart = TypeVar("_ReplyPart", ai.TextPart, ai.ToolCallPart)
_Outcome: TypeAlias = Literal["success", "failed", "denied", "interrupted", "retried"]
_OUTCOMES: Mapping[tuple[bool, str], _Outcome] = {
    (False, "denied"): "denied",
    (False, "interrupted"): "interrupted",
    (True, "interrupted"): "interrupted",
    (True, "retried"): "retried",
}
"""Outcomes other than success and failure, by the error flag and the recorded outcome."""


_LIFETIMES: Mapping[str, Literal["5m", "1h"]] = {"default": "5m", "5m": "5m", "1h": "1h"}
"""The lifetime of a cache point, by the lifetime of a cache mark."""


class PydanticAIWriter(Conversion):
    """A conversion to Pydantic AI.

    ``provider`` is the provider of the render. ``tool_names`` has the name of the tool for each
    call id. ``reasoning_ids`` are the ids of the reasoning that is already written.
    """

    provider: str | None
    tool_names: dict[str, str]
    reasoning_ids: set[object]


def write(rendered: Rendered, *, strict: bool) -> Converted[tuple[ai.ModelMessage, ...]]:
    """Return a message history and tools; see ``to_pydantic_ai``."""
    writer = PydanticAIWriter.of("Pydantic AI", rendered)
    writer.provider, writer.tool_names, writer.reasoning_ids = rendered.facts.provider, {}, set()
    history: list[ai.ModelMessage] = []
    request: list[ai.ModelRequestPart] = []
    for writer.index, writer.message in enumerate(rendered.messages):
        message = writer.message
        if message.role != "assistant":
            request.extend(_request_parts(writer, message))
            continue
        parts = list(_reply_parts(writer, message))
        finish_reason, details = written_reason(writer, message)
        if not (parts or finish_reason or details or message.token_usage):
            continue
        if request:
            history.append(ai.ModelRequest(request))
            request = []
        if message.name is not None:
            writer.hint("speaker_name", "name of a speaker")
        response = ai.ModelResponse(
            parts,
            usage=written_usage(writer, message),
            finish_reason=finish_reason,
            provider_details=details,
            timestamp=_TIMESTAMP,
        )
        history.append(response)
    if request:
        history.append(ai.ModelRequest(request))
    tools = [
        ToolDefinition(
            name=tool.name,
            parameters_json_schema=thawed(tool.input_schema),
            description=tool.description,
        )
        for tool in writer.portable_tools(rendered)
    ]
    return Converted(tuple(history), writer.checked(strict=strict), tuple(tools))


def _request_parts(writer: PydanticAIWriter, message: Message) -> Iterator[ai.ModelRequestPart]:
    """Yield the parts of a message that the model did not write. Results come first."""
    blocks: list[Block] = []
    for block in message.content:
        if isinstance(block, ToolResultBlock) and message.role in ("tool", "user"):
            yield _return_part(writer, block)
        else:
            blocks.append(block)
    if message.role == "user":
        match list(_user_contents(writer, blocks)):
            case []:
                pass
            case [str() as text]:
                yield ai.UserPromptPart(text, timestamp=_TIMESTAMP)
            case contents:
                yield ai.UserPromptPart(contents, timestamp=_TIMESTAMP)
    else:
        for block in blocks:
            if not isinstance(block, TextBlock):
                writer.lose_block(block)
                continue
            writer.lose_hints(block)
            metadata = dict(DEVELOPER) if is_developer(message) else None
            if text := writer.clean(block.text, "a text"):
                yield ai.SystemPromptPart(text, metadata=metadata, timestamp=_TIMESTAMP)
    if message.name is not None and message.role != "tool":
        writer.hint("speaker_name", "name of a speaker")


def _user_contents(writer: PydanticAIWriter, blocks: list[Block]) -> Iterator[ai.UserContent]:
    """Yield the contents of a user's blocks, and a cache point after a block with a cache mark."""
    for block in blocks:
        content = _content_of(writer, block)
        cache = getattr(block, "cache", None)
        if content is not None:
            yield content
        if content is not None and cache is not None:
            yield ai.CachePoint(ttl=_LIFETIMES[cache])
        elif cache:
            writer.hint("cache_mark", "a cache mark", "there is nothing before it", block=block)


def _content_of(writer: PydanticAIWriter, block: Block) -> str | Media | None:
    if isinstance(block, TextBlock):
        writer.lose_hints(block, "cache")
        return writer.clean(block.text, "a text") or None
    if isinstance(block, MediaBlock):
        return written_media(writer, block, writer.provider)
    writer.lose_block(block)
    return None


def _return_part(writer: PydanticAIWriter, block: ToolResultBlock) -> ai.ToolReturnPart:
    """Return the part of a result."""
    recorded_item = mapping_of(block.extra.get(ITEM))
    # Use the recorded outcome, unless somebody changed the error flag.
    recorded_status = block.error_type or recorded_item.get("outcome")
    default: _Outcome = "failed" if block.is_error else "success"
    outcome = _OUTCOMES.get((block.is_error, str(recorded_status)), default)
    handled_fields: list[str] = []
    if outcome == "interrupted":
        handled_fields.append("error_type")
    if outcome == recorded_item.get("outcome"):
        handled_fields.append(ITEM)
    writer.lose_hints(block, *handled_fields)
    contents = [(inner, _content_of(writer, inner)) for inner in block.content]
    if any(getattr(inner, "cache", None) for inner in block.content):
        reason = "Pydantic AI has no cache points in results"
        writer.hint("cache_mark", "a cache mark", reason, block=block)
    id = writer.clean_id(block.tool_use_id)
    return ai.ToolReturnPart(
        writer.clean(block.name or writer.tool_names.get(id) or id, "a tool's name"),
        _result_content(writer, contents),
        id,
        outcome=outcome,
        timestamp=_TIMESTAMP,
    )


def _result_content(
    writer: PydanticAIWriter, contents: Sequence[tuple[Block, str | Media | None]]
) -> object:
    """Return the value of a single JSON text, all texts as one, or a list if there are files."""
    written_contents = [(block, content) for block, content in contents if content is not None]
    texts = [content for _, content in written_contents if isinstance(content, str)]
    if len(texts) == len(written_contents) != 1:
        return "\n\n".join(texts)
    values: list[object] = []
    for block, content in written_contents:
        values.append(content)
        if isinstance(block, TextBlock) and block.extra.get(JSON) is True:
            value = read_json(writer.clean_json(block.text, "a text"))
            if value is not ABSENT and not isinstance(value, str):
                values[-1] = value
    return values[0] if len(texts) == len(written_contents) else values


def _reply_parts(writer: PydanticAIWriter, message: Message) -> Iterator[ai.ModelResponsePart]:
    """Yield the parts of an answer; note the names of its calls and the ids of its reasoning."""
    for index, block in enumerate(message.content):
        match block:
            case TextBlock():
                part = ai.TextPart(writer.clean(block.text, "a text"))
                part = _with_origin(writer, block, part)
                if block.text or signature_of(block) is not None:
                    yield part
            case ToolUseBlock():
                id, tool = writer.clean_id(block.id), writer.clean(block.name, "a tool's name")
                writer.tool_names[id] = tool
                arguments = writer.clean_json(block.arguments)
                yield _with_origin(writer, block, ai.ToolCallPart(tool, arguments, id))
            case ReasoningBlock() if not _is_followed(block, message.content[index + 1 :]):
                reason = "the item that it produced does not follow"
                writer.hint("unsent_reasoning", "reasoning", reason, block=block)
            case ReasoningBlock():
                yield from _thinking_parts(writer, block)
            case _ if isinstance(block, MediaBlock):
                writer.lose_hints(block, "title", "detail", "extra")
                content = written_media(writer, block, writer.provider)
                if isinstance(content, ai.BinaryContent):
                    yield ai.FilePart(content)
                elif content is not None:
                    reason = "a response takes files only as bytes"
                    writer.lose("content", f"a block of type {block.type!r}", reason, block=block)
            case _:
                writer.lose_block(block)


def _with_origin(
    writer: PydanticAIWriter, block: TextBlock | ToolUseBlock, part: _ReplyPart
) -> _ReplyPart:
    """Change a part: add the data that its provider gets back. Return the same part.

    Other data becomes a hint.
    The id of an item is written only if its reasoning is written, too: the service refuses one
    without the other.
    """
    recorded_item = mapping_of(block.extra.get(ITEM))
    handled_keys = [SIGNATURE]
    if recorded_item.keys() <= {"id", "status", "reasoning", *ITEM_DETAILS}:
        handled_keys.append(ITEM)
    writer.lose_hints(block, *handled_keys)
    signature = writer.clean_optional(signature_of(block), "a signature")
    if signature is not None:
        part.provider_name, part.provider_details = PROVIDERS["gemini"], {SIGNATURE: signature}
        return part
    texts = {
        key: recorded_item[key]
        for key in ("id", *ITEM_DETAILS)
        if isinstance(recorded_item.get(key), str)
    }
    details = {key: writer.clean(str(text), f"a {key}") for key, text in texts.items()}
    id = details.pop("id", None)
    # Pydantic AI sends the call of a custom tool as that of a function, which takes no such id.
    is_reasoning_written = recorded_item.get("reasoning") in (None, *writer.reasoning_ids)
    if is_reasoning_written and "custom" not in block.extra:
        part.id = id
    part.provider_name = "openai" if part.id or details else None
    part.provider_details = details or None
    return part


def _is_followed(block: ReasoningBlock, after: Sequence[Block]) -> bool:
    """Return whether reasoning of OpenAI Responses comes before a call or a text with an id.

    The service refuses reasoning before a text without an id (mastra-ai/mastra#11103). Reasoning of
    other providers may come before anything.
    """
    if block.origin != RESPONSES or "id" not in block.extra:
        return True
    for other in after:
        if isinstance(other, ToolUseBlock):
            return True
        if isinstance(other, TextBlock) and other.text:
            return "id" in mapping_of(other.extra.get(ITEM))
    return False


def _thinking_parts(writer: PydanticAIWriter, block: ReasoningBlock) -> Iterator[ai.ThinkingPart]:
    """Yield the part of a reasoning block, or the parts of an item of OpenAI Responses."""
    if block.origin == RESPONSES:
        yield from _item_parts(writer, block)
        return
    writer.lose_hints(block)
    text = writer.clean(block.text, "reasoning")
    signature = block.signature if block.encrypted is None else block.encrypted
    if block.signature not in (None, signature):
        writer.hint(
            "unsent_reasoning", "the signature of reasoning", _ENCRYPTED_REASON, block=block
        )
    if block.origin == "gemini" and signature is not None:
        # From the field ``signature``, Pydantic AI would send it with the next part.
        details = {SIGNATURE: writer.clean(signature, "a signature")}
        yield ai.ThinkingPart(text, provider_name=PROVIDERS["gemini"], provider_details=details)
        return
    is_redacted = block.encrypted is not None and block.origin == "anthropic"
    id = REDACTED_IDS[0] if is_redacted else None
    provider = PROVIDERS.get(block.origin or "", block.origin)
    yield ai.ThinkingPart(
        text,
        id=id,
        signature=writer.clean_optional(signature, "a signature"),
        provider_name=writer.clean_optional(provider, "a provider"),
    )


def _item_parts(writer: PydanticAIWriter, block: ReasoningBlock) -> Iterator[ai.ThinkingPart]:
    """Yield a part for each summary of a reasoning item; all parts have the same id."""
    if further_keys(block, "id", "content", "status"):
        writer.hint("unsent_key", "further keys of a block", block=block)
    if block.signature is not None:
        writer.hint(
            "unsent_reasoning", "the signature of reasoning", _ENCRYPTED_REASON, block=block
        )
    id = block.extra.get("id")
    id = writer.clean(id, "an id") if isinstance(id, str) else None
    writer.reasoning_ids.add(id)
    first_text, *further_texts = [
        writer.clean(text, "reasoning") for text in summaries(block) or [block.text]
    ]
    # The texts of the reasoning, which some models show.
    contents = list_of(block.extra.get("content"))
    texts = [mapping_of(part).get("text") for part in contents]
    raw_texts = [writer.clean(text, "reasoning") for text in texts if isinstance(text, str)]
    if len(raw_texts) < len(contents):
        writer.hint("unsent_key", "further keys of a block", block=block)
    details = {"raw_content": raw_texts} if raw_texts else None
    yield ai.ThinkingPart(
        first_text,
        id=id,
        signature=writer.clean_optional(block.encrypted, "a signature"),
        provider_name="openai",
        provider_details=details,
    )
    for text in further_texts:
        yield ai.ThinkingPart(text, id=id, provider_name="openai")
