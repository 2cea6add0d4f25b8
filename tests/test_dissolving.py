"""Dissolving: what only holds others goes, what it said of them stays."""

import pickle
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import pytest

from promptdsl import *
from tests.internals import dissolved, dissolved_in_turn
from tests.lines_run import times_more
from tests.renders import said

pytestmark = pytest.mark.usefixtures("shallow_stack")


@component
def holding(*parts: Any) -> Node:
    """Return parts as they are."""
    return Fragment(*parts)


@component
def outer(*parts: Any) -> None:
    """Write parts inside another component."""
    holding(*parts)


def test_what_holds_others_goes() -> None:
    """Turns stand where their fragments, groups and components stood, in order."""
    a, b, c, d = User("a"), Assistant("b"), User("c"), Section("s", "d")
    content = Timeline(Fragment(a, Group(b)), Fragment(Group(Fragment(c), d))).content
    assert [True] * 4 == [x is y for x, y in zip(dissolved(content), (a, b, c, d), strict=True)]


def test_components_are_remembered() -> None:
    """A turn or section that stood in components names them, the outermost first."""
    content = Timeline(outer(User("a"), Section("s", "b")), holding(User("c")), User("d")).content
    assert [("outer", "holding"), ("outer", "holding"), ("holding",), ()] == [
        child.options.within for child in dissolved(content)
    ]


def test_what_is_remembered_is_not_what_it_says() -> None:
    """A component around a turn changes nothing of the messages but their origin."""
    [bare] = render(Timeline(User("a"))).messages
    [message] = render(Timeline(outer(User("a")))).messages
    assert (bare, ("outer", "holding")) == (message, message.sources[0].components)


def test_a_format_is_remembered() -> None:
    """A section that stood in a format stands in it still, a turn holds it, messages neither."""
    recorded = History([Message("user", "r")])
    content = Timeline(Format("xml", Section("s", "x"), User("a", "b"), recorded)).content
    section, user, history = dissolved(content)
    assert (Format("xml", Section("s", "x")), User(Format("xml", "a", "b")), True) == (
        section,
        user,
        (history,) == recorded.content,
    )


def test_formats_and_components_around_each_other() -> None:
    """The innermost format holds; components inside and outside of it are all remembered."""
    tree = Timeline(outer(Format("xml", holding(Format("markdown", User("a"))))))
    [user] = dissolved(tree.content)
    assert (("outer", "holding", "holding"), (Format("markdown", "a"),)) == (
        user.options.within,
        user.content,
    )


def test_nothing_to_dissolve_in_a_turn() -> None:
    """The parts of a turn without fragments are the same objects."""
    turn = User("a", Section("s", "b"))
    assert [True, True] == [
        x is y for x, y in zip(dissolved_in_turn(turn), turn.content, strict=True)
    ]


def test_components_and_formats_in_a_turn_stay() -> None:
    """In a turn fragments, groups and notes dissolve; components and formats stand in it."""
    turn = User(Fragment("a", Group("b")), holding("c"), Format("xml", "d"), Note("e"))
    assert ("a", "b", holding("c"), Format("xml", "d"), "e") == dissolved_in_turn(turn)


# Events.

EVENTS = (UserAction("a", target="t"), StateChange("k", old=1, new=2), SystemEvent("s"), "text")


@pytest.mark.parametrize("around", [Fragment, Group, holding, outer])
def test_event_blocks_in_others(around: Callable[..., Node]) -> None:
    """Event blocks stand in fragments, groups and components as if written directly."""
    assert said(Event(*EVENTS)) == said(Event(around(*EVENTS)))


@pytest.mark.parametrize("around", [Fragment, Group, holding, lambda *x: Format("xml", *x)])
def test_event_blocks_in_a_format(around: Callable[..., Node]) -> None:
    """A format in an event holds for its text; its blocks have their own."""
    [(_, [blocks])] = said(Event(*EVENTS[:3]))
    [(_, [text])] = said(Event(Format("xml", around(*EVENTS[:3], List("x")))))
    assert blocks + "\n\n<event>\n<list>\n<item>x</item>\n</list>\n</event>" == text


