"""Turns: neighbours on one side of the wire are one turn, results at its head.

This is how the wires of two sides are written (Anthropic, Gemini, Bedrock, chat templates): system
text apart, a user's turns and a model's in alternation, later instructions in place.
"""

import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from promptdsl.messages.loss import Loss
from promptdsl.messages.message import Message
from promptdsl.messages.roles import ROLES
from promptdsl.providers.shared.request import Param, Request, new_dict, new_list

SIDES: Mapping[str, str | None] = {
    **dict.fromkeys(ROLES),
    **{"user": "user", "tool": "user", "assistant": "assistant"},
}
"""By a message's role, the side of the wire it stands on; ``None`` for an instruction."""

SPOKEN = frozenset({"written", "recorded", "recorded_system", "mixed", "trailed"})
"""The kinds of messages that are part of what was said: neither events nor request-only."""

OPENING = "."
"""What a user is made to say first where a model may not: no words that a model would follow."""


@attrs.frozen
class Dialect:
    """What differs between the wires of two sides.

    ``params`` returns the params of the message at hand. ``text`` are the keys of a text beside
    ``text`` itself, ``is_result`` tells a result. ``apart``: results are a turn of their own.
    ``opens``: a user has to speak first. ``trims``: what is to be continued may not end in white
    space. ``settle`` finishes the turns from one to another, by number, when nothing more is added
    to them. ``misfit`` matches what an id may not hold, and no id is longer than ``longest_id``.
    """

    params: "Callable[[Turns], list[Param]]"
    is_result: Callable[[Param], bool]
    text: Mapping[str, str] = {"type": "text"}
    apart: bool = False
    opens: bool = False
    trims: bool = True
    settle: "Callable[[Any, int, int], None] | None" = None
    misfit: re.Pattern[str] = re.compile(r"[^a-zA-Z0-9_-]")
    longest_id: int = 64


@attrs.define(eq=False)
class Turns(Request):
    """A request of two sides: ``system`` text, and turns of a ``role`` and a ``content``."""

    dialect: Dialect = attrs.field(kw_only=True)
    head: int = attrs.field(init=False)  # where the conversation begins
    # Where reasoning begins that can be replayed.
    stale: int = attrs.field(default=0, kw_only=True)
    system: list[Param] = attrs.field(factory=new_list)
    settled: int = 0
    """How many turns are settled."""
    late: list[Loss] = attrs.field(factory=new_list)
    """What they lost: told behind all that messages lose."""
    # Of the last turn: its role, its content, and how many results it starts with.
    role: str = ""
    content: list[Param] = attrs.field(factory=new_list)
    results: int = 0
    # Of the calls not answered yet, the id sent; and those of an id that its turn uses again.
    calls: dict[str, str] = attrs.field(factory=new_dict)
    again: dict[str, deque[str]] = attrs.field(factory=new_dict)
    uses: dict[str, int] = attrs.field(factory=new_dict)
    stems: dict[str, int] = attrs.field(factory=new_dict)
    """By what several ids were mended to, the last number one of them got."""
    called: dict[str, str] = attrs.field(factory=new_dict)
    """By the id a call was sent with, the name of its tool as it was sent."""
    pending: list[tuple[int, Message]] = attrs.field(factory=new_list)
    open: bool = False  # whether the pending instructions stand in an unanswered batch

    def __attrs_post_init__(self) -> None:
        self.messages = self.prompt.messages
        spoken = (n for n, m in enumerate(self.messages) if SIDES[m.role] and m.kind in SPOKEN)
        self.head = next(spoken, len(self.messages))

    def depends(self, stop: int) -> tuple[Any, ...]:
        """Return what the turns of the first ``stop`` messages depend on beside these."""
        given = (self.dialect, min(self.head, stop), min(self.stale, stop))
        return (*Request.depends(self, stop), *given)

    def state(self) -> dict[str, Any]:
        """Return a copy of what is known so far, beside turns, losses and marks."""
        again = {id: waiting.copy() for id, waiting in self.again.items()}
        return {**Request.state(self), "again": again}

    def settle(self) -> int:
        """Settle the turns that can no longer change, all but the last two: how many these are."""
        stop = max(len(self.entries) - 2, 0)
        settle_turns(self, stop)
        return stop

    def part(self, settled: int) -> None:
        """Share no list with others any more, but in the first ``settled`` turns."""
        for place in range(settled, len(self.entries)):
            turn = self.entries[place]
            self.content = [*turn["content"]]
            self.entries[place] = {**turn, "content": self.content}


def settle_turns(request: Turns, stop: int) -> None:
    """Settle the turns before ``stop`` that are not settled yet."""
    settle, start = request.dialect.settle, request.settled
    if settle is not None and start < stop:
        settle(request, start, stop)
    request.settled = max(start, stop)


def add(request: Turns, role: str, param: Param) -> None:
    """Add a param to the last turn when it has this role, to a new turn otherwise."""
    is_result = role == "user" and request.dialect.is_result(param)
    apart = request.dialect.apart and is_result != bool(request.results)
    if apart and is_result and role == request.role:
        _add_before(request, param)
    elif role != request.role or apart:
        if not request.entries and role != "user" and request.dialect.opens:
            _open(request)
        content = [param]
        request.entries.append({"role": role, "content": content})
        request.role, request.content = role, content
        request.results = 1 if is_result else 0
    elif is_result:
        request.content.insert(request.results, param)
        request.results += 1
    else:
        request.content.append(param)


def _add_before(request: Turns, param: Param) -> None:
    """Add a result that stands apart before what was said since the call."""
    before = request.entries[-2:-1]
    if before and before[0]["role"] == "user":
        before[0]["content"].append(param)
    else:
        request.entries.insert(-1, {"role": "user", "content": [param]})


def _open(request: Turns) -> None:
    content = [{**request.dialect.text, "text": OPENING}]
    request.entries.append({"role": "user", "content": content})
    why = f"a user has to speak first: {OPENING!r} is sent before it"
    request.losses.append(Loss("hint", "the model speaks first", why))
