"""Reading: requests and responses become messages."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import attrs

from promptdsl import Block, DataError, Message, TextBlock, ToolResultBlock
from promptdsl.integrations import Bridged
from promptdsl.integrations.losses import Crossing
from promptdsl.integrations.pydantic_ai.media import DEVELOPER, read_media
from promptdsl.integrations.pydantic_ai.read_replies import read_response
from promptdsl.integrations.values import Kind, Role, listed

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage


def from_pydantic_ai(messages: "Iterable[ModelMessage]") -> Bridged[tuple[Message, ...]]:
    """Return the messages of ``result.all_messages()``, for a ``History``.

    A system prompt behind the leading ones becomes a developer's message that remembers what it
    was. The last ``instructions`` of a request, the only ones that count there, come first. Parts
    that have no form here are in ``losses``. Raises :class:`DataError` for what is no request and
    no response, or holds what JSON cannot say.
    """
    crossing, found = Crossing("promptdsl"), list[Message]()
    given = listed(messages, "Pydantic AI's messages")
    instructions = [m.instructions for m in given if getattr(m, "instructions", None)]
    if instructions:
        found.append(Message("system", str(instructions[-1]), kind="recorded"))
    for crossing.index, message in enumerate(given):
        try:
            _read(crossing, message, found)
        except DataError as error:
            where = f"messages[{crossing.index}]"
            raise DataError(f"{where}: {error.what}", fix=error.fix) from None
    return Bridged(tuple(found), crossing.checked(strict=False))


def _read(crossing: Crossing, given: Any, found: list[Message]) -> None:
    kind = getattr(given, "kind", None)
    if kind not in ("request", "response"):
        fix = "give what result.all_messages() returns"
        raise DataError(f"a {type(given).__name__} is no request and no response", fix=fix)
    if kind == "response":
        found.append(read_response(crossing, given))
    else:
        _request(crossing, given, found)


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
            return (_result(crossing, part),)
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
            blocks.append(_content(crossing, content))
        elif blocks:
            blocks[-1] = _marked(crossing, blocks[-1], content.ttl)
        else:
            crossing.lose("hint", "a cache point", "it stands behind nothing")
    return tuple(blocks)


def _marked(crossing: Crossing, block: Any, ttl: str) -> Any:
    """Return a block with a mark; of several the longest counts, as they are at one place."""
    if block.cache is not None:
        crossing.lose("hint", "a cache point", "another one stands there")
    return attrs.evolve(block, cache="1h" if "1h" in (block.cache, ttl) else ttl)


def _content(crossing: Crossing, content: Any) -> Block:
    if isinstance(content, str):
        return TextBlock(content)
    if hasattr(content, "content"):
        return TextBlock(content.content)
    return read_media(crossing, content)


def _result(crossing: Crossing, part: Any) -> ToolResultBlock:
    """Return a result; a value that is no text is one as the model is shown it."""
    contents = part.content_items(mode="str", wrap_if_error=False)
    blocks = tuple(_content(crossing, content) for content in contents if content != "")
    error = "interrupted" if part.outcome == "interrupted" else None
    failed = part.outcome != "success"
    return ToolResultBlock(part.tool_call_id, blocks, part.tool_name, failed, error)
