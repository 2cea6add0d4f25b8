"""Tokens of a diff: the totals of both prompts, and what each change adds."""

import re
from collections.abc import Callable

import attrs

from promptdsl import Rendered
from promptdsl.comparing.changes import Change
from promptdsl.comparing.snapshot_file import PromptFile
from promptdsl.tokens import counter

_TOTAL = re.compile(r"(~?)([\d,]+) \((.+)\)")
_MODEL = re.compile(r"(.*?) ?(?:\((\w+)\))?")


@attrs.frozen
class TokenShift:
    """The tokens of two prompts, and how those of the second were counted.

    The total of a snapshot is rounded: ``is_exact`` is false. ``None`` stands for a total that is
    not known.
    """

    before: int | None
    after: int | None
    label: str
    is_exact: bool


def tokens_of(before: Rendered | PromptFile, after: Rendered | PromptFile) -> TokenShift:
    """Return the totals of two prompts: those of snapshots are rounded."""
    (old, _), (new, label) = _total(before), _total(after)
    is_exact = isinstance(before, Rendered) and isinstance(after, Rendered)
    return TokenShift(old, new, label, is_exact)


def counter_of(file: PromptFile) -> Callable[[str], int]:
    """Return what counts texts for the model of a snapshot."""
    model = _MODEL.fullmatch(dict(file.header).get("model", ""))
    name = model[1] if model else "none"
    return counter(None if name == "none" else name or None).of


def tokens_of_change(change: Change, count: Callable[[str], int]) -> int:
    """Return the tokens that a change adds, below 0 for those it removes."""
    if change.place[0] == "header" or change.kind in ("role", "renamed", "cache"):
        return 0
    return count(change.after or "") - count(change.before or "")


def _total(prompt: Rendered | PromptFile) -> tuple[int | None, str]:
    if isinstance(prompt, Rendered):
        return prompt.tokens.total, prompt.tokens.method
    total = _TOTAL.fullmatch(dict(prompt.header).get("tokens", ""))
    return (int(total[2].replace(",", "")), total[3]) if total else (None, "")
