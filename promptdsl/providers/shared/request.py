"""The state of one request while an adapter writes it, and where each block is in the payload.

A *param* is a dictionary in the payload. First come notes that say which block became which param,
and the search for the noted params in the payload. Then comes ``Request`` with the messages, the
cache marks and the losses so far. Read ``Request`` first: only ``Rendered.locations()`` uses notes.
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
ReadOnlyParam: TypeAlias = Mapping[str, Any]  # Any: JSON of a provider
"""A param that the code only reads."""

Address: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead from a payload to a value in it."""
InPrompt: TypeAlias = tuple[int, ...]
"""The location of a block in the prompt: the index of its message, and its index in the message.

For a block in a tool result, the third index is that of the block in the result."""
InMessage: TypeAlias = tuple[int, ...]
"""The location of a block in its message: an ``InPrompt`` without the index of the message.

It is empty outside of blocks."""


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
    """A param, the block that became the param, and the role of the block's message.

    ``at`` is the location of the block. ``fence`` is the name of the tag around a text. ``lead`` is
    the number of characters that the adapter put before the text.
    """

    param: ReadOnlyParam
    at: InPrompt
    role: str
    block: Block
    fence: str = ""
    lead: int = 0


class JoinedPiece(NamedTuple):
    """A piece of a joined text with the note of its block; ``None`` for text of the adapter."""

    start: int
    end: int
    note: BlockNote | None


class JoinedText(str):
    """A text that the adapter joined from several texts, with its pieces."""

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
        shifted = (
            JoinedPiece(start + bisect_right(ends, start), end + bisect_right(ends, end), note)
            for start, end, note in self.pieces
        )
        return self.of(text, shifted)


OWN_SEPARATOR = "own_separator"
"""The key of a text param for unusual white space before the text. The key is never sent."""


def joined_texts(
    separator: str,
    params: Sequence[ReadOnlyParam],
    notes: "LocationNotes | None",
    key: str = "text",
) -> str:
    """Return the texts of params as one text; with notes it is a :class:`JoinedText`.

    ``separator`` is put between two texts, unless a param has its own separator.
    """
    gaps = [
        param.get(OWN_SEPARATOR, separator) if index else "" for index, param in enumerate(params)
    ]
    text = "".join([f"{gap}{param[key]}" for gap, param in zip(gaps, params, strict=True)])
    if notes is None:
        return text
    pieces: list[JoinedPiece] = []
    end = 0
    for gap, param in zip(gaps, params, strict=True):
        start = end + len(gap)
        note, end = notes.blocks.get(id(param)), start + len(param[key])
        # Neighbouring texts that have no block become one piece. It contains their separator.
        if note is None and pieces and pieces[-1].note is None:
            pieces[-1] = pieces[-1]._replace(end=end)
        else:
            text_start = start + note.lead if note else start
            pieces += (JoinedPiece(start, text_start, None), JoinedPiece(text_start, end, note))
    return JoinedText.of(text, pieces)


_CONTENTS = ("content", "parts", "output", "error", "tool_calls", "reasoning_content")
"""The keys, at any depth of a payload message or a result, whose value is its params or its text.

Other keys may have a ``JoinedText``: the key of a server's reasoning."""

_IDS = ("tool_use_id", "toolUseId", "tool_call_id", "call_id", "id")
"""The keys under which calls and results have the id of the call."""


class _PayloadMessage(NamedTuple):
    """The position of a payload message in its list, its role, and the name of its speaker.

    The position of separate system text is ``None``.
    """

    position: int | None
    role: str
    speaker: str | None = None


