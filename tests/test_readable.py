"""The readable encoding: values in instructions, and values between an author's own tags."""

from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.hostile import EDGES, HOSTILE, VALUES
from tests.internals import Neighbours, guard, inline, readable, skeleton
from tests.lines_run import times_more

FULL: dict[str, Any] = {"encoding": {"inline": "full"}}
OWN = frozenset(
    ("event", "context", "developer", "untrusted", "tool_use", "tool_result", "system", "assistant")
)
slow = pytest.mark.slow


def sent(*parts: Any, **transformation: Any) -> str:
    """Return the text of instructions."""
    return last(System(*parts), **transformation)


def last(prompt: Any, **transformation: Any) -> str:
    """Return the text of the last message of a prompt."""
    return render(prompt, transformation=transformation).messages[-1].text


# What a value becomes in a paragraph of its own.


@pytest.mark.parametrize(
    "value",
    [
        "pytest -x && mypy . > out.txt",
        'open "<path>" [<line>]',
        "if a < b and b > c: x -> y",
        "Map<String, List<int>>",
        "R&D, AT&T & co &",
        "https://example.org/?a=1&amp=2&b",
        "Ann <ann@example.org>",
        "--flag -x +y *.py #general ~/.bashrc _private `code` ~~gone~~ =1",
        "-5",
        "*emphasis* and **more**",
        "> quoted\n- item\n  - inner\n1. first\n2) second\n+ plus",
        "#include <stdio.h>\n#!/bin/sh\n+++ b/file\n--- a/file",
        "a\n\n<div>\n\nb",
        "a\n-# b\n1.# c",
        "a\n/. # b\n:. # c\n1:) # d",
        "text\n    <path> is a path",
        "\u00e9 \u65e5\u672c\u8a9e",
        "",
        "x\n",
    ],
)
def test_what_forges_nothing_is_as_written(value: str) -> None:
    """A text that begins no heading, rule, fence or HTML and writes no tag of ours stays."""
    assert value == sent("a", Text(Value(value))).removeprefix("a\n\n" if value else "a")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # Tags and references.
        ("</context> <b>", "&lt;/context> <b>"),
        ("< / CONTEXT", "&lt; / CONTEXT"),
        ("a <", "a &lt;"),
        ("a <con", "a &lt;con"),
        ("&lt; &#38; &amp", "&amp;lt; &amp;#38; &amp"),
        ("a\x07\rb\u2028c\u2029", "a&#7;&#13;b&#8232;c&#8233;"),
        ("a\u2028b", "a&#8232;b"),
        ("a\u2029", "a&#8233;"),
        # Headings, rules and fences, at any place of a line that a reader might begin it at.
        ("# a", "&#35; a"),
        ("a\n## b\n#", "a\n&#35;# b\n&#35;"),
        ("a\n   ###### b", "a\n   &#35;##### b"),
        ("a\n- # b", "a\n- &#35; b"),
        ("a\n* # b", "a\n* &#35; b"),
        ("a\n+ # b", "a\n+ &#35; b"),
        ("a\n> > 1. # b", "a\n> > 1. &#35; b"),
        ("a\n>#\tb", "a\n>&#35;\tb"),
        ("a\n. # b", "a\n. &#35; b"),
        ("a\n90. # b", "a\n90. &#35; b"),
        ("a\n) # b", "a\n) &#35; b"),
        ("a\n\u200b\u0301# b", "a\n\u200b\u0301&#35; b"),
        ("a\n---\nb\n===", "a\n&#45;--\nb\n&#61;=="),
        ("a\n* * *\n> - - -", "a\n&#42; * *\n> &#45; - -"),
        ("a\n1) ---\n>___", "a\n1) &#45;--\n>&#95;__"),
        ("-", "&#45;"),
        ("a\n```py\nb\n~~~", "a\n&#96;``py\nb\n&#126;~~"),
        # HTML blocks.
        ("<!-- a", "&lt;!-- a"),
        ("<?php\n\n<script>\n\nx", "&lt;?php\n\n&lt;script>\n\nx"),
        ("a\n<div>\nb", "a\n&lt;div>\nb"),
        ("a\n- <td", "a\n- &lt;td"),
        ("<path>", "&lt;path>"),
        ("<div>\n\n<div>", "<div>\n\n&lt;div>"),
        # Edges.
        ("  a", "&#32; a"),
        ("\na", "&#10;a"),
        ("\r\na", "&#13;\na"),
        (" ", "&#32;"),
        ("\n\n", "&#10;\n"),
    ],
)
def test_what_could_forge_something(value: str, expected: str) -> None:
    """One character of what could forge a tag, a heading, a rule, a fence or HTML is encoded."""
    found = sent("a", Text(Value(value))).removeprefix("a\n\n")
    assert (expected, value) == (found, decode(found))


