"""Place: request-only turns at their position, and nothing inside a batch of tool calls."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import raised, this_line
from tests.renders import ShortForm, comes_to, did_nothing, only_text, stage

APART = {"role_mapping": {"event": "developer", "ephemeral": "developer"}}


def ctx(content: str, attributes: str = "") -> str:
    """Return a text in the fence of request-only content."""
    return f"<context{attributes}>\n{content}\n</context>"


def placed(*content: Any, **config: Any) -> list[ShortForm]:
    """Return the messages, events and request-only turns in a role of their own."""
    return comes_to(*content, transformation={**APART, **config})


def call(id: str) -> Assistant:
    """Return an assistant turn of one call."""
    return Assistant(ToolUse("look_up", {}, id=id))


def left() -> Event:
    """Return an event."""
    return Event(UserAction("left"))


LEFT = '<event type="user_action">\nUser left\n</event>'
CALLED = ("assistant", ("call", "a", "look_up"))
ANSWERED = ("tool", ("result", "a", "rain"))
RAIN = TextBlock("rain")


# The fence.


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (lambda: Ephemeral("x"), "<context>\nx\n</context>"),
        (lambda: Ephemeral("x", type="time"), '<context type="time">\nx\n</context>'),
        (lambda: Ephemeral("x", title="Now"), '<context title="Now">\nx\n</context>'),
        (
            lambda: Ephemeral("x", title="Now", type="time"),
            '<context type="time" title="Now">\nx\n</context>',
        ),
        (
            lambda: Ephemeral("x", title='"<&>\n'),
            '<context title="&quot;&lt;&amp;&gt;&#10;">\nx\n</context>',
        ),
        (lambda: Ephemeral("x", type="'"), '<context type="&#39;">\nx\n</context>'),
        (lambda: Ephemeral("x", title=Value("'")), '<context title="&#39;">\nx\n</context>'),
        (lambda: Grounding("g", "x"), "<context>\nx\n</context>"),
        (lambda: Grounding("g", "x", title="Now"), '<context title="Now">\nx\n</context>'),
        (
            lambda: Ephemeral("x", Section("s", "y", title="Y")),
            "<context>\nx\n\n## Y\ny\n</context>",
        ),
    ],
)
def test_the_fence(turn: Any, expected: str) -> None:
    """Request-only content stands in a fence that tells its type and title."""
    assert expected == only_text(turn())


@pytest.mark.parametrize(
    ("delimiter", "expected"),
    [
        (("<now>", "</now>"), "<now>\nTitle\n\nx\n</now>"),
        ("NOW: ", "NOW: Title\n\nx"),
        (None, "Title\n\nx"),
    ],
)
def test_other_delimiters(delimiter: Any, expected: str) -> None:
    """Another delimiter has no attributes; the title is said inside of it."""
    assert expected == only_text(
        Ephemeral("x", title="Title"), transformation={"delimiters": {"ephemeral": delimiter}}
    )


@pytest.mark.parametrize(
    ("delimiter", "expected"),
    [
        (("<now>", "</now>"), "<now>\n# &lt;T&gt;\n\nx\n</now>"),
        ("NOW: ", "NOW: &#35; &lt;T&gt;\n\nx"),
        (None, "&#35; &lt;T&gt;\n\nx"),
    ],
)
def test_a_title_where_nothing_closes(delimiter: Any, expected: str) -> None:
    """A title is encoded; it heads nothing where no fence stands around it."""
    assert expected == only_text(
        Ephemeral("x", title=Value("# <T>")),
        transformation={"delimiters": {"ephemeral": delimiter}},
    )


@pytest.mark.parametrize("role", ["user", "developer", "system"])
@pytest.mark.parametrize("turn", [Ephemeral("x"), Grounding("g", "x")])
def test_the_role_that_is_asked_for(role: str, turn: Node) -> None:
    """A request-only turn is sent in the role the configuration asks for."""
    [message] = render(turn, transformation={"role_mapping": {"ephemeral": role}}).messages
    assert (role, "request") == (message.role, message.kind)


@pytest.mark.parametrize(
    ("model", "role"),
    [
        ("claude-opus-5-5", "developer"),
        ("claude-3-haiku", "developer"),
        ("gpt-5", "developer"),
        ("gpt-4", "developer"),
        ("gpt-3.5-turbo", "user"),
        ("llama-4", "user"),
        (None, "user"),
    ],
)
def test_the_role_of_a_target(model: str | None, role: str) -> None:
    """Every provider and model has its role for request-only turns."""
    [message] = render(Ephemeral("x"), model=model).messages
    assert role == message.role


PICTURE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}


def picture() -> Image:
    """Return a picture."""
    return Image.from_url("https://example.org/a.png")


FLEETING: dict[str, Callable[[], Node]] = {
    "ephemeral": lambda: Ephemeral("See", picture(), "there"),
    "grounding": lambda: Grounding("g", "See", Section("s", picture()), "there"),
    "recorded": lambda: History(
        [{"role": "ephemeral", "content": ["See", PICTURE, "there"]}]  # type: ignore[list-item]
    ),
}


@pytest.mark.parametrize("role", ["user", "developer", "system"])
@pytest.mark.parametrize("write", FLEETING.values(), ids=FLEETING)
def test_an_attachment_is_in_a_turn_of_the_user(write: Callable[[], Node], role: str) -> None:
    """Request-only content with an attachment is a user turn: no instruction can hold one."""
    roles = {"role_mapping": {"ephemeral": role}}
    assert [("user", "<context>\nSee", PICTURE, "there\n</context>")] == comes_to(
        write(), transformation=roles
    )


@pytest.mark.parametrize("role", ["user", "developer", "system"])
def test_a_hint_tells_of_an_attachment_in_an_instruction(role: str) -> None:
    """The hint names the turn and its line; there is none where a user turn was asked for."""
    content = [Ephemeral("See", picture()), Event("Seen", picture())]
    line = f"{__file__}:{this_line() - 1}"
    roles = {"role_mapping": {"ephemeral": role, "event": role}}
    hints = render(Timeline(User("u"), *content), transformation=roles).hints
    why = "an instruction cannot contain an attachment, so it is sent in a user turn"
    assert [
        ("hint", f"{kind} as an instruction", why, f"{kind}[0]", line)
        for kind in ("ephemeral", "event")
        if role != "user"
    ] == [(loss.kind, loss.what, loss.why, loss.path, str(loss.source)) for loss in hints]


@pytest.mark.parametrize(
    ("model", "content"),
    [
        ("gpt-5", {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}),
        ("claude-opus-5-5", PICTURE),
        ("claude-opus-4-5", PICTURE),
    ],
)
def test_a_picture_in_a_grounding_is_sent(model: str, content: Any) -> None:
    """Where instructions have a role of their own, a picture is sent beside the words of a user."""
    tree = Timeline(System("s"), Grounding("g", "See", picture()), User("u"))
    payload: Any = render(tree, model=model).payload()
    assert ("user", content) == (
        payload["messages"][-1]["role"],
        payload["messages"][-1]["content"][1],
    )


def test_events_and_request_only_turns_have_roles_of_their_own() -> None:
    """The roles of events and of request-only turns are set apart from each other."""
    roles = {"role_mapping": {"event": "developer", "ephemeral": "system"}}
    assert [("user", "u"), ("developer", LEFT), ("system", ctx("x"))] == comes_to(
        User("u"), left(), Ephemeral("x"), transformation=roles
    )


# Positions.


def around(entry: Node, **config: Any) -> list[ShortForm]:
    """Return the messages of a conversation that an entry is written into the middle of."""
    conversation = [
        System("s"),
        User("one"),
        Assistant("two"),
        entry,
        User("three"),
        left(),
        Assistant("four"),
    ]
    return placed(*conversation, **config)


ONE = [("user", "one"), ("assistant", "two")]
THREE = [("user", "three"), ("developer", LEFT), ("assistant", "four")]
X = [("developer", ctx("x"))]
S = [("system", "s")]
AT = {
    "flow": S + ONE + X + THREE,
    "after_system": S + X + ONE + THREE,
    "start": S + X + ONE + THREE,
    "before_user": S + ONE + X + THREE,
    "end": S + ONE + THREE + X,
}


@pytest.mark.parametrize(("position", "expected"), AT.items())
def test_the_position_that_is_configured(position: str, expected: list[ShortForm]) -> None:
    """An ephemeral stands where the configuration says."""
    assert expected == around(Ephemeral("x"), ephemeral_position=position)


@pytest.mark.parametrize(("position", "expected"), AT.items())
@pytest.mark.parametrize("configured", AT)
def test_its_own_position_wins(position: str, expected: list[ShortForm], configured: str) -> None:
    """An ephemeral's own position wins over the configuration."""
    entry = Ephemeral("x", position=position)
    assert expected == around(entry, ephemeral_position=configured)