# Tools.


@pytest.mark.parametrize(
    "around", [Fragment, Group, holding, outer, lambda *x: Format("markdown", *x)]
)
def test_calls_and_results_in_others(around: Callable[..., Node]) -> None:
    """Calls and results are paired wherever in their turns they stand."""

    def exchange(wrap: Callable[..., Node]) -> Node:
        with Timeline() as tree:
            User("q")
            with Assistant("a"):
                include(wrap(ToolUse("t", {}, id="1"), ToolUse("t", {}, id="2")))
            Turn("tool", wrap(ToolResult("1", "r")))
            User(wrap(ToolResult("2", "s"), "and"))
        return tree

    assert render(exchange(Fragment)).messages == render(exchange(around)).messages


# Deep.


AROUND: dict[str, Callable[[Any], Node]] = {
    "Group": Group,
    "Format": lambda part: Format("xml", part),
    "component": holding,
    "Fragment": Fragment,
}
slow = pytest.mark.slow
every_kind = pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
every_depth = pytest.mark.parametrize("depth", [2_000, pytest.param(10_000, marks=slow)])


def nested(around: Callable[[Any], Node], part: Node, depth: int) -> Node:
    """Return a part inside of very many others."""
    for _ in range(depth):
        part = around(part)
    return part


@every_depth
@every_kind
@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (lambda: Section("s", "x"), "x"),
        (lambda: User("x"), "x"),
        (lambda: Event(UserAction("x")), '<event type="user_action">\nUser x\n</event>'),
    ],
)
def test_deep_around_turns(
    around: Callable[[Any], Node], part: Callable[[], Node], expected: str, depth: int
) -> None:
    """Very many of a kind around a turn or section leave it what it is."""
    [(_, [text])] = said(Timeline(nested(around, part(), depth)))
    assert expected == text.removeprefix("<s>\n").removesuffix("\n</s>")


@every_depth
@every_kind
@pytest.mark.parametrize(
    ("turn", "part", "expected"),
    [
        (System, lambda: Text("x"), "x"),
        (User, lambda: Text("x"), "x"),
        (Event, lambda: UserAction("x"), '<event type="user_action">\nUser x\n</event>'),
    ],
)
def test_deep_inside_a_turn(
    around: Callable[[Any], Node],
    turn: Callable[[Node], Node],
    part: Callable[[], Node],
    *,
    expected: str,
    depth: int,
) -> None:
    """Very many of a kind inside a turn render, and it has an outline."""
    rendered = render(turn(nested(around, part(), depth)))
    assert [expected] == [message.text for message in rendered.messages]
    assert rendered.outline()


@every_depth
@every_kind
def test_deep_ones_are_compared_printed_and_saved(
    around: Callable[[Any], Node], depth: int
) -> None:
    """Very many of a kind are equal to as many, to their copy, and print."""
    part = nested(around, Text("x"), depth)
    assert part == nested(around, Text("x"), depth) == pickle.loads(pickle.dumps(part))
    assert part != nested(around, Text("y"), depth)
    assert repr(part).count("(") == depth + 1 + depth * (around is holding)


def rendering(around: Callable[[Any], Node], depth: int) -> Callable[[], object]:
    """Return what renders very many of a kind."""
    tree = Timeline(System(nested(around, Text("x"), depth)))
    return lambda: render(tree)


@every_kind
def test_deep_ones_are_linear_work(around: Callable[[Any], Node]) -> None:
    """Eight times as deep is eight times the work at most."""
    assert times_more(8, 100, partial(rendering, around)) < 8.4


@slow
@every_kind
def test_deep_ones_take_linear_time(around: Callable[[Any], Node]) -> None:
    """Eight times as deep takes about eight times as long, not sixty-four times."""

    def seconds(depth: int) -> float:
        work = rendering(around, depth)
        start = process_time()
        work()
        return process_time() - start

    times = [[seconds(500), seconds(4_000)] for _ in range(5)]
    assert min(many for _, many in times) < 24 * min(less for less, _ in times)