@pytest.mark.parametrize("marker", ["-", "+", "*", ">", "1.", "1)", " "])
@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_a_fence_behind_a_marker(marker: str, fence: str) -> None:
    """Below a fence of the author's that is in a list or a quotation, no value is in code."""
    before = f"{marker} {fence}\n{fence}\n"
    assert f"{before}&#35; a\n{fence}" == sent(before, Value("# a"), f"\n{fence}")


def test_a_delimiter_in_instructions() -> None:
    """A value writes no delimiter of the configuration that is no tag."""
    delimiters = {"delimiters": {"event": ("[[event", "]]")}}
    assert "see &#91;[event x" == sent(Value("see [[event x"), **delimiters)
    fenced = last(Ephemeral(Value("see [[event x")), **delimiters)
    assert "<context>\nsee &#91;[event x\n</context>" == fenced
    event = last(Timeline(User("a"), Event("b ", Value("# c\n# d"))), **delimiters)
    assert event.endswith("b # c\n# d\n]]")


def test_behind_a_fence_of_the_library() -> None:
    """A tag of a fence that is closed again is the author's to write."""
    assert sent(Untrusted("a"), "b </untrusted>").endswith("\n</untrusted>\n\nb </untrusted>")


# What stands beside a value.


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        # A mark that the author's text completes, or that completes the author's.
        *(((it, Value(" a")), f"{it}&#32;a") for it in "#=-*_~`+"),
        ((*["- "] * 51, Value("# a")), "- " * 51 + "&#35; a"),
        (("# ", Value("# a")), "# # a"),
        (("Channel: ", Value("# general")), "Channel: # general"),
        (("1", Value(". # a")), "1. &#35; a"),
        ((Value("1"), ". # a"), "&#49;. # a"),
        ((Value("a\n 1"), ". # a"), "a\n &#49;. # a"),
        (("- ", Value("---")), "- &#45;--"),
        ((Value("- "), "# b"), "&#45; # b"),
        ((Value("`"), Value("``x")), "&#96;``x"),
        ((Value("``"), "\n", Value("`")), "``\n`"),
        ((Value("1"), ". ", Value("# a")), "1. &#35; a"),
        (("- ", Value("2"), ") ", Value("a")), "- 2) a"),
        (("<", Value("issue"), " ", Value("a='b'"), ">"), "<issue a='b'>"),
        (("<", Value("d"), Value("iv"), ">"), "<&#100;iv>"),
        (("<", Value("n"), Value("av"), ">"), "<&#110;av>"),
        (("``", Value("a"), Value("`")), "``a&#96;"),
        (("**", Value("*")), "**&#42;"),
        (("``", Value("`"), "x"), "``&#96;x"),
        ((Value("#"), " a"), "&#35; a"),
        (("<", Value("div"), ">"), "<&#100;iv>"),
        ((Value("<di"), "v>"), "&lt;div>"),
        ((Value("- "), "<b", Value("c")), "- <bc"),
        ((Value("<q"), Value("> a")), "&lt;q> a"),
        ((Value("- <q"), Value("> a")), "- &lt;q> a"),
        ((Value("a\n>"), "<b ", Value("c")), "a\n><b c"),
        (("> ", Value("\n# a")), "> &#10;# a"),
        # Line ends and blanks beside the author's text.
        ((Value("a\n"), "# b"), "a&#10;# b"),
        ((Value("a\r\n  "), "# b"), "a&#13;&#10;  # b"),
        ((Value("a\n"), "\n# b"), "a\n\n# b"),
        (("a\n", Value("  b")), "a\n  b"),
        # Two values.
        ((Value("#"), Value(" a")), "&#35;&#32;a"),
        ((Value("a\n-"), Value("--")), "a\n&#45;&#45;-"),
        ((Value("a\n1"), ".", Value(" # b")), "a\n1.&#32;# b"),
        ((Value("a\n- ~"), Value("~~b")), "a\n&#45; ~~~b"),
        *(((Value(f"a\n{it}"), Value(" # b")), f"a\n&#{ord(it)};&#32;# b") for it in "=-*_~`+"),
        (("a", Value(" ")), "a&#32;"),
        ((Value("<a>"), "\rb"), "&lt;a>\rb"),
        (("```", Value(" "), "\na\n```"), "```&#32;\na\n```"),
        ((Value("a &"), Value("lt;")), "a &amp;lt;"),
        ((Value("- a &"), Value("lt;")), "- a &amp;lt;"),
        ((Value("- a &"), "lt;"), "- a &lt;"),
        ((Value("a\n<d"), Value("iv>")), "a\n&lt;div>"),
        ((Value("a\n<n"), Value("av>")), "a\n&lt;nav>"),
        (("a", Value("\n\n")), "a&#10;\n"),
        (("a\r", Value("# b")), "a\r&#35; b"),
        ((Value("a <"), Value("context>")), "a &lt;context>"),
        # The beginning of a tag before a value.
        (("a <", Value("context> b")), "a <&#99;ontext> b"),
        (("a </con", Value("text")), "a </con&#116;ext"),
        (("a <", Value("path> b")), "a <path> b"),
        (("a < b ", Value("context")), "a < b context"),
        (("<context", Value(" b")), "<context b"),
        # The author's own code, comments and tags.
        (("```\n", Value("# a\n---\n  <div>"), "\n```"), "```\n# a\n---\n  <div>\n```"),
        (("```\n", Value("a\n```\n# b"), "\n```"), "```\na\n&#96;``\n# b\n```"),
        (("```\n", Value("``"), Value("`"), "\n```"), "```\n&#96;``\n```"),
        (
            ("```\n", Value("# a"), "\n```", Value("x"), "\n", Value("# b")),
            "```\n# a\n```x\n&#35; b",
        ),
        (("```a`b\n", Value("# a"), "\n```"), "```a`b\n&#35; a\n```"),
        (("<press>", Value("</script> a"), "</press>"), "<press></script> a</press>"),
        (("~~~ ", Value("a`b\nc"), "\n~~~"), "~~~ a&#96;b&#10;c\n~~~"),
        (("```\n", Value("# a"), "```\n", Value("# b")), "```\n# a```\n&#35; b"),
        (("- ```\n  ", Value("# a"), "\n  ```"), "- ```\n  &#35; a\n  ```"),
        (("```\na\n```\n", Value("# b")), "```\na\n```\n&#35; b"),
        (("- ~~a~~\n```\n", Value("# b"), "\n```"), "- ~~a~~\n```\n# b\n```"),
        (("- ``a``\n```\n", Value("# b"), "\n```"), "- ``a``\n```\n# b\n```"),
        (("<!-- ", Value("a --> b"), " -->"), "<!-- a --&gt; b -->"),
        (("<? ", Value("a?"), "> b"), "<? a&#63;> b"),
        (("<!-", Value("- a"), "> x"), "<!-&#45; a> x"),
        (("<![", Value("CDATA[ a"), "]]>"), "<![&#67;DATA[ a]]>"),
        (("a", Value("b"), "<!-- ", Value("c --> d"), "-->"), "ab<!-- c --&gt; d-->"),
        (("a", Value("b"), "<pre>", Value("</style> c"), "</pre>"), "ab<pre>&lt;/style> c</pre>"),
        (("````\n", Value("# a"), "\n````"), "````\n# a\n````"),
        (("~~~~\n~~~\n", Value("# a"), "\n~~~~"), "~~~~\n~~~\n# a\n~~~~"),
        # In the quotation marks of the author's tag.
        *(((f'<{it} b="', Value('c"'), '">'), f'<{it} b="c&quot;">') for it in "AZaz_"),
        (('<a b="" c="', Value('d"'), '">'), '<a b="" c="d&quot;">'),
        (("<a b='' c='", Value("d'"), "'>"), "<a b='' c='d&#39;'>"),
        (("<a b='\"' c=\"", Value('d"'), '">'), '<a b=\'"\' c="d&quot;">'),
        (('<a\tb = "\n', Value('c"'), '">'), '<a\tb = "\nc&quot;">'),
        (('<a b="<', Value('c"'), '">'), '<a b="<c&quot;">'),
        (("<a b=", Value("c"), ' d="', Value('e"'), '">'), '<a b=c d="e&quot;">'),
        (("<a> b ", Value("c"), ' d="', Value('e"'), '"'), '<a> b c d="e""'),
        (('<a b=c> "', Value('d"'), '"'), '<a b=c> "d""'),
        (("<a>", Value("</a> <b>"), "</a>"), "<a>&lt;/a> <b></a>"),
        (("a script ", Value("</script> b")), "a script </script> b"),
        (("<pre>a\n", Value("</script>\n# b"), "</pre>"), "<pre>a\n&lt;/script>\n&#35; b</pre>"),
        (("<a", Value(" b="), '"">'), '<a b&#61;"">'),
        (("<a ", Value("b="), '"">'), '<a b&#61;"">'),
        (("a < b c ", Value("d="), '""'), 'a < b c d=""'),
        (("<a", Value(" b=\n"), '"">'), '<a b&#61;&#10;"">'),
        (("~~~", Value("~"), "\na\n~~~"), "~~~&#126;\na\n~~~"),
        (("2) <a>\n", Value("\tb"), "c"), "2) <a>\n&#9;bc"),
        (("2) <a>\n", Value("\tb\n c")), "2) <a>\n\tb\n c"),
        (("Use <a>: ", Value("a </a>")), "Use <a>: a </a>"),
        (("<b>", Value("</a>"), "</b>", Text("<a></a>")), "<b>&lt;/a></b>\n\n<a></a>"),
    ],
)
def test_beside_author_text(parts: tuple[Any, ...], expected: str) -> None:
    """A value is judged with the author's text on its line; no value changes what is beside it."""
    assert expected == sent(*parts)


