"""Encoding: what a value becomes in its place, and the decoder."""

import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from string import ascii_letters, digits
from time import process_time
from typing import Any, NoReturn
from unicodedata import category
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import ConfigError, ContentError, decode
from tests.hostile import ANY_TEXT, EDGES, ESCAPED_EDGES, HOSTILE, LARGEST_REFERENCE, VALUES
from tests.internals import (
    attribute,
    authored_cell,
    body,
    cell,
    check_delimiter,
    code_fences,
    controls,
    data_text,
    field,
    fold,
    guard,
    inline,
    inline_line,
    invisible,
    is_number,
    is_rare,
    json_text,
    minimal_body,
    one_line,
    skeleton,
    text_of,
    title,
    valid_unicode,
)
from tests.searching import examples, with_each
from tests.tolerant_reader import UNSEEN, is_of_name, plain, ranges, tags_in

Encoder = Callable[[str], str]

PLACES = (body, attribute, field, inline, cell)
ONE_LINE = (attribute, field, cell)

SOMETHING = VALUES.filter(bool)

in_every_place = pytest.mark.parametrize("encode", PLACES)
on_one_line = pytest.mark.parametrize("encode", ONE_LINE)

slow = pytest.mark.slow
every_length = pytest.mark.parametrize("most", [10_000, pytest.param(200_000, marks=slow)])


# The reader of Markdown that these tests trust.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# a\n\nb", ["heading"]),
        ("a\n===\nb\n---", ["underline", "underline"]),
        ("***\n- # a", ["rule", "heading"]),
        ("```\na\n```", ["fence", "fence"]),
        ("a\x85# b\u2028~~~", ["heading", "fence"]),
        ("#a\n-5\na # b", []),
    ],
)
def test_reader(text: str, expected: list[str]) -> None:
    """The reader these tests trust sees headings, rules and fences."""
    assert expected == skeleton(text)


# Every place.


@in_every_place
def test_decode_gives_back_the_corpus(encode: Encoder) -> None:
    """Every string of the corpus comes back from every place."""
    assert [] == [value for value in HOSTILE if value != decode(encode(value))]


@in_every_place
@given(value=VALUES)
def test_decode_gives_back_any_value(encode: Encoder, value: str) -> None:
    """Any string at all comes back from every place."""
    assert value == decode(encode(value))


@in_every_place
@given(value=VALUES)
def test_no_delimiter_in_an_encoded_value(encode: Encoder, value: str) -> None:
    """No encoded value holds an angle bracket, so none holds a delimiter."""
    assert not re.findall("[<>]", encode(value))


@in_every_place
@given(value=VALUES)
def test_every_ampersand_starts_a_reference(encode: Encoder, value: str) -> None:
    """An encoded value holds no ampersand but those of its own references."""
    encoded = encode(value)
    assert encoded.count("&") == len(re.findall(r"&(?:amp|lt|gt|quot|#\d+);", encoded))


@in_every_place
@given(value=VALUES)
def test_control_characters_are_references(encode: Encoder, value: str) -> None:
    """No encoded value holds a control character, a lone surrogate, U+FFFE or U+FFFF."""
    assert not controls(encode(value))


@in_every_place
@given(value=VALUES)
def test_strict_utf8(encode: Encoder, value: str) -> None:
    """Every encoded value can be written as strict UTF-8."""
    encoded = encode(value)
    assert encoded == encoded.encode().decode()


@in_every_place
@given(value=VALUES)
def test_linear_size(encode: Encoder, value: str) -> None:
    """An encoded value is at most as long as one reference for each of its characters."""
    assert len(encode(value)) <= LARGEST_REFERENCE * len(value)


@on_one_line
@given(value=VALUES)
def test_one_line(encode: Encoder, value: str) -> None:
    """A value in an attribute, a field or a cell is one line to every reader."""
    encoded = encode(value)
    assert [encoded] == (encoded.splitlines() or [""])


@in_every_place
@pytest.mark.parametrize("text", ["", "word", "two words", "caf\u00e9 \u65e5\u672c", "x" * 10_000])
def test_harmless_text_is_the_same_object(encode: Encoder, text: str) -> None:
    """A text that needs no encoding comes back as the object it is."""
    assert text is encode(text)


@pytest.mark.parametrize("encode", [body, inline])
def test_harmless_lines_are_the_same_object(encode: Encoder) -> None:
    """A text of several lines that needs no encoding comes back as the object it is."""
    text = "One line,\r\n- an item\n1. another # no heading\n\nand 3 - 2 = 1."
    assert text is encode(text)


def _trap(*_: object, **__: object) -> NoReturn:
    raise AssertionError("a method of the value ran")


NEEDED_TO_EXIST = {"__new__", "__init__", "__class__", "__getattribute__", "__doc__"}


def loud(kind: type) -> Any:
    """Return a subclass whose every method is a trap."""
    return type(
        f"Loud{kind.__name__}", (kind,), dict.fromkeys({*dir(kind)} - NEEDED_TO_EXIST, _trap)
    )


LOUD_STR = loud(str)


@in_every_place
def test_a_subclass_cannot_override_its_encoding(encode: Encoder) -> None:
    """A subclass of str is its characters: none of its own methods runs."""
    assert encode("# <b>") == encode(LOUD_STR("# <b>"))


RUNS = (
    *"#-1.=`~ \t\n\r<&\\|\x00\ud800\u00a0",
    "- ",
    "* * ",
    "1. ",
    "_ ",
    "\n ",
    "\n- ",
    "\r\n",
    "&#",
)


