"""Turns: neighbours on one side of the wire are one turn, results at its head."""

from collections.abc import Mapping

from promptdsl.adapters.anthropic.request import Param, Request
from promptdsl.messages import ROLES

SIDES: Mapping[str, str | None] = {
    **dict.fromkeys(ROLES),
    **{"user": "user", "tool": "user", "assistant": "assistant"},
}
"""By a message's role, the side of the wire it stands on; ``None`` for an instruction."""


def add(request: Request, role: str, param: Param) -> None:
    """Add a block to the last turn when it has this role, to a new turn otherwise."""
    is_result = param["type"] == "tool_result"
    if role != request.role:
        content = [param]
        request.turns.append({"role": role, "content": content})
        request.role, request.content = role, content
        request.results = 1 if is_result else 0
    elif is_result:
        request.content.insert(request.results, param)
        request.results += 1
    else:
        request.content.append(param)


def forget_calls(request: Request, role: str) -> None:
    """Forget the calls not answered when a new assistant turn begins: no result will come."""
    if role == "assistant" and request.calls and request.role != role:
        request.calls, request.again = {}, {}
