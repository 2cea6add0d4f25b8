"""What changed between two prompts: a list of changes, each with its location in both prompts.

Read :func:`changes` first. It compares the headers, then the entries, and in each pair of entries
the parts. An entry is a turn, the tools, or the output schema; a part is a mark with its text.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.comparing.alignment import Step, aligned, by_occurrence
from promptdsl.comparing.snapshot_file import (
    TITLE,
    WITHIN,
    FileEntry,
    FilePart,
    PromptFile,
    serialise,
)
from promptdsl.foundation.old_names import OldAttribute
from promptdsl.foundation.source import Source

ChangeKind: TypeAlias = Literal["changed", "added", "removed", "moved", "renamed", "role", "cache"]
Location: TypeAlias = tuple[str, ...]
Position: TypeAlias = tuple[int, ...]
"""The index of a line of the header, or of an entry; a second index is that of an item in it."""
Kept: TypeAlias = dict[tuple[int, int], tuple[tuple[int, int], bool]]
"""Where the parts of the second file were in the first.

The keys are the indices of an entry and a part in the second file; a part -1 is the start of the
entry. The values are the indices in the first file, and whether the part moved.
"""

HEADER = "header"
LISTED = ("hint", "loss", "dropped")
"""The names of header lines that are reported as added or removed, not as changed."""
CACHE, TOOL, FAILED = "─⚑", "─■ tool ", "─■ failed"
"""The beginnings of a cache mark, of the mark of a tool, and of the mark of a failed result."""
TEXT = "─■ text"
"""The mark of a text next to other blocks."""


@attrs.frozen
class Change:
    """One difference: in a line of the header, a message, a section or block, or a cache mark.

    ``location`` is the message and the section, or the header and the name of a line.
    ``before`` and ``after`` are its lines in the files, ``None`` where it has no lines. ``was`` and
    ``now`` are its neighbour, name or role before and after. ``before_at`` and ``after_at`` are its
    position in each prompt: the index of the header line, or of the message, then of the item in
    it. A ``minor`` change only follows from another one, and is not reported: for example the empty
    line at the end of a section, when a section is added after it.
    """

    kind: ChangeKind
    location: Location
    before: str | None = None
    after: str | None = None
    was: str = ""
    now: str = ""
    before_at: Position | None = None
    after_at: Position | None = None
    minor: bool = False
    place = OldAttribute("Change.place")


@attrs.frozen
class CacheMark:
    """A cache mark of an entry, the text below it, the index of the part before it, and its own."""

    mark: str
    text: str
    after: int
    item: int


class NamedEntry:
    """An entry with a name for it and for each part; here, cache marks do not count as parts.

    Its items are its parts and its cache marks, in order.
    """

    def __init__(self, entry: FileEntry, name: str, number: int) -> None:
        self.title, self.name, self.number = entry.title, name, number
        self.parts: list[FilePart] = []
        self.items: list[int] = []
        """The index of each part among the items."""
        self.cache: list[CacheMark] = []
        is_tool = entry.title.what == "tools"
        for part in entry.parts:
            item = len(self.parts) + len(self.cache)
            if part.mark.startswith(CACHE):
                self.cache.append(CacheMark(part.mark, part.text, len(self.parts) - 1, item))
            elif is_tool and self.items[-1:] == [item - 1] and not part.mark.startswith(TOOL):
                # The schema of a tool belongs to the part of the tool.
                tool = self.parts[-1]
                text = "\n".join(filter(None, (tool.text, _lines(part))))
                self.parts[-1] = FilePart(tool.mark, text)
            else:
                self.parts.append(part)
                self.items.append(item)
        self.names = numbered([*map(name_of, self.parts)])
        self.content = entry.parts
        self.text = "\n".join(part.text for part in entry.parts)

    def location(self, part: int) -> Location:
        """Return the location of a part, or of the entry if the part has no name."""
        return (self.name, self.names[part]) if part >= 0 and self.names[part] else (self.name,)

    def at(self, part: int) -> Position:
        """Return the position of a part."""
        return self.number, self.items[part]

    def lines(self) -> str:
        """Return the lines of the entry in the file."""
        return "\n".join([f"{TITLE}{self.title}", *map(_lines, self.content)])


def changes(expected: PromptFile, actual: PromptFile) -> list[Change]:
    """Return all changes: of the header, then of the messages in order, then of the cache marks."""
    all_changes = [*_header_changes(expected.header, actual.header)]
    if expected.entries != actual.entries:
        all_changes += _entry_changes(named(expected), named(actual))
    if not all_changes and expected != actual:
        # Only marks differ, in a way that no other change describes.
        all_changes.append(Change("changed", ("file",), serialise(expected), serialise(actual)))
    return all_changes


def source_by_location(file: PromptFile) -> dict[Location, Source]:
    """Return the source lines of the messages and sections of a file, as far as they are known."""
    by_location: dict[Location, Source] = {}
    for entry in named(file):
        for index, part in enumerate(entry.parts):
            if part.source is not None:
                by_location.setdefault((entry.name,), part.source)
                by_location.setdefault(entry.location(index), part.source)
    return by_location


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
        # Lines with the same reason may be one line whose locations changed.
        group=lambda line: (line[0], line[1].partition(": ")[2]),
        text=lambda line: line[1],
    )
    for step in steps:
        old = None if step.before is None else before[step.before]
        new = None if step.after is None else after[step.after]
        location = HEADER, (new or old or ("",))[0]
        at = old and (step.before or 0,), new and (step.after or 0,)
        if old != new:
            kind: ChangeKind = "changed" if old and new else "added" if new else "removed"
            lines = old and ": ".join(old), new and ": ".join(new)
            yield Change(kind, location, *lines, "", "", *at)
        if step.moved:
            was = _neighbour([name for name, _ in before], step.before)
            now = _neighbour([name for name, _ in after], step.after)
            yield Change("moved", location, None, None, was, now, *at, minor=old != new)


def named(file: PromptFile) -> list[NamedEntry]:
    """Return the entries of a file, each with a name and its index."""
    names = numbered([entry.title.kind for entry in file.entries])
    return [*map(NamedEntry, file.entries, names, range(len(names)))]


def numbered(names: Sequence[str]) -> list[str]:
    """Return the names; a name that occurs more than once gets a number.

    >>> numbered(["user", "assistant", "user"])
    ['user 1', 'assistant', 'user 2']
    """
    totals, seen = Counter(names), Counter[str]()
    unique: list[str] = []
    for name in names:
        seen[name] += 1
        unique.append(f"{name} {seen[name]}" if name and totals[name] > 1 else name)
    return unique


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
    """Return the text of a part without line ends at its end: they depend on what follows it."""
    return part.text.rstrip("\n")


def _neighbour(names: Sequence[str], index: int | None) -> str:
    """Return where an item is: first, or after its neighbour; the first text has no name."""
    if not index:
        return "first"
    return f"after `{names[index - 1]}`" if names[index - 1] else "after the text before it"


def _entry_changes(before: list[NamedEntry], after: list[NamedEntry]) -> Iterator[Change]:
    steps = aligned(
        before,
        after,
        [
            lambda entry: (entry.title, entry.content),
            lambda entry: (entry.title.kind, entry.content),
            lambda entry: (
                entry.title.kind if entry.title.kind in ("system", "tools", "output") else None
            ),
        ],
        group=lambda entry: entry.title.first_word,
        text=lambda entry: entry.text,
    )
    names, new_names = ([entry.name for entry in side] for side in (before, after))
    entry_changes: list[Change] = []
    kept: Kept = {}
    for step in steps:
        old = None if step.before is None else before[step.before]
        new = None if step.after is None else after[step.after]
        was, now = _neighbour(names, step.before), _neighbour(new_names, step.after)
        if old and new:
            if step.moved:
                at = (old.number,), (new.number,)
                entry_changes.append(Change("moved", (new.name,), None, None, was, now, *at))
            entry_changes += _changes_in(old, new, kept)
        elif old:
            lines, position = old.lines(), (old.number,)
            entry_changes.append(Change("removed", (old.name,), lines, None, was, "", position))
        elif new:
            lines, position = new.lines(), (new.number,)
            entry_changes.append(Change("added", (new.name,), None, lines, "", now, None, position))
    yield from _moved_between(entry_changes)
    yield from _cache_changes(before, after, kept)


def _changes_in(old: NamedEntry, new: NamedEntry, kept: Kept) -> Iterator[Change]:
    """Yield the changes of an entry that is in both prompts: of its title, then of its parts."""
    if old.title != new.title:
        is_role = old.title.kind == new.title.kind
        names = (old.title.sent_as, new.title.sent_as) if is_role else (old.name, new.name)
        titles = f"{TITLE}{old.title}", f"{TITLE}{new.title}"
        at = (old.number,), (new.number,)
        yield Change("role" if is_role else "renamed", (new.name,), *titles, *names, *at)
    if old.content == new.content:
        rows = [Step(index, index) for index in range(len(new.parts))]
    else:
        rows = _aligned_parts(old.parts, new.parts)
    for row in (*rows, Step(-1, -1)):
        if row.before is not None and row.after is not None:
            kept[new.number, row.after] = (old.number, row.before), row.moved
    # If a part is added, removed or moved, its neighbours gain or lose empty lines at their end.
    is_same_order = [mark.after for mark in old.cache] == [
        mark.after for mark in new.cache
    ] and not any(row.moved or row.before is None or row.after is None for row in rows)
    removed = [row.before for row in rows if row.before is not None and row.after is None]
    added = [row.after for row in rows if row.after is not None and row.before is None]
    openings = _section_openings(old, removed), _section_openings(new, added)
    for row in rows:
        follows = row.before in openings[0] if row.after is None else row.after in openings[1]
        for change in _of_part(old, new, row, is_same_order=is_same_order):
            yield attrs.evolve(change, minor=change.minor or follows)


def _section_openings(entry: NamedEntry, parts: Sequence[int]) -> list[int]:
    """Return the text marks among ``parts`` that are only there because a section begins the text.

    ``parts`` are the indices of added or of removed parts.
    """
    openings = [index for index in parts if entry.parts[index] == FilePart(TEXT)]
    sections = [index for index in parts if entry.parts[index].mark.startswith(WITHIN)]
    return openings if len(openings) <= len(sections) else []


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
    old: NamedEntry, new: NamedEntry, row: Step, *, is_same_order: bool
) -> Iterator[Change]:
    if row.after is None and row.before is not None:
        path = new.name, *old.location(row.before)[1:]
        where, at = _neighbour(old.names, row.before), old.at(row.before)
        yield Change("removed", path, _lines(old.parts[row.before]), None, where, "", at)
    elif row.before is None and row.after is not None:
        where, at = _neighbour(new.names, row.after), new.at(row.after)
        lines = _lines(new.parts[row.after])
        yield Change("added", new.location(row.after), None, lines, "", where, None, at)
    if row.before is None or row.after is None:
        return
    was, now, location = old.parts[row.before], new.parts[row.after], new.location(row.after)
    sides = old.at(row.before), new.at(row.after)
    if row.moved:
        locations = _neighbour(old.names, row.before), _neighbour(new.names, row.after)
        yield Change("moved", location, None, None, *locations, *sides)
    if was.mark != now.mark and now.mark.startswith(WITHIN):
        names = old.names[row.before], new.names[row.after]
        yield Change("renamed", location, was.mark, now.mark, *names, *sides)
    elif was.mark != now.mark:
        yield Change("changed", location, _lines(was), _lines(now), "", "", *sides)
        return
    if was.text != now.text:
        minor = not is_same_order and _stripped(was) == _stripped(now)
        yield Change("changed", location, was.text, now.text, "", "", *sides, minor=minor)


def _moved_between(entry_changes: Sequence[Change]) -> Iterator[Change]:
    """Yield the changes; a part removed from one entry and added to another one is moved."""
    parts = [change for change in entry_changes if len(change.location) > 1]
    removed = [change for change in parts if change.kind == "removed" and change.before]
    added = [change for change in parts if change.kind == "added" and change.after]
    pairs = by_occurrence(
        [(change.before or "").rstrip("\n") for change in removed],
        [(change.after or "").rstrip("\n") for change in added],
    )
    moved = {id(removed[index]) for index, _ in pairs}
    origins = {id(added[other]): removed[index] for index, other in pairs}
    for change in entry_changes:
        origin = origins.get(id(change))
        if origin:
            locations = f"in `{origin.location[0]}`", f"in `{change.location[0]}`"
            sides = origin.before_at, change.after_at
            yield Change("moved", change.location, None, None, *locations, *sides)
            if origin.before != change.after:
                texts = origin.before, change.after
                yield Change("changed", change.location, *texts, "", "", *sides, minor=True)
        elif id(change) not in moved:
            yield change


def _cache_changes(
    before: list[NamedEntry],
    after: list[NamedEntry],
    kept: Kept,
) -> Iterator[Change]:
    """Yield the cache marks that were added, removed or moved, and the changed texts after them."""
    olds, news = _cache_marks(before), _cache_marks(after, kept)
    steps = aligned(
        olds,
        news,
        [lambda mark: (mark.anchor, mark.mark), lambda mark: mark.anchor, lambda mark: mark.mark],
        group=lambda _: None,
        text=lambda mark: mark.mark,
        far=0.0,
    )
    for step in steps:
        old = None if step.before is None else olds[step.before]
        new = None if step.after is None else news[step.after]
        mark = new or old
        assert mark is not None
        sides = old and old.at, new and new.at
        is_there = bool(old and new and old.anchor == new.anchor)
        lines = old and old.mark, new and new.mark
        if not is_there or lines[0] != lines[1] or mark.follows:
            names = old.location[-1] if old else "", new.location[-1] if new else ""
            # What replaces a mark that is not sent depends on the text after it.
            minor = is_there and len({(line or "").partition("; ")[0] for line in lines}) == 1
            yield Change("cache", mark.location, *lines, *names, *sides, minor=minor)
        texts = old.text if old else "", new.text if new else ""
        if texts[0] != texts[1]:
            yield Change("changed", mark.location, *texts, "", "", *sides)


class LocatedMark(NamedTuple):
    """A cache mark: the part before it, as indices of the first file, and the name of this part.

    ``follows`` is whether it moved together with this part.
    """

    anchor: tuple[object, ...]
    mark: str
    text: str
    location: Location
    at: Position
    follows: bool


def _cache_marks(entries: Sequence[NamedEntry], kept: Kept | None = None) -> list[LocatedMark]:
    marks: list[LocatedMark] = []
    for number, entry in enumerate(entries):
        seen = Counter[int]()
        for mark in entry.cache:
            anchor: tuple[object, ...] = number, mark.after
            follows = False
            if kept is not None:
                anchor, follows = kept.get((number, mark.after), (("new", *anchor), False))
            # Two marks after the same part differ in their number.
            anchor = *anchor, seen[mark.after]
            seen[mark.after] += 1
            location, at = entry.location(mark.after), (number, mark.item)
            marks.append(LocatedMark(anchor, mark.mark, mark.text, location, at, follows))
    return marks
