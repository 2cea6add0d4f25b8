"""OpenAI Agents SDK: convert the input items of ``Runner.run``, both ways, without the SDK.

Its items are those of OpenAI Responses. Instructions and tools are given to the agent.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from promptdsl import Message, Rendered, read_payload
from promptdsl.integrations import Bridged
from promptdsl.integrations.losses import Crossing
from promptdsl.integrations.values import RESPONSES, listed

if TYPE_CHECKING:
    from openai.types.responses import ResponseInputItemParam

__all__ = ["from_openai_agents", "to_openai_agents"]


def to_openai_agents(
    rendered: Rendered, *, strict: bool = False
) -> "Bridged[list[ResponseInputItemParam]]":
    """Return the input of ``Runner.run``; a system message is one of its items.

    >>> from promptdsl import Timeline, User, render
    >>> from promptdsl.integrations.openai_agents import to_openai_agents
    >>> to_openai_agents(render(Timeline(User("Hi.")))).messages
    [{'role': 'user', 'content': 'Hi.'}]

    Tools are a hint: an agent takes functions. Raises :class:`PendingToolCalls` when the last calls
    have no result yet, and with ``strict=True`` :class:`LossError` when text or media is lost.
    """
    is_target = rendered.facts.provider == RESPONSES
    target = rendered if is_target else rendered.for_target(RESPONSES)
    payload, crossing = target.payload(), Crossing("the Agents SDK", target.losses)
    crossing.rendered = target
    crossing.lose_settings(rendered)
    if rendered.tools:
        crossing.hint("unsent_setting", "tools", "an agent is given functions: Agent(tools=...)")
    items = cast("list[ResponseInputItemParam]", payload["input"])
    return Bridged(items, crossing.checked(strict=strict))


def from_openai_agents(
    items: "Sequence[ResponseInputItemParam] | str", *, instructions: str | None = None
) -> Bridged[tuple[Message, ...]]:
    """Return the messages of ``result.to_input_list()``, for a ``History``.

    >>> from promptdsl.integrations.openai_agents import from_openai_agents
    >>> messages = from_openai_agents("Hi.", instructions="Be brief.").messages
    >>> [(message.role, message.text) for message in messages]
    [('system', 'Be brief.'), ('user', 'Hi.')]

    ``instructions`` are those of the agent; they become the system message. Raises
    :class:`DataError` for anything but input items.
    """
    text = [{"role": "user", "content": items}]
    given = text if isinstance(items, str) else listed(items, "input items")
    system = {} if instructions is None else {"instructions": instructions}
    return Bridged(read_payload({**system, "input": given}, RESPONSES).messages)
