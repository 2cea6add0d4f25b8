"""The lines of a change: equal, removed and added lines, and the changed words in a line."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import attrs

from promptdsl.comparing.alignment import Hunk, hunks, increasing, most_alike
from promptdsl.comparing.changes import TEXT, Change
from promptdsl.comparing.snapshot_file import WITHIN
from promptdsl.foundation.unicode import equal_start

CONTEXT = 2
"""The equal lines that are shown around a change."""
MANY = 200_000
"""The most characters of two lines whose words are compared."""
AROUND = 24
"""The equal characters that are kept before the first changed word."""
ALIKE = 0.3
"""The share of equal words from which two lines count as one changed line."""


class Row(NamedTuple):
    """A row of a change: the line before, the line after, or both.

    A ``skipped`` row replaces ``size`` equal lines that are not shown. A ``changed`` row has both
    lines; ``words`` are their words, empty if few words are equal.
    """

    kind: Literal["equal", "changed", "removed", "added", "skipped"]
    before: str = ""
    after: str = ""
    words: "tuple[WordHunk, ...]" = ()
    size: int = 0


class WordHunk(NamedTuple):
    """Equal text of two lines, then the text only in the first and only in the second line."""

    equal: str
    removed: str
    added: str


def hunks_of(change: Change) -> list[Hunk]:
    """Return the equal, removed and added lines of a change."""
    before, after = (text.split("\n") if text else [] for text in (change.before, change.after))
    return [*hunks(before, after)]


def rows_of(change: Change) -> Iterator[Row]:
    """Yield the rows of a change, with few of the equal lines.

    The mark of an added or removed text or section is left out, as the heading names it.
    """
    text = change.before or change.after or ""
    mark, _, rest = text.partition("\n")
    if change.kind in ("added", "removed") and rest and mark.startswith((TEXT, WITHIN)):
        change = attrs.evolve(change, before=change.before and rest, after=change.after and rest)
    for number, (equal, removed, added) in enumerate(hunks_of(change)):
        is_last = not (removed or added)
        yield from _equal(equal, is_first=not number, is_last=is_last)
        yield from _replaced(removed, added)


def _equal(equal: Sequence[str], *, is_first: bool, is_last: bool) -> Iterator[Row]:
    """Yield the equal lines next to changes, and the number of those farther away."""
    lines = [*equal]
    head = lines[: 0 if is_first else CONTEXT]
    rest = lines[len(head) :]
    tail = rest[len(rest) if is_last else -CONTEXT :]
    left = len(rest) - len(tail)
    if left == 1:
        head, left = lines[: len(head) + 1], 0
    yield from (Row("equal", line, line) for line in head)
    if left:
        yield Row("skipped", size=left)
    yield from (Row("equal", line, line) for line in tail)


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[Row]:
    """Yield the removed and the added lines, each removed line with the line that replaced it."""
    start = other = 0
    pairs = increasing(most_alike(old, new, least=ALIKE))
    for left, right in [*pairs, (len(old), len(new))]:
        yield from (Row("removed", before=line) for line in old[start:left])
        yield from (Row("added", after=line) for line in new[other:right])
        if left < len(old):
            yield Row("changed", old[left], new[right], changed_words(old[left], new[right]))
        start, other = left + 1, right + 1


def changed_words(old: str, new: str) -> tuple[WordHunk, ...]:
    """Return the words of two lines that are equal, removed and added; empty if few are equal."""
    same = max(equal_start(old, new) - AROUND, 0)
    if len(old) + len(new) - 2 * same > MANY:
        return ()
    first, second = (re.findall(r"\w+|\s+|[^\w\s]", line[same:]) for line in (old, new))
    words: list[WordHunk] = []
    for hunk in hunks(first, second):
        equal, removed, added = map("".join, hunk)
        if words and equal.isspace() and (removed or added):
            # Changed words with only a blank between them are one change.
            last = words.pop()
            removed, added = last.removed + equal + removed, last.added + equal + added
            equal = last.equal
        words.append(WordHunk(equal, removed, added))
    if sum(len(hunk.equal) for hunk in words) < ALIKE * (max(len(old), len(new)) - same):
        return ()
    first_hunk = WordHunk(old[:same] + words[0].equal, *words[0][1:])
    return first_hunk, *words[1:]
