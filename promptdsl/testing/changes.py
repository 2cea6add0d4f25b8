"""The text of a failing snapshot: a sentence, then every change at its place."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from promptdsl.testing.alignment import Hunk, hunks, increasing, most_alike
from promptdsl.testing.differ import HEADER, Change, changes, sources
from promptdsl.testing.prompt_file import PromptFile

CONTEXT = 2
"""The equal lines that are shown around a change."""
LONG = 60
"""The characters from which on a changed line is followed by its changed words."""
AROUND = 24
"""The equal characters that are shown around a changed word."""
MANY = 200_000
"""The characters up to which the words of two lines are compared."""
ABOVE, NOT_SENT = ", in the message above", ", not sent"
"""The ends of the title of a message that is sent in one with that above it, or not at all."""
NOUNS = {
    "hint": ("hint", "hints", "added", "removed"),
    "loss": ("loss", "losses", "added", "removed"),
    "library": ("library", "libraries", "added", "removed"),
    "dropped": ("part", "parts", "dropped", "not dropped any more"),
}
"""The words for lines of the header that come and go, by their name."""
SHORT = 60
"""The characters of a changed line of the header that the first sentence tells whole."""
_LABEL = re.compile(r"⟦[a-z][^⟧]*⟧")
"""The sign of a value that changes."""
ALIKE = 0.3
"""The share of words from which on two lines are one line that changed."""


def failure_text(expected: PromptFile, actual: PromptFile, *, exact: int | None = None) -> str:
    """Return what changed from one file to another, whole; empty for equal files.

    The first line is a summary. Then come the changes, each under its place: ``-`` begins a line
    of ``expected``, ``+`` one of ``actual``, two blanks one of both, ``~`` the changed words of the
    two lines before it as ``[-old-]{+new+}``, ``…`` lines that are left out, as they are equal.
    A place is followed by the line that wrote it, where ``actual`` knows it. ``exact`` is the
    token count of ``actual``, which its header has rounded.

    >>> from promptdsl.testing.prompt_file import FileEntry, FilePart
    >>> before, after = (
    ...     PromptFile((), (FileEntry("user", (FilePart("", text),)),)) for text in ("Hi", "Hello")
    ... )
    >>> print(failure_text(before, after))
    `user` changed: 1 line
    <BLANKLINE>
    user
    - Hi
    + Hello
    """
    found = changes(expected, actual)
    if not found:
        return ""
    lines, written_at = ["; ".join(_summary(found, exact))], sources(actual)

    def heading(change: Change) -> str:
        if change.place[0] == HEADER:
            return HEADER
        source = None if change.kind == "removed" else written_at.get(change.place)
        # A path as pytest names it: from the folder where it was started, if it is there.
        line = str(source or "").removeprefix(os.path.join(os.getcwd(), ""))
        return " > ".join(change.place) + (f" ({line})" if line else "")

    for place, group in groupby((it for it in found if not _is_short(it)), key=heading):
        lines += ("", place)
        for change in group:
            lines += _body(change)
    return "\n".join(lines)


def _summary(found: Sequence[Change], exact: int | None) -> Iterator[str]:
    """Yield the parts of the first sentence: messages and sections, cache marks, the header."""
    told = [change for change in found if change.place[0] != HEADER]
    yield from (f"`{it.was}` renamed to `{it.now}`" for it in told if it.kind == "renamed")
    for kind in ("changed", "added", "removed", "moved"):
        some = [change for change in told if change.kind == kind]
        if some:
            yield f"{_names(some)} {kind}{_count(some) if kind == 'changed' else ''}"
    yield from (_sent(change) for change in told if change.kind == "role")
    yield from (_cache(change) for change in told if change.kind == "cache")
    has_marks = any(change.kind == "cache" for change in told)
    for change in told:
        before, after = ({*_LABEL.findall(text or "")} for text in (change.before, change.after))
        if change.kind == "changed" and before - after:
            yield f"`{change.place[-1]}` has no {' and '.join(sorted(before - after))} any more"
    header = [it for it in found if it.place[0] == HEADER]
    for (name, kind), group in groupby(header, key=lambda it: (it.place[1], it.kind)):
        lines = [*group]
        if kind == "moved":
            yield f"{name} moved"
        elif kind == "changed":
            if name != "cache" or not has_marks:
                now = f"{exact:,}" if name == "tokens" and exact is not None else ""
                yield from (f"{name} {_shift(line, now)}" for line in lines)
        else:
            one, many, come, gone = NOUNS.get(
                name, (f"{name} line", f"{name} lines", "added", "removed")
            )
            noun = one if len(lines) == 1 else many
            yield f"{len(lines)} {noun} {come if kind == 'added' else gone}"
    if exact is not None and not any(it.place[1] == "tokens" for it in header):
        yield f"{exact:,} tokens now"


def _names(some: Sequence[Change]) -> str:
    names = [*dict.fromkeys(f"`{change.place[-1]}`" for change in some)]
    shown = names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if shown[1:] else shown[0]


def _count(some: Iterable[Change]) -> str:
    all_hunks = (hunk for change in some for hunk in _hunks(change))
    count = sum(max(len(hunk.removed), len(hunk.added)) for hunk in all_hunks)
    return f": {count} line{'s' if count != 1 else ''}"


def _sent(change: Change) -> str:
    name = f"`{change.place[0]}`"
    was, now = (role.removesuffix(ABOVE) for role in (change.was, change.now))
    if now.endswith(NOT_SENT):
        return f"{name} not sent any more"
    if was.endswith(NOT_SENT):
        return f"{name} sent now, as {now}"
    if was != now:
        return f"{name} sent as {now}, was {was}"
    where = "the message above it" if change.now.endswith(ABOVE) else "its own message"
    return f"{name} sent in {where}"


def _cache(change: Change) -> str:
    if change.before and change.after and change.was != change.now:
        return f"the cache mark moved from `{change.was}` to `{change.now}`"
    verb = "changed" if change.before and change.after else "added" if change.after else "removed"
    return f"the cache mark after `{change.place[-1]}` {verb}"


def _is_short(change: Change) -> bool:
    """Return whether the first sentence has the whole change: a line of the header of few words."""
    return (change.place[0], change.kind) == (HEADER, "changed") and _shift(change) != "changed"


def _shift(change: Change, now: str = "") -> str:
    """Return a line of the header before and after, without the words at its end that are equal.

    ``now`` is the exact figure for the first word after; of a long line only that it changed.
    """
    name = len(change.place[1]) + 2
    before, after = ((text or "")[name:].split(" ") for text in (change.before, change.after))
    while before[1:] and after[1:] and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    shift = f"{' '.join(before)} -> {' '.join([now, *after[1:]] if now else after)}"
    return shift if len(shift) <= SHORT else "changed"


def _body(change: Change) -> Iterator[str]:
    match change.kind:
        case "moved":
            name = f"{change.place[1]}: " if change.place[0] == HEADER else ""
            yield f"({name}moved: it was {change.was}, now it is {change.now})"
        case "added" if change.now:
            yield f"(added {change.now})"
        case "removed" if change.was:
            yield f"(removed, it was {change.was})"
        case "cache" if change.before == change.after:
            yield f"(the cache mark moved here: it was after `{change.was}`)"
            return
        case _:
            pass
    if change.before is not None or change.after is not None:
        yield from _diff(change)


def _hunks(change: Change) -> list[Hunk]:
    """Return the equal, removed and added lines of a change."""
    texts = (text.split("\n") if text else [] for text in (change.before, change.after))
    return [*hunks(*texts)]


def _diff(change: Change) -> list[str]:
    """Return the lines of a change, each after its sign, with few of the equal lines."""
    found = _hunks(change)
    lines: list[str] = []
    for number, (equal, removed, added) in enumerate(found):
        is_last = not (removed or added)
        lines += _equal([f"  {line}" for line in equal], is_first=not number, is_last=is_last)
        lines += _replaced(removed, added)
    while lines[-1:] == ["  "]:
        lines.pop()
    return lines


def _equal(lines: list[str], *, is_first: bool, is_last: bool = False) -> list[str]:
    """Return the equal lines beside changes; those farther away are counted."""
    head = [] if is_first else lines[:CONTEXT]
    rest = lines[len(head) :]
    tail = [] if is_last else rest[-CONTEXT:]
    left = len(rest) - len(tail)
    if left == 1:
        return lines
    return [*head, f"… {left} equal lines", *tail] if left else lines


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Yield the removed and the added lines, each next to the one that it became."""
    start = other = 0
    pairs = increasing(most_alike(old, new, least=ALIKE))
    for left, right in [*pairs, (len(old), len(new))]:
        yield from (f"- {line}" for line in old[start:left])
        yield from (f"+ {line}" for line in new[other:right])
        if left < len(old):
            yield f"- {old[left]}"
            yield f"+ {new[right]}"
            if max(len(old[left]), len(new[right])) >= LONG:
                words = _words(old[left], new[right])
                if words:
                    yield f"~ {words}"
        start, other = left + 1, right + 1


