"""The prompt, and the models that may answer it."""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from promptdsl import Ephemeral, History, Message, System, Timeline, Tool, render

from .tools import Tools

BUDGET = 50_000
SILENCE = 60
"""If a provider sends no byte for so many seconds, the request has failed."""

Ask = Callable[[Timeline], AsyncGenerator[Any, None]]  # Any: an event of either client
"""A function that sends a prompt, and yields the events of the reply."""


def prompt(conversation: Sequence[Message], tools: Tools) -> Timeline:
    """Return the prompt of a conversation so far; its budget drops the oldest exchanges."""
    with Timeline() as timeline:
        for function in tools.values():
            Tool(function)
        System(
            "You answer questions about invoices. Pay back what was charged twice, once.",
            "Of a refund that was interrupted nobody knows whether it was done: look first.",
        )
        History(conversation)
        if conversation[-1].finish_reason == "interrupted":
            Ephemeral("Your last reply was cut off. Go on where it ended; repeat nothing.")
    return timeline


def openai_model(model: str) -> Ask:
    """Return the function that asks a model of OpenAI, or of a compatible server."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(timeout=SILENCE)

    async def ask(timeline: Timeline) -> AsyncGenerator[Any, None]:
        payload = render(timeline, model=model, provider="openai", budget=BUDGET).to_openai()
        stream = await client.chat.completions.create(
            model=model, stream=True, stream_options={"include_usage": True}, **payload
        )
        async with stream:
            async for event in stream:
                yield event

    return ask


def anthropic_model(model: str) -> Ask:
    """Return the function that asks a model of Anthropic."""
    from anthropic import AsyncAnthropic

    client = AsyncAnthropic(timeout=SILENCE)

    async def ask(timeline: Timeline) -> AsyncGenerator[Any, None]:
        payload = render(timeline, model=model, provider="anthropic", budget=BUDGET).to_anthropic()
        stream = await client.messages.create(model=model, stream=True, max_tokens=2_000, **payload)
        async with stream:
            async for event in stream:
                yield event

    return ask


MODELS = {"openai": (openai_model, "gpt-5"), "anthropic": (anthropic_model, "claude-opus-5-5")}