@pytest.mark.parametrize(("between", "reference"), [(49, True), (50, False)])
def test_how_far_a_line_is_read(between: int, *, reference: bool) -> None:
    """Of what stands on the line of a value the nearest fifty texts and values are read."""
    values = [Value("a")] * between
    assert sent("``", *values, Value("`")).endswith("a&#96;" if reference else "a`")
    assert sent(Value("1"), *values, ". # b").startswith("&#49;a" if reference else "1a")


CODE = ["```\n", Value("# a"), "\n```"]
ENCODED, PLAIN = "```\n&#35; a\n```", "```\n# a\n```"


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (System(Text("```\nb\n```"), Text(*CODE), Text(*CODE)), PLAIN),
        (System("```", Text(*CODE)), ENCODED),
        (System("~~~", Section("s", *CODE)), ENCODED),
        (System(Text(*CODE), Text("```")), ENCODED),
        (Timeline(System("```"), System(*CODE)), ENCODED),
        (Timeline(System("```"), System(*CODE), Grounding("g", "x")), ENCODED),
        (Timeline(System("x"), System(*CODE), Grounding("g", "x")), PLAIN),
        (Timeline(History([{"role": "system", "content": "```"}]), System(*CODE)), ENCODED),
        (
            Timeline(
                System("<t></t>"),
                History([{"role": "system", "content": "```"}]),
                System(*CODE),
                Grounding("g", "x"),
            ),
            ENCODED,
        ),
        (Timeline(User("q"), Developer("```"), Developer(*CODE)), ENCODED),
        (Timeline(User("q"), Developer("b"), Developer(*CODE), Developer("c")), PLAIN),
        (Timeline(User("```"), Developer(*CODE)), PLAIN),
    ],
)
def test_in_code_of_the_author(tree: Any, expected: str) -> None:
    """In a fence of the author's a heading stays, but where a text above may have opened one."""
    texts = [block.text for message in render(tree).messages for block in message.content]
    assert expected in "\n".join(map(str, texts))
    assert (expected == ENCODED) != (PLAIN in "\n".join(map(str, texts)))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (
            (Value(""), "```\n", Value("# a"), "\n```\n", Value("# b")),
            "```\n&#35; a\n```\n&#35; b",
        ),
        (
            (Value(""), " ~~~\n", Value("# a"), "\n~~~\n", Value("# b")),
            " ~~~\n&#35; a\n~~~\n&#35; b",
        ),
        (
            (Value(""), "<div>\n```\n", Value("a\n\n# b"), "\n```"),
            "<div>\n```\na\n\n&#35; b\n```",
        ),
        ((" <div>\n```\n", Value("a\n\n# b"), "\n```"), " <div>\n```\na\n\n&#35; b\n```"),
        (("a <div>\n```\n", Value("a\n\n# b"), "\n```"), "a <div>\n```\na\n\n# b\n```"),
    ],
)
def test_what_may_be_no_code(parts: tuple[Any, ...], expected: str) -> None:
    """Below HTML, and where an empty value may be before a fence, nothing is code for certain."""
    assert expected == sent(*parts)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (List(Value("# a\n# b")), "- &#35; a\n  &#35; b"),
        (Quote(Value("a\n# b")), "> a\n> &#35; b"),
        (Code(Value("# a && <b>\n</context>")), "```\n# a && <b>\n&lt;/context>\n```"),
        (Section("a", Value("<b> && c")), "<b> && c"),
        (Section("a", Value("<b>"), encoding="full"), "&lt;b&gt;"),
        (Developer(Value("<b> && c")), "<b> && c"),
        (Template.from_string("Run {{ x }}.", x="a && b"), "Run a && b."),
        (Ephemeral(Value("a && <b>")), "Note: a && <b>"),
        (Grounding("g", Text("a ", Value("# b"))), "Note: a &#35; b"),
    ],
)
def test_in_other_parts(part: Any, expected: str) -> None:
    """It is the same in every part of instructions, and where a prefix is no fence."""
    settings: dict[str, Any] = {"delimiters": {"ephemeral": "Note: "}}
    prompt = part if isinstance(part, Developer | Ephemeral | Grounding) else System(part)
    assert expected == last(prompt, **settings)


