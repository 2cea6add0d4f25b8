"""Merge: neighbours of one role become one message, their blocks side by side."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import this_line
from tests.internals import RecordedNode
from tests.renders import comes_to, did_nothing, stage, timeline_of


def recorded(*roles: str) -> History:
    """Return a recording of one word for every role."""
    return History([Message(role, f"{role}!") for role in roles])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([User("a"), User("b"), User("c")], [("user", "a", "b", "c")]),
        ([User("a", "b"), User("c")], [("user", "ab", "c")]),
        ([Assistant("a"), Assistant("b")], [("assistant", "a", "b")]),
        ([Developer("a"), Developer("b")], [("developer", "a", "b")]),
        (
            [User("a"), Assistant("b"), User("c")],
            [("user", "a"), ("assistant", "b"), ("user", "c")],
        ),
        ([User("a"), recorded("user")], [("user", "a", "user!")]),
        ([recorded("user"), User("a")], [("user", "user!", "a")]),
        ([recorded("user", "user")], [("user", "user!", "user!")]),
        ([recorded("user"), recorded("user")], [("user", "user!", "user!")]),
        (
            [recorded("user", "assistant", "assistant", "user"), User("a")],
            [("user", "user!"), ("assistant", "assistant!", "assistant!"), ("user", "user!", "a")],
        ),
        ([User("a"), User(""), User("b")], [("user", "a", "b")]),
    ],
)
def test_neighbours(content: list[Node], expected: list[Any]) -> None:
    """Neighbours of one role are one message of all their blocks, in order."""
    assert expected == comes_to(*content)


def test_a_call_beside_words() -> None:
    """Assistant turns merge also when one of them calls a tool."""
    assert [
        ("assistant", "a", "b", ("call", "x", "t")),
        ("tool", ("result", "x", "r")),
    ] == comes_to(Assistant("a"), Assistant("b", ToolUse("t", {}, id="x")), ToolMessage("x", "r"))


def test_media_keep_their_place() -> None:
    """An attachment stays between the texts it was written between."""
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    assert [("user", "a", picture, "b")] == comes_to(
        User("a", Image.from_url("https://example.org/a.png")), User("b")
    )


def test_tool_results_stay_apart() -> None:
    """Every tool result is a message of its own."""
    calls = Assistant(ToolUse("t", {}, id="a"), ToolUse("t", {}, id="b"))
    assert [("tool", ("result", "a", "1")), ("tool", ("result", "b", "2"))] == comes_to(
        calls, ToolMessage("a", "1"), ToolMessage("b", "2")
    )[1:]


def test_tool_results_keep_their_ids() -> None:
    """Neighbouring results each have the id and the place of their own turn alone."""
    calls = Assistant(ToolUse("t", {}, id="a"), ToolUse("t", {}, id="b"))
    results = (ToolMessage("a", id="x"), ToolMessage("b", id="y"))
    messages = render(Timeline(User("u"), User("v"), calls, *results)).messages
    assert [("x", ["x"]), ("y", ["y"])] == [
        (message.id, [origin.address for origin in message.sources]) for message in messages[2:]
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([User("a"), User("b", merge=False), User("c")], ["a", "b", "c"]),
        ([User("a", merge=False), User("b")], ["a", "b"]),
        ([Assistant("a"), Assistant("b", merge=False)], ["a", "b"]),
        ([User("a", merge=False), User("b", merge=False)], ["a", "b"]),
    ],
)
def test_merge_false(content: list[Node], expected: list[str]) -> None:
    """A turn with ``merge=False`` is a message of its own."""
    assert expected == ["".join(message[1:]) for message in comes_to(*content)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([User("a", name="x"), User("b", name="x")], [("user", "a", "b")]),
        ([User("a", name="x"), User("b", name="y")], [("user", "a"), ("user", "b")]),
        ([User("a", name="x"), User("b")], [("user", "a"), ("user", "b")]),
    ],
)
def test_speakers_stay_apart(content: list[Node], expected: list[Any]) -> None:
    """Turns of different speakers are different messages."""
    assert expected == comes_to(*content)


def test_switched_off() -> None:
    """With merge_consecutive off every turn is a message."""
    tree = [System("s"), User("a"), User("b"), recorded("user", "user")]
    assert [
        ("system", "s"),
        ("user", "a"),
        ("user", "b"),
        ("user", "user!"),
        ("user", "user!"),
    ] == (comes_to(*tree, transformation={"merge_consecutive": False}))


# Kinds.

KINDS: dict[str, Any] = {
    "written": Developer,
    "recorded": lambda text: History([Message("user", "u"), Message("developer", text)]),
    "recorded_system": lambda text: History([Message("user", "u"), Message("system", text)]),
    "event": Event,
    "request": Ephemeral,
}


def kinds(*content: Any, role: str = "developer") -> list[str]:
    """Return the kinds of the messages that are not a user's, events and requests in a role."""
    roles = {"role_mapping": {"event": role, "ephemeral": role}}
    messages = render(Timeline(*content), transformation=roles).messages
    return [message.kind for message in messages if message.role != "user"]


