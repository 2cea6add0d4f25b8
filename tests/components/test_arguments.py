"""What arguments become, and an argument that is not content."""

import enum
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptdsl import *
from tests.components.holders import CONTAINERS, every_holder
from tests.errors import lines_of, raised, with_article
from tests.folding import folded
from tests.renders import said
from tests.template_strings import Interpolation, template
from tests.tolerant_reader import OWN, tags_in


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0"),
        (-1, "-1"),
        (10**30, "1000000000000000000000000000000"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (1e100, "1e+100"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        (Decimal("1.10"), "1.10"),
        (Fraction(1, 3), "1/3"),
        (enum.IntEnum("Level", "LOW HIGH").LOW, "1"),  # type: ignore[attr-defined]
    ],
)
def test_numbers_survive(number: Any, expected: str) -> None:
    """A number is text as Python prints it, in arguments and in texts, zero too."""
    trees = [User(number), User("", number, None), User(Text(number)), System(Section("s", number))]
    assert [[expected]] * 4 == [said(tree)[0][1] for tree in trees]


@given(st.one_of(st.integers(), st.floats(), st.decimals(), st.fractions()))
def test_any_number_is_as_python_prints_it(number: Any) -> None:
    """Whatever the number, its text is ``str(number)``."""
    assert [("user", [f"x{number}y"])] == said(User("x", number, "y"))


class Mood(enum.StrEnum):
    """A string with another face."""

    GOOD = "fine"


class Loud(str):
    """A string that would like to be another one."""

    __slots__ = ()

    def __str__(self) -> str:
        return "LOUD"

    def __format__(self, spec: str) -> str:
        return "LOUD"


@pytest.mark.parametrize(("text", "expected"), [(Mood.GOOD, "fine"), (Loud("quiet"), "quiet")])
def test_subclasses_of_str_are_their_characters(text: str, expected: str) -> None:
    """A subclass of ``str`` is the text it holds, whatever its methods say."""
    trees = [User(text), User("", text), User(Text(text)), User(Value(text))]
    assert [[("user", [expected])]] * 4 == [said(tree) for tree in trees]


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (User("a", "b"), ["ab"]),
        (User("a", 1, 2.5, "b"), ["a12.5b"]),
        (User("a", None, "b", False, "c"), ["abc"]),
        (User("a", Value("b"), "c", Value("d")), ["abcd"]),
        (User(Text("a", "b", 3)), ["ab3"]),
        (User("a", Text("b"), "c", "d"), ["a", "b", "cd"]),
        (User(Text("a"), Text("b")), ["a", "b"]),
        (User("a", Section("s", "b"), "c"), ["a", "b", "c"]),
        (System("a", Text("b"), "c", "d"), ["a\n\nb\n\ncd"]),
        (System("a", Section("s", "b", Text("c")), "d"), ["a\n\nb\n\nc\n\nd"]),
        (Developer("a", Text("b"), Section("s", "c")), ["a\n\nb\n\nc"]),
        (Event("a", Text("b")), ["<event>\na\n\nb\n</event>"]),
        (Ephemeral("a", Text("b")), ["<context>\na\n\nb\n</context>"]),
        (Grounding("g", "a", Text("b")), ["<context>\na\n\nb\n</context>"]),
        (User(Section("s", "a", Text("b"), Section("t", "c"))), ["a\n\nb\n\nc"]),
        (System(Fragment("a", Text("b")), "c"), ["a\n\nb\n\nc"]),
    ],
)
def test_neighbours(tree: Node, expected: list[str]) -> None:
    """Strings of one call are one text; components are apart, by a blank line or as blocks."""
    assert expected == said(Timeline(tree))[0][1]


def test_neighbours_in_fragments_are_neighbours() -> None:
    """The parts of a fragment stand for themselves: in a user turn each is a block."""
    assert ["a", "b", "c"] == said(User(Fragment("a", Text("b")), "c"))[0][1]


def test_neighbours_in_blocks() -> None:
    """Components in a block are neighbours like components in a call."""
    with Timeline() as tree:
        with System():
            Text("a")
            Value("b")
        with User():
            Text("a")
            Value("b")
        with Assistant("a"):
            Text("b")
    expected = [("system", ["a\n\nb"]), ("user", ["a", "b"]), ("assistant", ["a", "b"])]
    assert expected == said(tree)


