"""What may stand where, what content becomes, which keywords there are."""

import enum
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import (
    Assistant,
    ContentError,
    Developer,
    Ephemeral,
    Event,
    Fragment,
    Grounding,
    History,
    Image,
    Note,
    OptionError,
    PlacementError,
    Section,
    StateChange,
    System,
    SystemEvent,
    Text,
    Timeline,
    ToolMessage,
    ToolResult,
    ToolUse,
    Turn,
    User,
    UserAction,
    Value,
    decode,
    include,
    render,
)
from promptdsl.tree import Node
from tests.places import losses, places, raised, said

URL = "https://example.com/x.png"

# Placement.

HOLDERS: dict[str, Callable[..., Any]] = {
    "Timeline": Timeline,
    "System": System,
    "Developer": Developer,
    "User": User,
    "Assistant": Assistant,
    "ToolMessage": lambda *content: ToolMessage("1", *content),
    "Tool": lambda *content: Turn("tool", *content),
    "Event": Event,
    "Ephemeral": Ephemeral,
    "Grounding": lambda *content: Grounding("g", *content),
    "Section": lambda *content: Section("s", *content),
    "Fragment": Fragment,
    "Note": Note,
    "ToolResult": lambda *content: ToolResult("1", *content),
}

PARTS: dict[str, Callable[[], Any]] = {
    "str": lambda: "x",
    "Text": lambda: Text("x"),
    "Value": lambda: Value("x"),
    "Image": lambda: Image.from_url(URL),
    "Section": lambda: Section("inner", "x"),
    "Note": lambda: Note("x"),
    "Fragment": lambda: Fragment("x"),
    "cached Section": lambda: Section("inner", "x", cache=True),
    "Section with an Image": lambda: Section("inner", Image.from_url(URL)),
    "ToolUse": lambda: ToolUse("t", {}, id="1"),
    "ToolResult": lambda: ToolResult("2", "x"),
    "UserAction": lambda: UserAction("x"),
    "StateChange": lambda: StateChange("x"),
    "SystemEvent": lambda: SystemEvent("x"),
}

TURNS: dict[str, Callable[[], Any]] = {
    "System": lambda: System("x"),
    "Developer": lambda: Developer("x"),
    "User": lambda: User("x"),
    "Assistant": lambda: Assistant("x"),
    "ToolMessage": lambda: ToolMessage("3", "x"),
    "Tool": lambda: Turn("tool", ToolResult("4", "x")),
    "Event": lambda: Event("x"),
    "Ephemeral": lambda: Ephemeral("x"),
    "Grounding": lambda: Grounding("inner", "x"),
    "History": lambda: History([]),
}

ENTRIES = {**PARTS, **TURNS}

TEXTS = {"str", "Text", "Value", "Section", "Note", "Fragment", "cached Section"}
MEDIA = {"Image", "Section with an Image"}
EVENTS = {"UserAction", "StateChange", "SystemEvent"}
MAY_HOLD: dict[str, set[str]] = {
    "Timeline": {*TURNS, "Section", "cached Section", "Note"},
    "System": TEXTS,
    "Developer": TEXTS | MEDIA,
    "User": TEXTS | MEDIA | {"ToolResult"},
    "Assistant": TEXTS | MEDIA | {"ToolUse"},
    "ToolMessage": TEXTS | MEDIA,
    "Tool": {"ToolResult", "Note"},
    "Event": TEXTS | MEDIA | EVENTS,
    "Ephemeral": (TEXTS | MEDIA) - {"cached Section"},
    "Grounding": (TEXTS | MEDIA) - {"cached Section"},
    "Section": TEXTS | MEDIA,
    "Fragment": {*ENTRIES},
    "Note": TEXTS | MEDIA,
    "ToolResult": TEXTS | MEDIA,
}
"""The table of placement: what each may hold, and nothing else."""

every_holder = pytest.mark.parametrize("holder", HOLDERS)
every_entry = pytest.mark.parametrize("entry", ENTRIES)


def refused(write: Callable[[], object]) -> bool:
    """Return whether a placement is refused."""
    with suppress(PlacementError):
        write()
        return False
    return True