def is_linear(most: int, work: Callable[[int], object]) -> bool:
    """Return whether ten times as much takes about ten times as long: squared it is a hundred."""

    def seconds(length: int) -> float:
        start = process_time()
        work(length)
        return process_time() - start

    # What is done at once is not measured, and what seems too slow is measured again.
    return any(seconds(most) < 24 * max(seconds(most // 10), 0.002) for _ in range(3))


def repeated(encode: Encoder, run: str) -> Callable[[int], object]:
    """Return what encodes and decodes repetitions, as many as come to a length."""
    return lambda length: decode(encode(run * (length // len(run)) + "x"))


@every_length
@in_every_place
def test_linear_time(encode: Encoder, most: int) -> None:
    """Ten times the repetitions are encoded and decoded in about ten times the time."""
    runs = (*RUNS, "\n" + "- " * 99 + "x")
    assert [] == [run for run in runs if not is_linear(most, repeated(encode, run))]


# Bodies, attributes, fields, cells, titles.


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"),
        ('"it\'s"', '"it\'s"'),
        ("a\tb\nc\r\nd\re", "a\tb\nc\r\nd&#13;e"),
        ("\r", "&#13;"),
        ("\r\r\n", "&#13;\r\n"),
        ("\x00\x07\x7f\x85", "&#0;&#7;&#127;&#133;"),
        ("\ud800\ufffe\uffff", "&#55296;&#65534;&#65535;"),
        ("&amp;", "&amp;amp;"),
        ("\u200b\u202e\u2028\ufeff", "\u200b\u202e\u2028\ufeff"),
    ],
)
def test_body(value: str, expected: str) -> None:
    """In a body markup and control characters are references; line ends and quotes are kept."""
    assert expected == body(value)


@pytest.mark.parametrize("encode", [attribute, field])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('a "b"', "a &quot;b&quot;"),
        ("it's", "it&#39;s"),
        ("a\nb\r\nc\td", "a&#10;b&#13;&#10;c&#9;d"),
        ("\u2028\u2029", "&#8232;&#8233;"),
        ("</event>", "&lt;/event&gt;"),
    ],
)
def test_attribute_and_field(encode: Encoder, value: str, expected: str) -> None:
    """In an attribute or a field quotes, tabs and line ends are references too."""
    assert expected == encode(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a | b", "a &#124; b"),
        ("a\\|b", "a\\&#124;b"),
        ("a\\", "a&#92;"),
        ("a\\b", "a\\b"),
        ("a\nb", "a&#10;b"),
        ('<b>"it\'s"', '&lt;b&gt;"it\'s"'),
    ],
)
def test_cell(value: str, expected: str) -> None:
    """In a cell bars and line ends are references, and so is a backslash at the end."""
    assert expected == cell(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a | <b> & c", "a &#124; <b> & c"),
        ("a\nb\u2028", "a&#10;b&#8232;"),
        ("a\\b\\", "a\\b&#92;"),
    ],
)
def test_authored_cell(text: str, expected: str) -> None:
    """In an author's cell bars and line ends are references, and all else is as written."""
    assert expected == authored_cell(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rules & <b>", "Rules & <b>"),
        ("a\nb\r\nc", "a&#10;b&#13;&#10;c"),
        ("a\x0b\x0c\x1c\x1d\x1e\x85b", "a&#11;&#12;&#28;&#29;&#30;&#133;b"),
        ("a\u2028b\u2029c", "a&#8232;b&#8233;c"),
        ("tab\there", "tab\there"),
    ],
)
def test_title(text: str, expected: str) -> None:
    """A title has no line end; all else in it is as written."""
    assert expected == title(text)


@given(text=VALUES)
def test_a_title_is_one_line(text: str) -> None:
    """Any title is one line to every reader."""
    assert [title(text)] == (title(text).splitlines() or [""])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("&lt;&gt;&amp;&quot;&#39;", "<>&\"'"),
        ("&amp;lt;", "&lt;"),
        ("&#1114111;&#1114112;", "\U0010ffff&#1114112;"),
        ("&#99999999;&#x3c;&nbsp;&lt", "&#99999999;&#x3c;&nbsp;&lt"),
        ("&#\u0661;", "&#\u0661;"),
        ("&#;&#00000065;&;", "&#;&#00000065;&;"),
        ("&#1/;&#1:;", "&#1/;&#1:;"),
    ],
)
def test_decode(text: str, expected: str) -> None:
    """Only references as the encoders write them are decoded, once."""
    assert expected == decode(text)


def test_decode_refuses() -> None:
    """Anything but a string is refused by name."""
    with pytest.raises(ContentError) as caught:
        decode(1)  # type: ignore[arg-type]
    assert "decode() takes a string, not int" == caught.value.what
    assert "pass the text itself, as a str" == caught.value.fix


