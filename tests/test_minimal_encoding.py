"""The minimal encoding of a value in a fence: what it changes, and what it leaves readable."""

import json
import random
from collections.abc import Callable, Collection
from functools import partial
from time import process_time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptdsl import System, Value, decode
from tests.hostile import (
    ANY_TEXT,
    EDGES,
    ESCAPED_EDGES,
    HOSTILE,
    LARGEST_REFERENCE,
    PARTS_OF_TAGS,
    VALUES,
)
from tests.internals import (
    fold,
    guard,
    guard_between,
    guard_end,
    json_body,
    json_text,
    minimal_body,
    paired_tags,
    readable_tags,
    written_tags,
)
from tests.lines_run import times_more
from tests.renders import only_text
from tests.searching import examples
from tests.tolerant_reader import (
    BRACKETS,
    OWN,
    SLASHES,
    begins_mark,
    guarded,
    literals_in,
    minimal,
    tags_in,
)

NAMES = OWN | {"facts", "a-b", "x.y"}
LITERALS = frozenset({"[[END", "]]", "Note:", "[\u0130"})
every_length = pytest.mark.parametrize(
    "most", [1_500, pytest.param(40_000, marks=pytest.mark.slow)]
)


def encoded(value: str, literals: frozenset[str] = frozenset()) -> str:
    """Return a value in a fence of this test."""
    return minimal_body(value, NAMES, literals)


# Rule by rule.


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("</event>", "&lt;/event>"),
        ("<event>", "&lt;event>"),
        ('<event type="x">', '&lt;event type="x">'),
        ("<event", "&lt;event"),
        ("</EVENT\n>", "&lt;/EVENT\n>"),
        ("a</event></context>b", "a&lt;/event>&lt;/context>b"),
        ("<<event>", "<&lt;event>"),
        ("<b></event><b> <i", "<b>&lt;/event><b> <i"),
        ("<ev<b> <Event.> <ev", "<ev<b> &lt;Event.> &lt;ev"),
        ("<b>&amp;</event>\x00< ", "<b>&amp;amp;&lt;/event>&#0;&lt; "),
        ("\u00e9 <b> & </event>\u00e9", "\u00e9 <b> & &lt;/event>\u00e9"),
        ("<\u00e9> <event> \u2039b \u2039event", "<\u00e9> &lt;event> \u2039b &#8249;event"),
        ("\u02c2event>", "&#706;event>"),
        ("\u1438event>", "&#5176;event>"),
        ("\u2039event>", "&#8249;event>"),
        ("\u226eevent>", "&#8814;event>"),
        ("\u2329event>", "&#9001;event>"),
        ("\u276eevent>", "&#10094;event>"),
        ("\u27e8event>", "&#10216;event>"),
        ("\u3008event>", "&#12296;event>"),
        ("\ufe64event>", "&#65124;event>"),
        ("\uff1cevent>", "&#65308;event>"),
        ("\u00abevent\u00bb (event) [event] {event}", "\u00abevent\u00bb (event) [event] {event}"),
    ],
)
def test_brackets(value: str, expected: str) -> None:
    """An opening bracket before a name of the vocabulary is a reference; no closing one is."""
    assert (expected, value) == (encoded(value), decode(encoded(value)))


@pytest.mark.parametrize(
    "gap",
    [
        *(" ", "\t", "\n", "\r\n", "\v", "\f", "\u00a0", "\u2028", "\u3000", "  \n "),
        *("/", "\\", "\u1735", "\u2044", "\u2215", "\u29f8", "\uff0f", "//", "/ / \\"),
        *("\x00", "\x08", "\x1c", "\x7f", "\x85"),
        *("\u00ad", "\u034f", "\u200b", "\u2060", "\ufeff"),
        *("\u115f", "\u3164", "\uffa0", "\u2800", "\ufe0f", "\U000e0065", "\U000e0100", "\ufffe"),
        *("\u0301", "\u0338", "\u0903", "\u20dd", "\ud800", "\u202e", "/\u200b ", "\u200b/\u0301"),
    ],
)
def test_gaps(gap: str) -> None:
    """White space, slashes and what nobody sees may stand between a bracket and a name."""
    value = f"<{gap}event>"
    assert ("&lt;", value) == (encoded(value)[:4], decode(encoded(value)))