@every_holder
@every_entry
def test_placement_as_an_argument(holder: str, entry: str) -> None:
    """Each component takes as an argument what the table of placement allows, and nothing else."""
    assert (entry in MAY_HOLD[holder]) != refused(lambda: HOLDERS[holder](ENTRIES[entry]()))


# What is put into a block: an included part, as a string cannot be written.
INCLUDED = {name: write for name, write in ENTRIES.items() if name != "str"}


@every_holder
@pytest.mark.parametrize("entry", INCLUDED)
def test_placement_in_a_block(holder: str, entry: str) -> None:
    """What may stand in a block is what may be an argument."""
    part = INCLUDED[entry]()

    def write() -> None:
        with HOLDERS[holder]():
            include(part)

    assert (entry in MAY_HOLD[holder]) != refused(write)


@every_holder
@every_entry
def test_fragments_hide_nothing(holder: str, entry: str) -> None:
    """What may not stand in a block may not stand there in a fragment in a fragment either."""
    part = Fragment(Fragment(ENTRIES[entry]()))
    assert (entry in MAY_HOLD[holder]) != refused(lambda: HOLDERS[holder](part))


@pytest.mark.parametrize("entry", TURNS)
@pytest.mark.parametrize(
    "holder", [name for name in HOLDERS if name not in ("Timeline", "Fragment")]
)
def test_a_turn_never_stands_inside_a_turn(holder: str, entry: str) -> None:
    """A turn in a turn or in a part of one is refused at once, before its block closes."""

    def write() -> None:
        with HOLDERS[holder]():
            TURNS[entry]()
            raise AssertionError("it was not refused at once")

    assert "cannot stand in a" in raised(PlacementError, write).what


def test_placement_errors_of_blocks_have_both_lines() -> None:
    """What is refused when it is written has the lines of both, its own first."""

    def write() -> None:
        with Timeline(), System("x"):
            Text("y")
            User("z")

    error = raised(PlacementError, write)
    assert places(write, 3, 1) == error.at
    assert "a User cannot stand in a System" == error.what
    assert (
        "a turn never stands inside a turn: write it beside it, directly in the Timeline"
        == error.fix
    )


def test_placement_errors_at_the_end_of_a_block_have_both_lines() -> None:
    """What is refused when the block closes has the lines of both, too."""

    def write() -> None:
        with Timeline(), User():
            Text("x")
            ToolUse("t", {}, id="1")
            Text("y")

    error = raised(PlacementError, write)
    assert places(write, 3, 1) == error.at
    assert ("a ToolUse cannot stand in a User", "only an Assistant turn holds a ToolUse") == (
        error.what,
        error.fix,
    )


def test_placement_errors_of_calls_have_both_lines() -> None:
    """What is refused as an argument has the line it was written in and that of the call."""

    def write() -> None:
        User(
            "x",
            UserAction("y"),
        )

    error = raised(PlacementError, write)
    assert places(write, 3, 1) == error.at
    assert ("a UserAction cannot stand in a User", "only an Event holds a UserAction") == (
        error.what,
        error.fix,
    )


def test_placement_errors_of_parts_have_both_lines() -> None:
    """A part that was written elsewhere is found where it was written, in fragments, too."""

    def write() -> None:
        inner = Fragment(ToolResult("1", "x"))
        part = Fragment("y", inner)
        with Timeline(), Assistant():
            include(part)

    error = raised(PlacementError, write)
    assert places(write, 1, 3) == error.at
    assert "only a User or tool turn holds a ToolResult" == error.fix


def test_placement_errors_find_what_stands_deep_inside() -> None:
    """Media in a section of system content is named with its own line."""

    def write() -> None:
        System(
            Section(
                "s",
                Image.from_url(URL),
            )
        )

    error = raised(PlacementError, write)
    assert places(write, 4, 1) == error.at
    assert "system content is text only: put it in a User turn" == error.fix