# Inline.


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("# x", "&#35; x"),
        ("a\n# x", "a\n&#35; x"),
        ("a\n   ## x", "a\n   &#35;# x"),
        ("a\r\n# x", "a\r\n&#35; x"),
        ("a\r# x", "a&#13;# x"),
        ("a\u2028# x", "a&#8232;# x"),
        ("a\n- # x", "a\n- &#35; x"),
        ("a\n-  # x", "a\n-  &#35; x"),
        ("a\n* # x", "a\n* &#35; x"),
        ("a\n+ # x", "a\n+ &#35; x"),
        ("a\n12. # x", "a\n12. &#35; x"),
        ("a\n===\nb", "a\n&#61;==\nb"),
        ("a\n- - -\nb", "a\n&#45; - -\nb"),
        ("a\n-\nb\n=\nc", "a\n&#45;\nb\n&#61;\nc"),
        ("a\n_ _ _\nb", "a\n&#95; _ _\nb"),
        ("a\n- * * *\nb", "a\n&#45; * * *\nb"),
        ("a\n1. - - - \nb", "a\n1. - - &#45; \nb"),
        ("a\n+ * * *\t\nb", "a\n+ * * &#42;\t\nb"),
        ("a\n* * *\nb", "a\n&#42; * *\nb"),
        ("a\n1. ---\nb", "a\n1. &#45;--\nb"),
        ("a\n1. ---", "a\n1. &#45;--"),
        ("a\n```py\nb", "a\n&#96;``py\nb"),
        ("a\n  ~~~\nb", "a\n  &#126;~~\nb"),
        ("a\n-", "a\n&#45;"),
        ("a\n``", "a\n&#96;`"),
        ("a\n1.", "a\n1&#46;"),
        ("a\n  1.", "a\n  1&#46;"),
        ("a\n90.", "a\n90&#46;"),
        ("a\n++", "a\n&#43;+"),
        ("a\n1.  2)", "a\n1&#46;  2)"),
        ("a\n1.2)", "a\n1.2)"),
        ("a\n``x\n~~x\nb", "a\n``x\n~~x\nb"),
        ("a\n- 2) ", "a\n&#45; 2) "),
        ("a\n* 2) ", "a\n&#42; 2) "),
        ("a\n+ 2) ", "a\n&#43; 2) "),
        (".", "&#46;"),
        ("a\n", "a&#10;"),
        ("a\r\n", "a&#13;&#10;"),
        ("a\n\n  ", "a\n&#10;  "),
        ("-5", "&#45;5"),
        ("*a*", "&#42;a*"),
        (" a", "&#32;a"),
        ("\na", "&#10;a"),
        ("", ""),
        ("a\n- b\n1. c\n42", "a\n- b\n1. c\n42"),
        ("a <b>", "a &lt;b&gt;"),
        ("3.14", "3.14"),
        ("R&D", "R&amp;D"),
        ("a<b", "a&lt;b"),
        ("a>b", "a&gt;b"),
        ("a\n12345678901. # x", "a\n12345678901. &#35; x"),
        ("a\n/. # x\n:. # x", "a\n/. # x\n:. # x"),
        ("a\n##\n##", "a\n&#35;#\n&#35;#"),
        ("a\n=#", "a\n&#61;#"),
    ],
)
def test_inline(value: str, expected: str) -> None:
    """Inline, a mark that could head, rule or fence is a reference, and all else is readable."""
    assert expected == inline(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("word", "word"),
        ("a\nb\r\nc", "a&#10;b&#13;&#10;c"),
        ("# <a>\n# b", "&#35; &lt;a&gt;&#10;&#35; b"),
    ],
)
def test_inline_line(value: str, expected: str) -> None:
    """On one line a value is inline, and its line ends are references."""
    assert expected == inline_line(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("# -1?", "# -1?"),
        ("a\nb\r\nc\u2028d", "a&#10;b&#13;&#10;c&#8232;d"),
        ("<a>\x07&\t", "&lt;a&gt;&#7;&amp;\t"),
    ],
)
def test_one_line_in_the_middle(value: str, expected: str) -> None:
    """In the middle of a line a value begins nothing, and cannot leave it."""
    assert expected == one_line(value)


