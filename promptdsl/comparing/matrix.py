"""Snapshots of one prompt for several models: a base, and for each model the differences.

The base is the snapshot without a model. The snapshot of a model has all messages in the order and
with the roles in which they are sent. A mark ``─= name`` stands for the entry or part of the base
with this name.
"""

from collections import Counter
from typing import NamedTuple

from promptdsl.comparing.alignment import Kept, Removed, aligned
from promptdsl.comparing.changes import name_of, numbered
from promptdsl.comparing.snapshot_file import FileEntry, FilePart, PromptFile, SnapshotFormatError

AS_THERE = "─= "
BASE_LINE = ("base", "the snapshot without a model; ─= names a text that is there")
"""The first line of the header of a snapshot that needs its base."""


class BasePart(NamedTuple):
    """The parts of an entry of the base, or one of them, and the mark that stands for them."""

    mark: str
    entry: int
    parts: tuple[FilePart, ...]


def difference(base: PromptFile, full: PromptFile) -> PromptFile:
    """Return a file with the differences from its base; :func:`applied` gives the full file again.

    >>> base, full = (
    ...     PromptFile((), (FileEntry(title, (FilePart("", "Hi."),)),))
    ...     for title in ("event", "event as user")
    ... )
    >>> [(str(entry.title), entry.parts) for entry in difference(base, full).entries]
    [('event as user', (FilePart(mark='─= event', text=''),))]
    """
    # If an entry has only one part, the name of the entry is used.
    named = reversed(_base_parts(base))
    in_base = {(part.entry, part.parts): FilePart(part.mark) for part in named}
    steps = aligned(
        base.entries,
        full.entries,
        [lambda entry: (entry.title.kind, entry.parts), lambda entry: entry.title.kind],
        group=lambda entry: entry.title,
        text=lambda _: "",
    )
    entries: list[FileEntry] = []
    for step in steps:
        if isinstance(step, Removed):
            continue
        entry = full.entries[step.after]
        origin = step.before if isinstance(step, Kept) else -1
        all_parts = in_base.get((origin, entry.parts))
        parts = [in_base.get((origin, (part,)), part) for part in entry.parts]
        entries.append(FileEntry(entry.title, (all_parts,) if all_parts else tuple(parts)))
    return PromptFile((BASE_LINE, *full.header), tuple(entries))


def applied(base: PromptFile, model: PromptFile) -> PromptFile:
    """Return the full file of a model from its base and the difference.

    Raises :class:`SnapshotFormatError` if ``model`` is no difference, or names what is not in the
    base.
    """
    if model.header[:1] != (BASE_LINE,):
        line = ": ".join(BASE_LINE)
        raise SnapshotFormatError(f"the line {line!r} is missing", fix="write it again")
    in_base = {part.mark: part.parts for part in _base_parts(base)}
    entries: list[FileEntry] = []
    for entry in model.entries:
        parts: list[FilePart] = []
        for part in entry.parts:
            if part.mark.startswith(AS_THERE) and part.mark not in in_base:
                problem = (
                    f"the snapshot without a model has no {part.mark.removeprefix(AS_THERE)!r}"
                )
                raise SnapshotFormatError(problem, fix="write both again")
            parts += in_base.get(part.mark, (part,))
        entries.append(FileEntry(entry.title, tuple(parts)))
    return PromptFile(model.header[1:], tuple(entries))


def _base_parts(base: PromptFile) -> list[BasePart]:
    """Return the entries and parts of a base whose name is unique."""
    base_parts: list[BasePart] = []
    names = numbered([entry.title.kind for entry in base.entries])
    for number, (entry, name) in enumerate(zip(base.entries, names, strict=True)):
        base_parts.append(BasePart(f"{AS_THERE}{name}", number, entry.parts))
        # The mark of a part without text is no longer than its name.
        base_parts += [
            BasePart(f"{AS_THERE}{name} > {name_of(part) or 'text'}", number, (part,))
            for part in entry.parts
            if part.text
        ]
    counts = Counter(part.mark for part in base_parts)
    return [part for part in base_parts if counts[part.mark] == 1]
