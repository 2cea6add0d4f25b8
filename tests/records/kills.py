"""Kill processes that append to a log, again and again, and look for records that are lost.

Run it:  python -m tests.records.kills --kills 100 --seed 1
"""

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from promptdsl import PromptLog

ROOT = Path(__file__).resolve().parents[2]
WRITER = """
import sys
from promptdsl import PromptLog
log = PromptLog(sys.argv[1], max_bytes=50_000)
for number in range(10**9):
    text = f"text {number % 50} " * (number % 90)
    log.append({"format": "1.0", "messages": [text, str(number)], "tools": [text]}, id=str(number))
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


def killed(folder: Path, *, kills: int, seed: int) -> tuple[list[str], Counter[str]]:
    """Kill so many writers, each with a folder; return what is wrong, and figures."""
    random, faults, figures = Random(seed), list[str](), Counter[str]()
    for kill in range(kills):
        place = folder / str(kill)
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(place)], cwd=ROOT, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(random.randrange(1, 2_000))]
        process.kill()
        told += process.communicate()[0].splitlines(keepends=True)
        finished = sum(line.endswith(b"\n") for line in told)
        log = PromptLog(place)
        found = [entry.id for entry in log]
        figures += Counter(kills=1, records=len(found), torn=len(log.repairs))
        if found != [str(number) for number in range(len(found))] or len(found) < finished:
            faults.append(f"kill {kill}: {finished} finished, {len(found)} found")
    return faults, figures


def main() -> None:
    """Print what is wrong, and the figures."""
    parser = argparse.ArgumentParser(description="Kill the writers of logs again and again.")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    with TemporaryDirectory() as folder:
        faults, figures = killed(Path(folder), **vars(parser.parse_args()))
    print(dict(figures), *(faults or ["nothing is wrong"]), sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