def test_a_prefix_is_before_the_first_text() -> None:
    """What a prefix begins, a value cannot complete, and behind it nothing begins a line."""
    ticks = {"delimiters": {"ephemeral": "``"}}
    assert "``&#96;a" == last(Ephemeral(Value("`a")), **ticks)
    assert "Note: # a" == last(Ephemeral(Value("# a")), delimiters={"ephemeral": "Note: "})


@pytest.mark.parametrize("encoding", ["minimal", "full"])
def test_the_innermost_encoding_wins(encoding: str) -> None:
    """A section's own encoding holds in instructions, too."""
    section = Section("a", "It is ", Value("<b>"), encoding=encoding)  # type: ignore[arg-type]
    expected = {"minimal": "It is <b>", "full": "It is &lt;b&gt;"}[encoding]
    assert expected == sent(Section("x", section, encoding="full"), **FULL)


# The full encoding.

FRAMES = [
    ("", ""),
    ("a ", " b"),
    ("a\n\n", "\n\nb"),
    ("# ", ""),
    ("- ", ""),
    ("Plan: ", "."),
    ("intro\n", "\nend"),
]


@pytest.mark.parametrize(
    "values", [HOSTILE[::6], pytest.param(HOSTILE, marks=slow)], ids=["some", "all"]
)
@pytest.mark.parametrize(("before", "after"), FRAMES)
def test_full_gives_the_bytes_of_before(before: str, after: str, values: Sequence[str]) -> None:
    """In full a value is what it was before there was a readable encoding."""
    different = [
        value
        for value in filter(bool, values)
        if f"{before}{guard(inline(value), OWN)}{after}"
        != sent(*filter(None, (before, Value(value), after)), **FULL)
    ]
    assert [] == different


