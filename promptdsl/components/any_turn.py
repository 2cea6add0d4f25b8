"""The turn of any role, for generic code."""

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from promptdsl.components.arguments import Content, retract
from promptdsl.components.block import begin
from promptdsl.components.request_only import Ephemeral, settle
from promptdsl.components.turns import (
    Assistant,
    Developer,
    Event,
    System,
    ToolResults,
    TurnBlock,
    User,
)
from promptdsl.foundation.errors import OptionError, nearest
from promptdsl.foundation.source import author

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]

TURNS: Mapping[str, type[TurnBlock]] = {
    "system": System,
    "developer": Developer,
    "user": User,
    "assistant": Assistant,
    "event": Event,
    "tool": ToolResults,
}


def _write_turn(
    role: object, content: tuple[Any, ...], options: dict[str, Any], frame: FrameType
) -> TurnBlock:
    """Return the turn of a role, written at a place; :class:`OptionError` for an unknown role."""
    cls = TURNS.get(role) if isinstance(role, str) else None
    if cls is None:
        retract(content)
        raise OptionError(
            f"unknown role {role!r}", fix=nearest(str(role), (*TURNS, "ephemeral")), at=(author(),)
        )
    turn = object.__new__(cls)
    turn.role = cls._role  # pyright: ignore[reportPrivateUsage]
    turn.kind = "written"
    turn.code = frame.f_code
    turn.offset = frame.f_lasti
    begin(turn, content, options)
    return turn


def Turn(role: str, /, *content: Content, **options: Any) -> Any:  # noqa: N802
    """Return the turn of any role, for generic code; it takes the options of that turn.

    Raises :class:`OptionError` for an unknown role or option.
    """
    frame = _getframe(1)
    if role != "ephemeral":
        return _write_turn(role, content, options, frame)
    turn = object.__new__(Ephemeral)
    settle(turn, content, options, frame)
    turn.grounding = False
    begin(turn, content, options)
    return turn