@pytest.mark.parametrize(
    "gap",
    [*("x", "!", "?", "-", ".", "_", "1", ">", "<b ", "'", "|", "%", "&"), "\u200b?", "\u200b/?"],
)
def test_no_gaps(gap: str) -> None:
    """With anything seen between them a bracket and a name are no tag."""
    value = f"<{gap}event>"
    assert value == encoded(value)


@pytest.mark.parametrize(
    "name",
    [
        *("event", "EVENT", "eVent", "event.", "event-", "event.-.", "e\u200bvent", "ev\u0301ent"),
        *("ev\x00ent", "ev\x1fent", "ev\x85ent", "ev\u00adent", "ev\ufe0fent", "ev\u3164ent"),
        *("event\u200bx", "event\u0301s", "event\x00xyz", "e\u200bv\u200be\u200bn\u200bt"),
        *("\uff45\uff56\uff45\uff4e\uff54", "\u24d4vent"),
        *("ev\u0600ent", "ev\u0903ent", "ev\u20ddent", "ev\ud800ent"),
        *("\U0001d41event", "\u00e9vent", "event\u0301"),
        *("event ", "event>", "event/", "event="),
        *("event@", "event[", "event`", "event{", "event~", "event\t", "event\r"),
        *("event\n", "event:", "event\u00bd", "event\u00b7", "event\u1438"),
        *("fact\u017f", "FACT\u017f", "sy\ufb06em", "a-b"),
        *("A-B", "a\uff0db", "x.y", "x\uff0ey", "x\u2024y"),
        *("tool_use", "tool\uff3fuse", "ass\u0131stant", "ASS\u0130STANT", "a\u017fs\u0131stant"),
    ],
)
def test_names(name: str) -> None:
    """A name is compared without its marks, as its plain letters, in any case."""
    value = f"x <{name}x y" if name[-1:] in " >/=@[`{~\t\r\n:\u00bd\u00b7" else f"x <{name}> x"
    assert (f"x &lt;{value[3:]}", value) == (guard(value, NAMES), decode(encoded(value)))


@pytest.mark.parametrize(
    "name",
    [
        *("event0", "event9", "eventa", "eventz", "eventA", "eventZ", "0event", "9event"),
        *("events", "event1", "event_", "event.x"),
        *("event-x", "preevent", "even", "x", "eventevent"),
        *("user", "tool", "tooluse", "a", "b", "div", "Promise", "factss", "xy", "x-y", "ab"),
        *("\u0435vent", "ev\u03b5nt", "e vent", "ev\uff9eent"),
        *("ev\u00b7ent", "event\u00e9", "event\u0661", "ev/ent"),
        *("even\u200bts", "events\u200b", "e\u200bevent", "event\u2082", "system1"),
    ],
)
def test_other_names(name: str) -> None:
    """Any other name stays as it is written, and so do look-alike letters."""
    value = f"x <{name}> </{name}> x"
    assert value == encoded(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("&amp; &lt; &gt; &quot; &apos;", "&amp;amp; &amp;lt; &amp;gt; &amp;quot; &amp;apos;"),
        ("&#60; &#x3c; &#X3C;", "&amp;#60; &amp;#x3c; &#X3C;"),
        ("&#0; &#1114112; &#00000000060;", "&amp;#0; &amp;#1114112; &amp;#00000000060;"),
        ("&#x0; &#xFFFFFFFF;", "&amp;#x0; &amp;#xFFFFFFFF;"),
        ("&amp;amp;", "&amp;amp;amp;"),
        ("&&amp;", "&&amp;amp;"),
        (
            "&#9; &#x9; &#xA; &#xF; &#xa; &#xf;",
            "&amp;#9; &amp;#x9; &amp;#xA; &amp;#xF; &amp;#xa; &amp;#xf;",
        ),
        ("&#/; &#:; &#x/; &#x:; &#x@; &#xG; &#x`; &#xg;", None),
        ("& && a&b &nbsp; &AMP; &lt &#60 &; &#; &#x; &#6a; x", None),
        ("?a=1&b=2&lang=en&gtag&amplitude x", None),
        ("&\u200bamp; &#\u0661; &l\u0301t;", None),
    ],
)
def test_references(value: str, expected: str | None) -> None:
    """The ampersand of a reference is one itself, and every other one stays."""
    assert (expected or value, value) == (encoded(value), decode(encoded(value)))


