"""The Markdown of a report, for the summary or a comment of a pull request on GitHub.

Prompts and names are not trusted. Text of a prompt is in a code fence that is longer than each run
of backticks in it. Names and sentences are HTML with entities, which have the same meaning in a
table and in a ``<summary>``.
"""

import re
from collections.abc import Iterable, Sequence

from promptdsl.comparing.changes import Change
from promptdsl.comparing.compared_prompts import ComparedPrompts, PromptComparison
from promptdsl.comparing.escapes import printable
from promptdsl.comparing.report_text import alone_sentence, lines_in, name_of_prompt, what_changed

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
