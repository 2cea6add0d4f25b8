"""Reading: requests and responses become messages."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import attrs

from promptdsl import (
    Block,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    block_from_dict,
)
from promptdsl.bridges import Bridged
from promptdsl.bridges.crossing import Crossing
from promptdsl.bridges.foreign import Kind, Role
from promptdsl.bridges.pydantic_ai.media import read_media
from promptdsl.bridges.pydantic_ai.words import DEVELOPER, ORIGINS, REDACTED

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage


def from_pydantic_ai(messages: "Iterable[ModelMessage]") -> Bridged[tuple[Message, ...]]:
    """Return the messages of ``result.all_messages()``, for a ``History``.

    A system prompt behind the leading ones becomes a developer's message that remembers what it
    was. The last ``instructions`` of a request, the only ones that count there, come first. Parts
    that have no form here are in ``losses``.
    """
    crossing, found = Crossing("promptdsl"), list[Message]()
    given: list[Any] = list(messages)
    instructions = [m.instructions for m in given if getattr(m, "instructions", None)]
    if instructions:
        found.append(Message("system", str(instructions[-1]), kind="recorded"))
    for crossing.index, message in enumerate(given):
        if message.kind == "response":
            found.append(_response(crossing, message))
        else:
            _request(crossing, message, found)
    return Bridged(tuple(found), crossing.checked(strict=False))


def _request(crossing: Crossing, request: Any, found: list[Message]) -> None:
    """Add a message for each prompt of a user, and for each run of instructions or results."""
    parts: Sequence[Any] = request.parts
    for _, run in groupby(enumerate(parts), key=_same):
        members = [part for _, part in run]
        role, kind = _voice(members[0], found)
        blocks = [block for part in members for block in _blocks(crossing, part)]
        if blocks:
            found.append(Message(role, tuple(blocks), kind=kind))


def _same(numbered: tuple[int, Any]) -> object:
    """Return what the parts of one message have in common."""
    index, part = numbered
    if part.part_kind == "system-prompt":
        return part.part_kind, part.metadata == DEVELOPER
    return "results" if _answers(part) else index


def _answers(part: Any) -> bool:
    """Whether a part answers a call, as an older one that asks for a retry may."""
    retried = part.part_kind == "retry-prompt" and part.tool_name is not None
    return retried or part.part_kind == "tool-return"


def _voice(part: Any, found: list[Message]) -> tuple[Role, Kind]:
    if _answers(part):
        return "tool", "recorded"
    if part.part_kind != "system-prompt":
        return "user", "recorded"
    if part.metadata == DEVELOPER:
        return "developer", "recorded"
    leads = all(message.role == "system" for message in found[-1:])
    return ("system", "recorded") if leads else ("developer", "recorded_system")


def _blocks(crossing: Crossing, part: Any) -> tuple[Block, ...]:
    match part.part_kind:
        case "system-prompt":
            return (TextBlock(part.content),)
        case "user-prompt":
            return _prompt(crossing, part)
        case "tool-return":
            return (_result(part),)
        case "retry-prompt" if _answers(part):
            text = TextBlock(part.model_response())
            return (ToolResultBlock(part.tool_call_id, (text,), part.tool_name, is_error=True),)
        case "retry-prompt" | "retry-feedback":
            return (TextBlock(part.model_response()),)
        case kind:
            crossing.lose("content", f"a part of kind {kind!r}")
            return ()


def _prompt(crossing: Crossing, part: Any) -> tuple[Block, ...]:
    if isinstance(part.content, str):
        return (TextBlock(part.content),) if part.content else ()
    blocks: list[Any] = []
    for content in part.content:
        if getattr(content, "kind", None) != "cache-point":
            blocks.append(_content(content))
        elif blocks and blocks[-1].cache is None:
            blocks[-1] = attrs.evolve(blocks[-1], cache=content.ttl)
        else:
            crossing.lose("hint", "a cache point", "it stands behind nothing")
    return tuple(blocks)


def _content(content: Any) -> Block:
    if isinstance(content, str):
        return TextBlock(content)
    return TextBlock(content.content) if hasattr(content, "content") else read_media(content)


def _result(part: Any) -> ToolResultBlock:
    """Return a result; a value that is no text is one as the model is shown it."""
    contents = part.content_items(mode="str", wrap_if_error=False)
    blocks = tuple(_content(content) for content in contents if content != "")
    error = "interrupted" if part.outcome == "interrupted" else None
    failed = part.outcome != "success"
    return ToolResultBlock(part.tool_call_id, blocks, part.tool_name, failed, error)


def _response(crossing: Crossing, response: Any) -> Message:
    blocks: list[Block] = []
    for part in response.parts:
        read = _REPLIES.get(part.part_kind)
        if read is None:
            crossing.lose("content", f"a part of kind {part.part_kind!r}")
        else:
            blocks.append(read(part))
    counts = {key: getattr(response.usage, key) for key in ("input_tokens", "output_tokens")}
    return Message(
        "assistant",
        tuple(blocks),
        kind="recorded",
        token_usage=counts if any(counts.values()) else None,
        finish_reason=response.finish_reason,
    )


def _thought(part: Any) -> ReasoningBlock:
    origin = ORIGINS.get(part.provider_name, part.provider_name)
    if part.id in REDACTED or origin == "openai_responses":
        return ReasoningBlock(part.content, encrypted=part.signature, origin=origin)
    return ReasoningBlock(part.content, part.signature, origin=origin)


def _call(part: Any) -> Block:
    if isinstance(part.args, str):
        return ToolUseBlock(part.tool_call_id, part.tool_name, part.args)
    args: dict[str, Any] = part.args or {}
    data = {"id": part.tool_call_id, "name": part.tool_name, "input": args}
    return block_from_dict({"type": "tool_use", **data})


_REPLIES: Mapping[str, Callable[[Any], Block]] = {
    "text": lambda part: TextBlock(part.content),
    "thinking": _thought,
    "tool-call": _call,
    "file": lambda part: read_media(part.content),
}