@attrs.define(eq=False)
class LocationNotes:
    """The notes of one write: which block became which param.

    In a write with notes, an adapter notes each param that it makes of a block, and each param that
    replaces another param. After the write, ``locations`` walks over the payload and finds the
    address of each param. It recognises a param by its ``id()``, because an equal param may come
    from another block. A param without a note was added by the adapter.
    """

    blocks: dict[int, BlockNote] = attrs.field(factory=dict[int, BlockNote])
    """The note of each param by its ``id()``. The note keeps the param alive: its id is unique."""
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

    def replace(
        self, param: ReadOnlyParam, new: ReadOnlyParam, *, fence: str = "", lead: int = 0
    ) -> None:
        """Note that ``new`` is sent instead of a param."""
        if note := self.blocks.get(id(param)):
            fence, lead = fence or note.fence, lead or note.lead
            self.blocks[id(new)] = note._replace(param=new, fence=fence, lead=lead)

    def locations(self, payload: ReadOnlyParam, losses: Iterable[Loss]) -> tuple[SentLocation, ...]:
        """Return the locations in a payload that was written with these losses, in its order."""
        from promptdsl.tokens.payloads import SYSTEM_PATHS, entries_key, value_at

        self.unflagged = {loss.at for loss in losses if loss.name == "error_flag"}
        locations: list[SentLocation] = []
        for path in SYSTEM_PATHS:
            system = _PayloadMessage(None, "system")
            locations += self._in_content(value_at(payload, *path), path, system)
        key = entries_key(payload) or ""
        for index, param in enumerate(payload[key]):
            locations += self._in_message(param, (key, index), index)
        return tuple(locations)

    def _in_message(
        self, param: ReadOnlyParam, address: Address, index: int
    ) -> Iterator[SentLocation]:
        """Yield the locations in the payload message at an index: a message, a turn or an item."""
        note, role = self.blocks.get(id(param)), param.get("role")
        if note and role is None:
            role = "tool" if isinstance(note.block, ToolResultBlock) else note.role
        role = "assistant" if role == "model" else str(role)
        if note and isinstance(note.block, TextBlock):
            content = param["content"]
            yield self._text(
                _PayloadMessage(index, role), (*address, "content"), note, start=0, text=content
            )
        elif note:
            yield from self._in_param(param, address, _PayloadMessage(index, role))
        else:
            speaker = param.get("name")
            speaker_name = speaker if isinstance(speaker, str) else None
            yield from self._in_values(param, address, _PayloadMessage(index, role, speaker_name))

    def _in_values(
        self, param: ReadOnlyParam, address: Address, message: _PayloadMessage
    ) -> Iterator[SentLocation]:
        """Yield the locations in a payload message or a result, at any depth."""
        for key, value in param.items():
            if key in _CONTENTS or isinstance(value, JoinedText):
                yield from self._in_content(value, (*address, key), message)
            elif is_mapping(value):
                if note := self.blocks.get(id(value)):
                    yield self._location(message, (*address, key), note)
                else:
                    yield from self._in_values(value, (*address, key), message)

    def _in_content(
        self, value: object, address: Address, message: _PayloadMessage
    ) -> Iterator[SentLocation]:
        """Yield the locations in a text, or in a list of params."""
        if isinstance(value, JoinedText):
            for piece in value.pieces:
                text = value[piece.start : piece.end]
                yield self._text(message, address, piece.note, start=piece.start, text=text)
        elif isinstance(value, str) and value:
            yield self._text(message, address, None, start=0, text=value)
        elif is_list(value):
            for index, param in enumerate(value):
                if is_mapping(param):
                    yield from self._in_param(param, (*address, index), message)

    def _in_param(
        self, param: ReadOnlyParam, address: Address, message: _PayloadMessage
    ) -> Iterator[SentLocation]:
        """Yield the location of a param, and the locations in it if it is a result."""
        note = self.blocks.get(id(param))
        key = next((key for key in ("text", "refusal") if isinstance(param.get(key), str)), "")
        text = param.get(key)
        if isinstance(text, JoinedText):
            yield from self._in_content(text, (*address, key), message)
        elif isinstance(text, str) and (note is None or isinstance(note.block, TextBlock)):
            yield self._text(message, (*address, key), note, start=0, text=text)
        else:
            yield self._param(message, address, note, param)
            if note and isinstance(note.block, ToolResultBlock):
                yield from self._in_values(param, address, message)

    def _text(
        self,
        message: _PayloadMessage,
        address: Address,
        note: BlockNote | None,
        *,
        start: int,
        text: str,
    ) -> SentLocation:
        """Return the location of a text that begins at an offset in its string."""
        end = start + len(text)
        return self._location(message, address, note, start=start, end=end, text=text)

    def _param(
        self,
        message: _PayloadMessage,
        address: Address,
        note: BlockNote | None,
        param: ReadOnlyParam,
    ) -> SentLocation:
        """Return the location of a param. For a call or a result, it has the id and the name."""
        id = name = None
        if note and isinstance(note.block, ToolUseBlock | ToolResultBlock):
            # Some formats have the id and the name in the param, others in a mapping in the param,
            # such as ``function`` or ``function_call``.
            for fields in (param, *filter(is_mapping, param.values())):
                id = id or next((str(fields[key]) for key in _IDS if key in fields), None)
                name = name or (str(fields["name"]) if "name" in fields else None)
        return self._location(message, address, note, id=id, name=name)

    def _location(
        self,
        message: _PayloadMessage,
        address: Address,
        note: BlockNote | None,
        *,
        start: int | None = None,
        end: int | None = None,
        text: str = "",
        id: str | None = None,
        name: str | None = None,
    ) -> SentLocation:
        """Return a location. With a note, it has the indices of its block."""
        if note is None:
            return SentLocation(address, message.position, message.role, start, end, text)
        # Only a block in a result has a third index.
        message_index, block, inner = (*note.at, None)[:3]
        return SentLocation(
            address=address,
            entry=message.position,
            role=message.role,
            start=start,
            end=end,
            text=text,
            message=message_index,
            block=block,
            inner=inner,
            fence=note.fence,
            id=id,
            name=name,
            speaker=message.speaker,
            cache=self.caches.get(note.at),
            is_error=getattr(note.block, "is_error", False) and note.at not in self.unflagged,
        )


