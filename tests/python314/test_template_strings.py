"""What t-strings become, written as authors write them."""

import re
from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import (
    Checklist,
    Code,
    ContentError,
    Developer,
    Ephemeral,
    Event,
    Example,
    Format,
    Grounding,
    Heading,
    Item,
    Lazy,
    List,
    Paragraph,
    PromptError,
    Quote,
    Section,
    StateChange,
    System,
    SystemEvent,
    Table,
    Template,
    Text,
    Timeline,
    Untrusted,
    User,
    UserAction,
    Value,
    component,
    decode,
    render,
    trusted,
)
from tests.components.failing import Write, failed, refusal
from tests.errors import lines_of, raised
from tests.renders import comes_to, losses_of, only_text
from tests.tolerant_reader import OWN, tags_in

USER = SimpleNamespace(name="bob", tag="<b>")
LINES = "one\n      # two"
PRICE = Decimal("12.5")
WIDTH = 8


@component
def given_back(part: Any) -> Any:
    """Return a part."""
    return part


# What is written.


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (t"Hello", "Hello"),
        (t"Hello {USER.name}!", "Hello bob!"),
        (t"{USER.name}{USER.tag}", "bob<b>"),
        (t"{3} and {0.5} and {PRICE}", "3 and 0.5 and 12.5"),
        (t"{True} or {False}", "true or false"),
        (t"{USER.name!r} {USER.name!s} {'é'!a}", "'bob' bob '\\xe9'"),
        (t"{[1, 'x']!s}", "[1, 'x']"),
        (t"{PRICE:.2f}", "12.50"),
        (t"{PRICE:>{WIDTH}.{2}f}|", "   12.50|"),
        (t"{USER.name!r:>{WIDTH}}|", "   'bob'|"),
        (t"{USER.name=}", "USER.name='bob'"),
        (t"{PRICE=:.2f}", "PRICE=12.50"),
        (t"{{{USER.name}}}", "{bob}"),
        (rt"\n{USER.name}", "\\nbob"),
        (t"a {USER.name} b", "a bob b"),
        (t"a " + t"{USER.name}", "a bob"),
        (t"{f'{USER.name}!'}", "bob!"),
        (t"{t'{USER.name}!'} {t'{t"{USER.tag}"}'}", "bob! <b>"),
        (t"", ""),
        (t"{''}", ""),
    ],
)
def test_a_t_string_is_one_text(written: Any, expected: str) -> None:
    """A t-string is one text of its parts; conversions and formats are applied."""
    assert [("user", f"<{expected}>")] * 2 == comes_to(
        User("<", written, ">"),
        User(Text("<", written, ">")),
        transformation={"merge_consecutive": False},
    )


def test_neighbours_of_a_t_string() -> None:
    """Beside strings, numbers and values a t-string is one text with them, nothing between."""
    assert "a bob3<b> c" == only_text(System("a ", t"{USER.name}", 3, Value("<b>"), t" c"))


def test_an_empty_t_string_is_no_content() -> None:
    """What is made of an empty t-string yields nothing."""
    assert [("system", "ab")] == comes_to(System("a", t"", "b"), User(t""), User(Text(t"{''}")))


