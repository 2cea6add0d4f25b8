"""The place of a hostile text: what is around it, what breaks a promise there, what differs."""

from typing import Any

import pytest

from tests.internals import (
    WORD,
    DataDifference,
    InjectionLocation,
    around_word,
    between,
    differences,
    is_enclosed,
    readings,
    skeleton,
    tolerant_fences,
)
from tests.testing.calm_prompts import EXPECTED, SETTINGS, facts_of

AB = frozenset({"a", "b"})
FORGES = "forges a tag or delimiter of the prompt"
COMPLETES = "completes a tag of the prompt"
BEGINS = "begins a heading, a rule or a code fence"
ENDS = "ends its code fence"
LOST = "does not come back from decode()"


def place(before: str = "", after: str = "", text: str = "", **facts: Any) -> InjectionLocation:
    """Return a place between two texts; its block has no others."""
    return InjectionLocation(
        text or f"{before}{WORD}{after}", before, after, before, after, **facts
    )


BROKEN: list[tuple[InjectionLocation, str, str, str | None]] = [
    (place(names=AB), "</a>", "</a>", FORGES),
    (place(names=AB), "</b>", "</b>", FORGES),
    (place(names=AB), "x <c></c> </b>", "</b>", FORGES),
    (place(names=AB), "</c>", "</c>", None),
    (place(names=AB), "&lt;/b>", "</b>", None),
    (place(after="/b>", names=AB), "<", "<", FORGES),
    (place(after="/c>", names=AB), "<", "<", None),
    (place("<", names=AB), "/b>", "/b>", COMPLETES),
    (place("x > <", names=AB), "b>", "b>", COMPLETES),
    (place("<c ", names=AB), "/b>", "/b>", None),
    (place("<a x='", names=AB), "'>", "'>", None),
    (place("<", names=AB), "x", "x", None),
    (place(names=AB, literals=frozenset({"[[E]]", "[[F]]"})), "[[F]]", "[[F]]", FORGES),
    (place(names=AB, literals=frozenset({"[[E]]"})), "[[F]]", "[[F]]", None),
    (place(is_verbatim=True, keeps_argument=True), "x", "y", "is not sent unchanged"),
    (place(is_verbatim=True, keeps_argument=True), "# x", "# x", None),
    (place(is_verbatim=True, keeps_argument=False), "x", "y", None),
    (place(is_verbatim=True, keeps_argument=True, names=AB), "x", "y", None),
    (place(is_verbatim=True, names=AB), "</b>", "</b>", FORGES),
    (place(has_no_brackets=True), "<", "<", "writes a tag"),
    (place(has_no_brackets=True), "x >", "x >", "writes a tag"),
    (place(has_no_brackets=True, names=AB), "</a>", "</a>", "writes a tag"),
    (place(has_no_brackets=True), "x", "x", None),
    (place(has_no_brackets=True, prefix="> "), "a\n> b\n>\n> c", "a\nb\n\nc", None),
    (place(has_no_brackets=True, prefix="> "), "a\nb > c", "a", "writes a tag"),
    (place(is_markdown=True), "# x", "# x", BEGINS),
    (place("a\n", "\nb", is_markdown=True), "x\n# x", "# x", BEGINS),
    (place("a ", is_markdown=True), "# x", "# x", None),
    (place("a\n", is_markdown=True), "---", "---", BEGINS),
    (place(after="\n---", is_markdown=True), "x", "x", None),
    (place(after="\n---", is_markdown=True), "", "y", BEGINS),
    (place(is_markdown=True), "x\n```\ny", "z", BEGINS),
    (place("# ", is_markdown=True), "x\n# y", "z", BEGINS),
    (place(is_markdown=False), "# x", "# x", None),
    (place(code="```\n"), "```", "```", ENDS),
    (place(code="```\n"), "~~~", "~~~", None),
    (place(code="````\n"), "x\n```\n", "x\n```\n", None),
    (place(code="~~~\n", after="\n~~~"), "x\n~~~\ny", "x", ENDS),
    (place(code="```\n", after="\n```"), "``", "``", None),
    (place(keeps_argument=True), "a", "b", LOST),
    (place(keeps_argument=True), "a &lt; b", "a < b", None),
    (place(keeps_argument=True, prefix="> "), "a\n> b", "a\nb", None),
    (place(keeps_argument=True, text=f"{WORD} and {WORD}"), "a and a", "a", None),
    (place(keeps_argument=True, text=f"{WORD} and {WORD}"), "a and b", "a", LOST),
    (place(keeps_argument=False), "a", "b", None),
]


