"""Threads that append to one log while others close it, fork, and open files of their own.

Run it:  python -m tests.records.threads --seconds 60 --threads 8 --seed 1
"""

import argparse
import gc
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from promptdsl import PromptLog


class Run:
    """A log that threads share, what they appended, and what went wrong."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.log = PromptLog(folder / "log", max_bytes=200_000)
        self.random = Random(seed)
        self.appended: Counter[str] = Counter()
        self.figures: Counter[str] = Counter()
        self.faults: list[str] = []
        self.is_over = False

    def append(self, name: str) -> None:
        """Append records that say who wrote them."""
        number = 0
        while not self.is_over:
            number += 1
            id = f"{name}-{number}"
            record = {"format": "1.0", "text": f"{id} " * 30, "settings": {"who": name * 20}}
            try:
                self.log.append(record, id=id)
            except Exception as error:
                self.faults.append(f"append raised {error}")
            else:
                self.appended[id] += 1

    def close(self) -> None:
        """Close the log at random moments, and collect what is garbage."""
        while not self.is_over:
            time.sleep(self.random.random() * 0.004)
            self.log.close()
            self.figures["closes"] += 1
            if self.random.random() < 0.05:
                gc.collect()

    def write_a_file(self) -> None:
        """Write a file that has nothing to do with the log."""
        path = self.folder / "mine"
        while not self.is_over:
            with path.open("wb") as file:
                file.write(b"mine")
                file.flush()
                time.sleep(0.0005)
            if path.read_bytes() != b"mine":
                self.faults.append("a file of the program holds other bytes")

    def fork(self) -> None:
        """Fork, and append in the child."""
        while not self.is_over:
            time.sleep(0.2)
            id = f"child-{self.figures['forks']}"
            child = os.fork()
            if not child:
                self.log.append({"format": "1.0", "text": f"{id} " * 30}, id=id)
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                self.faults.append("a child failed")
            self.figures["forks"] += 1
            self.appended[id] += 1

    def check(self) -> None:
        """Read the log, and compare it with what was appended."""
        entries = self.log.read(salvage=True)
        found = Counter(str(entry.id) for entry in entries)
        self.figures["records"] = len(entries)
        self.faults += [f"damage: {repair}" for repair in self.log.repairs]
        self.faults += [f"lost: {id}" for id in self.appended - found]
        self.faults += [f"not appended, or twice: {id}" for id in found - self.appended]
        for entry in entries:
            name = str(entry.id).rpartition("-")[0]
            settings = entry.record.get("settings", {"who": name * 20})
            if entry.record["text"] != f"{entry.id} " * 30 or settings != {"who": name * 20}:
                self.faults.append(f"mixed: {entry.id} has the text of another record")


def run_threads(
    folder: Path, *, seconds: float, threads: int, seed: int, forks: bool = False
) -> tuple[list[str], Counter[str]]:
    """Let threads append for so long; return what is wrong, and figures."""
    run = Run(folder, seed)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    work: list[Callable[[], None]] = [run.close, run.write_a_file]
    if forks and hasattr(os, "fork"):
        work.append(run.fork)
    started = [threading.Thread(target=run.append, args=(f"w{n}",)) for n in range(threads)]
    started += [threading.Thread(target=function) for function in work]
    try:
        for thread in started:
            thread.start()
        time.sleep(seconds)
    finally:
        run.is_over = True
        for thread in started:
            thread.join()
        sys.setswitchinterval(interval)
    run.log.close()
    run.check()
    return run.faults, run.figures


def main() -> None:
    """Print what is wrong, and the figures."""
    parser = argparse.ArgumentParser(description="Append to one log from many threads.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--forks", action="store_true", help="fork now and then, too")
    with TemporaryDirectory() as folder:
        faults, figures = run_threads(Path(folder), **vars(parser.parse_args()))
    print(dict(figures), len(faults), "faults", *(faults[:20] or ["nothing is wrong"]), sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