# What is trusted.


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (t"<b> {USER.tag}", "<b> <b>"),
        (t"# a\n{'# b'}", "# a\n&#35; b"),
        (t"<b> {t'<i> {USER.tag}'}", "<b> <i> <b>"),
        (t"{USER.tag!r}", "'<b>'"),
        (t"{USER.tag:>5}", "&#32; <b>"),
        (t"{t'<i>'!s}", "Template(strings=('<i>',), interpolations=())"),
        (t"{trusted('<b>')}", "<b>"),
        (t"{trusted('<b>')!s}", "&lt;b>"),
    ],
)
def test_static_parts_are_author_text_and_interpolations_values(
    written: Any, expected: str
) -> None:
    """What stands outside of the braces is as written, what stands in them is encoded."""
    assert expected == only_text(System(written))


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (System, "<b> <b>"),
        (Developer, "<b> <b>"),
        (User, "<b> <b>"),
        (Event, "<event>\n<b> <b>\n</event>"),
        (Ephemeral, "<context>\n<b> <b>\n</context>"),
        (lambda t: Grounding("g", t), "<context>\n<b> <b>\n</context>"),
        (lambda t: Grounding("g", Text(t)), "<context>\n<b> <b>\n</context>"),
        (lambda t: Section("s", t, title="S"), "## S\n<b> <b>"),
    ],
)
def test_turns(turn: Any, expected: str) -> None:
    """In each turn a t-string is what its author text and its values are there."""
    assert expected == only_text(turn(t"<b> {USER.tag}"))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Text, "<b> <b>"),
        (Paragraph, "<b> <b>"),
        (Heading, "# <b> &lt;b&gt;"),
        (List, "- <b> <b>"),
        (lambda t: List(Item(t), ordered=True), "1. <b> <b>"),
        (Checklist, "- [ ] <b> <b>"),
        (Quote, "> <b> <b>"),
        (lambda t: Example(t, t"{t}"), "Input: <b> <b>\nOutput: <b> <b>"),
        (lambda t: Format("xml", List(t)), "<list>\n<item><b> <b></item>\n</list>"),
        (lambda t: Lazy(lambda _: t), "<b> <b>"),
        (given_back, "<b> <b>"),
        (Code, "```\n<b> <b>\n```"),
    ],
)
def test_parts(part: Any, expected: str) -> None:
    """In each part too."""
    assert expected == only_text(System(part(t"<b> {USER.tag}")))


def test_a_t_string_stays_in_its_fence() -> None:
    """Neither its author text nor its values, nor both together, close the fence around it."""
    assert "<context>\n&lt;/context> &lt;/context> &lt;/context>\n</context>" == only_text(
        Ephemeral(t"</context> {'</context>'} {'<'}/context>")
    )


@given(st.text(min_size=1))
def test_any_value_can_be_read_back(value: str) -> None:
    """Whatever stands in the braces, it opens nothing and decodes to what it was."""
    sent = only_text(System(t"x {value} y"))
    assert f"x {value} y" == decode(sent)
    assert [] == tags_in(sent, OWN)


# Instruction text.


@pytest.mark.parametrize(
    "written",
    [
        t"""
        Say {LINES}
          to {USER.name}.
        """,
        t"""
        Say {t"{LINES}"}
          to {
            t'''{USER.name}.
        '''
        }
        """,
    ],
)
@pytest.mark.parametrize(
    "place",
    [
        System,
        Developer,
        lambda t: System(Text(t)),
        lambda t: System(Section("s", t)),
    ],
)
def test_instructions_are_dedented(place: Any, written: Any) -> None:
    """Instruction text is dedented by its own lines; the lines of a value are never touched."""
    assert "Say one\n      &#35; two\n  to bob." == only_text(place(written))


def test_neighbours_are_dedented_together() -> None:
    """The common indentation is that of a string and the t-strings beside it."""
    assert "a bob\n  b\nc" == only_text(
        System(
            """
            a """,
            t"""{USER.name}
              b
            """,
            "c",
        )
    )


def test_conversation_is_kept_to_the_byte() -> None:
    """In conversation nothing is removed."""
    assert "\n    Say one\n      # two\n    " == only_text(
        User(t"""
    Say {LINES}
    """)
    )


# What is told.


def test_an_outline_names_values_by_their_expressions() -> None:
    """An outline calls a value of a t-string what stands in its braces, without blanks around."""
    # fmt: off
    tree = System(t"a {USER.name} { USER.tag } {PRICE:.1f} {PRICE=} {t'{WIDTH}'} {len('a')}")
    # fmt: on
    assert ["USER.name", "USER.tag", "PRICE", "PRICE", "WIDTH", "len('a')"] == re.findall(
        r"value (.*), \d+ characters?", render(tree).outline()
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (t"a\ud800", [("content", "a lone surrogate")]),
        (t"{'a\ud800'}", [("hint", "control characters U+D800")]),
        (t"a {'\x07'}", [("hint", "control characters U+0007")]),
        (t"a {'\u202e'}", [("hint", "invisible characters U+202E")]),
        (t"a {USER.tag}", []),
    ],
)
def test_losses(written: Any, expected: list[tuple[str, str]]) -> None:
    """What a reader does not see, or is not sent, is told as for any text."""
    assert expected == losses_of(System(written))


