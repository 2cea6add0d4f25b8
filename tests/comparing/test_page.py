"""The page of a report: all that changed is in it, and what prompts say is text in it."""

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given

from promptdsl import Section, System, Timeline, User, diff, render
from promptdsl.comparing import Change, DiffReport, PromptComparison
from tests.comparing.any_file import pairs
from tests.comparing.reports import friday, hostile
from tests.internals import PromptFile, all_visible, rows_of
from tests.searching import examples


class Seen(HTMLParser):
    """The tags of a page with the names of their attributes, and the texts of the cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[tuple[str, ...]] = set()
        self.cells: list[str] = []
        self._is_cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.add((tag, *(name for name, _ in attrs)))
        if tag == "td":
            self._is_cell = True
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a cell."""
        self._is_cell &= tag != "td"

    def handle_data(self, data: str) -> None:
        """Note a text in a cell."""
        if self._is_cell:
            self.cells[-1] += data


def one(before: PromptFile, after: PromptFile) -> DiffReport:
    """Return a report of one prompt."""
    return DiffReport((PromptComparison("a", "changed", diff(before, after)),))


def written(report: DiffReport) -> list[str]:
    """Return what the cells of a page have to say."""
    changes = [group.change for group in report.groups]
    rows = [row for it in changes if it.before != it.after for row in without_gap(it)]
    cells = [
        (f"… {row.size:,} equal lines",) if row.kind == "skipped" else (row.before, row.after)
        for row in rows
    ]
    return [all_visible(cell) for pair in cells for cell in pair]


def without_gap(change: Change) -> list[Any]:
    """Return the rows of a change without empty lines at its end, if neither side changed them."""
    kinds = {change.before is None: "added", change.after is None: "removed"}
    kind = kinds.get(True, "equal")
    rows = [*rows_of(change)]
    visible_rows = [number for number, row in enumerate(rows) if row[:3] != (kind, "", "")]
    return rows[: max(visible_rows, default=0) + 1]


@pytest.mark.parametrize("rule", ["No refunds.", "", "Refunds.\n\n\nAsk."])
def test_no_empty_line_ends_a_changed_part(rule: str) -> None:
    """The gap to the next section is no line of a section; empty lines inside of it are."""
    before, after = (
        render(System(Section("role", "Hi."), Section("rules", text), Section("end", "Bye.")))
        for text in ("Be kind.\n\nBe short.", rule)
    )
    report = DiffReport((PromptComparison("a", "changed", diff(before, after)),))
    cells = Seen(report.html).cells
    assert "" in cells
    assert not all(cell == "" for cell in cells[-2:])


@examples(100)
@given(pairs())
def test_all_lines_of_all_changes_are_on_the_page(pair: tuple[PromptFile, PromptFile]) -> None:
    """Each row of a change is there, before beside after, and is the text that it was."""
    report = one(*pair)
    assert sorted(written(report)) == sorted(Seen(report.html).cells)


def test_hostile_prompts_are_text() -> None:
    """No prompt, name, model or problem adds a tag or an attribute to those of a calm page."""
    calm = Seen(friday().html).tags | {("ins",), ("del",), ("i",), ("td", "colspan")}
    assert set() == Seen(hostile().html).tags - calm


def shared_change(count: int) -> DiffReport:
    """Return a report of prompts with the same change, of which the last has one of its own."""
    role, old, new = "Be kind. " * 20, "No refunds.", "Refunds within a week."
    prompts: list[PromptComparison] = []
    for number in range(count):
        rules = ("So.", "Then.") if number == count - 1 else ("So.", "So.")
        before, after = (
            render(
                Timeline(System(Section("role", role), Section("rules", rule)), User(text)),
                model="gpt-5",
            )
            for rule, text in zip((old, new), rules, strict=True)
        )
        prompts.append(PromptComparison(f"p{number}", "changed", diff(before, after)))
    return DiffReport(tuple(prompts))


def test_a_prompt_without_a_change_of_its_own_is_one_row() -> None:
    """What only changed as others did is closed; a prompt with a change of its own is open."""
    boxes = re.findall(r"<details( open)? class=prompt", shared_change(3).html)
    assert ["", "", " open"] == boxes
    assert [" open"] == re.findall(r"<details( open)? class=prompt", shared_change(1).html)


def test_bars_show_the_tokens_before_and_after() -> None:
    """The bars have the widths of the counts, and the part that comes from the cache."""
    report = shared_change(1)
    changes = report.prompts[0].diff
    assert changes is not None
    before, after = changes.tokens.before, changes.tokens.after
    assert before
    assert after
    assert before < after
    (bars,) = re.findall("<svg class=bars.*?</svg>", report.html)
    assert f'aria-label="{before:,} tokens before, {after:,} after' in bars
    widths = [float(width) for width in re.findall(r'width="([\d.]+)"', bars)]
    assert abs(widths[0] - 100 * before / after) < 0.1
    assert abs(sum(widths[1:]) - 100) < 0.2


def test_the_policy_allows_the_style_and_the_script_of_the_page() -> None:
    """A browser loads nothing, and runs what the policy has the digest of."""
    page = friday().html
    inner = (re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL) for tag in ("style", "script"))
    style, script = (
        b64encode(sha256(it[1].encode()).digest()).decode() for it in inner if it is not None
    )
    policy = re.search(r'"Content-Security-Policy" content="(.*?)"', page)
    assert policy is not None
    assert (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    ) == unescape(policy[1])


def test_equal_changes_come_once_with_their_prompts() -> None:
    """A rule that changed alike in six prompts is shown once, and each prompt links to it."""
    page = friday().html
    assert 1 == page.count("<td>Keep every answer under <del>120</del> words.")
    assert 6 == page.count("system <i>&rsaquo;</i> rules changed alike in 6 prompts")
    assert 1 == page.count("<span class=many>3 lose the cached prefix</span>")
    assert [*"012345"] == re.findall(r'<a href="#p(\d)">', page)


def test_every_prompt_is_counted_and_those_that_differ_are_shown() -> None:
    """The first lines tell how many prompts there are of each kind."""
    page = friday().html
    assert "<h1>10 of 11 prompts differ</h1>" in page
    counts = re.findall(r"<li class=\w+><b>(\d+)</b> (\w+)</li>", page)
    assert [
        ("6", "changed"), ("1", "added"), ("1", "removed"), ("1", "renamed"), ("1", "unreadable"),
        ("1", "same"),
    ] == counts  # fmt: skip
    assert "test_calm" not in page


def test_nothing_differs() -> None:
    """A report without a difference says so, and has no filters."""
    page = DiffReport((PromptComparison("a", "same"), PromptComparison("b", "same"))).html
    assert "<h1>No difference in 2 prompts</h1>" in page
    assert "<main>\n\n\n</main>" in page
    assert "No difference in 0 prompts" in DiffReport(()).html


def test_same_report_same_bytes() -> None:
    """Nothing of the machine or the time is on the page."""
    assert friday().html == friday().html