@pytest.mark.parametrize(("at", "piece", "given", "problem"), BROKEN)
def test_promises(at: InjectionLocation, piece: str, given: str, problem: str | None) -> None:
    """What is sent of a text in a place breaks one promise of that place, or none."""
    assert problem == at.promise_broken_by(piece, given)


def test_what_is_around_a_place() -> None:
    """The nearest two lines are around a place, and a bracket that is open begins a tag there."""
    far = InjectionLocation(WORD, "", "", "a\nb\nc\nd", "e\nf\ng\nh")
    assert ("c\nd", "e\nf\n") == far.adjacent_lines
    starts = ["a <b", "a <b> c", "a <b> <c", "<", "x > <y", "x < y > z", "<a <b", "</a", ""]
    assert ["<b", "", "<c", "<", "<y", "", "<b", "</a", ""] == [place(it).open_tag for it in starts]
    twice = f"a{WORD}b{WORD}c"
    assert f"{WORD}b{WORD}" == place("a", "c", text=twice).harmless_piece
    assert ("a\nb\n\nc", "a\nb\n\nc", "a\n> b", "a\n| b") == (
        place(prefix="> ").unindented("a\n> b\n>\n> c"),
        place(prefix="  ").unindented("a\n  b\n\nc"),
        place(prefix="").unindented("a\n> b"),
        place(prefix="| ").unindented("a\n| | b"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", ("a", "")),
        (f"a{WORD}b", ("a", "b")),
        (f"a{WORD}b{WORD}c", ("a", "c")),
        (f"{WORD}{WORD}", ("", "")),
        (f"{WORD} {WORD} {WORD}d", ("", "d")),
    ],
)
def test_around_the_word(text: str, expected: tuple[str, str]) -> None:
    """A place goes from the first word to the last one."""
    assert expected == around_word(text)


@pytest.mark.parametrize(
    ("text", "before", "after", "expected"),
    [
        ("abc", "a", "c", "b"),
        ("aba", "ab", "ba", None),
        ("ab", "a", "b", ""),
        ("abab", "ab", "ab", ""),
        ("abc", "b", "", None),
        ("abc", "", "b", None),
        ("abc", "", "", "abc"),
        ("", "", "", ""),
    ],
)
def test_between_two_texts(text: str, before: str, after: str, expected: str | None) -> None:
    """What is between two texts is there only if both are, side by side at the most."""
    assert expected == between(text, before, after)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a &lt; b", ["a < b", "a < b"]),
        ('"a","b"', ['"a","b"', "ab"]),
        ('"a ""b"""', ['"a ""b"""', 'a "b"']),
        ("a\\nb", ["a\\nb", "a\nb"]),
        ('"x', ['"x', "x"]),
        ('"1"\n"2"', ['"1"\n"2"']),
        ('a "b"', ['a "b"']),
    ],
)
def test_readings(text: str, expected: list[str]) -> None:
    """A reader of text, of CSV and of JSON gets a text back, each where it is one."""
    assert expected == [*readings(text)]


MARKS = ("[[E]]", "[[/E]]")