def test_a_payload() -> None:
    """A t-string reaches a provider as text."""
    tree = Timeline(System(t"<b> {USER.tag}"), User(t"I am {USER.name}"))
    assert {
        "messages": [
            {"role": "system", "content": "<b> <b>"},
            {"role": "user", "content": "I am bob"},
        ]
    } == render(tree, provider="openai").payload()


# What is refused.

NOTHING_FIX = "leave it out, or write an empty string"
BYTES_FIX = "write data.decode()"
TEXT_FIX = "write str(value), or json.dumps(value) for its structure"
FORM_FIX = "correct what follows the colon or the exclamation mark in its braces"


@pytest.mark.parametrize(
    ("fix", "write"),
    [
        (NOTHING_FIX, lambda: User(t"a {None}")),
        (TEXT_FIX, lambda: User(t"a {['x']}")),
        (TEXT_FIX, lambda: User(t"a {USER}")),
        (BYTES_FIX, lambda: Text(t"a {t'{b"x"}'}")),
        (TEXT_FIX, lambda: List("a", t"{Text}")),
        (FORM_FIX, lambda: User(t"{USER.name:.2f}")),
        (FORM_FIX, lambda: Heading(t"{USER.name!r:d}")),
    ],
)
def test_what_is_no_text_is_an_error(fix: str, write: Write) -> None:
    """What is no text in the braces is an error that names the line, and leaves nothing behind."""
    assert refusal(ContentError, fix) == failed(write)


def test_a_wrong_form_is_named_by_its_expression() -> None:
    """A format that the value does not have is named by what stands in the braces."""
    with pytest.raises(ContentError, match=r"USER\.name cannot be formatted like this: ") as caught:
        User(t"a {USER.name:.2f}")
    assert FORM_FIX == caught.value.fix


def test_a_component_in_a_t_string_names_both_lines() -> None:
    """A component in the braces is an error with the line of the call and its own."""

    def write() -> None:
        part = Section("s", "x")
        User(
            t"a {part}",
        )

    error = raised(ContentError, write)
    assert ("a Section cannot be inside a t-string", lines_of(write, 2, 1)) == (
        error.what,
        error.at,
    )
    assert "pass it as a separate argument" == error.fix


@pytest.mark.parametrize(
    ("what", "write"),
    [
        ("action: Template", UserAction),
        ("target: Template", lambda t: UserAction("a", target=t)),
        ("page: Template", lambda t: UserAction("a", page=t)),
        ("key: Template", lambda t: StateChange(t, new="x")),
        ("new: Template", lambda t: StateChange("a", new=t)),
        ("event: Template", SystemEvent),
        ("error: Template", lambda t: SystemEvent("a", error=t)),
        ("rows[0][1]: Template", lambda t: Table([["a", t]])),
        ("rows[0]['a']: Template", lambda t: Table([{"a": t}])),
        ("Template", lambda t: Table([["a"]], columns=[t])),
        ("Template", lambda t: Section("s", "x", title=t)),
        ("Template", lambda t: Ephemeral("a", title=t)),
        ("Template", lambda t: Untrusted("a", source=t)),
        ("Template", Value),
        ("Template", Untrusted),
    ],
)
def test_a_t_string_is_no_value(what: str, write: Callable[[Any], object]) -> None:
    """Where a value stands, in a field, a cell or a title, a t-string is an error."""
    error = raised(PromptError, lambda: write(t"a {USER.name}"))
    assert f"{what} is not text" == error.what


def test_a_t_string_is_no_variable() -> None:
    """Neither is it a variable of a template."""
    error = raised(PromptError, lambda: Template.from_string("{{ v }}", v=t"a"))
    assert "vars.v is an object, not plain data: Template" == error.what
