"""The text of a failing snapshot names every change at its place."""

import random
import re
import time
from pathlib import Path

import attrs
import pytest
from hypothesis import given

from promptdsl import Section, Source, System, Text, render
from tests.comparing.any_file import files, lines_in_file, pairs
from tests.internals import (
    FileEntry,
    FilePart,
    PromptFile,
    changes,
    failure_text,
    parse,
    prompt_file,
)
from tests.searching import examples

HERE = Path(__file__).parent
BEFORE = (HERE / "changes.prompt.txt").read_text("utf-8")
CASES = (HERE / "changes.md").read_text("utf-8").split("\n## ")[1:]


def blocks(case: str) -> list[str]:
    """Return the blocks of a case: its edits, and the text that a test prints."""
    return re.findall(r"^```(?:text)?\n(.*?)\n```$", case, re.MULTILINE | re.DOTALL)


def edited(case: str) -> str:
    """Return the snapshot after the edits of a case."""
    after = BEFORE
    for edit in blocks(case)[:-1]:
        old, new = f"{edit}\n".split("\n=>\n")
        assert old in after
        after = after.replace(old, new.removesuffix("\n"), 1)
    return after


def one_text(*texts: str) -> PromptFile:
    """Return a file of user turns."""
    return PromptFile((), tuple(FileEntry("user", (FilePart("", text),)) for text in texts))


@pytest.mark.parametrize("case", CASES, ids=[case.split("\n")[0] for case in CASES])
def test_every_case_prints_what_a_reviewer_would_write(case: str) -> None:
    """The page says for each edit what a failing test prints, whole."""
    assert blocks(case)[-1] == failure_text(parse(BEFORE), parse(edited(case)))


@given(files)
def test_equal_files_have_no_text(file: PromptFile) -> None:
    """Nothing changed, nothing is said."""
    assert failure_text(file, file) == ""


@examples(300)
@given(pairs())
def test_every_changed_line_is_in_the_text(two: tuple[PromptFile, PromptFile]) -> None:
    """A line of one file alone has its sign before it, whatever the files hold.

    Where a text or a section came or went, its place tells its mark.
    The first sentence tells the lines of the header that changed, so the header is the same here.
    """
    before, after = two[0], attrs.evolve(two[1], header=two[0].header)
    lines = {*failure_text(before, after).split("\n")}
    removed_lines, come = (
        lines_in_file(before) - lines_in_file(after),
        lines_in_file(after) - lines_in_file(before),
    )
    signed = {f"- {line}" for line in removed_lines} | {f"+ {line}" for line in come}
    marks = tuple(f"{sign} {mark}" for sign in "-+" for mark in ("─▷", "─■ text"))
    assert [] == [line for line in signed if line not in lines and not line.startswith(marks)]


@examples(300)
@given(pairs())
def test_different_files_have_a_difference(two: tuple[PromptFile, PromptFile]) -> None:
    """Two files differ when there is a change, and the first line of the text is a sentence."""
    before, after = two
    first = failure_text(before, after).split("\n")[0]
    assert (before != after) == bool(changes(before, after)) == bool(first)


def test_the_exact_tokens_are_in_the_first_line() -> None:
    """The file has rounded figures; the text has the exact one."""
    text = failure_text(one_text("Hi"), one_text("Hello"), exact=8)
    assert text.split("\n")[0] == "`user` changed: 1 line; 8 tokens now"


def test_the_exact_tokens_stand_for_the_rounded_ones() -> None:
    """A line of the header that changed is reported once, in the first line."""
    before, after = (PromptFile((("tokens", f"~{n} (o200k_base)"),), ()) for n in (850, 860))
    assert failure_text(before, after, exact=857) == "tokens ~850 -> 857"


def test_a_changed_section_has_the_line_that_wrote_it() -> None:
    """The path is that from the folder where the tests were started."""
    part = FilePart("─▷ rules", "Be brief.")
    part_with_source = FilePart("─▷ rules", "Be kind.", Source(str(Path.cwd() / "prompts.py"), 12))
    before, after = (
        PromptFile((), (FileEntry("system", (it,)),)) for it in (part, part_with_source)
    )
    assert failure_text(before, after).split("\n")[2] == "system > rules (prompts.py:12)"


def test_a_message_of_two_lines_has_the_first() -> None:
    """A message whose sections were written at two lines is reported with the first of them."""
    parts = [
        FilePart(f"─▷ {name}", "Be brief.", Source(f"{Path.cwd()}/prompts.py", line))
        for name, line in (("rules", 12), ("tone", 14))
    ]
    before, after = (
        one_text("Hi."),
        PromptFile((), (*one_text("Hi.").entries, FileEntry("assistant", tuple(parts)))),
    )
    assert "assistant (prompts.py:12)" == failure_text(before, after).split("\n")[2]


def test_a_section_that_went_to_another_message_has_moved() -> None:
    """A part that is equal but elsewhere is not told as removed and added."""
    rules, more = FilePart("─▷ rules", "Be brief."), FilePart("─▷ role", "Help.")
    before = PromptFile((), (FileEntry("system", (more, rules)), FileEntry("user", (more,))))
    after = PromptFile((), (FileEntry("system", (more,)), FileEntry("user", (more, rules))))
    assert failure_text(before, after) == (
        "`rules` moved\n\nuser > rules\n(moved: it was in `system`, now it is in `user`)"
    )


