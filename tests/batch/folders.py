"""What the tests of batches share: prompts over rows, tables, and the command in a folder."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from promptdsl.cli import main
from tests.cli.conftest import Done, first_lines

PROMPTS = '''\
"""Prompts of which each has a row."""

import os
import sys

from promptdsl import Lazy, Output, System, Text, Timeline, Tool, User


def ask(question):
    return Timeline(System("Be brief."), User(question))


def rated(question: str, rating: int = 0):
    return Timeline(User(question, " Rating: ", rating))


def plan(question, plan="Pro"):
    return Timeline(System("Plan: ", plan), User(question))


def shaped(question):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    return Timeline(Output(schema), User(question))


def failing(question):
    if "fail" in question:
        raise KeyError(question)
    return ask(question)


def leaving(question):
    if "fail" in question:
        sys.exit("left")
    return ask(question)


def loud(question):
    print("Building", question)
    return ask(question)


def no_prompt(question):
    return None if "fail" in question else ask(question)


async def later(question):
    return failing(question)


async def awaited(context):
    return Text("Later.")


def lazy(question):
    return Timeline(System(Lazy(awaited)), User(question))


def dying(question):
    if "fail" in question and not os.path.exists("alive"):
        os._exit(9)
    return ask(question)
'''

LINES = first_lines(PROMPTS)
"""The line of the definition of every function."""


class Folder:
    """A folder with prompts and tables, where batches are made."""

    def __init__(self, path: Path, read: Callable[[], tuple[str, str]]) -> None:
        self.path, self._read = path, read
        (path / "prompts.py").write_text(PROMPTS, "utf-8")

    def table(self, rows: str | bytes | Sequence[object], name: str = "rows.jsonl") -> str:
        """Write a table, and return its name; rows that are no text are lines of JSON."""
        if not isinstance(rows, str | bytes):
            rows = "".join(f"{json.dumps(row)}\n" for row in rows)
        self.path.joinpath(name).write_bytes(rows if isinstance(rows, bytes) else rows.encode())
        return name

    def batch(self, target: str, *arguments: str) -> Done:
        """Run the command in this process for a prompt of ``prompts.py``, or another target."""
        target = target if ":" in target else f"prompts.py:{target}"
        output = () if "--output" in arguments or "--dry-run" in arguments else ("--output", "out")
        code = main(["batch", target, *arguments, *output])
        return Done(code, *self._read())

    def entries(self, name: str, out: str = "out") -> list[dict[str, Any]]:
        """Return the lines of a file of a batch, none where it is not there."""
        path = self.path / out / name
        return [json.loads(line) for line in strict_lines(path)] if path.exists() else []

    def requests(self, out: str = "out") -> list[dict[str, Any]]:
        """Return the lines of all files of requests."""
        names = sorted(path.name for path in (self.path / out).glob("requests-*.jsonl"))
        return [request for name in names for request in self.entries(name, out)]

    def users(self, out: str = "out") -> list[str]:
        """Return the text of the last message of each request of the format ``messages``."""
        bodies = [json.loads(request["messages"]) for request in self.requests(out)]
        return ["".join(part["text"] for part in body[-1]["content"]) for body in bodies]


def strict_lines(path: Path) -> list[str]:
    """Return the lines of a file as the strictest reader of lines sees them."""
    return path.read_bytes().decode().splitlines()


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of each file of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
