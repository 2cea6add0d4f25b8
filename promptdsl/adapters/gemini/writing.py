"""Writing: a prompt becomes the arguments of a request."""

from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, TypedDict, cast

from promptdsl.adapters.gemini.reasoning import settle_signatures
from promptdsl.adapters.gemini.settings import settings_of
from promptdsl.adapters.gemini.tools import tools_of
from promptdsl.adapters.gemini.writing_blocks import params_of
from promptdsl.losses import Loss
from promptdsl.models import ModelFacts
from promptdsl.prompts import Prompt
from promptdsl.wire.conversation import write_turns
from promptdsl.wire.request import Param
from promptdsl.wire.turns import Dialect, Turns

if TYPE_CHECKING:
    from google.genai.types import ContentDict, GenerateContentConfigDict


class Payload(TypedDict):
    """What ``client.models.generate_content`` takes of a prompt; ``config`` may be empty."""

    contents: "list[ContentDict]"
    config: "GenerateContentConfigDict"


def _is_result(param: Param) -> bool:
    return "function_response" in param


_DIALECT = Dialect(params_of, _is_result, text={}, apart=True, opens=True, trims=False)
_CALL = "function_call"
_ROLES = {"user": "user", "assistant": "model"}


def write(prompt: Prompt, facts: ModelFacts) -> tuple[Payload, tuple[Loss, ...]]:
    """Return the payload of a prompt, whose roles are mapped, and what it could not say.

    Raises :class:`DataError` for an unknown block that cannot be read, or written as JSON.
    """
    request = Turns(prompt, facts, dialect=_DIALECT)
    tools = tools_of(request) if prompt.tools else []
    write_turns(request)
    settle_signatures(request)
    _order_results(request.turns)
    contents = [{"role": _ROLES[turn["role"]], "parts": turn["content"]} for turn in request.turns]
    system = {"system_instruction": {"parts": request.system}} if request.system else {}
    config = {**system, **({"tools": tools} if tools else {}), **settings_of(request, tools)}
    payload = {"contents": contents, "config": config}
    return cast("Payload", payload), tuple(request.losses)


def _order_results(turns: list[Param]) -> None:
    """Put the results of each batch in the order of its calls."""
    for before, turn in pairwise(turns):
        if _is_result(turn["content"][0]):
            calls = [part["function_call"]["id"] for part in before["content"] if _CALL in part]
            order = {id: place for place, id in enumerate(calls)}
            turn["content"].sort(key=partial(_place, order))


def _place(order: Mapping[str, int], param: Param) -> int:
    return order.get(param["function_response"]["id"], -1)
