"""The state of one request while an adapter writes it, and where each block is in the payload.

First: the notes of which block each param was made from, and the search for the params in the
payload. Then: ``Request``, with the entries, the cache marks and the losses so far.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.frozen import is_list, is_mapping, new_dict, new_list, new_set
from promptdsl.foundation.unicode import is_blank, valid_unicode
from promptdsl.messages import (
    Block,
    MediaBlock,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from promptdsl.messages.message import Message
from promptdsl.messages.pairing import OpenCalls
from promptdsl.messages.prompt import Loss, OutputSchema, Prompt, ToolDefinition, hint

Param: TypeAlias = dict[str, Any]  # Any: JSON of a provider, which its SDK's types check
"""A dictionary in a payload: a block, part, item, call or tool in the provider's format."""
SentParam: TypeAlias = Mapping[str, Any]  # Any: JSON of a provider
"""The same, where it is only read."""

Address: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead from a payload to a value in it."""
InPrompt: TypeAlias = tuple[int, ...]
"""Where a block is in the prompt: the index of its message, of the block in the message, and, for a
block in a result, of the block in the result."""
InMessage: TypeAlias = tuple[int, ...]
"""Where a block is in its message: as ``InPrompt``, without the index of the message. Empty for no
block."""


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

    ``at`` begins with the index of the message. ``fence`` is the tag around a text, and ``lead`` is
    the number of characters that were put before its text.
    """

    param: SentParam
    at: InPrompt
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
    joint: str, params: Sequence[SentParam], notes: "LocationNotes | None", key: str = "text"
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
        # Texts without a block that follow each other are one piece, with the joint between them.
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
"""The keys of the id of a call, in a call and in a result."""


class _Entry(NamedTuple):
    """The index of an entry in the payload, its role, and the name of its speaker."""

    number: int | None
    role: str
    speaker: str | None = None