@pytest.mark.parametrize("transformation", [{}, FULL])
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("a <", Value("context x")), "a <&#99;ontext x"),
        (("1", Value(". # x")), "1. &#35; x"),
        (("<", Value("div\nx")), "<&#100;iv\nx"),
        (("```", Value("a`b"), "\nx\n```"), "```a&#96;b\nx\n```"),
        ((Value("1"), ". # x"), "&#49;. # x"),
    ],
)
def test_holes_of_before(transformation: Any, parts: Any, expected: str) -> None:
    """What an author's text left to a value is closed in every encoding."""
    assert expected == sent(*parts, **transformation)


# Values between an author's own tags.


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (
            User("<issue>", Value("</issue> x"), "</issue> Then: ", Value("<issue>")),
            "<issue>&lt;/issue> x</issue> Then: &lt;issue>",
        ),
        (Assistant("<a>", Value("</ A >"), "</a>"), "<a>&lt;/ A ></a>"),
        (User("<a>", Value("x </"), "</a>"), "<a>x &lt;/</a>"),
        (User("<a>", Value("# x & <b> &lt;"), "</a>"), "<a># x & <b> &lt;</a>"),
        (User("</a> <", Value("a>")), "</a> <&#97;>"),
        (User("</a>", Value("ba: 1 < 2")), "</a>ba: 1 < 2"),
        (User("<a>", Value("</a>")), "<a></a>"),
        (User("<a>", Volatile("</a>", "now"), "</a>"), "<a>&lt;/a></a>"),
        (User(Text("<a>", Value("</a>"), "</a>")), "<a>&lt;/a></a>"),
        (User("<a>", Untrusted("</a>"), "</a>"), None),
        (
            User(Template.from_string("<a>{{ x }}{% if y %}<b></b>{% endif %}</a>", x="</b>", y=0)),
            "<a>&lt;/b></a>",
        ),
        (
            Ephemeral(
                Template.from_string("<a>{{ x }}</a>{% if y %}<b></b>{% endif %}", x="</b>", y=0)
            ),
            "<context>\n<a>&lt;/b></a>\n</context>",
        ),
        (
            Ephemeral("Replace every <div> by <p>: ", Value("<div></p>")),
            "<context>\nReplace every <div> by <p>: <div></p>\n</context>",
        ),
        (Grounding("g", "<a></a> </context>"), "<context>\n<a></a> &lt;/context>\n</context>"),
    ],
)
def test_between_the_tags_of_an_author(turn: Any, expected: str | None) -> None:
    """No value of a turn forges a tag that the author's text of that turn closes."""
    if expected is None:
        assert "&lt;/a>" not in last(turn).partition("<untrusted")[0]
    else:
        assert expected == last(turn)


