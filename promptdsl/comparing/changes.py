"""What changed between two prompts: a list of changes, each with its location in both prompts.

Read :func:`changes` first. It compares the headers, then the entries, and in each pair of entries
the parts. An entry is a turn, the tools, or the output schema; a part is a mark with its text.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.comparing.alignment import Added, Kept, Removed, Step, aligned, by_occurrence
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
Origins: TypeAlias = dict[tuple[int, int], tuple[tuple[int, int], bool]]
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
    names, new_names = ([name for name, _ in side] for side in (before, after))
    lines, new_lines = ([": ".join(line) for line in side] for side in (before, after))
    for step in steps:
        match step:
            case Removed(old):
                location = HEADER, names[old]
                yield Change("removed", location, lines[old], None, before_at=(old,))
            case Added(new):
                location = HEADER, new_names[new]
                yield Change("added", location, None, new_lines[new], after_at=(new,))
            case Kept(old, new, moved):
                location, at = (HEADER, new_names[new]), ((old,), (new,))
                is_changed = before[old] != after[new]
                if is_changed:
                    yield Change("changed", location, lines[old], new_lines[new], "", "", *at)
                if moved:
                    was, now = _neighbour(names, old), _neighbour(new_names, new)
                    yield Change("moved", location, None, None, was, now, *at, minor=is_changed)


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
    kept: Origins = {}
    for step in steps:
        match step:
            case Removed(old):
                entry, was = before[old], _neighbour(names, old)
                lines, at = entry.lines(), (old,)
                entry_changes.append(Change("removed", (entry.name,), lines, None, was, "", at))
            case Added(new):
                entry, now = after[new], _neighbour(new_names, new)
                lines, at = entry.lines(), (new,)
                entry_changes.append(Change("added", (entry.name,), None, lines, "", now, None, at))
            case Kept(old, new, moved):
                if moved:
                    location, sides = (new_names[new],), ((old,), (new,))
                    was, now = _neighbour(names, old), _neighbour(new_names, new)
                    entry_changes.append(Change("moved", location, None, None, was, now, *sides))
                entry_changes += _changes_in(before[old], after[new], kept)
    yield from _moved_between(entry_changes)
    yield from _cache_changes(before, after, kept)


def _changes_in(old: NamedEntry, new: NamedEntry, kept: Origins) -> Iterator[Change]:
    """Yield the changes of an entry that is in both prompts: of its title, then of its parts."""
    if old.title != new.title:
        kind: ChangeKind = "renamed"
        names: tuple[str, str] = old.name, new.name
        if old.title.kind == new.title.kind:
            kind, names = "role", (old.title.sent_as, new.title.sent_as)
        titles = f"{TITLE}{old.title}", f"{TITLE}{new.title}"
        at = (old.number,), (new.number,)
        yield Change(kind, (new.name,), *titles, *names, *at)
    rows: list[Step]
    if old.content == new.content:
        rows = [Kept(index, index) for index in range(len(new.parts))]
    else:
        rows = _aligned_parts(old.parts, new.parts)
    removed, added, is_moved = list[int](), list[int](), False
    kept[new.number, -1] = (old.number, -1), False
    for row in rows:
        match row:
            case Removed(before):
                removed.append(before)
            case Added(after):
                added.append(after)
            case Kept(before, after, moved):
                kept[new.number, after] = (old.number, before), moved
                is_moved |= moved
    # If a part is added, removed or moved, its neighbours gain or lose empty lines at their end.
    marks, new_marks = ([mark.after for mark in entry.cache] for entry in (old, new))
    is_same_order = marks == new_marks and not (removed or added or is_moved)
    openings = {
        *map(Removed, _section_openings(old, removed)),
        *map(Added, _section_openings(new, added)),
    }
    for row in rows:
        follows = row in openings
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
    match row:
        case Removed(before):
            location = new.name, *old.location(before)[1:]
            lines, was = _lines(old.parts[before]), _neighbour(old.names, before)
            yield Change("removed", location, lines, None, was, "", old.at(before))
        case Added(after):
            lines, now = _lines(new.parts[after]), _neighbour(new.names, after)
            yield Change("added", new.location(after), None, lines, "", now, None, new.at(after))
        case Kept(before, after, moved):
            if moved:
                location, sides = new.location(after), (old.at(before), new.at(after))
                was, now = _neighbour(old.names, before), _neighbour(new.names, after)
                yield Change("moved", location, None, None, was, now, *sides)
            yield from _of_kept_part(old, new, (before, after), is_same_order=is_same_order)


def _of_kept_part(
    old: NamedEntry, new: NamedEntry, indices: tuple[int, int], *, is_same_order: bool
) -> Iterator[Change]:
    """Yield the changes of a part that is in both prompts, at these indices of its entries."""
    before, after = indices
    was, now, location = old.parts[before], new.parts[after], new.location(after)
    sides = old.at(before), new.at(after)
    if was.mark != now.mark and now.mark.startswith(WITHIN):
        names = old.names[before], new.names[after]
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
    kept: Origins,
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
        match step:
            case Removed(old):
                mark, name = olds[old], olds[old].location[-1]
                yield Change("cache", mark.location, mark.mark, None, name, "", mark.at)
                if mark.text:
                    yield Change("changed", mark.location, mark.text, "", "", "", mark.at)
            case Added(new):
                mark, name = news[new], news[new].location[-1]
                yield Change("cache", mark.location, None, mark.mark, "", name, None, mark.at)
                if mark.text:
                    yield Change("changed", mark.location, "", mark.text, "", "", None, mark.at)
            case Kept(old, new):
                yield from _of_kept_mark(olds[old], news[new])


def _of_kept_mark(old: "LocatedMark", new: "LocatedMark") -> Iterator[Change]:
    """Yield the changes of a cache mark that is in both prompts."""
    location, sides = new.location, (old.at, new.at)
    is_there = old.anchor == new.anchor
    if not is_there or old.mark != new.mark or new.follows:
        # What replaces a mark that is not sent depends on the text after it.
        minor = is_there and old.mark.partition("; ")[0] == new.mark.partition("; ")[0]
        names = old.location[-1], location[-1]
        yield Change("cache", location, old.mark, new.mark, *names, *sides, minor=minor)
    if old.text != new.text:
        yield Change("changed", location, old.text, new.text, "", "", *sides)


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


def _cache_marks(entries: Sequence[NamedEntry], kept: Origins | None = None) -> list[LocatedMark]:
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
