"""Only checked, never run: what ``write`` returns is what the OpenAI client takes."""

from openai import AsyncOpenAI, OpenAI
from openai.types.responses import Response, ResponseInputItemParam

from promptdsl import Loss, Message, ModelFacts, Prompt
from tests.internals import read_openai_responses as read
from tests.internals import read_response_openai_responses as read_response
from tests.internals import write_openai_responses as write


def send(client: OpenAI, prompt: Prompt) -> Response:
    """Pass a payload as keyword arguments of ``create``."""
    payload, losses = write(prompt, ModelFacts())
    reported: tuple[Loss, ...] = losses
    assert not reported
    return client.responses.create(model="gpt-5.6-sol", **payload)


async def asend(client: AsyncOpenAI, prompt: Prompt) -> Response:
    """Pass it to the asynchronous client."""
    payload, _ = write(prompt, ModelFacts())
    return await client.responses.create(model="gpt-5.6-sol", **payload)


def continued(prompt: Prompt) -> list[ResponseInputItemParam]:
    """Return the items of a payload as the SDK's own type."""
    return write(prompt, ModelFacts())[0]["input"]


def again(recorded: list[ResponseInputItemParam]) -> Prompt:
    """Read what the SDK's types hold."""
    return read(recorded)


def answered(reply: Response) -> Message:
    """Read what the client returns."""
    return read_response(reply)