@pytest.mark.parametrize("configured", AT)
def test_a_grounding_stands_before_the_user(configured: str) -> None:
    """A grounding stands before the last turn of a user, whatever is configured for ephemerals."""
    assert AT["before_user"] == around(Grounding("g", "x"), ephemeral_position=configured)


@pytest.mark.parametrize(("position", "expected"), AT.items())
def test_only_its_own_position_moves_a_grounding(position: str, expected: list[ShortForm]) -> None:
    """A grounding's own position moves it."""
    assert expected == around(Grounding("g", "x", position=position))


def test_all_positions_in_order() -> None:
    """The order is system, after_system, start, the conversation, end."""
    tree = [
        Ephemeral("5", position="end"),
        Ephemeral("2", position="start"),
        Ephemeral("1", position="after_system"),
        User("a"),
        Ephemeral("3"),
        Ephemeral("4", position="before_user"),
        Assistant("b"),
        User("c"),
        System("s"),
    ]
    expected = [
        ("system", "s"),
        ("developer", ctx("1"), ctx("2")),
        ("user", "a"),
        ("developer", ctx("3")),
        ("assistant", "b"),
        ("developer", ctx("4")),
        ("user", "c"),
        ("developer", ctx("5")),
    ]
    assert expected == placed(*tree)


