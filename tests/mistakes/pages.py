"""The pages of mistakes: each a snippet as a new user types it, and what the user is told.

A mistake is a heading, a block of code and a block of text: the error with its type, or the losses
of what was rendered. The code is a file of its own, ``prompt.py``, in the folder of a shop, and has
all public names; the mark ``# <-`` is at the line of the mistake.
"""

import re
from collections.abc import Coroutine
from contextvars import copy_context
from pathlib import Path
from traceback import walk_tb
from typing import Any, NamedTuple

from promptdsl import PromptError, Rendered
from tests.renders import reported

FILE = "prompt.py"
MARK = "# <-"
HOME = "/home/ann/shop"
"""The name that the working folder of a snippet has in a text."""

PAGES = sorted(Path(__file__).parent.glob("*.md"))
_MISTAKE = re.compile(
    r"^## ([^\n]+)\n\n```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
_PICTURE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00"

_REFUNDS = """---
inputs:
  region: one of EU, US  # where the customer lives
  days: int = 30
---
Refunds in {{ region }} within {{ days }} days.
"""


class Told(NamedTuple):
    """What a user is told of a mistake, and the place that it names first."""

    text: str
    place: str


class Mistake(NamedTuple):
    """A mistake on a page: its heading, its code, and the text that is expected."""

    title: str
    code: str
    text: str

    @property
    def place(self) -> str:
        """The line that is marked."""
        lines = enumerate(self.code.split("\n"), 1)
        return ", ".join(f"{FILE}:{number}" for number, line in lines if MARK in line)

    def told(self) -> Told:
        """Return what a user is told who runs the code in the working folder."""
        return copy_context().run(_run, self.code)


def mistakes(page: Path) -> list[Mistake]:
    """Return the mistakes of a page, in the order that they are written."""
    return [Mistake(*parts) for parts in _MISTAKE.findall(page.read_text("utf-8"))]


def rewrite(page: Path) -> None:
    """Write into a page what a user is told today."""

    def block(match: re.Match[str]) -> str:
        title, code, text = match.groups(default="")
        text = Mistake(title, code, text).told().text
        return f"## {title}\n\n```python\n{code}```\n\n```text\n{text}```\n"

    page.write_text(_MISTAKE.sub(block, page.read_text("utf-8")), "utf-8")


def fill(shop: Path) -> None:
    """Put the files into a folder that the snippets use."""
    (shop / "prompts").mkdir()
    (shop / "prompts" / "system.md.j2").write_text("You work for {{ shop }}.\n", "utf-8")
    (shop / "shot.png").write_bytes(_PICTURE)
    (shop / "notes.txt").write_text("Call Bob.\n", "utf-8")
    (shop / "sections").mkdir()
    (shop / "sections" / "refunds.md.j2").write_text(_REFUNDS, "utf-8")


def _run(code: str) -> Told:
    names: dict[str, Any] = {}
    exec("from promptdsl import *", names)
    try:
        return _told(code, names)
    finally:
        for value in names.values():
            if isinstance(value, Coroutine):
                value.close()


def _told(code: str, names: dict[str, Any]) -> Told:
    try:
        exec(compile(code, FILE, "exec", dont_inherit=True), names)
    except Exception as error:
        lines = [f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())]
        return Told("".join(f"{_at_home(line)}\n" for line in lines), _place(error))
    losses = [x for value in names.values() if isinstance(value, Rendered) for x in reported(value)]
    places = [str(loss.source) for loss in losses]
    return Told("".join(f"{_at_home(loss)}\n" for loss in losses), (places or ["silent"])[0])


def _at_home(told: object) -> str:
    """Return a text with the names of the folder and of the tasks that it has on every machine."""
    text = str(told).replace(str(Path.cwd()), HOME)
    tasks = list(dict.fromkeys(re.findall(r"'Task-\d+'", text)))
    return re.sub(r"'Task-\d+'", lambda name: f"'Task-{tasks.index(name[0]) + 1}'", text)


def _place(error: Exception) -> str:
    """Return the place that an error names; for one of Python's own, where it was raised."""
    if isinstance(error, PromptError):
        return error.at[0] if error.at else "nowhere"
    trace = walk_tb(error.__traceback__)
    lines = [number for frame, number in trace if frame.f_code.co_filename == FILE]
    return f"{FILE}:{lines[-1]}"
