"""The location of each block in a payload, and the notes of a write from which it is found.

In a write with notes, an adapter notes each param that it makes of a block, and each param that
replaces another. Params are recognised by identity. After the write, ``LocationNotes.places`` walks
over the payload and finds the address of each param. Params without a note were added by the
adapter.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import attrs

from promptdsl.foundation.frozen import EMPTY, is_list, is_mapping
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.loss import Loss

Address: TypeAlias = tuple[str | int, ...]
Param: TypeAlias = Mapping[str, Any]  # Any: JSON of a provider


@attrs.frozen
class SentLocation:
    """A location in a payload, and the block that is sent there.

    ``message``, ``block`` and ``inner`` are the index of the message, of the block in it, and of
    the block in a result. All are ``None`` for content that the adapter added, such as the text of
    a user before the model's first turn. A block without a location is not sent.

    ``address`` are the keys that lead to the string of a text, or to the object of any other block.
    Several texts may be in one string: ``start`` and ``end`` are offsets in the string, and
    ``text`` is the text between them. ``entry`` is the index of the message, turn or item in the
    payload, ``None`` for separate system text. ``role`` is the role that is sent; Gemini's
    ``model`` is ``assistant``.

    ``fence`` is the tag around a text that cannot be sent otherwise; the location includes the tag.
    ``id`` and ``name`` are those of a call or a result as sent, ``speaker`` is the name that is
    sent with the message, and ``cache`` is the cache mark after the block. ``is_error`` is whether
    a result is sent with the flag of an error.

    >>> from promptdsl import System, Timeline, User, render
    >>> rendered = render(Timeline(System("Be kind."), User("Hi")), model="gpt-5")
    >>> location = rendered.locations()[1]
    >>> location.message, location.block, location.role, location.address
    (1, 0, 'user', ('messages', 1, 'content'))
    """

    address: tuple[str | int, ...]
    entry: int | None
    role: str
    start: int | None = None
    end: int | None = None
    text: str = ""
    message: int | None = None
    block: int | None = None
    inner: int | None = None
    fence: str = ""
    id: str | None = None
    name: str | None = None
    speaker: str | None = None
    cache: str | None = None
    is_error: bool = False


class BlockNote(NamedTuple):
    """A param, the block it was made of, and the role of the message.

    ``at`` is the location in the prompt: the index of the message, of the block, and of the block
    in a result. ``lead`` is the number of characters that were put before its text.
    """

    param: Param
    at: tuple[int, ...]
    role: str
    block: Block
    fence: str = ""
    lead: int = 0


class JoinedPiece(NamedTuple):
    """A part of a joined text, with the note of its block, ``None`` for added text."""

    start: int
    end: int
    note: BlockNote | None


class JoinedText(str):
    """A text that was joined from several texts, and its pieces."""

    pieces: tuple[JoinedPiece, ...]

    @classmethod
    def of(cls, text: str, pieces: Iterable[JoinedPiece]) -> Self:
        """Return a text with its pieces, without the empty ones."""
        joined = cls(text)
        joined.pieces = tuple([piece for piece in pieces if piece.start < piece.end])
        return joined

    def rstrip(self, chars: str | None = None, /) -> Self:
        """Return the text without white space at its end."""
        text = super().rstrip(chars)
        cut = (piece._replace(end=min(piece.end, len(text))) for piece in self.pieces)
        return self.of(text, cut)

    def with_insertions(self, text: str, ends: Sequence[int]) -> Self:
        """Return the text with one more character after each of the offsets ``ends``."""
        moved = (
            JoinedPiece(start + bisect_right(ends, start), end + bisect_right(ends, end), note)
            for start, end, note in self.pieces
        )
        return self.of(text, moved)


OWN_JOINT = "joint"
"""The key of a text param with unusual white space before it. It is never sent."""


def joined_texts(
    joint: str, params: Sequence[Param], notes: "LocationNotes | None", key: str = "text"
) -> str:
    """Return the texts of params as one text; with notes it has its pieces."""
    joints = [param.get(OWN_JOINT, joint) if index else "" for index, param in enumerate(params)]
    text = "".join([f"{before}{param[key]}" for before, param in zip(joints, params, strict=True)])
    if notes is None:
        return text
    pieces: list[JoinedPiece] = []
    end = 0
    for before, param in zip(joints, params, strict=True):
        start = end + len(before)
        note, end = notes.blocks.get(id(param)), start + len(param[key])
        if note is None and pieces and pieces[-1].note is None:
            pieces[-1] = pieces[-1]._replace(end=end)
        else:
            text_start = start + note.lead if note else start
            pieces += (JoinedPiece(start, text_start, None), JoinedPiece(text_start, end, note))
    return JoinedText.of(text, pieces)


_CONTENTS = ("content", "parts", "output", "error", "tool_calls", "reasoning_content")
"""The keys of an entry or a result, at any depth, whose value is its params or its text.

