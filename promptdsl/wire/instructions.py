"""Instructions: system text at the front, native messages where they are legal, fences elsewhere.

A later instruction is never moved: where it has no native form it is text in a user turn, in place.
"""

import re

from promptdsl.wire.request import Param
from promptdsl.wire.turns import SPOKEN, Turns, add

_CLOSING = re.compile(r"<(?=\s*/\s*developer\b)", re.IGNORECASE)


def instruct(request: Turns) -> None:
    """Add the message at hand to the system text, or keep it until it is known what follows it."""
    if request.index < request.head and request.message.kind in SPOKEN:
        request.index = -1
        request.system += request.dialect.params(request)
    else:
        request.pending.append((request.index, request.message))
        request.open = bool(request.calls)


def settle_instructions(request: Turns, following: str) -> None:
    """Place the instructions that were kept; ``following`` is the next turn's role, or empty."""
    run, request.pending = request.pending, []
    legal = request.role == "user" and following != "user" and not request.open
    if legal and not request.facts.result_instructions:
        legal = not request.dialect.is_result(request.content[-1])
    native = legal and request.facts.instructions and run[0][0] >= request.head
    params: list[Param] = []
    for request.index, request.message in run:
        said = request.dialect.params(request)
        params += said if native or not said else _fenced(request, said)
    for param in params:
        add(request, "system" if native else "user", param)


def _fenced(request: Turns, params: list[Param]) -> list[Param]:
    """Return an instruction as text of a user turn; what is fenced already stays as it is."""
    said, why = request.message, _why(request)
    if said.kind not in SPOKEN:
        request.lose("hint", f"{said.kind} turn as an instruction", why)
        return params
    request.lose("role", f"{said.role} message", why)
    for param in params:
        param["text"] = f"<developer>\n{_CLOSING.sub('&lt;', param['text'])}\n</developer>"
    return params


def _why(request: Turns) -> str:
    misplaced = (
        "it needs a user turn with every call answered before it, and an answer or nothing next"
    )
    able = request.facts.instructions
    why = f"not at this place: {misplaced}" if able else "this model takes none here"
    return f"{why}: sent in the user turn"