Carrier: TypeAlias = TextBlock | ToolUseBlock | ToolResultBlock | MediaBlock
"""The blocks that may have a cache mark after them. All their data but ``extra`` is strings."""


class Location(NamedTuple):
    """The message whose content an adapter writes now, and the role of that content.

    ``message_index`` is the index of the message; :attr:`Request.at` has the index of the block.
    ``role`` is the role of the message, or a more precise word such as ``result`` for the content
    of a tool result. ``leads`` is whether the message is part of the system text. For the content
    of a result, ``call`` is the id that the payload has for the call.
    """

    message_index: int
    message: Message
    role: str
    leads: bool = False
    call: str = ""

    def with_role(self, role: str, call: str = "") -> "Location":
        """Return this location with the role of its inner content, such as ``result``."""
        return Location(self.message_index, self.message, role, self.leads, call)


Subject: TypeAlias = Location | ToolDefinition | OutputSchema
"""What a loss is about."""

OPENING = "."
"""The text of a user message that a provider requires but the author did not write."""

_WHY_FIRST = f"every API needs a user message first, so {OPENING!r} is sent before it"
MODEL_FIRST = hint("inserted_text", "the model speaks first", _WHY_FIRST)
"""The hint about a conversation that begins with the model."""


class Mark(NamedTuple):
    """A cache mark of the author: the param before it, its time to live and its subject.

    ``message_index`` is -1 for tools and system text, because they come before all messages.
    ``at`` is the location of the block in the message of the subject.
    """

    param: Param
    cache: str
    message_index: int
    subject: Subject
    at: InMessage = ()


class MovedFile(NamedTuple):
    """A file that was moved out of a result: the id of the call, the file's number and its name.

    The files of one result are numbered from 1.
    """

    call: str
    ordinal: int
    name: str
    param: Param


_COPIED = (list, dict, set, OpenCalls)
"""The types of fields that a request may change in place, so another request gets a copy."""


