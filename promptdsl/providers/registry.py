"""The table of targets: each adapter under the name of its provider.

What an adapter is made of, ``docs/design.md`` says. The name of a new provider also goes into

- facts: ``config/models.toml``, ``config.models._SUGGESTED``
- the door: ``Rendered.to_x``, ``History.from_x``, ``cli.options.PROVIDERS``
- replies: ``providers.read_response._provider``
- counting, where its keys or types of parts are new: ``tokens.payloads`` (``ENTRY_KEYS``,
  ``SYSTEM_PATHS``, ``TOOL_PATHS``, ``_FORM_PATHS``),
  ``tokens.payload_parts`` (``_TYPED``, ``_KEYED``),
  ``tokens.tools`` (``_WRAPPERS``, ``_SCHEMA_KEYS``), ``tokens.images._COSTLIEST``,
  ``tokens.wire_json.SILENT``, ``rendering.reports.cache_order`` (``MARKS``, ``_CHOOSING``)
- its rules: ``rendering.measure`` (``SIGNING``, ``FORGETTING``),
  ``providers.shared.tools._HAVE_STRICT``, ``providers.shared.other_providers``,
  ``providers.gemini.contents._LOOKS``
- names in other libraries: ``integrations.langchain.reasoning``,
  ``integrations.pydantic_ai.media``
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import DataError, TargetError, nearest
from promptdsl.foundation.source import author
from promptdsl.messages.loss import Loss
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.shared.memory import Recall


class Write(Protocol):
    """The writing side of an adapter."""

    def __call__(
        self, prompt: Prompt, facts: ModelFacts, recall: Recall | None = None
    ) -> tuple[Any, tuple[Loss, ...]]:
        """Return the payload of a prompt, and what it could not say.

        With a ``recall`` some of the payload is remembered, and must not be changed.
        """
        ...


class Adapter:
    """The adapter in a folder beside this file; its two sides are loaded when they are used."""

    def __init__(self, folder: str) -> None:
        self._folder = f"{__package__}.{folder}"

    @cached_property
    def write(self) -> Write:
        """The function that writes the payload of a prompt."""
        write: Write = import_module(f"{self._folder}.write").write
        return write

    @cached_property
    def read(self) -> Callable[[object], Prompt]:
        """The function that reads a payload, or a list of messages."""
        read: Callable[[object], Prompt] = import_module(f"{self._folder}.read").read
        return read

    @cached_property
    def read_response(self) -> Callable[[Mapping[str, Any]], Message]:
        """The function that reads a response."""
        module = import_module(f"{self._folder}.read")
        read: Callable[[Mapping[str, Any]], Message] = module.read_response
        return read


class Target(NamedTuple):
    """An adapter, and the method of ``Rendered`` that gives its payload."""

    adapter: Adapter
    method: str


TARGETS: Mapping[str, Target] = {
    "openai": Target(Adapter("openai_chat"), "to_openai"),
    "openai_responses": Target(Adapter("openai_responses"), "to_openai_responses"),
    "openai_compatible": Target(Adapter("openai_chat"), "to_openai"),
    "anthropic": Target(Adapter("anthropic"), "to_anthropic"),
    "gemini": Target(Adapter("gemini"), "to_gemini"),
    "bedrock": Target(Adapter("bedrock"), "to_bedrock"),
    "chat_template": Target(Adapter("chat_template"), "to_chat_template"),
}


def _reader(adapter: Adapter) -> Callable[[object], tuple[Message, ...]]:
    return lambda data: adapter.read(data).messages


READERS: Mapping[str, Callable[[object], tuple[Message, ...]]] = {
    form: _reader(target.adapter) for form, target in TARGETS.items()
}
"""By provider, what reads the messages of a recorded conversation in its form."""


def read_payload(payload: object, provider: str) -> Prompt:
    """Return what a payload of a provider says, or a list of its messages: messages, tools, ...

    Raises :class:`TargetError` for a provider that has no adapter, :class:`DataError` for what
    cannot be read.
    """
    if not isinstance(provider, str) or provider not in TARGETS:  # pyright: ignore[reportUnnecessaryIsInstance]
        fix = nearest(str(provider), TARGETS)
        raise TargetError(f"unknown provider {provider!r}", fix=fix, at=(author(),))
    try:
        return TARGETS[provider].adapter.read(payload)
    except DataError as error:
        raise error.located(author()) from None
