"""A conversation on a wire of two sides: every message in turn, and what its end asks for."""

import re
from typing import Any

from promptdsl.messages.details import NO_DETAILS
from promptdsl.messages.loss import Loss
from promptdsl.providers.shared.memory import Recall, write_messages
from promptdsl.providers.shared.request import Mark, Param
from promptdsl.providers.shared.turns import SIDES, SPOKEN, Turns, add, settle_turns

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


def write_turns(request: Turns, recall: Recall | None = None) -> None:
    """Write all messages: ``request.system`` and ``request.entries`` are what they came to."""
    write_messages(request, _write_span, recall)
    if request.pending:
        settle_instructions(request, "")
    if not request.entries:
        request.losses.append(Loss("hint", "messages", "there are none, a request needs one"))
    elif request.role == "assistant" and not request.calls:
        _end_with_answer(request, request.content[-1])
    settle_turns(request, len(request.entries))
    request.losses += request.late


def _write_span(request: Turns, start: int, stop: int) -> None:
    text_keys = request.dialect.text
    for index, said in enumerate(request.messages[start:stop], start):
        role, text = SIDES[said.role], said.plain
        # What conversations mostly consist of is written with the fewest calls.
        if role and text and said.details is NO_DETAILS and not text.isspace():
            if request.calls:
                _forget_calls(request, role)
            if request.pending:
                settle_instructions(request, role)
            add(request, role, {**text_keys, "text": text})
            continue
        request.index, request.message = index, said
        if role is None:
            instruct(request)
        else:
            _say(request, role)


def _say(request: Turns, role: str) -> None:
    """Write the message at hand on its side of the wire, when there is something to say."""
    before = request.calls, request.again
    if request.calls:
        _forget_calls(request, role)
    params = request.dialect.params(request)
    if not params:
        request.calls, request.again = before
    for param in params:
        if request.pending:
            settle_instructions(request, role)
        add(request, role, param)


def _forget_calls(request: Turns, role: str) -> None:
    """Forget the calls not answered when a new assistant turn begins: no result will come."""
    if role == "assistant" != request.role:
        request.calls, request.again = {}, {}


def _end_with_answer(request: Turns, param: Param) -> None:
    """Prepare a last assistant turn to be continued, where the model does that."""
    request.message = next(m for m in reversed(request.messages) if m.role == "assistant")
    text: Any = param.get("text", "")
    if not request.facts.prefill:
        request.lose("hint", "trailing assistant turn", "this model refuses to continue one")
    elif request.dialect.trims and text != text.rstrip():
        trimmed = {**param, "text": text.rstrip()}
        request.content[-1] = trimmed
        request.marks = [_behind(mark, param, trimmed) for mark in request.marks]
        request.lose("hint", "trailing white space", "refused at the end of an assistant turn")


def _behind(mark: Mark, param: Param, changed: Param) -> Mark:
    """Return a mark that stands behind what a param was changed to."""
    return mark._replace(param=changed) if mark.param is param else mark
