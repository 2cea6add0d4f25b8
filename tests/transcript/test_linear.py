"""Changes of long transcripts: none goes through the log again, and all end where a replay does."""

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.lines_run import times_more
from tests.searching import examples
from tests.transcript.stores import MemoryStore


def talk(count: int) -> Transcript:
    """Return a conversation of so many questions, each with its answer."""
    both = [("q", Message("assistant", f"a{number}")) for number in range(count)]
    return Transcript(chain.from_iterable(both), clock=None)


def replaced_by_message(transcript: Transcript) -> None:
    """Replace all messages, each found as the object that it is."""
    for message in transcript.messages:
        transcript.replace(message, "new")


def replaced_with_ids(transcript: Transcript) -> None:
    """Replace all questions by messages with ids, and append further answers."""
    for number in range(1, len(transcript) + 1, 2):
        transcript.replace(number, Message("user", "q", id=f"i{number}"))
        transcript.append(Message("assistant", "a", id=f"n{number}"))


def compacted(transcript: Transcript) -> None:
    """Cover ever more by summaries, and take each back."""
    for _ in range(4):
        transcript.compact("Short.")
        transcript.undo()


def each(change: Callable[[Transcript, int], object]) -> Callable[[Transcript], object]:
    """Return what makes a change once for each question, whose number it gets."""

    def changes(transcript: Transcript) -> None:
        for number in range(1, len(transcript) + 1, 2):
            change(transcript, number)

    return changes


def turned(transcript: Transcript, number: int) -> None:
    """Remove a question and take that back, and replace its answer."""
    transcript.remove(number)
    transcript.undo()
    transcript.replace(number + 1, "new")


CHANGES: dict[str, Callable[[Transcript], object]] = {
    "undo": each(lambda transcript, _: transcript.undo()),
    "undo of what was appended": each(lambda t, _: (t.append("q", interrupt=True), t.undo())),
    "undo, and back": each(lambda t, _: (t.undo(), t.undo(to=t.entries[-1].number - 1))),
    "undo of an edit": each(turned),
    "replace": each(lambda transcript, number: transcript.replace(number, "new")),
    "replace by message": replaced_by_message,
    "replace with ids": replaced_with_ids,
    "remove": each(lambda transcript, number: transcript.remove(number)),
    "append of users": each(lambda transcript, _: transcript.append("q")),
    "compact": compacted,
}
every_change = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


@every_change
def test_changes_are_linear_work(change: Callable[[Transcript], object]) -> None:
    """Ten times as many changes of ten times as many messages are about ten times the work."""

    def work(count: int) -> Callable[[], object]:
        transcript = talk(count)
        return lambda: change(transcript)

    assert times_more(10, 40, work) < 12


@every_change
def test_changes_after_opening_are_linear_work(change: Callable[[Transcript], object]) -> None:
    """The same holds for a transcript that was opened."""

    def work(count: int) -> Callable[[], object]:
        store = MemoryStore()
        store.append("talk", talk(count).entries)
        transcript = Transcript.open("talk", store=store, clock=None)
        return lambda: change(transcript)

    assert times_more(10, 40, work) < 12


def test_following_is_linear_work(tmp_path: Path) -> None:
    """Reading each entry of another writer when it comes is about as much work as reading all."""
    path = tmp_path / "a.jsonl"

    def work(count: int) -> Callable[[], object]:
        path.unlink(missing_ok=True)
        talk(count).save(path)

        def followed() -> None:
            with Transcript.open(path) as writer, Transcript.open(path, read_only=True) as reader:
                for number in range(1, count + 1):
                    writer.replace(number, "new")
                    reader.refresh()

        return followed

    assert times_more(10, 40, work) < 12


# The same state as from a replay.

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["say", "call", "answer", "note", "replace", "remove", "compact", "undo"]),
        st.floats(0, 1),
    ),
    min_size=5,
    max_size=60,
)


def step(transcript: Transcript, kind: str, part: float) -> None:
    """Make a change at a place that is a part of the transcript from its start."""
    number = round(part * len(transcript.entries))
    changes: dict[str, Callable[[], Any]] = {
        "say": lambda: transcript.append(f"{number}", interrupt=True),
        "call": lambda: transcript.append(
            Message("assistant", [ToolUseBlock(id, "find", "{}") for id in "ab"]), interrupt=True
        ),
        "answer": lambda: transcript.answer(transcript.pending_calls[0], "found"),
        "note": lambda: transcript.note(number),
        "replace": lambda: transcript.replace(number, "new"),
        "remove": lambda: transcript.remove(number),
        "compact": lambda: transcript.compact("Short.", keep=number),
        "undo": lambda: transcript.undo(None if part < 0.5 else number),
    }
    try:
        changes[kind]()
    except (TranscriptError, IndexError):
        transcript.tag(refused=kind)


@examples(200, fast=20)
@given(STEPS)
def test_any_changes_end_where_a_replay_does(steps: list[tuple[str, float]]) -> None:
    """What stood after each entry is what its entries from the first one come to."""
    transcript = talk(10)
    stood: dict[int, tuple[TranscriptTurn, ...]] = {}
    for kind, part in steps:
        step(transcript, kind, part)
        stood[len(transcript.entries)] = transcript.turns
    replayed = {number: transcript.fork(at=number) for number in stood}
    assert stood == {number: fork.turns for number, fork in replayed.items()}
    last = replayed[len(transcript.entries)]
    assert (last.messages, last.pending_calls) == (transcript.messages, transcript.pending_calls)
    assert [*map(id, last)] == [*map(id, transcript)]


def test_what_is_noted_for_lookups_does_not_grow() -> None:
    """Turns that come back again and again are noted once, though nothing is looked for."""
    transcript = talk(25)
    for _ in range(20):
        transcript.compact("They talked.")
        transcript.undo()
    assert len(transcript._state._not_indexed) <= 3 * 50
