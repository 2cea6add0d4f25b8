"""The report on many prompts: which differ, and which changes they have in common."""

from functools import cached_property
from typing import Any

import attrs

from promptdsl.comparing.comparison import PromptComparison
from promptdsl.comparing.groups import ChangeGroup, groups_of


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
        from promptdsl.comparing.page import page

        return page(self.prompts, self.groups)

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the report as JSON data."""
        raise NotImplementedError
