"""Finds what changed between two snapshots: a list of changes, each with its location.

Read :func:`changes` first. It compares the headers, then the entries, then the parts of each pair
of entries, and then the cache marks. An entry is a turn, the tools, or the output schema. A part is
a sign, such as ``─▷ rules``, and the text below it. ``snapshot_file.py`` has these classes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.comparing.alignment import (
    AddedItem,
    KeptItem,
    RemovedItem,
    Step,
    aligned,
    by_occurrence,
)
from promptdsl.comparing.snapshot_file import (
    SECTION_SIGN,
    TITLE_SIGN,
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
"""The index of a header line or of an entry; the second index is for an item in the entry.

The items of an entry are its parts and its cache marks.
"""
Origins: TypeAlias = dict[tuple[int, int], tuple[tuple[int, int], bool]]
"""Where the parts of the second file were in the first file.

A key has two indices in the second file: of an entry and of a part in it. The part -1 is the start
of the entry. The value has the same two indices in the first file, and whether the part moved.
"""

HEADER = "header"
LISTED = ("hint", "loss", "dropped")
"""The names of header lines that are reported as added or removed, not as changed."""
CACHE_SIGN, TOOL_SIGN, FAILED_SIGN = "─⚑", "─■ tool ", "─■ failed"
"""How the signs of a cache mark, of a tool and of a failed result begin.

The first two characters of a sign are its kind: ``─▷`` is a section, ``─■`` a block or a part of a
definition, ``─⚑`` a cache mark.
"""
TEXT_SIGN = "─■ text"
"""The sign of a text block next to other blocks."""


@attrs.frozen
class Change:
    """One difference: in a header line, a message, a section, a block, or a cache mark.

    ``location`` is the message and the section, or the header and the name of a line.
    ``before`` and ``after`` are the lines in each file; ``None`` where there are none. ``was`` and
    ``now`` are the neighbour, name or role before and after. ``before_at`` and ``after_at`` are the
    positions in each prompt: the index of the header line, or the index of the message and then of
    the item in it. A ``minor`` change only follows from another change, so it is not reported. An
    example is the empty line at the end of a section, when a section is added after it.
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


class CacheMark(NamedTuple):
    """A cache mark of an entry: its sign, and the text below it.

    ``part_index`` is the index of the part before it, -1 if there is none. ``item_index`` is the
    index of the cache mark among the items of its entry.
    """

    sign: str
    text: str
    part_index: int
    item_index: int


class NamedEntry:
    """An entry with its name, and the name of each of its parts.

    Here, cache marks are not parts: ``cache_marks`` has them. The *items* of an entry are its parts
    and its cache marks, in the order of the file.
    """

    def __init__(self, file_entry: FileEntry, name: str, index: int) -> None:
        self.title, self.name, self.index = file_entry.title, name, index
        self.parts: list[FilePart] = []
        self.item_indices: list[int] = []
        """For each part, its index among the items."""
        self.cache_marks: list[CacheMark] = []
        is_tools_entry = file_entry.title.what == "tools"
        for part in file_entry.parts:
            item_index = len(self.parts) + len(self.cache_marks)
            # Whether the item before is a part, and no cache mark.
            follows_part = self.item_indices[-1:] == [item_index - 1]
            if part.sign.startswith(CACHE_SIGN):
                cache_mark = CacheMark(part.sign, part.text, len(self.parts) - 1, item_index)
                self.cache_marks.append(cache_mark)
            elif is_tools_entry and follows_part and not part.sign.startswith(TOOL_SIGN):
                # The schema of a tool is compared with its description, as one part.
                tool = self.parts[-1]
                text = "\n".join(filter(None, (tool.text, _lines(part))))
                self.parts[-1] = FilePart(tool.sign, text)
            else:
                self.parts.append(part)
                self.item_indices.append(item_index)
        self.names = numbered([*map(name_of, self.parts)])
        self.content = file_entry.parts
        self.text = "\n".join(part.text for part in file_entry.parts)

    def location(self, part_index: int) -> Location:
        """Return the location of a part.

        For -1, and for a part without a name, it is only the name of the entry.
        """
        name = self.names[part_index] if part_index >= 0 else ""
        return (self.name, name) if name else (self.name,)

    def position(self, part_index: int) -> Position:
        """Return the position of a part: the indices of the entry, and of the part as an item."""
        return self.index, self.item_indices[part_index]

    def lines(self) -> str:
        """Return the lines of the entry in the file."""
        return "\n".join([f"{TITLE_SIGN}{self.title}", *map(_lines, self.content)])


