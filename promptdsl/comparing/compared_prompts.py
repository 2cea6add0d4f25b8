"""Many pairs of compared prompts: how many differ, and which changes they share.

In this order: the snapshots of one prompt for several models, groups of equal changes, the pairs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.comparing.alignment import Kept, Removed, aligned
from promptdsl.comparing.changes import HEADER, Change, name_of, numbered
from promptdsl.comparing.costs import change_json
from promptdsl.comparing.prompt_diff import PromptDiff
from promptdsl.comparing.snapshot_file import FileEntry, FilePart, PromptFile, SnapshotFormatError
from promptdsl.comparing.text import hunks_of, sentence
from promptdsl.foundation.errors import counted

# Snapshots of one prompt for several models: a base, and for each model the differences.
#
# The base is the snapshot without a model. The snapshot of a model has all messages in the order
# and with the roles in which they are sent. A mark ``─= name`` stands for the entry or part of the
# base with this name.

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


# Groups of equal changes in many prompts: what a report shows once for all of them.

Edits: TypeAlias = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
"""The removed and the added lines of each hunk of a change."""


@attrs.frozen
class ChangeGroup:
    """Changes that are equal in several prompts: the same kind, location and edits.

    ``change`` is the change of the first prompt. ``edits`` are the removed and the added lines of
    each hunk, without the equal lines around them. ``prompts`` are the indices of the prompts in
    the report. ``tokens`` is how many tokens each of them gains. ``lost`` are the indices of the
    prompts whose cached prefix the change breaks.
    """

    change: Change
    edits: Edits
    prompts: tuple[int, ...]
    tokens: tuple[int, ...]
    lost: tuple[int, ...] = ()

    @property
    def loss(self) -> str:
        """The number of prompts that lose their cached prefix, as text; empty for none."""
        lost = len(self.lost)
        return f"{lost:,} lose{'' if lost > 1 else 's'} the cached prefix" if lost else ""

    @property
    def sentence(self) -> str:
        """The group in one sentence: the change, the number of prompts, and the cost of each."""
        prompts = len({*self.prompts})
        what, _, more = sentence([self.change]).partition("; ")
        alike = ""
        if self.change.kind == "changed" and self.change.location[0] != HEADER:
            what = f"`{self.change.location[-1]}` changed"
            alike = " alike" if prompts > 1 else ""
        text = f"{what}{alike} in {prompts:,} prompt{'s' if prompts != 1 else ''}"
        each = f"{tokens_each(self.tokens)}{' each' if prompts > 1 else ''}"
        costs = "; ".join(filter(None, (each if any(self.tokens) else "", self.loss, more)))
        return ": ".join(filter(None, (text, costs)))

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the group as JSON data."""
        edits = [{"removed": [*removed], "added": [*added]} for removed, added in self.edits]
        return {
            "sentence": self.sentence,
            "change": change_json(self.change),
            "edits": edits,
            "prompts": [*self.prompts],
            "tokens": [*self.tokens],
            "lost": [*self.lost],
        }


def primary_changes(changes: Sequence[Change]) -> Iterator[Change]:
    """Yield the changes that do not only follow from other ones, as some header lines do."""
    has_marks = any(change.kind == "cache" for change in changes)
    follows = {(HEADER, "tokens"), (HEADER, "cache") if has_marks else ()}
    for change in changes:
        if not change.minor and change.location not in follows:
            yield change


def key_of(change: Change) -> tuple[object, ...]:
    """Return the key of a change: equal changes have equal keys."""
    return change.kind, change.location, change.was, change.now, edits_of(change)


def edits_of(change: Change) -> Edits:
    """Return the removed and the added lines of each hunk of a change."""
    hunks = hunks_of(change)
    return tuple((tuple(hunk.removed), tuple(hunk.added)) for hunk in hunks if hunk[1] or hunk[2])


def tokens_each(tokens: Sequence[int]) -> str:
    """Return the tokens that prompts gain as text: one number, or the smallest and the largest.

    >>> tokens_each([12, 12]), tokens_each([-1]), tokens_each([10, 1400])
    ('+12 tokens', '-1 token', '+10 to +1,400 tokens')
    """
    figures = [f"{figure:+,}" for figure in sorted({min(tokens), max(tokens)})]
    return f"{' to '.join(figures)} token{'' if figures in (['+1'], ['-1']) else 's'}"


