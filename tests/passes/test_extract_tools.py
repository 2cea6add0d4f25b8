"""Equip: tools and the output leave the turns, and breakpoints become marks."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import lines_of, raised
from tests.internals import (
    SPOKEN,
    TOOL,
    RecordedNode,
    RootNode,
    equipment_of,
    extract_tools,
    lost_marks,
    make,
    mask_of,
    outline,
    replace,
)

SCHEMA = {"type": "object", "properties": {}}


def equipped(*content: Any) -> RootNode:
    """Return an equipped timeline of this content."""
    root = extract_tools(Timeline(*content), ModelFacts())
    assert isinstance(root, RootNode)
    return root


def holding(*equipment: Node, content: tuple[Any, ...] = ()) -> RootNode:
    """Return a timeline as it is equipped."""
    return replace(Timeline(*content), equipment=equipment)


def marked_tool(name: str, cache: Any) -> Tool:
    """Return a tool whose definition has a mark."""
    return replace(Tool(name=name), definition=ToolDefinition(name, None, SCHEMA, cache))


def marked(turn: Node, cache: Any) -> Node:
    """Return a turn with a mark behind it."""
    from attrs import evolve

    return replace(turn, options=evolve(turn.options, cache=cache))


@pytest.mark.parametrize(
    "content",
    [
        (User("a"),),
        (Developer("a"), User("b")),
        (System("a", CacheBreakpoint(), "b"), User("c", cache=True)),
    ],
)
def test_nothing_to_do(content: tuple[Node, ...]) -> None:
    """A tree without tools, outputs and breakpoints among its turns is the same object."""
    root = Timeline(*content)
    assert root is extract_tools(root, ModelFacts())


def test_once_is_enough() -> None:
    """An equipped tree is the same object afterwards."""
    root = equipped(Tool(name="t"), User("a"), CacheBreakpoint())
    assert root is extract_tools(root, ModelFacts())


def test_what_leaves() -> None:
    """Tools and the output leave the content, in their order."""
    expected = holding(
        Tool(name="a"), Output(SCHEMA), Tool(name="b"), content=(System("s"), User("u"))
    )
    found = equipped(Tool(name="a"), System("s"), Output(SCHEMA), User("u"), Tool(name="b"))
    assert (expected, 0) == (found, found._mask & TOOL)


def test_what_they_are() -> None:
    """The tools and the output of a tree are values that know their lines."""
    tool, output = Tool(name="a"), Output(SCHEMA, name="x")
    tools, form = equipment_of(equipped(tool, output, User("u")))
    assert ((ToolDefinition("a", None, SCHEMA),), OutputSchema(SCHEMA, "x")) == (tools, form)
    assert form is not None
    assert (tool.source, output.source) == (tools[0].source, form.source)


def test_none() -> None:
    """A tree without any has no tools, no output and lost no marks."""
    root = equipped(User("u"))
    assert (((), None), []) == (equipment_of(root), [*lost_marks(root)])


def test_an_equal_tool_counts_once() -> None:
    """The same tool written twice is one, with the mark of either."""
    found = equipped(Tool(name="a"), CacheBreakpoint(), Tool(name="a"), Tool(name="b"))
    assert holding(marked_tool("a", "default"), Tool(name="b")) == found


def test_two_tools_of_one_name() -> None:
    """Two tools of one name are refused with both lines."""

    def write() -> None:
        equipped(
            Tool(name="a"),
            Tool(name="a", description="other"),
        )

    error = raised(PlacementError, write)
    fix = 'rename one of them: Tool(..., name="...")'
    assert ("two tools are called 'a'", fix, lines_of(write, 3, 2)) == (
        error.what,
        error.fix,
        error.at,
    )


def test_two_outputs() -> None:
    """Two outputs are refused with both lines, also when they are equal."""

    def write() -> None:
        equipped(
            Output(SCHEMA),
            Output(SCHEMA),
        )

    error = raised(PlacementError, write)
    fix = "write one type with the fields of both"
    assert ("a prompt has one Output", fix, lines_of(write, 3, 2)) == (
        error.what,
        error.fix,
        error.at,
    )


HERE = CacheBreakpoint()
HOUR = CacheBreakpoint("1h")
FIVE = CacheBreakpoint("5m")
CALLS = Assistant(ToolUse("t", {}, id="1"))
ANSWER = User(ToolResult("1", "r"))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ((User("a"), HERE, User("b")), (marked(User("a"), True), User("b"))),
        ((User("a"), HOUR), (marked(User("a"), "1h"),)),
        ((User("a", cache=True), FIVE), (marked(User("a"), "5m"),)),
        ((User("a"), HOUR, HERE, FIVE), (marked(User("a"), "1h"),)),
        ((System("a"), HERE, User("b")), (marked(System("a"), True), User("b"))),
        ((Section("s", "a"), HERE), (marked(Section("s", "a"), True),)),
        ((Event("a"), HERE), (marked(Event("a"), True),)),
        ((Ephemeral("a"), HERE), (marked(Ephemeral("a"), True),)),
        ((CALLS, ToolMessage("1"), HERE), (CALLS, marked(ToolMessage("1"), True))),
        ((CALLS, ANSWER, HERE), (CALLS, marked(ANSWER, True))),
        ((CALLS, HERE), (marked(CALLS, True),)),
        ((User("a"), User(""), HERE), (marked(User("a"), True), User(""))),
        ((User("a"), HERE, User("b"), HERE), (marked(User("a"), True), marked(User("b"), True))),
        (
            (User("a"), User(Section("s", "", title="S")), HERE),
            (marked(User("a"), True), User(Section("s", "", title="S"))),
        ),
    ],
)
def test_marks(content: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    """What stands before a breakpoint, and is sent, gets its mark; the longest one stays."""
    assert holding(content=expected) == equipped(*content)


def test_a_marked_turn_is_no_plain_speech() -> None:
    """A turn with a mark does not take the fast way out."""
    (turn,) = equipped(User("a"), HERE).content
    assert 0 == turn._mask & SPOKEN


def test_behind_tools() -> None:
    """Behind tools only, the last of them gets the mark; behind turns they are covered anyway."""
    first = equipped(Tool(name="a"), HERE, Tool(name="b"), HOUR, FIVE, User("u"))
    second = equipped(System("s"), Tool(name="a"), HERE)
    assert (
        holding(marked_tool("a", "default"), marked_tool("b", "1h"), content=(User("u"),)),
        holding(Tool(name="a"), content=(marked(System("s"), True),)),
    ) == (first, second)


def recorded(*messages: Message) -> RecordedNode:
    """Return a recording of messages."""
    mask = mask_of([*messages])
    return make(RecordedNode, mask=mask, items=messages, provider_format="messages", start=0)


def test_behind_a_recording() -> None:
    """The last block of the last message gets the mark."""
    said = Message("user", [TextBlock("a"), TextBlock("b")])
    expected = Message("user", [TextBlock("a"), TextBlock("b", "1h")])
    found = equipped(recorded(Message("user", "x"), said), HOUR)
    assert holding(content=(recorded(Message("user", "x"), expected),)) == found


def test_a_recorded_message_without_content() -> None:
    """A message without content is passed over."""
    found = equipped(recorded(Message("user", "x"), Message("assistant")), HERE)
    expected = recorded(Message("user", [TextBlock("x", "default")]), Message("assistant"))
    assert holding(content=(expected,)) == found


@pytest.mark.parametrize(
    "content",
    [
        (),
        (Output(SCHEMA),),
        (User(Section("s", "", title="S")),),
        (recorded(Message("assistant")),),
        (recorded(Message("assistant", [ReasoningBlock("a")])),),
    ],
)
def test_lost_marks(content: tuple[Any, ...]) -> None:
    """A breakpoint that finds nothing to mark is a hint."""
    node = CacheBreakpoint()
    why = "no part before it takes a cache mark"
    what = "a cache breakpoint"
    expected = [Loss("hint", what, why, source=node.source, name="cache_mark")]
    assert expected == [*lost_marks(equipped(*content, node, User("u")))]


THOUGHT = recorded(Message("assistant", [ReasoningBlock("a")]))


def test_a_recording_that_takes_no_mark() -> None:
    """Behind a last block that takes no mark, a breakpoint looks no further among the turns."""
    tool = Tool(name="t")
    assert (
        holding(marked_tool("t", "1h"), content=(User("u"), THOUGHT)),
        holding(HOUR, content=(User("u"), THOUGHT)),
    ) == (equipped(tool, User("u"), THOUGHT, HOUR), equipped(User("u"), THOUGHT, HOUR))


def test_the_last_of_several_recordings() -> None:
    """Of several recordings the last one gets the mark, the same object otherwise."""
    first, last = recorded(Message("user", "a")), recorded(Message("assistant", "b"))
    marked_last = recorded(Message("assistant", [TextBlock("b", "default")]))
    found = equipped(first, last, HERE)
    assert (holding(content=(first, marked_last)), True) == (found, found.content[0] is first)


def test_a_recorded_message_keeps_what_else_it_is() -> None:
    """A recorded message that gets a mark keeps its kind, its name and its metadata."""
    said = Message("user", "a", kind="trailed", id="x", name="Ann", metadata={"n": 1})
    [message] = render(Timeline(History([said]), HERE)).messages
    assert said.replace(content=[TextBlock("a", "default")]) == message
    assert ("x", "Ann", {"n": 1}) == (message.id, message.name, message.metadata)


def test_whole_prompts() -> None:
    """Fragments, formats and histories are gone before breakpoints look for what to mark."""
    tree = Timeline(
        Fragment(Format("xml", Tool(name="t"), System("s"), HERE)),
        History([Message("user", "a"), Message("assistant", "b")]),
        FIVE,
        User("c"),
    )
    rendered = render(tree)
    caches = [[getattr(b, "cache", None) for b in m.content] for m in rendered.messages]
    assert [["default"], [None], ["5m"], [None]] == caches


def test_a_recorded_system_message() -> None:
    """A mark behind a recorded system message stays when it is consolidated."""
    tree = Timeline(History([Message("system", "s")]), HERE, User("u"))
    system, _ = render(tree).messages
    assert (TextBlock("s", "default"),) == system.content


def test_merged_turns_keep_marks() -> None:
    """Turns that become one message keep the marks between them."""
    (said,) = render(Timeline(User("a"), HERE, User("b"))).messages
    assert (TextBlock("a", "default"), TextBlock("b")) == said.content


def test_equipment_is_part_of_a_tree() -> None:
    """It counts in equality, is printed, and is saved."""
    root = equipped(Tool(name="t"), User("a"))
    bare = Timeline(User("a"))
    assert (root, False) == (pickle.loads(pickle.dumps(root)), root == bare)
    assert ("Timeline(equipment=(Tool(", "Timeline(User('a'))") == (repr(root)[:25], repr(bare))


def test_outlines() -> None:
    """An outline shows what is sent beside the messages first."""
    written = Timeline(
        Tool(name="t"), HERE, Output(SCHEMA, name="x"), User("a", FIVE, cache=True), HOUR
    )
    lines = [line.split("  ")[0] for line in outline(written).split("\n") if line[0] != " "]
    after = [
        line.split("  ")[0]
        for line in outline(extract_tools(written, ModelFacts())).split("\n")
        if line[0] != " "
    ]
    assert [
        "tool definition t",
        "cache breakpoint",
        "output x",
        "user cached",
        "cache breakpoint 1h",
    ] == lines
    assert ["tool definition t cached", "output x", "user cached for 1h"] == after


@given(st.lists(st.sampled_from("tcuos"), max_size=12))
def test_any_order(order: list[str]) -> None:
    """Whatever the order, turns keep theirs, and every breakpoint is a mark or a loss."""
    makers: dict[str, Any] = {
        "t": lambda: Tool(name="t"),
        "c": CacheBreakpoint,
        "u": lambda: User("u"),
        "o": lambda: Developer(Text("o")),
        "s": lambda: System("s"),
    }
    tree = Timeline(*[makers[name]() for name in order])
    root: Any = extract_tools(tree, ModelFacts())
    first = next((at for at, name in enumerate(order) if name != "c"), len(order))
    roles = {"u": "user", "o": "developer", "s": "system"}
    assert [roles[name] for name in order if name in roles] == [t.role for t in root.content]
    assert order[:first].count("c") == len([*lost_marks(root)])
