"""Sections, fragments, groups, formats, notes, and putting parts in place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import lines_of, raised
from tests.renders import said

XML = {"format": "xml"}


@pytest.mark.parametrize(
    ("tree", "markdown", "xml"),
    [
        (Section("s", "x"), "x", "<s>\nx\n</s>"),
        (Section("s", "x", title="T"), "## T\nx", '<s title="T">\nx\n</s>'),
        (
            Section("s", "x", Section("t", "y", title="U"), "z", title="T"),
            "## T\nx\n\n### U\ny\n\nz",
            '<s title="T">\nx\n\n<t title="U">\ny\n</t>\n\nz\n</s>',
        ),
        (
            Section("s", Section("t", "y", title="U")),
            "### U\ny",
            '<s>\n<t title="U">\ny\n</t>\n</s>',
        ),
        (Section("s", "x", title=""), "## \nx", '<s title="">\nx\n</s>'),
        (Section("s", "x", title=3), "## 3\nx", '<s title="3">\nx\n</s>'),  # type: ignore[arg-type]
        (Section("s", "x", title="a\nb"), "## a&#10;b\nx", '<s title="a&#10;b">\nx\n</s>'),
        (
            Section("s", "x", title=Value("# <b>")),
            "## # &lt;b&gt;\nx",
            '<s title="# &lt;b&gt;">\nx\n</s>',
        ),
    ],
)
def test_titles(tree: Node, markdown: str, xml: str) -> None:
    """A title is a heading in Markdown and an attribute in XML; without one there is no heading."""
    assert [("system", [markdown])] == said(tree)
    assert [("system", [xml])] == said(tree, transformation=XML)


def test_headings_go_six_levels_deep() -> None:
    """Nested sections go one level deeper each, down to six."""
    part: Node = Text("x")
    for number in range(7, 0, -1):
        part = Section(f"s{number}", part, title=str(number))
    headings = ["## 1", "### 2", "#### 3", "##### 4", "###### 5", "###### 6", "###### 7"]
    assert [("system", ["\n".join([*headings, "x"])])] == said(part)


@given(st.text(min_size=1))
def test_any_title_is_one_line(title: str) -> None:
    """Whatever a title holds, it heads one line and can be read back."""
    (text,) = said(Section("s", "x", title=Value(title)))[0][1]
    heading, body = text.split("\n")
    assert ("## " + title, "x") == (decode(heading), body)


def test_a_section_in_a_user_turn_is_one_block() -> None:
    """A section is one text of its turn, a blank line between its parts."""
    tree = User("a", Section("s", "b", Text("c"), title="S"), "d")
    assert [("user", ["a", "## S\nb\n\nc", "d"])] == said(tree)


def test_media_in_a_section_stay_in_place() -> None:
    """A picture in a section of a user turn is between the texts around it."""
    tree = User(Section("s", "a", Image.from_url("https://example.com/x.png"), "b", title="S"))
    assert [("user", ["## S\na", "image", "b"])] == said(tree)


def test_a_section_takes_a_cache_mark() -> None:
    """A section that is marked ends a block of the system message."""
    tree = System(Section("s", "a", cache=True), Section("t", "b"))
    (message,) = render(tree).messages
    assert [("a", "default"), ("b", None)] == [
        (block.text.strip(), block.cache)  # type: ignore[union-attr]
        for block in message.content
    ]


def test_a_section_takes_an_audience() -> None:
    """A section for people is not sent to a model."""
    tree = System("a", Section("s", "b", audience="people"), Section("t", "c", audience="model"))
    found = [said(tree, audience=audience) for audience in ("model", "people")]
    assert [[("system", ["a\n\nc"])], [("system", ["a\n\nb"])]] == found


@pytest.mark.parametrize("title", [["T"], Text("T"), object(), {"a": 1}])
def test_a_title_that_is_no_text_is_an_error(title: Any) -> None:
    """A title is text or a value, no component and no data; the error has the section's line."""

    def write() -> None:
        Section("s", "x", title=title)

    assert lines_of(write, 1) == raised(ContentError, write).at


def test_a_forgotten_id_is_an_error() -> None:
    """A text where the id belongs is an error that shows how it is written."""

    def write() -> None:
        Section("You are a support agent.")

    error = raised(OptionError, write)
    assert lines_of(write, 1) == error.at
    expected = "the id comes first: Section(\"rules\", 'You are a support agent.')"
    assert error.fix.endswith(expected)


# Fragments.


def test_a_fragment_stands_for_its_parts() -> None:
    """Turns and sections in a fragment are where the fragment is."""
    opening = Fragment(System("a"), User("b"))
    tree = Timeline(opening, Fragment(Fragment(Assistant("c")), User("d")), Section("s", "e"))
    expected = [
        ("system", ["a\n\ne"]),
        ("user", ["b"]),
        ("assistant", ["c"]),
        ("user", ["d"]),
    ]
    assert expected == said(tree)