def test_only_the_turn_of_a_value_counts() -> None:
    """Tags of another turn, recorded messages and author text protect and change nothing."""
    prompt = Timeline(
        User("<a>", Value("</a>"), "</a>"),
        Assistant("</a>", Text("<a>")),
        User("<b>", Value("</a>")),
        History([{"role": "assistant", "content": "<a></a>"}]),
        User("</a>", Text(Value("</a>"))),
    )
    texts = [
        block.text
        for message in render(prompt).messages
        for block in message.content
        if block.type == "text"
    ]
    expected = ["<a>&lt;/a></a>", "</a>", "<a>", "<b></a>", "<a></a>", "</a>", "&lt;/a>"]
    assert expected == texts


@pytest.mark.parametrize("budget", [None, 10_000])
def test_a_dropped_part_changes_no_value(budget: int | None) -> None:
    """The tags of a turn are noted before a budget removes parts of it."""
    filler = "x " * 9_999
    prompt = Timeline(
        System("a"), User("<a>", Value("</a>"), Section("s", f"</a>{filler}", priority=1))
    )
    found = render(prompt, budget=budget, provider=None).messages[-1].text
    assert "<a>&lt;/a>" in found


# Any value.

AUTHOR = st.sampled_from(
    [
        "",
        "a",
        "a\n",
        "\n",
        "a\n\n",
        "- ",
        "# ",
        "#",
        "> ",
        "1",
        "1.",
        "`",
        "``",
        "<",
        "</",
        "a <b",
        "-",
        "\n```\n",
    ]
)
SOME = st.one_of(VALUES, st.sampled_from(EDGES)).filter(bool)


