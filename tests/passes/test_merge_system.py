"""Consolidate: all system content becomes one system message, first of all."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import raised, this_line
from tests.internals import walk
from tests.renders import comes_to, did_nothing, stage


@pytest.mark.parametrize(
    "content",
    [
        [System("a"), User("u"), Section("s", "b", title="B"), Assistant("x"), System("c")],
        [User("u"), System("a"), Assistant("x"), Section("s", "b", title="B"), System("c")],
        [System("a", Section("s", "b", title="B")), User("u"), Assistant("x"), System("c")],
        [System(Text("a"), Section("s", "b", title="B"), Text("c")), User("u"), Assistant("x")],
        [
            Fragment(System("a"), User("u")),
            Section("s", "b", title="B"),
            Assistant("x"),
            System("c"),
        ],
    ],
)
def test_what_takes_part(content: list[Any]) -> None:
    """Every system turn and loose section is in one message, first, in document order."""
    expected = [("system", "a\n\n## B\nb\n\nc"), ("user", "u"), ("assistant", "x")]
    assert expected == comes_to(*content)


def test_only_loose_sections() -> None:
    """Sections outside of any turn are a system message of their own."""
    assert [("system", "1\n\n## B\n2"), ("user", "u")] == comes_to(
        User("u"), Section("a", "1"), Section("b", "2", title="B")
    )


def test_a_section_inside_a_user_turn_stays() -> None:
    """A section inside another turn is none of the system message's."""
    assert [("system", "s"), ("user", "## A\nx")] == comes_to(
        User(Section("a", "x", title="A")), System("s")
    )


def test_a_section_inside_system_stands_once() -> None:
    """A section inside a system turn stands once, in place, with its title."""
    assert [("system", "before\n\n## Rules\nnever\n\nafter")] == comes_to(
        System("before", Section("rules", "never", title="Rules"), "after")
    )


@pytest.mark.parametrize("late", [System("s"), Section("a", "s")])
def test_wherever_it_is_written(late: Any) -> None:
    """System content written behind the conversation is first all the same."""
    assert [("system", "s"), ("user", "u"), ("assistant", "a")] == comes_to(
        User("u"), Assistant("a"), late
    )


# Recordings.


def test_the_leading_run_of_a_recording() -> None:
    """System messages that a recording begins with take part, at the place of the recording."""
    history = History([Message("system", "b"), Message("system", "c"), Message("user", "u")])
    assert [("system", "a\n\nb\n\nc\n\nd"), ("user", "u")] == comes_to(
        System("a"), history, System("d")
    )


def test_later_recorded_instructions_stay() -> None:
    """A system message recorded in mid-conversation stays where it was said."""
    history = History([Message("user", "u"), Message("system", "late"), Message("assistant", "a")])
    assert [("system", "s"), ("user", "u"), ("developer", "late"), ("assistant", "a")] == comes_to(
        System("s"), history
    )


def test_the_leading_run_of_a_second_recording() -> None:
    """Every recording has a leading run, also one behind conversation turns."""
    one = History([Message("system", "a"), Message("user", "u")])
    two = History([Message("system", "b"), Message("assistant", "x")])
    assert [("system", "a\n\nb"), ("user", "u"), ("assistant", "x")] == comes_to(one, two)


def test_blocks_of_a_recorded_system_message() -> None:
    """The texts of a recorded system message are items, its empty ones are not."""
    history = History([Message("system", ["a", "", "b"]), Message("user", "u")])
    assert [("system", "a\n\nb"), ("user", "u")] == comes_to(history)


def test_recorded_system_text_is_kept_to_the_byte() -> None:
    """A recorded system text is neither dedented nor encoded."""
    recorded = "\n    # <b> & \r\n  "
    assert [("system", recorded)] == comes_to(History([Message("system", recorded)]))


def test_a_picture_in_a_recorded_system_message() -> None:
    """A picture in a recorded system message is kept, and lost where it cannot be said."""
    source = {"type": "url", "url": "https://example.org/a.png"}
    picture = {"type": "image", "source": source}
    history = History([{"role": "system", "content": ["a", picture]}, Message("user", "u")])
    assert [("system", "s\n\na", picture), ("user", "u")] == comes_to(System("s"), history)
    assert [("content", "system[0]")] == [
        (loss.kind, loss.path) for loss in render(Timeline(history), provider="openai").losses
    ]


