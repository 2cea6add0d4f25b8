"""The report on many prompts: which prompts differ, and which changes they share."""

from typing import Any

import attrs

from promptdsl.comparing.compared_prompts import ComparedPrompts
from promptdsl.comparing.markdown import report_markdown
from promptdsl.comparing.report_text import report_text

MARKS = {"text": "-- promptdsl diff", "markdown": "<!-- promptdsl diff -->"}
"""The last line of a report in a file, by format: a new report may replace such a file."""
_BEGINNINGS = (
    '{\n  "sentence": "',
    '{\n  "shared": ',
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta http-equiv="Content-Security-Policy" content="default-src &#x27;none&#x27;; style-src',
)
"""How reports in JSON and HTML begin."""


def is_report(text: str) -> bool:
    """Return whether a text is the content of a file that a report was written to."""
    return text.startswith(_BEGINNINGS) or text.endswith(
        tuple(f"\n{mark}\n" for mark in MARKS.values())
    )


@attrs.frozen(slots=False)
class DiffReport(ComparedPrompts):
    """The differences of many prompts, with equal changes in groups; false when nothing differs.

    >>> from promptdsl import Section, System, diff
    >>> from promptdsl.comparing import DiffReport, PromptComparison
    >>> old, new = (System(Section("rules", rule)) for rule in ("Be brief.", "Be kind."))
    >>> pairs = [PromptComparison(name, "changed", diff(old, new)) for name in ("answer", "refund")]
    >>> report = DiffReport(tuple(pairs))
    >>> report.sentence, report.groups[0].sentence
    ('2 of 2 prompts differ', '`rules` changed alike in 2 prompts')
    """

    @property
    def text(self) -> str:
        """The report as text for a terminal, without colours."""
        return report_text(self)

    @property
    def markdown(self) -> str:
        """The report as Markdown, for the summary or a comment of a pull request on GitHub.

        It has at most 65,000 characters; its end says what was left out.
        """
        return report_markdown(self)

    @property
    def html(self) -> str:
        """The report as one page that loads nothing."""
        from promptdsl.comparing.diff_page import page

        return page(self)

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the report as JSON data; groups have the indices of their prompts."""
        return {
            "sentence": self.sentence,
            "tokens": self.tokens,
            "groups": [group.to_dict() for group in self.groups],
            "prompts": [prompt.to_dict() for prompt in self.prompts],
        }