@attrs.define(eq=False)
class Request:
    """The state of one request while an adapter writes it.

    ``payload_messages`` are the messages, turns or items of the payload. Another request may share
    them (``memory.py``), so never change a message in the list or a param in it: replace it.

    ``prompt``, ``facts`` and the keyword arguments of a subclass describe the request. The other
    fields have what was written so far, or the block that is being written (``block_index``,
    ``result_index``).
    """

    takes_lists: ClassVar[bool] = False
    """Whether the setting ``lone_text`` may make a single text a list."""
    prompt: Prompt
    facts: ModelFacts
    messages: Sequence[Message] = attrs.field(init=False)
    # What was written so far. ``state`` copies these fields for a request that continues an earlier
    # one: each field with a default, also in a subclass, except those in ``_NOT_IN_STATE``. So a
    # field that describes the request must have no default, or be a keyword argument.
    payload_messages: list[Param] = attrs.field(factory=new_list)
    losses: list[Loss] = attrs.field(factory=new_list)
    marks: list[Mark] = attrs.field(factory=new_list)
    tool_names: dict[str, str] = attrs.field(factory=new_dict)
    """By the name of a tool, its name in the payload."""
    taken_names: set[str] = attrs.field(factory=new_set)
    """The names of all tools in the prompt, and all names of tools in the payload."""
    name_suffixes: dict[str, int] = attrs.field(factory=new_dict)
    """By a changed name that several tools would share, the last number that was added to it."""
    offered_tools: set[str] = attrs.field(factory=new_set)
    """The names of the tools that are sent."""
    block_index: int | None = None
    """The index of the block that is being written, ``None`` outside of blocks."""
    result_index: int | None = None
    """The index of the result that contains the block, ``None`` outside of results."""
    moved_files: list[MovedFile] = attrs.field(factory=new_list)
    """The files moved out of results, to be sent in the user message after the results."""
    notes: LocationNotes | None = None
    """Notes about the location of each block. With notes, the adapter takes no shortcut."""
    has_cached_losses: bool = False
    """Whether the first losses come from a cached write, whose messages may be equal objects."""

    def __attrs_post_init__(self) -> None:
        self.messages = self.prompt.messages

    def depends(self, stop: int) -> tuple[object, ...]:
        """Return all that the writing of the first ``stop`` messages depends on, except these.

        The write cache (``memory.py``) reuses payload messages only if this is equal. It matters
        whether a budget removed content, not where. A subclass adds what else it reads.
        """
        prompt = self.prompt
        separators = tuple(pair for pair in prompt.joints.items() if pair[0][0] < stop)
        settings = (prompt.lone_text, prompt.join_texts, prompt.merges)
        return (type(self), self.facts, bool(prompt.untrimmed_from), settings, separators)

    def state(self) -> dict[str, object]:
        """Return a copy of what was written so far, except the fields in ``_NOT_IN_STATE``."""
        state: dict[str, object] = {}
        kind: Any = type(self)  # Any: mypy takes an attrs class for unhashable
        for name in _state_fields(kind):
            value = getattr(self, name)
            state[name] = value.copy() if type(value) in _COPIED else value
        return state

    def final_count(self) -> int:
        """Return how many of the first payload messages stay as they are.

        All of them do, except in ``Turns``: a later message may join its last two turns.
        """
        return len(self.payload_messages)

    def unshare(self, final_count: int) -> None:
        """Copy the lists in the payload messages after the first ``final_count``.

        Another request may share these lists, and ``Turns`` adds to them later. Other requests add
        to no list, so nothing is copied here.
        """

    @property
    def at(self) -> InMessage:
        """The location of the current block in its message, empty outside of blocks."""
        if self.block_index is None:
            return ()
        if self.result_index is None:
            return (self.block_index,)
        return (self.result_index, self.block_index)

    def lose(self, subject: Subject, kind: Literal["content", "role"], what: str, why: str) -> None:
        """Record a loss in a message, a tool or the output schema.

        In a message it is a loss of the current block, if there is one.
        """
        self.losses.append(about(subject, Loss(kind, what, why), at=self.at))

    def hint(
        self, subject: Subject, name: str, what: str, why: str, *, at: InMessage | None = None
    ) -> None:
        """Record a hint with a name of ``HINTS``, about the block ``at``.

        By default the hint is about the current block.
        """
        if at is None:
            at = self.at
        self.losses.append(about(subject, hint(name, what, why), at=at))

    def note(self, location: Location, block: Block, param: Param, *, fence: str = "") -> None:
        """Note the param of the current block; ``fence`` is the name of the tag around a text."""
        if self.notes is not None:
            at, role = (location.message_index, *self.at), location.message.role
            self.notes.add(BlockNote(param, at, role, block, fence))

    def note_plain(self, message_index: int, param: Param) -> None:
        """Note the param of a message that consists of one text."""
        if self.notes is not None:
            message = self.messages[message_index]
            self.notes.add(BlockNote(param, (message_index, 0), message.role, message.content[0]))

    def note_change(self, param: Param, new: Param, *, fence: str = "", lead: int = 0) -> None:
        """Note that ``new`` replaces a param.

        ``fence`` is the name of a tag around its text, ``lead`` the number of characters before it.
        """
        if self.notes is not None:
            self.notes.replace(param, new, fence=fence, lead=lead)

    def mark(self, location: Location, param: Param, cache: str) -> None:
        """Note a cache mark after a param of a message."""
        index = -1 if location.leads else location.message_index
        self.marks.append(Mark(param, cache, index, location, self.at))

    def lose_mark(self, mark: Mark, why: str) -> None:
        """Record a hint: a cache mark is not sent, or is sent with another time to live."""
        self.hint(mark.subject, "cache_mark", "cache mark", why, at=mark.at)

    def lose_trailing(self) -> None:
        """Record a hint: the white space at the end of the last answer is not sent."""
        why = "many models refuse it at the end of the last answer, so it is left out"
        for message_index in range(len(self.messages) - 1, -1, -1):
            message = self.messages[message_index]
            blocks = message.content if message.role == "assistant" else ()
            sent_indices = [
                index
                for index, block in enumerate(blocks)
                if not isinstance(block, ReasoningBlock)
                if not (isinstance(block, TextBlock) and is_blank(block.text))
            ]
            if sent_indices:
                location, at = Location(message_index, message, message.role), (sent_indices[-1],)
                self.hint(location, "white_space", "trailing white space", why, at=at)
                return

    def move_file(self, location: Location, block: Block, param: Param) -> str:
        """Move a file from a result to the next user message; return the text that replaces it."""
        self.note(location, block, param)
        last_moved = self.moved_files[-1] if self.moved_files else None
        ordinal = last_moved.ordinal + 1 if last_moved and last_moved.call == location.call else 1
        name = f"{block.type} {ordinal} of tool result {location.call}"
        self.moved_files.append(MovedFile(location.call, ordinal, name, param))
        why = "the target takes none there, so it is sent in the next user message"
        self.hint(location, "moved_file", f"{block.type} in a tool result", why)
        return f"[{name}: after the tool results]"

    def take_moved_files(self, text: Mapping[str, str]) -> list[Param]:
        """Return the moved files, each after a text param with its name, and forget them.

        ``text`` are the other keys of a text param.
        """
        files, self.moved_files = self.moved_files, []
        pairs = (({**text, "text": f"[{file.name}]"}, file.param) for file in files)
        return [param for pair in pairs for param in pair]

    def final_losses(self) -> tuple[Loss, ...]:
        """Return the losses. Each loss in a message has the message of this request."""
        if not self.has_cached_losses:
            return tuple(self.losses)
        losses = [*self.losses]
        for index, loss in enumerate(losses):
            if loss.at:
                losses[index] = attrs.evolve(loss, message=self.messages[loss.at[0]])
        return tuple(losses)

    def clean(self, location: Location, text: str, what: str) -> str:
        """Return a text with U+FFFD for lone surrogates; a hint if it had any."""
        cleaned, has_changed = valid_unicode(text)
        if has_changed:
            self.lose_surrogate(location, what)
        return cleaned

    def lose_surrogate(self, subject: Subject, what: str) -> None:
        """Record a hint: U+FFFD is sent for a lone surrogate in ``what``."""
        why = "UTF-8 cannot encode it, so U+FFFD is sent"
        self.hint(subject, "lone_surrogate", f"a lone surrogate in {what}", why)


_NOT_IN_STATE = (
    *("payload_messages", "losses", "marks"),
    *("block_index", "result_index", "has_cached_losses", "notes"),
)
"""The fields that ``memory.py`` copies itself, and those that each request begins without."""


@cache
def _state_fields(kind: type[Request]) -> tuple[str, ...]:
    """Return the names of the fields that ``state`` copies; a comment in ``Request`` says which."""
    return tuple(
        field.name
        for field in attrs.fields(kind)
        if field.default is not attrs.NOTHING
        and not field.kw_only
        and field.name not in _NOT_IN_STATE
    )


def about(subject: Subject, loss: Loss, *, at: InMessage) -> Loss:
    """Return a loss that names its subject: a tool, the output schema, or a block of a message.

    A loss in a message gets no source line yet: promptdsl looks it up when somebody reads the loss.
    """
    if isinstance(subject, Location):
        return attrs.evolve(loss, message=subject.message, at=(subject.message_index, *at))
    path = f"tools/{subject.name}" if isinstance(subject, ToolDefinition) else "output"
    return attrs.evolve(loss, path=path, source=subject.source)
