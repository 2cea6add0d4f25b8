"""The function :func:`Turn`: a turn of any role, for generic code."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptdsl.components.block import begin
from promptdsl.components.request_only import Ephemeral
from promptdsl.components.scope import is_text, retract
from promptdsl.components.turns import (
    Assistant,
    Developer,
    Event,
    System,
    ToolResults,
    TurnComponent,
    User,
)
from promptdsl.foundation.errors import OptionError, nearest, shown
from promptdsl.foundation.signatures import LEFT_OUT
from promptdsl.foundation.source import author
from promptdsl.messages.roles import Role

if TYPE_CHECKING:
    from promptdsl.components.contents import Content

TURNS: Mapping[str, type[TurnComponent]] = {
    "system": System,
    "developer": Developer,
    "user": User,
    "assistant": Assistant,
    "event": Event,
    "tool": ToolResults,
}


def Turn(  # noqa: N802 (it reads like the components it makes)
    role: Role,
    /,
    *content: "Content",
    **options: Any,  # Any: the options depend on the role
) -> TurnComponent | Ephemeral:
    """Return the turn of any role, for generic code.

    ``role`` is ``"system"``, ``"developer"``, ``"user"``, ``"assistant"``, ``"event"``,
    ``"ephemeral"``, or ``"tool"`` for a turn of tool results. The options are those of its class.

    Raises :class:`OptionError` for an unknown role or option.

    >>> from promptdsl import Timeline, Turn, render
    >>> log = [("user", "Hi."), ("assistant", "Hello.")]
    >>> prompt = Timeline(*[Turn(role, text) for role, text in log])
    >>> [message.role for message in render(prompt).messages]
    ['user', 'assistant']
    """
    argument: object = role
    if is_text(argument) and argument == "ephemeral":
        context = object.__new__(Ephemeral)
        context.type = options.pop("type", None)
        context.title = options.pop("title", None)
        context.position = options.pop("position", None)
        context.order = options.pop("order", 0)
        context.grounding = False
        begin(context, content, options)
        return context
    cls = TURNS.get(role) if is_text(role) else None
    if cls is None:
        retract((role, *content))
        fix = 'it comes first: Turn("user", ...)'
        if is_text(argument):
            fix = nearest(argument, (*TURNS, "ephemeral"))
        problem = f"unknown role {shown(argument)}"
        problem = "a Turn needs its role" if argument is LEFT_OUT else problem
        raise OptionError(problem, fix=fix, at=(author(),))
    turn = object.__new__(cls)
    turn.role = cls._spoken_by
    turn.kind = "written"
    begin(turn, content, options)
    return turn


Turn.__defaults__ = (LEFT_OUT,)
