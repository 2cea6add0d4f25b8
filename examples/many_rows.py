"""Render a prompt for 100,000 rows on Ray: ``make demo-ray`` installs Ray, and runs this."""

import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from promptdsl import Section, System, Timeline, User, Value
from promptdsl.cli import main

ROWS = 100_000
THINGS = ("lamp", "desk", "sofa", "shelf", "chair", "mirror", "carpet")
FATES = ("came broken", "is too small", "is as described", "never came", "smells of paint")


def topic(text: str, stars: int) -> Timeline:
    """Ask what a review is about."""
    with Timeline() as prompt:
        with System():
            Section("task", "Say what a review of a furniture shop is about: goods or delivery.")
            Section("form", "Answer with one word.")
        User("A review with ", stars, " of 5 stars: ", Value(text))
    return prompt


def demo() -> Timeline:
    """Return the prompt of a row."""
    return topic("The lamp of order 7 came broken.", 2)


def reviews(path: Path, rows: int) -> None:
    """Write a table of reviews."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            thing, fate = THINGS[number % 7], FATES[number // 7 % 5]
            text = f"The {thing} of order {number} {fate}."
            file.write(f"{json.dumps({'text': text, 'stars': number % 5 + 1})}\n")


def run(rows: int) -> int:
    """Render the rows, print a summary, and return the exit code."""
    with TemporaryDirectory() as folder:
        table, requests = Path(folder, "reviews.jsonl"), Path(folder, "requests")
        reviews(table, rows)
        begun = time.monotonic()
        options = ["--model", "gpt-5", "--engine", "ray", "--output", str(requests)]
        code = main(["batch", f"{__file__}:topic", str(table), *options])
        seconds = time.monotonic() - begun
        size = sum(path.stat().st_size for path in requests.glob("requests-*.jsonl"))
    print(f"{seconds:.0f} s with the start of Ray, {size / 1e6:.0f} MB of requests")
    return code


if __name__ == "__main__":
    sys.exit(run(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
