"""Stores of transcripts: a change, and opening 1,000 turns, beside a line that is written by hand.

Times are those of a clock: most of it is waiting for the disk.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from cryptography.fernet import Fernet
from sqlalchemy import create_engine

from benchmarks.conversation import conversation
from benchmarks.entrants import UnknownName
from benchmarks.report import Report, table
from promptdsl import (
    EncryptedStore,
    FolderStore,
    SqliteStore,
    SqlStore,
    Transcript,
    TranscriptStore,
)

TEXT = "Why was I charged twice? " * 20


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return what a store costs; raises :class:`UnknownName`: here is nobody but us."""
    if others := {*only} - {"ours"}:
        raise UnknownName(others, ("ours",))
    size, samples = (100, 20) if quick else (1_000, 300)
    whole = Transcript.from_openai(conversation(size), repair="prune")
    found: dict[str, dict[str, float]] = {}
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        whole.save(path)
        by_hand = _by_hand(Path(folder, "by hand"), samples)
        with Transcript.open(path) as transcript:
            found["a file"] = {"change": _median(lambda: transcript.append(TEXT), samples)}
        found["a file"]["open"] = _median(lambda: _read(path, None), 5)
        stores: dict[str, TranscriptStore] = {
            "`FolderStore`": FolderStore(Path(folder, "folder")),
            "`SqliteStore`": SqliteStore(Path(folder, "a.db")),
            "`SqlStore` with SQLite": SqlStore(
                create_engine(f"sqlite:///{folder}/sql.db"), create_tables=True
            ),
            "`EncryptedStore(SqliteStore)`": EncryptedStore(
                SqliteStore(Path(folder, "encrypted.db")), Fernet.generate_key()
            ),
        }
        for name, store in stores.items():
            found[name] = _measured(store, whole, samples)
    header = ("store", "a change", "a change, async", "open, times a file")
    opening = found["a file"]["open"]
    rows = [
        (
            name,
            f"{times['change'] / by_hand:.1f}",
            f"{times['async'] / by_hand:.1f}" if "async" in times else "",
            f"{times['open'] / opening:.1f}",
        )
        for name, times in found.items()
    ]
    return Report(table(header, rows), {"unit": "seconds", "by hand": by_hand, **found})


def _measured(store: TranscriptStore, whole: Transcript, samples: int) -> dict[str, float]:
    store.append("a", whole.entries)
    transcript = Transcript.open("a", store=store)

    async def changes() -> float:
        later = await Transcript.aopen("a", store=store)
        taken: list[float] = []
        for _ in range(samples):
            start = perf_counter()
            later.append(TEXT)
            await later.acommit()
            taken.append(perf_counter() - start)
        return median(taken)

    return {
        "open": _median(lambda: _read("a", store), 5),
        "change": _median(lambda: transcript.append(TEXT), samples),
        "async": asyncio.run(changes()),
    }


def _read(path: str | Path, store: TranscriptStore | None) -> None:
    with Transcript.open(path, store=store, read_only=True) as transcript:
        _ = transcript.messages


def _by_hand(path: Path, samples: int) -> float:
    """Return the time of a line that is written, and waited for."""
    line = f'{{"role": "user", "content": "{TEXT}"}}\n'.encode()
    with open(path, "ab", buffering=0) as file:

        def write() -> None:
            file.write(line)
            os.fsync(file.fileno())

        return _median(write, samples)


def _median(work: Callable[[], object], samples: int) -> float:
    taken: list[float] = []
    for _ in range(samples):
        start = perf_counter()
        work()
        taken.append(perf_counter() - start)
    return median(taken)
