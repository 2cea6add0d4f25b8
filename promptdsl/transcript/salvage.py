"""What stands in a damaged file, and what stands alone for a file without what was removed."""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from promptdsl.foundation.errors import TranscriptError
from promptdsl.transcript.entries import TranscriptEntry, TranscriptTurn
from promptdsl.transcript.log import Standing, metadata_of, way_to


def pruned(
    entries: dict[int, TranscriptEntry],
    repair: Any,  # Any: Above.repair
) -> tuple[Standing, list[str]]:
    """Return what stands of the entries of a damaged file, in pairs, and what is missing.

    An edit of an entry that is missing does not count.
    """
    told: list[str] = []
    for number in sorted(entries):
        entry = entries[number]
        to: Any = entry.data.get("to") if entry.type == "undo" and not entry.opaque else 0
        if to and to not in entries:
            told.append(f"entry {number} goes back to one that is missing: it does not count")
            entries[number] = attrs.evolve(entry, opaque=True)
    before = 0
    for number in sorted(entries):
        if number > before + 1:
            told.append(f"entries {before + 1} to {number - 1} are missing")
        before = number
    state = Standing()
    for entry in way_to(entries, before):
        try:
            state.apply(entry)
        except TranscriptError:
            told.append(f"entry {entry.number} changes what is missing: it does not count")
    turns = [(turn, turn.message) for turn in state.turns.values() if turn.message is not None]
    kept, removed = repair([message for _, message in turns], "prune")
    standing = dict(kept)
    for index, (turn, given) in enumerate(turns):
        message = standing.get(index)
        if message is None:
            del state.turns[turn.number]
        elif message is not given:
            repaired = TranscriptTurn(turn.number, turn.entry, turn.part, message)
            state.turns[turn.number] = repaired
    return state, [*told, *removed]


def only_standing(
    entries: Mapping[int, TranscriptEntry], state: Standing
) -> Iterator[TranscriptEntry]:
    """Yield an entry for each number: with what stands, or empty where something else was.

    A turn that was replaced is written as if it had always been so, and the tags as they are now.
    """
    turns = {**state.turns}
    if state.summary is not None:
        turns[state.summary.number] = state.summary
    tags = metadata_of(entries)
    tagged: Any = {"metadata": tags}
    last_tag = max((n for n, entry in entries.items() if entry.type == "metadata"), default=0)
    for number in range(1, max(entries, default=0) + 1):
        entry, turn = entries.get(number), turns.get(number)
        if turn is not None and turn.entry.number == number and turn.message is turn.entry.message:
            yield attrs.evolve(turn.entry, change=number)
        elif turn is not None:
            data: Any = {"message": turn.message.to_dict()} if turn.message else {}
            reply = turn.entry.data.get("reply") if turn.part == "message" else None
            if reply:
                data["reply"] = reply
            yield TranscriptEntry(number, "message", turn.entry.at, number, data)
        elif number == last_tag and tags and entry is not None:
            yield TranscriptEntry(number, "metadata", entry.at, number, tagged)
        else:
            yield TranscriptEntry(number, "erased", None, number, {})