@attrs.define(eq=False)
class LocationNotes:
    """The notes of one write: from which block each param was made.

    In a write with notes, an adapter notes each param that it makes of a block, and each param that
    replaces another. After the write, ``locations`` walks over the payload and finds the address of
    each param. A param is recognised by identity: an equal one may be made of another block. Params
    without a note were added by the adapter.
    """

    blocks: dict[int, BlockNote] = attrs.field(factory=dict[int, BlockNote])
    """The note of each param by its ``id()``. The note keeps the param, so the id is unique."""
    caches: dict[InPrompt, str] = attrs.field(factory=dict[InPrompt, str])
    """The time to live of each cache mark that is sent, by the block before the mark."""
    noted: set[InPrompt] = attrs.field(factory=set[InPrompt])
    """The blocks that have a note."""
    unflagged: set[InPrompt] = attrs.field(factory=set[InPrompt])
    """The results whose flag of an error is not sent."""

    def add(self, note: BlockNote) -> None:
        """Note the param of a block. Only the first param of each block is noted."""
        if note.at not in self.noted:
            self.noted.add(note.at)
            self.blocks[id(note.param)] = note

    def replace(self, param: SentParam, new: SentParam, *, fence: str = "", lead: int = 0) -> None:
        """Note that ``new`` is sent instead of a param."""
        if note := self.blocks.get(id(param)):
            fence, lead = fence or note.fence, lead or note.lead
            self.blocks[id(new)] = note._replace(param=new, fence=fence, lead=lead)

    def locations(self, payload: SentParam, losses: Iterable[Loss]) -> tuple[SentLocation, ...]:
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

    def _in_entry(self, param: SentParam, address: Address, index: int) -> Iterator[SentLocation]:
        note, role = self.blocks.get(id(param)), param.get("role")
        if note and role is None:
            role = "tool" if isinstance(note.block, ToolResultBlock) else note.role
        role = "assistant" if role == "model" else str(role)
        if note and isinstance(note.block, TextBlock):
            content = param["content"]
            yield self._text(
                _Entry(index, role), (*address, "content"), note, start=0, text=content
            )
        elif note:
            yield from self._in_param(param, address, _Entry(index, role))
        else:
            speaker = param.get("name")
            named = speaker if isinstance(speaker, str) else None
            yield from self._in_values(param, address, _Entry(index, role, named))

    def _in_values(
        self, param: SentParam, address: Address, entry: _Entry
    ) -> Iterator[SentLocation]:
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
                yield self._text(entry, address, piece.note, start=piece.start, text=text)
        elif isinstance(value, str) and value:
            yield self._text(entry, address, None, start=0, text=value)
        elif is_list(value):
            for index, param in enumerate(value):
                if is_mapping(param):
                    yield from self._in_param(param, (*address, index), entry)

    def _in_param(
        self, param: SentParam, address: Address, entry: _Entry
    ) -> Iterator[SentLocation]:
        """Yield the location of a param, and the locations in it if it is a result."""
        note = self.blocks.get(id(param))
        key = next((key for key in ("text", "refusal") if isinstance(param.get(key), str)), "")
        text = param.get(key)
        if isinstance(text, JoinedText):
            yield from self._in_content(text, (*address, key), entry)
        elif isinstance(text, str) and (note is None or isinstance(note.block, TextBlock)):
            yield self._text(entry, (*address, key), note, start=0, text=text)
        else:
            yield self._param(entry, address, note, param)
            if note and isinstance(note.block, ToolResultBlock):
                yield from self._in_values(param, address, entry)

    def _text(
        self, entry: _Entry, address: Address, note: BlockNote | None, *, start: int, text: str
    ) -> SentLocation:
        """Return the location of a text that begins at an offset in its string."""
        end = start + len(text)
        return self._location(entry, address, note, start=start, end=end, text=text)

    def _param(
        self, entry: _Entry, address: Address, note: BlockNote | None, param: SentParam
    ) -> SentLocation:
        """Return the location of a param; that of a call or a result has its id and name."""
        id = name = None
        if note and isinstance(note.block, ToolUseBlock | ToolResultBlock):
            # Formats differ: the id and the name are in the param, or in a mapping in it, such as
            # ``function`` or ``function_call``.
            for fields in (param, *filter(is_mapping, param.values())):
                id = id or next((str(fields[key]) for key in _IDS if key in fields), None)
                name = name or (str(fields["name"]) if "name" in fields else None)
        return self._location(entry, address, note, id=id, name=name)

    def _location(
        self,
        entry: _Entry,
        address: Address,
        note: BlockNote | None,
        *,
        start: int | None = None,
        end: int | None = None,
        text: str = "",
        id: str | None = None,
        name: str | None = None,
    ) -> SentLocation:
        """Return a location; with a note it says which block it is."""
        if note is None:
            return SentLocation(address, entry.number, entry.role, start, end, text)
        message, block, inner = (*note.at, None)[:3]
        return SentLocation(
            address=address,
            entry=entry.number,
            role=entry.role,
            start=start,
            end=end,
            text=text,
            message=message,
            block=block,
            inner=inner,
            fence=note.fence,
            id=id,
            name=name,
            speaker=entry.speaker,
            cache=self.caches.get(note.at),
            is_error=getattr(note.block, "is_error", False) and note.at not in self.unflagged,
        )


Carrier: TypeAlias = TextBlock | ToolUseBlock | ToolResultBlock | MediaBlock
"""The blocks that may have a cache mark after them. Their fields are strings."""


class Location(NamedTuple):
    """The message of content that is being written, and the role of the content in the message.

    ``number`` is the index of the message; the index of the block is in :attr:`Request.at`.
    ``role`` is the role of the message, or a more precise word such as ``result`` for the content
    of a tool result. ``leads`` is whether it is system text. For the content of a result, ``call``
    is the id of the call as sent.
    """

    number: int
    message: Message
    role: str
    leads: bool = False
    call: str = ""

    def inside(self, role: str, call: str = "") -> "Location":
        """Return the location of content inside this location."""
        return Location(self.number, self.message, role, self.leads, call)


Subject: TypeAlias = Location | ToolDefinition | OutputSchema
"""The subject of a loss."""

OPENING = "."
"""The text of a user message that a provider requires but the author did not write."""

_WHY_FIRST = f"every API needs a user message first, so {OPENING!r} is sent before it"
MODEL_FIRST = hint("inserted_text", "the model speaks first", _WHY_FIRST)
"""The hint about a conversation that begins with the model."""


class Mark(NamedTuple):
    """A cache mark of the author: the param before it, its time to live and its subject.

    ``number`` is the index of the message, or -1 for tools and system text, which come first.
    ``at`` is where the block is in the message of the subject.
    """

    param: Param
    cache: str
    number: int
    subject: Subject
    at: InMessage = ()


class Moved(NamedTuple):
    """A file moved out of a result: the id of the call, the number in the result, and a name."""

    call: str
    number: int
    name: str
    param: Param


_COPIED = (list, dict, set, OpenCalls)
"""The types of results that a request may change, so that another request gets a copy."""