@pytest.mark.parametrize("position", ["after_system", "start", "before_user", "end"])
def test_the_order_within_a_position(position: str) -> None:
    """Within a position the lower order comes first, then the one written first."""
    entries = [
        Ephemeral("d", position=position, order=1),
        Ephemeral("b", position=position),
        Ephemeral("a", position=position, order=-0.5),
        Grounding("g", "c", position=position),
    ]
    [message] = [m for m in placed(User("u"), *entries) if m[0] == "developer"]
    assert ("developer", ctx("a"), ctx("b"), ctx("c"), ctx("d")) == message


def test_the_order_says_nothing_of_the_flow() -> None:
    """What stays in the flow stays where it was written, whatever its order."""
    assert [("developer", ctx("a")), ("user", "u"), ("developer", ctx("b"))] == placed(
        Ephemeral("a", order=2), User("u"), Ephemeral("b", order=1)
    )


# Anchors.


@pytest.mark.parametrize("role", ["user", "developer", "system"])
def test_an_event_is_no_turn_of_a_user(role: str) -> None:
    """before_user is before the last turn a user wrote, not before an event mapped to user."""
    roles = {"role_mapping": {"event": role, "ephemeral": "developer"}}
    first, *_ = comes_to(
        User("u"), Assistant("a"), left(), Grounding("g", "x"), transformation=roles
    )
    assert ("developer", ctx("x")) == first


def test_a_request_only_turn_is_no_turn_of_a_user() -> None:
    """before_user is not before a request-only turn that is mapped to user."""
    assert [("user", ctx("x"), "u"), ("assistant", "a"), ("user", ctx("late"))] == comes_to(
        User("u"), Assistant("a"), Ephemeral("late"), Grounding("g", "x")
    )


def test_a_developer_turn_is_no_turn_of_a_user() -> None:
    """before_user is not before a developer turn."""
    assert [("developer", ctx("x")), ("user", "u"), ("developer", "d")] == placed(
        User("u"), Developer("d"), Grounding("g", "x")
    )