NO_NAMES = (
    *("ampp", "ampmp", "aposs", "aposos", "ltt", "gtt", "quott", "quotot", "quotuot", "ltgt", "a1"),
    *("#/", "#:", "#x/", "#x:", "#x@", "#xG", "#x`", "#xg", "1", "x1", "#1#1", "os", "t", "uot"),
)
"""What begins no reference."""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a <", "a &lt;"),
        ("a </ \n", "a &lt;/ \n"),
        ("a <\u200b", "a &lt;\u200b"),
        ("a \u2039", "a &#8249;"),
        ("a <e", "a &lt;e"),
        ("a </EVEN", "a &lt;/EVEN"),
        ("a <ev\u200ben", "a &lt;ev\u200ben"),
        ("a <tool_", "a &lt;tool_"),
        ("a <a-", "a &lt;a-"),
        ("a <x.", "a &lt;x."),
        ("a <event", "a &lt;event"),
        ("a <event-", "a &lt;event-"),
        ("a &", "a &amp;"),
        ("a &a", "a &amp;a"),
        ("a &am", "a &amp;am"),
        ("a &amp", "a &amp;amp"),
        ("a &ap", "a &amp;ap"),
        ("a &apo", "a &amp;apo"),
        ("a &apos", "a &amp;apos"),
        ("a &l", "a &amp;l"),
        ("a &lt", "a &amp;lt"),
        ("a &g", "a &amp;g"),
        ("a &gt", "a &amp;gt"),
        ("a &q", "a &amp;q"),
        ("a &qu", "a &amp;qu"),
        ("a &quo", "a &amp;quo"),
        ("a &quot", "a &amp;quot"),
        ("a &#", "a &amp;#"),
        ("a &#x", "a &amp;#x"),
        ("a &#12", "a &amp;#12"),
        ("a &#9", "a &amp;#9"),
        ("a &#0", "a &amp;#0"),
        ("a &#xaF", "a &amp;#xaF"),
        ("a &#xA", "a &amp;#xA"),
        ("a &#xf", "a &amp;#xf"),
        ("a &#x09", "a &amp;#x09"),
        ("a <b", None),
        ("a <events", None),
        ("a <ex", None),
        ("a <e ", None),
        ("a <e>", None),
        ("a < b", None),
        ("a &b", None),
        ("a &ampl", None),
        ("a &lt ", None),
        ("a &quota", None),
        ("a &apox", None),
        ("a &#x1g", None),
        ("a &#1a", None),
        *((f"a &{name}", None) for name in NO_NAMES),
        ("a >", None),
    ],
)
def test_beginnings(value: str, expected: str | None) -> None:
    """At its end a value does not even begin a tag or a reference: the next text could go on."""
    assert (expected or value, value) == (encoded(value), decode(encoded(value)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a\x00b\x07\x0b\x0c\x1f\x7f\x85\x9f", "a&#0;b&#7;&#11;&#12;&#31;&#127;&#133;&#159;"),
        ("a\tb\nc\r\nd", None),
        ("a\rb", "a&#13;b"),
        ("a\r", "a&#13;"),
        ("a\r\r\n", "a&#13;\r\n"),
        ("\ud800 \udfff", "&#55296; &#57343;"),
        ("\ufffe\uffff", "&#65534;&#65535;"),
        ("\u200b\u202e\u2028\ufeff\u00a0\U000e0041", None),
        ("</ev\x00ent>", "&lt;/ev&#0;ent>"),
    ],
)
def test_controls(value: str, expected: str | None) -> None:
    """Controls, a lone carriage return and lone surrogates are references, as everywhere."""
    assert (expected or value, value) == (encoded(value), decode(encoded(value)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a ]] b", "a &#93;] b"),
        ("a ] ] b", "a &#93; ] b"),
        ("a ]\u200b\n] b", "a &#93;\u200b\n] b"),
        ("[[end] x", "&#91;[end] x"),
        ("[ [ e n d", "&#91; [ e n d"),
        ("note : x", "&#110;ote : x"),
        ("NOTE: x", "&#78;OTE: x"),
        ("footnote: x", "foot&#110;ote: x"),
        ("a [\u0130 b", "a &#91;\u0130 b"),
        ("a ]", "a &#93;"),
        ("a [[en", "a &#91;[en"),
        ("a [", "a &#91;"),
        ("a n", "a &#110;"),
        ("a not ", "a &#110;ot "),
        ("xnot", None),
        ("a [b] [[x]", "a [b] [[x&#93;"),
        ("a [b] [[x] notes", None),
        ("a \uff3d\uff3d b", None),
    ],
)
def test_literals(value: str, expected: str | None) -> None:
    """A delimiter that is no tag is found in any case, with gaps, and begun at the end."""
    found = encoded(value, LITERALS)
    assert (expected or value, value) == (found, decode(found))