def test_two_sections_that_went_to_another_message_have_moved() -> None:
    """Neither of two parts that moved is reported as removed."""
    role, rules, tone = (
        FilePart(f"─▷ {name}", f"The {name}.") for name in ("role", "rules", "tone")
    )
    before = PromptFile((), (FileEntry("system", (role, rules, tone)), FileEntry("user", (role,))))
    after = PromptFile((), (FileEntry("system", (role,)), FileEntry("user", (role, rules, tone))))
    text = failure_text(before, after)
    assert "`rules` and `tone` moved" == text.partition("\n")[0]
    assert [] == re.findall("^[-+]", text, re.MULTILINE)


def test_two_cache_marks_at_one_place() -> None:
    """Two marks after one text are compared each with the one at its place."""
    before, after = (
        PromptFile((), (FileEntry("user", (FilePart("", "Hi."), *map(FilePart, marks))),))
        for marks in (("─⚑ cache 5m", "─⚑ cache 1h"), ("─⚑ cache 1h", "─⚑ cache 5m"))
    )
    changed = "the cache mark after `user` changed"
    assert f"{changed}; {changed}" == failure_text(before, after).partition("\n")[0]


def test_a_result_that_failed_is_the_same_result() -> None:
    """A result that is an error now is not told as removed and added."""
    before, after = (
        PromptFile((), (FileEntry("tool f 1", (FilePart(mark, "x"),)),))
        for mark in ("", "─■ failed")
    )
    assert failure_text(before, after) == (
        "`tool f 1` changed: 1 line\n\ntool f 1\n+ ─■ failed\n  x"
    )


def test_other_hints_are_no_change_of_one() -> None:
    """A hint that went and one that came are not one hint with another text."""
    before, after = (PromptFile((("hint", it),), ()) for it in ("a: no name", "rules: cache mark"))
    expected = "1 hint removed; 1 hint added"
    assert expected == failure_text(before, after).partition("\n")[0]


def test_a_hint_that_changed_and_moved_is_told_once() -> None:
    """A line of the header with another place of its own and in the header is one change."""
    before, after = (
        PromptFile(tuple(("hint", it) for it in hints), ())
        for hints in (("a: late", "b: odd", "c: new"), ("b: odd", "c: new", "d: late"))
    )
    assert "1 hint changed\n\nheader\n- hint: a: late\n+ hint: d: late" == (
        failure_text(before, after)
    )


def test_of_two_equal_texts_the_nearer_one_is_compared() -> None:
    """Where a new text is as much like two old ones, it is the one at the same place."""
    text = failure_text(one_text("p q", "p q"), one_text("z", "p r"))
    assert "`user 1` and `user 2` changed: 2 lines" == text.partition("\n")[0]
    assert ["- p q", "+ z", "- p q", "+ p r"] == re.findall("^[-+] .*", text, re.MULTILINE)


def test_two_lines_that_changed_places_and_words() -> None:
    """Of lines that are alike crosswise, one pair is a change; each line is reported once."""
    before, after = one_text("a b c d\nk l m n"), one_text("k l m x\na b c x")
    lines = re.findall("^[-+] .*", failure_text(before, after), re.MULTILINE)
    assert ["+ a b c x", "+ k l m x", "- a b c d", "- k l m n"] == sorted(lines)


def test_what_is_removed_behind_what_moved_is_told_at_its_old_place() -> None:
    """A message that went is reported where it was, not where the one before it is now."""
    before = one_text("It goes down.", "It is removed.", "It stays.", "It stays, too.")
    after = one_text("It stays.", "It stays, too.", "It goes down.")
    assert [
        "(removed, it was after `user 1`)",
        "(moved: it was first, now it is after `user 2`)",
    ] == (re.findall(r"^\(.*", failure_text(before, after), re.MULTILINE))


def test_text_after_a_section_is_told_from_the_section() -> None:
    """A change after the end of a section is none of the section."""
    before, after = (
        prompt_file(render(System(Section("rules", Section("tone", "Be brief."), Text(more)))))
        for more in ("Help.", "Help!")
    )
    assert failure_text(before, after).startswith("`rules, continued` changed: 1 line")


PICK = random.Random(1)
LINES = [" ".join(PICK.choices("abcdefghij", k=14)) for _ in range(4000)]
OTHERS = {
    "each line has changed": [line.replace("a", "o") for line in LINES],
    "other lines": [" ".join(PICK.choices("abcdefghij", k=14)) for _ in LINES],
    "lines that are there often": PICK.choices(LINES[:50], k=4000),
    "two lines, again and again": PICK.choices("ab", k=4000),
    "the other way round": LINES[::-1],
}


def seconds(lines: list[str], others: list[str]) -> float:
    """Return how long it takes to tell what changed in a text, in messages and in a line."""
    pairs = [
        (one_text("\n".join(lines)), one_text("\n".join(others))),
        (one_text(*lines), one_text(*others)),
        (one_text(" ".join(lines)), one_text(" ".join(others))),
    ]
    start = time.process_time()
    assert all(failure_text(before, after) for before, after in pairs)
    return time.process_time() - start


@pytest.mark.slow
@pytest.mark.parametrize("others", OTHERS.values(), ids=[*OTHERS])
def test_time_grows_as_the_texts_do(others: list[str]) -> None:
    """Four times the lines, messages and words take less than ten times as long, not sixteen."""
    few = min(seconds(LINES[:500], others[:500]) for _ in range(2))
    assert min(seconds(LINES[:2000], others[:2000]) for _ in range(2)) < 10 * few