def test_what_was_no_rule_is_none_when_it_comes_back() -> None:
    """An event that was sent as a system message stays a turn where a recording begins with it."""
    sent = History([Message("system", "restarted", kind="event"), Message("user", "u")])
    assert [("system", "s"), ("system", "restarted"), ("user", "u")] == comes_to(System("s"), sent)
    assert [("system", "event"), ("user", "written")] == [
        (message.role, message.kind) for message in render(sent).messages
    ]


def test_what_a_recorded_system_message_says_of_itself() -> None:
    """Id, name and metadata of a recorded system message stay, alone and beside others."""
    said = Message("system", "b", id="x", name="Ann", metadata={"n": 1}, tags=("t",))
    history, line = History([said, Message("user", "u")]), this_line()
    origin = Origin("x", Source(__file__, line), "x", {"n": 1}, tags=("t",))
    alone = render(history).messages[0]
    whole = render(Timeline(System("a"), history)).messages[0]
    assert ("recorded", "x", "Ann", {"n": 1}) == (alone.kind, alone.id, alone.name, alone.metadata)
    assert ("written", None, None, {}) == (whole.kind, whole.id, whole.name, whole.metadata)
    assert (("t",), ()) == (alone.tags, whole.tags)
    assert ((origin,), origin) == (alone.sources, whole.sources[1])


def test_what_was_recorded_has_the_line_of_its_history() -> None:
    """All that becomes of a recorded system message has the line of the History."""
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    code, data = {"type": "code", "text": "x"}, {"type": "json", "value": 1}
    history, line = History([Message("system", ["a", picture, code, data])]), this_line()
    nodes = [node for node, _ in walk(stage("merge_system", Timeline(history)).content[0])]
    assert [Source(__file__, line)] * 5 == [node.source for node in nodes]


def test_only_a_recorded_system_message() -> None:
    """A recording of system messages alone leaves nothing behind them."""
    assert [("system", "a\n\nb")] == comes_to(System("a"), History([Message("system", "b")]))


# One message, which nothing joins.


@pytest.mark.parametrize("role", ["system", "developer", "user"])
def test_nothing_joins_the_leading_system_message(role: str) -> None:
    """A mapped event or request-only turn never joins the leading system message."""
    tree = [
        Event(UserAction("left")),
        System("s"),
        Ephemeral("e", position="after_system"),
        User("u"),
    ]
    roles = {"role_mapping": {"event": role, "ephemeral": role}}
    first, *rest = render(Timeline(*tree), transformation=roles).messages
    assert ("system", (TextBlock("s"),), "written") == (first.role, first.content, first.kind)
    assert {role, "user"} == {message.role for message in rest}


def test_a_developer_turn_stays_apart() -> None:
    """A developer turn behind the system message is a message of its own."""
    assert [("system", "s"), ("developer", "d"), ("user", "u")] == comes_to(
        System("s"), Developer("d"), User("u")
    )


def test_merging_off() -> None:
    """Consolidation is no merging: it happens with merge_consecutive off too."""
    assert [("system", "a\n\nb")] == comes_to(
        System("a"), System("b"), transformation={"merge_consecutive": False}
    )


# Form.


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([System("a", Section("s", "b", cache=True), "c")], ["a\n\nb", "c"]),
        ([System("a", cache=True), System("b")], ["a", "b"]),
        ([Section("s", "a", cache=True), Section("t", "b", cache=True)], ["a", "b"]),
        (
            [Section("s", "a", Section("t", "b", cache=True), "c"), System("d")],
            ["a\n\nb", "c\n\nd"],
        ),
        ([System("a"), Section("s", "b", cache=True)], ["a\n\nb"]),
        ([System("a"), System("b")], ["a\n\nb"]),
    ],
)
def test_one_text_block_for_each_cache_segment(content: list[Any], expected: list[str]) -> None:
    """The system message is one text block, unless cache marks split it."""
    [message] = render(Timeline(*content)).messages
    assert expected == [block.text for block in message.content]  # type: ignore[union-attr]


