"""Instructions: system text at the front, native messages where they are legal, fences elsewhere.

A later instruction is never moved: where it has no native form it is text in a user turn, in place.
"""

import re
from collections.abc import Sequence

from promptdsl.adapters.anthropic.request import SPOKEN, Param, Request
from promptdsl.adapters.anthropic.turns import SIDES, add
from promptdsl.adapters.anthropic.writing_blocks import params_of
from promptdsl.messages import Message

_CLOSING = re.compile(r"<(?=\s*/\s*developer\b)", re.IGNORECASE)


def head_of(messages: Sequence[Message]) -> int:
    """Return the index of the first conversation turn."""
    spoken = (n for n, m in enumerate(messages) if SIDES[m.role] and m.kind in SPOKEN)
    return next(spoken, len(messages))


def instruct(request: Request) -> None:
    """Add the message at hand to the system text, or keep it until it is known what follows it."""
    if request.index < request.head and request.message.kind in SPOKEN:
        request.index = -1
        request.system += params_of(request)
    else:
        request.pending.append((request.index, request.message))
        request.open = bool(request.calls)


def settle_instructions(request: Request, following: str) -> None:
    """Place the instructions that were kept; ``following`` is the next turn's role, or empty."""
    run, request.pending = request.pending, []
    legal = request.role == "user" and following != "user" and not request.open
    native = legal and request.facts.instructions and run[0][0] >= request.head
    params: list[Param] = []
    for request.index, request.message in run:
        said = params_of(request)
        params += said if native or not said else _fenced(request, said)
    for param in params:
        add(request, "system" if native else "user", param)


def _fenced(request: Request, params: list[Param]) -> list[Param]:
    """Return an instruction as text of a user turn; what is fenced already stays as it is."""
    said, why = request.message, _why(request)
    if said.kind not in SPOKEN:
        request.lose("hint", f"{said.kind} turn as an instruction", why)
        return params
    request.lose("role", f"{said.role} message", why)
    for param in params:
        param["text"] = f"<developer>\n{_CLOSING.sub('&lt;', param['text'])}\n</developer>"
    return params


def _why(request: Request) -> str:
    misplaced = (
        "it needs a user turn with every call answered before it, and an answer or nothing next"
    )
    able = request.facts.instructions
    why = f"not at this place: {misplaced}" if able else "this model takes none here"
    return f"{why}: sent in the user turn"
