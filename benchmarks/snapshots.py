"""Snapshots: what runs of pytest cost with the plug-in, and with 1,000 prompts that are compared.

Every run is a process of its own. Times are of the processor, with those of the processes.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from benchmarks.entrants import UnknownName
from benchmarks.report import Report, table
from benchmarks.timing import Times, timed
from promptdsl import Assistant, Section, System, Timeline, User, render

MESSAGES = 20
TESTS = """
import pytest
from benchmarks.snapshots import prompt
from promptdsl import render

@pytest.mark.parametrize("number", range({}))
def test_prompt({}, number):
    {}
"""


def prompt(number: int) -> Timeline:
    """Return a prompt of 20 messages, which no other number has."""
    turns = [
        turn
        for at in range((MESSAGES - 2) // 2)
        for turn in (
            User(f"Question {at} of ticket {number}: why was I charged twice for this invoice?"),
            Assistant(f"Answer {at}: the second charge of {number} was a test, it is given back."),
        )
    ]
    return Timeline(
        System(
            Section("role", "You are a support agent for TechCorp."), Section("rules", "Be kind.")
        ),
        *turns,
        User("Thank you. And now?"),
    )


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return what snapshots cost; raises :class:`UnknownName`: here is nobody but us."""
    if others := {*only} - {"ours"}:
        raise UnknownName(others, ("ours",))
    size, starts, samples = (100, 3, 1) if quick else (1_000, 11, 3)
    taken: dict[str, Times] = {}
    with TemporaryDirectory() as folder:
        one, without, compared = (Path(folder, name) for name in ("one", "without", "compared"))
        _write(one, "def test_one(): ...\n")
        _write(without, TESTS.format(size, "pytestconfig", "render(prompt(number))"))
        _write(compared, TESTS.format(size, "prompt_snapshot", "prompt_snapshot(prompt(number))"))
        _pytest(compared, taken, f"{size:,} snapshots, written", "--snapshot-update")
        for _ in range(starts):
            _pytest(one, taken, "one test, without the plug-in", "-p", "no:promptdsl")
            _pytest(one, taken, "one test, the plug-in unused")
        for _ in range(samples):
            _pytest(without, taken, f"{size:,} prompts, rendered alone")
            _pytest(compared, taken, f"{size:,} snapshots, compared, of a path")
            _pytest(compared, taken, f"{size:,} snapshots, compared", within=True)
        rendered = [render(prompt(number)) for number in range(size)]
        spans = taken.setdefault(f"{size:,} prompts, their spans alone", Times([], []))
        timed(lambda: [it.spans() for it in rendered], spans, seconds=600)
    rows = [
        (name, f"{times.median:,.3f}", f"{times.cpu_median:,.3f}") for name, times in taken.items()
    ]
    shown = table(("a run of pytest with", "seconds", "of the processor"), rows)
    data: dict[str, Any] = {name: times.cpu for name, times in taken.items()}
    return Report(shown, {"unit": "seconds", "prompts": size, "messages": MESSAGES, **data})


def _write(folder: Path, tests: str) -> None:
    folder.mkdir()
    folder.joinpath("pytest.ini").write_text("[pytest]\n")
    folder.joinpath("test_a.py").write_text(tests)


def _pytest(
    folder: Path, taken: dict[str, Times], name: str, *options: str, within: bool = False
) -> None:
    """Note the times of a run, which must pass: given its folder as a path, or ``within`` it."""
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *options,
        *([] if within else [str(folder)]),
    )
    started, before = perf_counter(), getrusage(RUSAGE_CHILDREN)
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=folder if within else None,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    after, times = getrusage(RUSAGE_CHILDREN), taken.setdefault(name, Times([], []))
    times.wall.append(perf_counter() - started)
    times.cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