TSX = """\
const [value, setValue] = useState<Map<string, number>>(new Map());
return <List items={a && b} render={(x) => <Item key={x.id} onClick={() => go(x)} />}>&nbsp;</List>;
// a < b, a <= b, a << 2, a & b, R&D, https://example.org/?a=1&b=2&copy=3
"""


@pytest.mark.parametrize(
    "text", [TSX, "<table><tr><td>1</td></tr></table>", "# a\n> b\n<!-- c -->", "a < b && c > d"]
)
def test_readable(text: str) -> None:
    """Code, markup and links stay the objects that they are."""
    assert text is encoded(text)


# Against the slow reader.


@examples(250, fast=75)
@example(value="abc [" * 2_000, literals=LITERALS)
@given(value=VALUES, literals=st.sampled_from([frozenset[str](), LITERALS]))
def test_any_value_is_changed_where_the_reader_says(value: str, literals: frozenset[str]) -> None:
    """Any value, and any author text, is changed exactly where the slow reader finds a mark."""
    assert (minimal(value, NAMES, literals), guarded(value, NAMES, literals)) == (
        minimal_body(value, NAMES, literals),
        guard(value, NAMES, literals),
    )


@pytest.mark.parametrize("literals", [frozenset[str](), LITERALS], ids=["tags", "literals"])
def test_the_corpus_is_changed_where_the_reader_says(literals: frozenset[str]) -> None:
    """So is every string of the corpus."""
    values = [value[:80] for value in HOSTILE]
    assert [minimal(value, NAMES, literals) for value in values] == [
        minimal_body(value, NAMES, literals) for value in values
    ]


ATOMS = (
    *BRACKETS,
    *SLASHES,
    *("<", "</", "< /", ">", "event", "EVENT", "ev", "ent", "context", "a-b", "x.y", "tool_use"),
    *("facts", "\ufb06", "\u017f", "\u0131", "\u0130"),
    *("\uff45", "\u00df", "\u2126", "\u00bd", "\u00b2"),
    *("\u200b", "\u0301", "\u0903", "\x00", "\x1c"),
    *("\x85", "\u2028", "\u3164", "\u2800", "\ufe0f"),
    *("\U000e0065", "\xad", "\ud800", " ", "\t", "\n", "\r", ".", "-", "_", "\uff0e", "\uff3f"),
    *("&", "&#", "&#x", "&l", "amp;", "lt;", "apos;", "60;", "3c;", ";", "#", "1", "x", "q"),
    *("[", "[[", "]", "]]", "end", "END", "e", "n", "N", "d", "note:", "Note", ":", "K"),
)


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 1_000), pytest.param(2, 60_000, marks=pytest.mark.slow)]
)
def test_random_values_are_changed_where_the_reader_says(seed: int, count: int) -> None:
    """So is what is put together of the parts of marks, at random, and comes back."""
    draw = random.Random(seed)
    values = ["".join(draw.choices(ATOMS, k=draw.randrange(9))) for _ in range(count)]
    found = [minimal_body(value, NAMES, LITERALS) for value in values]
    assert (values, [minimal(value, NAMES, LITERALS) for value in values]) == (
        [*map(decode, found)],
        found,
    )


@pytest.mark.parametrize("frame", ["{}", "<{}event>", "<ev{}ent>", "<event{}x>", "x<{}"])
@pytest.mark.parametrize(
    "codes",
    [
        range(0, 0x3100, 11),
        pytest.param(range(0x20000), marks=pytest.mark.slow),
        pytest.param(range(0xDFF00, 0xE1100), marks=pytest.mark.slow),
    ],
    ids=["some", "all", "tags"],
)
def test_every_character_is_read_as_the_reader_does(frame: str, codes: range) -> None:
    """Every character, in every place of a tag, is read as the slow reader does."""
    values = [frame.format(chr(code)) for code in codes]
    assert [] == [value for value in values if minimal(value, NAMES) != minimal_body(value, NAMES)]


