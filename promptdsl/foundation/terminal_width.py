"""Texts that fit the width of a terminal."""

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable
from itertools import accumulate
from typing import TextIO


def terminal_width() -> int | None:
    """Return the columns of the terminal that standard output is, ``None`` if it is none."""
    stdout: TextIO | None = sys.stdout  # A closed output is None.
    try:
        is_terminal = stdout is not None and stdout.isatty()
    except (ValueError, AttributeError):
        return None
    return shutil.get_terminal_size().columns if is_terminal else None


def columns(text: str) -> int:
    """Return the columns of a text on one line: two for a wide character, none for an accent."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut_to(text: str, width: int) -> str:
    """Return a text of at most ``width`` columns, with an ellipsis where it is cut."""
    if columns(text) <= width:
        return text
    if width < 1:
        return ""
    ends = accumulate(map(_columns, text))
    return text[: sum(1 for end in ends if end < width)] + "…"


def file_columns(sources: Iterable[str]) -> int:
    """Return the columns that any of the sources needs without its folders; 0 without sources."""
    longest = max((columns(re.split(r"[/\\]", source)[-1]) for source in sources), default=0)
    return longest + len("…/") if longest else 0


def fitted_source(source: str, width: int) -> str:
    """Return a ``file:line`` of at most ``width`` columns.

    A file in the current folder is relative to it. The path is cut from its left; if its last name
    has no room, nothing is returned.
    """
    source = source.removeprefix(os.path.join(os.getcwd(), ""))
    while columns(source) > width:
        _, separator, rest = source.removeprefix("…").lstrip(os.sep).partition(os.sep)
        if not separator:
            return ""
        source = f"…{os.sep}{rest}"
    return source
