"""Writing: a prompt becomes the arguments of a request."""

from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from promptdsl.config.model_facts import ModelFacts
from promptdsl.messages.details import NO_DETAILS
from promptdsl.messages.loss import Loss
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.openai_responses.marks import write_marks
from promptdsl.providers.openai_responses.request import Items
from promptdsl.providers.openai_responses.tools import settings_of, tools_of
from promptdsl.providers.openai_responses.write_blocks import write_message
from promptdsl.providers.shared.memory import Recall
from promptdsl.providers.shared.request import Place

if TYPE_CHECKING:
    from openai.types.responses import ResponseInputParam, ResponseTextConfigParam, ToolParam
    from openai.types.responses.response_create_params import ToolChoice


_ROLES = frozenset({"system", "user", "assistant"})
"""The roles that have the same name on every wire."""


class Payload(TypedDict):
    """What ``client.responses.create`` takes of a prompt; only ``input`` is always there."""

    input: "ResponseInputParam"
    tools: "NotRequired[list[ToolParam]]"
    tool_choice: "NotRequired[ToolChoice]"
    text: "NotRequired[ResponseTextConfigParam]"


def write(
    prompt: Prompt, facts: ModelFacts, recall: Recall | None = None
) -> tuple[Payload, tuple[Loss, ...]]:
    """Return the payload of a prompt, whose roles are mapped, and what it could not say.

    With a ``recall`` some of the payload is remembered, and must not be changed. Raises
    :class:`DataError` for an unknown block that cannot be written as JSON.
    """
    request = Items(prompt, facts)
    tools = tools_of(request) if prompt.tools else []
    for start, stop in recall.spans(request) if recall else [(0, len(prompt.messages))]:
        _write_messages(request, start, stop)
    if not request.entries:
        request.losses.append(Loss("hint", "input", "there is none, a request needs one"))
    settings = settings_of(request) if prompt.tool_choice or prompt.output else {}
    if request.marks:
        write_marks(request)
    payload = {"input": request.entries, **({"tools": tools} if tools else {}), **settings}
    return cast("Payload", payload), request.final_losses()


def _write_messages(request: Items, start: int, stop: int) -> None:
    roles = _ROLES if request.facts.system else _ROLES - {"system"}
    for index, said in enumerate(request.messages[start:stop], start):
        role, text = said.role, said.plain
        # What conversations mostly consist of is written here, without a call.
        if text and said.details is NO_DETAILS and role in roles:
            request.entries.append({"role": role, "content": text})
            continue
        write_message(request, Place(index, said, role))