# What holds for any value.


@given(value=VALUES)
def test_decode_gives_back_any_value(value: str) -> None:
    """Any value comes back, whatever the vocabulary."""
    assert [value] * 3 == [
        decode(minimal_body(value, ())),
        decode(minimal_body(value, NAMES)),
        decode(minimal_body(value, NAMES, LITERALS)),
    ]


@given(one=VALUES, two=VALUES)
def test_two_values(one: str, two: str) -> None:
    """Two values beside each other form no tag, no reference and no delimiter together."""
    text = encoded(one, LITERALS) + encoded(two, LITERALS)
    marks = LITERALS - {"Note:"}  # which may go on in the middle of a word
    assert (one + two, [], 0) == (
        decode(text),
        tags_in(text, NAMES),
        sum(literals_in(text, literal) for literal in marks),
    )


@given(value=VALUES, cut=st.integers(0, 40))
def test_a_cut_value(value: str, cut: int) -> None:
    """What is cut before it is encoded holds no mark either, nor with what is put behind it."""
    text = encoded(value[:cut]) + encoded("[...]") + encoded(value[cut:])
    assert [] == tags_in(text, NAMES)


@given(value=VALUES)
def test_once_is_enough_for_a_fence(value: str) -> None:
    """An encoded value holds no mark, so that a guard keeps it as the object it is."""
    text = encoded(value, LITERALS)
    assert text is guard(text, NAMES, LITERALS)


@given(value=ANY_TEXT)
def test_size_and_strict_utf8(value: str) -> None:
    """Any text has a UTF-8 form, and is at most as long as a reference for each character."""
    text = encoded(value)
    assert (text, True) == (text.encode().decode(), len(text) <= LARGEST_REFERENCE * len(value))


@given(value=VALUES)
def test_no_mark_is_left(value: str) -> None:
    """The slow reader finds no mark in an encoded value, nor the beginning of one at its end."""
    text = encoded(value)
    assert [] == [start for start in range(len(text)) if begins_mark(text, start, NAMES)]


# Names that are found in author text.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<doc>", {"doc"}),
        ('a <doc title="', {"doc"}),
        ("</Doc><b/> <i>", {"doc", "b", "i"}),
        ("\uff1cdoc\uff1e", {"doc"}),
        ("<d\u200boc>", {"d", "doc"}),
        ("<d\u0301oc-x.>", {"d", "doc-x"}),
        ("< / doc", {"doc"}),
        ("a < b, a <= c", {"b"}),
        ("no tag > &lt;doc>", set[str]()),
        ("<", set[str]()),
        ("\u2039\u200b", set[str]()),
        ("<" + "x\u200b" * 100, {"x" * length for length in range(1, 65)}),
    ],
)
def test_tag_names(text: str, expected: set[str]) -> None:
    """The tags of an author's text are found as a tolerant reader finds them."""
    opened, closed = written_tags(text)
    assert expected == opened | closed


@pytest.mark.parametrize(
    ("text", "opened", "closed", "paired"),
    [
        ("<doc>a</doc>", {"doc"}, {"doc"}, {"doc"}),
        ("</doc> <DOC>", {"doc"}, {"doc"}, {"doc"}),
        ("<br/> <a></b>", {"br", "a"}, {"b"}, set[str]()),
        ("< / doc \uff1c\u200b\u2215 x <\\y", set[str](), {"doc", "x", "y"}, set[str]()),
        ("<\u200bd\u0301oc></d\u200boc>", {"d", "doc"}, {"d", "doc"}, {"d", "doc"}),
    ],
)
def test_pairs_of_tags(text: str, opened: set[str], closed: set[str], paired: set[str]) -> None:
    """A slash before its name closes a tag; a pair is a tag that is opened and closed."""
    assert (opened, closed, paired) == (*written_tags(text), paired_tags(text))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Doc", "doc"),
        ("doc.-", "doc"),
        ("doc.?", "doc.?"),
        ("a-b.c_d", "a-b.c_d"),
        ("d\u00f6c", "doc"),
        ("fa\ufb06\u200b", "fast"),
        ("\u0131\u0130", "ii"),
    ],
)
def test_fold(name: str, expected: str) -> None:
    """A name is compared without case, marks and what nobody sees."""
    assert expected == fold(name)


