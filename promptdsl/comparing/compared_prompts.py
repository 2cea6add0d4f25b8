"""Many pairs of compared prompts: how many differ, and which changes they share.

In this order: the snapshots of one prompt for several models, groups of equal changes, the pairs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.comparing.alignment import KeptItem, RemovedItem, aligned
from promptdsl.comparing.changes import HEADER, Change, name_of, numbered
from promptdsl.comparing.costs import change_json
from promptdsl.comparing.prompt_diff import PromptDiff
from promptdsl.comparing.snapshot_file import FileEntry, FilePart, PromptFile, SnapshotFormatError
from promptdsl.comparing.text import hunks_of, sentence
from promptdsl.foundation.errors import counted

# Snapshots of one prompt for several models: a base, and for each model the differences.
#
# The base is the snapshot without a model. The snapshot of a model has all messages, in the order
# and with the roles in which they are sent. A sign ``─= name`` replaces the entry or the part of
# the base that has this name.

BASE_SIGN = "─= "
"""The beginning of a sign that replaces an entry or a part of the base."""
BASE_LINE = ("base", "the snapshot without a model; ─= names a text that is there")
"""The first line of the header of a snapshot that has only the differences from its base."""


class BasePart(NamedTuple):
    """All parts of an entry of the base, or one of its parts, and the sign that replaces them."""

    sign: str
    entry_index: int
    parts: tuple[FilePart, ...]


def difference(base: PromptFile, full: PromptFile) -> PromptFile:
    """Return a file with only the differences from its base.

    :func:`applied` makes the full file from it.

    >>> base, full = (
    ...     PromptFile((), (FileEntry(title, (FilePart("", "Hi."),)),))
    ...     for title in ("event", "event as user")
    ... )
    >>> [(str(entry.title), entry.parts) for entry in difference(base, full).entries]
    [('event as user', (FilePart(sign='─= event', text=''),))]
    """
    # If an entry has only one part, the name of the entry is used: it comes before its parts, so in
    # the reversed order it replaces them.
    base_parts = reversed(_base_parts(base))
    base_signs = {
        (base_part.entry_index, base_part.parts): FilePart(base_part.sign)
        for base_part in base_parts
    }
    steps = aligned(
        base.entries,
        full.entries,
        [
            lambda file_entry: (file_entry.title.kind, file_entry.parts),
            lambda file_entry: file_entry.title.kind,
        ],
        group=lambda file_entry: file_entry.title,
        text=lambda _: "",
    )
    file_entries: list[FileEntry] = []
    for step in steps:
        if isinstance(step, RemovedItem):
            continue
        file_entry = full.entries[step.after]
        origin = step.before if isinstance(step, KeptItem) else -1
        all_parts = base_signs.get((origin, file_entry.parts))
        parts = [
            base_signs.get((origin, (file_part,)), file_part) for file_part in file_entry.parts
        ]
        file_entries.append(
            FileEntry(file_entry.title, (all_parts,) if all_parts else tuple(parts))
        )
    return PromptFile((BASE_LINE, *full.header), tuple(file_entries))


def applied(base: PromptFile, model: PromptFile) -> PromptFile:
    """Return the full file of a model from its base and the difference.

    Raises :class:`SnapshotFormatError` if ``model`` is not the result of :func:`difference`, or
    names an entry or part that the base does not have.
    """
    if model.header[:1] != (BASE_LINE,):
        line = ": ".join(BASE_LINE)
        raise SnapshotFormatError(
            f"the line {line!r} is missing", fix="write the snapshot again with --snapshot-update"
        )
    parts_by_sign = {base_part.sign: base_part.parts for base_part in _base_parts(base)}
    file_entries: list[FileEntry] = []
    for file_entry in model.entries:
        parts: list[FilePart] = []
        for part in file_entry.parts:
            if part.sign.startswith(BASE_SIGN) and part.sign not in parts_by_sign:
                problem = (
                    f"the snapshot without a model has no {part.sign.removeprefix(BASE_SIGN)!r}"
                )
                raise SnapshotFormatError(
                    problem, fix="write both snapshots again with --snapshot-update"
                )
            parts += parts_by_sign.get(part.sign, (part,))
        file_entries.append(FileEntry(file_entry.title, tuple(parts)))
    return PromptFile(model.header[1:], tuple(file_entries))


def _base_parts(base: PromptFile) -> list[BasePart]:
    """Return the entries of a base and their parts, without those that share their name."""
    base_parts: list[BasePart] = []
    names = numbered([file_entry.title.kind for file_entry in base.entries])
    for entry_index, (file_entry, name) in enumerate(zip(base.entries, names, strict=True)):
        base_parts.append(BasePart(f"{BASE_SIGN}{name}", entry_index, file_entry.parts))
        # A part without text is left out: its sign is as short as the sign that would replace it.
        base_parts += [
            BasePart(f"{BASE_SIGN}{name} > {name_of(part) or 'text'}", entry_index, (part,))
            for part in file_entry.parts
            if part.text
        ]
    counts = Counter(part.sign for part in base_parts)
    return [part for part in base_parts if counts[part.sign] == 1]


# Groups of equal changes in many prompts: what a report shows once for all of them.

Edits: TypeAlias = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
"""The removed and the added lines of each hunk of a change."""


@attrs.frozen
class ChangeGroup:
    """Changes of one or more prompts that are equal: the same kind, location and edits.

    ``change`` is the change of the first prompt. ``edits`` are the removed and the added lines of
    each hunk, without the equal lines around them. ``prompts`` are the indices of the prompts in
    the report; a prompt that has the change twice is there twice. ``tokens`` are the tokens that
    each change adds. ``lost`` are the indices of the prompts whose cached prefix the change breaks.
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
        """The group in one sentence: the change, the number of prompts, and the cost for each."""
        prompts = len({*self.prompts})
        what, _, other_clauses = sentence([self.change]).partition("; ")
        alike = ""
        if self.change.kind == "changed" and self.change.location[0] != HEADER:
            what = f"`{self.change.location[-1]}` changed"
            alike = " alike" if prompts > 1 else ""
        text = f"{what}{alike} in {prompts:,} prompt{'s' if prompts != 1 else ''}"
        cost_each = f"{tokens_each(self.tokens)}{' each' if prompts > 1 else ''}"
        costs = "; ".join(
            filter(None, (cost_each if any(self.tokens) else "", self.loss, other_clauses))
        )
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
    """Yield the changes that do not only follow from other changes.

    The header line ``tokens`` follows from all of them, ``cache`` from changed cache marks.
    """
    has_marks = any(change.kind == "cache" for change in changes)
    follows = {(HEADER, "tokens"), (HEADER, "cache") if has_marks else ()}
    for change in changes:
        if not change.minor and change.location not in follows:
            yield change