@pytest.mark.parametrize(
    ("write", "fix"),
    [
        (lambda: Timeline(Text("x")), "put it in a System for instructions, or in a User"),
        (lambda: Timeline("x"), "put it in a System for instructions, or in a User"),
        (lambda: Timeline(Value("x")), "put it in a System for instructions, or in a User"),
        (
            lambda: Timeline(Image.from_url(URL)),
            "put it in a System for instructions, or in a User",
        ),
        (
            lambda: Timeline(ToolUse("t", {}, id="1")),
            "put it in an Assistant: Assistant(ToolUse(...))",
        ),
        (
            lambda: Timeline(ToolResult("1", "x")),
            "write ToolMessage(tool_use_id, ...), or put it in a User",
        ),
        (lambda: Timeline(UserAction("x")), "put it in an Event: Event(UserAction(...))"),
        (lambda: System(ToolResult("1", "x")), "only a User or tool turn holds a ToolResult"),
        (
            lambda: Section("s", User("x")),
            "a turn never stands inside a Section: write it beside it, directly in the Timeline",
        ),
        (lambda: Section("s", ToolUse("t", {}, id="1")), "put the ToolUse directly in its turn"),
        (lambda: Note(UserAction("x")), "a Note holds text and parts"),
        (
            lambda: Turn("tool", "x"),
            "a tool turn holds tool results only: ToolResult(tool_use_id, ...)",
        ),
        (lambda: ToolResult("1", ToolResult("2", "x")), "a tool's answer is text and media"),
        (
            lambda: Ephemeral(Section("s", "x", cache=True)),
            "what is sent once cannot be cached: leave cache=True out",
        ),
    ],
)
def test_placement_errors_say_where_it_belongs(write: Callable[[], object], fix: str) -> None:
    """The error of a component in the wrong place names the right one."""
    assert fix == raised(PlacementError, write).fix


def test_loose_text_in_a_block_is_named_with_both_lines() -> None:
    """Text written directly in a prompt is an error when the prompt closes."""

    def write() -> None:
        with Timeline():
            User("x")
            Text("loose")

    assert places(write, 3, 1) == raised(PlacementError, write).at


def test_loose_strings_are_quoted() -> None:
    """A string that may not stand somewhere has no line of its own, so the error quotes it."""

    def write() -> None:
        Timeline("Hello, I am loose.")

    error = raised(PlacementError, write)
    assert places(write, 1) == error.at
    assert "loose text cannot stand in a Timeline: 'Hello, I am loose.'" == error.what


LOOSE: dict[str, Callable[[], Node]] = {
    "alone": lambda: Section("s", Image.from_url(URL)),
    "nested": lambda: Section("s", Section("t", Image.from_url(URL))),
    "in a fragment": lambda: Fragment(Section("s", Image.from_url(URL))),
    "beside a turn": lambda: Fragment(User("x"), Section("s", Image.from_url(URL))),
}


@pytest.mark.parametrize("write", LOOSE.values(), ids=LOOSE)
def test_media_in_loose_sections_is_refused(write: Callable[[], Node]) -> None:
    """A section outside of any turn is system content: media in it are refused, with the line."""
    error = raised(PlacementError, lambda: Timeline(write()))
    assert places(write, 0)[0] == error.at[0]
    assert "put it in a User turn" == error.fix


@pytest.mark.parametrize("write", LOOSE.values(), ids=LOOSE)
def test_media_in_loose_sections_are_refused_in_blocks(write: Callable[[], Node]) -> None:
    """The same holds for a prompt written as a block."""

    def block() -> None:
        with Timeline():
            write()

    assert places(write, 0)[0] == raised(PlacementError, block).at[0]


def test_media_beside_loose_sections_are_fine() -> None:
    """Turns and request-only turns in one fragment with a loose section keep their media."""
    tree = Timeline(Fragment(Section("s", "x"), Ephemeral(Image.from_url(URL)), User("q")))
    assert [("system", ["x"]), ("user", ["<context>\n", "image", "</context>", "q"])] == [
        (role, texts) for role, texts in said(tree)
    ]


