"""A conversation on a wire of two sides: every message in turn, and what its end asks for."""

from typing import Any

from promptdsl.losses import Loss
from promptdsl.messages import NO_DETAILS
from promptdsl.wire.instructions import instruct, settle_instructions
from promptdsl.wire.memory import Recall, write_messages
from promptdsl.wire.request import Mark, Param
from promptdsl.wire.turns import SIDES, Turns, add, settle_turns


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