def _words(old: str, new: str) -> str:
    """Return a line with its changed words as ``[-old-]{+new+}``; empty if few are equal."""
    different = (
        number for number, pair in enumerate(zip(old, new, strict=False)) if len({*pair}) > 1
    )
    same = max(next(different, min(len(old), len(new))) - AROUND, 0)
    if len(old) + len(new) - 2 * same > MANY:
        return ""
    first, second = (re.findall(r"\w+|\s+|[^\w\s]", line[same:]) for line in (old, new))
    found: list[tuple[str, str, str]] = []
    for hunk in hunks(first, second):
        equal, removed, added = map("".join, hunk)
        if found and equal.isspace() and (removed or added):
            # Changed words with a blank between them are one change.
            begin, out, into = found.pop()
            equal, removed, added = begin, out + equal + removed, into + equal + added
        found.append((equal, removed, added))
    if sum(len(it[0]) for it in found) < ALIKE * (max(len(old), len(new)) - same):
        return ""
    text = "…" if same else ""
    for number, (equal, removed, added) in enumerate(found):
        head = equal[:AROUND] if number else ""
        tail = equal[-AROUND:] if removed or added else ""
        is_short = len(equal) <= len(head) + len(tail) + 1
        text += equal if is_short else f"{head}…{tail}"
        text += f"[-{removed}-]" if removed else ""
        text += f"{{+{added}+}}" if added else ""
    return text
