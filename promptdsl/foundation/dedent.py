"""Removing from a text the indentation of the code in which it is written."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from os.path import commonprefix
from typing import TypeVar, cast

V = TypeVar("V")


def dedent_parts(parts: Sequence[str | V]) -> tuple[str | V, ...]:
    """Return the parts of one text without outer blank lines and common indentation.

    Parts that are not strings are placeholders for text that is never changed. Neighbouring strings
    become one.
    """
    joined: list[str | V] = []
    for is_text, run in groupby(parts, key=lambda part: isinstance(part, str)):
        if is_text:
            joined.append("".join(cast("Iterable[str]", run)))
        else:
            joined += run
    parts = joined
    last = len(parts) - 1
    split = [part.split("\n") if isinstance(part, str) else None for part in parts]
    # Every line that starts in a string and is not blank; a part's last line continues in the next.
    starts = [
        (lines, index)
        for number, lines in enumerate(split)
        if lines is not None
        for index in range(0 if number == 0 else 1, len(lines))
        if lines[index].strip() or (index == len(lines) - 1 and number != last)
    ]
    # Remove their common indentation.
    indented = (lines[index] for lines, index in starts)
    margin = len(commonprefix([line[: len(line) - len(line.lstrip())] for line in indented]))
    for lines, index in starts:
        lines[index] = lines[index][margin:]
    # Remove blank lines at both ends of the text; a blank text keeps one line.
    head, tail = (split[0], split[-1]) if split else (None, None)
    if head:
        del head[: next((n for n, line in enumerate(head) if line.strip()), len(head) - 1)]
    if tail:
        del tail[next((n for n in range(len(tail), 1, -1) if tail[n - 1].strip()), 1) :]
    # Blank lines that are completely inside a string become empty.
    for number, inner in enumerate(split):
        if inner is not None:
            first, stop = int(number > 0), len(inner) - int(number < last)
            inner[first:stop] = [line if line.strip() else "" for line in inner[first:stop]]
    return tuple(
        part if lines is None else "\n".join(lines)
        for part, lines in zip(parts, split, strict=True)
    )