@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("two", ["written", "event", "request"])
def test_developer_messages_merge_with_their_own_kind(one: str, two: str) -> None:
    """Developer messages of different kinds stay apart, those of one kind merge."""
    expected = [one] if one == two else [one, two]
    assert expected == kinds(User("u"), KINDS[one]("1"), KINDS[two]("2"))


@pytest.mark.parametrize("one", ["event", "request"])
@pytest.mark.parametrize("two", ["event", "request"])
def test_system_messages_merge_with_their_own_kind(one: str, two: str) -> None:
    """So do events and request-only turns that are mapped to system."""
    expected = ["written", one] if one == two else ["written", one, two]
    assert expected == kinds(
        System("s"), User("u"), KINDS[one]("1"), KINDS[two]("2"), role="system"
    )


@pytest.mark.parametrize("role", ["developer", "system"])
def test_recorded_instructions_merge_with_their_own_kind(role: Any) -> None:
    """Two recorded instructions of one role are one message, of two roles two."""
    history = [Message("user", "u"), Message(role, "1"), Message(role, "2"), Message("system", "3")]
    assert (2 if role == "system" else 3) == len(render(History(history)).messages)


def test_users_merge_with_what_is_mapped_to_user() -> None:
    """An event or request-only turn mapped to user is in one message with its neighbours."""
    assert [("user", "a", "<event>\nb\n</event>", "<context>\nc\n</context>", "d")] == comes_to(
        User("a"), Event("b"), Ephemeral("c"), User("d")
    )


def test_what_is_request_only_in_part() -> None:
    """A message of which a part is request-only is marked so: it is not there next time."""
    assert [("trailed", "written"), ("mixed", "written")] == [
        tuple(message.kind for message in render(Timeline(*turns, Assistant("b"))).messages)
        for turns in ((User("a"), Ephemeral("c")), (Ephemeral("c"), User("a")))
    ]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ("written written", "written"),
        ("recorded written", "written"),
        ("event event", "event"),
        ("request request", "request"),
        ("mixed mixed", "mixed"),
        ("trailed trailed", "trailed"),
        ("recorded_system event", "event"),
        ("event request", "request"),
        ("request event", "request"),
        ("event written", "written"),
        ("written event", "written"),
        ("written request", "trailed"),
        ("request written", "mixed"),
        ("written request event", "trailed"),
        ("request written event", "mixed"),
        ("request written request", "trailed"),
        ("written request written", "mixed"),
        ("written trailed", "trailed"),
        ("trailed written", "mixed"),
        ("trailed request", "trailed"),
        ("trailed event", "trailed"),
        ("written mixed", "mixed"),
        ("mixed written", "mixed"),
        ("mixed trailed", "trailed"),
        ("trailed mixed", "mixed"),
    ],
)
def test_the_kind_of_what_was_several(kinds: str, expected: str) -> None:
    """A message is request-only as far as what stands last in it is, and said if any of it was."""
    said: list[Any] = [Message("user", kind, kind=kind) for kind in kinds.split()]  # type: ignore[arg-type]
    [message] = render(History(said)).messages
    assert expected == message.kind


def test_merging_is_after_role_mapping() -> None:
    """What is mapped elsewhere keeps its neighbours apart."""
    assert [("user", "a"), ("developer", "<event>\nb\n</event>"), ("user", "c")] == comes_to(
        User("a"), Event("b"), User("c"), transformation={"role_mapping": {"event": "developer"}}
    )