def group_of(members: Sequence[tuple[int, PromptDiff, Change]]) -> ChangeGroup:
    """Return the group of equal changes; each has the index and the diff of its prompt."""
    change = members[0][2]
    return ChangeGroup(
        change,
        edits_of(change),
        tuple(number for number, _, _ in members),
        tuple(diff.tokens_of(change) for _, diff, change in members),
        tuple(dict.fromkeys(number for number, diff, equal in members if _breaks(diff, equal))),
    )


def _breaks(diff: PromptDiff, change: Change) -> bool:
    """Return whether a change broke the cached prefix of a prompt."""
    broken_by = diff.prefix.broken_by if diff.prefix and diff.prefix.lost_marks else None
    # A new or moved cache mark divides a block, but changes no text.
    is_mark = broken_by == "" and change.kind == "cache"
    return is_mark or broken_by == " > ".join(change.location)


# Many pairs of compared prompts: how many differ, which changes they share, what these cost.

Status: TypeAlias = Literal["same", "changed", "added", "removed", "renamed", "unreadable"]


@attrs.frozen
class PromptComparison:
    """One prompt of a report, by its name: the path of its snapshot, or its target.

    ``diff`` is ``None`` for a prompt that is only on one side, and for a prompt that cannot be
    read; ``problem`` is the reason. ``was`` is the old name of a snapshot whose file was renamed.
    """

    name: str
    status: Status
    diff: PromptDiff | None = None
    was: str = ""
    problem: str = ""
    model: str = ""

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the prompt as JSON data."""
        fields = attrs.asdict(self, filter=lambda field, _: field.name != "diff")
        return {**fields, "diff": self.diff.to_dict() if self.diff else None}


@attrs.frozen(slots=False)
class ComparedPrompts:
    """The facts of a report; its text, its Markdown and its page are made from them."""

    prompts: tuple[PromptComparison, ...]

    def __bool__(self) -> bool:
        return any(prompt.status != "same" for prompt in self.prompts)

    @cached_property
    def groups(self) -> tuple[ChangeGroup, ...]:
        """The changes in groups of equal ones; the groups with the most prompts come first."""
        members: dict[object, list[tuple[int, PromptDiff, Change]]] = {}
        for number, prompt in enumerate(self.prompts):
            if diff := prompt.diff:
                for change in primary_changes(diff.changes):
                    members.setdefault(key_of(change), []).append((number, diff, change))
        groups = map(group_of, members.values())
        return tuple(sorted(groups, key=lambda group: -len({*group.prompts})))

    @cached_property
    def shared(self) -> tuple[ChangeGroup, ...]:
        """The groups of more than one prompt."""
        return tuple(group for group in self.groups if len({*group.prompts}) > 1)

    def alone(self, number: int) -> list[Change]:
        """Return the changes of a prompt that no other prompt has."""
        diff = self.prompts[number].diff
        shared = self._shared_keys
        if not diff:
            return []
        return [change for change in primary_changes(diff.changes) if key_of(change) not in shared]

    @cached_property
    def _shared_keys(self) -> set[object]:
        return {key_of(group.change) for group in self.shared}

    @property
    def sentence(self) -> str:
        """How many prompts differ, and how many were added, removed, renamed or are unreadable."""
        counts = Counter(prompt.status for prompt in self.prompts)
        total, same = len(self.prompts), counts.pop("same", 0)
        prompts = counted(total, "prompt", "prompts")
        if same == total:
            return f"none of {prompts} differs"
        verb = "differs" if total - same == 1 else "differ"
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
        text = f"{total - same:,} of {prompts} {verb}"
        return text if {*counts} == {"changed"} else f"{text}: {kinds}"

    @property
    def tokens(self) -> int:
        """The tokens that all prompts on both sides gain; negative if they lose tokens."""
        return sum(prompt.diff.tokens.added for prompt in self.prompts if prompt.diff)

    @property
    def costs(self) -> str:
        """The tokens, and how many prompts lose their cached prefix; empty for neither."""
        prefixes = [prompt.diff.prefix for prompt in self.prompts if prompt.diff]
        lost = sum(bool(prefix and prefix.lost_marks) for prefix in prefixes)
        prefix = f"{lost:,} lose their cached prefix" if lost > 1 else "1 loses its cached prefix"
        tokens = f"{self.tokens:+,} tokens in all" if self.tokens else ""
        return "; ".join(filter(None, (tokens, prefix if lost else "")))