@pytest.mark.parametrize(
    ("before", "after", "literals", "expected"),
    [
        ("<a><b></b>", "</a>", (), True),
        ("<a></a>", "</a>", (), False),
        ("<a><a></a>", "</a>", (), True),
        ("<b>", "</a></b>", (), True),
        ("<b>", "</a>", (), False),
        ("<b>", "<b>", (), False),
        ("</a><a>", "</a>", (), False),
        ("<a x='1'><c>", "</c></a>", (), True),
        ("x", "x [[/E]]", MARKS, True),
        ("[[E]]", "x", MARKS, False),
        ("x", "[[/E]]", MARKS[:1], False),
    ],
)
def test_what_is_enclosed(
    before: str, after: str, literals: tuple[str, ...], *, expected: bool
) -> None:
    """A place is enclosed by a tag that is open before and closed after it, or by a delimiter."""
    assert expected == is_enclosed(before, after, literals)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\na\n```\n~~~\nb\n~~~\nc", [("```", 0), ("", 10), ("~~~", 10), ("", 20)]),
        ("````\n```\n````\n```\nx", [("````", 0), ("", 14), ("```", 14)]),
        ("```py\n```\n", [("```", 0), ("", 10)]),
        ("~~~\n```\n~~~\n```", [("~~~", 0), ("", 12), ("```", 12)]),
        ("```a```\n```\nb", [("```", 8)]),
        ("- ```\n  x\n> ```\n", [("```", 2), ("", 16)]),
        ("```\n``` x\n`````\n", [("```", 0), ("", 16)]),
        ("x ```\n```", [("```", 6)]),
        ("```\r~~~\r```\r~~~", [("```", 0), ("", 12), ("~~~", 12)]),
    ],
)
def test_code_fences(text: str, expected: list[tuple[str, int]]) -> None:
    """Each opened fence has the offset of its beginning; a fence that closes it has no name."""
    assert expected == tolerant_fences(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# a\n## b\n---\n***\n```\n~~~", "heading heading underline rule fence fence"),
        ("a\n===\n\n===\n\n---", "underline rule"),
        ("- # a\n1. ```\n> ---\n> > # b", "heading fence underline heading"),
        ("a\n---\n---\n# b", "underline underline heading"),
        ("####### a\n#a\n#", "heading"),
    ],
)
def test_skeletons(text: str, expected: str) -> None:
    """Each line of a text is a heading, a rule, a fence or an underline of the line above it."""
    assert expected.split() == skeleton(text)