# Sources.


def test_ids_and_metadata_stay() -> None:
    """Ids and metadata of all parts are in the sources, with their lines."""
    first = this_line() + 1
    tree = Timeline(
        User("a", id="one", metadata={"n": 1}),
        User("b"),
        User("c", id="three", metadata={"n": 3}),
    )
    [message] = render(tree).messages
    assert (
        Origin("one", Source(__file__, first + 1), "one", {"n": 1}),
        Origin("user[1]", Source(__file__, first + 2), None, {}),
        Origin("three", Source(__file__, first + 3), "three", {"n": 3}),
    ) == message.sources


def test_ids_and_metadata_of_a_recording_stay() -> None:
    """So are those of recorded messages, with the line of their History."""
    items = [
        {"role": "user", "content": "a", "id": "one", "metadata": {"n": 1}},
        {"role": "user", "content": "b", "id": "two", "metadata": {"n": 2}},
    ]
    history, written = History(items), this_line()
    [message] = render(history).messages
    assert (
        Origin("history[0]", Source(__file__, written), "one", {"n": 1}),
        Origin("history[1]", Source(__file__, written), "two", {"n": 2}),
    ) == message.sources


def test_ids_and_metadata_of_messages_stay() -> None:
    """So are those of recorded messages that are given as values."""
    items = [Message("user", "a", id="one", metadata={"n": 1}), Message("user", "b", id="two")]
    [message] = render(History(items)).messages
    assert [("one", {"n": 1}), ("two", {})] == [(o.id, dict(o.metadata)) for o in message.sources]


WHOLE: dict[str, Any] = {
    "id": "whole",
    "metadata": {"n": 1},
    "tags": ("t",),
    "token_usage": {"output": 5},
    "structured_output": {"a": 1},
    "finish_reason": "stop",
    "raw_finish_reason": "end_turn",
}
"""All that a message says of itself, its name aside."""


def kept(of: Any) -> dict[str, object]:
    """Return what a message, or one of its sources, says of itself."""
    return {key: getattr(of, key) for key in WHOLE}


NOTHING = kept(Message("user", "x"))


@pytest.mark.parametrize("others", [["two"], ["two", "three"]])
@pytest.mark.parametrize("backwards", [False, True])
def test_a_merged_message_says_nothing_of_itself(others: list[str], backwards: bool) -> None:
    """What a recorded reply says of itself is in its source, and not the merged message's."""
    history = History([Message("assistant", "a", **WHOLE)])
    parts = [history, *(Assistant("b", id=id) for id in others)]
    ordered = [*reversed(parts)] if backwards else parts
    [message] = render(Timeline(*ordered)).messages
    places = ["history[0]", *others]
    assert NOTHING == kept(message)
    assert (places[::-1] if backwards else places) == [o.address for o in message.sources]
    assert WHOLE == kept(message.sources[-1 if backwards else 0])


def test_a_merged_message_keeps_its_name() -> None:
    """Turns of one name are merged, so the name is that of the whole; different ones stay apart."""
    tree = Timeline(User("a", name="ada", id="x"), User("b", name="ada"), User("c", name="bob"))
    assert [("ada", None, 2), ("bob", None, 1)] == [
        (message.name, message.id, len(message.sources)) for message in render(tree).messages
    ]


def test_a_message_of_one_turn_keeps_all() -> None:
    """Beside turns that say nothing, the only turn of a message keeps what it says of itself."""
    history = History([Message("assistant", "a", **WHOLE), Message("assistant", "")])
    [message] = render(Timeline(history, Assistant(""))).messages
    assert (WHOLE, [WHOLE]) == (kept(message), [kept(origin) for origin in message.sources])


def test_what_results_say_of_themselves() -> None:
    """Each result of a merged user turn is of its own turn alone, as what else that says is."""
    calls = Assistant(ToolUse("t", {}, id="1"), ToolUse("t", {}, id="2"))
    one = User(ToolResult("1", "r"), id="one", name="ada")
    two = User(ToolResult("2", "s"), "x", id="two", tags=("t",), metadata={"n": 1}, name="ada")
    assert [
        ("tool", "one", (), {}, None, ["one"]),
        ("tool", "two", ("t",), {"n": 1}, None, ["two"]),
        ("user", "two", ("t",), {"n": 1}, "ada", ["two"]),
    ] == [
        (m.role, m.id, m.tags, dict(m.metadata), m.name, [origin.id for origin in m.sources])
        for m in render(Timeline(User("q"), calls, one, two)).messages[2:]
    ]


