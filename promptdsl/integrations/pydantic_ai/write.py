"""Write messages as Pydantic AI's requests and responses."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Literal, get_args

from pydantic_ai.messages import (
    CachePoint,
    FinishReason,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from promptdsl import Block, Message, Rendered, TextBlock, ToolResultBlock
from promptdsl.foundation.frozen import thawed
from promptdsl.integrations import Bridged
from promptdsl.integrations.pydantic_ai.media import DEVELOPER, Media, written_media
from promptdsl.integrations.pydantic_ai.write_replies import PydanticAIWriter, reply_parts
from promptdsl.integrations.values import MediaBlock

_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""The time of all parts, so that the same prompt always has the same bytes."""
_FINISH_REASONS: Mapping[str | None, FinishReason] = {
    reason: reason for reason in get_args(FinishReason)
}


def write(rendered: Rendered, *, strict: bool) -> Bridged[tuple[ModelMessage, ...]]:
    """Return a message history and tools; see ``to_pydantic_ai``."""
    writer = PydanticAIWriter.of("Pydantic AI", rendered)
    writer.provider, writer.called = rendered.facts.provider, {}
    history: list[ModelMessage] = []
    request: list[ModelRequestPart] = []
    for writer.index, writer.message in enumerate(rendered.messages):
        message = writer.message
        if message.role != "assistant":
            request.extend(_request_parts(writer, message))
            continue
        parts = list(reply_parts(writer, message))
        if not parts:
            continue
        if request:
            history.append(ModelRequest(request))
            request = []
        if message.name is not None:
            writer.lose("hint", f"the name {message.name!r}")
        usage = RequestUsage(
            input_tokens=_count(message, "input_tokens"),
            output_tokens=_count(message, "output_tokens"),
        )
        response = ModelResponse(
            parts,
            usage=usage,
            finish_reason=_FINISH_REASONS.get(message.finish_reason),
            timestamp=_TIME,
        )
        history.append(response)
    if request:
        history.append(ModelRequest(request))
    tools = [
        ToolDefinition(
            name=tool.name,
            parameters_json_schema=thawed(tool.input_schema),
            description=tool.description,
        )
        for tool in writer.portable_tools(rendered)
    ]
    return Bridged(tuple(history), writer.checked(strict=strict), tuple(tools))


def _count(message: Message, key: str) -> int:
    count = (message.token_usage or {}).get(key)
    return count if type(count) is int else 0


def _request_parts(writer: PydanticAIWriter, message: Message) -> Iterator[ModelRequestPart]:
    """Yield the parts of a message that is not the model's, results first."""
    blocks: list[Block] = []
    for block in message.content:
        if isinstance(block, ToolResultBlock) and message.role in ("tool", "user"):
            yield _return_part(writer, block)
        else:
            blocks.append(block)
    if message.role == "user":
        contents = list(_user_contents(writer, blocks))
        first = contents[0] if len(contents) == 1 else None
        if contents:
            content = first if isinstance(first, str) else contents
            yield UserPromptPart(content, timestamp=_TIME)
    else:
        is_developer = message.role == "developer" and message.kind != "recorded_system"
        for block in blocks:
            if not isinstance(block, TextBlock):
                writer.lose_block(block)
                continue
            writer.lose_hints(block)
            metadata = dict(DEVELOPER) if is_developer else None
            if text := writer.clean(block.text, "a text"):
                yield SystemPromptPart(text, metadata=metadata, timestamp=_TIME)
    if message.name is not None and message.role != "tool":
        writer.lose("hint", f"the name {message.name!r}")


def _user_contents(writer: PydanticAIWriter, blocks: list[Block]) -> Iterator[UserContent]:
    """Yield the contents of a user's blocks, and a cache point after each with a mark."""
    for block in blocks:
        content = _content_of(writer, block)
        cache = getattr(block, "cache", None)
        if content is not None:
            yield content
            if cache is not None:
                yield CachePoint(ttl="1h" if cache == "1h" else "5m")
        elif cache:
            writer.lose("hint", "a cache mark", "it stands after nothing")


def _content_of(writer: PydanticAIWriter, block: Block) -> str | Media | None:
    if isinstance(block, TextBlock):
        writer.lose_hints(block, "cache")
        return writer.clean(block.text, "a text") or None
    if isinstance(block, MediaBlock):
        return written_media(writer, block, writer.provider)
    writer.lose_block(block)
    return None


def _return_part(writer: PydanticAIWriter, block: ToolResultBlock) -> ToolReturnPart:
    is_interrupted = block.is_error and block.error_type == "interrupted"
    writer.lose_hints(block, *(("error_type",) if is_interrupted else ()))
    texts: list[str] = []
    files: list[Media] = []
    for inner in block.content:
        content = _content_of(writer, inner)
        if isinstance(content, str):
            texts.append(content)
        elif content is not None:
            files.append(content)
    if any(getattr(inner, "cache", None) for inner in block.content):
        writer.lose("hint", "a cache mark", "a result has no cache points there")
    text = "\n\n".join(texts)
    id = writer.clean_id(block.tool_use_id)
    outcome: Literal["success", "failed", "interrupted"] = "success"
    if block.is_error:
        outcome = "interrupted" if is_interrupted else "failed"
    return ToolReturnPart(
        writer.clean(block.name or writer.called.get(id) or id, "a tool's name"),
        [*([text] if text else []), *files] if files else text,
        id,
        outcome=outcome,
        timestamp=_TIME,
    )
