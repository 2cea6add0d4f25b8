"""What changed between two prompts: values first, then the text that a failing test prints."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.foundation.source import Source
from promptdsl.testing.alignment import Step, aligned, by_occurrence
from promptdsl.testing.prompt_file import TITLE, WITHIN, FileEntry, FilePart, PromptFile, serialise

ChangeKind: TypeAlias = Literal["changed", "added", "removed", "moved", "renamed", "role", "cache"]
Place: TypeAlias = tuple[str, ...]
Kept: TypeAlias = dict[tuple[int, int], tuple[int, int]]
"""By the number of an entry and a part in the second file (-1 for its start) those in the first."""

HEADER = "header"
LISTED = ("hint", "loss", "dropped")
"""The names of lines of the header that come and go."""
CACHE, TOOL, FAILED = "─⚑", "─■ tool ", "─■ failed"
"""The beginnings of a cache mark, and of the marks of a tool and of a result that is an error."""
_ON_THE_WIRE = re.compile(
    r"(?: as \w+)?(?:, in <\w+>)?(?:, name not sent)?(?:, id sent as \S+)?"
    r"(?:, in the message above|, not sent)?\Z"
)


@attrs.frozen
class Change:
    """One difference: in a line of the header, a message, a section or block, or a cache mark.

    ``place`` is the path to it: the message and the section, or the header and the name of a line.
    ``before`` and ``after`` are its lines in the files, ``None`` where there are none. ``was`` and
    ``now`` are its place, name or role before and after.
    """

    kind: ChangeKind
    place: Place
    before: str | None = None
    after: str | None = None
    was: str = ""
    now: str = ""


@attrs.frozen
class CacheMark:
    """A cache mark of a message, and the part of the message before it."""

    mark: str
    text: str
    after: int


class NamedEntry:
    """An entry with names for it and its parts; cache marks are no parts of it."""

    def __init__(self, entry: FileEntry, name: str) -> None:
        self.title, self.name = entry.title, name
        self.kind = kind_of(entry.title)
        self.word = re.split("[ ,]", self.kind)[0]
        sent = entry.title[len(self.kind) :]
        self.role = sent.removeprefix(" as ") if sent.startswith(" as ") else self.word + sent
        self.parts: list[FilePart] = []
        self.cache: list[CacheMark] = []
        for part in entry.parts:
            if part.mark.startswith(CACHE):
                self.cache.append(CacheMark(part.mark, part.text, len(self.parts) - 1))
            elif self.parts and entry.title == "tools" and not part.mark.startswith(TOOL):
                # What a tool takes belongs to it.
                tool = self.parts[-1]
                text = "\n".join(filter(None, (tool.text, _lines(part))))
                self.parts[-1] = FilePart(tool.mark, text)
            else:
                self.parts.append(part)
        self.names = numbered([*map(name_of, self.parts)])
        self.content = entry.parts
        self.text = "\n".join(part.text for part in entry.parts)

    def place(self, part: int) -> Place:
        """Return the place of a part, or of the entry where the part has no name."""
        return (self.name, self.names[part]) if part >= 0 and self.names[part] else (self.name,)

    def lines(self) -> str:
        """Return the entry as in the file."""
        return "\n".join([TITLE + self.title, *map(_lines, self.content)])


def changes(expected: PromptFile, actual: PromptFile) -> list[Change]:
    """Return all differences: those of the header, of the messages in order, of the cache marks."""
    found = [*_header_changes(expected.header, actual.header)]
    if expected.entries != actual.entries:
        found += _entry_changes(_named(expected), _named(actual))
    if not found and expected != actual:
        # Only the marks differ, and in a way that has no name.
        found.append(Change("changed", ("file",), serialise(expected), serialise(actual)))
    return found


def sources(file: PromptFile) -> dict[Place, Source]:
    """Return the lines that wrote the messages and sections of a file, where it knows them."""
    found: dict[Place, Source] = {}
    for entry in _named(file):
        for index, part in enumerate(entry.parts):
            if part.source is not None:
                found.setdefault((entry.name,), part.source)
                found.setdefault(entry.place(index), part.source)
    return found


def _header_changes(
    before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]
) -> Iterator[Change]:
    counts = Counter(name for name, _ in before) | Counter(name for name, _ in after)
    steps = aligned(
        before,
        after,
        [
            lambda line: line,
            lambda line: line[0] if counts[line[0]] == 1 and line[0] not in LISTED else None,
        ],
        # Lines for one reason may be one whose places changed.
        group=lambda line: (line[0], line[1].partition(": ")[2]),
        text=lambda line: line[1],
    )
    for step in steps:
        old = None if step.before is None else before[step.before]
        new = None if step.after is None else after[step.after]
        place = HEADER, (new or old or ("",))[0]
        if old != new:
            kind: ChangeKind = "changed" if old and new else "added" if new else "removed"
            yield Change(kind, place, old and ": ".join(old), new and ": ".join(new))
        elif step.moved:
            was = _neighbour([name for name, _ in before], step.before)
            now = _neighbour([name for name, _ in after], step.after)
            yield Change("moved", place, was=was, now=now)


def kind_of(title: str) -> str:
    """Return the title of a message without its role on the wire.

    >>> kind_of("event left as user, in the message above")
    'event left'
    """
    return _ON_THE_WIRE.sub("", title)


def _named(file: PromptFile) -> list[NamedEntry]:
    names = numbered([kind_of(entry.title) for entry in file.entries])
    return [*map(NamedEntry, file.entries, names)]


def numbered(names: Sequence[str]) -> list[str]:
    """Return the names, those that are there more than once with their number.

    >>> numbered(["user", "assistant", "user"])
    ['user 1', 'assistant', 'user 2']
    """
    totals, seen = Counter(names), Counter[str]()
    found: list[str] = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} {seen[name]}" if name and totals[name] > 1 else name)
    return found


def name_of(part: FilePart) -> str:
    """Return the name of a part: the path of its section, or the kind of its block.

    >>> [name_of(FilePart(mark)) for mark in ("─▷ a", "─▷ a, continued", "─■ text, not sent")]
    ['a', 'a, continued', 'text']
    """
    sign, _, name = part.mark.partition(" ")
    if sign != "─■" or part.mark.startswith(FAILED):
        return "" if sign == "─■" else name or part.mark
    words = name.split(" ")
    return " ".join(words[: 2 if words[0] in ("tool", "call") else 1]).rstrip(",")


def _lines(part: FilePart) -> str:
    return "\n".join(filter(None, (part.mark, part.text)))


def _stripped(part: FilePart) -> str:
    """Return the text of a part without the line ends at its end, which depend on its place."""
    return part.text.rstrip("\n")


def _neighbour(names: Sequence[str], index: int | None) -> str:
    """Return where an item is: after its neighbour, or first."""
    return f"after `{names[index - 1]}`" if index else "first"


def _entry_changes(before: list[NamedEntry], after: list[NamedEntry]) -> Iterator[Change]:
    steps = aligned(
        before,
        after,
        [
            lambda entry: (entry.title, entry.content),
            lambda entry: (entry.kind, entry.content),
            lambda entry: entry.kind if entry.kind in ("system", "tools", "output") else None,
        ],
        group=lambda entry: entry.word,
        text=lambda entry: entry.text,
    )
    found: list[Change] = []
    kept: Kept = {}
    for step in steps:
        found += _of_step(before, after, step, kept)
    yield from _moved_between(found)
    yield from _cache_changes(before, after, kept)


def _of_step(
    before: list[NamedEntry],
    after: list[NamedEntry],
    step: Step,
    kept: Kept,
) -> Iterator[Change]:
    """Yield the changes of one message: its own, then those of its parts."""
    if step.before is None or step.after is None:
        is_new = step.before is None
        side, index = (after, step.after) if is_new else (before, step.before)
        assert index is not None
        entry, place = side[index], _neighbour([it.name for it in side], index)
        if is_new:
            yield Change("added", (entry.name,), after=entry.lines(), now=place)
        else:
            yield Change("removed", (entry.name,), entry.lines(), was=place)
        return
    old, new = before[step.before], after[step.after]
    if step.moved:
        was = _neighbour([it.name for it in before], step.before)
        now = _neighbour([it.name for it in after], step.after)
        yield Change("moved", (new.name,), was=was, now=now)
    if old.title != new.title:
        is_role = old.kind == new.kind
        names = (old.role, new.role) if is_role else (old.name, new.name)
        titles = TITLE + old.title, TITLE + new.title
        yield Change("role" if is_role else "renamed", (new.name,), *titles, *names)
    if old.content == new.content:
        rows = [Step(index, index) for index in range(len(new.parts))]
    else:
        rows = _aligned_parts(old.parts, new.parts)
    for row in (*rows, Step(-1, -1)):
        if row.before is not None and row.after is not None:
            kept[step.after, row.after] = step.before, row.before
    # Where parts come, go or move, others get or lose the empty lines at their end.
    is_same_order = [it.after for it in old.cache] == [it.after for it in new.cache] and not any(
        row.moved or row.before is None or row.after is None for row in rows
    )
    text: Callable[[FilePart], str] = (lambda it: it.text) if is_same_order else _stripped
    for row in rows:
        yield from _of_part(old, new, row, text)


def _aligned_parts(before: Sequence[FilePart], after: Sequence[FilePart]) -> list[Step]:
    return aligned(
        before,
        after,
        [
            lambda part: (part.mark, part.text),
            lambda part: (part.mark, _stripped(part)),
            lambda part: part.mark,
            lambda part: "" if part.mark.startswith(FAILED) else part.mark,
            lambda part: (part.mark[:2], _stripped(part)) if _stripped(part).strip() else None,
        ],
        group=lambda part: part.mark[:2],
        text=lambda part: part.text if part.mark.startswith(WITHIN) else _lines(part),
        near=0.5,
    )


def _of_part(
    old: NamedEntry, new: NamedEntry, row: Step, text: Callable[[FilePart], str]
) -> Iterator[Change]:
    """Yield the changes of a section or a block."""
    if row.before is None or row.after is None:
        is_new = row.before is None
        entry, index = (new, row.after) if is_new else (old, row.before)
        assert index is not None
        lines = _lines(entry.parts[index])
        path, where = (new.name, *entry.place(index)[1:]), _neighbour(entry.names, index)
        if is_new:
            yield Change("added", path, after=lines, now=where)
        else:
            yield Change("removed", path, lines, was=where)
        return
    was, now, place = old.parts[row.before], new.parts[row.after], new.place(row.after)
    if row.moved:
        places = _neighbour(old.names, row.before), _neighbour(new.names, row.after)
        yield Change("moved", place, None, None, *places)
    if was.mark != now.mark and now.mark.startswith(WITHIN):
        names = old.names[row.before], new.names[row.after]
        yield Change("renamed", place, was.mark, now.mark, *names)
    elif was.mark != now.mark:
        yield Change("changed", place, _lines(was), _lines(now))
        return
    if text(was) != text(now):
        yield Change("changed", place, text(was), text(now))


def _moved_between(found: Sequence[Change]) -> Iterator[Change]:
    """Yield the changes; a part that left one message and came to another has moved."""
    gone = [it for it in found if it.kind == "removed" and it.before and len(it.place) > 1]
    come = [it for it in found if it.kind == "added" and it.after and len(it.place) > 1]
    pairs = by_occurrence(
        [(it.before or "").rstrip("\n") for it in gone],
        [(it.after or "").rstrip("\n") for it in come],
    )
    left = {id(gone[one]) for one, _ in pairs}
    moved = {id(come[other]): gone[one] for one, other in pairs}
    for change in found:
        if id(change) in moved:
            places = (f"in `{it.place[0]}`" for it in (moved[id(change)], change))
            yield Change("moved", change.place, None, None, *places)
        elif id(change) not in left:
            yield change


def _cache_changes(
    before: list[NamedEntry],
    after: list[NamedEntry],
    kept: Kept,
) -> Iterator[Change]:
    """Yield the cache marks that came, went or moved, and the changed texts after them."""
    olds, news = _cache_marks(before), _cache_marks(after, kept)
    steps = aligned(
        olds,
        news,
        [lambda it: (it.anchor, it.mark), lambda it: it.anchor, lambda it: it.mark],
        group=lambda _: None,
        text=lambda it: it.mark,
        far=0.0,
    )
    for step in steps:
        old = None if step.before is None else olds[step.before]
        new = None if step.after is None else news[step.after]
        one = new or old
        assert one is not None
        if not (old and new) or (old.anchor, old.mark) != (new.anchor, new.mark):
            yield Change(
                "cache",
                one.place,
                old and old.mark,
                new and new.mark,
                old.place[-1] if old else "",
                new.place[-1] if new else "",
            )
        texts = [it.text if it else "" for it in (old, new)]
        if texts[0] != texts[1]:
            yield Change("changed", one.place, *texts)


class PlacedMark(NamedTuple):
    """A cache mark: what it is after, in terms of the first file, and the name of that."""

    anchor: tuple[object, ...]
    mark: str
    text: str
    place: Place


def _cache_marks(entries: Sequence[NamedEntry], kept: Kept | None = None) -> list[PlacedMark]:
    marks: list[PlacedMark] = []
    for number, entry in enumerate(entries):
        for index, mark in enumerate(entry.cache):
            anchor: tuple[object, ...] = number, mark.after
            if kept is not None:
                anchor = kept.get((number, mark.after), ("new", *anchor))
            # Two marks after one part differ in their number.
            anchor = *anchor, sum(it.after == mark.after for it in entry.cache[:index])
            marks.append(PlacedMark(anchor, mark.mark, mark.text, entry.place(mark.after)))
    return marks
