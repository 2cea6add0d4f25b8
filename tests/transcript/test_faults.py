"""Calls of the system that fail: what returned is in the file, what raised is not."""

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptdsl import Message, ToolUseBlock, Transcript, TranscriptError

CALLS = ("open", "fstat", "lseek", "read", "write", "ftruncate", "fsync", "close", "replace")
Step = Callable[[Callable[[], Any]], Any]


class Faults:
    """Counts calls of the system. Those from ``first`` to ``last`` fail, or are cut short."""

    def __init__(self, patch: pytest.MonkeyPatch, first: int, last: int, *, short: bool) -> None:
        self.count = 0
        self.first, self.last, self.short = first, last, short
        for name in CALLS:
            self._watch(patch, os, name)
        if os.name == "posix":
            import fcntl

            self._watch(patch, fcntl, "flock")

    def _watch(self, patch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        real: Callable[..., Any] = getattr(module, name)

        def call(*args: Any, **options: Any) -> Any:
            self.count += 1
            fails = self.first <= self.count <= self.last
            if fails and name == "write" and self.short:
                real(args[0], bytes(args[1])[: len(args[1]) // 2])
            if fails and name == "close":
                real(*args)
            if fails:
                raise OSError(5, "Input/output error")
            return None if name == "fsync" else real(*args, **options)

        patch.setattr(module, name, call)


def work(folder: Path, step: Step) -> Transcript:
    """Do everything that a transcript does with files; return it."""
    path, copy = folder / "a.jsonl", folder / "b.jsonl"
    transcript: Transcript = step(lambda: Transcript.open(path, clock=None))
    reader: Transcript = step(lambda: Transcript.open(path, read_only=True))
    step(lambda: transcript.append("Hi."))
    step(lambda: transcript.append(Message("assistant", [ToolUseBlock("c", "f", "{}")])))
    step(lambda: transcript.answer("c", "1"))
    step(reader.refresh)
    step(lambda: transcript.append(Message("assistant", [ToolUseBlock("c", "f", "{}")])))
    step(lambda: transcript.append("Stop.", interrupt=True))
    step(lambda: transcript.save(copy))
    step(lambda: transcript.remove(1))
    step(lambda: transcript.vacuum(copy))
    step(reader.refresh)
    assert reader.entries == transcript.entries
    step(reader.close)
    step(transcript.close)
    return step(lambda: Transcript.open(path))


def content(path: Path) -> bytes:
    """Return the bytes of a file, none if it is not there."""
    return path.read_bytes() if path.exists() else b""


def attempt(folder: Path, run: Callable[[], Any]) -> Any:
    """Run a step. If it fails, what it wrote is not there, and it works the second time."""
    path, copy = folder / "a.jsonl", folder / "b.jsonl"
    before = [content(file) for file in (path, copy)]
    try:
        return run()
    except TranscriptError as error:
        failed = error
    assert "Input/output error" in failed.what
    assert content(path) == before[0]
    if content(copy) != before[1]:
        # Only its folder failed, after the whole new file was in its place.
        Transcript.open(copy).close()
    assert {*os.listdir(folder)} <= {"a.jsonl", "b.jsonl"}
    return run()


@pytest.mark.parametrize(
    ("short", "step"),
    [(False, 5), *(pytest.param(it, 1, marks=pytest.mark.slow) for it in (False, True))],
)
def test_every_call_of_the_system_fails_once(tmp_path: Path, short: bool, step: int) -> None:
    """Each call that fails is one error, which leaves no trace; the same step works then."""
    number, total = 1 - step, 1
    while number + step <= total:
        number += step
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            faults = Faults(patch, number, number, short=short)
            done = work(folder, lambda run, folder=folder: attempt(folder, run))
            total = faults.count
            assert [message.role for message in done][-1] == "user"
            assert len(done.entries) == 7
            done.close()
    assert total > 50


@pytest.mark.parametrize("length", [2, 3])
def test_calls_that_fail_in_a_row(tmp_path: Path, length: int) -> None:
    """Where cutting off fails too, the next write does it."""
    path = tmp_path / "a.jsonl"
    for first in range(1, 9):
        path.unlink(missing_ok=True)
        with Transcript.open(path, clock=None) as transcript:
            transcript.append("a")
            with pytest.MonkeyPatch.context() as patch:
                Faults(patch, first, first + length - 1, short=first % 2 == 0)
                told = [text for text in "bcdefgh" if recorded(transcript, text)]
        with Transcript.open(path) as transcript:
            assert [message.text for message in transcript] == ["a", *told]


def recorded(transcript: Transcript, text: str) -> bool:
    """Append a text, and return whether that did not raise."""
    try:
        transcript.append(text)
    except TranscriptError:
        return False
    return True


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_an_interrupt_at_any_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """A signal at any line of an append leaves a file that opens, and what returned in it."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    path, number, done = tmp_path / "a.jsonl", 0, False
    while not done:
        path.unlink(missing_ok=True)
        with Transcript.open(path, clock=None) as transcript:
            transcript.append("a")
            number += step
            done = not interrupted(transcript, number)
            told = ["a", *("b" for _ in range(done)), *(x for x in "cd" if recorded(transcript, x))]
        with Transcript.open(path) as transcript:
            found = [message.text for message in transcript]
        assert found in (told, ["a", "b", *told[1:]])
    assert number > 30


CHANGES: dict[str, Callable[[Transcript], object]] = {
    "append": lambda transcript: transcript.append("e"),
    "undo": lambda transcript: transcript.undo(to=2),
    "replace": lambda transcript: transcript.replace(transcript.messages[1], "new"),
    "compact": lambda transcript: transcript.compact("They talked.", keep=1),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_an_interrupt_in_a_change(name: str, step: int) -> None:
    """A signal at any line of a change leaves the turns that a replay of the entries has."""
    number, done = 0, False
    while not done:
        transcript = Transcript(["a", "b", "c", "d"], clock=None)
        number += step
        done = not interrupted(transcript, number, CHANGES[name])
        for text in ("f", "g"):
            assert [*transcript.fork()] == [*transcript]
            assert transcript.fork().pending_calls == transcript.pending_calls
            transcript.append(text)
    assert number > 30


def interrupted(
    transcript: Transcript,
    number: int,
    change: Callable[[Transcript], object] = lambda transcript: transcript.append("b"),
) -> bool:
    """Make a change, with an interrupt at the line of this number; return whether it came."""
    count = 0

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal count
        if "promptdsl" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        if count == number and event == "line":
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    gc.disable()  # else the interrupt may come in the end of what another test left behind
    sys.settrace(trace)
    try:
        change(transcript)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
        gc.enable()
    return False
