"""The targets there are: each adapter under the name of its provider.

It is written here and nowhere else. What an adapter is made of, ``docs/design.md`` says.
"""

from collections.abc import Callable, Mapping
from itertools import compress
from operator import is_not
from typing import Any, NamedTuple, Protocol

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import DataError, TargetError, nearest
from promptdsl.foundation.source import author
from promptdsl.messages.loss import Loss
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.providers import (
    anthropic,
    bedrock,
    chat_template,
    gemini,
    openai_chat,
    openai_responses,
)
from promptdsl.providers.shared.copy_payload import fresh
from promptdsl.providers.shared.memory import Memory, Passage, Recall
from promptdsl.tokens.frames import TextTokens
from promptdsl.tokens.payloads import Tally, entry_tokens


class Adapter(Protocol):
    """What every adapter can do."""

    def write(
        self, prompt: Prompt, facts: ModelFacts, recall: Recall | None = None
    ) -> tuple[Any, tuple[Loss, ...]]:
        """Return the payload of a prompt, and what it could not say.

        With a ``recall`` some of the payload is remembered, and must not be changed.
        """
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

    def tally(self, tokens: TextTokens) -> Tally:
        """Return the tokens of the payload; what ``tokens`` counted once of it is remembered."""
        if self._passage is None:
            return entry_tokens(self.said, tokens, self.facts)
        return self._tally(self._passage, self.said, tokens)

    def _tally(self, passage: Passage, said: dict[str, Any], tokens: TextTokens) -> Tally:
        key = next(key for key in _ENTRIES if key in said)
        entries, settled = said[key], passage.settled
        # An entry with a mark is another one than it is remembered without.
        marked = [*compress(range(settled), map(is_not, passage.entries, entries))]
        known = self._known(passage, key, tokens, marked)
        rest = [*(entries[place] for place in marked), *entries[settled:]]
        tally = entry_tokens({**said, key: rest}, tokens, self.facts)
        counts = [*known.entries, *tally.entries[len(marked) :]]
        for place, counted in zip(marked, tally.entries, strict=False):
            counts[place] = counted
        return attrs.evolve(tally, entries=counts, media=known.media + tally.media)

    def _known(self, passage: Passage, key: str, tokens: TextTokens, without: list[int]) -> Tally:
        """Return the tokens of the settled entries; the media of some of them are left out."""
        known: Tally = passage.counted.by(tokens) or _NOTHING
        if len(known.entries) < passage.settled:
            new = passage.entries[len(known.entries) : passage.settled]
            more = entry_tokens({key: new}, tokens, self.facts)
            known = Tally(0, [*known.entries, *more.entries], known.media + more.media)
            passage.counted.keep(tokens, known)
        if not without or not known.media:
            return known
        marked = [passage.entries[place] for place in without]
        media = entry_tokens({key: marked}, tokens, self.facts).media
        return attrs.evolve(known, media=known.media - media)


_NOTHING = Tally(0, [])
_ENTRIES = ("messages", "contents", "input")
"""Under which key of a payload its entries stand."""


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
