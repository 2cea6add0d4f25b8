"""The report on many prompts: as text, as Markdown for a pull request, and in a file."""

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
from promptdsl.comparing.snapshot_file import printable, shown
from promptdsl.comparing.text import change_lines, sentence
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.files import atomic_writer

# Writing a report, or another text with prompts in it, to a file that has no other content.
#
# An older report may be overwritten, another file of the user never.


def write_or_refuse(path: str, text: str, may_replace: Callable[[str], bool]) -> None:
    """Write a text to a file, completely or not at all, and make its folder; or refuse to.

    An existing file is overwritten if it is empty, or if ``may_replace`` is true for its text, such
    as that of an older report. Raises :class:`DataError` for any other file, and :class:`OSError`
    if writing fails. Prompts may be confidential, so only its owner may read a new file:
    ``atomic_writer`` makes it so.
    """
    if os.path.isfile(path):
        old = Path(path).read_bytes().decode(errors="replace")
        if old and not may_replace(old):
            raise DataError(f"{path} has other content", fix="name a new file")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with atomic_writer(path) as write:
        write(text.encode())


# The text of a report: the changes that prompts share, then the other changes of each prompt.

NAMED = 40
"""The most prompts of a group that are named."""


def report_text(report: ComparedPrompts) -> str:
    """Return the text of a report; for a single prompt, the text of its diff."""
    if len(report.prompts) == 1 and (diff := report.prompts[0].diff) is not None:
        return printable(str(diff))
    lines = ["; ".join(filter(None, (report.sentence, report.costs)))]
    for group in report.shared:
        lines += ("", *_of_group(group, report))
    for number, prompt in enumerate(report.prompts):
        lines += _alone(number, prompt, report)
    return printable("\n".join(lines))


def name_of_prompt(prompt: PromptComparison) -> str:
    """Return the name of a prompt on one line, with its model if the name does not have it."""
    name, model = (shown(text, one_line=True) for text in (prompt.name, prompt.model))
    is_named = model.partition(" ")[0] in name
    return name if is_named or model == "none" else f"{name} [{model}]"


def what_changed(prompt: PromptComparison) -> str:
    """Return the sentence on a prompt: of its diff, or that it is added, removed or unreadable."""
    status = {"added": "added", "removed": "removed"}.get(prompt.status, "")
    if prompt.status == "renamed":
        status = f"renamed from `{shown(prompt.was, one_line=True)}`"
    elif prompt.status == "unreadable":
        status = "cannot be read"
    problem = shown(prompt.problem, one_line=True)
    text = "; ".join(filter(None, (status, prompt.diff.sentence if prompt.diff else "")))
    return ": ".join(filter(None, (text, problem))) or "changed"


def alone_sentence(number: int, report: ComparedPrompts) -> str:
    """Return the sentence on the changes that only a prompt has, with the number of the others."""
    prompt, alone = report.prompts[number], report.alone(number)
    above = sum(1 for _ in primary_changes(prompt.diff.changes)) - len(alone) if prompt.diff else 0
    if alone and above:
        return f"{sentence(alone)}; {above} more shown above"
    return what_changed(prompt)


def lines_in(changes: Sequence[Change], prompt: PromptComparison) -> list[str]:
    """Return the lines of changes of a prompt without the empty first line; none without a diff."""
    return [*change_lines(changes, prompt.diff.after)][1:] if prompt.diff else []


def _of_group(group: ChangeGroup, report: ComparedPrompts) -> Iterator[str]:
    yield group.sentence
    yield from lines_in([group.change], report.prompts[group.prompts[0]])
    yield "in"
    numbers = [*dict.fromkeys(group.prompts)]
    # If all prompts lose it, the sentence says so.
    losers = {*group.lost} if len(group.lost) < len(numbers) else set[int]()
    for number in numbers[:NAMED]:
        lost = ", which loses the cached prefix" if number in losers else ""
        yield f"  {name_of_prompt(report.prompts[number])}{lost}"
    if numbers[NAMED:]:
        yield f"  … and {len(numbers) - NAMED:,} more"


def _alone(number: int, prompt: PromptComparison, report: ComparedPrompts) -> Iterator[str]:
    """Yield the lines on the changes that only one prompt has; nothing if it has none."""
    diff = prompt.diff
    if prompt.status == "same":
        return
    alone = report.alone(number)
    if diff and not alone and prompt.status == "changed" and any(primary_changes(diff.changes)):
        return
    yield from ("", f"{name_of_prompt(prompt)}: {alone_sentence(number, report)}")
    if diff:
        yield from diff.costs
        yield from lines_in(alone, prompt)


