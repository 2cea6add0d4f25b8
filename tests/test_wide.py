"""Trees with very many siblings of every kind: all that is done with them takes linear time."""

import copy
import gc
import pickle
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import chain
from time import process_time
from typing import Any

import pytest

from promptdsl import *
from tests.lines_run import times_more
from tests.renders import said

GENEROUS = 4
"""How much more than ten times as long ten times as much may take: what is quadratic takes ten."""

slow = pytest.mark.slow


def in_blocks(count: int) -> Timeline:
    """Return turns that are written as blocks."""
    with Timeline() as tree:
        for number in range(count):
            with User() if number % 2 else Assistant():
                Text("x")
    return tree


def recorded(count: int) -> list[dict[str, Any]]:
    """Return a conversation in dictionary form."""
    return [{"role": "assistant" if n % 2 else "user", "content": "x"} for n in range(count)]


def calls(count: int) -> Timeline:
    """Return calls of tools, each with its answer."""
    pairs = (
        (Assistant(ToolUse("t", {}, id=f"c{n}")), ToolMessage(f"c{n}", "y")) for n in range(count)
    )
    return Timeline(User("q"), *chain.from_iterable(pairs))


def section(number: int) -> Section:
    """Return one of many sections, with an option: without any, the first ids are cached."""
    return Section(f"s{number}", "x", title="T", cache=False)


def replaced_sections(count: int) -> Node:
    """Return sections, each in the place of another one."""
    with override({f"s{number}": Section(f"s{number}", "y") for number in range(count)}):
        return System(*map(section, range(count)))


TREES: dict[str, Callable[[int], Node]] = {
    "turns": lambda n: Timeline(*[Assistant("y") if i % 2 else User("x") for i in range(n)]),
    "turns in blocks": in_blocks,
    "turns of one role": lambda n: Timeline(*[User("x") for _ in range(n)]),
    "named turns": lambda n: Timeline(*[User("x", id=f"u{i}") for i in range(n)]),
    "groundings of one id": lambda n: Timeline(*[Grounding("d/1", "x")] * n, User("q")),
    "system turns": lambda n: Timeline(*[System("x") for _ in range(n)], User("q")),
    "sections in a turn": lambda n: System(*map(section, range(n))),
    "replaced sections": replaced_sections,
    "sections outside of turns": lambda n: Timeline(*map(section, range(n))),
    "texts in a turn": lambda n: User(*[Text("x") for _ in range(n)]),
    "values in a turn": lambda n: System(*["x", Value("<y>")] * n),
    "fragments": lambda n: User(*[Fragment(Fragment(Text("x"))) for _ in range(n)]),
    "fragments of turns": lambda n: Timeline(*[Fragment(Fragment(User("x"))) for _ in range(n)]),
    "notes": lambda n: Timeline(*[Note("x") for _ in range(n)], User("q")),
    "events": lambda n: Timeline(*[Event("x") for _ in range(n)], User("q")),
    "event blocks": lambda n: Timeline(Event(*[UserAction("x") for _ in range(n)])),
    "request-only turns": lambda n: Timeline(User("q"), *[Ephemeral("x") for _ in range(n)]),
    "calls of tools": calls,
    "calls in one turn": lambda n: Timeline(
        Assistant(*[ToolUse("t", {}, id=f"c{i}") for i in range(n)]),
        *[ToolMessage(f"c{i}", "y") for i in range(n)],
        User("q"),
    ),
    "recorded messages": lambda n: History(recorded(n)),
    "messages recorded in another form": lambda n: History.from_openai(recorded(n)),
    "recordings": lambda n: Timeline(*[History(recorded(2)) for _ in range(n)]),
}

every_tree = pytest.mark.parametrize("write", TREES.values(), ids=TREES)


def seconds(work: Callable[[], object]) -> float:
    """Return the least processor time a function took of a few times, in seconds.

    The collector rests: what it costs depends on all that was written before.
    """
    gc.disable()
    try:
        return min(_seconds(work) for _ in range(2))
    finally:
        gc.enable()


def _seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def growth(few: int, work: Callable[[int], Callable[[], object]]) -> float:
    """Return how many times longer it takes to do something with ten times as much."""
    return seconds(work(10 * few)) / seconds(work(few))


def writing(write: Callable[[int], Node]) -> Callable[[int], Callable[[], object]]:
    """Return what writes a tree of some size."""
    return lambda count: lambda: write(count)


def rendering(write: Callable[[int], Node], provider: str) -> Callable[[int], Callable[[], object]]:
    """Return what renders a tree of some size and makes its payload."""

    def work(count: int) -> Callable[[], object]:
        tree = write(count)
        return lambda: render(tree, provider=provider).payload()

    return work