@pytest.mark.parametrize("letter", "AZaz09_")
def test_a_letter_that_begins_a_name(letter: str) -> None:
    """One letter of a name is enough at the end of a text, and a mark behind it hides none."""
    names = {letter.lower(), f"{letter.lower()}x"}
    text = f"<{letter}\u200b> <{letter}"
    assert f"&lt;{letter}\u200b> &lt;{letter}" == guard(text, names)


# Author text beside a value.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <", "a &lt;"),
        ("a </ \n", "a &lt;/ \n"),
        ("a <ev", "a &lt;ev"),
        ("a <b> <ev", "a <b> &lt;ev"),
        ("a <e\u200bv", "a &lt;e\u200bv"),
        ("a <e\u200bq", "a <e\u200bq"),
        ("a \u2039ev", "a &#8249;ev"),
        ("a <a-", "a &lt;a-"),
        ("a <tool", "a &lt;tool"),
        ("a <event", "a <event"),
        ("a <event>", "a <event>"),
        ("a <ev b", "a <ev b"),
        ("a <q", "a <q"),
        ("a <b", "a <b"),
        ("ev", "ev"),
        ("\u00e9v", "\u00e9v"),
    ],
)
def test_the_end_of_author_text(text: str, expected: str) -> None:
    """The end of an author's text begins no tag that a value behind it could finish."""
    assert expected == guard_end(text, NAMES)


@pytest.mark.parametrize(
    ("before", "text", "after", "expected"),
    [
        ("[", "[END", "", "&#91;END"),
        ("", "a [[EN", "D", "a &#91;[EN"),
        ("[[E", "N", "D", "&#78;"),
        ("[[END", "N", "D", "N"),
        ("", "N", "[[END", "N"),
        ("a", "b", "c", "b"),
    ],
)
def test_between_two_texts(before: str, text: str, after: str, expected: str) -> None:
    """A text forms no literal delimiter with the texts around it."""
    assert expected == guard_between(before, text, after, frozenset({"[[END"}))


def test_a_quotation_mark_behind_a_value_opens_none() -> None:
    """A quotation mark directly behind the value of an attribute does not begin another one."""
    tag = System("<a href=", Value("x"), '" b: ', Value('it"s'), ">")
    assert '<a href=x" b: &#105;t"s>' == only_text(tag)


# JSON.


def in_json(value: object, literals: frozenset[str] = frozenset(), *, full: bool = False) -> str:
    """Return data as JSON in a fence."""
    return json_body(json_text(value), NAMES, literals, full=full)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": "<b> & </b>"}, '{"a": "<b> & </b>"}'),
        ({"a": "</event>"}, '{"a": "\\u003c/event>"}'),
        ({"<event>": 1}, '{"\\u003cevent>": 1}'),
        (["a <", "/event>"], '["a \\u003c", "/event>"]'),
        ("&lt; &", '"\\u0026lt; \\u0026"'),
        ("a & b", '"a & b"'),
        ("\u2039event \u2039q", '"\\u2039event \u2039q"'),
        ("<\tool_use>", '"\\u003c\\tool_use>"'),
        ("\u2039\tool_use>", '"\\u2039\\tool_use>"'),
        (EDGES, f'"{ESCAPED_EDGES}"'),
        ('"\\\n\t\x00\x85\u2028\ud800', '"\\"\\\\\\n\\t\\u0000\\u0085\\u2028\\ud800"'),
        ('<\\"b>', '"<\\\\\\"b>"'),
        ("\\u003cevent>", '"\\\\u003cevent>"'),
        ([1, 2.5, None, True, {}], "[1, 2.5, null, true, {}]"),
    ],
)
def test_json(value: Any, expected: str) -> None:
    """In JSON each string is judged alone, and what begins a mark in it is written by number."""
    assert (expected, value) == (in_json(value), json.loads(in_json(value)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a ]] b", '"a \\u005d] b"'), ("note: x", '"\\u006eote: x"'), ("x ]", '"x \\u005d"')],
)
def test_json_between_literals(value: str, expected: str) -> None:
    """Delimiters that are no tags are written by number, too."""
    found = in_json(value, LITERALS)
    assert (expected, value) == (found, json.loads(found))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("<b> & \u2039b", '"\\u003cb\\u003e \\u0026 \u2039b"'),
        ("\u2039event", '"\\u2039event"'),
        ("\u00e9 <= b", '"\u00e9 \\u003c= b"'),
        ("\u2039\tool_use>", '"\\u2039\\tool_use\\u003e"'),
    ],
)
def test_json_in_full(value: str, expected: str) -> None:
    """In full JSON has no markup, and brackets of other scripts open no tag either."""
    found = in_json(value, full=True)
    assert (expected, value) == (found, json.loads(found))


