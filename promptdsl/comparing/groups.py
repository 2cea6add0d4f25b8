"""Groups of equal changes in many prompts: what a report shows once for all of them."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import attrs

from promptdsl.comparing.changes import HEADER, Change
from promptdsl.comparing.lines import hunks_of
from promptdsl.comparing.prompt_diff import PromptDiff
from promptdsl.comparing.text import sentence
from promptdsl.comparing.tokens import change_json

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
