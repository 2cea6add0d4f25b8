"""The table of targets: the adapter of each provider.

``docs/design.md`` explains the parts of an adapter, ``config/wire.py`` the record of a provider.
"""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from importlib import import_module
from typing import Any, TypeAlias, cast, get_args

from promptdsl.config.model_facts import ModelFacts, ProviderName
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import DataError, TargetError, is_one_of, nearest, shown
from promptdsl.foundation.source import author, door
from promptdsl.messages import MediaBlock
from promptdsl.messages.loss import Loss
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.shared.memory import Recall
from promptdsl.providers.shared.read_keys import ReadKeys
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
    """The adapter of a provider; each of its sides is loaded when it is used."""

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def _load(self, module: str, name: str) -> Any:  # Any: a function of the type that it needs
        folder = wire_of(self._provider).folder
        return getattr(import_module(f"{__package__}.{folder}.{module}"), name)

    def _reader(self, name: str) -> Any:  # Any: as above
        """Return a function that reads, in the dialect of this provider where others share it."""
        wire, read = wire_of(self._provider), self._load("read", name)
        return read if wire.folder == wire.name else partial(read, dialect=wire)

    @cached_property
    def write(self) -> Write:
        """The function that writes the payload of a prompt."""
        return cast("Write", self._load("write", "write"))

    @cached_property
    def read(self) -> Callable[[object], Prompt]:
        """The function that reads a payload, or a list of messages."""
        return cast("Callable[[object], Prompt]", self._reader("read"))

    @cached_property
    def read_response(self) -> Callable[[object], Message]:
        """The function that reads a response."""
        return cast("Callable[[object], Message]", self._reader("read_response"))

    @cached_property
    def add_event(self) -> Callable[..., None]:
        """The function that adds an event of a stream to the reply so far."""
        return cast("Callable[..., None]", self._load("read", "add_event"))

    @cached_property
    def read_keys(self) -> ReadKeys:
        """The keys that ``read`` takes."""
        return cast("ReadKeys", self._load("read", "KEYS"))

    @cached_property
    def needs_bytes(self) -> NeedsBytes:
        """The function that tells whether an attachment is sent as bytes only."""
        return cast("NeedsBytes", self._load("media", "needs_bytes"))

    def read_messages(self, data: object) -> tuple[Message, ...]:
        """Return the messages of a recorded conversation."""
        return self.read(data).messages


TARGETS: Mapping[str, Adapter] = {name: Adapter(name) for name in get_args(ProviderName)}
"""The adapters, by provider."""

READERS: Mapping[str, Callable[[object], tuple[Message, ...]]] = {
    provider: adapter.read_messages for provider, adapter in TARGETS.items()
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
        return TARGETS[provider].read(payload)
    except DataError as error:
        raise error.located(author()) from None