def changes(expected: PromptFile, actual: PromptFile) -> list[Change]:
    """Return all changes: of the header, then of the messages in order, then of the cache marks."""
    all_changes = [*_header_changes(expected.header, actual.header)]
    if expected.entries != actual.entries:
        all_changes += _entry_changes(named_entries(expected), named_entries(actual))
    if not all_changes and expected != actual:
        # Only signs differ, and no other kind of change describes it.
        all_changes.append(Change("changed", ("file",), serialise(expected), serialise(actual)))
    return all_changes


def source_by_location(file: PromptFile) -> dict[Location, Source]:
    """Return the source lines of the messages and sections of a file that are known."""
    by_location: dict[Location, Source] = {}
    for named_entry in named_entries(file):
        for index, part in enumerate(named_entry.parts):
            if part.source is not None:
                by_location.setdefault((named_entry.name,), part.source)
                by_location.setdefault(named_entry.location(index), part.source)
    return by_location


def _header_changes(
    before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]
) -> Iterator[Change]:
    """Yield the changes of the header: lines that were added, removed, changed or moved."""
    counts = Counter(name for name, _ in before) | Counter(name for name, _ in after)
    steps = aligned(
        before,
        after,
        [
            lambda line: line,
            lambda line: line[0] if counts[line[0]] == 1 and line[0] not in LISTED else None,
        ],
        # Two lines with the same reason may be one line whose paths changed.
        group=lambda line: (line[0], line[1].partition(": ")[2]),
        text=lambda line: line[1],
    )
    old_names, new_names = ([name for name, _ in header] for header in (before, after))
    old_lines, new_lines = ([": ".join(line) for line in header] for header in (before, after))
    for step in steps:
        match step:
            case RemovedItem(old):
                location = HEADER, old_names[old]
                yield Change("removed", location, before=old_lines[old], before_at=(old,))
            case AddedItem(new):
                location = HEADER, new_names[new]
                yield Change("added", location, after=new_lines[new], after_at=(new,))
            case KeptItem(old, new, is_moved):
                location, positions = (HEADER, new_names[new]), ((old,), (new,))
                is_changed = before[old] != after[new]
                if is_changed:
                    lines = old_lines[old], new_lines[new]
                    yield Change("changed", location, *lines, "", "", *positions)
                if is_moved:
                    neighbours = _neighbour(old_names, old), _neighbour(new_names, new)
                    yield _move(location, neighbours, positions, minor=is_changed)


def _move(
    location: Location,
    names: tuple[str, str],
    positions: tuple[Position | None, Position | None],
    *,
    minor: bool = False,
) -> Change:
    """Return the change for an item that moved; ``names`` are its neighbours or its messages."""
    return Change("moved", location, None, None, *names, *positions, minor)