def test_a_cache_mark_deep_in_request_only_content_is_refused() -> None:
    """A cache mark in request-only content is an error at any depth, named with its line."""

    def write() -> None:
        with Grounding("g"), Section("a"):
            Fragment(
                Section("b", "x", cache=True),
            )

    assert places(write, 3, 1) == raised(PlacementError, write).at


# Ids.


@pytest.mark.parametrize("id", ["a", "A", "_", "a1", "a.b", "a-b", "_9", "rules.v2-final_"])
def test_ids_are_names(id: str) -> None:
    """An id starts with a letter or _, then has letters, digits, _, . and -."""
    assert (id, id) == (Section(id, "x").options.id, User("x", id=id).options.id)


@pytest.mark.parametrize(
    "id", ["", "1a", "-a", ".a", "a b", "a/b", "é", "aé", "a\n", "a>", 'a"', 3, b"a", ["a"]]
)
def test_other_ids_are_refused(id: Any) -> None:
    """What is no id is an error that says what one is, for every component that has one."""
    errors = [
        raised(OptionError, lambda: Section(id, "x")),
        raised(OptionError, lambda: Grounding(id, "x")),
        raised(OptionError, lambda: User("x", id=id)),
    ]
    rule = "an id starts with a letter or _, then letters, digits, _ . -"
    assert [True] * 3 == [rule in error.fix for error in errors]


def test_sections_cannot_share_an_id() -> None:
    """Two siblings with one id are an error with both lines, the second first."""

    def write() -> None:
        with System():
            Section("a", "x")
            Section("b", "y")
            Section("a", "z")

    error = raised(PlacementError, write)
    assert places(write, 4, 2) == error.at
    assert "the id 'a' is used twice in one System" == error.what


@pytest.mark.parametrize(
    "write",
    [
        lambda: System(Section("a", "x"), Fragment(Section("a", "y"))),
        lambda: System(Fragment(Section("a", "x")), Fragment(Fragment(Section("a", "y")))),
        lambda: Fragment(Section("a", "x"), Section("a", "y")),
        lambda: Section("s", Section("a", "x"), Section("a", "y")),
        lambda: Timeline(User("x", id="a"), User("y", id="a")),
        lambda: Timeline(User("x", id="a"), Fragment(Assistant("y", id="a"))),
        lambda: Timeline(Grounding("a", "x"), Ephemeral("y", id="a")),
        lambda: Timeline(Section("a", "x"), Section("a", "y")),
        lambda: User(Section("a", "x"), Section("a", "y")),
        lambda: Event(Section("a", "x"), Section("a", "y")),
        lambda: Note(Section("a", "x"), Section("a", "y")),
    ],
)
def test_siblings_cannot_share_an_id(write: Callable[[], object]) -> None:
    """Ids are unique among siblings of every kind, fragments seen through."""
    assert raised(PlacementError, write).what.startswith("the id 'a' is used twice in one ")


def test_ids_are_free_in_another_place() -> None:
    """Parents, children and cousins may share an id."""
    tree = Timeline(
        System(Section("a", Section("a", "x"), Section("b", Section("c", "y")))),
        User(Section("a", "z"), id="a"),
        Assistant(Section("a", "w")),
    )
    assert 3 == len(render(tree).messages)


@pytest.mark.parametrize(
    "content",
    [
        [lambda: System(Section("a", "x")), lambda: System(Section("a", "y"))],
        [lambda: System(Section("a", "x")), lambda: Section("a", "y")],
        [lambda: Section("a", "x"), lambda: System("b", Fragment(Section("a", "y")))],
        [
            lambda: System(Section("a", "x")),
            lambda: User("q"),
            lambda: Fragment(System(Section("a", "y"))),
        ],
    ],
)
def test_all_system_content_is_one_set_of_siblings(content: list[Callable[[], Node]]) -> None:
    """Sections of system turns and loose ones cannot share an id; both lines are named."""
    error = raised(PlacementError, lambda: render(Timeline(*(write() for write in content))))
    first, last = (places(write, 0)[0] for write in (content[0], content[-1]))
    assert (last, first) == error.at


# Content.


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
    assert HOLDERS[holder](nothing) == HOLDERS[holder](None, False)
    assert () == HOLDERS[holder](nothing).content


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
    assert places(write, 1) == error.at
    assert error.fix