# The Markdown of a report, for the summary or a comment of a pull request on GitHub.
#
# Prompts and names are not trusted. Text of a prompt is in a code fence that is longer than each
# run of backticks in it. Names and sentences are HTML with entities, which have the same meaning in
# a table and in a ``<summary>``.

LIMIT = 65_000
"""The most characters of the Markdown: a comment may have 65,536, a summary one MiB of UTF-8."""
TABLE = LIMIT - 5_000
"""The most characters up to the end of the table."""
LINES = 200
"""The most lines of a change that are shown."""
_MEANS_SOMETHING = re.compile(
    r"[\\`*{}\[\]<&|~!#@$^\n]|:(?=\S)|(?<=www)\.|(?<![^\W_])_|_(?![^\W_])", re.IGNORECASE
)


def report_markdown(report: ComparedPrompts) -> str:
    """Return the Markdown of a report; its end says how much is left out, as GitHub limits it."""
    text = f"### {escaped(report.sentence)}\n"
    text += f"\n{escaped(report.costs)}\n" if report.costs else ""
    table, left_rows = _table(report, TABLE - len(text))
    room, left_details, details = LIMIT - len(text) - len(table) - 500, 0, ""
    for detail in _details(report):
        if len(details) + len(detail) <= room:
            details += detail
        else:
            left_details += 1
    left_out = [
        f"{left_rows:,} prompts of the table" if left_rows else "",
        f"the lines of {left_details:,} changes" if left_details else "",
    ]
    left = " and ".join(filter(None, left_out))
    note = f"\nLeft out, as a comment has room for 65,536 characters: {left}.\n" if left else ""
    return text + details + table + note


def escaped(text: str) -> str:
    """Return a line as HTML in Markdown: names in backticks as code, the rest as plain text.

    >>> escaped("`rules|1` added; <b> @ada")
    '<code>rules&#124;1</code> added; &#60;b> &#64;<!-- -->ada'
    """
    pieces = re.split(r"`([^`]*)`", printable(text))
    return "".join(
        # The comment after an @ or # prevents mentions and links to issues.
        f"<code>{_entities(piece)}</code>"
        if number % 2
        else re.sub(r"&#(?:64|35);", r"\g<0><!-- -->", _entities(piece))
        for number, piece in enumerate(pieces)
    )


def fenced(lines: Iterable[str]) -> str:
    """Return lines of prompts in a code fence that none of them can close."""
    text = printable("\n".join(lines))
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return f"{fence}diff\n{text}\n{fence}\n"


def _table(report: ComparedPrompts, room: int) -> tuple[str, int]:
    """Return the table of the prompts that differ, and the number of prompts that do not fit."""
    rows, left = "", 0
    for prompt in report.prompts:
        if prompt.status == "same":
            continue
        tokens = str(prompt.diff.tokens) if prompt.diff else ""
        cells = _code(name_of_prompt(prompt)), escaped(tokens), escaped(what_changed(prompt))
        row = f"| {' | '.join(cells)} |\n"
        if len(rows) + len(row) <= room:
            rows += row
        else:
            left += 1
    return f"\n| prompt | tokens | what changed |\n|---|---|---|\n{rows}" if rows else "", left


def _details(report: ComparedPrompts) -> Iterable[str]:
    """Yield the foldable details: the shared changes, then the other changes of each prompt."""
    for group in report.shared:
        first = report.prompts[group.prompts[0]]
        prompts = [report.prompts[number] for number in dict.fromkeys(group.prompts)]
        below = "\n".join(f"- {_code(name_of_prompt(prompt))}" for prompt in prompts)
        # Shared changes are shown open.
        detail = _detail(escaped(group.sentence), [group.change], [below], first)
        yield detail.replace("<details>", "<details open>", 1)
    for number, prompt in enumerate(report.prompts):
        changes = report.alone(number)
        if prompt.diff and changes:
            title = f"{_code(name_of_prompt(prompt))}: {escaped(alone_sentence(number, report))}"
            yield _detail(title, changes, [*map(escaped, prompt.diff.costs)], prompt)


def _detail(
    title: str,
    changes: Sequence[Change],
    below: Sequence[str],
    prompt: PromptComparison,
) -> str:
    lines = lines_in(changes, prompt)
    if len(lines) > LINES:
        lines = [*lines[:LINES], f"… {len(lines) - LINES:,} more lines"]
    paragraphs = [fenced(lines)] if lines else []
    body = "\n".join([*paragraphs, *(f"{line}\n" for line in below)])
    return f"\n<details>\n<summary>{title}</summary>\n\n{body}\n</details>\n"


def _code(name: str) -> str:
    return f"<code>{_entities(printable(name))}</code>"


def _entities(text: str) -> str:
    return _MEANS_SOMETHING.sub(lambda match: f"&#{ord(match[0])};", text)


# The report on many prompts: which prompts differ, and which changes they share.

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