DIFFERENT: list[tuple[object, object, list[tuple[tuple[str | int, ...], object, object]]]] = [
    (
        {"a": 1, "b": 2},
        {"a": 1, "b": 2, "c": 3},
        [((), {"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3})],
    ),
    ({"a": 1, "b": 2}, {"a": 1}, [((), {"a": 1, "b": 2}, {"a": 1})]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
    ({"a": 1, "b": 2}, {"b": 2, "a": 3}, [((), {"a": 1, "b": 2}, {"b": 2, "a": 3})]),
    ({"a": 1, "b": 2}, {"a": 3, "b": 4}, [(("a",), 1, 3), (("b",), 2, 4)]),
    ({"a": 1, "b": {"c": [1, 2]}}, {"a": 1, "b": {"c": [1, 3]}}, [(("b", "c", 1), 2, 3)]),
    ({"a": [1, 2]}, {"a": [1]}, [(("a",), [1, 2], [1])]),
    ({"a": [1, 2]}, {"a": [1, 2, 3]}, [(("a",), [1, 2], [1, 2, 3])]),
    ({"a": [1, 2]}, {"a": [3, 4]}, [(("a", 0), 1, 3), (("a", 1), 2, 4)]),
    (
        [1, {"a": "x"}, "y"],
        [1, {"a": "z"}, "w"],
        [((1, "a"), "x", "z"), ((2,), "y", "w")],
    ),
    ({"a": 1}, [1], [((), {"a": 1}, [1])]),
    ({"a": []}, {"a": {}}, [(("a",), [], {})]),
    ({"a": 1, "b": "1"}, {"a": "1", "b": 1}, [(("a",), 1, "1"), (("b",), "1", 1)]),
    ({"role": "u", "name": "a", "content": "x"}, {"role": "u", "content": "x"}, []),
    ({"role": "u", "name": "a"}, {"role": "v", "name": "b"}, [(("role",), "u", "v")]),
    ({"name": "a", "b": "x"}, {"name": "b", "b": "y"}, [(("name",), "a", "b"), (("b",), "x", "y")]),
    (
        {"input": {WORD: "a", "b": "c"}},
        {"input": {"x": "a", "b": "d"}},
        [(("input", "b"), "c", "d")],
    ),
    ({"args": {"a": {WORD: 1}}}, {"args": {"a": {"y": 2}}}, [(("args", "a", WORD), 1, 2)]),
    ({"other": {WORD: "a"}}, {"other": {"x": "a"}}, [(("other",), {WORD: "a"}, {"x": "a"})]),
    (
        {"args": {"a": 1, "b": 2}},
        {"args": {"a": 1, "c": 2}},
        [(("args",), {"a": 1, "b": 2}, {"a": 1, "c": 2})],
    ),
    (
        {"arguments": '{"a": 1, "b": "x"}'},
        {"arguments": '{"a": 1, "b": "y"}'},
        [(("arguments", "b"), "x", "y")],
    ),
    ({"arguments": '{"a": 1}'}, {"arguments": '{"a":  1}'}, []),
    ({"arguments": '{"a": 1}'}, {"arguments": "{"}, [(("arguments",), {"a": 1}, "{")]),
    ({"text": '{"a": 1}'}, {"text": '{"a":  1}'}, [(("text",), '{"a": 1}', '{"a":  1}')]),
]


@pytest.mark.parametrize(("before", "after", "expected"), DIFFERENT)
def test_differences(
    before: object, after: object, expected: list[tuple[tuple[str | int, ...], object, object]]
) -> None:
    """Each place that differs is found, as deep as both have the same form."""
    assert expected == [*differences(before, after)]


INSTRUCTIONS: dict[tuple[str | int, ...], bool] = {
    ("description",): True,
    ("items", "$comment"): True,
    ("properties", "a", "title"): True,
    ("properties", "description", "description"): True,
    ("properties", "properties", "properties", "title"): True,
    ("properties", "a", "properties", "b", "description"): True,
    ("$defs", "enum", "description"): True,
    ("definitions", "default", "title"): True,
    ("dependentSchemas", "examples", "title"): True,
    ("patternProperties", "input", "title"): True,
    ("enum", 0, "description"): False,
    ("$defs", "enum", "enum", 0): False,
    ("properties", "a", "default", "title"): False,
    ("patternProperties", "x", "const", "description"): False,
    ("input", "description"): False,
    ("name",): False,
    ("description", "name"): False,
}


@pytest.mark.parametrize("path", INSTRUCTIONS)
def test_instructions_in_schemas(path: tuple[str | int, ...]) -> None:
    """A description is an instruction, whatever its field is named, and not in other data."""
    assert INSTRUCTIONS[path] == DataDifference(path, "a", "b").is_instruction


def test_what_a_difference_says() -> None:
    """A difference has its keys, and what is there now; both are texts, or it is no text."""
    assert ["a.b: 'y'", "a: '1'", "a: '2'"] == [
        str(DataDifference(*it))
        for it in ((("a", 0, "b", 1), "x", "y"), (("a",), "x", 1), ((1, "a"), 1, "2"))
    ]
    assert [True, False, False, False] == [
        DataDifference(("a",), *it).is_text for it in (("x", "y"), ("x", 1), (1, "x"), (1, 2))
    ]


@pytest.mark.parametrize("name", SETTINGS)
def test_many_places_of_one_prompt(name: str) -> None:
    """Each place of an argument has its own texts around it, tags, prefix and promises."""
    assert EXPECTED[name] == facts_of(name)
