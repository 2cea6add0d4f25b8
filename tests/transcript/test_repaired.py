"""Conversations damaged in twelve ways: repaired with a report, and valid for every provider."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from promptdsl import History, Timeline, Transcript, TranscriptError, render
from tests.providers.every_target import FACTS, SERVICES

EVERY = cycle(SERVICES)
INTERRUPTED = "The tool call was interrupted before it returned a result."
Lines = list[bytes]
Said = list[dict[str, Any]]


def made(number: int) -> Said:
    """Return a conversation in the form of Chat: questions, calls with results, answers."""
    said: Said = [{"role": "system", "content": "Help."}]
    for turn in range(3):
        calls = [
            {"id": f"call_{k}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            for k in range((number + turn) % 3)
        ]
        said.append({"role": "user", "content": f"Question {turn}"})
        if calls:
            said.append({"role": "assistant", "content": None, "tool_calls": calls})
        for call in calls:
            said.append({"role": "tool", "tool_call_id": call["id"], "content": f"Result {turn}"})
        said.append({"role": "assistant", "content": f"Answer {turn}"})
    return said


# Damage of a file: the lines and a place in, lines out.


def flipped(lines: Lines, n: int) -> Lines:
    """Return the lines with one bit of one changed."""
    line = bytearray(lines[n])
    line[len(line) // 2] ^= 1
    return [*lines[:n], bytes(line), *lines[n + 1 :]]


FILES: Mapping[str, Callable[[Lines, int], Lines]] = {
    "a line is lost": lambda lines, n: lines[:n] + lines[n + 1 :],
    "a line is there twice": lambda lines, n: [*lines[:n], lines[n], *lines[n:]],
    "two lines are swapped": lambda lines, n: (
        [*lines[: n - 1], lines[n], lines[n - 1], *lines[n + 1 :]]
    ),
    "a bit flipped": flipped,
    "a line is torn": lambda lines, n: [*lines[:n], lines[n][:-9] + b"\n", *lines[n + 1 :]],
    "the header is lost": lambda lines, _: lines[1:],
}


# Damage of a recording: the messages and a place in, messages out.


def results(said: Said) -> list[int]:
    """Return the places of the results of calls."""
    return [n for n, message in enumerate(said) if message["role"] == "tool"]


def without_call(said: Said, n: int) -> Said:
    """Return the messages without the turn that makes a call."""
    calls = [n for n, message in enumerate(said) if message.get("tool_calls")]
    gone = calls[n % len(calls)]
    return said[:gone] + said[gone + 1 :]


def without_result(said: Said, n: int) -> Said:
    """Return the messages without a result; the last calls may be open, so not of the last turn."""
    at = results(said)
    gone = at[n % len(at)]
    return said[:gone] + said[gone + 1 :] + [{"role": "user", "content": "Go on."}]


def result_twice(said: Said, n: int) -> Said:
    """Return the messages with a result that is there again, later."""
    at = results(said)[n % len(results(said))]
    return [*said, {"role": "user", "content": "Again."}, said[at]]


def result_first(said: Said, n: int) -> Said:
    """Return the messages with a result in front of all turns."""
    at = results(said)[n % len(results(said))]
    return [said[at], *said[:at], *said[at + 1 :], {"role": "user", "content": "Go on."}]


def other_id(said: Said, n: int) -> Said:
    """Return the messages with a result that names a call nobody made."""
    at = results(said)[n % len(results(said))]
    changed = said[at] | {"tool_call_id": "nobody"}
    return [*said[:at], changed, *said[at + 1 :], {"role": "user", "content": "Go on."}]


def call_twice(said: Said, n: int) -> Said:
    """Return the messages with a turn of calls that is there twice in a row."""
    calls = [n for n, message in enumerate(said) if message.get("tool_calls")]
    at = calls[n % len(calls)]
    return [*said[: at + 1], said[at], *said[at + 1 :], {"role": "user", "content": "Go on."}]


RECORDINGS = (without_call, without_result, result_twice, result_first, other_id, call_twice)


def check(transcript: Transcript, said: Sequence[str], providers: Iterator[str]) -> None:
    """Fail unless what stands can be sent to providers, and says only what was said."""
    assert {message.text for message in transcript if message.text} <= {*said}
    with suppress(TranscriptError):
        transcript = transcript.fork()
        transcript.append("Go on.", interrupt=True)
    for name in islice(providers, len(SERVICES) if providers is EVERY else 1):
        rendered = render(Timeline(History(transcript)), provider=name)
        SERVICES[name].rules(rendered.payload(), FACTS.get(name, rendered.facts))


def repaired_files(said: Said, folder: Path, seed: int, providers: Iterator[str]) -> None:
    """Damage the file of a conversation in each way, and check what is repaired of it."""
    whole = Transcript.from_openai(said, repair="fill")
    path, mended = folder / "damaged.jsonl", folder / "mended.jsonl"
    whole.save(path)
    lines = path.read_bytes().splitlines(keepends=True)
    for way, damage in FILES.items():
        place = random.Random(f"{seed} {way}").randrange(2, len(lines) - 1)  # no tail
        path.write_bytes(b"".join(damage(lines, place)))
        with Transcript.open(path, salvage=True) as transcript:
            assert transcript.repairs, way
            transcript.vacuum(mended)
        with Transcript.open(mended) as transcript:
            check(transcript, [message.text for message in whole], providers)
            if damage in (FILES["the header is lost"], FILES["a line is there twice"]):
                assert transcript.messages == whole.messages


def repaired_recordings(said: Said, seed: int, providers: Iterator[str]) -> None:
    """Damage a recording in each way, and check what is repaired of it."""
    texts = [message.text for message in Transcript.from_openai(said, repair="fill")]
    for damage in RECORDINGS:
        given = damage(said, random.Random(seed).randrange(99))
        for mode in ("fill", "prune"):
            transcript = Transcript.from_openai(given, repair=mode)  # type: ignore[arg-type]
            assert transcript.repairs, (damage.__name__, mode)
            check(transcript, [*texts, "Go on.", "Again.", INTERRUPTED], providers)


def test_a_made_conversation_is_repaired(tmp_path: Path) -> None:
    """A conversation, damaged in each way, is valid for each provider in turn after the repair."""
    providers = cycle(SERVICES)
    repaired_files(made(1), tmp_path, 1, providers)
    repaired_recordings(made(1), 1, providers)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_made_conversations_are_repaired(number: int, tmp_path: Path) -> None:
    """So are others, for every provider."""
    repaired_files(made(number), tmp_path, number, EVERY)
    repaired_recordings(made(number), number, EVERY)


@pytest.mark.slow
def test_recorded_conversations_are_repaired(recorded: dict[str, Said], tmp_path: Path) -> None:
    """So are recorded ones, whose ids come back and whose results are of any kind."""
    providers = cycle(SERVICES)
    for seed, said in enumerate([*recorded.values()][::4]):
        repaired_files(said, tmp_path, seed, providers)
        if any(message.get("tool_calls") for message in said):
            repaired_recordings(said, seed, providers)


def test_what_is_written_is_the_conversation(tmp_path: Path) -> None:
    """A repaired file reads as the conversation that a person can check against the report."""
    path = tmp_path / "a.jsonl"
    Transcript.from_openai(made(1)).save(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(FILES["a line is lost"](lines, 4)))
    with Transcript.open(path, salvage=True) as transcript:
        assert ("entries 4 to 4 are missing",) == transcript.repairs[:1]
        assert ["Help.", "Question 0"] == [message.text for message in transcript][:2]
        assert "Answer 2" == transcript[-1].text