# What is sent.


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["a", "b"], "a\n\nb"),
        (["a", "", "b"], "a\n\nb"),
        (["", "a"], "a"),
        ([" ", "a"], "a"),
        (["a\n", "b"], "a\n\n\nb"),
    ],
)
def test_texts_join_with_a_blank_line(parts: list[str], expected: str) -> None:
    """Where a target wants a string, texts join with a blank line and blank ones are skipped."""
    payload: Any = render(Timeline(*map(User, parts)), provider="openai").payload()
    assert [{"role": "user", "content": expected}] == payload["messages"]


def test_boundaries_survive() -> None:
    """Where a target takes blocks, every part is a block of its own."""
    payload: Any = render(Timeline(User("a"), User("b")), provider="anthropic").payload()
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert [{"role": "user", "content": blocks}] == payload["messages"]


def test_the_recording_never_changes() -> None:
    """Merging leaves the recorded messages as they were."""
    messages = [Message("user", "a"), Message("user", "b")]
    render(Timeline(History(messages), User("c")))
    assert [(TextBlock("a"),), (TextBlock("b"),)] == [message.content for message in messages]


def test_what_stands_between_neighbours_of_a_recording() -> None:
    """Messages of a recording that merge with none are in one piece, those that do one by one."""
    history = recorded(*["user", "assistant"] * 2, *["user", "user", "assistant", "user"])
    tree = Timeline(User("a"), history, Assistant("b"))
    pieces = [
        [(piece.start, len(piece.items))] if isinstance(piece, RecordedNode) else piece.role
        for piece in stage("merge", tree).content
    ]
    assert ["user", [(1, 3)], "user", [(6, 2)], "assistant"] == pieces


def test_a_merged_turn_stands_where_its_first_part_does() -> None:
    """A merged turn has the line of its first part."""
    first = this_line() + 1
    tree = Timeline(
        User("a"),
        User("b"),
    )
    [merged] = stage("merge", tree).content
    assert Source(__file__, first + 1) == merged.source


TURNS = st.lists(st.sampled_from(["user", "assistant", "developer", "event", "recorded"]))


def turn(role: str, number: int) -> Node:
    """Return a turn that says its number."""
    if role == "recorded":
        return History([Message("user", str(number))])
    return {"user": User, "assistant": Assistant, "developer": Developer, "event": Event}[role](
        str(number)
    )


@given(TURNS)
def test_any_turns(roles: list[str]) -> None:
    """Merging any turns keeps every block in its order, and leaves no neighbours of one role."""
    tree = timeline_of(*(turn(role, number) for number, role in enumerate(roles)))
    merged = render(tree).messages
    apart = render(tree, transformation={"merge_consecutive": False}).messages
    assert [b for m in apart for b in m.content] == [b for m in merged for b in m.content]
    assert [] == [m for m, n in pairwise(merged) if m.role == n.role]


# The pass.


@pytest.mark.parametrize(
    "tree",
    [
        Timeline(System("s"), User("u"), Assistant("a")),
        Timeline(History([Message("user", "u"), Message("assistant", "a")])),
        Timeline(Assistant(ToolUse("t", {}, id="a")), ToolMessage("a", "x")),
    ],
)
def test_nothing_to_do(tree: Timeline) -> None:
    """A tree without neighbours of one role is the same object afterwards."""
    assert did_nothing("merge", tree)


def test_switched_off_it_does_nothing() -> None:
    """With merging off any tree is the same object afterwards."""
    assert did_nothing(
        "merge", Timeline(User("a"), User("b")), transformation={"merge_consecutive": False}
    )


def test_other_turns_stay_as_they_are() -> None:
    """A turn without a neighbour of its role is the same object afterwards."""
    tree = Timeline(User("a"), User("b"), Assistant("c"))
    assert tree.content[2] is stage("merge", tree).content[1]
