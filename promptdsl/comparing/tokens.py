"""The tokens of a diff: the totals of both prompts, and the tokens that each change adds."""

import re
from collections.abc import Callable
from typing import Any

import attrs

from promptdsl import ProviderId, ProviderName
from promptdsl.comparing.changes import HEADER, Change
from promptdsl.comparing.snapshot_file import PromptFile

_TOTAL = re.compile(r"(~?)([\d,]+) \((.+)\)")
_MODEL = re.compile(r"(.*?) ?(?:\((\w+)\))?")
_NOT_SENT = re.compile(r"^(?:──▶ |─▷ |─⚑|─= |─■ (?:image|audio|video|document|text)\b).*\n?", re.M)
"""A line of a file that is not text: a title, a section, a cache mark or an attachment."""
_KIND = re.compile(r"^─■ ?\w*", re.MULTILINE)
"""The kind of a block; the words after it are sent: the name of a tool, the id of a call."""


@attrs.frozen
class TokenShift:
    """The tokens of two prompts, and how those of the second were counted.

    They are exact for rendered prompts. The total of a snapshot is rounded, so ``added`` is the sum
    of the tokens that its changes add. ``None`` means that a total is not known. ``label_before``
    is how the first prompt was counted, if it was counted in another way.

    >>> from promptdsl import System, diff
    >>> print(diff(System("Be brief."), System("Be very brief, and kind.")).tokens)
    8 -> 12 tokens, +4 (o200k_base)
    """

    before: int | None
    after: int | None
    label: str
    is_exact: bool
    added: int
    label_before: str = ""

    def __str__(self) -> str:
        if self.before is None and self.after is None:
            return ""
        sign = "" if self.is_exact else "~"
        totals = ["?" if n is None else f"{sign}{n:,}" for n in (self.before, self.after)]
        if self.label_before:
            return f"{totals[0]} tokens ({self.label_before}) -> {totals[1]} ({self.label})"
        text = f"{' -> '.join(dict.fromkeys(totals))} tokens"
        text += f", {self.added:+,}" if self.added else ""
        return text + (f" ({self.label})" if self.label else "")


def tokens_of(before: PromptFile, after: PromptFile, counted: int) -> TokenShift:
    """Return the totals of two prompts; those of snapshots are rounded.

    ``counted`` are the tokens that the changes add, counted for the model of the second prompt.
    """
    (before_rounded, old), (after_rounded, label) = map(_rounded_total, (before, after))
    other = old if label not in ("", old) else ""
    if before.total is None or after.total is None:
        # A snapshot has no volatile values, so the values of the other prompt do not count either.
        return TokenShift(before_rounded, after_rounded, label, False, counted, other)
    added = counted if other else after.total - before.total
    return TokenShift(before.total, after.total, label, True, added, other)


def total_of(file: PromptFile) -> int | None:
    """Return the tokens of a prompt, rounded for a snapshot; ``None`` if they are not known."""
    return _rounded_total(file)[0] if file.total is None else file.total


def _rounded_total(file: PromptFile) -> tuple[int | None, str]:
    """Return the total in the header, and how it was counted."""
    total = _TOTAL.fullmatch(dict(file.header).get("tokens", ""))
    return (int(total[2].replace(",", "")), total[3]) if total else (None, "")


def target_of(file: PromptFile) -> tuple[str | None, ProviderName | None]:
    """Return the model and the provider that a snapshot names."""
    target = _MODEL.fullmatch(dict(file.header).get("model", ""))
    model, name = target.groups() if target else (None, None)
    provider = None if name is None else ProviderId(name)
    return None if model in ("", "none") else model, provider


def tokens_of_change(change: Change, count: Callable[[str], int]) -> int:
    """Return the tokens of the texts that a change adds; negative if it removes more.

    Attachments and the frame of a request around its messages are not counted.
    """
    if change.location[0] == HEADER or change.kind in ("role", "renamed", "cache"):
        return 0
    before, after = (
        # Lines that are not sent are removed.
        _KIND.sub("", _NOT_SENT.sub("", lines)) if "─" in lines else lines
        for lines in (change.before or "", change.after or "")
    )
    return count(after) - count(before)


def as_json(value: attrs.AttrsInstance) -> dict[str, Any]:  # Any: JSON data
    """Return the fields of a value as JSON data."""
    return attrs.asdict(
        value, value_serializer=lambda _, __, field: [*field] if type(field) is tuple else field
    )


def change_json(change: Change) -> dict[str, Any]:  # Any: JSON data
    """Return a change as JSON data. ``place`` is the old name of ``location``."""
    return {**as_json(change), "place": [*change.location]}
