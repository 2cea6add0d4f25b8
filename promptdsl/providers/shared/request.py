"""The state of one request while an adapter writes it: entries, cache marks and losses so far."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.unicode import whole
from promptdsl.messages import MediaBlock, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.loss import Loss, LossKind, loss_of
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import OutputSchema, Prompt, ToolDefinition

Param: TypeAlias = dict[str, Any]  # Any: JSON of a provider, which its SDK's types check
"""A dictionary as a provider takes it: a block, part, item, call or tool."""


Carrier: TypeAlias = TextBlock | ToolUseBlock | ToolResultBlock | MediaBlock
"""The blocks that may have a cache mark after them; they are made of strings alone."""


class Place(NamedTuple):
    """The message that contains a block, and the role of the content around the block.

    ``number`` is the index of the message, -1 for system text. ``role`` is the role of the message,
    or a more precise name such as ``result`` for the content of a tool's result.
    """

    number: int
    message: Message
    role: str

    def inside(self, role: str) -> "Place":
        """Return the place of a content within this one."""
        return Place(self.number, self.message, role)


Subject: TypeAlias = Place | Message | ToolDefinition | OutputSchema
"""The subject of a loss."""


# Called for every request: calling list[Loss] takes four times as long as calling list.
new_list: Any = list  # Any: pyright takes the items of list itself for unknown
new_dict: Any = dict  # Any: as above
new_set: Any = set  # Any: as above


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
    """The state of one request while it is written.

    ``entries`` are the messages, items or turns as they are sent. Their contents may be shared with
    another request (``memory.py``): never change an entry or a param in one, replace it.

    Fields that describe the request are keyword arguments. Fields with the results of writing have
    a default; a request that continues an earlier one takes these over.
    """

    prompt: Prompt
    facts: ModelFacts
    messages: Sequence[Message] = attrs.field(init=False)
    entries: list[Param] = attrs.field(factory=new_list)
    losses: list[Loss] = attrs.field(factory=new_list)
    marks: list[Mark] = attrs.field(factory=new_list)
    tool_names: dict[str, str] = attrs.field(factory=new_dict)
    """The name that is sent, by the name of the tool."""
    legal_names: set[str] = attrs.field(factory=new_set)
    """The names that are sent unchanged."""
    taken_names: set[str] = attrs.field(factory=new_set)
    """The names of all tools, and all names that are sent."""
    numbers: dict[str, int] = attrs.field(factory=new_dict)
    """The last number added to a mended name that several tools would share."""
    offered: set[str] = attrs.field(factory=new_set)
    """The names of the tools that are sent."""
    equal: "dict[int, Message] | None" = None
    """The equal message of this request, by the id of a message written earlier."""

    def __attrs_post_init__(self) -> None:
        self.messages = self.prompt.messages

    def depends(self, stop: int) -> tuple[object, ...]:
        """Return all that the entries of the first ``stop`` messages depend on, beside these."""
        return (type(self), self.facts, self.prompt.trimmed)

    def state(self) -> dict[str, object]:
        """Return a copy of the results so far, without entries, losses and marks."""
        state: dict[str, object] = {}
        kind: Any = type(self)  # Any: mypy takes an attrs class for unhashable
        for name in _result_fields(kind):
            value = getattr(self, name)
            state[name] = value.copy() if type(value) in (list, dict, set) else value
        return state

    def lasting(self) -> int:
        """Return how many of the first entries no later message changes."""
        return len(self.entries)

    def part(self, lasting: int) -> None:
        """Copy the lists of all entries after the first ``lasting``, which may be shared."""

    def lose(self, subject: Subject, kind: LossKind, what: str, why: str) -> None:
        """Record a loss of a message, a tool or the form of the answer."""
        self.losses.append(loss_about(subject, kind, what, why))

    def mark(self, place: Place, param: Param, cache: str) -> None:
        """Note a cache mark after a param of a message."""
        self.marks.append(Mark(param, cache, place.number, place.message))

    def final_losses(self) -> tuple[Loss, ...]:
        """Return the losses, each with the message of this request."""
        if not self.equal:
            return tuple(self.losses)
        messages = [self.equal.get(id(loss.message)) for loss in self.losses]
        return tuple(
            loss if message is None else loss_of(message, loss.kind, loss.what, loss.why)
            for loss, message in zip(self.losses, messages, strict=True)
        )

    def clean(self, place: Place, text: str, what: str) -> str:
        """Return a text with U+FFFD for lone surrogates; each text that has one is a hint."""
        clean, replaced = whole(text)
        if replaced:
            self.lose_surrogate(place, what)
        return clean

    def lose_surrogate(self, subject: Subject, what: str) -> None:
        """Record a lone surrogate in ``what``, for which U+FFFD is sent."""
        why = "it has no UTF-8 form: U+FFFD is sent"
        self.lose(subject, "hint", f"a lone surrogate in {what}", why)


@cache
def _result_fields(kind: type[Request]) -> tuple[str, ...]:
    """Return the names of the fields that contain results of writing, without the lists."""
    lists = ("entries", "losses", "marks", "equal")
    return tuple(
        field.name
        for field in attrs.fields(kind)
        if field.default is not attrs.NOTHING and not field.kw_only and field.name not in lists
    )


def loss_about(subject: Subject, kind: LossKind, what: str, why: str) -> Loss:
    """Return a loss with the source line of its subject."""
    if isinstance(subject, Place):
        subject = subject.message
    if isinstance(subject, Message):
        return loss_of(subject, kind, what, why)
    path = f"tools/{subject.name}" if isinstance(subject, ToolDefinition) else "output"
    return Loss(kind, what, why, path, subject.source)
