"""A request while it is being written."""

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import attrs

from promptdsl.losses import Loss, LossKind, loss_of
from promptdsl.messages import Message
from promptdsl.models import ModelFacts

Param: TypeAlias = dict[str, Any]
"""One block of a content on the wire, or one turn."""

SPOKEN = frozenset({"written", "recorded", "recorded_system", "mixed"})
"""The kinds of messages that are part of what was said: neither events nor request-only."""


class Mark(NamedTuple):
    """A cache mark that is asked for: on what, for how long, and which message it is from."""

    param: Param
    cache: str
    place: int
    message: Message


@attrs.define(eq=False)
class Request:
    """The turns so far, and what they could not say.

    ``index`` and ``message`` are the one at hand.
    """

    messages: Sequence[Message]
    facts: ModelFacts
    head: int  # where the conversation begins
    stale: int  # where reasoning begins that can be sent
    index: int = -1
    message: Message = attrs.field(init=False)
    losses: list[Loss] = attrs.field(factory=list[Loss])
    system: list[Param] = attrs.field(factory=list[Param])
    turns: list[Param] = attrs.field(factory=list[Param])
    # Of the last turn: its role, its content, and how many results it starts with.
    role: str = ""
    content: list[Param] = attrs.field(factory=list[Param])
    results: int = 0
    # Of the calls not answered yet, the id sent; and those of an id that its turn uses again.
    calls: dict[str, str] = attrs.field(factory=dict[str, str])
    again: dict[str, deque[str]] = attrs.field(factory=dict[str, deque[str]])
    uses: dict[str, int] = attrs.field(factory=dict[str, int])
    tool_names: set[str] = attrs.field(factory=set[str])
    marks: list[Mark] = attrs.field(factory=list[Mark])
    pending: list[tuple[int, Message]] = attrs.field(factory=list[tuple[int, Message]])
    open: bool = False  # whether the pending instructions stand in an unanswered batch

    def lose(self, kind: LossKind, what: str, why: str) -> None:
        """Record what the message at hand could not say."""
        self.losses.append(loss_of(self.message, kind, what, why))
