"""Expand: fragments are dissolved among the turns."""

import pytest

from promptdsl import *
from tests.errors import this_line
from tests.renders import comes_to, did_nothing, losses_of, stage

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


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (User(Fragment(Section("s", "", title="T"))), [("hint", "section s")]),
        (User(Fragment(CacheBreakpoint())), [("hint", "a cache breakpoint")]),
        (Ephemeral(Fragment(""), title="T"), [("hint", "an Ephemeral or Grounding")]),
        (User(Fragment("")), []),
        (User(Fragment(Section("s", ""))), []),
    ],
)
def test_what_is_empty_and_noticed(turn: Node, expected: list[tuple[str, str]]) -> None:
    """A title or a cache breakpoint in what is empty is a hint; what is merely empty is none."""
    assert expected == losses_of(turn, User("u"))


@pytest.mark.parametrize(
    ("turn", "left"),
    [
        (System(Fragment("")), System("")),
        (Ephemeral(Group("")), Ephemeral("")),
        (Section("s", Fragment("")), Section("s", "")),
        (User(Fragment(ToolResult("a"))), User(ToolResult("a"))),
        (Turn("tool", Fragment(ToolResult("a"))), Turn("tool", ToolResult("a"))),
    ],
)
def test_what_stays_however_empty(turn: Node, left: Node) -> None:
    """Results stay, whatever they hold, and so does what is no turn of the conversation."""
    asked = Assistant(ToolUse("t", {}, id="a"))
    assert Timeline(asked, left) == stage(
        "expand", Timeline(asked, turn), transformation={"tool_pairing": "prune"}
    )


def test_a_note_among_turns() -> None:
    """A note that people read is a recorded developer turn with its line."""
    note, line = Note("n"), this_line()
    [message] = render(Timeline(note), audience="people").messages
    origin = Origin("developer[0]", Source(__file__, line))
    assert ("developer", "recorded", (TextBlock("n"),), (origin,)) == (
        message.role,
        message.kind,
        message.content,
        message.sources,
    )


def test_a_note_of_a_component_knows_it() -> None:
    """A note among turns names the components it was written by, as other turns do."""

    @component
    def remarks() -> Node:
        return Fragment(Note("n"))

    [message] = render(Timeline(remarks()), audience="people").messages
    assert [("remarks",)] == [origin.components for origin in message.sources]


def test_what_was_filled_is_expanded() -> None:
    """Fragments, recordings and templates that a lazy returned are dissolved, read and rendered."""
    returned = Fragment(
        History([Message("user", "u")]), Assistant(Template.from_string("{{ x }}", x=1))
    )
    assert [("user", "u"), ("assistant", "1")] == comes_to(Lazy(lambda _: returned))