@every_tree
def test_siblings_are_linear_work(write: Callable[[int], Node]) -> None:
    """Ten times as many siblings are about ten times the work to write and render, of any kind."""
    assert times_more(10, 40, writing(write)) < 10.5
    assert times_more(10, 40, rendering(write, "openai")) < 13
    assert times_more(10, 100, rendering(write, "anthropic")) < 13


@slow
@every_tree
def test_siblings_take_linear_time(write: Callable[[int], Node]) -> None:
    """Ten times as many siblings take about ten times as long, of every kind."""
    assert growth(800, writing(write)) < 10 * GENEROUS
    assert growth(800, rendering(write, "openai")) < 10 * GENEROUS
    assert growth(800, rendering(write, "anthropic")) < 10 * GENEROUS


USES: dict[str, Callable[[Node], object]] = {
    "repr": repr,
    "hash": hash,
    "save": pickle.dumps,
    "save and load": lambda tree: pickle.loads(pickle.dumps(tree)),
    "compare": lambda tree: tree == TREES["sections in a turn"](len(tree.content)),
    "outline": lambda tree: render(tree).outline(),
    "render as XML": lambda tree: render(tree, transformation={"format": "xml"}),
    "render for people": lambda tree: render(tree, audience="people"),
    "render again for a target": lambda tree: render(tree).for_target("openai"),
    "use elsewhere": lambda tree: Timeline(User(*tree.content)),
}


every_use = pytest.mark.parametrize("use", USES.values(), ids=USES)


def using(use: Callable[[Node], object]) -> Callable[[int], Callable[[], object]]:
    """Return what does something with a tree of some size."""

    def work(count: int) -> Callable[[], object]:
        tree = TREES["sections in a turn"](count)
        return lambda: use(tree)

    return work


@every_use
def test_using_is_linear_work(use: Callable[[Node], object]) -> None:
    """What else is done with a tree is about ten times the work with ten times as much."""
    assert times_more(10, 100, using(use)) < 10.5


@slow
@every_use
def test_using_takes_linear_time(use: Callable[[Node], object]) -> None:
    """What else is done with a tree takes about ten times as long with ten times as much."""
    assert growth(800, using(use)) < 10 * GENEROUS


# Very many.


@pytest.fixture(scope="module", params=[20_000, pytest.param(300_000, marks=slow)])
def many(request: pytest.FixtureRequest) -> int:
    """Return how many siblings there are: more, where there is time."""
    count: int = request.param
    return count


@pytest.fixture(scope="module")
def turns(many: int) -> Node:
    """Return a prompt of very many turns."""
    return TREES["turns"](many)


def test_very_many_turns_are_messages(turns: Node, many: int) -> None:
    """Every turn is a message, and an entry of the payload."""
    rendered = render(turns)
    assert (many, many) == (len(rendered.messages), len(rendered.to_openai()["messages"]))


def test_very_many_turns_are_compared_and_copied(turns: Node, many: int) -> None:
    """Equal prompts of very many turns are equal; a frozen one is its own copy."""
    assert turns == TREES["turns"](many)
    assert turns is copy.copy(turns)
    assert turns is copy.deepcopy(turns)


def test_very_many_recorded_messages_are_messages(many: int) -> None:
    """Every message of a recording in dictionary form is one of the prompt."""
    assert many == len(render(History(recorded(many))).messages)


def test_very_many_included_parts_are_one_turn(many: int) -> None:
    """Texts in fragments, very many of one part, render one after the other."""
    part = Fragment(Text("x"))
    assert [("user", ["x"] * many)] == said(User(*[part] * many))


# Deep.


@pytest.mark.parametrize("depth", [1_200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_detached_nests_deep(depth: int) -> None:
    """``detached()`` in ``detached()`` ends where it began, however deep."""
    with System() as block:
        with ExitStack() as places:
            for _ in range(depth):
                places.enter_context(detached())
        Text("x")
    assert System(Text("x")) == block


@pytest.mark.parametrize("depth", [1_200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_deep_blocks_closed_out_of_order_leave_nothing(depth: int) -> None:
    """Closing the outermost of very many open blocks ends all of them."""
    with Timeline() as tree:
        outer = System("x")
        outer.__enter__()
        for number in range(depth):
            Section(f"s{number}").__enter__()
        with suppress(ScopeError):
            outer.__exit__(None, None, None)
        User("q")
    assert Timeline(User("q")) == tree


@pytest.mark.parametrize("depth", [1_200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_deep_trees_have_an_outline(depth: int) -> None:
    """Every section of a deep prompt is a line."""
    part = Section("s", "x")
    for _ in range(depth):
        part = Section("s", part)
    assert render(System(part)).outline().count("\n") >= depth