def named_entries(file: PromptFile) -> list[NamedEntry]:
    """Return the entries of a file, each with its name and its index."""
    names = numbered([file_entry.title.kind for file_entry in file.entries])
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

    The name of a tool or of a call has two words. A failed result has no name.

    >>> [name_of(FilePart(mark)) for mark in ("─▷ a", "─▷ a, continued", "─■ text, not sent")]
    ['a', 'a, continued', 'text']
    """
    sign, _, name = part.sign.partition(" ")
    if sign != "─■" or part.sign.startswith(FAILED_SIGN):
        return "" if sign == "─■" else name or part.sign
    # ``tool search of openai`` is the tool ``search``: its origin is no part of the name.
    words = name.split(" ")
    return " ".join(words[: 2 if words[0] in ("tool", "call") else 1]).rstrip(",")


def _lines(part: FilePart) -> str:
    return "\n".join(filter(None, (part.sign, part.text)))


def _stripped(part: FilePart) -> str:
    """Return the text of a part without the line ends at its end.

    These depend on the part after it.
    """
    return part.text.rstrip("\n")


def _neighbour(names: Sequence[str], index: int | None) -> str:
    """Return the location of an item as text: ``first``, or after the item before it."""
    if not index:
        return "first"
    return f"after `{names[index - 1]}`" if names[index - 1] else "after the text before it"


def _entry_changes(before: list[NamedEntry], after: list[NamedEntry]) -> Iterator[Change]:
    """Yield the changes of the entries and of their parts, then of the cache marks.

    Two entries are one entry if their titles and parts are equal, or if they are similar. System
    text and tools are in a prompt once, so they need not be similar. An output schema needs no key:
    it is the only entry whose first word is ``answer``, so two are always the most similar ones.
    """
    steps = aligned(
        before,
        after,
        [
            lambda named_entry: (named_entry.title, named_entry.content),
            lambda named_entry: (named_entry.title.kind, named_entry.content),
            lambda named_entry: (
                named_entry.title.kind if named_entry.title.kind in ("system", "tools") else None
            ),
        ],
        group=lambda named_entry: named_entry.title.first_word,
        text=lambda named_entry: named_entry.text,
    )
    old_names, new_names = (
        [named_entry.name for named_entry in entries] for entries in (before, after)
    )
    entry_changes: list[Change] = []
    origins: Origins = {}
    for step in steps:
        match step:
            case RemovedItem(old):
                location, lines = (old_names[old],), before[old].lines()
                neighbour = _neighbour(old_names, old)
                change = Change("removed", location, lines, was=neighbour, before_at=(old,))
                entry_changes.append(change)
            case AddedItem(new):
                location, lines = (new_names[new],), after[new].lines()
                neighbour = _neighbour(new_names, new)
                change = Change("added", location, after=lines, now=neighbour, after_at=(new,))
                entry_changes.append(change)
            case KeptItem(old, new, is_moved):
                if is_moved:
                    neighbours = _neighbour(old_names, old), _neighbour(new_names, new)
                    entry_changes.append(_move((new_names[new],), neighbours, ((old,), (new,))))
                entry_changes += _changes_in(before[old], after[new], origins)
    yield from _moved_between(entry_changes)
    yield from _cache_changes(before, after, origins)


def _changes_in(old: NamedEntry, new: NamedEntry, origins: Origins) -> Iterator[Change]:
    """Yield the changes of an entry that is in both prompts: of its title, then of its parts.

    The origins of its parts are added to ``origins``.
    """
    if old.title != new.title:
        kind: ChangeKind = "renamed"
        names: tuple[str, str] = old.name, new.name
        if old.title.kind == new.title.kind:
            kind, names = "role", (old.title.sent_as, new.title.sent_as)
        titles = f"{TITLE_SIGN}{old.title}", f"{TITLE_SIGN}{new.title}"
        positions = (old.index,), (new.index,)
        yield Change(kind, (new.name,), *titles, *names, *positions)
    steps: list[Step]
    if old.content == new.content:
        steps = [KeptItem(index, index) for index in range(len(new.parts))]
    else:
        steps = _aligned_parts(old.parts, new.parts)
    removed_indices, added_indices, has_moved_part = list[int](), list[int](), False
    # The part -1 is the start of the entry: cache marks before its first part belong to it.
    origins[new.index, -1] = (old.index, -1), False
    for step in steps:
        match step:
            case RemovedItem(before):
                removed_indices.append(before)
            case AddedItem(after):
                added_indices.append(after)
            case KeptItem(before, after, is_moved):
                origins[new.index, after] = (old.index, before), is_moved
                has_moved_part |= is_moved
    # Next to a part that is added, removed or moved, parts gain or lose empty lines at their end.
    are_same_parts = not (removed_indices or added_indices or has_moved_part)
    old_marks, new_marks = ([mark.part_index for mark in entry.cache_marks] for entry in (old, new))
    is_same_order = old_marks == new_marks and are_same_parts
    # The sign of a text that only comes or goes with a section: such a change is minor.
    openings = {
        *map(RemovedItem, _section_openings(old, removed_indices)),
        *map(AddedItem, _section_openings(new, added_indices)),
    }
    for step in steps:
        is_opening = step in openings
        for change in _of_part(old, new, step, is_same_order=is_same_order):
            yield attrs.evolve(change, minor=change.minor or is_opening)


def _section_openings(named_entry: NamedEntry, part_indices: Sequence[int]) -> list[int]:
    """Return the signs ``─■ text`` that are only there because a section begins the text.

    ``part_indices`` are the indices of all added parts, or of all removed parts, of the entry. The
    signs are returned as indices, too.
    """
    openings = [index for index in part_indices if named_entry.parts[index] == FilePart(TEXT_SIGN)]
    sections = [
        index for index in part_indices if named_entry.parts[index].sign.startswith(SECTION_SIGN)
    ]
    return openings if len(openings) <= len(sections) else []


def _aligned_parts(before: Sequence[FilePart], after: Sequence[FilePart]) -> list[Step]:
    """Return which parts of two entries are the same part.

    These are the keys of the same part, in this order: its sign and its text; the same without line
    ends at the end; its sign; its sign, if all failed results have one sign; its text, if it is not
    blank. The last key pairs a renamed section with itself: it needs only the same kind of sign.
    """
    return aligned(
        before,
        after,
        [
            lambda part: (part.sign, part.text),
            lambda part: (part.sign, _stripped(part)),
            lambda part: part.sign,
            lambda part: "" if part.sign.startswith(FAILED_SIGN) else part.sign,
            lambda part: (part.sign[:2], _stripped(part)) if _stripped(part).strip() else None,
        ],
        group=lambda part: part.sign[:2],
        text=lambda part: part.text if part.sign.startswith(SECTION_SIGN) else _lines(part),
        near_minimum=0.5,
    )


def _of_part(
    old: NamedEntry, new: NamedEntry, step: Step, *, is_same_order: bool
) -> Iterator[Change]:
    """Yield the changes of a part; ``step`` says whether it is in both entries, or in one."""
    match step:
        case RemovedItem(before):
            location = new.name, *old.location(before)[1:]
            lines, neighbour = _lines(old.parts[before]), _neighbour(old.names, before)
            position = old.position(before)
            yield Change("removed", location, lines, was=neighbour, before_at=position)
        case AddedItem(after):
            location, position = new.location(after), new.position(after)
            lines, neighbour = _lines(new.parts[after]), _neighbour(new.names, after)
            yield Change("added", location, after=lines, now=neighbour, after_at=position)
        case KeptItem(before, after, is_moved):
            if is_moved:
                neighbours = _neighbour(old.names, before), _neighbour(new.names, after)
                positions = old.position(before), new.position(after)
                yield _move(new.location(after), neighbours, positions)
            yield from _of_kept_part(old, new, (before, after), is_same_order=is_same_order)


def _of_kept_part(
    old: NamedEntry, new: NamedEntry, indices: tuple[int, int], *, is_same_order: bool
) -> Iterator[Change]:
    """Yield the changes of a part that is in both prompts; ``indices`` are its two indices."""
    before, after = indices
    old_part, new_part, location = old.parts[before], new.parts[after], new.location(after)
    positions = old.position(before), new.position(after)
    if old_part.sign != new_part.sign and new_part.sign.startswith(SECTION_SIGN):
        names = old.names[before], new.names[after]
        yield Change("renamed", location, old_part.sign, new_part.sign, *names, *positions)
    elif old_part.sign != new_part.sign:
        yield Change("changed", location, _lines(old_part), _lines(new_part), "", "", *positions)
        return
    if old_part.text != new_part.text:
        minor = not is_same_order and _stripped(old_part) == _stripped(new_part)
        texts = old_part.text, new_part.text
        yield Change("changed", location, *texts, "", "", *positions, minor=minor)


def _moved_between(entry_changes: Sequence[Change]) -> Iterator[Change]:
    """Yield the changes; a part that is removed from one entry and added to another has moved."""
    part_changes = [change for change in entry_changes if len(change.location) > 1]
    removals = [change for change in part_changes if change.kind == "removed" and change.before]
    additions = [change for change in part_changes if change.kind == "added" and change.after]
    pairs = by_occurrence(
        [(removal.before or "").rstrip("\n") for removal in removals],
        [(addition.after or "").rstrip("\n") for addition in additions],
    )
    moved_ids = {id(removals[before]) for before, _ in pairs}
    origins = {id(additions[after]): removals[before] for before, after in pairs}
    for change in entry_changes:
        origin = origins.get(id(change))
        if origin:
            messages = f"in `{origin.location[0]}`", f"in `{change.location[0]}`"
            positions = origin.before_at, change.after_at
            yield _move(change.location, messages, positions)
            if origin.before != change.after:
                texts = origin.before, change.after
                yield Change("changed", change.location, *texts, "", "", *positions, minor=True)
        elif id(change) not in moved_ids:
            yield change


def _cache_changes(
    before: list[NamedEntry], after: list[NamedEntry], origins: Origins
) -> Iterator[Change]:
    """Yield the cache marks that were added, removed or moved, and the changed texts below them."""
    old_marks, new_marks = _cache_marks(before), _cache_marks(after, origins)
    steps = aligned(
        old_marks,
        new_marks,
        [
            lambda cache_mark: (cache_mark.anchor, cache_mark.sign),
            lambda cache_mark: cache_mark.anchor,
            lambda cache_mark: cache_mark.sign,
        ],
        group=lambda _: None,
        text=lambda cache_mark: cache_mark.sign,
        far_minimum=0.0,
    )
    for step in steps:
        match step:
            case RemovedItem(old):
                sign, text = old_marks[old].sign, old_marks[old].text
                location, position = old_marks[old].location, old_marks[old].position
                yield Change("cache", location, sign, was=location[-1], before_at=position)
                if text:
                    yield Change("changed", location, text, "", before_at=position)
            case AddedItem(new):
                sign, text = new_marks[new].sign, new_marks[new].text
                location, position = new_marks[new].location, new_marks[new].position
                yield Change("cache", location, after=sign, now=location[-1], after_at=position)
                if text:
                    yield Change("changed", location, "", text, after_at=position)
            case KeptItem(old, new):
                yield from _of_kept_mark(old_marks[old], new_marks[new])


def _of_kept_mark(old: "LocatedCacheMark", new: "LocatedCacheMark") -> Iterator[Change]:
    """Yield the changes of a cache mark that is in both prompts."""
    location, positions = new.location, (old.position, new.position)
    is_same_anchor = old.anchor == new.anchor
    if not is_same_anchor or old.sign != new.sign or new.follows:
        # The note after "; " on a cache mark that is not sent depends on the text after the mark.
        minor = is_same_anchor and old.sign.partition("; ")[0] == new.sign.partition("; ")[0]
        names = old.location[-1], location[-1]
        yield Change("cache", location, old.sign, new.sign, *names, *positions, minor=minor)
    if old.text != new.text:
        yield Change("changed", location, old.text, new.text, "", "", *positions)


class LocatedCacheMark(NamedTuple):
    """A cache mark with its location, comparable between two files.

    ``anchor`` is the part before the cache mark, by its indices in the first file. ``location`` is
    the location of this part. ``follows`` is whether the cache mark moved together with this part.
    """

    anchor: tuple[object, ...]
    sign: str
    text: str
    location: Location
    position: Position
    follows: bool


def _cache_marks(
    entries: Sequence[NamedEntry], origins: Origins | None = None
) -> list[LocatedCacheMark]:
    """Return the cache marks of all entries; ``origins`` is for the entries of the second file."""
    located: list[LocatedCacheMark] = []
    for entry_index, named_entry in enumerate(entries):
        counts = Counter[int]()
        for sign, text, part_index, item_index in named_entry.cache_marks:
            anchor: tuple[object, ...] = entry_index, part_index
            follows = False
            if origins is not None:
                anchor, follows = origins.get((entry_index, part_index), (("new", *anchor), False))
                # A part that is only in the second file has the word ``new`` in its anchor, so the
                # anchor is equal to none of the first file.
            # Two cache marks after the same part differ in the last item of their anchor.
            anchor = *anchor, counts[part_index]
            counts[part_index] += 1
            location, position = named_entry.location(part_index), (entry_index, item_index)
            located.append(LocatedCacheMark(anchor, sign, text, location, position, follows))
    return located