def test_one_line_of_a_subclass() -> None:
    """A subclass cannot override its encoding."""
    assert "&lt;b&gt;" == one_line(LOUD_STR("<b>"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", "```"), ("a `b` c", "```"), ("``", "```"), ("a\n```\nb ``", "````"), ("`````", "``````")],
)
def test_code_fences(text: str, expected: str) -> None:
    """A code fence is longer than any run of backticks inside, and never shorter than three."""
    assert (f"{expected}\n", f"\n{expected}") == code_fences(text, None)


@pytest.mark.parametrize(
    ("language", "expected"),
    [(None, ""), ("python", "python"), ("a`b\n<c", "a&#96;b&#10;&lt;c")],
)
def test_the_language_of_a_code_fence(language: str | None, expected: str) -> None:
    """The language of a code fence is one line without backticks, and may be absent."""
    assert (f"```{expected}\n", "\n```") == code_fences("x", language)


NEIGHBOURS = [
    ("intro\n\n", "\n\nend"),
    ("intro\n", "\nend"),
    ("word ", " word"),
    ("", ""),
    ("# ", ""),
    ("#", ""),
    ("###", "\n\nend"),
    ("- ", ""),
    ("-", "\nend"),
    ("intro\n-", ""),
    ("intro\n--", "\nend"),
    ("intro\n==", "="),
    ("* ", " # end"),
    ("1. ", " # end"),
    ("intro\n  ", "# end"),
    ("``", "`"),
    ("intro\n`", "``"),
    ("intro\n~~", "~~~"),
    ("**", "**"),
    ("intro\n", "--"),
    ("intro\n- ", "- -"),
    ("> ", "\n> end"),
]
BESIDE = st.sampled_from(NEIGHBOURS)


@examples(2_000, fast=40)
@with_each(NEIGHBOURS, "# h\n- x")
@given(beside=BESIDE, value=SOMETHING)
def test_inline_beside_author_text(beside: tuple[str, str], value: str) -> None:
    """Whatever stands beside it, an inline value is to the reader like a harmless word."""
    before, after = beside
    assert skeleton(f"{before}word{after}") == skeleton(f"{before}{inline(value)}{after}")


@examples(2_000, fast=40)
@with_each(NEIGHBOURS, "# h\n", "- x")
@given(beside=BESIDE, one=SOMETHING, two=SOMETHING)
def test_adjacent_inline_values(beside: tuple[str, str], one: str, two: str) -> None:
    """Two inline values beside each other are to the reader like one harmless word."""
    before, after = beside
    text = f"{before}{inline(one)}{inline(two)}{after}"
    assert skeleton(f"{before}word{after}") == skeleton(text)


@examples(2_000, fast=40)
@with_each(NEIGHBOURS, "# h\n", "- x")
@given(beside=BESIDE, one=SOMETHING, two=SOMETHING)
def test_inline_to_commonmark(
    commonmark: Callable[[str], list[str]], beside: tuple[str, str], one: str, two: str
) -> None:
    """A CommonMark parser sees no heading, rule or fence of an inline value's making."""
    before, after = beside
    text = f"{before}{inline(one)}{inline(two)}{after}"
    assert commonmark(f"{before}word{after}") == commonmark(text)


# JSON.


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [1, 2.5, None, True]}, '{"a": [1, 2.5, null, true]}'),
        ("</context> & co", '"\\u003c/context\\u003e \\u0026 co"'),
        (EDGES, f'"{ESCAPED_EDGES}"'),
        ("caf\u00e9\u2028\x85\ud800\uffff", '"caf\u00e9\\u2028\\u0085\\ud800\\uffff"'),
    ],
)
def test_json_text(value: object, expected: str) -> None:
    """JSON is strict, on one line, and holds no markup."""
    assert expected == json_text(value)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def test_json_text_of_a_subclass() -> None:
    """A subclass of str is its characters in JSON too."""
    expected = '"x"'
    assert expected == json_text(LOUD_STR("x"))


@given(value=JSON_VALUES)
def test_json_text_reads_back(value: object) -> None:
    """Any plain data reads back from its JSON text."""
    assert value == json.loads(json_text(value))


@given(value=VALUES)
def test_json_text_is_one_safe_line(value: str) -> None:
    """The JSON of any string is one line of strict UTF-8 without markup."""
    text = json_text(value)
    assert ([text], []) == (text.encode().decode().splitlines(), re.findall("[<>&]", text))


def _cycle() -> list[object]:
    items: list[object] = []
    items.append(items)
    return items


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (float("nan"), "'value' is not a JSON value: nan"),
        ([float("inf")], "'value[0]' is not a JSON value: inf"),
        ({"a": date(2026, 1, 1)}, "'value.a' is not a JSON value: date"),
        ({1, 2}, "'value' is not a JSON value: set"),
        ({(1, 2): 3}, "a key of 'value' must be a string, not tuple"),
        ({1: "a", "1": "b"}, "a key of 'value' must be a string, not int"),
        (_cycle(), "the data contains itself"),
    ],
    ids=["nan", "inf", "date", "set", "key", "number", "cycle"],
)
def test_json_text_refuses(value: object, what: str) -> None:
    """What JSON has no word for is refused by name, and where it is."""
    with pytest.raises(ContentError) as caught:
        json_text(value)
    assert (what, True) == (caught.value.what, bool(caught.value.fix))


# Guards.

KITS = frozenset({"context", "event", "test", "kit"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("</context>", "&lt;/context>"),
        ("<context>", "&lt;context>"),
        ('<context type="x">', '&lt;context type="x">'),
        ("</ CONTEXT >", "&lt;/ CONTEXT >"),
        ("<\n/\tcontext", "&lt;\n/\tcontext"),
        ("<context", "&lt;context"),
        ("</context.", "&lt;/context."),
        ("</event></context>", "&lt;/event>&lt;/context>"),
        ("<</context>", "<&lt;/context>"),
        ("</context\u00a0x>", "&lt;/context\u00a0x>"),
        ("</te\u017ft>", "&lt;/te\u017ft>"),
        ("</\u212ait>", "&lt;/\u212ait>"),
        ("</k\u0130t></k\u0131t>", "&lt;/k\u0130t>&lt;/k\u0131t>"),
        ("<te\ufb06>", "&lt;te\ufb06>"),
        ("</context\u0301>", "&lt;/context\u0301>"),
        ("</contex\u0165>", "&lt;/contex\u0165>"),
        ("<//context>", "&lt;//context>"),
        ("<contexts> <a> a < b </ &lt;", "<contexts> <a> a < b </ &lt;"),
        ("<context-window>", "<context-window>"),
        ("<contextX>", "<contextX>"),
        ("<context.x>", "<context.x>"),
        ("</context\u00e9>", "</context\u00e9>"),
        ("no markup", "no markup"),
        ("None <", "None &lt;"),
        ("a <", "a &lt;"),
        ("a </", "a &lt;/"),
        ("a < / \n", "a &lt; / \n"),
        ("a <//", "a &lt;//"),
        ("a <cont", "a &lt;cont"),
        ("a <b", "a <b"),
        ("a /", "a /"),
        ("&amp;\x00\r", "&amp;\x00\r"),
        ("", ""),
    ],
)
def test_guard(text: str, expected: str) -> None:
    """What reads as a fence around a text, or begins to at its end, is escaped; no more."""
    assert expected == guard(text, KITS)