def test_a_fragment_renders_alone() -> None:
    """A fragment of turns is a prompt."""
    assert [("user", ["a"]), ("assistant", ["b"])] == said(Fragment(User("a"), Assistant("b")))


def test_a_fragment_is_written_as_a_block() -> None:
    """A fragment collects what is written in it."""
    with Fragment() as part:
        User("a")
        Assistant("b")
    assert Fragment(User("a"), Assistant("b")) == part


# Groups and formats.


@pytest.mark.parametrize("empty", ["", None, Fragment("")])
def test_an_empty_group_is_nothing(empty: Any) -> None:
    """A group or format that ends up empty leaves nothing where it is."""
    tree = Timeline(User("a", Group(empty), Format("xml", empty)), User(Group(empty)))
    assert [("user", ["a"])] == said(tree)


@pytest.mark.parametrize("write", [lambda: System(Group()), lambda: System(Format("xml"))])
def test_a_group_with_nothing_in_it_is_an_error(write: Any) -> None:
    """A group or format written with no content and no block is an error at its line."""
    with System("a") as block:
        with pytest.raises(ContentError, match="was written with no content and no block"):
            write()
        Text("z")
    assert [("system", ["a\n\nz"])] == said(block)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Section("s", "x", title="S"), '<s title="S">\nx\n</s>'),
        (List("x", Value("<b>")), "<list>\n<item>x</item>\n<item><b></item>\n</list>"),
        (List(Value("</item>")), "<list>\n<item>&lt;/item></item>\n</list>"),
        (Fragment("a", Section("s", "x")), "a\n\n<s>\nx\n</s>"),
    ],
)
def test_a_format_holds_for_what_is_in_it(part: Node, expected: str) -> None:
    """What is in a format is written in it, what is next to it in that of the prompt."""
    tree = System(Format("xml", part), Section("z", "y", title="Z"))
    assert [("system", [f"{expected}\n\n## Z\ny"])] == said(tree)


def test_the_innermost_format_wins() -> None:
    """A format inside another one holds for what is in it, and the outer again behind it."""
    part = Section("a", Format("markdown", Section("b", "x", title="B")), Section("c", "y"))
    expected = "<a>\n### B\nx\n\n<c>\ny\n</c>\n</a>"
    assert [("system", [expected])] == said(System(Format("xml", part)))


def test_a_format_wins_over_the_configuration() -> None:
    """Whatever the configuration says, a format that is written holds."""
    tree = System(Format("markdown", Section("a", "x", title="A")), Section("b", "y"))
    assert [("system", ["## A\nx\n\n<b>\ny\n</b>"])] == said(tree, transformation=XML)


def test_a_format_is_written_as_a_block() -> None:
    """A format collects what is written in it."""
    with System() as block, Format("xml"):
        Section("s", "x")
    assert System(Format("xml", Section("s", "x"))) == block


def test_a_format_around_turns() -> None:
    """A format around turns holds for what is in them, and around loose sections for those."""
    with Timeline() as tree:
        Section("before", "a", title="A")
        with Format("xml"):
            Section("inside", "b", title="B")
            System(Section("s", "c"))
            User("q", List("d"))
            Assistant("e", Section("t", "f"))
        User("g", List("h"))
    assert [
        ("system", ['## A\na\n\n<inside title="B">\nb\n</inside>\n\n<s>\nc\n</s>']),
        ("user", ["q", "<list>\n<item>d</item>\n</list>"]),
        ("assistant", ["e", "<t>\nf\n</t>"]),
        ("user", ["g", "- h"]),
    ] == said(tree)


def test_a_format_around_request_only_turns() -> None:
    """A format holds inside the fence of an event or request-only turn as well."""
    fenced = "<list>\n<item>x</item>\n</list>"
    tree = Format(
        "xml", Event(UserAction("a"), List("x")), Ephemeral(List("x")), Grounding("g", List("x"))
    )
    texts = said(Timeline(tree, User("q")))[0][1]
    assert [
        f'<event type="user_action">\nUser a\n</event>\n\n<event>\n{fenced}\n</event>',
        f"<context>\n{fenced}\n</context>",
        f"<context>\n{fenced}\n</context>",
        "q",
    ] == texts


def test_a_format_around_what_is_no_text() -> None:
    """A recording, a picture, a call are what they are in any format."""
    picture = Image.from_url("https://example.com/x.png")
    parts = (
        History([Message("user", "- h")]),
        Assistant("a", ToolUse("t", {}, id="1")),
        ToolMessage("1", "r"),
        User("q", picture),
    )
    assert said(Timeline(*parts)) == said(Timeline(Format("xml", *parts)))


def test_a_format_around_a_tool_message() -> None:
    """The answer of a tool is written in the format around it."""
    tree = Timeline(Assistant(ToolUse("t", {}, id="1")), Format("xml", ToolMessage("1", List("x"))))
    (block,) = render(tree).messages[1].content
    assert ["<list>\n<item>x</item>\n</list>"] == [b.text for b in block.content]  # type: ignore[union-attr]


