"""Many pairs of compared prompts: how many differ, which changes they share, what these cost."""

from collections import Counter
from functools import cached_property
from typing import Any, Literal, TypeAlias

import attrs

from promptdsl.comparing.changes import Change
from promptdsl.comparing.groups import ChangeGroup, group_of, key_of, primary_changes
from promptdsl.comparing.prompt_diff import PromptDiff
from promptdsl.foundation.errors import counted

Status: TypeAlias = Literal["same", "changed", "added", "removed", "renamed", "unreadable"]


@attrs.frozen
class PromptComparison:
    """One prompt of a report, by its name: the path of its snapshot, or its target.

    ``diff`` is ``None`` for a prompt that is only on one side, and for a prompt that cannot be
    read; ``problem`` is the reason. ``was`` is the old name of a snapshot whose file was renamed.
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
    """The facts of a report; its text, its Markdown and its page are made from them."""

    prompts: tuple[PromptComparison, ...]

    def __bool__(self) -> bool:
        return any(prompt.status != "same" for prompt in self.prompts)

    @cached_property
    def groups(self) -> tuple[ChangeGroup, ...]:
        """The changes in groups of equal ones; the groups with the most prompts come first."""
        members: dict[object, list[tuple[int, PromptDiff, Change]]] = {}
        for number, prompt in enumerate(self.prompts):
            if diff := prompt.diff:
                for change in primary_changes(diff.changes):
                    members.setdefault(key_of(change), []).append((number, diff, change))
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
        """How many prompts differ, and how many were added, removed, renamed or are unreadable."""
        counts = Counter(prompt.status for prompt in self.prompts)
        total, same = len(self.prompts), counts.pop("same", 0)
        prompts = counted(total, "prompt", "prompts")
        if same == total:
            return f"none of {prompts} differs"
        verb = "differs" if total - same == 1 else "differ"
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
        text = f"{total - same:,} of {prompts} {verb}"
        return text if {*counts} == {"changed"} else f"{text}: {kinds}"

    @property
    def tokens(self) -> int:
        """The tokens that all prompts on both sides gain; negative if they lose tokens."""
        return sum(prompt.diff.tokens.added for prompt in self.prompts if prompt.diff)

    @property
    def costs(self) -> str:
        """The tokens, and how many prompts lose their cached prefix; empty for neither."""
        prefixes = [prompt.diff.prefix for prompt in self.prompts if prompt.diff]
        lost = sum(bool(prefix and prefix.lost_marks) for prefix in prefixes)
        prefix = f"{lost:,} lose their cached prefix" if lost > 1 else "1 loses its cached prefix"
        tokens = f"{self.tokens:+,} tokens in all" if self.tokens else ""
        return "; ".join(filter(None, (tokens, prefix if lost else "")))
