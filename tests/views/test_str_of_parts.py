"""The text of a part for people: its outline, below a line that says it is not rendered."""

import logging
import re
from collections.abc import Callable

import pytest

from promptdsl import *
from tests.errors import this_line
from tests.internals import FirstFitNode, make
from tests.renders import reported


@component
def holding(text: str) -> Node:
    """Return a text in a component."""
    return Fragment(text)


def find(query: str) -> str:
    """Find tea."""
    return query


def lines(text: str) -> list[str]:
    """Return the lines of a text for people, without the words of texts and their places."""
    rows = [re.split(rf" at {__file__}|(?<=\S)  +/", line)[0] for line in text.splitlines()]
    return [re.sub(' ".*"$', "", row) for row in rows]


def test_a_prompt_shows_its_outline() -> None:
    """The text of a prompt is a line that says it is not rendered, and the outline of its parts."""
    section, line = Section("rules", "never", title="Rules"), this_line()
    prompt = Timeline(System(section), User("Hi."))
    assert str(prompt).splitlines() == [
        f"<Timeline at {__file__}:{line + 1}: not rendered>",
        f"{'system':<60}  {__file__}:{line + 1}",
        "  section rules 'Rules'".ljust(60) + f"  {__file__}:{line}",
        '    5 characters "never"',
        f"{'user':<60}  {__file__}:{line + 1}",
        "  3 characters",
    ]
    first = f"<Section 'rules' at {__file__}:{line}: not rendered>"
    assert str(section) == f'{first}\n5 characters "never"'


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda: Text("ab"), ["<Text", "2 characters"]),
        (lambda: User("Hi.", id="first.1"), ["<User 'first.1'", "3 characters"]),
        (lambda: holding("ab"), ["<holding", "fragment", "  2 characters"]),
        (lambda: Tool(find), ["<Tool", "tool definition find"]),
        (
            lambda: History([{"role": "user", "content": "Hi."}]),
            ["<History", "user (recorded)"],
        ),
        (lambda: Timeline(Tool(find)), ["<Timeline", "tool definition find"]),
        (lambda: Timeline(System(None)), ["<Timeline", "system"]),
    ],
)
def test_a_part_says_what_it_is(write: Callable[[], Node], expected: list[str]) -> None:
    """The first line has the name of a part and its id; a part without parts is a line itself."""
    assert expected == lines(str(write()))


def test_an_open_block_shows_what_was_written_so_far() -> None:
    """A block may be printed while it is written, which changes nothing."""
    with Timeline() as prompt, System() as system:
        Text("ab")
        with Section("rules") as rules:
            early = lines(str(prompt)), lines(str(rules))
        Text("cd")
    assert early == (
        ["<Timeline", "system", "  text", "    2 characters", "  section rules"],
        ["<Section 'rules'", "section rules"],
    )
    assert [Text("ab"), Section("rules", None), Text("cd")] == list(system.content)


def test_a_part_a_log_and_an_error_show_the_same(caplog: pytest.LogCaptureFixture) -> None:
    """Logging, ``%s`` and the text of an error show what ``str()`` shows."""
    part = System("Hi.")
    logging.getLogger("app").warning("part: %s", part)
    assert [f"part: {part!s}"] == caplog.messages
    assert "%s" % part == str(part) == str(ValueError(part))  # noqa: UP031


def test_a_part_without_a_line_names_none() -> None:
    """The text of a part that a pass made has no line."""
    part = make(FirstFitNode, ("ab",))
    assert "<FirstFit: not rendered>\n2 characters" == str(part)


def test_a_notebook_shows_the_escaped_outline() -> None:
    """In a notebook a part is its outline, escaped."""
    part = Section("rules", "Be kind.", title="<script>alert(1)</script>")
    html = Timeline(System(part))._repr_html_()
    assert ("<pre tabindex=", "</pre>", 0) == (html[:14], html[-6:], html.count("<script"))
    assert "section rules &#x27;&lt;script&gt;alert(1)&lt;/script&gt;&#x27;" in html


RULES, RULES_LINE = Section("rules", "Be kind."), this_line()
HEADING = f"<Section 'rules' at {__file__}:{RULES_LINE}: not rendered>"


@pytest.mark.parametrize(
    "write",
    [
        lambda: System("Mind %s" % RULES),  # noqa: UP031
        lambda: System(Section("a", Text("Mind", str(RULES)))),
        lambda: User(Value(str(RULES))),
        lambda: Grounding("g", str(RULES)),
        lambda: Event(UserAction("pasted", target=str(RULES))),
        lambda: System(Untrusted(str(RULES))),
        lambda: System(Table([{"a": str(RULES)}])),
    ],
)
def test_an_outline_in_a_prompt_is_a_hint(write: Callable[[], Node]) -> None:
    """Author text or a value that contains the first line of an outline is a hint with its line."""
    part = write()
    (hint,) = render(part, strict=True).hints
    why = "str() or %s of a part is its outline: pass the part itself"
    assert ("hint", f"the text {HEADING!r}", why) == (hint.kind, hint.what, hint.why)
    assert str(part.source) == str(hint.source)


@pytest.mark.parametrize("text", [": not rendered>", "<Section at x: not rendered>", HEADING[1:]])
def test_other_texts_are_none(text: str) -> None:
    """A text that is no first line of an outline is no hint, nor is a recorded message."""
    recorded = History([{"role": "user", "content": HEADING}])
    assert () == reported(render(Timeline(System(text), recorded)))


@pytest.mark.parametrize("depth", [1_500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_deep_part_can_be_printed(depth: int) -> None:
    """A part of ten thousand levels has as many lines, and one for the text."""
    part = Section("s", "Deep.")
    for _ in range(depth):
        part = Section("s", part)
    assert depth + 2 == len(str(part).splitlines())
