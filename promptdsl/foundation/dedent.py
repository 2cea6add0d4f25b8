"""Removing the indentation that source code gives a text."""

from collections.abc import Sequence
from os.path import commonprefix
from typing import TypeVar

V = TypeVar("V")


def dedent_parts(parts: Sequence[str | V]) -> tuple[str | V, ...]:
    """Return the parts of one text without outer blank lines and common indentation.

    Parts that are not strings stand for text that is never touched.
    """
    last = len(parts) - 1
    split = [part.split("\n") if isinstance(part, str) else None for part in parts]
    starts = [
        (lines, index)
        for number, lines in enumerate(split)
        if lines is not None
        for index in range(0 if number == 0 else 1, len(lines))
        if not _is_blank(lines, index, ends_text=number == last)
    ]
    margin = len(commonprefix([_indentation(lines[index]) for lines, index in starts]))
    for lines, index in starts:
        lines[index] = lines[index][margin:]
    if split and split[0] is not None:
        _strip_head(split[0], only=last == 0)
    if split and split[-1] is not None:
        _strip_tail(split[-1], only=last == 0)
    return tuple(
        part if lines is None else "\n".join(_emptied(lines, number, last))
        for number, (part, lines) in enumerate(zip(parts, split, strict=True))
    )


def _is_blank(lines: list[str], index: int, *, ends_text: bool) -> bool:
    """Whether a line holds nothing; the last line of a part goes on with the next part."""
    return not lines[index].strip() and (index < len(lines) - 1 or ends_text)


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _strip_head(lines: list[str], *, only: bool) -> None:
    while len(lines) > 1 and not lines[0].strip():
        del lines[0]
    if only and not lines[0].strip():
        lines[0] = ""


def _strip_tail(lines: list[str], *, only: bool) -> None:
    while len(lines) > 1 and not lines[-1].strip():
        del lines[-1]
    if only and not lines[-1].strip():
        lines[-1] = ""


def _emptied(lines: list[str], number: int, last: int) -> list[str]:
    """Return the lines with those of white space alone emptied, where they are whole lines."""
    first = 0 if number == 0 else 1
    stop = len(lines) if number == last else len(lines) - 1
    return [
        "" if first <= index < stop and not line.strip() else line
        for index, line in enumerate(lines)
    ]
