"""Writing: messages become requests and responses."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, get_args

from promptdsl import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    Rendered,
    TextBlock,
    ToolResultBlock,
    UnknownBlock,
    VideoBlock,
)
from promptdsl.integrations import Bridged
from promptdsl.integrations.pydantic_ai.media import DEVELOPER, pydantic_ai, written_media
from promptdsl.integrations.pydantic_ai.write_replies import Writing, written_reply
from promptdsl.integrations.values import foreign

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

# Parts have a time, and the same prompt has the same bytes at any.
_TIME = {"timestamp": datetime(1970, 1, 1, tzinfo=UTC)}
_MEDIA = (ImageBlock, AudioBlock, DocumentBlock, VideoBlock)


def to_pydantic_ai(
    rendered: Rendered, *, strict: bool = False
) -> "Bridged[tuple[ModelMessage, ...]]":
    """Return a ``message_history``, and tools as ``ExternalToolset`` takes them.

    Every part has the same ``timestamp``, so that the same prompt is the same history. Raises
    :class:`LossError` with ``strict=True`` when text, media or a tool is lost, and
    :class:`PromptError` when ``pydantic-ai-slim`` is not installed.
    """
    w = Writing.of("Pydantic AI", rendered)
    w.ai, w.provider, w.called = pydantic_ai(), rendered.facts.provider, {}
    messages: list[Any] = []
    asked: list[Any] = []
    for w.index, w.message in enumerate(rendered.messages):
        if w.message.role != "assistant":
            asked.extend(_asked(w, w.message))
        elif parts := list(written_reply(w, w.message)):
            messages += [w.ai.ModelRequest(asked)] if asked else []
            messages.append(_response(w, w.message, parts))
            asked = []
    messages += [w.ai.ModelRequest(asked)] if asked else []
    tools = tuple(_tools(w, rendered))
    return Bridged(tuple(messages), w.checked(strict=strict), tools)


def _asked(w: Writing, said: Message) -> Iterator[Any]:
    """Yield the parts of a message that is not the model's, results first."""
    rest: list[Block] = []
    for block in said.content:
        if type(block) is ToolResultBlock and said.role in ("tool", "user"):
            yield _returned(w, block)
        else:
            rest.append(block)
    if said.role == "user":
        content = list(_contents(w, rest))
        plain = len(content) == 1 and type(content[0]) is str
        written = [w.ai.UserPromptPart(content[0] if plain else content, **_TIME)]
        yield from written if content else ()
    else:
        yield from _instructions(w, said, rest)
    if said.name is not None and said.role != "tool":
        w.lose("hint", f"the name {said.name!r}")


def _instructions(w: Writing, said: Message, blocks: Sequence[Block]) -> Iterator[Any]:
    developer = said.role == "developer" and said.kind != "recorded_system"
    for block in blocks:
        if type(block) is not TextBlock:
            w.lose_block(block)
            continue
        w.lose_hints(block)
        metadata = dict(DEVELOPER) if developer else None
        text = w.clean(block.text, "a text")
        yield from [w.ai.SystemPromptPart(text, metadata=metadata, **_TIME)] if text else ()


def _contents(w: Writing, blocks: Sequence[Block]) -> Iterator[Any]:
    """Yield what a user said, a cache point behind what has a mark."""
    for block in blocks:
        content = _content(w, block)
        cache = getattr(block, "cache", None)
        if content is not None:
            yield content
            yield from [w.ai.CachePoint(ttl="1h" if cache == "1h" else "5m")] if cache else ()
        elif cache:
            w.lose("hint", "a cache mark", "it stands behind nothing")


def _content(w: Writing, block: Block) -> Any:
    if isinstance(block, TextBlock):
        w.lose_hints(block, "cache")
        return w.clean(block.text, "a text") or None
    if isinstance(block, _MEDIA):
        return written_media(w.ai, w, block, w.provider)
    w.lose_block(block)
    return None


def _returned(w: Writing, block: ToolResultBlock) -> Any:
    interrupted = block.is_error and block.error_type == "interrupted"
    w.lose_hints(block, *(("error_type",) if interrupted else ()))
    contents = [_content(w, inner) for inner in block.content]
    if any(getattr(inner, "cache", None) for inner in block.content):
        w.lose("hint", "a cache mark", "a result has no cache points there")
    text = "\n\n".join(content for content in contents if type(content) is str)
    files = [content for content in contents if type(content) not in (str, type(None))]
    failed = "interrupted" if interrupted else "failed"
    id = w.id(block.tool_use_id)
    return w.ai.ToolReturnPart(
        w.clean(block.name or w.called.get(id) or id, "a tool's name"),
        [*([text] if text else []), *files] if files else text,
        id,
        outcome=failed if block.is_error else "success",
        **_TIME,
    )


def _response(w: Writing, said: Message, parts: list[Any]) -> Any:
    if said.name is not None:
        w.lose("hint", f"the name {said.name!r}")
    usage = foreign("pydantic_ai.usage", "pydantic-ai").RequestUsage
    counts = {key: (said.token_usage or {}).get(key) for key in ("input_tokens", "output_tokens")}
    reason = said.finish_reason
    return w.ai.ModelResponse(
        parts,
        usage=usage(**{key: count for key, count in counts.items() if type(count) is int}),
        finish_reason=reason if reason in get_args(w.ai.FinishReason) else None,
        **_TIME,
    )


def _tools(w: Writing, rendered: Rendered) -> Iterator[Any]:
    made = foreign("pydantic_ai.tools", "pydantic-ai").ToolDefinition
    for tool in w.portable(rendered):
        # As plain data that belongs to who asked for it.
        schema = UnknownBlock({"type": "schema", "schema": tool.input_schema}).to_dict()["schema"]
        yield made(name=tool.name, parameters_json_schema=schema, description=tool.description)
