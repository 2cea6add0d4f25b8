"""A client's reply in a place where a message or content belongs: the advice is to read it."""

from collections.abc import Callable
from typing import Any

import pytest

from promptdsl import *
from tests.errors import raised
from tests.folding import failures
from tests.providers.recorder import CHAT_REPLY, MESSAGES_REPLY, RESPONSES_REPLY

USER = {"role": "user", "content": "Hi."}
GEMINI_REPLY = {"candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}}]}
BEDROCK_REPLY = {
    "output": {"message": {"role": "assistant", "content": [{"text": "ok"}]}},
    "stopReason": "end_turn",
}
REPLIES: dict[str, Any] = {
    "anthropic": MESSAGES_REPLY,
    "openai": CHAT_REPLY,
    "openai_responses": RESPONSES_REPLY,
    "gemini": GEMINI_REPLY,
    "bedrock": BEDROCK_REPLY,
}

PLACES: dict[str, Callable[[Any], object]] = {
    "History": lambda reply: render(Timeline(History([USER, reply]))),
    "History alone": lambda reply: render(Timeline(History(reply))),
    "User": User,
    "Section": lambda reply: Section("s", reply),
    "Text": Text,
    "Value": Value,
    "Message": lambda reply: Message("assistant", reply),
    "Message of a list": lambda reply: Message("assistant", [reply]),
    "Message.from_dict": Message.from_dict,
    "block_from_dict": block_from_dict,
    "render": render,
    "run_calls": lambda reply: run_calls(reply, []),
}
"""By name, a place where something else than a reply belongs."""
OTHER_FORMS: dict[str, Callable[[Any], object]] = {
    "anthropic": History.from_openai_responses,
    "openai": History.from_openai,
    "openai_responses": History.from_openai,
    "gemini": History.from_openai,
    "bedrock": History.from_bedrock,
}
"""By provider of a reply, a reader of conversations that does not take it."""


def unlike_advice(reply: Any, provider: str) -> list[str]:
    """Return the places where a reply is taken for something else."""

    def wrong(place: str) -> str:
        fix = raised(PromptError, lambda: PLACES[place](reply)).fix
        return "" if "read_response(reply)" in fix else fix

    def wrong_in_form(_: str) -> str:
        history = OTHER_FORMS[provider]([USER, reply])
        fix = raised(PromptError, lambda: render(Timeline(history))).fix  # type: ignore[arg-type]
        return "" if "read_response(reply)" in fix else fix

    return [*failures(PLACES, wrong), *failures([f"from {provider}"], wrong_in_form)]


@pytest.mark.parametrize("provider", REPLIES)
def test_replies_as_dictionaries(provider: str) -> None:
    """The advice about a reply in dictionary form is to read it, wherever it stands."""
    assert [] == unlike_advice(REPLIES[provider], provider)


def client_objects() -> dict[str, Any]:
    """Return replies as the objects of their clients."""
    from anthropic.types import Message as AnthropicMessage
    from google.genai.types import GenerateContentResponse
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    return {
        "anthropic": AnthropicMessage.model_validate(MESSAGES_REPLY),
        "openai": ChatCompletion.model_validate(CHAT_REPLY),
        "openai_responses": Response.model_validate(RESPONSES_REPLY),
        "gemini": GenerateContentResponse.model_validate(GEMINI_REPLY),
    }


@pytest.mark.sdk("anthropic", "google.genai", "openai")
@pytest.mark.parametrize("provider", [name for name in REPLIES if name != "bedrock"])
def test_replies_of_clients(provider: str) -> None:
    """The advice about an object of a client is the same."""
    assert [] == unlike_advice(client_objects()[provider], provider)


@pytest.mark.sdk("openai")
def test_the_message_in_a_reply() -> None:
    """The message in a Chat reply is read as a conversation."""
    from openai.types.chat import ChatCompletion

    message = ChatCompletion.model_validate(CHAT_REPLY).choices[0].message
    error = raised(ContentError, lambda: User(message))  # type: ignore[arg-type]
    assert "write History.from_openai(messages), directly in the Timeline" == error.fix
