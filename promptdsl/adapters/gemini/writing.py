"""Writing: a prompt becomes the arguments of a request."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, TypedDict, cast

from promptdsl.adapters.gemini.reasoning import signed
from promptdsl.adapters.gemini.settings import settings_of
from promptdsl.adapters.gemini.tools import tools_of
from promptdsl.adapters.gemini.writing_blocks import params_of
from promptdsl.losses import Loss
from promptdsl.models import ModelFacts
from promptdsl.prompts import Prompt
from promptdsl.wire.conversation import write_turns
from promptdsl.wire.memory import Recall
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


_CALL = "function_call"
_ROLES = {"user": "user", "assistant": "model"}


def _settle(request: Turns, start: int, stop: int) -> None:
    """Make contents of turns: calls are signed, and results in the order of the calls."""
    entries = request.entries
    for place in range(start, stop):
        turn = entries[place]
        parts: list[Param] = turn["content"]
        if turn["role"] == "assistant":
            parts = signed(request, parts)
        elif len(parts) > 1 and place and _is_result(parts[0]):
            parts = _ordered(parts, entries[place - 1]["parts"])
        entries[place] = {"role": _ROLES[turn["role"]], "parts": parts}


def _ordered(results: list[Param], before: list[Param]) -> list[Param]:
    """Return the results of a batch in the order of its calls."""
    calls = [part[_CALL]["id"] for part in before if _CALL in part]
    order = {id: place for place, id in enumerate(calls)}
    return sorted(results, key=partial(_place, order))


def _place(order: Mapping[str, int], param: Param) -> int:
    return order.get(param["function_response"]["id"], -1)


_DIALECT = Dialect(
    params_of, _is_result, text={}, apart=True, opens=True, trims=False, settle=_settle
)


def write(
    prompt: Prompt, facts: ModelFacts, recall: Recall | None = None
) -> tuple[Payload, tuple[Loss, ...]]:
    """Return the payload of a prompt, whose roles are mapped, and what it could not say.

    With a ``recall`` some of the payload is remembered, and must not be changed. Raises
    :class:`DataError` for an unknown block that cannot be read, or written as JSON.
    """
    request = Turns(prompt, facts, dialect=_DIALECT)
    tools = tools_of(request) if prompt.tools else []
    write_turns(request, recall)
    system = {"system_instruction": {"parts": request.system}} if request.system else {}
    config = {**system, **({"tools": tools} if tools else {}), **settings_of(request, tools)}
    payload = {"contents": request.entries, "config": config}
    return cast("Payload", payload), request.told()
