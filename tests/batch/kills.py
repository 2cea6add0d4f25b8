"""Kill batches again and again at random moments, go on with them, and look for what is lost.

Run it:  python -m tests.batch.kills --kills 100 --seed 1
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.batch.folders import PROMPTS, contents

ROOT = Path(__file__).resolve().parents[2]
MARK = "PROMPTDSL_KILLS"
"""The variable of the environment that all processes of a run have."""
MODES: Sequence[Sequence[str]] = ((), ("--dedupe",), ("--id", "key"))
ENGINES = ONE, TWO, RAY = ("--workers", "1"), ("--workers", "2"), ("--engine", "ray")


def table(path: Path, rows: int) -> None:
    """Write a table in which some rows fail, some lose content, and some are equal."""
    with path.open("w") as file:
        for number in range(rows):
            question = f"Is it {number % 997}? " + "Why? " * (number % 7)
            question += "\ud800" * (number % 89 == 5)
            row: dict[str, object] = {"question": question, "key": f"k{number}"}
            if number % 83 == 7:
                row["question"] = None if number % 2 else "fail"
            file.write("{\n" if number % 211 == 3 else f"{json.dumps(row)}\n")


def begun(
    folder: Path, out: Path, engine: Sequence[str], options: Sequence[str]
) -> subprocess.Popen[bytes]:
    """Begin a batch, or go on with it, in processes of their own group."""
    if (out / "manifest.json").exists():
        options = (*options, "--resume")
    command = [sys.executable, "-W", "error", "-m", "promptdsl", "batch", "prompts.py:failing"]
    command += ["rows.jsonl", "--model", "gpt-5", *engine]
    return subprocess.Popen(
        [*command, "--output", str(out), *options],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), MARK: str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def running(folder: Path) -> Iterator[int]:
    """Yield the processes of batches in a folder that run."""
    mark = f"{MARK}={folder}".encode()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (path / "environ").read_bytes().split(b"\0"):
                yield int(path.name)


def left(folder: Path, seconds: float = 30) -> list[int]:
    """Return the processes that are still there after a while."""
    end = time.monotonic() + seconds
    while (found := [*running(folder)]) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def whole(folder: Path, rows: int, options: Sequence[str]) -> tuple[dict[str, bytes], float]:
    """Write a batch that nobody kills; return its files, and the seconds that it takes."""
    table(folder / "rows.jsonl", rows)
    (folder / "prompts.py").write_text(PROMPTS, "utf-8")
    shutil.rmtree(folder / "whole", ignore_errors=True)
    start = time.monotonic()
    out, err = begun(folder, folder / "whole", ONE, options).communicate()
    assert b"requests of" in out, err.decode()
    return contents(folder / "whole"), time.monotonic() - start


def killed(
    folder: Path,
    *,
    kills: int,
    seed: int,
    rows: int = 5_000,
    engines: Sequence[Sequence[str]] = (ONE, TWO),
) -> tuple[list[str], Counter[str]]:
    """Kill batches so often, each until it is done; return what is wrong, and figures."""
    random, figures, faults = Random(seed), Counter[str](), list[str]()
    wholes = [whole(folder, rows, options) for options in MODES[:kills]]
    while figures["kills"] < kills:
        options = MODES[figures["batches"] % len(MODES)]
        expected, seconds = wholes[figures["batches"] % len(MODES)]
        batch = f"batch {figures['batches']}"
        out = folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        for _ in range(min(random.randrange(1, 8), kills - figures["kills"])):
            process = begun(folder, out, random.choice(engines), options)
            with suppress(subprocess.TimeoutExpired):
                process.wait(random.random() * seconds)
            if process.poll() is None:
                process.kill()
                figures["kills"] += 1
                figures["kills before the first row"] += not (out / "manifest.json").exists()
            _, err = process.communicate()
            if process.returncode not in (-signal.SIGKILL, 1):
                faults.append(f"{batch}: {process.returncode}: {err.decode()}")
            if stays := left(folder):
                faults.append(f"{batch}: {len(stays)} processes stay")
        process = begun(folder, out, random.choice(engines), options)
        _, err = process.communicate()
        figures["batches"] += 1
        if process.returncode != 1:
            faults.append(f"{batch}: {process.returncode}: {err.decode()}")
        files_found = contents(out)
        figures["files compared"] += len(expected)
        for name in expected.keys() | files_found.keys():
            if expected.get(name) != files_found.get(name):
                faults.append(f"{batch}: {name} differs")
    return faults, figures


def interrupted(folder: Path, *, engine: Sequence[str], rows: int = 5_000) -> list[str]:
    """Interrupt a batch as Ctrl-C does, in the middle of it; return what is wrong."""
    expected, _ = whole(folder, rows, ())
    out = folder / "out"
    process = begun(folder, out, engine, ())
    while not (out / "ids.jsonl.part").exists() or not (out / "ids.jsonl.part").stat().st_size:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    faults: list[str] = []
    if process.returncode != 130:
        faults.append(f"exit code {process.returncode}")
    message = err.decode()
    if not re.fullmatch(r"promptdsl batch: error: stopped after .*\n", message):
        faults.append(f"it says {message!r}")
    if stays := left(folder):
        faults.append(f"{len(stays)} processes stay")
    begun(folder, out, engine, ()).communicate()
    if expected != contents(out):
        faults.append("the files differ")
    return faults


def main() -> None:
    """Print what is wrong, and the figures."""
    parser = argparse.ArgumentParser(description="Kill batches again and again.")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--ray", action="store_true", help="kill batches of --engine ray alone")
    options = vars(parser.parse_args())
    options["engines"] = (RAY,) if options.pop("ray") else (ONE, TWO)
    with TemporaryDirectory() as folder:
        faults, figures = killed(Path(folder), **options)
    for name, count in sorted(figures.items()):
        print(f"{count:7,} {name}")
    print("\n".join(faults) or "nothing is wrong")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