# Blank lines at the beginning of a text are no part of it.
FIRST = AUTHOR.filter(lambda text: not text.startswith("\n"))


@given(beside=st.tuples(FIRST, AUTHOR, AUTHOR), one=SOME, two=SOME)
def test_any_values(beside: tuple[str, str, str], one: str, two: str) -> None:
    """Any two values come back, and the text around them does not depend on them."""
    before, between, after = beside
    rendered = render(System("Begin.", Text(before, Value(one), between, Value(two), after)))
    pieces = [span.text for span in rendered.spans() if span.kind == "value"]
    assert [one, two] == [decode(piece) for piece in pieces]
    text = rendered.messages[0].text
    assert f"Begin.\n\n{before}{pieces[0]}{between}{pieces[1]}{after}" == text


@given(value=SOME)
def test_a_paragraph_of_any_value(value: str) -> None:
    """A value in a paragraph of its own is to a reader of Markdown like a harmless word."""
    frame = "# A\n\n{}\n\n## B\n"
    (span,) = (it for it in render(System("a", Text(Value(value)))).spans() if it.kind == "value")
    assert skeleton(frame.format("w")) == skeleton(frame.format(span.text))


# Time.

RUNS = (
    *"#-1.=`~ \t\n>*_+<&",
    *(
        "- ",
        "1. ",
        "> ",
        "\n- ",
        "\n#",
        "\n ",
        "\n<a ",
        "<a>",
        "\n\n",
        "- - x\n",
        "&#",
        "\u200b",
        "\u0301",
    ),
)