def key_of(change: Change) -> tuple[object, ...]:
    """Return a key that is equal for two changes if they are one group."""
    return change.kind, change.location, change.was, change.now, edits_of(change)


def edits_of(change: Change) -> Edits:
    """Return the removed and the added lines of each hunk of a change."""
    hunks = hunks_of(change)
    return tuple(
        (tuple(hunk.removed), tuple(hunk.added)) for hunk in hunks if hunk.removed or hunk.added
    )


def tokens_each(tokens: Sequence[int]) -> str:
    """Return the tokens that are added to prompts, as text: one number, or smallest to largest.

    >>> tokens_each([12, 12]), tokens_each([-1]), tokens_each([10, 1400])
    ('+12 tokens', '-1 token', '+10 to +1,400 tokens')
    """
    texts = [f"{count:+,}" for count in sorted({min(tokens), max(tokens)})]
    return f"{' to '.join(texts)} token{'' if texts in (['+1'], ['-1']) else 's'}"


def group_of(members: Sequence[tuple[int, PromptDiff, Change]]) -> ChangeGroup:
    """Return the group of equal changes; a member has the index and the diff of its prompt."""
    change = members[0][2]
    return ChangeGroup(
        change,
        edits_of(change),
        tuple(index for index, _, _ in members),
        tuple(diff.tokens_of(change) for _, diff, change in members),
        tuple(dict.fromkeys(index for index, diff, equal in members if _breaks(diff, equal))),
    )


def _breaks(diff: PromptDiff, change: Change) -> bool:
    """Return whether a change broke the cached prefix of a prompt."""
    broken_by = diff.prefix.broken_by if diff.prefix and diff.prefix.lost_marks else None
    # A new or moved cache mark divides a block. No text changes, so ``broken_by`` is empty. It is
    # ``None`` if no cache mark of the first prompt was lost.
    is_mark = broken_by == "" and change.kind == "cache"
    return is_mark or broken_by == " > ".join(change.location)


# Many pairs of compared prompts: how many differ, which changes they share, what these cost.

Status: TypeAlias = Literal["same", "changed", "added", "removed", "renamed", "unreadable"]


@attrs.frozen
class PromptComparison:
    """One prompt of a report, by its name: the path of its snapshot, or its target.

    ``diff`` is ``None`` for a prompt that is only in one of the two versions, and for a prompt that
    cannot be read: ``problem`` is the reason. ``was`` is the old name of a snapshot whose file was
    renamed.
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
    """The facts of a report on many prompts; it is false if none of them differs."""

    prompts: tuple[PromptComparison, ...]

    def __bool__(self) -> bool:
        return any(prompt.status != "same" for prompt in self.prompts)

    @cached_property
    def groups(self) -> tuple[ChangeGroup, ...]:
        """The changes in groups of equal ones; the groups with the most prompts come first."""
        members: dict[object, list[tuple[int, PromptDiff, Change]]] = {}
        for index, prompt in enumerate(self.prompts):
            if diff := prompt.diff:
                for change in primary_changes(diff.changes):
                    members.setdefault(key_of(change), []).append((index, diff, change))
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
        """How many prompts differ, and how many of them were added, removed, and so on."""
        counts = Counter(prompt.status for prompt in self.prompts)
        total, same_count = len(self.prompts), counts.pop("same", 0)
        prompts = counted(total, "prompt", "prompts")
        if same_count == total:
            return f"none of {prompts} differs"
        verb = "differs" if total - same_count == 1 else "differ"
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
        text = f"{total - same_count:,} of {prompts} {verb}"
        return text if {*counts} == {"changed"} else f"{text}: {kinds}"

    @property
    def tokens(self) -> int:
        """The tokens that are added to all prompts together; negative if more are removed.

        Prompts that are only in one of the two versions are not counted.
        """
        return sum(prompt.diff.tokens.added for prompt in self.prompts if prompt.diff)

    @property
    def costs(self) -> str:
        """The added tokens and the number of prompts that lose their cached prefix, as text."""
        prefixes = [prompt.diff.prefix for prompt in self.prompts if prompt.diff]
        lost = sum(bool(prefix and prefix.lost_marks) for prefix in prefixes)
        prefix = f"{lost:,} lose their cached prefix" if lost > 1 else "1 loses its cached prefix"
        tokens = f"{self.tokens:+,} tokens in all" if self.tokens else ""
        return "; ".join(filter(None, (tokens, prefix if lost else "")))