def test_cache_marks_stand_on_the_block_before_them() -> None:
    """A cache mark is on the last block of what it covers, and on no other."""
    [message] = render(Timeline(System("a", Section("s", "b", cache=True), "c"))).messages
    assert (TextBlock("a\n\nb", "default"), TextBlock("c")) == message.content


def test_recorded_cache_marks_split_too() -> None:
    """A cache mark in a recorded system message splits the text behind its block."""
    history = History([Message("system", [TextBlock("a", "1h"), TextBlock("b")])])
    [message] = render(Timeline(System("0"), history, System("c"))).messages
    assert (TextBlock("0\n\na", "1h"), TextBlock("b\n\nc")) == message.content


@pytest.mark.parametrize(
    "nothing", [System(""), Section("a", ""), System(Section("a", "")), System(None)]
)
def test_empty_content(nothing: Any) -> None:
    """What is empty makes no item and no message."""
    assert [("user", "u")] == comes_to(nothing, User("u"))
    assert [("system", "a\n\nb")] == comes_to(System("a"), nothing, System("b"))


@given(st.lists(st.lists(st.sampled_from(["a", "b", ""]), min_size=1), min_size=1))
def test_any_items_are_joined_by_blank_lines(items: list[list[str]]) -> None:
    """Any system content is its texts with a blank line between them, empty ones skipped."""
    texts = [text for item in items for text in item if text]
    expected = [("system", "\n\n".join(texts))] if texts else []
    assert expected == comes_to(*(System(*map(Text, item)) for item in items))


# Ids.


def test_the_same_section_id_twice() -> None:
    """The same section id twice in system content is an error that names both lines."""
    first = this_line() + 2
    tree = Timeline(
        System(Section("rules", "a")),
        User("u"),
        System(
            Section("rules", "b"),
        ),
    )
    error = raised(PlacementError, lambda: render(tree))
    assert (
        "the id 'rules' is used twice in one Timeline",
        "give one of them a different id",
        (f"{__file__}:{first + 3}", f"{__file__}:{first}"),
    ) == (error.what, error.fix, error.at)


@pytest.mark.parametrize(
    "content",
    [
        [System(Section("a", "1")), Section("a", "2")],
        [Section("a", "1"), System(Section("a", "2"))],
        [System(Section("a", "1")), System(Fragment(Section("a", "2")))],
        [Fragment(Section("a", "1")), System("s", Section("a", "2"))],
        [System(Section("a", "1")), History([Message("user", "u")]), Section("a", "2")],
    ],
)
def test_all_system_content_is_one_set_of_siblings(content: list[Any]) -> None:
    """A section inside a system turn and a loose one are siblings."""
    with pytest.raises(PlacementError, match=re.escape("the id 'a' is used twice")):
        render(Timeline(*content))


def test_the_same_id_on_other_levels() -> None:
    """An id may come back inside another section, and inside another turn."""
    tree = [
        System(Section("a", Section("a", "1"))),
        Section("b", Section("a", "2")),
        User(Section("a", "3")),
    ]
    assert [("system", "1\n\n2"), ("user", "3")] == comes_to(*tree)


# The pass.


@pytest.mark.parametrize(
    "tree",
    [
        Timeline(User("u"), Assistant("a")),
        Timeline(System("s", Section("a", "x")), User("u")),
        Timeline(History([Message("user", "u")])),
    ],
)
def test_nothing_to_do(tree: Timeline) -> None:
    """Without system content, or with one turn of it in front, the tree is the same object."""
    assert did_nothing("merge_system", tree)


def test_a_turn_alone_is_moved_as_it_is() -> None:
    """One system turn behind the conversation becomes the first child, the same object."""
    tree = Timeline(User("u"), System("s"))
    assert tree.content[1] is stage("merge_system", tree).content[0]


def test_done_twice() -> None:
    """What is consolidated is consolidated: a second time changes nothing."""
    once = stage("merge_system", Timeline(User("u"), System("a"), Section("s", Value("b"))))
    assert once is stage("merge_system", once)
