"""The report on many prompts: as text, as Markdown for a pull request, and in a file.

Read :class:`DiffReport` at the end first; the parts above it make its text and its Markdown.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from promptdsl.comparing.changes import Change
from promptdsl.comparing.compared_prompts import (
    ChangeGroup,
    ComparedPrompts,
    PromptComparison,
    primary_changes,
)
from promptdsl.comparing.snapshot_file import printable, with_brackets
from promptdsl.comparing.text import change_lines, sentence
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.files import atomic_writer

# Writing a report, or another text with prompts in it, to a file.
#
# An older report is overwritten, but never another file of the user.


def write_or_refuse(path: str, text: str, may_replace: Callable[[str], bool]) -> None:
    """Write a text to a file, completely or not at all, and make the folder of the file.

    An existing file is overwritten only if it is empty, or if ``may_replace`` is true for its text,
    such as the text of an older report. Prompts may be confidential, so only the owner can read a
    new file: ``atomic_writer`` takes care of that. Raises :class:`DataError` for a file that may
    not be replaced, and :class:`OSError` if writing fails.
    """
    if os.path.isfile(path):
        old = Path(path).read_bytes().decode(errors="replace")
        if old and not may_replace(old):
            raise DataError(f"{path} has other content", fix="name a new file")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with atomic_writer(path) as write:
        write(text.encode())


# The text of a report: the changes that prompts share, then the other changes of each prompt.

MAX_NAMED_PROMPTS = 40
"""The maximum number of prompts of a group that the text names."""


def report_text(report: ComparedPrompts) -> str:
    """Return the text of a report; for a single prompt, the text of its diff."""
    if len(report.prompts) == 1 and (diff := report.prompts[0].diff) is not None:
        return printable(str(diff))
    lines = ["; ".join(filter(None, (report.sentence, report.costs)))]
    for group in report.shared:
        lines += ("", *_of_group(group, report))
    for index, prompt in enumerate(report.prompts):
        lines += _own_lines(index, prompt, report)
    return printable("\n".join(lines))


def name_of_prompt(prompt: PromptComparison) -> str:
    """Return the name of a prompt on one line, with its model if the name does not contain it."""
    name, model = (with_brackets(text, one_line=True) for text in (prompt.name, prompt.model))
    is_named = model.partition(" ")[0] in name
    return name if is_named or model == "none" else f"{name} [{model}]"


def what_changed(prompt: PromptComparison) -> str:
    """Return the sentence on a prompt: its status, if it is not ``changed``, and its diff."""
    status = {"added": "added", "removed": "removed"}.get(prompt.status, "")
    if prompt.status == "renamed":
        status = f"renamed from `{with_brackets(prompt.was, one_line=True)}`"
    elif prompt.status == "unreadable":
        status = "cannot be read"
    problem = with_brackets(prompt.problem, one_line=True)
    text = "; ".join(filter(None, (status, prompt.diff.sentence if prompt.diff else "")))
    return ": ".join(filter(None, (text, problem))) or "changed"


def own_sentence(index: int, report: ComparedPrompts) -> str:
    """Return the sentence on the changes that only this prompt has.

    It ends with the number of changes that are shown above, as other prompts have them, too.
    """
    prompt, own_changes = report.prompts[index], report.alone(index)
    shared_count = (
        sum(1 for _ in primary_changes(prompt.diff.changes)) - len(own_changes)
        if prompt.diff
        else 0
    )
    if own_changes and shared_count:
        return f"{sentence(own_changes)}; {shared_count} more shown above"
    return what_changed(prompt)


def lines_in(changes: Sequence[Change], prompt: PromptComparison) -> list[str]:
    """Return the lines of changes of a prompt; the list is empty if the prompt has no diff."""
    # The first line is empty.
    return [*change_lines(changes, prompt.diff.after)][1:] if prompt.diff else []


def _of_group(group: ChangeGroup, report: ComparedPrompts) -> Iterator[str]:
    """Yield the lines of a group: its sentence, its change, and the names of its prompts."""
    yield group.sentence
    yield from lines_in([group.change], report.prompts[group.prompts[0]])
    yield "in"
    indices = [*dict.fromkeys(group.prompts)]
    # If all prompts lose the cached prefix, the sentence above already says so.
    losers = {*group.lost} if len(group.lost) < len(indices) else set[int]()
    for index in indices[:MAX_NAMED_PROMPTS]:
        lost = ", which loses the cached prefix" if index in losers else ""
        yield f"  {name_of_prompt(report.prompts[index])}{lost}"
    if indices[MAX_NAMED_PROMPTS:]:
        yield f"  … and {len(indices) - MAX_NAMED_PROMPTS:,} more"


def _own_lines(index: int, prompt: PromptComparison, report: ComparedPrompts) -> Iterator[str]:
    """Yield the lines on the changes that only this prompt has; nothing if it has none."""
    diff = prompt.diff
    if prompt.status == "same":
        return
    own_changes = report.alone(index)
    # All its changes are shared, and shown above.
    if (
        diff
        and not own_changes
        and prompt.status == "changed"
        and any(primary_changes(diff.changes))
    ):
        return
    yield from ("", f"{name_of_prompt(prompt)}: {own_sentence(index, report)}")
    if diff:
        yield from diff.costs
        yield from lines_in(own_changes, prompt)


# The Markdown of a report, for the summary or a comment of a pull request on GitHub.
#
# Prompts and names may be from anybody, so nothing in them may act as Markdown or HTML. The text of
# a prompt is in a code fence that is longer than each run of backticks in it. Names and sentences
# are HTML with entities, because these mean the same in a table and in a ``<summary>``.

MAX_LENGTH = 65_000
"""The maximum length of the Markdown, in characters.

