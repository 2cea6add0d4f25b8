"""Sections as Markdown headings."""

import pytest

from promptdsl import Checklist, Code, Grounding, Item, Section, System, User, Value
from tests.internals import MARKDOWN
from tests.renders import only_text


@pytest.mark.parametrize(
    ("level", "expected"),
    [(2, "## T\n"), (3, "### T\n"), (6, "###### T\n"), (7, "###### T\n"), (9_999, "###### T\n")],
)
def test_opening(level: int, expected: str) -> None:
    """A title is a heading of its level, of six marks at most."""
    assert expected == MARKDOWN.section("t", "T", level).open


def test_without_a_title() -> None:
    """Without a title there is no heading."""
    assert "" == MARKDOWN.section("t", None, 2).open


def test_closing() -> None:
    """Nothing closes a section, so its text need not be kept from closing it."""
    frame = MARKDOWN.section("t", "T", 2)
    assert ("", (), False) == (frame.close, frame.tags, MARKDOWN.tagged)


@pytest.mark.parametrize(
    ("title", "value", "expected"),
    [
        ("a\nb", False, "## a&#10;b\n"),
        ("a\r\nb", False, "## a&#13;&#10;b\n"),
        ("<b> & # x", False, "## <b> & # x\n"),
        ("a\nb", True, "## a&#10;b\n"),
        ("<b> & # x", True, "## &lt;b&gt; &amp; # x\n"),
    ],
)
def test_a_title_is_one_line(title: str, value: bool, expected: str) -> None:
    """A title is one line: the author's is as written otherwise, a value is encoded."""
    section = Section("t", "x", title=Value(title) if value else title)
    assert expected + "x" == only_text(System(section))


def test_levels() -> None:
    """A section is headed by ##, one inside it by one mark more, by six at most."""
    inner = Section("d", Section("e", Section("f", "deep", title="F"), title="E"), title="D")
    tree = Section("a", Section("b", Section("c", inner, title="C"), title="B"), title="A")
    assert "## A\n### B\n#### C\n##### D\n###### E\n###### F\ndeep" == only_text(System(tree))


def test_neighbours() -> None:
    """Sections beside each other are of one level, a blank line between them."""
    assert "## A\n1\n\n### B\n2\n\n### C\n3\n\nend\n\n## D\n4" == only_text(
        Section(
            "a", "1", Section("b", "2", title="B"), Section("c", "3", title="C"), "end", title="A"
        ),
        Section("d", "4", title="D"),
    )


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (System(Section("a", "x", title="A")), "## A\nx"),
        (User(Section("a", "x", title="A")), "## A\nx"),
        (User(Section("a", "x", Section("b", "y", title="B"), title="A")), "## A\nx\n\n### B\ny"),
        (User(Section("a", "x", title=Value("<A>"))), "## &lt;A&gt;\nx"),
        (
            Grounding("g", Section("a", "x", title="<A>")),
            "<context>\n## &lt;A&gt;\nx\n</context>",
        ),
        (System(Section("a", "x")), "x"),
    ],
)
def test_in_every_turn(turn: User, expected: str) -> None:
    """A section has its heading in every turn; in a grounding its title is a value."""
    assert expected == only_text(turn)


def test_values_in_code() -> None:
    """A value in code is no Markdown: only what could be a tag or a reference is encoded."""
    code = Code(Value("# f\n_e_ <b> & *c* </event> &lt;"))
    assert "```\n# f\n_e_ <b> & *c* &lt;/event> &amp;lt;\n```" == only_text(System(code))


def test_code_in_a_task() -> None:
    """A block of code begins a line of its own, under the box of its task."""
    tasks = Checklist(Item(Code("x"), done=True), "b")
    assert "- [x]\n  ```\n  x\n  ```\n- [ ] b" == only_text(System(tasks))
