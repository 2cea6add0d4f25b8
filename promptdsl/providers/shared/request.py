"""The state of one request while an adapter writes it: entries, cache marks and losses so far."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.frozen import new_dict, new_list, new_set
from promptdsl.foundation.unicode import is_blank, valid_unicode
from promptdsl.messages import (
    Block,
    MediaBlock,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from promptdsl.messages.loss import Loss, hint
from promptdsl.messages.message import Message
from promptdsl.messages.pairing import OpenCalls
from promptdsl.messages.prompt import OutputSchema, Prompt, ToolDefinition
from promptdsl.providers.shared.sent_locations import BlockNote, LocationNotes

Param: TypeAlias = dict[str, Any]  # Any: JSON of a provider, which its SDK's types check
"""A dictionary in a payload: a block, part, item, call or tool in the provider's format."""


Carrier: TypeAlias = TextBlock | ToolUseBlock | ToolResultBlock | MediaBlock
"""The blocks that may have a cache mark after them. Their fields are strings."""


class Location(NamedTuple):
    """The location of content that is being written: its message, and its role in the message.

    ``number`` is the index of the message. ``role`` is the role of the message, or a more precise
    word such as ``result`` for the content of a tool result. ``leads`` is whether it is system
    text. For the content of a result, ``call`` is the id of the call as sent.
    """

    number: int
    message: Message
    role: str
    leads: bool = False
    call: str = ""

    def inside(self, role: str, call: str = "") -> "Location":
        """Return the location of content inside this location."""
        return Location(self.number, self.message, role, self.leads, call)


OPENING = "."
"""The text of a user message that a provider requires but the author did not write."""

_WHY_FIRST = f"every API needs a user message first, so {OPENING!r} is sent before it"
MODEL_FIRST = hint("inserted_text", "the model speaks first", _WHY_FIRST)
"""The hint about a conversation that begins with the model."""

_COPIED = (list, dict, set, OpenCalls)
"""The types of results that a request may change, so that another request gets a copy."""

Subject: TypeAlias = Location | ToolDefinition | OutputSchema
"""The subject of a loss."""
At: TypeAlias = tuple[int, ...] | None


class Mark(NamedTuple):
    """A cache mark of the author: the param before it, its time to live and its subject.

    ``number`` is the index of the message, or -1 for tools and system text, which come first.
    ``at`` is the location of the block in the message, as in :attr:`Request.at`.
    """

    param: Param
    cache: str
    number: int
    subject: Subject
    at: tuple[int, ...] = ()


class Moved(NamedTuple):
    """A file moved out of a result: the id of the call, the number in the result, and a name."""

    call: str
    number: int
    name: str
    param: Param


@attrs.define(eq=False)
class Request:
    """The state of one request while it is written.

    ``entries`` are the messages, items or turns of the payload. Another request may share their
    contents (``memory.py``): never change an entry or a param in it, replace it.

    Fields that describe the request are keyword arguments. Fields with the results of writing have
    a default. A request that continues an earlier one copies their values.
    """

    takes_lists: ClassVar[bool] = False
    """Whether the setting ``lone_text`` may make a single text a list."""
    prompt: Prompt
    facts: ModelFacts
    messages: Sequence[Message] = attrs.field(init=False)
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
        """Return all that the entries of the first ``stop`` messages depend on, except these."""
        prompt = self.prompt
        joints = tuple(joint for joint in prompt.joints.items() if joint[0][0] < stop)
        provider_formats = (prompt.lone_text, prompt.join_texts, prompt.merges)
        return (type(self), self.facts, bool(prompt.untrimmed_from), provider_formats, joints)

    def state(self) -> dict[str, object]:
        """Return a copy of the results so far, without entries, losses and marks."""
        state: dict[str, object] = {}
        kind: Any = type(self)  # Any: mypy takes an attrs class for unhashable
        for name in _result_fields(kind):
            value = getattr(self, name)
            state[name] = value.copy() if type(value) in _COPIED else value
        return state

    def final_count(self) -> int:
        """Return the number of first entries that no later message changes."""
        return len(self.entries)

    def unshare(self, final_count: int) -> None:
        """Copy the lists of all entries after the first ``final_count``, which may be shared."""

    @property
    def at(self) -> tuple[int, ...]:
        """The location of the block that is being written: its index in the message.

        For a block in a result, the index of the result comes first.
        """
        if self.block is None:
            return ()
        return (self.block,) if self.result is None else (self.result, self.block)

    def lose(self, subject: Subject, kind: Literal["content", "role"], what: str, why: str) -> None:
        """Record a loss in a message, a tool or the output schema.

        In a message it is a loss of the block that is being written, if there is one.
        """
        self.losses.append(about(subject, Loss(kind, what, why), at=self.at))

    def hint(self, subject: Subject, name: str, what: str, why: str, *, at: At = None) -> None:
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
        """Record a cache mark that is not sent, or is sent with another time to live."""
        self.hint(mark.subject, "cache_mark", "cache mark", why, at=mark.at)

    def lose_trailing(self) -> None:
        """Record the white space at the end of the last answer, which is not sent."""
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
        """Record a lone surrogate in ``what``; U+FFFD is sent instead."""
        why = "it has no UTF-8 form: U+FFFD is sent"
        self.hint(subject, "lone_surrogate", f"a lone surrogate in {what}", why)


@cache
def _result_fields(kind: type[Request]) -> tuple[str, ...]:
    """Return the names of the fields with results of writing, except those copied separately."""
    lists = ("entries", "losses", "marks", "block", "result", "recalled", "notes")
    return tuple(
        field.name
        for field in attrs.fields(kind)
        if field.default is not attrs.NOTHING and not field.kw_only and field.name not in lists
    )


def about(subject: Subject, loss: Loss, *, at: tuple[int, ...]) -> Loss:
    """Return a loss that names its subject: a tool, the output schema, or a block of a message.

    The author's line of a message is looked up when a loss is read, because most are never read.
    """
    if isinstance(subject, Location):
        return attrs.evolve(loss, message=subject.message, at=(subject.number, *at))
    path = f"tools/{subject.name}" if isinstance(subject, ToolDefinition) else "output"
    return attrs.evolve(loss, path=path, source=subject.source)
