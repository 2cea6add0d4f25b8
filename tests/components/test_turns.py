"""The turns: what becomes a message."""

from typing import Any

import pytest

from promptdsl import *
from tests.errors import lines_of, raised
from tests.internals import OPAQUE
from tests.renders import said

OPTIONS: dict[str, Any] = {
    "id": "x",
    "metadata": {"k": [1]},
    "tags": ("a", "b"),
    "audience": "model",
    "cache": True,
}
TURNS = {
    "system": System,
    "developer": Developer,
    "user": User,
    "assistant": Assistant,
    "event": Event,
}
every_turn = pytest.mark.parametrize("role", TURNS)


def test_turns_become_messages_in_order() -> None:
    """Each turn is a message of its role, where it was written."""
    tree = Timeline(
        System("a"),
        User("b"),
        Developer("c"),
        User("d"),
        Assistant("e", ToolUse("t", {}, id="1")),
        ToolMessage("1", "f"),
        Event("g"),
    )
    roles = [message.role for message in render(tree, model="gpt-5").messages]
    expected = ["system", "user", "developer", "user", "assistant", "tool", "developer"]
    assert expected == roles


@every_turn
def test_a_turn_renders_alone(role: str) -> None:
    """A single turn is a prompt of one message."""
    assert 1 == len(render(TURNS[role]("x")).messages)


@every_turn
def test_turns_take_options(role: str) -> None:
    """All turns take an id, metadata, tags, an audience and a cache mark."""
    options = TURNS[role]("x", **OPTIONS).options
    assert OPTIONS == {name: getattr(options, name) for name in OPTIONS}


@every_turn
def test_ids_and_metadata_survive(role: str) -> None:
    """The id, the metadata and the tags of a turn are those of its message, and of its origin."""
    (message,) = render(TURNS[role]("x", id="first", metadata={"k": 1}, tags=("a", "b"))).messages
    (origin,) = message.sources
    assert ("first", {"k": 1}, ("a", "b")) == (origin.id, origin.metadata, origin.tags)
    assert ("first", {"k": 1}, ("a", "b")) == (message.id, message.metadata, message.tags)
    assert "first" == origin.address


@pytest.mark.parametrize("turn", [User, Assistant])
def test_names_survive(turn: Any) -> None:
    """The name of who speaks is the message's."""
    assert "bob" == render(turn("x", name="bob")).messages[0].name


@pytest.mark.parametrize("turn", [System, Developer, Event])
@pytest.mark.parametrize("option", ["name", "merge"])
def test_only_those_who_speak_have_names(turn: Any, option: str) -> None:
    """Instructions and events have no name, and nothing to keep apart."""
    assert f"takes no {option!r}" in raised(OptionError, lambda: turn("x", **{option: 1})).what


def test_neighbours_of_one_role_merge() -> None:
    """Neighbouring turns of one role are one message of all their blocks."""
    tree = Timeline(User("a"), User("b", Text("c")), Assistant("d"), Assistant("e"))
    assert [("user", ["a", "b", "c"]), ("assistant", ["d", "e"])] == said(tree)


def test_turns_are_kept_apart() -> None:
    """``merge=False`` keeps a turn apart from its neighbours on both sides."""
    tree = Timeline(User("a"), User("b", merge=False), User("c"), User("d"))
    assert [("user", ["a"]), ("user", ["b"]), ("user", ["c", "d"])] == said(tree)


def test_a_section_inside_system_appears_once() -> None:
    """A section of a system turn is in its place, once, with its title."""
    tree = System("a", Section("s", "b", title="S"), "c")
    assert [("system", ["a\n\n## S\nb\n\nc"])] == said(tree)


def test_system_content_is_one_message() -> None:
    """All system turns and loose sections are one message, first, in document order."""
    tree = Timeline(
        System("a"), User("q"), Section("s", "b", title="S"), Assistant("r"), System("c")
    )
    expected = [("system", ["a\n\n## S\nb\n\nc"]), ("user", ["q"]), ("assistant", ["r"])]
    assert expected == said(tree)


def test_a_developer_turn_stays_where_it_was_written() -> None:
    """An instruction in the middle of a conversation is not moved to the front."""
    tree = Timeline(System("s"), User("a"), Assistant("b"), Developer("c"), User("d"))
    assert [
        ("system", ["s"]),
        ("user", ["a"]),
        ("assistant", ["b"]),
        ("developer", ["c"]),
        ("user", ["d"]),
    ] == said(tree)


def test_media_in_turns_are_blocks() -> None:
    """A picture among texts is a block between the blocks of the texts."""
    image = Image.from_url("https://example.com/x.png")
    (message,) = render(User("a", image, "b")).messages
    assert (TextBlock("a"), ImageBlock(image.block.source), TextBlock("b")) == message.content


def test_events_of_all_kinds() -> None:
    """Each event block is fenced on its own, in order, and text next to them, too."""
    tree = Event(
        "before",
        UserAction("clicked", target="help"),
        StateChange("plan", old="free", new="pro"),
        SystemEvent("timeout", source="billing"),
        "after",
    )
    assert [
        "<event>\nbefore\n</event>",
        '<event type="user_action">\nUser clicked: help\n</event>',
        '<event type="state_change">\nplan changed: free -> pro\n</event>',
        '<event type="system_event">\nbilling: timeout\n</event>',
        "<event>\nafter\n</event>",
    ] == "\n\n".join(said(tree)[0][1]).split("\n\n")


# A tool's answer.

