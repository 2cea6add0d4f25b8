"""The turns and entries of a transcript as text, by days."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from textwrap import dedent, wrap
from typing import NamedTuple
from unicodedata import east_asian_width

from promptdsl.comparing import visible

MOST = 3
"""The most rows of a text on a terminal, without ``--full``."""
LEAST = 20
"""The least columns of a text next to its number, time and role."""
INDENT = "  "


class ShownEntry(NamedTuple):
    """An entry of a transcript: ``at`` is its time in UTC, ``texts`` are those of its blocks."""

    number: int
    at: str
    role: str
    texts: Sequence[str]
    is_removed: bool


def entry_lines(
    entries: Iterable[ShownEntry], *, width: int | None, is_full: bool
) -> Iterator[str]:
    """Yield the rows of entries, below a line with their day.

    Rows fit ``width`` columns, and a text has at most three; without ``width`` nothing is cut. With
    ``is_full`` a text is complete, and has its own lines.
    """
    before = ""
    for entry in entries:
        day, _, time = entry.at.partition(" ")
        if day and day != before:
            yield f"{day} (UTC)"
        before = day or before
        start = f"{'-' if entry.is_removed else ' '}{entry.number:>4}  {time:8}  {entry.role:9}  "
        room = None if width is None else width - len(start)
        if width is not None and width < len(start) + LEAST:
            # Its texts are below it.
            yield from wrap(" ".join(start.split()), width)
            start, room = INDENT, width - len(INDENT)
        for text in entry.texts or [""]:
            for row in _text_rows(text, room, is_full=is_full):
                yield f"{start}{row}".rstrip()
                start = " " * len(start)


def shown_time(at: str | None) -> str:
    """Return a time in UTC, in seconds; empty if it is not a time."""
    try:
        return f"{datetime.fromisoformat(at or '').astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError):
        return ""


def _text_rows(text: str, room: int | None, *, is_full: bool) -> list[str]:
    """Return the rows of a text: of its lines if it is shown in full, else of it as one line."""
    lines = dedent(text).split("\n") if is_full else [" ".join(text.split())]
    lines = [visible(line, one_line=True) for line in lines]
    if room is None:
        return lines
    rows: list[str] = []
    for line in lines:
        rows += wrap(line, _characters(line, room)) or [""]
    if is_full or len(rows) <= MOST:
        return rows
    last = rows[MOST - 1]
    return [*rows[: MOST - 1], f"{last[: _characters(last, room) - 1]}…"]


def _characters(text: str, room: int) -> int:
    """Return how many characters of a text fit a number of columns."""
    is_wide = any(east_asian_width(character) in "WF" for character in text)
    return room // 2 if is_wide else room
