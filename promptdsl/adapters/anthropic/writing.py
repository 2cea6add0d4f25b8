"""Writing: messages become the arguments of a request."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from promptdsl.adapters.anthropic.instructions import head_of, instruct, settle_instructions
from promptdsl.adapters.anthropic.marks import settle_marks
from promptdsl.adapters.anthropic.reasoning import stale_before
from promptdsl.adapters.anthropic.request import Param, Request
from promptdsl.adapters.anthropic.turns import SIDES, add, forget_calls
from promptdsl.adapters.anthropic.writing_blocks import call_param, params_of, result_param
from promptdsl.blocks import ToolResultBlock, ToolUseBlock
from promptdsl.losses import Loss
from promptdsl.messages import NO_DETAILS, Message
from promptdsl.models import ModelFacts

if TYPE_CHECKING:
    from anthropic.types import MessageParam, TextBlockParam


class Payload(TypedDict):
    """What ``client.messages.create`` takes of a prompt; ``system`` is left out when empty."""

    system: "NotRequired[list[TextBlockParam]]"
    messages: "list[MessageParam]"


def write(messages: Sequence[Message], facts: ModelFacts) -> tuple[Payload, tuple[Loss, ...]]:
    """Return the payload of system, developer, user, assistant and tool messages, and its losses.

    Raises :class:`DataError` for an unknown block that cannot be written as JSON.
    """
    stale = stale_before(messages) if facts.binds_reasoning else 0
    request = Request(messages, facts, head_of(messages), stale)
    for index, said in enumerate(messages):
        role, text = SIDES[said.role], said.plain
        # What conversations mostly consist of is written with the fewest calls.
        if role and text and said.details is NO_DETAILS and not text.isspace():
            if request.calls:
                forget_calls(request, role)
            if request.pending:
                settle_instructions(request, role)
            add(request, role, {"type": "text", "text": text})
            continue
        request.index, request.message = index, said
        if role is None:
            instruct(request)
        else:
            _say(request, role)
    return _closed(request), tuple(request.losses)


def _say(request: Request, role: str) -> None:
    """Write the message at hand, on its side of the wire."""
    said = request.message
    content = said.content if said.plain is None and said.details is NO_DETAILS else ()
    block = content[0] if len(content) == 1 else None
    if type(block) is ToolResultBlock and role == "user":
        _add(request, role, result_param(request, block))
        return
    before = request.calls, request.again
    if request.calls:
        forget_calls(request, role)
    if type(block) is ToolUseBlock and role == "assistant":
        _add(request, role, call_param(request, block))
        return
    params = params_of(request)
    if not params:
        request.calls, request.again = before
    for param in params:
        _add(request, role, param)


def _add(request: Request, role: str, param: Param) -> None:
    if request.pending:
        settle_instructions(request, role)
    add(request, role, param)


def _closed(request: Request) -> Payload:
    if request.pending:
        settle_instructions(request, "")
    if not request.turns:
        request.losses.append(Loss("hint", "messages", "there are none, a request needs one"))
    elif request.role == "assistant" and not request.calls:
        _end_with_answer(request, request.content[-1])
    if request.marks:
        settle_marks(request)
    system = {"system": request.system} if request.system else {}
    return cast("Payload", {**system, "messages": request.turns})


def _end_with_answer(request: Request, param: Param) -> None:
    """Prepare a last assistant turn to be continued, where the model does that."""
    request.message = next(m for m in reversed(request.messages) if m.role == "assistant")
    text = param["text"] if param["type"] == "text" else ""
    if not request.facts.prefill:
        request.lose("hint", "trailing assistant turn", "this model refuses to continue one")
    elif text != text.rstrip():
        param["text"] = text.rstrip()
        request.lose("hint", "trailing white space", "refused at the end of an assistant turn")
