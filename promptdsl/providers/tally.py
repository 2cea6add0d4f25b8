"""The tokens of a payload; of a long conversation only what is new is counted."""

from collections.abc import Mapping
from itertools import compress
from operator import is_not
from typing import Any

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.providers.shared.memory import Passage
from promptdsl.tokens.count import TextTokens
from promptdsl.tokens.payloads import Tally, entries_key, entry_tokens

_NOTHING = Tally(0, [])


def tally(
    payload: Mapping[str, Any], facts: ModelFacts, tokens: TextTokens, passage: Passage
) -> Tally:
    """Return the tokens of a payload; a passage remembers those that were counted before."""
    key = entries_key(payload)
    if key is None:
        raise KeyError(f"none of {', '.join(payload)} is in promptdsl.tokens.payloads.ENTRIES")
    entries, settled = payload[key], passage.settled
    # An entry with a mark is another one than it is remembered without.
    marked = [*compress(range(settled), map(is_not, passage.entries, entries))]
    known = _known(passage, (key, facts), tokens, marked)
    rest = [*(entries[place] for place in marked), *entries[settled:]]
    new = entry_tokens({**payload, key: rest}, tokens, facts)
    counts = [*known.entries, *new.entries[len(marked) :]]
    for place, counted in zip(marked, new.entries, strict=False):
        counts[place] = counted
    return attrs.evolve(new, entries=counts, media=known.media + new.media)


def _known(
    passage: Passage, sent: tuple[str, ModelFacts], tokens: TextTokens, without: list[int]
) -> Tally:
    """Return the tokens of the settled entries; the media of some of them are left out."""
    key, facts = sent
    known: Tally = passage.counted.by(tokens) or _NOTHING
    if len(known.entries) < passage.settled:
        new = passage.entries[len(known.entries) : passage.settled]
        more = entry_tokens({key: new}, tokens, facts)
        known = Tally(0, [*known.entries, *more.entries], known.media + more.media)
        passage.counted.keep(tokens, known)
    if not without or not known.media:
        return known
    marked = [passage.entries[index] for index in without]
    media = entry_tokens({key: marked}, tokens, facts).media
    return attrs.evolve(known, media=known.media - media)
