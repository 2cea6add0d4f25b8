"""The payload that an adapter wrote for a prompt, with its losses and its token counts."""

from itertools import compress
from operator import is_not
from typing import TYPE_CHECKING

from promptdsl.config.model_facts import ModelFacts
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.registry import TARGETS
from promptdsl.providers.shared.memory import CachedWrite, Memory, WriteCache, fresh
from promptdsl.providers.shared.request import LocationNotes, Param, SentLocation

if TYPE_CHECKING:
    from promptdsl.tokens.count import TextCounter
    from promptdsl.tokens.payloads import Tally

MEMORY = Memory()
"""The cached writes of the long conversations that were rendered last."""


class WrittenPayload:
    """The payload that an adapter wrote for a prompt, and its ``losses``.

    The adapter writes only the new messages of a long conversation. The payloads that callers get
    share no list and no dictionary.
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
        # Loop over a copy, because another thread may take the payload after a check.
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
        """Return the location of each block of the prompt. A second write with notes finds them."""
        notes = LocationNotes()
        return notes.locations(*self._write(self.prompt, self.facts, CachedWrite(None, notes)))

    def tally(self, tokens: "TextCounter") -> "Tally":
        """Return the token counts of the payload; ``tokens`` counts equal messages only once."""
        from promptdsl.tokens.payloads import entry_tokens

        if self._write_cache is None:
            return entry_tokens(self.shared, tokens, self.facts)
        return tally(self.shared, self.facts, tokens, self._write_cache)


def tally(
    payload: Param, facts: ModelFacts, tokens: "TextCounter", write_cache: WriteCache
) -> "Tally":
    """Return the token counts of a payload.

    Its cached write keeps the counts of the final messages, so that no later call counts them.
    """
    from promptdsl.tokens.payloads import Tally, entries_key, entry_tokens

    key = entries_key(payload)
    if key is None:
        raise KeyError(f"none of {', '.join(payload)} is in promptdsl.tokens.payloads.ENTRY_KEYS")
    messages, final_count = payload[key], write_cache.final_count
    # Count the final messages that no earlier call has counted.
    counted = next(
        (counts for counter, counts in write_cache.counted if counter is tokens), Tally(0, [])
    )
    if len(counted.entries) < final_count:
        uncounted = write_cache.payload_messages[len(counted.entries) : final_count]
        further = entry_tokens({key: uncounted}, tokens, facts)
        counted = Tally(0, [*counted.entries, *further.entries], counted.media + further.media)
        other_counters = [pair for pair in write_cache.counted if pair[0] is not tokens]
        write_cache.counted[:] = [(tokens, counted), *other_counters[:1]]
    # A message that is sent with a cache mark is not the object in the cached write.
    marked = [*compress(range(final_count), map(is_not, write_cache.payload_messages, messages))]
    new_messages = [*(messages[index] for index in marked), *messages[final_count:]]
    new = entry_tokens({**payload, key: new_messages}, tokens, facts)
    counts = [*counted.entries, *new.entries[len(marked) :]]
    for index, count in zip(marked, new.entries, strict=False):
        counts[index] = count
    media = counted.media + new.media
    if marked and counted.media:
        replaced = {key: [write_cache.payload_messages[index] for index in marked]}
        media -= entry_tokens(replaced, tokens, facts).media
    return Tally(new.fixed, counts, media, new.tools)