def _seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def _is_linear(write: Callable[[int], object], most: int) -> bool:
    """Return whether ten times as much takes about ten times as long; measured again if not."""
    return any(
        _seconds(lambda: write(most)) < 24 * max(_seconds(lambda: write(most // 10)), 0.002)
        for _ in range(3)
    )


@pytest.mark.parametrize("most", [4_000, pytest.param(200_000, marks=slow)])
def test_linear_time(most: int) -> None:
    """Ten times the characters, or values on one line, take about ten times the time."""
    cases: dict[str, Callable[[int], object]] = {
        repr(run): lambda length, run=run: sent("a", Text("- ", Value(run * (length // len(run)))))  # type: ignore[misc]
        for run in RUNS
    }
    cases["a long line"] = lambda length: sent("a" * length + "\n", Value("1"))
    for value in ("1", "-", "x <", "# x\n"):
        for between in ("", " ", "- ", ", "):
            parts = (Value(value), between) if between else (Value(value),)
            cases[f"{value!r}, {between!r}"] = lambda length, parts=parts: sent(  # type: ignore[misc]
                Text(*parts * (length // 40))
            )
    assert [] == [name for name, write in cases.items() if not _is_linear(write, most)]


@pytest.mark.parametrize("line", ["a => b", "12:00 <module>", "2024-01-01 a", "  a < b"])
def test_a_line_that_begins_nothing_runs_none(line: str) -> None:
    """However many lines a value has that begin nothing, as many lines of Python run."""
    beside = Neighbours("Text: ")

    def write(count: int) -> Callable[[], object]:
        return lambda: readable(f"{line}\n" * count, beside, ())

    assert 1 == times_more(10, 20, write)


# The names of HTML.

RAW = ("script", "pre", "style", "textarea")
BLOCKS = (
    *("address", "article", "aside", "base", "basefont", "blockquote", "body", "caption", "center"),
    *("col", "colgroup", "dd", "details", "dialog", "dir", "div", "dl", "dt", "fieldset"),
    *("figcaption", "figure", "footer", "form", "frame", "frameset", "h1", "h2", "h3", "h4", "h5"),
    *("h6", "head", "header", "hr", "html", "iframe", "legend", "li", "link", "main", "menu"),
    *("menuitem", "nav", "noframes", "ol", "optgroup", "option", "p", "param", "search"),
    *("section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "track"),
    "ul",
)
"""The tags that begin a block of HTML (CommonMark 0.31, 4.6, kind 6)."""


@pytest.mark.parametrize("name", [*RAW, *BLOCKS, "ScRiPt", "DIV"])
def test_a_line_that_begins_html(name: str) -> None:
    """A value begins no block of HTML, with any of the names."""
    assert f"&lt;{name} x" == sent(Value(f"<{name} x"))
    assert f"Use <{name} x" == sent("Use ", Value(f"<{name} x"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("<a>", "&lt;a>"),
        ("<@a>", "<@a>"),
        ("<1>", "<1>"),
        ("<a> b", "<a> b"),
        ("<Z>", "&lt;Z>"),
        ("<z>", "&lt;z>"),
        ("<A>\t ", "&lt;A>\t "),
        ("</a>", "&lt;/a>"),
        ("<[>", "<[>"),
        ("<{>", "<{>"),
        ("<prefer x", "<prefer x"),
        ("<div/ x", "&lt;div/ x"),
        ("<a<b>", "<a<b>"),
        ("<a>b>", "<a>b>"),
        ('<a b="x>y">', '&lt;a b="x>y">'),
        ("<a b='x<y'>", "&lt;a b='x<y'>"),
        ('<a "\'">', '&lt;a "\'">'),
        ("<a '\"'>", "&lt;a '\"'>"),
        ('<a b="c>', '<a b="c>'),
        ("<a b='c>", "<a b='c>"),
        ('<a b=">"\'>', '<a b=">"\'>'),
        ("___", "&#95;__"),
        ("a\n#\r\nb", "a\n&#35;\r\nb"),
        # Letters that nobody sees, and one that a reader may take for a bracket.
        ("\u115f# a", "&#4447;# a"),
        ("\u1160# a", "&#4448;# a"),
        ("\u3164# a", "&#12644;# a"),
        ("\uffa0# a", "&#65440;# a"),
        ("\u1438/context b", "&#5176;/context b"),
        ("a \u1438context b", "a &#5176;context b"),
        ("x\n\u1ab0# a", "x\n\u1ab0&#35; a"),
        ("x\n\u0300# a", "x\n\u0300&#35; a"),
        ("x\n\u0301# a", "x\n\u0301&#35; a"),
        ("x\n\u1dc0# a", "x\n\u1dc0&#35; a"),
        ("x\n\u20d0# a", "x\n\u20d0&#35; a"),
        ("x\n\ufe20# a", "x\n\ufe20&#35; a"),
        ("x\n\u3000# a", "x\n\u3000&#35; a"),
    ],
)
def test_a_line_alone(value: str, expected: str) -> None:
    """A line of one tag is HTML; a mark is found behind characters that nobody sees."""
    assert expected == sent(Value(value))


BLANKS = (
    "\t\x0b\x0c\r \xa0\xad\u1680\u2000\u200a\u202f\u205f\u3000\u2800\u200b"
    "\u0300\u036f\u1ab0\u1aff\u1dc0\u1dff\u20d0\u20ff\ufe20\ufe2f"
)


@pytest.mark.parametrize("blank", BLANKS)
def test_blanks_of_the_author(blank: str) -> None:
    """A mark begins a line behind the author's blanks and what nobody sees."""
    assert f"x\n{blank}&#35; a" == sent(f"x\n{blank}", Value("# a"))


@pytest.mark.parametrize(
    "seen", "\u1fff\u1681\u2030\u3001\u02ff\u0370\u1aaf\u1b00\u1dbf\u1e00\u20cf\u2100\ufe1f\ufe30"
)
def test_what_is_no_blank(seen: str) -> None:
    """Behind any other character of the author's a mark begins nothing."""
    assert f"x\n{seen}# a" == sent(f"x\n{seen}", Value("# a"))


@pytest.mark.parametrize("own", RAW)
@pytest.mark.parametrize("name", RAW)
def test_raw_html_of_the_author(own: str, name: str) -> None:
    """A value ends no ``<pre>`` and the like of the author's, which the end of each would."""
    assert f"<{own}>&lt;/{name}>" == sent(f"<{own}>", Value(f"</{name}>"))
