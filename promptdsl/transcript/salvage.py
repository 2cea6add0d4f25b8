"""The current turns of a damaged file, and the entries of a file without removed content.

``pruned`` is for ``Transcript.open(salvage=True)``, ``without_removed`` for ``vacuum``.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from promptdsl.foundation.errors import TranscriptError
from promptdsl.transcript.entries import TranscriptEntry, TranscriptTurn
from promptdsl.transcript.log import Standing, metadata_of


def pruned(
    entries: dict[int, TranscriptEntry],
    repair: Any,  # Any: Above.repair
    notes: list[str],
) -> Standing:
    """Return the current turns of a damaged file, in pairs; add to ``notes`` what is missing.

    An entry that cannot be read is removed, too. An edit of a missing turn is ignored. An undo goes
    back to the state before a missing entry.
    """
    for number, entry in [*entries.items()]:
        try:
            _ = entry.message, entry.rests
        except TranscriptError as error:
            notes.append(error.what)
            del entries[number]
    last, missing = 0, dict[int, TranscriptEntry]()
    for number in sorted(entries):
        if number > last + 1:
            notes.append(f"entries {last + 1} to {number - 1} are missing")
        for lost in range(last + 1, number):
            missing[lost] = TranscriptEntry(lost, "erased", None, lost, {})
        last = number
    state = Standing(is_salvaged=True)
    state.note_undos(entries.values())
    _, way = state.counting_to(entries | missing, last)
    gap = max((entry.number for entry in way if entry.number in missing), default=0)
    for entry in way:
        try:
            state.apply(entry)
        except TranscriptError:
            notes.append(f"entry {entry.number} changes a turn that is missing, so it is ignored")
    turns = [(turn, turn.message) for turn in state.turns if turn.message is not None]
    callers = [i for i, (_, message) in enumerate(turns) if message.role == "assistant"]
    if callers and turns[callers[-1]][0].number > gap:
        # No result of the last calls is missing: they may be open.
        del turns[callers[-1] :]
    kept, removed = repair([message for _, message in turns], "prune")
    messages = dict(kept)
    for index, (turn, original) in enumerate(turns):
        message = messages.get(index)
        if message is None:
            state.drop(turn.number)
        elif message is not original:
            state.put((TranscriptTurn(turn.number, turn.entry, turn.part, message),))
    notes += removed
    return state


def without_removed(
    entries: Mapping[int, TranscriptEntry], state: Standing
) -> Iterator[TranscriptEntry]:
    """Yield an entry for each number: with the current content, or empty.

    A replaced turn is written with its new content, and tags are written with their last values.
    """
    turns = {turn.number: turn for turn in state.in_order()}
    tags = metadata_of(entries)
    tagged: Any = {"metadata": tags}
    last_tag = max((n for n, entry in entries.items() if entry.type == "metadata"), default=0)
    for number in range(1, max(entries, default=0) + 1):
        entry, turn = entries.get(number), turns.get(number)
        if turn is not None:
            yield _as_first_written(turn)
        elif entry is not None and entry.opaque:
            yield entry
        elif number == last_tag and tags and entry is not None:
            yield TranscriptEntry(number, "metadata", entry.at, number, tagged)
        else:
            yield TranscriptEntry(number, "erased", None, number, {})


def _as_first_written(turn: TranscriptTurn) -> TranscriptEntry:
    """Return the entry that a turn would have, if its content had never been another."""
    number, entry = turn.number, turn.entry
    if entry.number == number and turn.message is entry.message:
        return attrs.evolve(entry, change=number)
    data: Any = {"message": turn.message.to_dict()} if turn.message else {}
    if turn.part == "message" and entry.data.get("reply"):
        data["reply"] = entry.data["reply"]
    return TranscriptEntry(number, "message", entry.at, number, data)