A ``JoinedText`` may be under any other key: the reasoning of a server."""
_IDS = ("tool_use_id", "toolUseId", "tool_call_id", "call_id", "id")


class _Entry(NamedTuple):
    """The index of an entry in the payload, its role, and the name of its speaker."""

    number: int | None
    role: str
    speaker: str | None = None


@attrs.define(eq=False)
class LocationNotes:
    """The notes of one write."""

    blocks: dict[int, BlockNote] = attrs.field(factory=dict[int, BlockNote])
    """The note of each param by its ``id()``. The note keeps the param, so the id is unique."""
    caches: dict[tuple[int, ...], str] = attrs.field(factory=dict[tuple[int, ...], str])
    """The cache marks that are sent, by the location in the prompt of the block before each."""
    noted: set[tuple[int, ...]] = attrs.field(factory=set[tuple[int, ...]])
    unflagged: set[tuple[int, ...]] = attrs.field(factory=set[tuple[int, ...]])
    """The locations of the results whose flag of an error is not sent."""

    def add(self, note: BlockNote) -> None:
        """Note the param of a block. Only the first param of each block is noted."""
        if note.at not in self.noted:
            self.noted.add(note.at)
            self.blocks[id(note.param)] = note

    def replace(self, param: Param, new: Param, *, fence: str = "", lead: int = 0) -> None:
        """Note that ``new`` is sent instead of a param."""
        if note := self.blocks.get(id(param)):
            fence, lead = fence or note.fence, lead or note.lead
            self.blocks[id(new)] = note._replace(param=new, fence=fence, lead=lead)

    def locations(self, payload: Param, losses: Iterable[Loss]) -> tuple[SentLocation, ...]:
        """Return the locations in a payload that was written with these losses, in its order."""
        from promptdsl.tokens.payloads import SYSTEM_PATHS, entries_key, value_at

        self.unflagged = {loss.at for loss in losses if loss.name == "error_flag"}
        locations: list[SentLocation] = []
        for path in SYSTEM_PATHS:
            system = _Entry(None, "system")
            locations += self._in_content(value_at(payload, *path), path, system)
        key = entries_key(payload) or ""
        for index, entry in enumerate(payload[key]):
            locations += self._in_entry(entry, (key, index), index)
        return tuple(locations)

    def _in_entry(self, param: Param, address: Address, index: int) -> Iterator[SentLocation]:
        note, role = self.blocks.get(id(param)), param.get("role")
        if note and role is None:
            role = "tool" if isinstance(note.block, ToolResultBlock) else note.role
        role = "assistant" if role == "model" else str(role)
        if note and isinstance(note.block, TextBlock):
            text = (0, param["content"])
            yield self._location(_Entry(index, role), (*address, "content"), note, text)
        elif note:
            yield from self._in_param(param, address, _Entry(index, role))
        else:
            speaker = param.get("name")
            named = speaker if isinstance(speaker, str) else None
            yield from self._in_values(param, address, _Entry(index, role, named))

    def _in_values(self, param: Param, address: Address, entry: _Entry) -> Iterator[SentLocation]:
        """Yield the locations in an entry or a result, at any depth."""
        for key, value in param.items():
            if key in _CONTENTS or isinstance(value, JoinedText):
                yield from self._in_content(value, (*address, key), entry)
            elif is_mapping(value):
                if note := self.blocks.get(id(value)):
                    yield self._location(entry, (*address, key), note)
                else:
                    yield from self._in_values(value, (*address, key), entry)

    def _in_content(self, value: object, address: Address, entry: _Entry) -> Iterator[SentLocation]:
        """Yield the locations in a text, or in a list of params."""
        if isinstance(value, JoinedText):
            for piece in value.pieces:
                text = value[piece.start : piece.end]
                yield self._location(entry, address, piece.note, (piece.start, text))
        elif isinstance(value, str) and value:
            yield self._location(entry, address, None, (0, value))
        elif is_list(value):
            for index, param in enumerate(value):
                if is_mapping(param):
                    yield from self._in_param(param, (*address, index), entry)

    def _in_param(self, param: Param, address: Address, entry: _Entry) -> Iterator[SentLocation]:
        """Yield the location of a param, and the locations in it if it is a result."""
        note = self.blocks.get(id(param))
        key = next((key for key in ("text", "refusal") if isinstance(param.get(key), str)), "")
        text = param.get(key)
        if isinstance(text, JoinedText):
            yield from self._in_content(text, (*address, key), entry)
        elif isinstance(text, str) and (note is None or isinstance(note.block, TextBlock)):
            yield self._location(entry, (*address, key), note, (0, text))
        else:
            yield self._location(entry, address, note, param)
            if note and isinstance(note.block, ToolResultBlock):
                yield from self._in_values(param, address, entry)

    def _location(
        self,
        entry: _Entry,
        address: Address,
        note: BlockNote | None,
        value: Param | tuple[int, str] = EMPTY,
    ) -> SentLocation:
        """Return the location of a param, or of a text after an offset in its string."""
        start = end = None
        text = ""
        if isinstance(value, tuple):
            start, text = value
            end = start + len(text)
        if note is None:
            return SentLocation(address, entry.number, entry.role, start, end, text)
        id = name = None
        if is_mapping(value) and isinstance(note.block, ToolUseBlock | ToolResultBlock):
            for fields in (value, *filter(is_mapping, value.values())):
                id = id or next((str(fields[key]) for key in _IDS if key in fields), None)
                name = name or (str(fields["name"]) if "name" in fields else None)
        has_flag = getattr(note.block, "is_error", False) and note.at not in self.unflagged
        cache = self.caches.get(note.at)
        fence, (message, block, inner) = note.fence, (*note.at, None)[:3]
        location = (address, entry.number, entry.role, start, end, text, message, block, inner)
        return SentLocation(*location, fence, id, name, entry.speaker, cache, has_flag)
