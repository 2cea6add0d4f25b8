"""OpenAI Agents SDK: the input items of ``Runner.run``, both ways. The SDK itself is not imported.

Its items are those of OpenAI Responses. Instructions and tools of its own are the agent's.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from promptdsl import Message, Rendered, read_payload
from promptdsl.integrations import Bridged
from promptdsl.integrations.losses import Crossing
from promptdsl.integrations.values import listed

if TYPE_CHECKING:
    from openai.types.responses import ResponseInputItemParam

_TARGET = "openai_responses"


def to_openai_agents(
    rendered: Rendered, *, strict: bool = False
) -> "Bridged[list[ResponseInputItemParam]]":
    """Return the input of ``Runner.run``; a system message is one of its items.

    Tools are a hint: the agent is given functions. Raises :class:`PendingToolCalls` when the last
    calls are not answered yet, and with ``strict=True`` :class:`LossError` when text or media is
    lost.
    """
    fits = rendered.facts.provider == _TARGET
    target = rendered if fits else rendered.for_target(_TARGET)
    payload, crossing = target.payload(), Crossing("the Agents SDK", target.losses)
    crossing.lose_settings(rendered)
    if rendered.tools:
        crossing.lose("hint", "tools", "an agent is given functions: Agent(tools=...)")
    items = cast("list[ResponseInputItemParam]", payload["input"])
    return Bridged(items, crossing.checked(strict=strict))


def from_openai_agents(
    items: "Sequence[ResponseInputItemParam] | str", *, instructions: str | None = None
) -> Bridged[tuple[Message, ...]]:
    """Return the messages of ``result.to_input_list()``, for a ``History``.

    ``instructions`` are the agent's, and become its system message. Raises :class:`DataError` for
    what is no input item.
    """
    given = (
        [{"role": "user", "content": items}]
        if isinstance(items, str)
        else listed(items, "input items")
    )
    told = {} if instructions is None else {"instructions": instructions}
    return Bridged(read_payload({**told, "input": given}, "openai_responses").messages)