@pytest.mark.parametrize("generic", [User("v"), Turn("user", "v")])
def test_the_last_of_several(generic: Node) -> None:
    """before_user is directly before the last turn of a user, also behind another one."""
    assert [("user", "u"), ("developer", ctx("x")), ("user", "v")] == placed(
        Grounding("g", "x"), User("u"), generic
    )


def test_a_user_turn_of_results_is_not_what_a_user_wrote() -> None:
    """A user turn that holds only tool results is a tool's answer, not a user's words."""
    tree = [User("u"), call("a"), User(ToolResult("a", "rain")), Grounding("g", "x")]
    assert [("developer", ctx("x")), ("user", "u"), CALLED, ANSWERED] == placed(*tree)


def test_a_recorded_turn_of_results_is_not_what_a_user_wrote() -> None:
    """The same holds for a recorded user message that holds only tool results."""
    recorded = [
        Message("user", "u"),
        Message("assistant", [ToolUseBlock("a", "look_up", "{}")]),
        Message("user", [ToolResultBlock("a", (RAIN,))]),
    ]
    first, *_ = placed(History(recorded), Grounding("g", "x"))
    assert ("developer", ctx("x")) == first


ASKED = [Message("user", "u"), Message("assistant", [ToolUseBlock("a", "look_up", "{}")])]
RAINS = ToolResultBlock("a", (RAIN,))


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ([Message("user", [RAINS, TextBlock("And?")])], 3),
        ([Message("user", [TextBlock("And?"), RAINS])], 3),
        ([Message("user", [RAINS]), Message("assistant", "x")], 0),
        ([Message("user", [RAINS]), Message("assistant", "x"), Message("user", ["v", "w"])], 4),
        ([Message("user", [RAINS]), Message("assistant", "x"), Message("user", "v")], 4),
    ],
)
def test_the_last_words_of_a_recording(said: list[Message], place: int) -> None:
    """A grounding stands before the last words of a user, and behind results they stand beside."""
    assert X[0] == placed(History([*ASKED, *said]), Grounding("g", "x"))[place]


@pytest.mark.parametrize(("kind", "place"), [("event", 0), ("request", 0), ("trailed", 2)])
def test_a_recorded_event_is_not_what_a_user_wrote(kind: Any, place: int) -> None:
    """A recorded message that was no user's word before is none now."""
    recorded = [
        Message("user", "u"),
        Message("assistant", "a"),
        Message("user", "x", kind=kind),
    ]
    assert X[0] == placed(History(recorded), Grounding("g", "x"))[place]


RECORDED = [
    Message("user", "one"),
    Message("assistant", "two"),
    Message("user", "three"),
    Message("assistant", "four"),
]


@pytest.mark.parametrize("tail", [[], [Assistant("five")], [left()]])
def test_the_user_of_a_recording(tail: list[Node]) -> None:
    """The last turn of a user may stand inside a recording, which is then parted."""
    messages = placed(Grounding("g", "x"), History(RECORDED), *tail)
    assert [("user", "one"), ("assistant", "two"), *X, ("user", "three")] == messages[:4]


def test_a_recording_that_begins_with_it() -> None:
    """The last turn of a user may be the first of a recording."""
    assert [*X, ("user", "one"), ("assistant", "two")] == placed(
        Grounding("g", "x"), History(RECORDED[:2])
    )


@pytest.mark.parametrize("position", ["after_system", "start"])
def test_without_a_system_message(position: str) -> None:
    """Without system content an entry after it stands first, once."""
    assert [*X, ("user", "u"), ("assistant", "a")] == placed(
        User("u"), Assistant("a"), Ephemeral("x", position=position)
    )


@pytest.mark.parametrize("content", [[], [System("s")], [Assistant("a")], [System("s"), left()]])
@pytest.mark.parametrize("position", AT)
def test_without_a_user(content: list[Node], position: str) -> None:
    """Without a turn of a user an entry stands in the messages once."""
    messages = placed(*content, Ephemeral("x", position=position))
    assert 1 == str(messages).count("context>\\nx")


