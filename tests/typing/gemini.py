"""Only checked, never run: what ``write`` returns is what the Google client takes."""

from google.genai import Client
from google.genai.types import ContentDict, GenerateContentConfigDict, GenerateContentResponse

from promptdsl import Loss, Message, ModelFacts, Prompt
from tests.internals import GeminiPayload
from tests.internals import read_gemini as read
from tests.internals import read_response_gemini as read_response
from tests.internals import write_gemini as write


def send(client: Client, prompt: Prompt) -> GenerateContentResponse:
    """Pass a payload as keyword arguments of ``generate_content``."""
    payload, losses = write(prompt, ModelFacts())
    reported: tuple[Loss, ...] = losses
    assert not reported
    # The SDK takes pictures of Pillow too, whose types need not be installed.
    return client.models.generate_content(  # pyright: ignore[reportUnknownMemberType]
        model="gemini-3.8-flash", **payload
    )


async def asend(client: Client, payload: GeminiPayload) -> GenerateContentResponse:
    """Pass it to the asynchronous client."""
    return await client.aio.models.generate_content(  # pyright: ignore[reportUnknownMemberType]
        model="gemini-3.8-flash", **payload
    )


def tuned(payload: GeminiPayload) -> GenerateContentConfigDict:
    """Add a setting to the configuration of a payload, which is the SDK's own type."""
    return {**payload.get("config", {}), "temperature": 0.5}


def continued(prompt: Prompt) -> list[ContentDict]:
    """Return the contents of a payload as the SDK's own type."""
    return write(prompt, ModelFacts())[0]["contents"]


def again(recorded: list[ContentDict]) -> Prompt:
    """Read what the SDK's types hold."""
    return read(recorded)


def answered(response: GenerateContentResponse) -> Message:
    """Read what the client returns."""
    return read_response(response)
