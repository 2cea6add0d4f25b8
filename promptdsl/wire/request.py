"""A request while it is being written: what it is made of, and what it cannot say."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import attrs

from promptdsl.encoding import whole
from promptdsl.losses import Loss, LossKind, loss_of
from promptdsl.messages import Message
from promptdsl.models import ModelFacts
from promptdsl.prompts import OutputSchema, Prompt, ToolDefinition

Param: TypeAlias = dict[str, Any]
"""One block, part, item or call on the wire."""

Subject: TypeAlias = Message | ToolDefinition | OutputSchema
"""What a loss is of."""


# Called for every request: a list[Loss] takes four times as long to call as a list.
new_list: Any = list
new_dict: Any = dict
new_set: Any = set


class Mark(NamedTuple):
    """A cache mark that is asked for: behind what, for how long, and what it is of.

    ``place`` is the index of its message, -1 for tools and system text, which come first.
    """

    param: Param
    cache: str
    place: int
    subject: Subject


@attrs.define(eq=False)
class Request:
    """What has been written so far, and what it could not say.

    ``index`` and ``message`` are the message at hand.
    """

    prompt: Prompt
    facts: ModelFacts
    messages: Sequence[Message] = attrs.field(init=False)
    index: int = -1
    message: Message = attrs.field(init=False)
    losses: list[Loss] = attrs.field(factory=new_list)
    marks: list[Mark] = attrs.field(factory=new_list)
    tool_names: dict[str, str] = attrs.field(factory=new_dict)
    """By a tool's name, the one it is sent with."""
    legal_names: set[str] = attrs.field(factory=new_set)
    """The names that are sent as they are."""
    taken_names: set[str] = attrs.field(factory=new_set)
    """The names that tools have, or are sent with."""
    numbers: dict[str, int] = attrs.field(factory=new_dict)
    """By what several names were mended to, the last number one of them got."""
    offered: set[str] = attrs.field(factory=new_set)
    """The names of the tools that are sent."""

    def __attrs_post_init__(self) -> None:
        self.messages = self.prompt.messages

    def lose(self, kind: LossKind, what: str, why: str, *, subject: Subject | None = None) -> None:
        """Record what the message at hand, or another subject, could not say."""
        self.losses.append(loss_about(subject or self.message, kind, what, why))

    def clean(self, text: str, what: str) -> str:
        """Return a text with U+FFFD for lone surrogates, with a hint when it held any."""
        clean, replaced = whole(text)
        if replaced:
            self.lose("hint", f"a lone surrogate in {what}", "it has no UTF-8 form")
        return clean


def loss_about(subject: Subject, kind: LossKind, what: str, why: str) -> Loss:
    """Return a loss that names where its subject was written."""
    if isinstance(subject, Message):
        return loss_of(subject, kind, what, why)
    path = f"tools/{subject.name}" if isinstance(subject, ToolDefinition) else "output"
    return Loss(kind, what, why, path, subject.source)