@pytest.mark.parametrize("position", AT)
def test_alone(position: str) -> None:
    """A request-only turn alone is the whole prompt."""
    assert X == placed(Ephemeral("x", position=position))


# Batches of tool calls.


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (left, ("developer", LEFT)),
        (lambda: Ephemeral("x"), ("developer", ctx("x"))),
        (lambda: Grounding("g", "x", position="flow"), ("developer", ctx("x"))),
    ],
)
@pytest.mark.parametrize("role", ["user", "developer", "system"])
def test_an_entry_inside_a_batch(entry: Any, expected: ShortForm, role: str) -> None:
    """An event or request-only turn written inside a batch stands behind its last result."""
    roles = {"role_mapping": {"event": role, "ephemeral": role}}
    tree = [
        User("u"),
        Assistant(ToolUse("look_up", {}, id="a"), ToolUse("look_up", {}, id="b")),
        entry(),
        ToolMessage("a", "rain"),
        ToolMessage("b", "mud"),
        Assistant("done"),
    ]
    assert [
        ("user", "u"),
        ("assistant", ("call", "a", "look_up"), ("call", "b", "look_up")),
        ("tool", ("result", "a", "rain")),
        ("tool", ("result", "b", "mud")),
        (role, expected[1]),
        ("assistant", "done"),
    ] == comes_to(*tree, transformation=roles)


def test_between_two_results() -> None:
    """Between two results of a batch is inside of it; entries keep their order behind it."""
    tree = [
        Assistant(ToolUse("look_up", {}, id="a"), ToolUse("look_up", {}, id="b")),
        Event("1"),
        ToolMessage("a", "rain"),
        Event("2"),
        ToolMessage("b", "mud"),
        Event("3"),
    ]
    *_, last = placed(*tree)
    fenced = [f"<event>\n{number}\n</event>" for number in (1, 2, 3)]
    assert ("developer", *fenced) == last


@pytest.mark.parametrize(
    "answers",
    [
        lambda: ToolMessage("a", "rain"),
        lambda: User(ToolResult("a", "rain")),
        lambda: Turn("tool", ToolResult("a", "rain")),
        lambda: History([Message("tool", [ToolResultBlock("a", (RAIN,))])]),
    ],
)
@pytest.mark.parametrize(
    "calls",
    [
        lambda: Assistant(ToolUse("look_up", {}, id="a")),
        lambda: History([Message("assistant", [ToolUseBlock("a", "look_up", "{}")])]),
    ],
)
def test_every_form_of_a_batch(calls: Any, answers: Any) -> None:
    """Written or recorded, calls and results are a batch that nothing stands in."""
    assert [CALLED, ANSWERED, ("developer", LEFT)] == placed(calls(), left(), answers())


@pytest.mark.parametrize(
    ("recorded", "written"),
    [
        ([], [ToolMessage("a", "rain"), ToolMessage("b", "rain")]),
        ([Message.tool_result("a", "rain")], [ToolMessage("b", "rain")]),
    ],
)
def test_a_batch_that_a_recording_ends_in(recorded: list[Message], written: list[Node]) -> None:
    """An event behind a recording that ends in a batch stands behind the last result of it."""
    calls = Message("assistant", [ToolUseBlock(id, "look_up", "{}") for id in "ab"])
    history = History([Message("user", "u"), calls, *recorded])
    assert [
        ("user", "u"),
        ("assistant", ("call", "a", "look_up"), ("call", "b", "look_up")),
        ("tool", ("result", "a", "rain")),
        ("tool", ("result", "b", "rain")),
        ("developer", LEFT),
    ] == placed(history, left(), *written)


@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_recorded_instruction_inside_a_batch(role: str) -> None:
    """A recorded instruction inside a batch stands behind its last result."""
    history = History(
        [
            Message("user", "u"),
            Message("assistant", [ToolUseBlock("a", "look_up", "{}")]),
            Message(role, "late"),  # type: ignore[arg-type]
            Message("tool", [ToolResultBlock("a", (RAIN,))]),
            Message("assistant", "done"),
        ]
    )
    assert [
        ("user", "u"),
        CALLED,
        ANSWERED,
        ("developer", "late"),
        ("assistant", "done"),
    ] == placed(history)


