"""Claims about the report on many prompts: its groups, its text, its Markdown and its data."""

import json
import re
from collections import Counter
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from promptdsl import Section, System, Volatile, diff, render
from promptdsl.comparing import ChangeGroup, DiffReport, PromptComparison, PromptFile
from tests.comparing.any_file import pairs
from tests.comparing.reports import friday, hostile, raw_texts, support
from tests.internals import FileEntry, FilePart, prompt_file
from tests.searching import examples

FOLDER = Path(__file__).parent
TAGS = {
    "<details>",
    "<details open>",
    "</details>",
    "<summary>",
    "</summary>",
    "<code>",
    "</code>",
    "<!-- -->",
}


def report_of(*both: tuple[PromptFile, PromptFile]) -> DiffReport:
    """Return the report on pairs of files."""
    names = [f"prompt {number}" for number in range(len(both))]
    return DiffReport(
        tuple(
            PromptComparison(name, "changed", diff(*pair))
            for name, pair in zip(names, both, strict=True)
        )
    )


def key(group: ChangeGroup) -> tuple[object, ...]:
    """Return what is equal for the changes of a group."""
    change = group.change
    return change.kind, change.location, change.was, change.now, group.edits


def large(teams: int) -> DiffReport:
    """Return a report of prompts that all have another change."""
    files = [
        [PromptFile((), (FileEntry("user", (FilePart(f"─▷ s{team}", f"{word} {team}"),)),))
         for word in ("before", "after")]
        for team in range(teams)
    ]  # fmt: skip
    return report_of(*[(before, after) for before, after in files])


def seconds(teams: int) -> float:
    """Return how long the groups, the text and the Markdown of a large report take."""
    report = large(teams)
    start = process_time()
    assert all((report.groups, report.text, report.markdown))
    return process_time() - start


