"""Only checked, never run: what ``write`` returns is what the Anthropic client takes."""

from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import Message as Reply
from anthropic.types import MessageParam

from promptdsl.adapters.anthropic import read, write
from promptdsl.losses import Loss
from promptdsl.messages import Message
from promptdsl.models import ModelFacts


def send(client: Anthropic, messages: tuple[Message, ...]) -> Reply:
    """Pass a payload as keyword arguments of ``create``."""
    payload, losses = write(messages, ModelFacts())
    reported: tuple[Loss, ...] = losses
    assert not reported
    return client.messages.create(model="claude-opus-5-5", max_tokens=1, **payload)


async def asend(client: AsyncAnthropic, messages: list[Message]) -> Reply:
    """Pass it to the asynchronous client, written of any sequence of messages."""
    payload, _ = write(messages, ModelFacts())
    return await client.messages.create(model="claude-opus-5-5", max_tokens=1, **payload)


def continued(messages: list[Message]) -> list[MessageParam]:
    """Return the messages of a payload as the SDK's own type."""
    return write(messages, ModelFacts())[0]["messages"]


def again(recorded: list[MessageParam]) -> tuple[Message, ...]:
    """Read what the SDK's types hold."""
    return read(recorded)
