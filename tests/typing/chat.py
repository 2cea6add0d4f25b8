"""Only checked, never run: what ``write`` returns is what the OpenAI client takes."""

from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam

from promptdsl.adapters.openai_chat import read, write
from promptdsl.losses import Loss
from promptdsl.messages import Message
from promptdsl.models import ModelFacts


def send(client: OpenAI, messages: tuple[Message, ...]) -> ChatCompletion:
    """Send a payload: it is keyword arguments of ``create``."""
    payload, losses = write(messages, ModelFacts())
    reported: tuple[Loss, ...] = losses
    assert not reported
    return client.chat.completions.create(model="gpt-5.6-sol", **payload)


async def asend(client: AsyncOpenAI, messages: list[Message]) -> ChatCompletion:
    """Send it with the asynchronous client, and from any sequence of messages."""
    payload, _ = write(messages, ModelFacts())
    return await client.chat.completions.create(model="gpt-5.6-sol", **payload)


def continued(messages: list[Message]) -> list[ChatCompletionMessageParam]:
    """Return the messages of a payload, which are the SDK's own type."""
    return write(messages, ModelFacts())[0]["messages"]


def again(recorded: list[ChatCompletionMessageParam]) -> tuple[Message, ...]:
    """Read what the SDK's types hold."""
    return read(recorded)