WRONG: dict[str, tuple[Any, str, str]] = {
    "True": (
        True,
        "True",
        "write str(flag) to print it; `flag and Text(...)` leaves something out",
    ),
    "list": (["x"], "a list", "unpack it: *items"),
    "tuple": (("x",), "a tuple", "unpack it: *items"),
    "set": ({"x"}, "a set", "unpack it: *items"),
    "generator": ((x for x in "ab"), "a generator", "unpack it: *items"),
    "map": (map(str, [1]), "a map", "unpack it: *items"),
    "dict": (
        {"a": 1},
        "a dict",
        "write json.dumps(value) to show it as JSON, or pass its items one by one",
    ),
    "bytes": (
        b"x",
        "a bytes",
        "write str(...) of the bytes, or Value(str(...)) when it comes from elsewhere",
    ),
    "object": (
        object(),
        "a object",
        "write str(...) of the object, or Value(str(...)) when it comes from elsewhere",
    ),
    "complex": (
        1j,
        "a complex",
        "write str(...) of the complex, or Value(str(...)) when it comes from elsewhere",
    ),
    "class": (Section, "a type", "call it"),
    "function": (len, "a builtin_function_or_method", "call it"),
}


@every_holder
@pytest.mark.parametrize(("wrong", "what", "fix"), WRONG.values(), ids=WRONG)
def test_what_is_no_content_is_an_error(holder: str, wrong: Any, what: str, fix: str) -> None:
    """Anything that is no content is an error that names it and says what to write."""
    error = raised(ContentError, lambda: HOLDERS[holder](wrong))
    assert (f"{what} cannot be content of a {holder}", fix) == (error.what, error.fix)


@pytest.mark.parametrize(("wrong", "what", "fix"), WRONG.values(), ids=WRONG)
def test_what_is_no_content_is_an_error_in_a_text(wrong: Any, what: str, fix: str) -> None:
    """The same holds inside a Text, at its line."""

    def write() -> None:
        Text("a", wrong)

    error = raised(ContentError, write)
    assert places(write, 1) == error.at
    assert (f"{what} cannot be content of a Text", fix) == (error.what, error.fix)


def test_an_error_of_content_has_the_line_of_the_call() -> None:
    """What is no content has no line, so the one of the call is named."""

    def write() -> None:
        with Timeline():
            System(
                "a",
                ["b"],
            )

    assert places(write, 2) == raised(ContentError, write).at


# t-strings, by their shape.


class Interpolation(NamedTuple):
    """The shape of ``string.templatelib.Interpolation``."""

    value: Any
    expression: str = "x"
    conversion: str | None = None
    format_spec: str = ""


@attrs.frozen
class Template:
    """The shape of ``string.templatelib.Template``."""

    strings: tuple[str, ...]
    interpolations: tuple[Any, ...]


def template(*parts: Any) -> Template:
    """Return a template of strings and interpolations that take turns."""
    return Template(tuple(parts[::2]), tuple(parts[1::2]))


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
def test_t_strings_are_one_text(given: Template, expected: str) -> None:
    """A t-string is one text of its strings and interpolations, conversions and formats applied."""
    trees = [User("<", given, ">"), User(Text("<", given, ">"))]  # type: ignore[arg-type]
    assert [[("user", [f"<{expected}>"])]] * 2 == [said(tree) for tree in trees]


def test_interpolations_are_values() -> None:
    """In system content strings of a t-string are as written, interpolations encoded."""
    given = template("<b> ", Interpolation("<b>"), "")
    assert [("system", ["<b> &lt;b&gt;"])] == said(System(given))


@given(st.text(min_size=1))
def test_any_interpolation_can_be_read_back(text: str) -> None:
    """Whatever an interpolation holds, it opens nothing and decodes to what it was."""
    (sent,) = said(System(template("x ", Interpolation(text), " y")))[0][1]
    assert f"x {text} y" == decode(sent)
    assert "<" not in sent