def test_a_format_by_model() -> None:
    """Which format a prompt is in may depend on the model it is rendered for."""

    def by_model(model: str | None, _: str | None) -> dict[str, str]:
        return {"format": "xml" if model and "claude" in model else "markdown"}

    tree = Timeline(Section("s", "x", title="S"), transformation=by_model)
    assert [("system", ['<s title="S">\nx\n</s>'])] == said(tree, model="claude-opus-5-5")
    assert [("system", ["## S\nx"])] == said(tree, model="gpt-5")


def test_a_marked_section_in_a_format() -> None:
    """A cache mark of a section goes with it into its format."""
    tree = Timeline(Format("xml", Section("a", "x", cache=True)), Section("b", "y"))
    (message,) = render(tree).messages
    assert [("<a>\nx\n</a>", "default"), ("y", None)] == [
        (block.text.strip(), block.cache)  # type: ignore[union-attr]
        for block in message.content
    ]


@pytest.mark.parametrize(
    ("format", "fix"),
    [
        ("xm", "did you mean 'xml'?"),
        ("html", "known: markdown, xml"),
        (None, 'the format comes first: Format("xml", ...)'),
    ],
)
def test_an_unknown_format(format: Any, fix: str) -> None:
    """A format there is none of is an error at its line, and nothing is left in the block."""

    def write() -> None:
        Format(format, Text("b"))

    with System("a") as block:
        error = raised(OptionError, write)
    assert (f"Format(format={format!r})", fix, lines_of(write, 1)) == (
        error.what,
        error.fix,
        error.at,
    )
    assert [("system", ["a"])] == said(block)


# Notes.


def test_a_note_is_for_people() -> None:
    """A note is in nothing that is sent to a model, wherever it is."""
    tree = Timeline(
        Note("n1"), System("a", Note("n2")), User("q", Section("s", Note("n3"), "b")), Note("n4")
    )
    assert [("system", ["a"]), ("user", ["q", "b"])] == said(tree)


def test_people_read_notes() -> None:
    """For people a note is where it was written."""
    tree = Timeline(System("a", Note("n1")), User("q", Note("n2")), Note("n3"))
    texts = [text for _, found in said(tree, audience="people") for text in found]
    assert ["a\n\nn1", "q", "n2", "n3"] == texts


def test_a_note_is_no_loss() -> None:
    """Leaving out a note is nothing the target cannot say."""
    rendered = render(Timeline(User("q", Note("n"))), provider="openai", strict=True)
    assert () == rendered.losses == rendered.hints


def test_a_note_beside_results_is_no_result() -> None:
    """Also for people a tool message holds results and nothing else."""
    tree = Timeline(
        User("q"),
        Assistant(ToolUse("t", {}, id="1")),
        Turn("tool", ToolResult("1", "a"), Note("n")),
    )
    messages = render(tree, audience="people").messages
    assert ["tool_result"] == [b.type for m in messages if m.role == "tool" for b in m.content]


# Addresses.


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (System(Section("rules", "x", Section("tone", "", title="T"))), "rules/tone"),
        (Section("rules", "x", Section("tone", "", title="T")), "rules/tone"),
        (System(Fragment(Section("rules", "", title="T"))), "rules"),
        (User("x", Section("tone", "", title="T")), "user[0]/tone"),
        (User("x", Section("tone", "", title="T"), id="ask"), "ask/tone"),
    ],
)
def test_an_address_is_the_path_of_ids(tree: Node, expected: str) -> None:
    """A report about a section has its address: the ids from its turn, or system content, down."""
    assert [expected] == [hint.path for hint in render(tree).hints]


# include()


def test_include_returns_nothing() -> None:
    """Including is a statement: what it puts in place is not passed on by accident."""
    part = Text("x")
    with User("q"):
        assert include(part) is None  # type: ignore[func-returns-value]


def test_include_of_parts_written_in_its_call() -> None:
    """Parts written in the argument list are where they are included, once, in order."""
    rules = Section("r", "never")
    with System("a") as block:
        include(Text("b"), rules, Text("c"), Value("d"))
    assert [("system", ["a\n\nb\n\nnever\n\nc\n\nd"])] == said(block)


def test_include_of_what_stands_elsewhere_is_an_error() -> None:
    """A part that is in the block already is not moved by including it."""

    def write() -> None:
        with System("a"):
            part = Text("b")
            Text("c")
            include(part)

    assert lines_of(write, 4, 2) == raised(ScopeError, write).at


def test_include_of_nothing_does_nothing() -> None:
    """Including no parts at all is fine, for a list that may be empty."""
    with User("q") as block:
        include()
    assert User("q") == block


def test_include_of_an_unfinished_part_is_an_error() -> None:
    """A part with no content and no block is no part yet."""

    def write() -> None:
        part = Section("s")
        with User("q"):
            include(part)

    assert lines_of(write, 1) == raised(ContentError, write).at
