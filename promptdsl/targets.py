"""The targets there are: each adapter under the name of its provider, and which response is whose.

It is written here and nowhere else. What an adapter is made of, ``docs/design.md`` says.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from promptdsl.adapters import (
    anthropic,
    bedrock,
    chat_template,
    gemini,
    openai_chat,
    openai_responses,
)
from promptdsl.errors import DataError, TargetError, nearest
from promptdsl.losses import Loss
from promptdsl.messages import Message, read_responses_with
from promptdsl.models import ModelFacts
from promptdsl.prompts import Prompt
from promptdsl.sources import author
from promptdsl.wire.entries import mapping


class Adapter(Protocol):
    """What every adapter can do."""

    def write(self, prompt: Prompt, facts: ModelFacts) -> tuple[Any, tuple[Loss, ...]]:
        """Return the payload of a prompt, and what it could not say."""
        ...

    def read(self, data: object) -> Prompt:
        """Return the prompt of a payload, or of a list of messages."""
        ...

    def read_response(self, data: object) -> Message:
        """Return the message of a response."""
        ...


class Target(NamedTuple):
    """An adapter, and the method of ``Rendered`` that gives its payload."""

    adapter: Adapter
    method: str


TARGETS: Mapping[str, Target] = {
    "openai": Target(openai_chat, "to_openai"),
    "openai_responses": Target(openai_responses, "to_openai_responses"),
    "openai_compatible": Target(openai_chat, "to_openai"),
    "anthropic": Target(anthropic, "to_anthropic"),
    "gemini": Target(gemini, "to_gemini"),
    "bedrock": Target(bedrock, "to_bedrock"),
    "chat_template": Target(chat_template, "to_chat_template"),
}


def _reader(adapter: Adapter) -> Callable[[object], tuple[Message, ...]]:
    return lambda data: adapter.read(data).messages


READERS: Mapping[str, Callable[[object], tuple[Message, ...]]] = {
    form: _reader(target.adapter) for form, target in TARGETS.items()
}
"""By provider, what reads the messages of a recorded conversation in its form."""

_TOLD: tuple[tuple[str, str], ...] = (
    ("choices", "openai"),
    ("candidates", "gemini"),
    ("prompt_feedback", "gemini"),
    ("promptFeedback", "gemini"),
    ("stopReason", "bedrock"),
    ("output", "openai_responses"),
    ("content", "anthropic"),
)
"""What only the response of one provider holds, and whose it is; the first that fits counts."""


def read_payload(payload: object, provider: str) -> Prompt:
    """Return what a payload of a provider says, or a list of its messages: messages, tools, ...

    Raises :class:`TargetError` for a provider that has no adapter, :class:`DataError` for what
    cannot be read.
    """
    if provider not in TARGETS:
        fix = nearest(str(provider), TARGETS)
        raise TargetError(f"unknown provider {provider!r}", fix=fix, at=(author(),))
    return TARGETS[provider].adapter.read(payload)


def read_response(response: object) -> Message:
    """Return the assistant message of a response: an object of an SDK, or its dictionary form.

    Raises :class:`DataError` for what is a response of none of the providers.
    """
    entries = mapping(response)
    provider = next((provider for key, provider in _TOLD if key in entries), None)
    if provider is None or provider not in TARGETS:
        raise DataError(
            f"a response of no provider, it has {', '.join(map(str, entries)) or 'nothing'}",
            fix="give the object the client returned: Message.from_response(response)",
        )
    message: Message = TARGETS[provider].adapter.read_response(entries)
    parsed = _parsed(response)
    return message if parsed is None else message.replace(structured_output=parsed)


def _parsed(response: Any) -> Any:
    """Return what an SDK parsed the answer to, as plain data; ``None`` where it did not."""
    choice = next(iter(getattr(response, "choices", None) or ()), None)
    message = getattr(choice, "message", None)
    names = ("parsed", "output_parsed", "parsed_output")
    found = (getattr(one, name, None) for one in (message, response) for name in names)
    parsed: Any = next((one for one in found if one is not None), None)
    dump = getattr(parsed, "model_dump", None)
    return dump(mode="json") if callable(dump) else parsed


read_responses_with(read_response)
