"""Transcripts: appending, saving and opening, beside reading the same bytes as JSON.

Appending is in memory: with a file it waits for the disk each time.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.conversation import conversation
from benchmarks.entrants import UnknownName
from benchmarks.report import Report, table
from benchmarks.timing import Times, timed
from promptdsl import Transcript


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return what a transcript costs; raises :class:`UnknownName`: here is nobody but us."""
    if others := {*only} - {"ours"}:
        raise UnknownName(others, ("ours",))
    sizes, samples = ((500, 1_000), 3) if quick else ((50_000, 100_000), 5)
    with TemporaryDirectory() as folder:
        half, whole = (_measured(Path(folder, "a.jsonl"), size, samples) for size in sizes)
    parsed = whole["json.loads"].cpu_median
    header = (f"{sizes[1]:,} messages", "ms", "times json.loads", f"times {sizes[0]:,} messages")
    rows = [
        (
            name,
            f"{times.cpu_median * 1e3:,.1f}",
            f"{times.cpu_median / parsed:,.2f}",
            f"{times.cpu_median / half[name].cpu_median:,.2f}",
        )
        for name, times in whole.items()
    ]
    data: dict[str, Any] = {name: times.cpu for name, times in whole.items()}
    return Report(table(header, rows), {"unit": "seconds", "messages": sizes[1], **data})


def _measured(path: Path, size: int, samples: int) -> dict[str, Times]:
    transcript = Transcript.from_openai(conversation(size), repair="prune")
    said = transcript.messages
    transcript.save(path)
    lines = path.read_bytes().splitlines()
    runs: dict[str, Callable[[], object]] = {
        "json.loads": lambda: [*map(json.loads, lines)],
        "append": lambda: Transcript(said),
        "save": lambda: transcript.save(path),
        "open": lambda: Transcript.open(path, read_only=True).close(),
        "open and read": lambda: len(Transcript.open(path, read_only=True)),
    }
    taken = {name: Times([], []) for name in runs}
    for _ in range(samples):
        for name, work in runs.items():
            timed(work, taken[name], seconds=600)
    return taken
