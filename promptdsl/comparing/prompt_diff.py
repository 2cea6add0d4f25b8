"""The diff of two prompts: the changes, their cost in tokens, and what a cache still serves."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import attrs

from promptdsl import Rendered, render
from promptdsl.comparing.canonical import prompt_file
from promptdsl.comparing.changes import HEADER, Change, changes
from promptdsl.comparing.prefix import SharedPrefix, prefix_of_files, prefix_of_requests
from promptdsl.comparing.snapshot_file import PromptFile
from promptdsl.comparing.text import change_lines, sentence
from promptdsl.comparing.tokens import (
    TokenShift,
    as_json,
    change_json,
    target_of,
    tokens_of,
    tokens_of_change,
)
from promptdsl.tokens import counter


@attrs.frozen
class LibraryShift:
    """A section library that has another version in the second prompt.

    A library that is only in one prompt is a change of the header.
    """

    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"library `{self.name}` {self.before or '-'} -> {self.after or '-'}"


@attrs.frozen(slots=False)
class PromptDiff:
    """What changed from one prompt to another; it is false if nothing changed.

    ``before`` and ``after`` are the prompts as snapshots. ``changes`` are the changes of the
    header, then of the tools and messages in order, then of the cache marks. ``libraries`` are the
    section libraries whose version changed; they are only known for rendered prompts.

    >>> from promptdsl import Section, System, diff
    >>> change = diff(System(Section("role", "Be brief.")), System(Section("role", "Be kind.")))
    >>> change.sentence
    '`role` changed: 1 line'
    """

    before: PromptFile
    after: PromptFile
    changes: tuple[Change, ...]
    libraries: tuple[LibraryShift, ...] = ()
    _requests: tuple[Rendered, Rendered] | None = attrs.field(default=None, eq=False, repr=False)

    def __bool__(self) -> bool:
        return bool(self.changes or self.libraries)

    @cached_property
    def sentence(self) -> str:
        """All changes in one sentence; empty for equal prompts."""
        without_total = [change for change in self.changes if change.location != (HEADER, "tokens")]
        libraries = [str(library) for library in self.libraries]
        return "; ".join(filter(None, (sentence(without_total), *libraries))) or sentence(
            self.changes
        )

    @property
    def costs(self) -> list[str]:
        """The sentences on the tokens and on the shared prefix, as far as these are known."""
        prefix = "" if self.prefix is None or self.prefix.is_complete else str(self.prefix)
        return [*filter(None, (str(self.tokens), prefix))]

    @cached_property
    def tokens(self) -> TokenShift:
        """The tokens of both prompts, and how they were counted; those of snapshots are rounded."""
        return tokens_of(self.before, self.after, sum(map(self.tokens_of, self.changes)))

    @cached_property
    def prefix(self) -> SharedPrefix | None:
        """The beginning that a prompt cache can serve; ``None`` for two different models.

        It is an estimate for snapshots, and for prompts without a target.
        """
        if self._requests is None:
            return prefix_of_files(self.before, self.after, self._count)
        return prefix_of_requests(*self._requests, self._count)

    @cached_property
    def _count(self) -> Callable[[str], int]:
        return counter(target_of(self.after)[0]).of

    def tokens_of(self, change: Change) -> int:
        """Return the tokens that a change adds; negative if it removes more.

        They are counted for the model of the second prompt.
        """
        return tokens_of_change(change, self._count)

    def __str__(self) -> str:
        if not self:
            return "\n".join(["nothing changed", *self.costs])
        return "\n".join([self.sentence, *self.costs, *change_lines(self.changes, self.after)])

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the diff as JSON data; its changes turn the first prompt into the second."""
        return {
            "sentence": self.sentence,
            "tokens": as_json(self.tokens),
            "prefix": self.prefix and self.prefix.to_dict(),
            "libraries": [as_json(library) for library in self.libraries],
            "changes": [
                {**change_json(change), "tokens": self.tokens_of(change)} for change in self.changes
            ],
        }


def diff(before: Any, after: Any) -> PromptDiff:  # Any: whatever render() takes
    """Return what changed from one prompt to another.

    Each is a prompt, the result of :func:`render`, or a :class:`PromptFile` from a snapshot. A
    prompt is rendered without a model. Raises what ``render()`` raises.

    >>> from promptdsl import Section, System, diff, render
    >>> old, new = (render(System(Section("role", text))) for text in ("Be brief.", "Be kind."))
    >>> difference = diff(old, new)
    >>> [(change.kind, change.location, change.after) for change in difference.changes]
    [('changed', ('system', 'role'), 'Be kind.')]
    >>> difference.tokens.before, difference.tokens.after
    (10, 10)
    """
    old, new = (
        side if isinstance(side, Rendered | PromptFile) else render(side)
        for side in (before, after)
    )
    first, second = (
        side if isinstance(side, PromptFile) else prompt_file(side) for side in (old, new)
    )
    both = (old, new) if isinstance(old, Rendered) and isinstance(new, Rendered) else None
    # A snapshot has no versions; an added or removed library is a change of the header.
    versions = dict(second.libraries)
    shifts = [
        LibraryShift(name, version, versions[name])
        for name, version in first.libraries
        if versions.get(name, version) != version
    ]
    return PromptDiff(first, second, tuple(changes(first, second)), tuple(shifts), both)
