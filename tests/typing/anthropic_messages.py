"""Only checked, never run: what ``write`` returns is what the Anthropic client takes."""

from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import Message as Reply
from anthropic.types import MessageParam

from promptdsl import Loss, Message, ModelFacts, Prompt, Rendered, read_response
from tests.internals import read_anthropic as read
from tests.internals import write_anthropic as write


def send(client: Anthropic, prompt: Prompt) -> Reply:
    """Pass a payload as keyword arguments of ``create``."""
    payload, losses = write(prompt, ModelFacts())
    reported: tuple[Loss, ...] = losses
    assert not reported
    return client.messages.create(model="claude-opus-5-5", max_tokens=1, **payload)


async def asend(client: AsyncAnthropic, rendered: Rendered) -> Message:
    """Pass it to the asynchronous client, and its answer back."""
    reply = await client.messages.create(
        model="claude-opus-5-5", max_tokens=1, **rendered.to_anthropic()
    )
    return read_response(reply)


def continued(prompt: Prompt) -> list[MessageParam]:
    """Return the messages of a payload as the SDK's own type."""
    return write(prompt, ModelFacts())[0]["messages"]


def again(recorded: list[MessageParam]) -> Prompt:
    """Read what the SDK's types hold."""
    return read(recorded)