@pytest.mark.parametrize("text", ["a < b, <b>, </b>", "a \u2039 b", "</event>"])
def test_guard_keeps_the_object(text: str) -> None:
    """A text without a delimiter comes back as the object it is."""
    assert text is guard(text, {"context"})


def test_guard_without_names() -> None:
    """Without a fence around it every text is as written."""
    assert "a </event> <" == guard("a </event> <", ())


def test_guard_of_a_finished_place() -> None:
    """A value cannot complete a delimiter that the author's text began."""
    expected = "&lt;/context&gt;"
    assert expected == guard("<" + inline("/context>"), {"context"})


def test_a_subclass_cannot_override_its_guard() -> None:
    """A subclass of str is its characters to a guard too."""
    assert "&lt;/context>" == guard(LOUD_STR("</context>"), {"context"})


FENCES = frozenset({"context", "event", "k"})
MARKUP = st.lists(
    st.sampled_from(("<", "/", " ", ">", "context", "EVENT", "k", "\u212a", "a", "-", "\n", "&lt;"))
).map("".join)


@given(text=VALUES | MARKUP)
def test_guarded_text_holds_no_delimiter(text: str) -> None:
    """A tolerant reader finds no delimiter of an enclosing fence in guarded text."""
    assert [] == tags_in(guard(text, FENCES), FENCES)


@given(text=VALUES | MARKUP)
def test_guard_changes_only_brackets(text: str) -> None:
    """A guard writes some brackets as references and changes nothing else."""
    assert decode(text) == decode(guard(text, FENCES))


@given(text=VALUES | MARKUP)
def test_guard_once_is_enough(text: str) -> None:
    """Guarded text is not changed by being guarded again."""
    assert guard(text, FENCES) == guard(guard(text, FENCES), FENCES)


@given(value=VALUES)
def test_guard_leaves_encoded_values(value: str) -> None:
    """A value that was encoded for the fence passes a guard as the object it is."""
    encoded = minimal_body(value, FENCES)
    assert encoded is guard(encoded, FENCES)


@given(value=VALUES)
def test_a_full_encoding_leaves_odd_brackets_to_the_guard(value: str) -> None:
    """In full no tag is read either, once the brackets that are no markup are guarded."""
    encoded = guard(body(value), FENCES)
    assert ([], value) == (tags_in(encoded, FENCES), decode(encoded))


@every_length
@pytest.mark.parametrize("run", ["<", "< ", "</", "<context", "<context ", "</name9 >", "<a"])
def test_guard_takes_linear_time(run: str, most: int) -> None:
    """Ten thousand names and a long text of openings are guarded in seconds."""
    names = frozenset(f"name{number}" for number in range(10_000))
    assert is_linear(most, lambda length: guard(run * length, names))


EVENTS = frozenset({"[[EVENT", "]]", "Event: "})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[EVENT x ]]", "&#91;[EVENT x &#93;&#93;"),
        ("[[[EVENT", "[&#91;[&#69;VENT"),
        ("[[event x", "&#91;[event x"),
        ("[ [\u200bE\nvent x", "&#91; [\u200bE\nvent x"),
        ("]]]", "&#93;&#93;&#93;"),
        ("] ]x]", "&#93; ]x&#93;"),
        ("]x] ", "]x&#93; "),
        ("Event: x", "&#69;vent: x"),
        ("myEvent:", "my&#69;vent:"),
        ("an even", "an &#101;ven"),
        ("done", "done"),
        ("done e", "done &#101;"),
        ("[event x", "[event x"),
        ("[[", "&#91;&#91;"),
        ("[[x", "[[x"),
    ],
)
def test_guard_against_literals(text: str, expected: str) -> None:
    """What reads as a literal delimiter, or begins to, is broken at its first character."""
    assert expected == guard(text, (), EVENTS)


@pytest.mark.parametrize("delimiters", [(), ("[[",), ("]", "[]")])
def test_guard_against_literals_keeps_the_object(delimiters: tuple[str, ...]) -> None:
    """A text that holds no delimiter comes back as the object it is."""
    text = "a [ b ; c"
    assert text is guard(text, (), frozenset(delimiters))


def test_guard_against_letters_that_have_no_case() -> None:
    """A letter whose small form is two is found in a delimiter, and so is its capital form."""
    literals = frozenset({"[\u0130", "[k"})
    assert "a&#91;\u0130b &#91;\u212a" == guard("a[\u0130b [\u212a", (), literals)


def test_guard_against_a_line_end() -> None:
    """White space of a delimiter is not compared: what is seen of it is guarded against."""
    assert "a\n&#91;b" == guard("a\n[b", (), frozenset({"\n["}))


@pytest.mark.parametrize("delimiter", ["##", "/", ":", "1:", "/1"])
def test_guard_takes_what_is_in_no_reference(delimiter: str) -> None:
    """A delimiter that no reference holds is guarded against, digits and signs in it or not."""
    expected = f"a&#{ord(delimiter[0])};{delimiter[1:]}b"
    assert expected == guard(f"a{delimiter}b", (), frozenset({delimiter}))


@pytest.mark.parametrize(
    "delimiter", ["&", ";", "a;", "x&y", "#", "12", "#12", "09", "amp", "AMP", "t", "quo"]
)
def test_guard_refuses(delimiter: str) -> None:
    """A delimiter that writing a reference would write is refused by name."""
    with pytest.raises(ConfigError, match=re.escape(repr(delimiter))):
        guard("x", (), frozenset({delimiter}))


