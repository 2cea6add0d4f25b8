"""Groups of equal changes in many prompts."""

from collections.abc import Sequence
from typing import TypeAlias

import attrs

from promptdsl.comparing.changes import Change
from promptdsl.comparing.lines import hunks_of
from promptdsl.comparing.prompt_diff import PromptDiff

Edits: TypeAlias = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
"""The removed and the added lines of each hunk of a change."""


@attrs.frozen
class ChangeGroup:
    """Changes that are equal in several prompts: of one kind, at one place, with the same edits.

    ``edits`` are the removed and the added lines of each hunk, without the equal lines around them.
    ``prompts`` are the numbers of the prompts in the report, ``tokens`` what each of them gains by
    the change.
    """

    change: Change
    edits: Edits
    prompts: tuple[int, ...]
    tokens: tuple[int, ...]


def groups_of(diffs: Sequence[PromptDiff | None]) -> tuple[ChangeGroup, ...]:
    """Return the groups, those of most prompts first; ``None`` stands for a prompt without diff."""
    found: dict[object, list[tuple[int, Change]]] = {}
    for number, diff in enumerate(diffs):
        for change in diff.changes if diff else ():
            if not change.minor and change.place != ("header", "tokens"):
                key = change.kind, change.place, change.was, change.now, edits_of(change)
                found.setdefault(key, []).append((number, change))
    groups = [
        ChangeGroup(
            members[0][1],
            edits_of(members[0][1]),
            tuple(number for number, _ in members),
            tuple(diff.tokens_of(it) for number, it in members if (diff := diffs[number])),
        )
        for members in found.values()
    ]
    return tuple(sorted(groups, key=lambda group: -len(group.prompts)))


def edits_of(change: Change) -> Edits:
    """Return the removed and the added lines of each hunk of a change."""
    hunks = hunks_of(change)
    return tuple((tuple(hunk.removed), tuple(hunk.added)) for hunk in hunks if hunk[1] or hunk[2])
