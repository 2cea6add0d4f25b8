"""The diff of two prompts: what changed, what it costs in tokens, and what a cache still serves."""

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
from promptdsl.comparing.tokens import TokenShift, as_json, target_of, tokens_of, tokens_of_change
from promptdsl.tokens import counter


@attrs.frozen
class LibraryShift:
    """A section library that has another version in the second prompt.

    A library that is in one prompt alone is a change of the header.
    """

    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"library `{self.name}` {self.before or '-'} -> {self.after or '-'}"


@attrs.frozen(slots=False)
class PromptDiff:
    """What changed from one prompt to another; it is false when nothing did.

    ``before`` and ``after`` are the prompts as snapshots keep them. ``changes`` are those of the
    header, of the tools and messages in order, and of the cache marks. ``libraries`` are those of
    another version, which are known for rendered prompts alone.

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
        """All that changed in one sentence; empty for equal prompts."""
        without_total = [it for it in self.changes if it.place != (HEADER, "tokens")]
        libraries = [str(library) for library in self.libraries]
        return "; ".join(filter(None, (sentence(without_total), *libraries))) or sentence(
            self.changes
        )

    @property
    def costs(self) -> list[str]:
        """The tokens, and where the shared prefix ends, in sentences, where they are known."""
        prefix = "" if self.prefix is None or self.prefix.is_whole else str(self.prefix)
        return [*filter(None, (str(self.tokens), prefix))]

    @cached_property
    def tokens(self) -> TokenShift:
        """The totals of both prompts, and how they were counted; those of snapshots are rounded."""
        return tokens_of(self.before, self.after, sum(map(self.tokens_of, self.changes)))

    @cached_property
    def prefix(self) -> SharedPrefix | None:
        """The beginning that a prompt cache can serve; ``None`` for two models, as none is shared.

        It is an estimate for snapshots, and for prompts without a target.
        """
        if self._requests is None:
            return prefix_of_files(self.before, self.after, self._count)
        return prefix_of_requests(*self._requests, self._count)

    @cached_property
    def _count(self) -> Callable[[str], int]:
        return counter(target_of(self.after)[0]).of

    def tokens_of(self, change: Change) -> int:
        """Return the tokens that a change adds, below 0 for those it removes.

        They are counted as those of the second prompt are.
        """
        return tokens_of_change(change, self._count)

    def __str__(self) -> str:
        if not self:
            return "\n".join(["nothing changed", *self.costs])
        return "\n".join([self.sentence, *self.costs, *change_lines(self.changes, self.after)])

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the diff as JSON data: applied to the first prompt, it gives the second."""
        return {
            "sentence": self.sentence,
            "tokens": as_json(self.tokens),
            "prefix": self.prefix and self.prefix.to_dict(),
            "libraries": [as_json(library) for library in self.libraries],
            "changes": [
                {**as_json(change), "tokens": self.tokens_of(change)} for change in self.changes
            ],
        }


def diff(before: Any, after: Any) -> PromptDiff:  # Any: whatever render() takes
    """Return what changed from one prompt to another.

    Each is a prompt, what :func:`render` returned, or a :class:`PromptFile` that was read from a
    snapshot. A prompt is rendered for no model. Raises what ``render()`` raises.

    >>> from promptdsl import Section, System, diff, render
    >>> one, two = (render(System(Section("role", text))) for text in ("Be brief.", "Be kind."))
    >>> found = diff(one, two)
    >>> [(change.kind, change.place, change.after) for change in found.changes]
    [('changed', ('system', 'role'), 'Be kind.')]
    >>> found.tokens.before, found.tokens.after
    (10, 10)
    """
    old, new = (
        it if isinstance(it, Rendered | PromptFile) else render(it) for it in (before, after)
    )
    first, second = (it if isinstance(it, PromptFile) else prompt_file(it) for it in (old, new))
    both = (old, new) if isinstance(old, Rendered) and isinstance(new, Rendered) else None
    # A snapshot knows no versions; a library that came or went is a change of the header.
    versions = dict(second.libraries)
    shifts = [
        LibraryShift(name, version, versions[name])
        for name, version in first.libraries
        if versions.get(name, version) != version
    ]
    return PromptDiff(first, second, tuple(changes(first, second)), tuple(shifts), both)