BLANK = (
    "is blank or not valid Unicode\\n"
    "  write a delimiter with visible characters, such as '\\[\\[event'$"
)
REFERENCE = (
    "part of a character reference\\n"
    "  write a delimiter with other characters, such as '\\[\\[event'$"
)


@pytest.mark.parametrize(
    ("delimiter", "named"),
    [
        ("", BLANK),
        (" \n", BLANK),
        ("\u200b\x00", BLANK),
        ("[\ud800", BLANK),
        ("#", REFERENCE),
        (" 12 ", REFERENCE),
        ("1\u200b2", REFERENCE),
    ],
)
def test_check_delimiter(delimiter: str, named: str) -> None:
    """A delimiter that cannot be kept out of a text is refused, with one that can."""
    with pytest.raises(ConfigError, match=named):
        check_delimiter(delimiter)


def test_check_delimiter_of_a_tag() -> None:
    """The name of a tag may read as part of a reference: its bracket is what is guarded."""
    check_delimiter("lt", tag=True)


def _accepted(delimiter: str) -> bool:
    try:
        check_delimiter(delimiter)
    except ConfigError:
        return False
    return True


LETTERS = "[]#E1amplt<&; \n"
DELIMITERS = st.frozensets(st.text(LETTERS, min_size=1, max_size=3).filter(_accepted), max_size=4)


@given(value=VALUES | st.text(LETTERS), delimiters=DELIMITERS)
def test_guarded_values_hold_no_delimiter(value: str, delimiters: frozenset[str]) -> None:
    """Whatever the delimiters, an encoded and guarded value holds none of them."""
    for text in (guard(body(value), (), delimiters), minimal_body(value, (), delimiters)):
        assert not [delimiter for delimiter in delimiters if delimiter in text]


@given(value=VALUES | st.text(LETTERS), delimiters=DELIMITERS)
def test_guarded_values_decode(value: str, delimiters: frozenset[str]) -> None:
    """Whatever the delimiters, an encoded and guarded value is still decoded."""
    assert (value, value) == (
        decode(guard(body(value), (), delimiters)),
        decode(minimal_body(value, (), delimiters)),
    )


# Values of other types.


class Plan(StrEnum):
    """An enumeration of strings."""

    PRO = "pro"


class Level(IntEnum):
    """An enumeration of numbers."""

    HIGH = 3


class Colour(Enum):
    """An enumeration of nothing textual."""

    RED = "red"


POSING: Any = type("Posing", (), {"__class__": property(lambda _: str)})
"""An object that says it is a str."""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x", "x"),
        (Plan.PRO, "pro"),
        (Level.HIGH, "3"),
        (7, "7"),
        (2.50, "2.5"),
        (1e100, "1e+100"),
        (True, "true"),
        (False, "false"),
        (Decimal("1.10"), "1.10"),
        (Fraction(1, 3), "1/3"),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "2026-01-02T03:04:00+00:00"),
        (time(3, 4), "03:04:00"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_text_of(value: object, expected: str) -> None:
    """Each type of the list has one text, and a subclass that of the type it extends."""
    assert expected == text_of(value)


@pytest.mark.parametrize(
    ("kind", "given", "expected"), [(str, "x", "x"), (int, 7, "7"), (float, 0.1, "0.1")]
)
def test_text_of_runs_no_method(kind: type, given: object, expected: str) -> None:
    """No method of a subclass of str, int or float runs, and the text is a plain str."""
    text = text_of(loud(kind)(given))
    assert (str, expected) == (type(text), text)


AS_TEXT = "write str(value), or json.dumps(value) for its structure"


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (None, "None is not text\n  leave it out, or write an empty string"),
        (b"x", "bytes is not text\n  write data.decode()"),
        ([1], f"list is not text\n  {AS_TEXT}"),
        ({}, f"dict is not text\n  {AS_TEXT}"),
        (Colour.RED, "Colour is not text\n  write member.value"),
        (1j, f"complex is not text\n  {AS_TEXT}"),
    ],
)
def test_text_of_refuses(value: object, named: str) -> None:
    """Any other type is refused by name, with what to write instead."""
    with pytest.raises(ContentError) as caught:
        text_of(value)
    assert named == str(caught.value)


def test_text_of_refuses_what_only_poses_as_a_string() -> None:
    """The type of a value is what it is, not what it says it is."""
    with pytest.raises(ContentError, match="Posing is not text"):
        text_of(POSING())


def test_text_of_refuses_numbers_that_python_does_not_print() -> None:
    """An integer of more digits than Python prints is refused by name."""
    words = r"int is not text: Exceeds .*\n  write its text as a string$"
    with pytest.raises(ContentError, match=words):
        text_of(10**5_000)


@pytest.mark.parametrize(
    ("value", "rare", "number"),
    [
        (0, False, True),
        (0.5, False, True),
        (True, False, False),
        (Level.HIGH, False, True),
        (Decimal(0), True, True),
        (Fraction(0), True, True),
        (date(2026, 1, 2), True, False),
        (datetime(2026, 1, 2, tzinfo=UTC), True, False),
        (time(3, 4), True, False),
        (UUID(int=1), True, False),
        ("1", False, False),
        (1j, False, False),
        (None, False, False),
    ],
)
def test_kinds_of_values(value: object, *, rare: bool, number: bool) -> None:
    """Rare are the types whose modules are imported late; a boolean is no number."""
    assert (rare, number) == (is_rare(value), is_number(value))


