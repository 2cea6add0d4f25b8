"""Writing: a prompt becomes the arguments of a request."""

from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from promptdsl.adapters.anthropic.marks import write_marks
from promptdsl.adapters.anthropic.tools import settings_of, tools_of
from promptdsl.adapters.anthropic.writing_blocks import params_of
from promptdsl.losses import Loss
from promptdsl.models import ModelFacts
from promptdsl.prompts import Prompt
from promptdsl.wire.conversation import write_turns
from promptdsl.wire.memory import Recall
from promptdsl.wire.reasoning import stale_before
from promptdsl.wire.request import Param
from promptdsl.wire.turns import Dialect, Turns

if TYPE_CHECKING:
    from anthropic.types import (
        MessageParam,
        OutputConfigParam,
        TextBlockParam,
        ToolChoiceParam,
        ToolUnionParam,
    )


class Payload(TypedDict):
    """What ``client.messages.create`` takes of a prompt; only ``messages`` is always there."""

    system: "NotRequired[list[TextBlockParam]]"
    messages: "list[MessageParam]"
    tools: "NotRequired[list[ToolUnionParam]]"
    tool_choice: "NotRequired[ToolChoiceParam]"
    output_config: "NotRequired[OutputConfigParam]"


def _is_result(param: Param) -> bool:
    return bool(param["type"] == "tool_result")


_DIALECT = Dialect(params_of, _is_result)


def write(
    prompt: Prompt, facts: ModelFacts, recall: Recall | None = None
) -> tuple[Payload, tuple[Loss, ...]]:
    """Return the payload of a prompt, whose roles are mapped, and what it could not say.

    With a ``recall`` some of the payload is remembered, and must not be changed. Raises
    :class:`DataError` for an unknown block that cannot be written as JSON.
    """
    stale = stale_before(prompt) if facts.binds_reasoning else 0
    request = Turns(prompt, facts, dialect=_DIALECT, stale=stale)
    tools = tools_of(request) if prompt.tools else []
    write_turns(request, recall)
    if request.called and not tools:
        why = "calls in the conversation need tools beside them: write them with Tool(...)"
        request.losses.append(Loss("hint", "there are no tools", why))
    settings = settings_of(request)
    if request.marks:
        write_marks(request, tools)
    system = {"system": request.system} if request.system else {}
    offered = {"tools": tools} if tools else {}
    payload = {**system, "messages": request.entries, **offered, **settings}
    return cast("Payload", payload), request.told()