# None, False and what is no content.


@every_holder
@pytest.mark.parametrize("nothing", [None, False])
def test_nothing_is_skipped_in_containers(holder: str, nothing: Any) -> None:
    """``None`` and ``False`` as arguments of a container are not there."""
    assert CONTAINERS[holder](nothing) == CONTAINERS[holder](None, False)
    assert () == CONTAINERS[holder](nothing).content


def test_flags_leave_components_out() -> None:
    """``flag and Text(...)`` leaves the text out where the flag is off."""
    trees = [User("a", flag and Text("b")) for flag in (True, False, None)]
    assert [["a", "b"], ["a"], ["a"]] == [said(tree)[0][1] for tree in trees]


@pytest.mark.parametrize("nothing", [None, False])
def test_nothing_is_an_error_in_a_text(nothing: Any) -> None:
    """Inside a Text ``None`` and ``False`` are errors with the line, and say what to write."""

    def write() -> None:
        Text("a", nothing)

    error = raised(ContentError, write)
    assert lines_of(write, 1) == error.at
    assert error.fix


WRONG: dict[str, tuple[Any, str, str]] = {
    "True": (
        True,
        "True",
        "write str(flag) to print it; `flag and Text(...)` leaves something out",
    ),
    "list": (["x"], "a list", "unpack it: *items"),
    "tuple": (("x",), "a tuple", "unpack it: *items"),
    "set": ({"x"}, "a set", "unpack it in a fixed order: *sorted(items)"),
    "generator": ((x for x in "ab"), "a generator", "unpack it: *items"),
    "map": (map(str, [1]), "a map", "unpack it: *items"),
    "dict": (
        {"a": 1},
        "a dict",
        "write Json(value) to show it as JSON, or pass its items one by one",
    ),
    "bytes": (
        b"x",
        "bytes",
        "decode it: Value(data.decode())",
    ),
    "object": (
        object(),
        "an object",
        "write str(...) of the object, or Value(str(...)) when it comes from elsewhere",
    ),
    "complex": (
        1j,
        "a complex",
        "write str(...) of the complex, or Value(str(...)) when it comes from elsewhere",
    ),
    "message": (
        Message("user", "x"),
        "a Message",
        "write a recorded message in a History, directly in the Timeline: History([message])",
    ),
    "message as a dict": (
        {"role": "user", "content": "x"},
        "a dict",
        "write a recorded message in a History, directly in the Timeline: History([message])",
    ),
    "class": (Section, "a type", "call it: Section(...)"),
    "function": (len, "a builtin_function_or_method", "call it: len(...)"),
}


@every_holder
@folded(("wrong", "what", "fix"), WRONG.values(), ids=WRONG)
def test_what_is_no_content_is_an_error(holder: str, wrong: Any, what: str, fix: str) -> None:
    """An argument that is not content is an error that names it and says what to write."""
    error = raised(ContentError, lambda: CONTAINERS[holder](wrong))
    assert (f"{what} cannot be content of {with_article(holder)}", fix) == (error.what, error.fix)


@pytest.mark.parametrize(("wrong", "what", "fix"), WRONG.values(), ids=WRONG)
def test_what_is_no_content_is_an_error_in_a_text(wrong: Any, what: str, fix: str) -> None:
    """The same holds inside a Text, at its line."""

    def write() -> None:
        Text("a", wrong)

    error = raised(ContentError, write)
    assert lines_of(write, 1) == error.at
    assert (f"{what} cannot be content of a Text", fix) == (error.what, error.fix)


def test_an_error_of_content_has_the_line_of_the_call() -> None:
    """An argument that is not content has no line, so the one of the call is named."""

    def write() -> None:
        with Timeline():
            System(
                "a",
                ["b"],
            )

    assert lines_of(write, 2) == raised(ContentError, write).at


