"""Writing: messages become LiteLLM's, which are those of Chat."""

from typing import Any, cast

from promptdsl import Rendered
from promptdsl.bridges import Bridged
from promptdsl.bridges.crossing import Crossing

_TARGET = "openai_compatible"


def to_litellm(rendered: Rendered, *, strict: bool = False) -> Bridged[list[dict[str, Any]]]:
    """Return the ``messages`` and ``tools`` of ``litellm.completion``.

    Raises :class:`PendingToolCalls` when the last calls are not answered yet, and with
    ``strict=True`` :class:`LossError` when text or media is lost.
    """
    fits = rendered.facts.provider == _TARGET
    target = rendered if fits else rendered.for_target(_TARGET)
    # The form of the answer is said with the call, which is a hint of its own.
    losses = tuple(loss for loss in target.losses if loss.path != "output")
    payload, crossing = target.payload(), Crossing("LiteLLM", losses)
    crossing.lose_settings(rendered)
    return Bridged(
        cast("list[dict[str, Any]]", payload["messages"]),
        crossing.checked(strict=strict),
        tuple(payload.get("tools", ())),
    )
