"""What may be where, and what a component with nothing in it comes to."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from promptdsl import *
from tests.components.holders import CONTAINERS, every_holder
from tests.errors import lines_of, raised
from tests.renders import reported, said

URL = "https://example.com/x.png"

# Placement.


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


def refused(write: Callable[[], object]) -> bool:
    """Return whether a placement is refused."""
    with suppress(PlacementError):
        write()
        return False
    return True


Parts = dict[str, Callable[[], Any]]


def taken(write: Callable[[Callable[[], Any]], object], parts: Parts = ENTRIES) -> set[str]:
    """Return the names of the parts with which something may be written."""
    return {name for name, part in parts.items() if not refused(lambda: write(part))}  # noqa: B023


@every_holder
def test_placement_as_an_argument(holder: str) -> None:
    """Each component takes as an argument what the table of placement allows, and nothing else."""
    assert {*MAY_HOLD[holder]} == taken(lambda part: CONTAINERS[holder](part()))


@every_holder
def test_placement_in_a_block(holder: str) -> None:
    """What may be in a block is what may be an argument, but a string, which is not written."""

    def write(part: Callable[[], Any]) -> None:
        made = part()
        with CONTAINERS[holder]():
            include(made)

    included = {name: part for name, part in ENTRIES.items() if name != "str"}
    assert {*MAY_HOLD[holder]} - {"str"} == taken(write, included)


@every_holder
def test_fragments_hide_nothing(holder: str) -> None:
    """What may not be in a block may not be there in a fragment in a fragment either."""
    assert {*MAY_HOLD[holder]} == taken(lambda part: CONTAINERS[holder](Fragment(Fragment(part()))))


@pytest.mark.parametrize("entry", TURNS)
@pytest.mark.parametrize(
    "holder", [name for name in CONTAINERS if name not in ("Timeline", "Fragment")]
)
def test_a_turn_never_stands_inside_a_turn(holder: str, entry: str) -> None:
    """A turn in a turn or in a part of one is refused at once, before its block closes."""

    def write() -> None:
        with CONTAINERS[holder]():
            TURNS[entry]()
            raise AssertionError("it was not refused at once")

    assert "cannot be in a" in raised(PlacementError, write).what


def test_placement_errors_of_blocks_have_both_lines() -> None:
    """What is refused when it is written has the lines of both, its own first."""

    def write() -> None:
        with Timeline(), System("x"):
            Text("y")
            User("z")

    error = raised(PlacementError, write)
    assert lines_of(write, 3, 1) == error.at
    assert "a User cannot be in a System" == error.what
    assert (
        "a turn cannot be in a turn: write it next to the turn, directly in the Timeline"
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
    assert lines_of(write, 3, 1) == error.at
    assert "a ToolUse cannot be in a User" == error.what
    assert "only an Assistant turn holds a ToolUse: Assistant(ToolUse(...))" == error.fix


def test_placement_errors_have_the_right_article() -> None:
    """What is refused and what refuses it are named as one says it."""
    error = raised(PlacementError, lambda: Assistant(Event("x")))
    assert "an Event cannot be in an Assistant" == error.what


def test_placement_errors_of_calls_have_both_lines() -> None:
    """What is refused as an argument has the line it was written in and that of the call."""

    def write() -> None:
        User(
            "x",
            UserAction("y"),
        )

    error = raised(PlacementError, write)
    assert lines_of(write, 3, 1) == error.at
    assert ("a UserAction cannot be in a User", "only an Event holds a UserAction") == (
        error.what,
        error.fix,
    )


def test_placement_errors_of_parts_have_both_lines() -> None:
    """A part that was written elsewhere has the line of the block, then its own."""

    def write() -> None:
        inner = Fragment(ToolResult("1", "x"))
        part = Fragment("y", inner)
        with Timeline(), Assistant():
            include(part)

    error = raised(PlacementError, write)
    assert lines_of(write, 3, 1) == error.at
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
    assert lines_of(write, 4, 1) == error.at
    assert "system content is text only: put it in a User turn" == error.fix


@pytest.mark.parametrize(
    ("write", "fix"),
    [
        (lambda: Timeline(Text("x")), "put it in a System for instructions, or in a User"),
        (lambda: Timeline("x"), "put it in a System for instructions, or in a User"),
        (lambda: Timeline(Value("x")), "put it in a System for instructions, or in a User"),
        (
            lambda: Timeline(Image.from_url(URL)),
            "put it in a User",
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
            "a turn cannot be in a Section: write it directly in the Timeline",
        ),
        (lambda: Section("s", ToolUse("t", {}, id="1")), "put the ToolUse directly in its turn"),
        (lambda: Note(UserAction("x")), "a Note holds text and parts"),
        (
            lambda: Turn("tool", "x"),
            "a tool turn holds tool results only: ToolResult(tool_use_id, ...)",
        ),
        (lambda: ToolResult("1", ToolResult("2", "x")), "a tool result holds text and media only"),
        (
            lambda: Ephemeral(Section("s", "x", cache=True)),
            "its content is sent only once, so it cannot be cached: leave cache=True out",
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

    assert lines_of(write, 3, 1) == raised(PlacementError, write).at


def test_loose_strings_are_quoted() -> None:
    """A string that may not be somewhere has no line of its own, so the error quotes it."""

    def write() -> None:
        Timeline("Hello, I am loose.")

    error = raised(PlacementError, write)
    assert lines_of(write, 1) == error.at
    assert "loose text cannot be in a Timeline: 'Hello, I am loose.'" == error.what


def test_a_cache_mark_deep_in_request_only_content_is_refused() -> None:
    """A cache mark in request-only content is an error at any depth, named with its line."""

    def write() -> None:
        with Grounding("g"), Section("a"):
            Fragment(
                Section("b", "x", cache=True),
            )

    assert lines_of(write, 3, 1) == raised(PlacementError, write).at


# Ids.


def test_sections_cannot_share_an_id() -> None:
    """Two siblings with one id are an error with both lines, the second first."""

    def write() -> None:
        with System():
            Section("a", "x")
            Section("b", "y")
            Section("a", "z")

    error = raised(PlacementError, write)
    assert lines_of(write, 4, 2) == error.at
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
        lambda: Timeline(Ephemeral("x", id="a"), Ephemeral("y", id="a")),
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
    first, last = (lines_of(write, 0)[0] for write in (content[0], content[-1]))
    assert (last, first) == error.at


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
    assert () == reported(render(tree))


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


def test_empty_parts_leave_no_gap() -> None:
    """Between parts of which one is empty is one blank line."""
    tree = System("a", Section("s", ""), Text(""), Fragment(None), Section("t", "b", title="T"))
    assert [("system", ["a\n\n## T\nb"])] == said(tree)


def test_an_empty_section_with_a_title_is_a_hint() -> None:
    """A title with nothing behind it is left out, and the hint has its line."""

    def write() -> Node:
        return Section("s", "", title="Rules")

    tree = Timeline(System("a", write()), User("q"))
    assert [("system", ["a"]), ("user", ["q"])] == said(tree)
    (hint,) = render(tree).hints
    assert ("hint", *lines_of(write, 1)) == (hint.kind, str(hint.source))


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
    assert [("hint", *lines_of(write, 0))] == [
        (hint.kind, str(hint.source)) for hint in render(tree).hints
    ]


def test_an_empty_turn_leaves_no_id() -> None:
    """A turn that yields nothing gives its id to no neighbour it would have merged with."""
    message = render(Timeline(User("", id="empty"), User("q"))).messages[0]
    assert (None, ["user[0]"]) == (message.id, [origin.address for origin in message.sources])


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
    assert lines_of(write, 3) == error.at
    assert "give it content, or open it: with System(...):" == error.fix


def test_a_text_of_nothing_is_an_error_at_once() -> None:
    """A Text has no block, so that one with no arguments is refused where it is written."""

    def write() -> None:
        Text()

    assert lines_of(write, 1) == raised(ContentError, write).at
