"""Writing: a prompt becomes the arguments of a request."""

import re
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.messages.loss import Loss
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.bedrock.marks import write_marks
from promptdsl.providers.bedrock.request import Converse
from promptdsl.providers.bedrock.tools import settings_of, tools_of
from promptdsl.providers.bedrock.write_blocks import params_of
from promptdsl.providers.shared.memory import Recall
from promptdsl.providers.shared.reasoning import stale_before
from promptdsl.providers.shared.two_sided import Dialect, add, finish, unwritten

if TYPE_CHECKING:
    from types_boto3_bedrock_runtime.type_defs import (
        MessageUnionTypeDef,
        OutputConfigTypeDef,
        SystemContentBlockTypeDef,
        ToolConfigurationTypeDef,
    )


class Payload(TypedDict):
    """What ``client.converse`` takes of a prompt; only ``messages`` is always there."""

    system: "NotRequired[list[SystemContentBlockTypeDef]]"
    messages: "list[MessageUnionTypeDef]"
    toolConfig: "NotRequired[ToolConfigurationTypeDef]"
    outputConfig: "NotRequired[OutputConfigTypeDef]"


_DIALECT = Dialect("toolResult", text={}, opens=True, misfit=re.compile(r"[^a-zA-Z0-9_.:-]"))


def write(
    prompt: Prompt, facts: ModelFacts, recall: Recall | None = None
) -> tuple[Payload, tuple[Loss, ...]]:
    """Return the payload of a prompt, whose roles are mapped, and what it could not say.

    With a ``recall`` some of the payload is remembered, and must not be changed. Raises
    :class:`DataError` for an unknown block that cannot be written as JSON.
    """
    # The service refuses the role system that its model lists, whatever Claude takes elsewhere.
    facts = attrs.evolve(facts, instructions=False) if facts.instructions else facts
    stale = stale_before(prompt) if facts.binds_reasoning else 0
    request = Converse(prompt, facts, dialect=_DIALECT, stale=stale)
    tools = tools_of(request) if prompt.tools else []
    for start, stop in recall.spans(request) if recall else [(0, len(prompt.messages))]:
        for place in unwritten(request, start, stop):
            add(request, place, params_of(request, place))
        _settle(request, request.lasting())
    finish(request)
    _settle(request, len(request.entries))
    request.losses += request.late
    needed = tools or request.calls_tools or prompt.tool_choice or prompt.output
    settings = settings_of(request, tools) if needed else {}
    if request.marks:
        write_marks(request, tools)
    system = {"system": request.system} if request.system else {}
    payload = {**system, "messages": request.entries, **settings}
    return cast("Payload", payload), request.final_losses()


def _settle(request: Converse, stop: int) -> None:
    """Tell what stands beside results that the model refuses there (pydantic-ai, issue 6081).

    ``stop`` is the index up to which nothing more is added to the turns.
    """
    alone = request.is_made_by("llama", "mistral")
    refused = {"document", "video"} if request.is_made_by("claude", "anthropic.") else set[str]()
    for turn in request.entries[request.settled : stop] if alone or refused else ():
        kinds = {kind for param in turn["content"] for kind in param}
        beside = kinds - {"toolResult"} if alone else kinds & refused
        if "toolResult" in kinds and beside:
            what = f"{', '.join(sorted(beside))} beside a tool result"
            request.late.append(Loss("hint", what, "this model may refuse it"))
    request.settled = max(request.settled, stop)