def test_interpolations_know_their_expression() -> None:
    """A value of a t-string is labelled by what stood in its braces."""
    tree = User("Hello ", template("", Interpolation("bob", "user.name"), ""))
    assert ["user.name"] == [
        part.label for part in tree.content[0].content if isinstance(part, Node)
    ]


def test_a_component_in_a_t_string_is_an_error() -> None:
    """A component cannot stand in a t-string: both lines are named, and what to do."""

    def write() -> None:
        part = Section("s", "x")
        User(template("a ", Interpolation(part), ""))

    error = raised(ContentError, write)
    assert places(write, 2, 1) == error.at
    assert "pass it as an argument of its own" == error.fix


@pytest.mark.parametrize("value", [None, ["x"], {"a": 1}, object()])
def test_what_is_no_text_is_an_error_in_a_t_string(value: Any) -> None:
    """An interpolation that is no text is an error at the line of the call."""

    def write() -> None:
        User(template("a ", Interpolation(value), ""))

    error = raised(ContentError, write)
    assert places(write, 1) == error.at
    assert error.fix


def test_t_strings_of_the_language_work() -> None:
    """The template type of the standard library, where there is one, has this shape."""
    templatelib = pytest.importorskip("string.templatelib", reason="needs Python 3.14")
    given = templatelib.Template("Hello ", templatelib.Interpolation("<b>", "name"), "!")
    assert [("system", ["Hello &lt;b&gt;!"])] == said(System(given))


# Nothing at all.

EMPTY: dict[str, Callable[[], Node]] = {
    "None": lambda: System(None),
    "an empty string": lambda: System(""),
    "a flag that is off": lambda: User(False),
    "an empty text": lambda: User(Text("")),
    "an empty value": lambda: System(Value("")),
    "an empty section": lambda: Section("s", ""),
    "an empty section in a turn": lambda: System(Section("s", Text(""))),
    "an empty fragment": lambda: Fragment(None),
    "an empty fragment in a turn": lambda: User(Fragment(Fragment(""))),
    "an empty developer turn": lambda: Developer(""),
    "an empty assistant": lambda: Assistant(None),
    "an empty event": lambda: Event(""),
    "an empty request": lambda: Ephemeral(""),
    "an empty grounding": lambda: Grounding("g", Text("")),
    "an empty note": lambda: Note(""),
    "an empty history": lambda: History([]),
    "text that is blank lines": lambda: System("\n   \n"),
}


