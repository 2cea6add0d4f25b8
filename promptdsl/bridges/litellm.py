"""LiteLLM: the dictionaries of ``litellm.completion``, both ways. LiteLLM itself is not imported.

It takes OpenAI Chat messages for every provider, so they are written as for a server that speaks
Chat: a developer's message as a system message, names left out.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from promptdsl import Message, ReasoningBlock, Rendered, read_payload
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
    payload, crossing = target.payload(), Crossing("LiteLLM", target.losses)
    crossing.lose_settings(rendered)
    return Bridged(
        cast("list[dict[str, Any]]", payload["messages"]),
        crossing.checked(strict=strict),
        tuple(payload.get("tools", ())),
    )


def from_litellm(messages: Iterable[Any]) -> Bridged[tuple[Message, ...]]:
    """Return the messages of a LiteLLM conversation, for a ``History``.

    Takes dictionaries and LiteLLM's own ``Message``. What a model thought is read from
    ``thinking_blocks``. Raises :class:`DataError` for what is no message of Chat.
    """
    given = [_plain(item) for item in messages]
    read = read_payload(given, "openai").messages
    return Bridged(tuple(map(_with_reasoning, read, given)))


def _plain(item: Any) -> Any:
    return item.model_dump(exclude_none=True) if hasattr(item, "model_dump") else item


def _with_reasoning(message: Message, item: Mapping[str, Any]) -> Message:
    """Return a message with what LiteLLM keeps beside its content."""
    thoughts = [_thought(block) for block in item.get("thinking_blocks") or ()]
    if not thoughts and item.get("reasoning_content"):
        thoughts = [ReasoningBlock(item["reasoning_content"])]
    return message.replace(content=(*thoughts, *message.content)) if thoughts else message


def _thought(block: Mapping[str, Any]) -> ReasoningBlock:
    """Return a block of Anthropic's, which LiteLLM keeps as it came."""
    if block.get("type") == "redacted_thinking":
        return ReasoningBlock("", encrypted=block.get("data"), origin="anthropic")
    text, signature = block.get("thinking") or "", block.get("signature")
    return ReasoningBlock(text, signature, origin="anthropic")