@pytest.mark.parametrize(("value", "expected"), [(None, ""), (True, "true"), ("x", "x")])
def test_data_text(value: object, expected: str) -> None:
    """In data None is empty; all else is as in text."""
    assert expected == data_text(value)


# What a reader does not see.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", ("plain", False)),
        ("caf\u00e9", ("caf\u00e9", False)),
        ("a\ud800b\udfff", ("a\ufffdb\ufffd", True)),
        ("\ufffd", ("\ufffd", False)),
    ],
)
def test_whole(text: str, expected: tuple[str, bool]) -> None:
    """Lone surrogates become U+FFFD, and whether there were any is told."""
    assert expected == valid_unicode(text)


@given(text=ANY_TEXT)
def test_whole_text_is_strict_utf8(text: str) -> None:
    """Any text is strict UTF-8 once it is whole, and as long as before."""
    assert len(text) == len(valid_unicode(text)[0].encode().decode())


def test_whole_keeps_the_object() -> None:
    """A text without lone surrogates comes back as the object it is."""
    text = "caf\u00e9"
    assert text is valid_unicode(text)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\ttext\r\n", ()),
        ("\x07a\x07\x1b", ("U+0007", "U+001B")),
        ("a\rb", ("U+000D",)),
        ("\x7f\x85\ud800\ufffe\uffff", ("U+007F", "U+0085", "U+D800", "U+FFFE", "U+FFFF")),
        ("\u200b", ()),
    ],
)
def test_controls(text: str, expected: tuple[str, ...]) -> None:
    """Control characters, lone surrogates and noncharacters are named once, in order."""
    assert expected == controls(text)


@given(value=VALUES)
def test_controls_are_what_a_body_writes_by_number(value: str) -> None:
    """The characters named are those a body writes as numbers."""
    numbers = re.findall(r"&#(\d+);", body(value))
    assert tuple(dict.fromkeys(f"U+{int(number):04X}" for number in numbers)) == controls(value)


ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", ()),
        ("caf\u00e9 \u65e5\u672c", ()),
        ("a\u200bb\u200b\u202e", ("U+200B", "U+202E")),
        ("\ufeffx\u00ad", ("U+FEFF", "U+00AD")),
        ("a\u200db", ("U+200D",)),
        ("\u061c\u200c", ("U+061C", "U+200C")),
        ("\u180b\u200d", ("U+180B", "U+200D")),
        ("\U0001f468\u200d\U0001f469\U0001f3fd\u200d\U0001f467", ()),
        ("\u2764\ufe0f\u200d\U0001f525 1\ufe0f\u20e3", ()),
        ("\U0001f468\u200d", ("U+200D",)),
        ("a\ufe0f", ("U+FE0F",)),
        ("\U0001f600\ufe0f\ufe0e", ("U+FE0E",)),
        (ENGLAND, ()),
        ("x" + ENGLAND[1:], ("U+E0067", "U+E0062", "U+E0065", "U+E006E", "U+E007F")),
        ("\U0001f3f4\U000e0061\U000e007f", ("U+E0061", "U+E007F")),
        ("x\U000e0061", ("U+E0061",)),
        ("\u0645\u06cc\u200c\u062e", ()),
        ("\u0915\u094d\u200d\u0937", ()),
        ("\u17b4\u200d\u17b5\u200c", ("U+17B4", "U+200D", "U+17B5", "U+200C")),
        ("\U000e0100", ("U+E0100",)),
    ],
)
def test_invisible(text: str, expected: tuple[str, ...]) -> None:
    """Invisible characters are named once, in order, but not those that spell something."""
    assert expected == invisible(text)


@every_length
@pytest.mark.parametrize("read", [controls, invisible, valid_unicode])
@pytest.mark.parametrize(
    "run", ["\U0001f468\u200d", "\u200d", "\x00", "\ud800", "\U0001f3f4\U000e0067"]
)
def test_reports_take_linear_time(read: Callable[[str], object], run: str, most: int) -> None:
    """A long text of unseen characters is read in linear time."""
    assert is_linear(most, lambda length: read(run * length))


# Exactly which characters, of all there are.

FIRST_BLOCKS = "".join(map(chr, range(0x3100)))
"""Up to the ideographic space: all white space, and all that Markdown means something by."""
LINE_ENDS = frozenset(line[-1] for line in FIRST_BLOCKS.splitlines(keepends=True)[:-1]) | {"\r"}
LONE = frozenset(map(chr, range(0xD800, 0xE000)))
CONTROL = frozenset(each for each in FIRST_BLOCKS if category(each) == "Cc")
NUMBERED = (CONTROL - {*"\t\n"}) | LONE | {"\ufffe", "\uffff"}

up_to_every_character = pytest.mark.parametrize(
    "last", ["\uffff", pytest.param("\U0010ffff", marks=slow)]
)


def characters(last: str) -> str:
    """Return all characters up to one."""
    return "".join(map(chr, range(ord(last) + 1)))


