"""One prompt of a report: what became of it, and how it differs."""

from typing import Any, Literal, TypeAlias

import attrs

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

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the prompt as JSON data."""
        fields = attrs.asdict(self, filter=lambda field, _: field.name != "diff")
        return {**fields, "diff": self.diff.to_dict() if self.diff else None}
