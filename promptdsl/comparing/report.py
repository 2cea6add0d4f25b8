"""The report on many prompts: which differ, and which changes they have in common."""

from functools import cached_property
from typing import Any, Literal, TypeAlias

import attrs

from promptdsl.comparing.groups import ChangeGroup, groups_of
from promptdsl.comparing.prompt_diff import PromptDiff

Status: TypeAlias = Literal["same", "changed", "added", "removed", "renamed", "unreadable"]


@attrs.frozen
class PromptComparison:
    """One prompt of a report, by its name: the path of its snapshot, or its target.

    ``diff`` is ``None`` for a prompt that is on one side alone, or cannot be read: ``problem`` says
    why. ``was`` is the name before, of a snapshot whose file has another name now.
    """

    name: str
    status: Status
    diff: PromptDiff | None = None
    was: str = ""
    problem: str = ""
    model: str = ""


@attrs.frozen(slots=False)
class DiffReport:
    """The differences of many prompts, with equal changes in groups; false when nothing differs."""

    prompts: tuple[PromptComparison, ...]

    def __bool__(self) -> bool:
        return any(prompt.status != "same" for prompt in self.prompts)

    @cached_property
    def groups(self) -> tuple[ChangeGroup, ...]:
        """The changes, equal ones of several prompts together."""
        return groups_of([prompt.diff for prompt in self.prompts])

    @property
    def text(self) -> str:
        """The report as text for a terminal, without colours."""
        raise NotImplementedError

    @property
    def markdown(self) -> str:
        """The report as Markdown, for the summary of a pull request."""
        raise NotImplementedError

    @property
    def html(self) -> str:
        """The report as one page that loads nothing."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the report as JSON data."""
        raise NotImplementedError
