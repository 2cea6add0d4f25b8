"""A request while it is being written: its entries so far, their cache marks, and losses."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.unicode import whole
from promptdsl.messages.loss import Loss, LossKind, loss_of
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import OutputSchema, Prompt, ToolDefinition

Param: TypeAlias = dict[str, Any]
"""A block, part, item or call on the wire."""


class Place(NamedTuple):
    """The message that a block is in, and the role of the content it is in.

    ``number`` is the index of the message, -1 for one of the system text. ``role`` is the role of
    the message, or says more: ``result`` for the content of a tool's result.
    """

    number: int
    message: Message
    role: str

    def inside(self, role: str) -> "Place":
        """Return the place of a content within this one."""
        return Place(self.number, self.message, role)


Subject: TypeAlias = Place | Message | ToolDefinition | OutputSchema
"""The subject of a loss."""


# Called for every request: a list[Loss] takes four times as long to call as a list.
new_list: Any = list
new_dict: Any = dict
new_set: Any = set


class Mark(NamedTuple):
    """A cache mark that an author asks for: the param before it, its time to live, its subject.

    ``number`` is the index of the message, -1 for tools and system text, which come first.
    """

    param: Param
    cache: str
    number: int
    subject: Subject


@attrs.define(eq=False)
class Request:
    """The entries written so far, and their losses.

    ``entries`` are the messages, items or turns as they go out. What is in them may be remembered
    (``memory``), so whoever changes an entry, or a param in one, puts another in its place.

    What a field is given is a keyword, and what has been written has a default: a request that
    goes on from another one has its own of the former and takes over the latter.
    """

    prompt: Prompt
    facts: ModelFacts
    messages: Sequence[Message] = attrs.field(init=False)
    entries: list[Param] = attrs.field(factory=new_list)
    losses: list[Loss] = attrs.field(factory=new_list)
    marks: list[Mark] = attrs.field(factory=new_list)
    tool_names: dict[str, str] = attrs.field(factory=new_dict)
    """The name that is sent, by the name of a tool."""
    legal_names: set[str] = attrs.field(factory=new_set)
    """The names that are sent as they are."""
    taken_names: set[str] = attrs.field(factory=new_set)
    """The names of tools, and those that are sent."""
    numbers: dict[str, int] = attrs.field(factory=new_dict)
    """The last number given to one of several names that were mended alike, by what they became."""
    offered: set[str] = attrs.field(factory=new_set)
    """The names of the tools that are sent."""
    equal: "dict[int, Message] | None" = None
    """The equal message of this request, by the id of one that was written earlier."""

    def __attrs_post_init__(self) -> None:
        self.messages = self.prompt.messages

    def depends(self, stop: int) -> tuple[Any, ...]:
        """Return the facts, beside the first ``stop`` messages, that their entries depend on."""
        return (type(self), self.facts, self.prompt.trimmed)

    def state(self) -> dict[str, Any]:
        """Return a copy of the state so far, without entries, losses and marks."""
        kind: Any = type(self)
        found = {name: getattr(self, name) for name in _written(kind)}
        return {
            name: value.copy() if type(value) in _CONTAINERS else value
            for name, value in found.items()
        }

    def lasting(self) -> int:
        """Return how many entries no later message changes."""
        return len(self.entries)

    def part(self, lasting: int) -> None:
        """Copy the lists of all entries after the first ``lasting``, which may be shared."""

    def lose(self, subject: Subject, kind: LossKind, what: str, why: str) -> None:
        """Record a loss of a message, a tool or the form of the answer."""
        self.losses.append(loss_about(subject, kind, what, why))

    def mark(self, place: Place, param: Param, cache: str) -> None:
        """Note a cache mark after a param of a message."""
        self.marks.append(Mark(param, cache, place.number, place.message))

    def told(self) -> tuple[Loss, ...]:
        """Return the losses, each with the message of this request."""
        if not self.equal:
            return tuple(self.losses)
        now = [self.equal.get(id(loss.message)) for loss in self.losses]
        return tuple(
            loss if message is None else loss_of(message, loss.kind, loss.what, loss.why)
            for loss, message in zip(self.losses, now, strict=True)
        )

    def clean(self, place: Place, text: str, what: str) -> str:
        """Return a text with U+FFFD for lone surrogates, with a hint when it held any."""
        clean, replaced = whole(text)
        if replaced:
            self.lose_surrogate(place, what)
        return clean

    def lose_surrogate(self, subject: Subject, what: str) -> None:
        """Record a lone surrogate in ``what``, for which U+FFFD is sent."""
        why = "it has no UTF-8 form: U+FFFD is sent"
        self.lose(subject, "hint", f"a lone surrogate in {what}", why)


_APART = frozenset({"entries", "losses", "marks", "equal"})


@cache
def _written(kind: Any) -> tuple[str, ...]:
    """Return the fields of what has been written."""
    fields: tuple[Any, ...] = attrs.fields(kind)
    given = (field for field in fields if field.default is attrs.NOTHING or field.kw_only)
    apart = _APART | {field.name for field in given}
    return tuple(field.name for field in fields if field.name not in apart)


_CONTAINERS = frozenset({list, dict, set})


def loss_about(subject: Subject, kind: LossKind, what: str, why: str) -> Loss:
    """Return a loss with the source line of its subject."""
    if isinstance(subject, Place):
        subject = subject.message
    if isinstance(subject, Message):
        return loss_of(subject, kind, what, why)
    path = f"tools/{subject.name}" if isinstance(subject, ToolDefinition) else "output"
    return Loss(kind, what, why, path, subject.source)
