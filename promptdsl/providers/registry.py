"""The table of targets: the adapter of each provider.

``docs/design.md`` explains the parts of an adapter. The name of a new provider also goes into

- facts: ``config/models.toml``, ``config.models._SUGGESTED``
- public names: ``Rendered.to_x``, ``History.from_x``, ``cli.options.PROVIDERS``
- replies: ``providers.read_response``
- counting, where its keys or types of parts are new: ``tokens.payloads`` (``ENTRY_KEYS``,
  ``SYSTEM_PATHS``, ``TOOL_PATHS``, ``_FORM_PATHS``),
  ``tokens.payload_parts`` (``_TYPED``, ``_KEYED``),
  ``tokens.tools`` (``_WRAPPERS``, ``_SCHEMA_KEYS``), ``tokens.images._COSTLIEST``,
  ``tokens.wire_json.SILENT``, ``rendering.reports.cache_order`` (``MARKS``, ``_CHOOSING``)
- its rules: ``rendering.measure`` (``TWO_SIDED``, ``JOINING``),
  ``providers.shared.tools._HAVE_STRICT``, ``providers.shared.other_providers``,
  ``providers.gemini.read._LOOKS``
- names in other libraries: ``integrations.langchain.reasoning``,
  ``integrations.pydantic_ai.media``
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import NamedTuple, TypeAlias

from promptdsl.config.model_facts import ModelFacts, ProviderName
from promptdsl.foundation.errors import DataError, TargetError, is_one_of, nearest, shown
from promptdsl.foundation.source import author, door
from promptdsl.messages import MediaBlock
from promptdsl.messages.loss import Loss
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.shared.memory import Recall
from promptdsl.providers.shared.request import Param

Write: TypeAlias = Callable[[Prompt, ModelFacts, Recall | None], tuple[Param, tuple[Loss, ...]]]
"""Returns the payload of a prompt and its losses.

With a :class:`Recall` parts of the payload are shared, and must not be changed.
"""


NeedsBytes: TypeAlias = Callable[[MediaBlock, str], bool]
"""Returns whether an attachment is at an address that is refused, but its bytes may be taken.

The other argument is the role of its message; the target takes attachments of this kind there.
"""


class Adapter:
    """The adapter in a folder beside this file; its two sides are loaded when they are used."""

    def __init__(self, folder: str, media: str = "media") -> None:
        self._folder = f"{__package__}.{folder}"
        self._media = media

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
    def read_response(self) -> Callable[[object], Message]:
        """The function that reads a response."""
        read: Callable[[object], Message] = import_module(f"{self._folder}.read").read_response
        return read

    @cached_property
    def add_event(self) -> Callable[..., None]:
        """The function that adds an event of a stream to the reply so far."""
        add: Callable[..., None] = import_module(f"{self._folder}.read").add_event
        return add

    @cached_property
    def needs_bytes(self) -> NeedsBytes:
        """The function that tells whether an attachment is sent as bytes only."""
        needs: NeedsBytes = import_module(f"{self._folder}.{self._media}").needs_bytes
        return needs

    def read_messages(self, data: object) -> tuple[Message, ...]:
        """Return the messages of a recorded conversation."""
        return self.read(data).messages


class Target(NamedTuple):
    """An adapter, and the method of ``Rendered`` that gives its payload."""

    adapter: Adapter
    method: str


TARGETS: Mapping[str, Target] = {
    "openai": Target(Adapter("openai_chat", "parts"), "to_openai"),
    "openai_responses": Target(Adapter("openai_responses"), "to_openai_responses"),
    "openai_compatible": Target(Adapter("openai_chat", "parts"), "to_openai"),
    "anthropic": Target(Adapter("anthropic"), "to_anthropic"),
    "gemini": Target(Adapter("gemini"), "to_gemini"),
    "bedrock": Target(Adapter("bedrock"), "to_bedrock"),
    "chat_template": Target(Adapter("chat_template"), "to_chat_template"),
}


READERS: Mapping[str, Callable[[object], tuple[Message, ...]]] = {
    provider: target.adapter.read_messages for provider, target in TARGETS.items()
}
"""The function that reads the messages of a recorded conversation, by its provider."""


@door
def read_payload(payload: object, provider: ProviderName | str) -> Prompt:
    """Return the prompt of a provider's payload, or of a list of its messages.

    ``render()`` takes it; what was sent apart, such as two user messages in a row, stays apart.
    The prompt has the messages, the tools, the choice of a tool and the form of the answer; other
    keys of the payload are left out. ``provider`` is one of ``openai``, ``openai_responses``,
    ``openai_compatible``, ``anthropic``, ``gemini``, ``bedrock`` and ``chat_template``.

    >>> from promptdsl import read_payload
    >>> prompt = read_payload({"messages": [{"role": "user", "content": "Hi."}]}, "openai")
    >>> [(message.role, message.text) for message in prompt.messages]
    [('user', 'Hi.')]

    Raises :class:`TargetError` for an unknown provider, :class:`DataError` for a payload that
    cannot be read, with the index and the key that is wrong.
    """
    if not is_one_of(provider, TARGETS):
        problem = f"unknown provider {shown(provider)}"
        raise TargetError(problem, fix=nearest(provider, TARGETS), at=(author(),))
    try:
        return TARGETS[provider].adapter.read(payload)
    except DataError as error:
        raise error.located(author()) from None