@pytest.mark.parametrize("write", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("format", ["markdown", "xml"])
@pytest.mark.parametrize("audience", ["model", "people"])
def test_empty_containers_yield_nothing(
    write: Callable[[], Node], format: str, audience: str
) -> None:
    """What ends up empty is no message and no part of one, and nothing is said about it."""
    tree = Timeline(write(), User("q"), transformation={"format": format})
    assert [("user", ["q"])] == said(tree, audience=audience)
    assert () == losses(tree)


@pytest.mark.parametrize(
    "block",
    [
        System,
        Developer,
        User,
        Assistant,
        Event,
        Ephemeral,
        lambda: Grounding("g"),
        lambda: Section("s"),
        Fragment,
        Note,
    ],
)
def test_empty_blocks_yield_nothing(block: Callable[[], Any]) -> None:
    """A block nothing was written in, such as a loop over nothing, is no message."""
    with Timeline() as tree:
        User("q")
        with block():
            for text in ():
                Text(text)
    assert [("user", ["q"])] == said(tree)


def test_an_empty_prompt_has_no_messages() -> None:
    """A prompt nothing was written in comes to nothing."""
    with Timeline() as tree:
        pass
    assert [] == said(tree)


def test_empty_parts_leave_no_gap() -> None:
    """Between parts of which one is empty stands one blank line."""
    tree = System("a", Section("s", ""), Text(""), Fragment(None), Section("t", "b", title="T"))
    assert [("system", ["a\n\n## T\nb"])] == said(tree)


def test_an_empty_section_with_a_title_is_a_hint() -> None:
    """A title with nothing behind it is left out, and the hint has its line."""

    def write() -> Node:
        return Section("s", "", title="Rules")

    tree = Timeline(System("a", write()), User("q"))
    assert [("system", ["a"]), ("user", ["q"])] == said(tree)
    (loss,) = losses(tree)
    assert ("hint", *places(write, 1)) == (loss.kind, str(loss.source))


@pytest.mark.parametrize(
    "write",
    [
        lambda: Grounding("g", "", title="Account"),
        lambda: Ephemeral("", title="Account"),
    ],
)
def test_an_empty_request_only_turn_with_a_title_is_a_hint(write: Callable[[], Node]) -> None:
    """A request-only turn with a title and no content is left out with a hint, too."""
    tree = Timeline(write(), User("q"))
    assert [("user", ["q"])] == said(tree)
    assert [("hint", *places(write, 0))] == [(loss.kind, str(loss.source)) for loss in losses(tree)]


def test_an_empty_turn_leaves_no_id() -> None:
    """A turn that yields nothing gives its id to no neighbour it would have merged with."""
    message = render(Timeline(User("", id="empty"), User("q"))).messages[0]
    assert (None, ["user[1]"]) == (message.id, [origin.address for origin in message.sources])


@pytest.mark.parametrize(
    "write",
    [
        System,
        Developer,
        User,
        Assistant,
        Event,
        Ephemeral,
        lambda: Grounding("g"),
        lambda: Section("s"),
        Fragment,
        Note,
        lambda: Turn("user"),
        lambda: User(id="x"),
        lambda: Section("s", title="S"),
    ],
)
def test_nothing_written_at_all_is_an_error(write: Callable[[], Any]) -> None:
    """A component with no arguments and no block is an error, wherever it is used."""

    def bare() -> Node:
        return write()  # type: ignore[no-any-return]

    def in_block() -> None:
        with Timeline():
            User("q")
            bare()

    errors = [
        raised(ContentError, in_block),
        raised(ContentError, lambda: Timeline(Fragment(bare()))),
        raised(ContentError, lambda: render(bare())),
    ]
    assert [True] * 3 == ["with no content and no block" in error.what for error in errors]


def test_nothing_written_at_all_is_named_with_its_line() -> None:
    """The error of a component with no content has its line, and says both ways to give it some."""

    def write() -> None:
        with Timeline():
            User("q")
            System()

    error = raised(ContentError, write)
    assert places(write, 3) == error.at
    assert "give it content, or open it: with System(...):" == error.fix


def test_a_text_of_nothing_is_an_error_at_once() -> None:
    """A Text has no block, so that one with no arguments is refused where it is written."""

    def write() -> None:
        Text()

    assert places(write, 1) == raised(ContentError, write).at


# Keywords.

KEYWORDS: dict[str, tuple[Callable[..., Any], str, str]] = {
    "Timeline": (lambda **k: Timeline("x", **k), "transfomation", "'transformation'"),
    "System": (lambda **k: System("x", **k), "audiense", "'audience'"),
    "Developer": (lambda **k: Developer("x", **k), "metdata", "'metadata'"),
    "User": (lambda **k: User("x", **k), "nam", "'name'"),
    "Assistant": (lambda **k: Assistant("x", **k), "merg", "'merge'"),
    "ToolMessage": (lambda **k: ToolMessage("1", "x", **k), "is_eror", "'is_error'"),
    "Event": (lambda **k: Event("x", **k), "tag", "'tags'"),
    "Ephemeral": (lambda **k: Ephemeral("x", **k), "positon", "'position'"),
    "Grounding": (lambda **k: Grounding("g", "x", **k), "titel", "'title'"),
    "Section": (lambda **k: Section("s", "x", **k), "titel", "'title'"),
    "Fragment": (lambda **k: Fragment("x", **k), "id", ""),
    "Note": (lambda **k: Note("x", **k), "id", ""),
    "Text": (lambda **k: Text("x", **k), "bold", ""),
    "Value": (lambda **k: Value("x", **k), "label", ""),
    "Image.from_url": (lambda **k: Image.from_url(URL, **k), "detial", "'detail'"),
    "Image.from_path": (lambda **k: Image.from_path("x", **k), "media_typ", "'media_type'"),
    "Image.from_bytes": (lambda **k: Image.from_bytes(b"x", **k), "titel", "'title'"),
    "ToolUse": (lambda **k: ToolUse("t", {}, id="1", **k), "idd", "'id'"),
    "ToolResult": (lambda **k: ToolResult("1", "x", **k), "error_typ", "'error_type'"),
    "History": (lambda **k: History([], **k), "keep", ""),
    "History.from_openai": (lambda **k: History.from_openai([], **k), "keep", ""),
    "History.from_anthropic": (lambda **k: History.from_anthropic([], **k), "keep", ""),
    "Turn": (lambda **k: Turn("user", "x", **k), "nam", "'name'"),
    "Turn ephemeral": (lambda **k: Turn("ephemeral", "x", **k), "titel", "'title'"),
}


@pytest.mark.parametrize(("write", "name", "near"), KEYWORDS.values(), ids=KEYWORDS)
def test_an_unknown_keyword_is_an_error(write: Callable[..., Any], name: str, near: str) -> None:
    """An unknown keyword is a TypeError at the author's line with the nearest known name."""
    with pytest.raises(TypeError) as caught:
        write(**{name: 1})
    error = caught.value
    assert isinstance(error, OptionError)
    assert places(write, 0) == error.at
    assert f"takes no {name!r}" in error.what
    assert (f"did you mean {near}?" if near else "it takes none") == error.fix


@pytest.mark.parametrize("name", ["priority", "keep", "step", "weight", "ttl", "cach"])
@pytest.mark.parametrize("write", [System, User, Ephemeral, Timeline, Fragment])
def test_what_would_have_no_effect_is_unknown(write: Any, name: str) -> None:
    """An option that nothing would act on is refused, not ignored."""
    assert f"takes no {name!r}" in raised(OptionError, lambda: write("x", **{name: 1})).what


@pytest.mark.parametrize("write", [Ephemeral, lambda *c, **k: Grounding("g", *c, **k)])
def test_request_only_turns_have_no_cache(write: Any) -> None:
    """What is sent once cannot be marked for a cache."""
    assert "takes no 'cache'" in raised(OptionError, lambda: write("x", cache=True)).what


@pytest.mark.parametrize("write", [Section, Grounding])
def test_an_id_is_given_first(write: Any) -> None:
    """What has its id as the first argument does not take it as a keyword, nor suggest it."""
    error = raised(OptionError, lambda: write("a", "x", id="b"))
    assert "takes no 'id'" in error.what
    assert "'id'" not in error.fix


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        ({"name": 3}, "User(name=3)", "write a string"),
        ({"metadata": [1]}, "User(metadata=[1])", "write a mapping"),
        ({"tags": "ab"}, "User(tags='ab')", 'write a tuple of strings: tags=("a", "b")'),
        ({"tags": [1]}, "User(tags=[1])", 'write a tuple of strings: tags=("a", "b")'),
        ({"audience": "us"}, "User(audience='us')", "one of 'all', 'model', 'people'"),
        ({"cache": "1h"}, "User(cache='1h')", "write True or False"),
        ({"cache": 1}, "User(cache=1)", "write True or False"),
        ({"merge": None}, "User(merge=None)", "write True or False"),
    ],
)
def test_a_value_an_option_cannot_take_is_an_error(
    options: dict[str, Any], what: str, fix: str
) -> None:
    """A wrong value of an option is an error at its line that shows it and says what to write."""

    def write() -> None:
        User("x", **options)

    error = raised(OptionError, write)
    assert places(write, 1) == error.at
    assert (what, fix) == (error.what, error.fix)


@pytest.mark.parametrize("tags", [("a", "b"), ["a", "b"]])
def test_tags_are_a_tuple(tags: Any) -> None:
    """Tags are kept as a tuple, however they were given."""
    assert ("a", "b") == User("x", tags=tags).options.tags


def test_options_that_say_nothing_say_nothing() -> None:
    """``None`` for an id, a name or metadata is as if it had not been given."""
    assert User("x") == User("x", id=None, name=None, metadata=None)
