"""Contents as the SDK takes them: a list or one of them, whole contents, or parts on their own."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count, groupby, takewhile
from operator import attrgetter
from typing import Any, NamedTuple

import attrs

from promptdsl import messages as b
from promptdsl.foundation.errors import DataError
from promptdsl.messages.message import Message, message
from promptdsl.messages.read_blocks import contents
from promptdsl.providers.gemini.read_parts import PARTS, read_part, read_parts
from promptdsl.providers.gemini.spelling import entries_of, several
from promptdsl.providers.shared.checks import located
from promptdsl.providers.shared.read_turns import user_messages

_MESSAGE = "a message of another provider: History.from_openai, from_anthropic, from_bedrock"
_LOOKS = {
    "candidates": "it looks like a response: read_response(it)",
    "contents": "it looks like a payload, which stands alone",
    **dict.fromkeys(("content", "tool_calls"), f"it looks like {_MESSAGE}"),
    "type": "it looks like a block or an item of another provider: History.from_openai_responses",
}
"""By a key that a content never has, what it is likely to be."""


class _Said(NamedTuple):
    """Who said what; ``loose`` are the blocks of a part that stands in no content."""

    role: str
    content: tuple[b.Block, ...]
    loose: bool = False


def read_contents(data: object) -> list[Message]:
    """Return the messages of contents: parts on their own, as the SDK has it, join their like.

    Raises :class:`DataError` that names the index and the key of what cannot be read.
    """
    found = enumerate(several(data, "contents"))
    said = [located(f"contents[{n}]", _said, item) for n, item in found]
    return [item for one in _joined(said) for item in _messages(one)]


def read_system(data: object) -> tuple[b.Block, ...]:
    """Return the blocks of a system instruction: a content, its parts alone, or one of them."""
    if data is None or isinstance(data, str | list | tuple):
        return read_parts(data)  # pyright: ignore[reportUnknownArgumentType]
    return _said(data).content


def _said(data: object) -> _Said:
    if isinstance(data, str):
        return _Said("user", contents(data), loose=True)
    if isinstance(data, list | tuple):
        return _Said("user", read_parts(data))  # pyright: ignore[reportUnknownArgumentType]
    entries = entries_of(data)
    if "parts" not in entries and not set(entries) <= {"role"}:
        block = _part(entries)
        return _Said("model" if block.type == "tool_use" else "user", (block,), loose=True)
    role = entries.get("role", "user")
    # Older ones have results in contents of a role of their own.
    if role not in ("user", "model", "function"):
        raise DataError(f"unknown 'role' {role!r}", fix="one of user, model")
    return _Said("model" if role == "model" else "user", read_parts(entries.get("parts")))


def _part(entries: Mapping[str, Any]) -> b.Block:
    """Return the block of a part, or of an uploaded file, that stands in no content."""
    uri = entries.get("uri", entries.get("file_uri"))
    if uri is not None:
        return read_part({"file_data": {"file_uri": uri, "mime_type": entries.get("mime_type")}})
    if entries.keys() & PARTS and not entries.keys() & {"role", "type"}:
        return read_part(entries)
    looks = next((fix for key, fix in _LOOKS.items() if key in entries), "")
    raise DataError("'parts' is needed", fix=looks or "give {'role': 'user', 'parts': [...]}")


def _joined(said: list[_Said]) -> Iterator[_Said]:
    for (role, loose), run in groupby(said, attrgetter("role", "loose")):
        if loose:
            yield _Said(role, tuple(chain.from_iterable(one.content for one in run)))
        else:
            yield from run


def _messages(said: _Said) -> list[Message]:
    if said.role == "model":
        return [message("assistant", said.content, kind="recorded")]
    return user_messages(said.content)


def paired(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages whose calls have ids, and whose results have those of their calls.

    A result without an id is that of the first open call of its name.
    """
    waiting: list[b.ToolUseBlock] = []
    told: set[str] = set()
    turns = [*_whole_turns(messages)]
    for number, said in enumerate(turns):
        if said.role == "assistant":
            content = named(said.content)
            told = _told(turns, number + 1)
            waiting = [block for block in content if isinstance(block, b.ToolUseBlock)] or waiting
        else:
            content = tuple(_answer(waiting, block, told) for block in said.content)
        yield said if content == said.content else message(said.role, content, kind="recorded")


def named(content: tuple[b.Block, ...]) -> tuple[b.Block, ...]:
    """Return the blocks of a turn, its calls without an id with one that no other call has."""
    taken = {block.id for block in content if isinstance(block, b.ToolUseBlock)}
    free = (id for id in map("call_{}".format, count()) if id not in taken)
    return tuple(
        attrs.evolve(block, id=next(free))
        if isinstance(block, b.ToolUseBlock) and not block.id
        else block
        for block in content
    )


def _whole_turns(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages; what a model said directly behind its calls is of one turn with them."""
    calling: list[b.Block] = []
    for said in messages:
        if calling and said.role != "assistant":
            yield message("assistant", tuple(calling), kind="recorded")
            calling = []
        if calling or (said.role == "assistant" and _calls(said)):
            calling += said.content
        else:
            yield said
    if calling:
        yield message("assistant", tuple(calling), kind="recorded")


def _calls(said: Message) -> bool:
    return any(block.type == "tool_use" for block in said.content)


def _told(turns: list[Message], start: int) -> set[str]:
    """Return the ids that the results up to the next answer name themselves."""
    later = map(turns.__getitem__, range(start, len(turns)))
    heard = takewhile(lambda said: said.role != "assistant", later)
    blocks = (block for said in heard for block in said.content)
    return {block.tool_use_id for block in blocks if isinstance(block, b.ToolResultBlock)}


def _answer(waiting: list[b.ToolUseBlock], block: b.Block, told: set[str]) -> b.Block:
    if not isinstance(block, b.ToolResultBlock):
        return block
    for place, call in enumerate(waiting):
        # What another result names itself is not answered by name.
        named = not block.tool_use_id and block.name == call.name and call.id not in told
        if named or block.tool_use_id == call.id:
            del waiting[place]
            return attrs.evolve(block, tool_use_id=call.id)
    return block