STRINGS = VALUES | st.lists(PARTS_OF_TAGS | st.sampled_from('\t\n\b\f\\"')).map("".join)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | STRINGS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=6,
)


def _joined(value: Any) -> Any:
    """Return data whose pairs of surrogates are characters, as JSON has no form for the two."""
    return json.loads(json.dumps(value))


@given(value=DATA, literals=st.sampled_from([frozenset[str](), frozenset({"[[END", "<<x"})]))
@pytest.mark.parametrize("full", [False, True])
def test_any_json(value: Any, literals: frozenset[str], *, full: bool) -> None:
    """Any data reads back from one line of strict UTF-8, which holds no tag of the vocabulary."""
    text = in_json(value, literals, full=full)
    assert (_joined(value), [text], []) == (
        json.loads(text),
        text.encode().decode().splitlines(),
        tags_in(text, NAMES),
    )


# Time.


@given(text=VALUES)
def test_nothing_is_searched_without_names(text: str) -> None:
    """Where no fence is open and no tag is named, any text of an author's is the object it is."""
    assert text is guard(text, ())


@pytest.mark.parametrize("tag", ["<b>", "</b>", "< b", "<=", "\u00e9 <b>\u00e9"])
@pytest.mark.parametrize("encode", [guard, minimal_body, readable_tags])
def test_a_bracket_of_another_name_runs_no_line(
    encode: Callable[[str, Collection[str]], str], tag: str
) -> None:
    """However many brackets a text has that forge nothing, as many lines of Python run."""
    assert 1 == times_more(10, 20, lambda count: partial(encode, f"a {tag} " * count, NAMES))


RUNS = (
    *("<", "< ", "</", "<\u200b", "<event", "<even", "<e\u200b", "<e\u0301 ", "\u2039", "\u2039/"),
    *("&", "&#", "&#1", "&#x", "&amp", "&amp;", "&#x1;", "\r", "\x00", "\ud800", "[", "[[", "[ "),
    *("] ]", "n ", "note", "no\u200bte", "]\u200b", "<a.-"),
    *("<.", "<\\", " ", "\u200b", "\u0301", "a"),
)


@every_length
@pytest.mark.parametrize(
    "encode",
    [
        lambda text: decode(minimal_body(text, NAMES)),
        lambda text: decode(minimal_body(text, NAMES, LITERALS)),
        lambda text: guard(text, NAMES, LITERALS),
        in_json,
        written_tags,
    ],
    ids=["value", "value between literals", "author", "json", "names"],
)
def test_linear_time(encode: Callable[[str], object], most: int) -> None:
    """Ten times the repetitions take about ten times the time; squared it is a hundred."""

    def seconds(text: str) -> float:
        start = process_time()
        encode(text)
        return process_time() - start

    def is_linear(text: str) -> bool:
        few, many = (text * (length // len(text)) + "x" for length in (most // 10, most))
        # What seems too slow is measured again.
        return any(seconds(many) < 24 * max(seconds(few), 0.002) for _ in range(3))

    runs = [*RUNS, *("<" + run for run in ("\u200b", " ", "e", "e\u200b", "/", "."))]
    assert [] == [run for run in runs if not is_linear(run)]
    # One bracket, and a long run behind it.
    assert [] == [run for run in RUNS if seconds("<" + run * (most // len(run))) > 4]


def test_a_delimiter_beyond_four_digits_in_json() -> None:
    """A delimiter whose first character is beyond U+FFFF is written as two numbers in JSON."""
    found = in_json("x \U0001f525END", frozenset({"\U0001f525END"}))
    assert ('"x \\ud83d\\udd25END"', "x \U0001f525END") == (found, json.loads(found))
