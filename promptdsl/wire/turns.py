"""Turns: neighbours on one side of the wire are one turn, results at its head.

This is how the wires of two sides are written (Anthropic, Gemini, Bedrock, chat templates): system
text apart, a user's turns and a model's in alternation, later instructions in place.
"""

import re
from collections import deque
from collections.abc import Callable, Mapping

import attrs

from promptdsl.losses import Loss
from promptdsl.messages import ROLES, Message
from promptdsl.wire.request import Param, Request, new_dict, new_list

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
    space. ``misfit`` matches what an id may not hold, and no id is longer than ``longest_id``.
    """

    params: "Callable[[Turns], list[Param]]"
    is_result: Callable[[Param], bool]
    text: Mapping[str, str] = {"type": "text"}
    apart: bool = False
    opens: bool = False
    trims: bool = True
    misfit: re.Pattern[str] = re.compile(r"[^a-zA-Z0-9_-]")
    longest_id: int = 64


@attrs.define(eq=False)
class Turns(Request):
    """A request of two sides: ``system`` text, and ``turns`` of a ``role`` and a ``content``."""

    dialect: Dialect = attrs.field(kw_only=True)
    head: int = attrs.field(init=False)  # where the conversation begins
    stale: int = 0  # where reasoning begins that can be replayed
    system: list[Param] = attrs.field(factory=new_list)
    turns: list[Param] = attrs.field(factory=new_list)
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


def add(request: Turns, role: str, param: Param) -> None:
    """Add a param to the last turn when it has this role, to a new turn otherwise."""
    is_result = role == "user" and request.dialect.is_result(param)
    apart = request.dialect.apart and is_result != bool(request.results)
    if apart and is_result and role == request.role:
        _add_before(request, param)
    elif role != request.role or apart:
        if not request.turns and role != "user" and request.dialect.opens:
            _open(request)
        content = [param]
        request.turns.append({"role": role, "content": content})
        request.role, request.content = role, content
        request.results = 1 if is_result else 0
    elif is_result:
        request.content.insert(request.results, param)
        request.results += 1
    else:
        request.content.append(param)


def _add_before(request: Turns, param: Param) -> None:
    """Add a result that stands apart before what was said since the call."""
    before = request.turns[-2:-1]
    if before and before[0]["role"] == "user":
        before[0]["content"].append(param)
    else:
        request.turns.insert(-1, {"role": "user", "content": [param]})


def _open(request: Turns) -> None:
    content = [{**request.dialect.text, "text": OPENING}]
    request.turns.append({"role": "user", "content": content})
    why = f"a user has to speak first: {OPENING!r} is sent before it"
    request.losses.append(Loss("hint", "the model speaks first", why))
