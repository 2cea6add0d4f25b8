"""The payload that an adapter wrote for a prompt, with its losses and its tokens."""

from itertools import compress
from operator import is_not
from typing import TYPE_CHECKING

from promptdsl.config.model_facts import ModelFacts
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.registry import TARGETS
from promptdsl.providers.shared.memory import CachedWrite, Memory, WriteCache, fresh
from promptdsl.providers.shared.request import LocationNotes, Param, SentLocation

if TYPE_CHECKING:
    from promptdsl.tokens.count import TextTokens
    from promptdsl.tokens.payloads import Tally

MEMORY = Memory()
"""The written entries of the long conversations that were rendered last."""


class WrittenPayload:
    """The payload that an adapter wrote for a prompt, and its ``losses``.

    Of a long conversation only the new messages are written. Payloads that callers get share no
    containers.
    """

    __slots__ = ("_ready", "_write", "_write_cache", "facts", "losses", "prompt")

    def __init__(self, prompt: Prompt, facts: ModelFacts, memory: Memory = MEMORY) -> None:
        """Raise :class:`PromptError` for a prompt that cannot be written."""
        is_long = len(prompt.messages) >= memory.min_messages and memory.serves(prompt.messages)
        cached_write = CachedWrite(memory) if is_long else None
        self._write = TARGETS[str(facts.provider)].write
        payload, self.losses = self._write(prompt, facts, cached_write)
        self.prompt, self.facts = prompt, facts
        self._write_cache = None if cached_write is None else cached_write.write_cache
        self._ready: list[Param] = [payload]

    @property
    def shared(self) -> Param:
        """The payload for reading only: never change it, and never return it to a caller."""
        # A copy, because another thread may take the payload after a check.
        for ready in [*self._ready]:
            return ready
        return self._write(self.prompt, self.facts, None)[0]

    def payload(self) -> Param:
        """Return the payload for a caller, who may change it."""
        if self._write_cache is not None:
            return fresh(self.shared)
        try:
            return self._ready.pop()
        except IndexError:
            return self.shared

    def locations(self) -> tuple[SentLocation, ...]:
        """Return the location of each block of the prompt, from a second write with notes."""
        notes = LocationNotes()
        return notes.locations(*self._write(self.prompt, self.facts, CachedWrite(None, notes)))

    def tally(self, tokens: "TextTokens") -> "Tally":
        """Return the token counts of the payload; ``tokens`` counts equal entries only once."""
        from promptdsl.tokens.payloads import entry_tokens

        if self._write_cache is None:
            return entry_tokens(self.shared, tokens, self.facts)
        return tally(self.shared, self.facts, tokens, self._write_cache)


def tally(
    payload: Param, facts: ModelFacts, tokens: "TextTokens", write_cache: WriteCache
) -> "Tally":
    """Return the token counts of a payload. Its cached write keeps the counts of final entries."""
    from promptdsl.tokens.payloads import Tally, entries_key, entry_tokens

    key = entries_key(payload)
    if key is None:
        raise KeyError(f"none of {', '.join(payload)} is in promptdsl.tokens.payloads.ENTRY_KEYS")
    entries, final_count = payload[key], write_cache.final_count
    # The counts of the final entries: only those that no earlier call has counted are counted.
    known = next(
        (tally for counter, tally in write_cache.counted if counter is tokens), Tally(0, [])
    )
    if len(known.entries) < final_count:
        added = entry_tokens(
            {key: write_cache.payload_messages[len(known.entries) : final_count]}, tokens, facts
        )
        known = Tally(0, [*known.entries, *added.entries], known.media + added.media)
        others = [counted for counted in write_cache.counted if counted[0] is not tokens]
        write_cache.counted[:] = [(tokens, known), *others[:1]]
    # An entry that is sent with a cache mark differs from the one in the cached write.
    marked = [*compress(range(final_count), map(is_not, write_cache.payload_messages, entries))]
    new_entries = [*(entries[index] for index in marked), *entries[final_count:]]
    new = entry_tokens({**payload, key: new_entries}, tokens, facts)
    counts = [*known.entries, *new.entries[len(marked) :]]
    for index, count in zip(marked, new.entries, strict=False):
        counts[index] = count
    media = known.media + new.media
    if marked and known.media:
        replaced = {key: [write_cache.payload_messages[index] for index in marked]}
        media -= entry_tokens(replaced, tokens, facts).media
    return Tally(new.fixed, counts, media, new.tools)
