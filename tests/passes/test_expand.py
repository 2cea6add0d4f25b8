"""Expand: fragments are dissolved among the turns."""

import pytest

from promptdsl import (
    Assistant,
    Event,
    Format,
    Fragment,
    Group,
    History,
    Lazy,
    List,
    Message,
    Node,
    Section,
    System,
    Template,
    Timeline,
    User,
    UserAction,
    component,
)
from tests.renders import comes_to, did_nothing, stage

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010800000000"
    "3a7e9b550000000a4944415478da636000000002000148afa4710000000049454e44ae426082"
)


def test_fragments_are_dissolved() -> None:
    """Turns in fragments, however deep, stand among the other turns in their order."""
    tree = Timeline(Fragment(System("s"), Fragment(User("a", merge=False))), User("b", merge=False))
    expected = Timeline(System("s"), User("a", merge=False), User("b", merge=False))
    assert expected == stage("expand", tree)


def test_fragments_inside_turns_stand_for_themselves() -> None:
    """The parts of a fragment in a turn are parts of the turn."""
    assert [("user", "a", "b", "c")] == comes_to(User("a", Fragment("b", Fragment("c"))))


def test_nothing_to_do() -> None:
    """A tree without fragments and recordings is the same object afterwards."""
    tree = Timeline(System("s"), User("u"), Event(UserAction("left")))
    assert did_nothing("expand", tree)


# What holds others.


def test_turns_of_components_know_them() -> None:
    """Turns, sections and recordings behind the pass name the components they were written by."""

    @component
    def opening(*parts: Node) -> Node:
        return Fragment(*parts)

    tree = Timeline(opening(User("u"), Section("s", "x"), History([Message("assistant", "a")])))
    assert [("opening",)] * 3 == [turn.options.within for turn in stage("expand", tree).content]


def test_turns_in_a_format_hold_it() -> None:
    """A turn that stood in a format holds that format around its parts."""
    tree = Timeline(Format("xml", User("u", List("a"))))
    expected = Timeline(User(Format("xml", "u", List("a"))))
    assert expected == stage("expand", tree)


@pytest.mark.parametrize(
    "turn",
    [
        User(""),
        User(Fragment(Group(""))),
        Assistant(Format("xml", "")),
        Event(Group("")),
        Format("xml", User("")),
        Group(User(Template.from_string(""))),
    ],
)
def test_turns_that_say_nothing_go(turn: Node) -> None:
    """A turn that holds nothing but what is empty is gone behind the pass."""
    assert Timeline(User("u")) == stage("expand", Timeline(User("u"), turn))


def test_what_was_filled_is_expanded() -> None:
    """Fragments, recordings and templates that a lazy returned are dissolved, read and rendered."""
    returned = Fragment(
        History([Message("user", "u")]), Assistant(Template.from_string("{{ x }}", x=1))
    )
    assert [("user", "u"), ("assistant", "1")] == comes_to(Lazy(lambda _: returned))
