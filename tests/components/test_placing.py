"""Where what is written late may be: as if it had been written there."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from promptdsl import *
from tests.errors import lines_of, raised
from tests.renders import said

PICTURE = "https://example.org/a.png"

# What holds others, and what may stand in it: written, and returned by a lazy.
CONTAINERS: dict[str, Callable[[Any], Node]] = {
    "Timeline": Timeline,
    "System": System,
    "Developer": Developer,
    "User": User,
    "Assistant": Assistant,
    "Event": Event,
    "Ephemeral": Ephemeral,
    "Grounding": lambda part: Grounding("g", part),
    "ToolMessage": lambda part: ToolMessage("1", part),
    "tool turn": lambda part: Turn("tool", part),
    "ToolResult": lambda part: User(ToolResult("1", part)),
    "Section of a System": lambda part: System(Section("s", part)),
    "Section of a User": lambda part: User(Section("s", part)),
    "Section of an Ephemeral": lambda part: Ephemeral(Section("s", part)),
    "loose Section": lambda part: Timeline(Section("s", Section("t", part))),
    "Note": lambda part: Timeline(Note(part)),
    "Note of a User": lambda part: User(Note(part)),
    "List": lambda part: System(List(part)),
    "Checklist": lambda part: System(Checklist(part)),
    "Item": lambda part: System(List(Item(part))),
    "Quote": lambda part: System(Quote(part)),
    "Example": lambda part: System(Example(part, "x")),
    "Fragment of a System": lambda part: System(Fragment(part)),
    "Group of a User": lambda part: User(Group(part)),
    "Group of turns": lambda part: Timeline(Group(User("a"), part)),
    "FirstFit of a User": lambda part: User(FirstFit(part)),
    "Limit of a System": lambda part: System(Limit(5, part)),
    "Limit of a User": lambda part: User(Limit(5, Fragment("a", part))),
    "Quote of a Limit": lambda part: User(Limit(5, Quote(part))),
    "Format of an Event": lambda part: Event(Format("xml", part)),
    "Quote of a User": lambda part: User(Quote(part)),
}
PARTS: dict[str, Callable[[], Node]] = {
    "Text": lambda: Text("x"),
    "List": lambda: List("x"),
    "Item": lambda: Item("x"),
    "Section": lambda: Section("p", "x"),
    "cached Section": lambda: Section("p", "x", cache=True),
    "Section of a picture": lambda: Section("p", Image.from_url(PICTURE)),
    "Image": lambda: Image.from_url(PICTURE),
    "ToolUse": lambda: ToolUse("t", {}, id="2"),
    "ToolResult": lambda: ToolResult("1", "x"),
    "ToolResult of a picture": lambda: ToolResult("1", Image.from_url(PICTURE)),
    "UserAction": lambda: UserAction("x"),
    "User": lambda: User("x"),
    "User of a picture": lambda: User("x", Image.from_url(PICTURE)),
    "Ephemeral": lambda: Ephemeral("x"),
    "History": lambda: History([Message("user", "x")]),
    "Fragment of a Section": lambda: Fragment(Section("p", "x")),
    "Fragment of a User": lambda: Fragment(User("x")),
    "Note": lambda: Note("x"),
    "Group": lambda: Group("x"),
    "Group of a User": lambda: Group(User("x")),
    "FirstFit": lambda: FirstFit("x", "y"),
    "FirstFit of a User": lambda: Fragment(FirstFit(User("x"), User("y"))),
    "Limit": lambda: Limit(5, "x"),
    "Reserve": lambda: Reserve(5),
}


def refused(write: Callable[[], object]) -> bool:
    """Return whether a part may not be somewhere."""
    try:
        write()
    except PlacementError:
        return True
    return False


def refused_when_returned(holder: Callable[[Any], Node], part: Callable[[], Node]) -> bool:
    """Return whether a part may not be where the lazy is that returns it."""
    tree = holder(Lazy(lambda _: part()))
    options: dict[str, Any] = {"audience": "people", "transformation": {"tool_pairing": "prune"}}
    return refused(lambda: render(tree, **options))


@pytest.mark.parametrize("holder", CONTAINERS.values(), ids=CONTAINERS)
def test_what_may_be_written_may_be_returned(holder: Callable[[Any], Node]) -> None:
    """A lazy may return what may be written in its place, and nothing else."""
    written = [name for name in PARTS if refused(lambda: holder(PARTS[name]()))]  # noqa: B023
    assert written == [name for name in PARTS if refused_when_returned(holder, PARTS[name])]


@pytest.mark.parametrize(
    ("holder", "part", "what", "fix"),
    [
        (
            lambda part: System("a", part),
            lambda: Image.from_url(PICTURE),
            "this Lazy returned an Image, which cannot be in a System",
            "system content is text only: put it in a User turn",
        ),
        (
            lambda part: User("a", part),
            lambda: Assistant("x"),
            "this Lazy returned an Assistant, which cannot be in a User",
            "a turn cannot be in a turn: write it next to the turn, directly in the Timeline",
        ),
        (
            lambda part: Timeline(User("a"), part),
            lambda: Text("x"),
            "this Lazy returned a Text, which cannot be in a Timeline",
            "put it in a System for instructions, or in a User",
        ),
        (
            lambda part: Ephemeral("a", part),
            lambda: Section("s", "x", cache=True),
            "this Lazy returned a Section, which cannot be in an Ephemeral",
            "its content is sent only once, so it cannot be cached: leave cache=True out",
        ),
        (
            lambda part: System(List("a", part)),
            lambda: Section("s", "x"),
            "this Lazy returned a Section, which cannot be in a List",
            "write the Section around the List, or next to it",
        ),
        (
            lambda part: System("a", Limit(5, part)),
            lambda: Section("s", "x"),
            "this Lazy returned a Section, which cannot be in a Limit",
            "write the Limit in the Section, around its text",
        ),
        (
            lambda part: System("a", Limit(5, Quote(part))),
            lambda: Fragment(Group("x")),
            "this Lazy returned a Group, which cannot be in a Limit",
            "a Limit holds text only: write the Group around it, or next to it",
        ),
        (
            lambda part: User(Fragment(Group(part))),
            lambda: Fragment(Fragment(System("x"))),
            "this Lazy returned a System, which cannot be in a User",
            "a turn cannot be in a turn: write it next to the turn, directly in the Timeline",
        ),
        (
            lambda part: System(Section("s", Section("t", part))),
            lambda: Section("u", Image.from_url(PICTURE)),
            "this Lazy returned an Image, which cannot be in a System",
            "system content is text only: put it in a User turn",
        ),
    ],
)
def test_the_error_names_all_lines(
    holder: Callable[[Any], Node], part: Callable[[], Node], what: str, fix: str
) -> None:
    """The error says what was returned, with the lines of the lazy, the part and the holder."""

    def write() -> Lazy:
        return Lazy(lambda _: part())

    error = raised(PlacementError, lambda: render(holder(write())))
    assert (what, fix) == (error.what, error.fix)
    assert (*lines_of(write, 1), *lines_of(part, 0), *lines_of(holder, 0)) == error.at


@pytest.mark.parametrize("loose", [lambda part: part, lambda part: Section("s", part)])
def test_pictures_in_loose_sections(loose: Callable[[Any], Node]) -> None:
    """A picture in a section outside of a turn is an error with the line of the lazy first."""

    def write() -> Node:
        return loose(Lazy(lambda _: Section("p", Image.from_url(PICTURE))))

    error = raised(PlacementError, lambda: render(Timeline(write())))
    assert "an Image cannot be in a Section outside of a turn: it is system content" == error.what
    assert lines_of(write, 1)[0] == error.at[0]


def test_a_prompt_in_a_prompt() -> None:
    """A Timeline cannot be returned: the error says what to return instead."""
    error = raised(PlacementError, lambda: render(Timeline(Lazy(lambda _: Timeline(User("x"))))))
    assert ("return its turns in a Fragment", True) == (
        error.fix,
        error.what.startswith("this Lazy returned a Timeline"),
    )


def test_awaited_parts_are_checked() -> None:
    """What an asynchronous lazy returns is checked in the same way."""

    async def later(_: LazyContext) -> Node:
        await asyncio.sleep(0)
        return User("x")

    tree = User(Lazy(later))
    with pytest.raises(PlacementError, match="this Lazy returned a User"):
        asyncio.run(arender(tree))


def test_ids_are_unique_after_filling() -> None:
    """A section that a lazy returned is a sibling of what is written next to it."""

    def write() -> None:
        render(System(Section("a", "x"), Fragment(Lazy(lambda _: Section("a", "y")))))

    error = raised(PlacementError, write)
    assert ("the id 'a' is used twice in one System", lines_of(write, 1, 1)) == (
        error.what,
        error.at,
    )


@pytest.mark.parametrize(
    "tree",
    [
        Timeline(User("x", id="a"), Lazy(lambda _: User("y", id="a"))),
        Timeline(Section("a", "x"), Lazy(lambda _: Fragment(Section("a", "y")))),
        Timeline(Section("a", "x"), System(Lazy(lambda _: Section("a", "y")))),
        User(Lazy(lambda _: Section("a", "x")), Lazy(lambda _: Section("a", "y"))),
        User(Lazy(lambda _: Lazy(lambda _: Section("a", "x"))), Section("a", "y")),
    ],
)
def test_ids_that_are_not_unique_after_filling(tree: Node) -> None:
    """Ids are checked among turns, sections and all system content, however often filled."""
    with pytest.raises(PlacementError, match="the id 'a' is used twice"):
        render(tree)


def test_the_same_id_in_different_places() -> None:
    """Lazies may return sections of one id where those are no siblings."""
    with detached():
        part = Section("a", Lazy(lambda _: "x"))
    assert [("user", ["x"]), ("assistant", ["x"])] == said(Timeline(User(part), Assistant(part)))