def test_a_recorded_event_inside_a_batch() -> None:
    """A recorded event inside a batch stands behind its last result."""
    history = History(
        [
            Message("assistant", [ToolUseBlock("a", "look_up", "{}")]),
            {"role": "event", "content": [{"type": "user_action", "action": "left"}]},
            Message("tool", [ToolResultBlock("a", (RAIN,))]),
            Message("assistant", "done"),
        ]
    )
    assert [CALLED, ANSWERED, ("developer", LEFT), ("assistant", "done")] == placed(history)


def test_a_developer_turn_inside_a_batch() -> None:
    """A developer turn written inside a batch is an error that names both lines."""
    first = this_line() + 1
    tree = Timeline(
        call("a"),
        Developer("d"),
        ToolMessage("a", "rain"),
    )
    error = raised(PlacementError, lambda: render(tree))
    assert (
        "a Developer turn is between a tool call and its result",
        "write it after the last result of these calls",
        (f"{__file__}:{first + 2}", f"{__file__}:{first + 3}"),
    ) == (error.what, error.fix, error.at)


@pytest.mark.parametrize(
    "content",
    [
        [Assistant(ToolUse("t", {}, id="a"), ToolUse("t", {}, id="b"))],
        [History([Message("assistant", [ToolUseBlock(id, "t", "{}") for id in "ab"])])],
    ],
)
def test_a_developer_turn_between_two_results(content: list[Node]) -> None:
    """A developer turn between two results of a batch is an error too."""
    tree = [*content, ToolMessage("a", "1"), left(), Developer("d"), ToolMessage("b", "2")]
    with pytest.raises(PlacementError, match="a Developer turn is between"):
        render(Timeline(*tree))


def test_a_developer_turn_before_a_result_of_no_call() -> None:
    """A result that answers no call is what is wrong, not the Developer turn before it."""
    with pytest.raises(PairingError, match="there is no open tool call for the result 'x'"):
        render(Timeline(call("a"), Developer("d"), ToolMessage("x", "rain")))


def test_a_developer_turn_behind_all_results() -> None:
    """Behind the last result a Developer turn comes after what moved there."""
    assert [CALLED, ANSWERED, ("developer", LEFT), ("developer", "d"), ("user", "u")] == placed(
        call("a"), left(), ToolMessage("a", "rain"), Developer("d"), User("u")
    )


def test_an_event_that_comes_back_inside_a_batch() -> None:
    """An event that was sent as a system message stands behind the results when it comes back."""
    sent = [
        Message("user", "u"),
        Message("assistant", [ToolUseBlock("a", "look_up", "{}")]),
        Message("system", "restarted", kind="event"),
        Message("tool", [ToolResultBlock("a", (RAIN,))]),
        Message("user", "v"),
    ]
    assert [("user", "u"), CALLED, ANSWERED, ("system", "restarted"), ("user", "v")] == placed(
        History(sent)
    )


@pytest.mark.parametrize(
    "entry", [Developer("x"), Event("x"), Ephemeral("x"), Grounding("g", "x", position="end")]
)
def test_behind_a_batch_that_waits(entry: Node) -> None:
    """Behind the last calls of a conversation, which have no result yet, anything may stand."""
    *_, called, last = placed(User("u"), call("a"), entry)
    assert (CALLED, "developer") == (called, last[0])


def test_a_grounding_before_words_beside_a_result() -> None:
    """A grounding never comes between a call and its result, also where the user said more."""
    tree = [User("u"), call("a"), User(ToolResult("a", "rain"), "And?"), Grounding("g", "x")]
    assert [("user", "u"), CALLED, ANSWERED] == placed(*tree)[:3]
    assert 1 == str(placed(*tree)).count("context>\\nx")