RESULT = {"type": "tool_result", "tool_use_id": "1", "content": "a"}


def answered(*answers: Any) -> list[Message]:
    """Return the messages of tools in a conversation with two calls."""
    calls = (ToolUse("t", {}, id="1"), ToolUse("t", {}, id="2"))
    tree = Timeline(User("q"), Assistant(*calls), *answers)
    return [message for message in render(tree).messages if message.role == "tool"]


def test_a_tool_message_answers_a_call() -> None:
    """A tool's answer is a result with its call, name, content and error."""
    image = Image.from_url("https://example.com/x.png")
    first = ToolMessage("1", "a", image, name="look")
    second = ToolMessage("2", "late", is_error=True, error_type="timeout_error")
    assert [
        (ToolResultBlock("1", (TextBlock("a"), ImageBlock(image.block.source)), "look"),),
        (ToolResultBlock("2", (TextBlock("late"),), None, True, "timeout_error"),),
    ] == [message.content for message in answered(first, second)]


@pytest.mark.parametrize("empty", [(), ("",), (None,), (Text(""),)])
def test_a_tool_may_answer_with_nothing(empty: tuple[Any, ...]) -> None:
    """An answer without content still answers its call."""
    messages = answered(ToolMessage("1", *empty), ToolMessage("2", "x"))
    assert ToolResultBlock("1") == messages[0].content[0]


def test_a_tool_message_written_as_a_block() -> None:
    """A tool's answer is written like any turn."""
    with ToolMessage("1", name="t") as block:
        Text("a")
        Section("s", "b", title="S")
    messages = answered(block, ToolMessage("2", "x"))
    assert (TextBlock("a"), TextBlock("## S\nb")) == messages[0].content[0].content  # type: ignore[union-attr]


def test_tool_messages_never_merge() -> None:
    """Neighbouring answers are messages of their own."""
    assert 2 == len(answered(ToolMessage("1", "a"), ToolMessage("2", "b")))


@pytest.mark.parametrize(
    "type", ["unknown_tool", "validation_error", "execution_error", "timeout_error", "interrupted"]
)
def test_error_types_are_known(type: str) -> None:
    """Each kind of failure is the result's."""
    messages = answered(
        ToolMessage("1", "a", is_error=True, error_type=type), ToolMessage("2", "b")
    )
    assert type == messages[0].content[0].error_type  # type: ignore[union-attr]


@pytest.mark.parametrize("flag", [{}, {"is_error": False}, {"is_error": True}])
@pytest.mark.parametrize(
    "write",
    [
        lambda **kind: answered(ToolMessage("1", "a", **kind), ToolMessage("2", "b"))[0],
        lambda **kind: answered(User(ToolResult("1", "a", **kind), ToolResult("2", "b")))[0],
        lambda **kind: Message.tool_result("1", "a", **kind),
        lambda **kind: Message("tool", [ToolResultBlock("1", "a", **kind)]),
        lambda **kind: Message("tool", [{**RESULT, **kind}]),
        lambda **kind: Message.from_dict({"role": "tool", "content": [{**RESULT, **kind}]}),
    ],
)
def test_a_type_of_error_is_an_error(write: Any, flag: dict[str, bool]) -> None:
    """A result with a type of error is one of an error, wherever it is passed."""
    message = write(error_type="timeout_error", **flag)
    assert (
        ToolResultBlock("1", (TextBlock("a"),), None, True, "timeout_error"),
    ) == message.content


@pytest.mark.parametrize("write", [ToolMessage, ToolResult])
@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        ({"error_type": "timeout"}, "{}(error_type='timeout')", "did you mean 'timeout_error'?"),
        ({"is_error": "yes"}, "{}(is_error='yes')", "write True or False"),
        ({"is_error": 1}, "{}(is_error=1)", "write True or False"),
    ],
)
def test_wrong_errors_are_refused(write: Any, options: Any, what: str, fix: str) -> None:
    """A flag that is none and an unknown type of error are errors that say what to write."""
    error = raised(OptionError, lambda: write("1", "x", **options))
    assert (what.format(write.__name__), fix) == (error.what, error.fix)


@pytest.mark.parametrize("id", [None, 1, ["1"], Text("1")])
@pytest.mark.parametrize("write", [ToolMessage, ToolResult])
def test_the_call_is_a_string(write: Any, id: Any) -> None:
    """The id of the call comes first, a string."""
    error = raised(ContentError, lambda: write(id, "x"))
    assert f'{write.__name__}("call_1", "...")' == error.fix


def test_an_answer_to_no_call_is_an_error() -> None:
    """A result that answers no call is an error with its line."""

    def write() -> Timeline:
        with Timeline() as tree:
            User("q")
            ToolMessage("1", "a")
        return tree

    assert lines_of(write, 3) == raised(PairingError, lambda: render(write())).at


# Who reads it.


def test_audiences_are_selected() -> None:
    """What is for people is not sent to a model, and the other way round."""
    tree = Timeline(User("all"), User("model", audience="model"), User("people", audience="people"))
    found = [said(tree, audience=audience) for audience in ("model", "people")]
    assert [[("user", ["all", "model"])], [("user", ["all", "people"])]] == found


def test_a_block_with_something_in_it_is_not_hollow() -> None:
    """A turn written as a block costs no pass anything: only what is empty is dissolved."""
    with Timeline() as full, User():
        Text("a")
    with Timeline() as empty, User():
        pass
    assert (0, OPAQUE) == (full._mask & OPAQUE, empty._mask & OPAQUE)
