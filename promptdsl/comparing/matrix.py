"""A prompt for several models: its texts are stored once, and for each model what differs.

The base is the prompt without a model. The file of a model has all messages in the order and the
roles of sending. After ``─=`` is the name of a message or a part of the base that comes here.
"""

from collections import Counter
from typing import NamedTuple

from promptdsl.comparing.alignment import aligned
from promptdsl.comparing.changes import name_of, numbered
from promptdsl.comparing.snapshot_file import FileEntry, FilePart, PromptFile, SnapshotFormatError

AS_THERE = "─= "
BASE_LINE = ("base", "the snapshot without a model; ─= names a text that is there")
"""The first line of the header of a file that needs its base."""


class BasePart(NamedTuple):
    """A message of the base, or one part of it, and the mark that stands for it."""

    mark: str
    entry: int
    parts: tuple[FilePart, ...]


def difference(base: PromptFile, full: PromptFile) -> PromptFile:
    """Return a file with what differs from its base: :func:`applied` returns the full one again.

    >>> base, full = (
    ...     PromptFile((), (FileEntry(title, (FilePart("", "Hi."),)),))
    ...     for title in ("event", "event as user")
    ... )
    >>> [(str(entry.title), entry.parts) for entry in difference(base, full).entries]
    [('event as user', (FilePart(mark='─= event', text=''),))]
    """
    # A message of one part is told by its own name.
    named = reversed(_base_parts(base))
    known = {(it.entry, it.parts): FilePart(it.mark) for it in named}
    steps = aligned(
        base.entries,
        full.entries,
        [lambda it: (it.title.kind, it.parts), lambda it: it.title.kind],
        group=lambda it: it.title,
        text=lambda _: "",
    )
    entries: list[FileEntry] = []
    for step in steps:
        if step.after is not None:
            entry, origin = full.entries[step.after], -1 if step.before is None else step.before
            whole = known.get((origin, entry.parts))
            parts = [known.get((origin, (part,)), part) for part in entry.parts]
            entries.append(FileEntry(entry.title, (whole,) if whole else tuple(parts)))
    return PromptFile((BASE_LINE, *full.header), tuple(entries))


def applied(base: PromptFile, model: PromptFile) -> PromptFile:
    """Return the full file of a model from its base and the difference.

    Raises :class:`SnapshotFormatError` if it is none, or the base has not what it names.
    """
    if model.header[:1] != (BASE_LINE,):
        line = ": ".join(BASE_LINE)
        raise SnapshotFormatError(f"it has not the line {line!r}", fix="write it again")
    known = {it.mark: it.parts for it in _base_parts(base)}
    entries: list[FileEntry] = []
    for entry in model.entries:
        parts: list[FilePart] = []
        for part in entry.parts:
            if part.mark.startswith(AS_THERE) and part.mark not in known:
                problem = (
                    f"the snapshot without a model has no {part.mark.removeprefix(AS_THERE)!r}"
                )
                raise SnapshotFormatError(problem, fix="write both again")
            parts += known.get(part.mark, (part,))
        entries.append(FileEntry(entry.title, tuple(parts)))
    return PromptFile(model.header[1:], tuple(entries))


def _base_parts(base: PromptFile) -> list[BasePart]:
    """Return the messages and parts of a base that have a name of their own."""
    found: list[BasePart] = []
    names = numbered([entry.title.kind for entry in base.entries])
    for number, (entry, name) in enumerate(zip(base.entries, names, strict=True)):
        found.append(BasePart(f"{AS_THERE}{name}", number, entry.parts))
        # A part without a text is no longer than its name.
        found += [
            BasePart(f"{AS_THERE}{name} > {name_of(part) or 'text'}", number, (part,))
            for part in entry.parts
            if part.text
        ]
    counts = Counter(it.mark for it in found)
    return [it for it in found if counts[it.mark] == 1]