@pytest.mark.parametrize("position", AT)
def test_a_position_inside_a_waiting_batch(position: str) -> None:
    """No position breaks a batch of which one result is still missing."""
    tree = [
        User("u"),
        Assistant(ToolUse("look_up", {}, id="a"), ToolUse("look_up", {}, id="b")),
        Ephemeral("x", position=position),
        ToolMessage("a", "rain"),
    ]
    messages = placed(*tree)
    calls = [message[0] for message in messages].index("assistant")
    assert ("tool", ("result", "a", "rain")) == messages[calls + 1]


# Any conversation.

ENTRIES = st.sampled_from(
    ["event", "flow", "after_system", "start", "before_user", "end", "grounding"]
)
STEPS = st.sampled_from(["user", "assistant", "batch", "open", "results", "system", "record"])


def entry(kind: str, name: str) -> Node:
    """Return an entry that is no part of the conversation."""
    if kind == "event":
        return Event(name)
    return Grounding(name, name) if kind == "grounding" else Ephemeral(name, position=kind)


def conversation(steps: list[str], entries: dict[int, list[str]]) -> list[Node]:
    """Return turns for steps; the entries of a number stand behind the turn of that number."""
    turns: list[list[Node]] = []
    for number, step in enumerate(steps):
        id = f"c{number}"
        results = [Message("tool", [ToolResultBlock(id, (RAIN,))])]
        turns += {
            "user": [[User(f"u{number}")]],
            "assistant": [[Assistant(f"a{number}")]],
            "system": [[System(f"s{number}")]],
            "record": [[History([Message("user", f"u{number}"), Message("assistant", "x")])]],
            "batch": [[call(id)], [ToolMessage(id, "rain")]],
            "open": [[call(id)], [User(ToolResult(id, "rain"), "And?")]],
            "results": [[call(id)], [History(results)]],
        }[step]
    for number, kinds in entries.items():
        found = [entry(kind, f"e{number}-{n}") for n, kind in enumerate(kinds)]
        turns.insert(min(number, len(turns)), found)
    return [turn for run in turns for turn in run]


@given(
    st.lists(STEPS), st.dictionaries(st.integers(0, 9), st.lists(ENTRIES, min_size=1, max_size=3))
)
def test_any_conversation(steps: list[str], entries: dict[int, list[str]]) -> None:
    """Every entry stands in the messages once, and every result directly behind its calls."""
    messages = placed(*conversation(steps, entries), merge_consecutive=False)
    names = [f"e{n}-{k}" for n, kinds in entries.items() for k in range(len(kinds))]
    texts = [message[1] for message in messages if message[0] == "developer"]
    assert sorted(names) == sorted(text.split("\n")[1] for text in texts)
    roles = "".join(message[0][0] for message in messages)
    calls = [n for n, m in enumerate(messages) if m[0] == "assistant" and m[1][0] == "call"]
    assert ["t"] * len(calls) == [roles[n + 1] for n in calls]


@given(
    st.lists(STEPS), st.dictionaries(st.integers(0, 9), st.lists(ENTRIES, min_size=1, max_size=3))
)
def test_the_conversation_keeps_its_order(steps: list[str], entries: dict[int, list[str]]) -> None:
    """Without its entries, any conversation is the messages it would be without them."""
    alone = placed(*conversation(steps, {}), merge_consecutive=False)
    among = placed(*conversation(steps, entries), merge_consecutive=False)
    assert alone == [message for message in among if message[0] != "developer"]


# The pass.


@pytest.mark.parametrize(
    "tree",
    [
        Timeline(System("s"), User("u")),
        Timeline(User("u"), Assistant(ToolUse("t", {}, id="a")), ToolMessage("a", "x")),
        Timeline(User("u"), Event("x")),
        Timeline(History(RECORDED)),
    ],
)
def test_nothing_to_do(tree: Timeline) -> None:
    """A tree in which everything stands where it belongs is the same object afterwards."""
    assert did_nothing("place", tree)


def test_other_turns_stay_as_they_are() -> None:
    """A turn that is not moved is the same object afterwards."""
    tree = Timeline(Ephemeral("x", position="end"), User("u"))
    assert tree.content[1] is stage("place", tree).content[0]