A comment on GitHub may have 65,536 characters, a summary one MiB of UTF-8.
"""
MAX_TABLE_LENGTH = MAX_LENGTH - 5_000
"""The maximum length of the heading and the table together, in characters."""
MAX_DETAIL_LINES = 200
"""The maximum number of lines of a detail."""
# The characters that may act as Markdown or HTML, mention a person or link to an issue.
_MEANS_SOMETHING = re.compile(
    r"[\\`*{}\[\]<&|~!#@$^\n]|:(?=\S)|(?<=www)\.|(?<![^\W_])_|_(?![^\W_])", re.IGNORECASE
)


def report_markdown(report: ComparedPrompts) -> str:
    """Return the Markdown of a report.

    GitHub limits its length, so details and rows of the table may be left out. Then the last line
    says how many.
    """
    text = f"### {escaped(report.sentence)}\n"
    text += f"\n{escaped(report.costs)}\n" if report.costs else ""
    table, omitted_rows = _table(report, MAX_TABLE_LENGTH - len(text))
    # The 500 characters are for the note on what is left out.
    free_characters, omitted_details, details = MAX_LENGTH - len(text) - len(table) - 500, 0, ""
    for detail in _details(report):
        if len(details) + len(detail) <= free_characters:
            details += detail
        else:
            omitted_details += 1
    omissions = [
        f"{omitted_rows:,} prompts of the table" if omitted_rows else "",
        f"the lines of {omitted_details:,} changes" if omitted_details else "",
    ]
    omitted = " and ".join(filter(None, omissions))
    note = (
        f"\nLeft out, as a comment has room for 65,536 characters: {omitted}.\n" if omitted else ""
    )
    return text + details + table + note


def escaped(text: str) -> str:
    """Return a line as HTML in Markdown: names in backticks as code, the rest as plain text.

    >>> escaped("`rules|1` added; <b> @ada")
    '<code>rules&#124;1</code> added; &#60;b> &#64;<!-- -->ada'
    """
    pieces = re.split(r"`([^`]*)`", printable(text))
    return "".join(
        # The HTML comment after an @ or # prevents mentions and links to issues.
        f"<code>{_entities(piece)}</code>"
        if index % 2
        else re.sub(r"&#(?:64|35);", r"\g<0><!-- -->", _entities(piece))
        for index, piece in enumerate(pieces)
    )


def fenced(lines: Iterable[str]) -> str:
    """Return lines of prompts in a code fence that none of them can close."""
    text = printable("\n".join(lines))
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return f"{fence}diff\n{text}\n{fence}\n"


def _table(report: ComparedPrompts, limit: int) -> tuple[str, int]:
    """Return the table of the prompts that differ, and how many prompts did not fit into it."""
    rows, omitted = "", 0
    for prompt in report.prompts:
        if prompt.status == "same":
            continue
        tokens = str(prompt.diff.tokens) if prompt.diff else ""
        cells = _code(name_of_prompt(prompt)), escaped(tokens), escaped(what_changed(prompt))
        row = f"| {' | '.join(cells)} |\n"
        if len(rows) + len(row) <= limit:
            rows += row
        else:
            omitted += 1
    return f"\n| prompt | tokens | what changed |\n|---|---|---|\n{rows}" if rows else "", omitted


def _details(report: ComparedPrompts) -> Iterable[str]:
    """Yield the foldable details: the shared changes, then the other changes of each prompt."""
    for group in report.shared:
        first = report.prompts[group.prompts[0]]
        prompts = [report.prompts[index] for index in dict.fromkeys(group.prompts)]
        below = "\n".join(f"- {_code(name_of_prompt(prompt))}" for prompt in prompts)
        # Shared changes are shown open.
        detail = _detail(escaped(group.sentence), [group.change], [below], first)
        yield detail.replace("<details>", "<details open>", 1)
    for index, prompt in enumerate(report.prompts):
        changes = report.alone(index)
        if prompt.diff and changes:
            title = f"{_code(name_of_prompt(prompt))}: {escaped(own_sentence(index, report))}"
            yield _detail(title, changes, [*map(escaped, prompt.diff.costs)], prompt)


def _detail(
    title: str,
    changes: Sequence[Change],
    below: Sequence[str],
    prompt: PromptComparison,
) -> str:
    """Return a foldable element: its title, the lines of changes, and paragraphs below them."""
    lines = lines_in(changes, prompt)
    if len(lines) > MAX_DETAIL_LINES:
        lines = [*lines[:MAX_DETAIL_LINES], f"… {len(lines) - MAX_DETAIL_LINES:,} more lines"]
    paragraphs = [fenced(lines)] if lines else []
    body = "\n".join([*paragraphs, *(f"{line}\n" for line in below)])
    return f"\n<details>\n<summary>{title}</summary>\n\n{body}\n</details>\n"


def _code(name: str) -> str:
    return f"<code>{_entities(printable(name))}</code>"


def _entities(text: str) -> str:
    """Return a text with an entity of HTML for each character that may mean something."""
    return _MEANS_SOMETHING.sub(lambda match: f"&#{ord(match[0])};", text)


# The report: which prompts differ, and which changes they share.

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
    """Return whether a text is a report, as the command ``promptdsl diff`` writes it to a file."""
    return text.startswith(_BEGINNINGS) or text.endswith(
        tuple(f"\n{last_line}\n" for last_line in MARKS.values())
    )


@attrs.frozen(slots=False)
class DiffReport(ComparedPrompts):
    """The differences of many prompts, with equal changes in groups; false if no prompt differs.

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
        """The report as one HTML page, which loads nothing."""
        from promptdsl.comparing.diff_page import page

        return page(self)

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the report as JSON data; a group names its prompts by their indices."""
        return {
            "sentence": self.sentence,
            "tokens": self.tokens,
            "groups": [group.to_dict() for group in self.groups],
            "prompts": [prompt.to_dict() for prompt in self.prompts],
        }
