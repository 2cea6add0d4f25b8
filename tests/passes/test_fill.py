"""Fill: what functions write when rendered stands where they were written."""

from collections.abc import Sequence
from typing import Any

import pytest

from promptdsl import *
from tests.errors import raised
from tests.internals import PendingLazy, fill, label
from tests.renders import did_nothing

LAZY = Lazy(str)


def asked(root: Node, *answers: Sequence[Node | None]) -> tuple[Node, list[list[PendingLazy]]]:
    """Return a filled tree, and what was asked for round by round."""
    rounds: list[list[PendingLazy]] = []

    def ask(lazies: Sequence[PendingLazy]) -> Sequence[Node | None]:
        rounds.append(list(lazies))
        return answers[len(rounds) - 1]

    return fill(root, ask=ask), rounds


def test_nothing_to_fill() -> None:
    """A tree without lazies is the same object afterwards, and nothing is asked."""
    tree = Timeline(System("a", Fragment("b")), User(""), Note("n"))
    filled, rounds = asked(tree)
    assert (True, []) == (filled is tree, rounds)
    assert did_nothing("fill", tree)


def test_answers_stand_in_place() -> None:
    """Each answer stands where its lazy stood; where there is none, nothing does."""
    tree = Timeline(System("a", LAZY, Section("s", LAZY)), LAZY, User(LAZY, "q"))
    filled, rounds = asked(tree, [Text("1"), Text("2"), Assistant("3"), None])
    assert Timeline(System("a", Text("1"), Section("s", Text("2"))), Assistant("3"), User("q")) == (
        filled
    )
    assert [4] == [len(waiting) for waiting in rounds]


def test_what_was_not_filled_is_the_same_object() -> None:
    """Only what holds a lazy is made anew."""
    kept = System("a", Section("s", "x"))
    tree = Timeline(kept, User(LAZY))
    filled, _ = asked(tree, [Text("1")])
    assert (True, False) == (filled.content[0] is kept, filled.content[1] is tree.content[1])


def test_answers_that_hold_lazies() -> None:
    """Lazies in an answer are asked for in the next round, beside each other."""
    tree = User(LAZY, LAZY)
    first = [Fragment("a", LAZY), LAZY]
    filled, rounds = asked(tree, first, [Text("b"), Text("c")])
    assert (User(Fragment("a", Text("b")), Text("c")), [2, 2]) == (
        filled,
        [len(waiting) for waiting in rounds],
    )


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (Timeline(LAZY), ["Timeline"]),
        (Timeline(Fragment(LAZY)), ["Timeline"]),
        (Timeline(User(Format("xml", LAZY))), ["User", "Timeline"]),
        (Timeline(User(Section("s", Section("t", LAZY)))), ["Section", "User", "Timeline"]),
        (Timeline(System(List(Fragment(LAZY)))), ["List", "System", "Timeline"]),
        (Timeline(Note(LAZY)), ["Note", "Timeline"]),
        (Timeline(User(Limit(5, Fragment(LAZY)))), ["Limit", "User", "Timeline"]),
        (Timeline(User(Limit(5, Limit(4, LAZY)))), ["Limit", "User", "Timeline"]),
    ],
)
def test_what_a_lazy_stands_in(tree: Node, expected: list[str]) -> None:
    """A lazy goes with what it stands in, of each kind the innermost; limits, not fragments."""
    _, [[waiting]] = asked(tree, [None])
    assert expected == [label(holder) for holder in waiting.containers]


def test_the_innermost_of_a_kind() -> None:
    """Of several sections around a lazy it is the innermost that is named."""
    _, [[waiting]] = asked(User(Section("s", Section("t", LAZY))), [None])
    assert ("t", LAZY) == (waiting.containers[0].options.id, waiting.lazy)


def test_ids_are_checked_where_something_was_filled() -> None:
    """Two sections of one id beside each other are an error with the lines of both."""
    first, second = Section("a", "x"), Section("a", "y")
    error = raised(PlacementError, lambda: asked(User("t", first, LAZY), [second]))
    assert (str(second.source), str(first.source)) == error.at


@pytest.mark.parametrize("depth", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_deep_tree_is_filled_in_one_round(depth: int) -> None:
    """Lazies very many levels deep, one on each, are asked for at once."""
    part: Any = Text("end")
    for number in range(depth):
        part = Section(f"s{number}", LAZY, part)
    _, [waiting] = asked(User(part), [None] * depth)
    assert (depth, 2) == (len(waiting), len(waiting[-1].containers))


def test_lazies_that_return_lazies_without_end() -> None:
    """It ends after a hundred rounds, with the line of a lazy."""
    error = raised(ContentError, lambda: fill(User(LAZY), ask=lambda _: [LAZY]))
    assert (
        "a Lazy returned another Lazy, 100 times in a row",
        "return text, or a part without a Lazy",
        (str(LAZY.source),),
    ) == (error.what, error.fix, error.at)


def test_a_hundred_rounds_are_no_error() -> None:
    """What ends in time is filled."""
    filled, rounds = asked(User(LAZY), *[[LAZY]] * 99, [Text("x")])
    assert (User(Text("x")), 100) == (filled, len(rounds))
