"""The shortcuts of components: a prompt is the same with and without them."""

from collections.abc import Callable
from typing import Any

import pytest

from promptdsl import *
from tests.internals import signature_of

Write = Callable[..., Node]


def section(*content: Any, **options: Any) -> Section:
    """Return a section of one id."""
    return Section("a", *content, **options)


def answer(*content: Any, **options: Any) -> ToolMessage:
    """Return the answer to one call."""
    return ToolMessage("1", *content, **options)


WITH_OPTIONS: list[Write] = [System, Developer, User, Assistant, Event, section, answer]


def same(one: Any, other: Any) -> bool:
    """Return whether two components are equal in their content, options, mask and class."""
    return bool(
        one == other
        and (one._mask, one.options, type(one)) == (other._mask, other.options, type(other))
    )


@pytest.mark.parametrize("text", ["x", ""])
@pytest.mark.parametrize("write", [Text, *WITH_OPTIONS])
def test_one_string(write: Write, text: str) -> None:
    """A component of one string is that of the same string among arguments that are skipped."""
    with_nothing = (text, "") if write is Text else (text, None)
    for _ in range(2):
        assert same(write(text), write(*with_nothing))


@pytest.mark.parametrize("priority", [1, 0, -2.5, 1.0])
@pytest.mark.parametrize("write", WITH_OPTIONS)
def test_a_priority(write: Write, priority: float) -> None:
    """A priority is the same whether it is remembered or given among other options."""
    for _ in range(2):
        assert same(write("x", priority=priority), write("x", None, priority=priority))
        assert type(priority) is type(write("x", priority=priority).options.priority)


@pytest.mark.parametrize("write", WITH_OPTIONS)
def test_a_boolean_is_no_remembered_priority(write: Write) -> None:
    """``True`` is equal to a priority of 1, and is refused after it, too."""
    write("x", priority=1)
    with pytest.raises(TypeError, match="priority=True"):
        write("x", priority=True)


@pytest.mark.parametrize("write", WITH_OPTIONS)
def test_a_block(write: Write) -> None:
    """A component filled in its block is that of the same arguments."""
    with detached():
        component: Any = write()
        with component:
            Text("x")
    assert write(Text("x")) == component


def test_a_call() -> None:
    """A call whose input is text is that of a string that is not an exact one."""

    class Name(str):
        """A name."""

        __slots__ = ()

    assert same(ToolUse("a", "{}", id="1"), ToolUse(Name("a"), "{}", id=Name("1")))


def test_a_section_of_another_kind_of_priority() -> None:
    """Sections of one id keep their own priorities, whole and broken ones."""
    kinds = [type(Section("a", "x", priority=p).options.priority) for p in (1, 1.0, 1, 1.0)]
    assert [int, float, int, float] == kinds


def test_a_signature() -> None:
    """A function is read once, and is the same read again."""

    def search(query: str) -> str:
        """Search."""
        return query

    def again(query: str) -> str:
        """Search."""
        return query

    first = signature_of(search)
    assert first is signature_of(search)
    assert first.input_schema == signature_of(again).input_schema
