"""Only checked, never run: what ``write`` returns is what the OpenAI client takes."""

from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam

from promptdsl import Loss, Message, ModelFacts, Prompt, Rendered, read_response
from tests.internals import read_openai_chat as read
from tests.internals import write_openai_chat as write


def send(client: OpenAI, prompt: Prompt) -> ChatCompletion:
    """Send a payload: it is keyword arguments of ``create``."""
    payload, losses = write(prompt, ModelFacts())
    reported: tuple[Loss, ...] = losses
    assert not reported
    return client.chat.completions.create(model="gpt-5.6-sol", **payload)


async def asend(client: AsyncOpenAI, rendered: Rendered) -> Message:
    """Send it with the asynchronous client, and take its answer back."""
    reply = await client.chat.completions.create(model="gpt-5.6-sol", **rendered.to_openai())
    return read_response(reply)


def continued(prompt: Prompt) -> list[ChatCompletionMessageParam]:
    """Return the messages of a payload, which are the SDK's own type."""
    return write(prompt, ModelFacts())[0]["messages"]


def again(recorded: list[ChatCompletionMessageParam]) -> Prompt:
    """Read what the SDK's types hold."""
    return read(recorded)
