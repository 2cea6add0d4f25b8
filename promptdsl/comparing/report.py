"""The report on many prompts: which differ, and which changes they have in common."""

from collections import Counter
from functools import cached_property
from typing import Any

import attrs

from promptdsl.comparing.changes import Change
from promptdsl.comparing.comparison import PromptComparison
from promptdsl.comparing.groups import ChangeGroup, groups_of, key_of, own_changes
from promptdsl.comparing.markdown import report_markdown
from promptdsl.comparing.report_text import report_text, tokens_text
from promptdsl.comparing.tokens import TokenShift


@attrs.frozen(slots=False)
class DiffReport:
    """The differences of many prompts, with equal changes in groups; false when nothing differs.

    >>> from promptdsl import Section, System, diff
    >>> from promptdsl.comparing import DiffReport, PromptComparison
    >>> one, two = (System(Section("rules", rule)) for rule in ("Be brief.", "Be kind."))
    >>> names = "answer", "refund"
    >>> report = DiffReport(tuple(PromptComparison(it, "changed", diff(one, two)) for it in names))
    >>> report.sentence, report.groups[0].sentence
    ('2 of 2 prompts differ', '`rules` changed alike in 2 prompts')
    """

    prompts: tuple[PromptComparison, ...]

    def __bool__(self) -> bool:
        return any(prompt.status != "same" for prompt in self.prompts)

    @cached_property
    def groups(self) -> tuple[ChangeGroup, ...]:
        """The changes, equal ones of several prompts together."""
        return groups_of([prompt.diff for prompt in self.prompts])

    @cached_property
    def shared(self) -> tuple[ChangeGroup, ...]:
        """The groups of more than one prompt."""
        return tuple(group for group in self.groups if len({*group.prompts}) > 1)

    def alone(self, number: int) -> list[Change]:
        """Return the changes that a prompt shares with no other one."""
        diff = self.prompts[number].diff
        shared = self._shared_keys
        return [it for it in own_changes(diff) if key_of(it) not in shared] if diff else []

    @cached_property
    def _shared_keys(self) -> set[object]:
        return {key_of(group.change) for group in self.shared}

    @property
    def sentence(self) -> str:
        """How many prompts differ, and how where they do not only have changes."""
        counts = Counter(prompt.status for prompt in self.prompts)
        total, same = len(self.prompts), counts.pop("same", 0)
        noun = "prompt" if total == 1 else "prompts"
        if same == total:
            return f"none of {total:,} {noun} differs"
        verb = "differs" if total - same == 1 else "differ"
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
        text = f"{total - same:,} of {total:,} {noun} {verb}"
        return text if {*counts} == {"changed"} else f"{text}: {kinds}"

    @property
    def tokens(self) -> TokenShift:
        """The totals of the prompts that differ and are on both sides."""
        shifts = [prompt.diff.tokens for prompt in self.prompts if prompt.diff]
        known = [it for it in shifts if it.before is not None and it.after is not None]
        labels = {it.label for it in known}
        return TokenShift(
            sum(it.before or 0 for it in known) if known else None,
            sum(it.after or 0 for it in known) if known else None,
            labels.pop() if len(labels) == 1 else "",
            all(it.is_exact for it in known),
        )

    @property
    def costs(self) -> tuple[str, ...]:
        """The totals of tokens, and how many prompts lose their cached prefix, in lines."""
        prefixes = [prompt.diff.prefix for prompt in self.prompts if prompt.diff]
        lost = sum(bool(prefix and prefix.lost_marks) for prefix in prefixes)
        told = (
            f"{lost:,} prompts lose their cached prefix"
            if lost > 1
            else "1 prompt loses its cached prefix"
        )
        return tuple(filter(None, (tokens_text(self.tokens), told if lost else "")))

    @property
    def text(self) -> str:
        """The report as text for a terminal, without colours."""
        return report_text(self)

    @property
    def markdown(self) -> str:
        """The report as Markdown, for the summary or a comment of a pull request on GitHub.

        It has at most 65,000 characters: what is left out then is said at its end.
        """
        return report_markdown(self)

    @property
    def html(self) -> str:
        """The report as one page that loads nothing."""
        from promptdsl.comparing.page import page

        return page(self.prompts, self.groups)

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the report as JSON data; groups have the numbers of their prompts."""
        return {
            "sentence": self.sentence,
            "tokens": attrs.asdict(self.tokens),
            "groups": [group.to_dict() for group in self.groups],
            "prompts": [prompt.to_dict() for prompt in self.prompts],
        }