def tags_of(markdown: str) -> set[str]:
    """Return all HTML that a reader of Markdown finds."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    inner = [child for token in tokens for child in token.children or ()]
    html = [it.content for it in (*tokens, *inner) if it.type in ("html_block", "html_inline")]
    return {tag for text in html for tag in re.findall(r"<[^>]*>?", text)}


@examples(60)
@given(st.lists(pairs(), max_size=3))
def test_groups_hold_exactly_equal_changes(both: list[tuple[PromptFile, PromptFile]]) -> None:
    """Each change of each prompt is in the one group of its kind, place, names and edits."""
    report = report_of(*both, *both[:1])
    single = [report_of(pair).groups for pair in (*both, *both[:1])]
    expected = Counter(
        (number, key(group))
        for number, groups in enumerate(single)
        for group in groups
        for _ in group.prompts
    )
    assert expected == Counter((it, key(group)) for group in report.groups for it in group.prompts)
    assert len(report.groups) == len({key(group) for group in report.groups})


def test_the_text_tells_shared_changes_first() -> None:
    """A rule of all teams is reported once, with its prompts; then what each prompt has alone."""
    assert (FOLDER / "report.txt").read_text("utf-8") == friday(2).text + "\n"


def test_the_markdown_of_a_report() -> None:
    """Details with the shared changes, those of each prompt, and a table of all that differ."""
    assert (FOLDER / "report.md").read_text("utf-8") == friday(2).markdown


def test_a_report_of_one_prompt_reads_like_its_diff() -> None:
    """The text of one prompt is that of its diff."""
    found = diff(*(render(support(1, words), model="gpt-5") for words in (120, 80)))
    text = DiffReport((PromptComparison("support", "changed", found),)).text
    assert (str(found), [str(found.tokens), str(found.prefix)]) == (text, text.split("\n")[1:3])


def test_a_value_that_was_volatile_is_told_of_all_prompts() -> None:
    """A group says what its change means for the values in it."""
    before, after = (
        System(Section("date", it)) for it in (Volatile("May 4", label="day"), "May 4")
    )
    report = report_of(*[(prompt_file(render(before)), prompt_file(render(after)))] * 2)
    texts = report.groups[0].sentence.partition("each; ")
    assert ("`date` changed alike in 2 prompts", "`date` has no ⟦day⟧ any more") == (
        texts[0].partition(":")[0],
        texts[2],
    )


def test_a_cache_mark_that_went_is_told_once() -> None:
    """The line of the header on marks follows from it."""
    before, after = (System(Section("rules", "Be brief.", cache=it)) for it in (True, False))
    (group,) = report_of((prompt_file(render(before)), prompt_file(render(after)))).groups
    assert "the cache mark after `rules` removed in 1 prompt" == group.sentence


def test_a_text_names_forty_prompts_of_a_group() -> None:
    """How many there are more is said, and where all lose their prefix that is said once."""
    found = diff(*(System(Section("rules", it, cache=True)) for it in ("Be brief.", "Be kind.")))
    prompts = (PromptComparison(f"team {it}", "changed", found) for it in range(42))
    lines = DiffReport(tuple(prompts)).text.split("\n")
    assert lines[2] == "`rules` changed alike in 42 prompts: 42 lose the cached prefix"
    assert lines[-3:] == ["  team 38", "  team 39", "  … and 2 more"]


@pytest.mark.parametrize(
    ("tokens", "lost", "expected"),
    [
        ((10, 1_400, 12), (), "+10 to +1,400 tokens each"),
        ((2, -3, 0), (), "-3 to +2 tokens each"),
        ((1, 1, 1), (), "+1 token each"),
        ((0, 0, 0), (0, 2), "2 lose the cached prefix"),
    ],
)
def test_tokens_of_three_prompts(
    tokens: tuple[int, ...], lost: tuple[int, ...], expected: str
) -> None:
    """A group says the least and the most that one of its prompts gains, and who loses a prefix."""
    (change,) = diff(System("Be brief."), System("Be kind.")).changes
    group = ChangeGroup(change, (), (0, 1, 2), tokens, lost)
    assert f"`system` changed alike in 3 prompts: {expected}" == group.sentence


def test_a_report_without_a_difference() -> None:
    """It is false, and says so."""
    report = DiffReport((PromptComparison("a", "same"), PromptComparison("b", "same")))
    assert (False, "none of 2 prompts differs") == (bool(report), report.text)


def test_hostile_prompts_stay_in_their_fences() -> None:
    """Markdown of hostile prompts, names and problems has no HTML but that of the report."""
    assert set() == tags_of(hostile().markdown) - TAGS


@pytest.mark.parametrize("text", ["```\n</details>", "`````\n# x", "~~~", "\r```\r<b>", "\x1b[2J"])
def test_a_fence_is_longer_than_what_is_in_it(text: str) -> None:
    """A text of a prompt is in one fence, and no control character is in it."""
    file = PromptFile((), (FileEntry("user", (FilePart("", text),)),))
    markdown = report_of((PromptFile((), ()), file)).markdown
    fences = [it for it in MarkdownIt().parse(markdown) if it.type == "fence"]
    assert (1, []) == (len(fences), re.findall("[\x00-\x09\x0b-\x1f\x7f]", markdown))


def test_names_cannot_leave_their_cell() -> None:
    """A name with signs of a table, HTML and mentions is shown as it is."""
    report = DiffReport((PromptComparison("a|b\\|`<i>@ada\n", "added"),))
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(report.markdown)
    cell = "<td><code>a|b\\|`&lt;i&gt;@ada⟦LF⟧</code></td>"
    assert (1, 3) == (html.count(cell), html.count("<td>"))


def test_no_control_character_reaches_a_terminal() -> None:
    """The text of prompts with any characters has signs for those that are not seen."""
    before, after = raw_texts(), raw_texts("\x1b[2J more")
    assert [] == re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", report_of((before, after)).text)


def test_what_is_left_out_is_said() -> None:
    """The Markdown of very many changes fits a comment, and counts what it has no room for."""
    markdown = large(900).markdown
    shown_rows, shown_details = markdown.count("| <code>prompt"), markdown.count("<details>")
    left = f"{900 - shown_rows:,} prompts of the table and the lines of {900 - shown_details:,}"
    assert (True, True) == (len(markdown) <= 65_000, left in markdown)


@pytest.mark.slow
def test_many_prompts_take_time_that_grows_with_their_number() -> None:
    """Four times the prompts take less than eight times as long to group and to tell."""
    seconds(50)
    assert seconds(1_600) < 8 * seconds(400)


def test_the_data_is_json() -> None:
    """The data of a report is the same after a way through JSON text."""
    data = friday(2).to_dict()
    assert data == json.loads(json.dumps(data))


def test_prompts_that_lose_their_cached_prefix_are_counted() -> None:
    """A group has the prompts whose cached prefix its change breaks."""
    old, new = (render(support(1, words), model="claude-sonnet-4-5") for words in (120, 80))
    found = PromptComparison("a", "changed", diff(old, new))
    groups = DiffReport((found, found)).groups
    assert [((0, 1), (0, 1))] == [(group.prompts, group.lost) for group in groups]