@up_to_every_character
@pytest.mark.parametrize(
    ("encode", "expected"),
    [
        (body, NUMBERED | {*"<>"}),
        (attribute, NUMBERED | LINE_ENDS | {*"<>\t\"'"}),
        (field, NUMBERED | LINE_ENDS | {*"<>\t\"'"}),
        (cell, NUMBERED | LINE_ENDS | {*"<>\t|"}),
        (authored_cell, LINE_ENDS | {"|"}),
        (inline, NUMBERED | {*"<>\u2028\u2029"}),
        (inline_line, NUMBERED | {*"<>\u2028\u2029\n"}),
        (title, LINE_ENDS),
        (json_text, NUMBERED | {*"<>&\u2028\u2029\t\n"}),
        (lambda text: valid_unicode(text)[0], LONE),
    ],
    ids=[
        "body",
        "attribute",
        "field",
        "cell",
        "authored",
        "inline",
        "line",
        "title",
        "json",
        "whole",
    ],
)
def test_characters(encode: Encoder, expected: frozenset[str], last: str) -> None:
    """These characters are not written as they are, and every other character is."""
    text = characters(last)
    assert expected == {*text} - {*encode(f"a{text}a")}


SPACES = frozenset(filter(str.isspace, FIRST_BLOCKS))
ENCODED = (NUMBERED & {*FIRST_BLOCKS}) | {*"&<>\r\u2028\u2029"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "a", ENCODED | SPACES | {*"#=-*_~`"}),
        ("a\n", "", ENCODED | SPACES | {*"#=-*_~`+.)"}),
        ("a\n", " ", ENCODED | SPACES | {*"#=-*_~`+.)"}),
        ("a\n1", "", ENCODED | {*".)\n"}),
        ("a\n", "a\nb", ENCODED | {"#"}),
        ("a\n- ", "a\nb", ENCODED | {*"#\n"}),
    ],
)
def test_characters_inline(before: str, after: str, expected: frozenset[str]) -> None:
    """Inline between two texts, these characters change something, and no other does."""
    given = {each: before + each + after for each in FIRST_BLOCKS}
    assert expected == {each for each, text in given.items() if text != inline(text)}


def test_characters_of_a_name() -> None:
    """A guard takes letters, digits, the underscore and their twins for a name, and no others."""
    tags = {each: f"<{each}>" for each in FIRST_BLOCKS}
    found = {each for each, tag in tags.items() if guard(tag, {fold(each)} - {""}) != tag}
    expected = {each for each in FIRST_BLOCKS if is_of_name(each) and plain(each).rstrip(".-")}
    assert (expected, True) == (found, found > {*ascii_letters, *digits, "_", "\u0131", "\u212a"})


@up_to_every_character
def test_characters_named_as_controls(last: str) -> None:
    """All that is written by number is named, and nothing else."""
    expected = [f"U+{ord(character):04X}" for character in sorted(NUMBERED)]
    assert expected == [*controls(characters(last))]


EMOJI = ranges(
    "00A9 00AE 203C 2049 2122 2139 2194..21AA 231A..23FF 24C2 25AA..25FE 2600..27BF 2934 2935 "
    "2B05..2B55 3030 303D 3297 3299 1F000..1FAFF"
)
TONES = ranges("1F3FB..1F3FF")
JOINING = ranges("0600..08FF 0900..0DFF 1000..109F 1780..18AF")


def unreported(within: str, before: str, after: str) -> frozenset[str]:
    """Return the seen characters between which and these two texts nothing is invisible."""
    seen = ranges(within) - UNSEEN
    return frozenset(each for each in seen if not invisible(before + each + after))


@up_to_every_character
def test_characters_that_are_invisible(last: str) -> None:
    """These characters are reported where they spell nothing, and nothing else."""
    expected = [f"U+{ord(each):04X}" for each in sorted(UNSEEN) if each <= last]
    assert expected == [*invisible("a".join(characters(last)))]


def test_invisible_characters_beyond_the_first_plane() -> None:
    """Beyond U+FFFF these are reported, and those beside them are not."""
    beside = ranges("1BC9F..1BCA4 1D172..1D17B DFFFF..E1000")
    assert UNSEEN & beside == {each for each in beside if invisible(each)}


@pytest.mark.parametrize(
    "within", ["0000..33FF 1EF00..1FBFF", pytest.param("0000..1FFFF", marks=slow)]
)
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "\ufe0e", EMOJI),
        ("", "\ufe0f", EMOJI),
        ("", "\ufe0f\u20e3", EMOJI | {*"0123456789#*"}),
        ("\U0001f44d", "\ufe0f", EMOJI - TONES),
        ("\u2764\u200d", "\u200d\u2764", EMOJI),
        ("", "\u200c", JOINING),
        ("", "\u200d", JOINING),
    ],
    ids=["text", "emoji", "keycap", "tone", "joined", "non-joiner", "joiner"],
)
def test_characters_that_spell(
    within: str, before: str, after: str, expected: frozenset[str]
) -> None:
    """Beside these characters a selector or joiner spells something, and beside no other."""
    assert expected - UNSEEN == unreported(within, before, after)


TAGS = str.maketrans({chr(code): chr(0xE0000 + code) for code in range(0x61, 0x7B)})
BLACK_FLAG, END_OF_TAGS = "\U0001f3f4", "\U000e007f"


@pytest.mark.parametrize("region", ["gbeng", "gbsct", "gbwls"])
def test_flags_are_seen(region: str) -> None:
    """The tags of the three flags in general use are not reported."""
    assert () == invisible(BLACK_FLAG + region.translate(TAGS) + END_OF_TAGS)


@pytest.mark.parametrize("region", ["gb", "gbe", "gbnir", "usca", "gbengx"])
def test_tags_of_other_flags_are_reported(region: str) -> None:
    """Tags that make no flag in general use are reported, each of them."""
    tags = region.translate(TAGS) + END_OF_TAGS
    expected = tuple(f"U+{ord(tag):X}" for tag in dict.fromkeys(tags))
    assert expected == invisible(BLACK_FLAG + tags)
