"""The adapter of each provider and server, and the unread keys of recorded messages.

Read ``Adapter`` first. ``docs/design.md`` explains how to add one.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, get_args

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.models import check_provider, facts_for
from promptdsl.config.wire import Wire
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import DataError, TargetError
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.source import author, public_api
from promptdsl.messages import MediaBlock
from promptdsl.messages.message import Message
from promptdsl.messages.names import AdapterName, ProviderName
from promptdsl.messages.prompt import Loss, Prompt
from promptdsl.providers.shared.blocks import (
    message_with_server_as_origin,
    prompt_with_server_as_origin,
)
from promptdsl.providers.shared.memory import CachedWrite
from promptdsl.providers.shared.reading import KeySearch, ReadKeys, path_of, shape
from promptdsl.providers.shared.request import Param

# The adapter of each provider and server.
#
# ``config/wire.py`` explains the facts of a provider.

_OF_FACTS = ("read", "read_response", "add_event", "texts_so_far")
"""The functions in ``openai_chat/`` that need the facts of their server."""


class Adapter:
    """The functions of a provider or a server. Each is loaded at its first use."""

    write: Callable[[Prompt, ModelFacts, CachedWrite | None], tuple[Param, tuple[Loss, ...]]]
    """Returns the payload of a prompt and its losses.

    With a :class:`CachedWrite`, parts of the payload are shared and must not be changed. Raises
    :class:`DataError` for an unknown block that cannot be written as JSON.
    """
    read: Callable[[object], Prompt]
    """Returns the prompt of a payload, or of a list of messages.

    Raises :class:`DataError` with the index and the key that cannot be read.
    """
    read_response: Callable[[object], Message]
    """Returns the message of a response; raises :class:`DataError` for any other data."""
    add_event: Callable[..., None]
    """Adds an event of a stream to the reply so far."""
    texts_so_far: Callable[..., list[str]]
    """Returns the texts in the reply of a stream so far, in order, without refusals."""
    read_keys: ReadKeys
    """The keys that ``read`` takes."""
    needs_bytes: Callable[[MediaBlock, str], bool]
    """Returns whether the target refuses the address of an attachment, but may take its bytes.

    The second argument is the role of the attachment's message.
    """

    def __init__(self, provider: str, wire: Wire | None = None) -> None:
        self._provider = provider
        self._server = wire
        # When the adapter reads, the server may no longer be registered.
        self._facts = None if wire is None else facts_for(None, provider)

    def __getattr__(self, name: str) -> Any:  # Any: each has its type above
        """Load a function. Providers that share ``openai_chat/`` get it with their own facts."""
        if name not in Adapter.__annotations__:
            raise AttributeError(f"an Adapter has no {name!r}")
        wire = self._server or wire_of(self._provider)
        file = {"write": "write", "needs_bytes": "parts"}.get(name, "read")
        module = import_module(f"{__package__}.{wire.folder}.{file}")
        function = getattr(module, "KEYS" if name == "read_keys" else name)
        if wire.folder == "openai_chat":
            function = self._of_chat(name, function)
        if wire.name != wire.adapter:
            function = _of_server(function, name, wire)
        setattr(self, name, function)
        return function

    @property
    def facts(self) -> ModelFacts:
        """The facts of the provider, without those of a model."""
        return self._facts or facts_for(None, self._provider)

    def _of_chat(self, name: str, function: Any) -> Any:  # Any: as above
        """Return a function of Chat with the facts of this provider, or the table of its keys."""
        facts = self.facts
        if name == "read_keys":
            return import_module(f"{__package__}.openai_chat.read").keys_of(facts.own_keys)
        return partial(function, facts=facts) if name in _OF_FACTS else function

    def read_messages(self, data: object) -> tuple[Message, ...]:
        """Return the messages of a recorded conversation."""
        return self.read(data).messages


def _of_server(function: Any, name: str, wire: Wire) -> Any:  # Any: as above
    """Return a function that names the server as the origin of the content that it reads.

    A function that reads no messages is returned unchanged.
    """
    if name == "read":

        def read(data: object) -> Prompt:
            return prompt_with_server_as_origin(function(data), wire)

        return read
    if name == "read_response":

        def read_response(data: object) -> Message:
            return message_with_server_as_origin(function(data), wire)

        return read_response
    return function


class Targets(dict[str, Adapter]):
    """The adapters by provider. The adapter of a server is made when it is first used."""

    def __missing__(self, provider: str) -> Adapter:
        """Return the adapter of a server; raises :class:`TargetError` for an unknown name."""
        check_provider(provider)
        return _adapter(wire_of(provider))


@lru_cache(maxsize=256)
def _adapter(wire: Wire) -> Adapter:
    """Return the adapter of a server, the same one for the same record."""
    return Adapter(wire.name, wire)


TARGETS = Targets({name: Adapter(name) for name in get_args(AdapterName)})


def read_recording(provider_format: str, data: object) -> tuple[Message, ...]:
    """Return the messages of a recorded conversation in the format of a provider or server."""
    try:
        return TARGETS[provider_format].read_messages(data)
    except DataError as error:
        from promptdsl.foundation.remedies import REPLY, is_reply

        if is_list(data) and any(map(is_reply, data)):
            raise DataError(error.what, fix=REPLY, at=error.at) from None
        raise


@public_api
def read_payload(payload: object, provider: ProviderName) -> Prompt:
    """Return the prompt of a provider's payload, or of a list of its messages.

    ``render()`` takes it. Messages that were sent separately, such as two user messages in a row,
    stay separate. The prompt has the messages, the tools, the choice of a tool and the output
    schema; other keys of the payload are left out. ``provider`` is one of ``openai``,
    ``openai_responses``, ``openai_compatible``, ``anthropic``, ``gemini``, ``bedrock`` and
    ``chat_template``, or a server. Content that only this server takes is sent back to it only.

    >>> from promptdsl import read_payload
    >>> prompt = read_payload({"messages": [{"role": "user", "content": "Hi."}]}, "openai")
    >>> [(message.role, message.text) for message in prompt.messages]
    [('user', 'Hi.')]

    Raises :class:`TargetError` for an unknown provider, and :class:`DataError` for a payload that
    cannot be read, with the wrong index and key.
    """
    try:
        check_provider(provider)
        return TARGETS[provider].read(payload)
    except (DataError, TargetError) as error:
        raise error.located(author()) from None


# The unread keys of recorded messages, by the key table of their provider.
#
# Some blocks keep all further keys. An adapter reports those that it does not send.


def unread_keys(data: object, provider_format: str) -> Iterator[tuple[str, str]]:
    """Yield the unread keys of a recorded conversation, each with a location.

    The caller has read the data before. Keys with ``None`` or an empty value are left out. A key
    that is unread at many locations of one kind comes once, with its first location and the number
    of the other locations.
    """
    keys = TARGETS[provider_format].read_keys
    if not is_mapping(data):
        *_, key = keys.payload
        data = {key: data}
    search = KeySearch(keys.fields_of)
    search.find(data, shape(rest=True, **keys.payload), None)
    for (*_, key), values in search.values.items():
        location, _ = values[0]
        further = f" and {len(values) - 1:,} more" if len(values) > 1 else ""
        yield key, f"{path_of(location[0])}{further}"