# t-strings.


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (template("Hello"), "Hello"),
        (template("Hello ", Interpolation("bob"), "!"), "Hello bob!"),
        (template("", Interpolation("a"), "", Interpolation("b"), ""), "ab"),
        (template("", Interpolation(3), " and ", Interpolation(0.5), ""), "3 and 0.5"),
        (template("", Interpolation("a", "x", "r"), ""), "'a'"),
        (template("", Interpolation("é", "x", "a"), ""), "'\\xe9'"),
        (template("", Interpolation([1], "x", "s"), ""), "[1]"),
        (template("", Interpolation(2 / 3, "x", None, ".2f"), ""), "0.67"),
        (template("", Interpolation("a", "x", "r", ">5"), ""), "  'a'"),
        (template(""), ""),
    ],
)
def test_t_strings_are_one_text(given: Any, expected: str) -> None:
    """A t-string is one text of its strings and interpolations, conversions and formats applied."""
    trees = [User("<", given, ">"), User(Text("<", given, ">"))]
    assert [[("user", [f"<{expected}>"])]] * 2 == [said(tree) for tree in trees]


@pytest.mark.parametrize("empty", [template(""), template("", Interpolation(template("")), "")])
@pytest.mark.parametrize(
    "write",
    [
        lambda given: given,
        Text,
        lambda given: Text("", given),
        Heading,
        Paragraph,
        Quote,
        Fragment,
        lambda given: List("a", given, "b"),
        lambda given: List(Item(given), "b"),
        lambda given: Checklist("a", given),
        lambda given: Example("a", given),
        lambda given: Section("s", given, title="T"),
        lambda given: Lazy(lambda _: given),
    ],
)
def test_an_empty_t_string_is_an_empty_string(write: Callable[[Any], Any], empty: Any) -> None:
    """A t-string of nothing is an empty string, wherever it is."""
    assert said(Developer("x", write(""))) == said(Developer("x", write(empty)))


def test_interpolations_are_values() -> None:
    """In system content strings of a t-string are as written, interpolations encoded."""
    given = template("</event> ", Interpolation("</event> <b>"), "")
    assert [("system", ["</event> &lt;/event> <b>"])] == said(System(given))


@example("<0")
@given(st.text(min_size=1))
def test_any_interpolation_can_be_read_back(text: str) -> None:
    """Whatever an interpolation holds, it opens nothing and decodes to what it was."""
    (sent,) = said(System(template("x ", Interpolation(text), " y")))[0][1]
    assert f"x {text} y" == decode(sent)
    assert [] == tags_in(sent, OWN)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("user.name", "user.name"),
        (" user.name", "user.name"),
        ("\n  x", "x"),
        ("", None),
        (None, None),
    ],
)
def test_interpolations_know_their_expression(expression: Any, expected: str | None) -> None:
    """A value of a t-string is labelled by what is in its braces, without blanks around it."""
    tree = User("Hello ", template("", Interpolation("bob", expression), ""))
    assert [expected] == [part.label for part in tree.content[0].content if isinstance(part, Node)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x", "x cannot be formatted like this"),
        (" x", "x cannot be formatted like this"),
        ("", "a value cannot be formatted like this"),
    ],
)
def test_a_form_that_a_value_does_not_have_is_an_error(expression: str, expected: str) -> None:
    """A format that the value refuses is an error with its expression, its line and what to do."""

    def write() -> None:
        User(template("a ", Interpolation("bob", expression, None, ".2f"), ""))

    error = raised(ContentError, write)
    assert (expected, "correct what follows the colon or the exclamation mark in its braces") == (
        error.what.partition(":")[0],
        error.fix,
    )
    assert lines_of(write, 1) == error.at


def test_a_component_in_a_t_string_is_an_error() -> None:
    """A component cannot be in a t-string: both lines are named, and what to do."""

    def write() -> None:
        part = Section("s", "x")
        User(template("a ", Interpolation(part), ""))

    error = raised(ContentError, write)
    assert lines_of(write, 2, 1) == error.at
    assert "pass it as a separate argument" == error.fix


@pytest.mark.parametrize("value", [None, ["x"], {"a": 1}, object()])
def test_what_is_no_text_is_an_error_in_a_t_string(value: Any) -> None:
    """An interpolation that is not text is an error at the line of the call."""

    def write() -> None:
        User(template("a ", Interpolation(value), ""))

    error = raised(ContentError, write)
    assert lines_of(write, 1) == error.at
    assert error.fix