@attrs.define(eq=False)
class Request:
    """The state of one request while it is written.

    ``entries`` are the messages, items or turns of the payload. Another request may share their
    contents (``memory.py``): never change an entry or a param in it, replace it.

    ``prompt``, ``facts`` and the keyword arguments of a subclass describe the request. The
    other fields hold what was written so far, or where the writing is (``block``, ``result``).
    """

    takes_lists: ClassVar[bool] = False
    """Whether the setting ``lone_text`` may make a single text a list."""
    prompt: Prompt
    facts: ModelFacts
    messages: Sequence[Message] = attrs.field(init=False)
    # What was written so far. A request that continues an earlier one gets a copy of each field
    # with a default, but for those in ``_NOT_IN_STATE``; in a subclass, too: see ``state``. So a
    # field that describes the request has no default or is a keyword argument.
    entries: list[Param] = attrs.field(factory=new_list)
    losses: list[Loss] = attrs.field(factory=new_list)
    marks: list[Mark] = attrs.field(factory=new_list)
    tool_names: dict[str, str] = attrs.field(factory=new_dict)
    """The sent name of a tool by its name."""
    taken_names: set[str] = attrs.field(factory=new_set)
    """The names of all tools, and all names that are sent."""
    numbers: dict[str, int] = attrs.field(factory=new_dict)
    """By a mended name that several tools would share, the last number added to it."""
    offered: set[str] = attrs.field(factory=new_set)
    """The names of the tools that are sent."""
    block: int | None = None
    """The index of the block that is written, ``None`` outside of blocks."""
    result: int | None = None
    """The index of the result that contains this block, ``None`` outside of results."""
    moved: list[Moved] = attrs.field(factory=new_list)
    """The files moved out of results, to be sent in the user message after the results."""
    notes: LocationNotes | None = None
    """Notes about the location of each block. With notes, all shortcuts for texts are left out."""
    recalled: bool = False
    """Whether the first losses come from an earlier request with equal messages."""

    def __attrs_post_init__(self) -> None:
        self.messages = self.prompt.messages

    def depends(self, stop: int) -> tuple[object, ...]:
        """Return all that the entries of the first ``stop`` messages depend on, except these.

        The write cache (``memory.py``) reuses entries only where this is equal. Whether a budget
        removed parts matters, not where. A subclass adds what else it reads.
        """
        prompt = self.prompt
        joints = tuple(joint for joint in prompt.joints.items() if joint[0][0] < stop)
        settings = (prompt.lone_text, prompt.join_texts, prompt.merges)
        return (type(self), self.facts, bool(prompt.untrimmed_from), settings, joints)

    def state(self) -> dict[str, object]:
        """Return a copy of the fields with results, except those in ``_NOT_IN_STATE``."""
        state: dict[str, object] = {}
        kind: Any = type(self)  # Any: mypy takes an attrs class for unhashable
        for name in _result_fields(kind):
            value = getattr(self, name)
            state[name] = value.copy() if type(value) in _COPIED else value
        return state

    def final_count(self) -> int:
        """Return the number of first entries that no later message changes.

        These are all, except in ``Turns``: a later message may join its last turns.
        """
        return len(self.entries)

    def unshare(self, final_count: int) -> None:
        """Copy the lists in the entries after the first ``final_count``, which may be shared.

        Only ``Turns`` has such lists, to which it adds later; here nothing is to be copied.
        """

    @property
    def at(self) -> InMessage:
        """Where the block that is being written is in its message; empty outside of blocks."""
        if self.block is None:
            return ()
        return (self.block,) if self.result is None else (self.result, self.block)

    def lose(self, subject: Subject, kind: Literal["content", "role"], what: str, why: str) -> None:
        """Record a loss in a message, a tool or the output schema.

        In a message it is a loss of the block that is being written, if there is one.
        """
        self.losses.append(about(subject, Loss(kind, what, why), at=self.at))

    def hint(
        self, subject: Subject, name: str, what: str, why: str, *, at: InMessage | None = None
    ) -> None:
        """Record a hint with a name of ``HINTS``, about the block ``at``.

        By default it is about the block that is being written.
        """
        if at is None:
            at = self.at
        self.losses.append(about(subject, hint(name, what, why), at=at))

    def note(self, location: Location, block: Block, param: Param, *, fence: str = "") -> None:
        """Note the param of the block that is being written; ``fence`` is the tag around a text."""
        if self.notes is not None:
            at, role = (location.number, *self.at), location.message.role
            self.notes.add(BlockNote(param, at, role, block, fence))

    def note_plain(self, number: int, param: Param) -> None:
        """Note the param of a message that is one text."""
        if self.notes is not None:
            message = self.messages[number]
            self.notes.add(BlockNote(param, (number, 0), message.role, message.content[0]))

    def note_change(self, param: Param, new: Param, *, fence: str = "", lead: int = 0) -> None:
        """Note that ``new`` is sent instead of a param, in a tag or after ``lead`` characters."""
        if self.notes is not None:
            self.notes.replace(param, new, fence=fence, lead=lead)

    def mark(self, location: Location, param: Param, cache: str) -> None:
        """Note a cache mark after a param of a message."""
        number = -1 if location.leads else location.number
        self.marks.append(Mark(param, cache, number, location, self.at))

    def lose_mark(self, mark: Mark, why: str) -> None:
        """Record a hint: a cache mark that is not sent, or is sent with another time to live."""
        self.hint(mark.subject, "cache_mark", "cache mark", why, at=mark.at)

    def lose_trailing(self) -> None:
        """Record a hint: the white space at the end of the last answer is not sent."""
        why = "many models refuse it at the end of the last answer, so it is left out"
        for number in range(len(self.messages) - 1, -1, -1):
            message = self.messages[number]
            blocks = message.content if message.role == "assistant" else ()
            sent = [
                index
                for index, block in enumerate(blocks)
                if not isinstance(block, ReasoningBlock)
                if not (isinstance(block, TextBlock) and is_blank(block.text))
            ]
            if sent:
                location = Location(number, message, message.role)
                self.hint(location, "white_space", "trailing white space", why, at=(sent[-1],))
                return

    def move(self, location: Location, block: Block, param: Param) -> str:
        """Move a file from a result to the user message after it; return the text sent instead."""
        self.note(location, block, param)
        before = self.moved[-1] if self.moved else None
        number = before.number + 1 if before and before.call == location.call else 1
        name = f"{block.type} {number} of tool result {location.call}"
        self.moved.append(Moved(location.call, number, name, param))
        why = "the target takes none there, so it is sent in the next user message"
        self.hint(location, "moved_file", f"{block.type} in a tool result", why)
        return f"[{name}: after the tool results]"

    def take_moved(self, text: Mapping[str, str]) -> list[Param]:
        """Return the moved files, each after a text param with its name and the keys ``text``."""
        moved, self.moved = self.moved, []
        named = (({**text, "text": f"[{file.name}]"}, file.param) for file in moved)
        return [param for pair in named for param in pair]

    def final_losses(self) -> tuple[Loss, ...]:
        """Return the losses, each with its message in this request."""
        if not self.recalled:
            return tuple(self.losses)
        losses = [*self.losses]
        for index, loss in enumerate(losses):
            if loss.at:
                losses[index] = attrs.evolve(loss, message=self.messages[loss.at[0]])
        return tuple(losses)

    def clean(self, location: Location, text: str, what: str) -> str:
        """Return a text with U+FFFD for lone surrogates; a hint if it had any."""
        clean, replaced = valid_unicode(text)
        if replaced:
            self.lose_surrogate(location, what)
        return clean

    def lose_surrogate(self, subject: Subject, what: str) -> None:
        """Record a hint: for a lone surrogate in ``what``, U+FFFD is sent."""
        why = "it has no UTF-8 form: U+FFFD is sent"
        self.hint(subject, "lone_surrogate", f"a lone surrogate in {what}", why)


_NOT_IN_STATE = ("entries", "losses", "marks", "block", "result", "recalled", "notes")
"""The fields that ``memory.py`` copies itself, and those that begin again with each request."""


@cache
def _result_fields(kind: type[Request]) -> tuple[str, ...]:
    """Return the names of the fields that ``state`` copies: see the comment in ``Request``."""
    return tuple(
        field.name
        for field in attrs.fields(kind)
        if field.default is not attrs.NOTHING
        and not field.kw_only
        and field.name not in _NOT_IN_STATE
    )


def about(subject: Subject, loss: Loss, *, at: InMessage) -> Loss:
    """Return a loss that names its subject: a tool, the output schema, or a block of a message.

    The author's line of a message is looked up when a loss is read, because most are never read.
    """
    if isinstance(subject, Location):
        return attrs.evolve(loss, message=subject.message, at=(subject.number, *at))
    path = f"tools/{subject.name}" if isinstance(subject, ToolDefinition) else "output"
    return attrs.evolve(loss, path=path, source=subject.source)
