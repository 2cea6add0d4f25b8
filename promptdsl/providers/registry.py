"""The targets there are: each adapter under the name of its provider.

It is written here and nowhere else. What an adapter is made of, ``docs/design.md`` says.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import DataError, TargetError, nearest
from promptdsl.foundation.source import author
from promptdsl.messages.loss import Loss
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.shared.copy_payload import fresh
from promptdsl.providers.shared.memory import Memory, Recall

if TYPE_CHECKING:
    from promptdsl.tokens.frames import TextTokens
    from promptdsl.tokens.payloads import Tally


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


MEMORY = Memory()
"""What was written of the long conversations that were rendered last."""


class Written:
    """What an adapter wrote of a prompt: ``losses`` are what it could not say.

    Of a long conversation only what is new is written. Every payload is made of fresh containers.
    """

    __slots__ = ("_passage", "_ready", "facts", "losses", "prompt")

    def __init__(self, prompt: Prompt, facts: ModelFacts, memory: Memory = MEMORY) -> None:
        """Raise :class:`PromptError` for what cannot be written."""
        recall = Recall(memory) if len(prompt.messages) >= memory.least else None
        said, self.losses = _adapter(facts).write(prompt, facts, recall)
        self.prompt, self.facts = prompt, facts
        self._passage = None if recall is None else recall.passage
        self._ready: list[dict[str, Any]] = [said]

    @property
    def said(self) -> dict[str, Any]:
        """The payload to be read: it is another's, and must not be changed or given away."""
        for ready in [*self._ready]:
            return ready
        said: dict[str, Any] = _adapter(self.facts).write(self.prompt, self.facts)[0]
        return said

    def payload(self) -> dict[str, Any]:
        """Return the payload, to be given away."""
        if self._passage is not None:
            return fresh(self.said)
        try:
            return self._ready.pop()
        except IndexError:
            return self.said

    def tally(self, tokens: "TextTokens") -> "Tally":
        """Return the tokens of the payload; what ``tokens`` counted once of it is remembered."""
        if self._passage is None:
            from promptdsl.tokens.payloads import entry_tokens

            return entry_tokens(self.said, tokens, self.facts)
        from promptdsl.providers.tally import tally

        return tally(self.said, self.facts, tokens, self._passage)


def _adapter(facts: ModelFacts) -> Adapter:
    return TARGETS[str(facts.provider)].adapter


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
