"""Blocks that other threads close, and parts that stand elsewhere: nothing is mixed or lost."""

import contextvars
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any

import pytest

from promptdsl import PromptError, ScopeError, Section, System, Text, Timeline, User, include
from tests.internals import OPENED


def elsewhere(work: Callable[[], Any], context: contextvars.Context | None = None) -> Any:
    """Return what a function comes to in another thread: its result, or what it raised."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append((context or contextvars.Context()).run(work))
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def paused(part: Any) -> Generator[None]:
    """Open a block and stay in it."""
    with part:
        yield


@pytest.fixture
def lost_block() -> Iterator[None]:
    """Forget what a test leaves open on purpose."""
    yield
    OPENED.set(None)


def test_another_thread_does_not_open_what_stands_in_our_block() -> None:
    """A component of our block is opened by us, whatever another thread has open itself."""
    with Timeline() as tree, System("a"):
        part = Section("s", "x")

        def write() -> None:
            with System("other"), part:
                Text("mixed in")

        error = elsewhere(write)
    assert (ScopeError, Timeline(System("a", Section("s", "x")))) == (type(error), tree)


def test_a_part_that_was_taken_back_is_not_opened() -> None:
    """What a failed call took out of the block cannot be written into any more."""
    with System("a") as tree:
        part = Section("s", "x")
        with suppress(PromptError):
            Section("no id", part)
        with pytest.raises(ScopeError), part:
            Text("lost without a word")
    assert System("a") == tree


def test_a_failed_call_leaves_what_was_included() -> None:
    """A frozen part that was included stays, whatever is done with it later."""
    with System():
        part = Text("x")
    with System() as block:
        include(part)
        with suppress(PromptError):
            Section("no id", part)
    assert System(part) == block


def test_a_block_left_open_leaves_its_place() -> None:
    """A part of an outer block that an inner one leaves open is taken out of it."""
    with Timeline() as tree, User("q"):
        part = Section("s", "x")
        with suppress(ScopeError), Section("inner"):
            steps = paused(part)
            next(steps)
        Text("after")
    assert Timeline(User("q", Text("after"))) == tree


@pytest.mark.usefixtures("lost_block")
def test_a_block_whose_parent_was_closed_elsewhere_closes_quietly() -> None:
    """The exception under way is not replaced by another one."""
    outer = paused(System("a"))
    next(outer)
    steps = paused(Section("s", "x"))
    next(steps)
    assert (None, None) == (elsewhere(outer.close), steps.close())


@pytest.mark.usefixtures("lost_block")
def test_a_refused_call_in_a_closed_block_says_so() -> None:
    """It is an error of the family, and nothing else."""
    outer = paused(System("a"))
    next(outer)
    part = Text("x")
    elsewhere(outer.close)
    with pytest.raises(PromptError):
        Section("no id", part)


@pytest.mark.usefixtures("lost_block")
def test_a_block_that_failed_elsewhere_takes_nothing() -> None:
    """Text written into it is refused, not lost."""
    outer = paused(System("a"))
    next(outer)
    inner = paused(Section("s", "x"))
    next(inner)
    context = contextvars.copy_context()
    elsewhere(outer.close, context)
    with pytest.raises(ScopeError):
        Text("late")
