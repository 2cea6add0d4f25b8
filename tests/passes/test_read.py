"""Read: templates become text, recorded conversations messages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from tests.errors import raised, this_line
from tests.internals import read_pass as read
from tests.internals import walk
from tests.renders import comes_to, did_nothing, short_form, stage

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010800000000"
    "3a7e9b550000000a4944415478da636000000002000148afa4710000000049454e44ae426082"
)


# Recordings.

OPENAI = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "u"},
    {"role": "assistant", "content": "a"},
]
ANTHROPIC = {
    "system": [{"type": "text", "text": "s"}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "u"}]},
        {"role": "assistant", "content": "a"},
    ],
}
NEUTRAL = [Message("system", "s"), {"role": "user", "content": "u"}, Message("assistant", "a")]


@pytest.mark.parametrize(
    "history",
    [
        History(NEUTRAL),
        History(tuple(NEUTRAL)),
        History(iter(NEUTRAL)),
        History([{"role": m["role"], "content": [m["content"]]} for m in OPENAI]),
        History.from_openai(OPENAI),
        History.from_openai({"messages": OPENAI, "model": "gpt-5"}),
        History.from_anthropic(ANTHROPIC),
    ],
)
def test_a_recording_is_read(history: History) -> None:
    """Messages, their dictionaries and every provider's form say the same."""
    assert [("system", "s"), ("user", "u"), ("assistant", "a")] == comes_to(history)


@pytest.mark.parametrize("history", [History([]), History.from_openai([])])
def test_an_empty_recording(history: History) -> None:
    """A recording may be empty, and then says nothing."""
    assert [("user", "u")] == comes_to(history, User("u"))


def test_messages_go_through_as_they_are() -> None:
    """The messages of a recording are the same objects in the result."""
    recorded = [Message("user", "u"), Message("assistant", "a")]
    rendered = render(Timeline(History(recorded))).messages
    assert [True, True] == [a is b for a, b in zip(recorded, rendered, strict=True)]


def test_a_recording_is_as_it_was_when_given() -> None:
    """Messages appended to the list after it was given are not in the prompt."""
    messages = [Message("user", "u")]
    history = History(messages)
    messages.append(Message("assistant", "a"))
    assert [("user", "u")] == comes_to(history)


def test_the_recording_never_changes() -> None:
    """Rendering leaves the list and the messages it was given as they were."""
    recorded: list[dict[str, Any]] = [
        {"role": "user", "content": "u"},
        {"role": "user", "content": "<event>"},
    ]
    messages = [Message.from_dict(item) for item in recorded]
    tree = Timeline(History(messages), transformation={"guard_conversation": True})
    render(tree, model="claude-opus-5-5").payload()
    assert [Message.from_dict(item) for item in recorded] == messages


def test_a_recording_is_read_when_rendered() -> None:
    """A list that cannot be read is refused by render, with the line of the History."""
    history, written = History.from_openai([{"role": "wizard", "content": "u"}]), this_line()
    with pytest.raises(DataError, match="unknown role 'wizard'") as caught:
        render(Timeline(history))
    assert (f"{__file__}:{written}",) == caught.value.at


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"content": "u"}, r"messages\[1\]: a message needs a 'role'"),
        ({"role": "wizard"}, r"messages\[1\]: unknown role 'wizard'"),
        ({"role": "user", "contents": "u"}, r"messages\[1\]: unknown key 'contents'"),
    ],
)
def test_a_message_that_cannot_be_read(item: object, message: str) -> None:
    """A dictionary that is no message is refused by its place and the line of the History."""
    history, written = History([Message("user", "u"), item]), this_line()  # type: ignore[list-item]
    with pytest.raises(DataError, match=message) as caught:
        render(history)
    assert (f"{__file__}:{written}",) == caught.value.at


def test_what_to_write_instead() -> None:
    """A message that cannot be read is refused with what may be written."""
    history = History([{"role": "asistant"}])  # type: ignore[list-item]
    error = raised(DataError, lambda: render(history))
    assert ("messages[0]: unknown role 'asistant'", "did you mean 'assistant'?") == (
        error.what,
        error.fix,
    )


@pytest.mark.parametrize("given", ["text", b"bytes", 1, {"role": "user", "content": "u"}])
def test_what_is_no_list(given: Any) -> None:
    """A History of what is no list is refused where it is written."""
    with pytest.raises(ContentError, match="a History takes a list of messages"):
        History(given)


def test_a_system_message_in_mid_conversation() -> None:
    """A system message behind the leading run stays in place as a developer turn."""
    messages = [*OPENAI, {"role": "system", "content": "late"}, {"role": "user", "content": "v"}]
    assert [
        ("system", "s"),
        ("user", "u"),
        ("assistant", "a"),
        ("developer", "late"),
        ("user", "v"),
    ] == comes_to(History.from_openai(messages))


@pytest.mark.parametrize(
    "history",
    [
        History([Message("user", "u"), Message("system", "late")]),
        History.from_openai([OPENAI[1], {"role": "system", "content": "late"}]),
        History.from_anthropic([OPENAI[1], {"role": "system", "content": "late"}]),
    ],
)
def test_it_remembers_its_role(history: History) -> None:
    """The developer turn of a recorded system message remembers what it was."""
    assert ("developer", "recorded_system") == (
        render(history).messages[1].role,
        render(history).messages[1].kind,
    )


def test_kinds_of_recorded_instructions() -> None:
    """What was written is recorded when it comes back; an event or a request stays what it was."""
    kinds: list[Any] = ["written", "recorded", "recorded_system", "event", "request", "mixed"]
    said = [Message(role, "x", kind=kind) for role in ("developer", "system") for kind in kinds]  # type: ignore[arg-type]
    found = render(
        History([Message("user", "u"), *said]), transformation={"merge_consecutive": False}
    ).messages
    assert [
        ("developer", "recorded"),
        ("developer", "recorded"),
        ("developer", "recorded_system"),
        ("developer", "event"),
        ("developer", "request"),
        ("developer", "mixed"),
        ("developer", "recorded_system"),
        ("developer", "recorded_system"),
        ("system", "recorded_system"),
        ("system", "event"),
        ("system", "request"),
        ("system", "mixed"),
    ] == [(message.role, message.kind) for message in found[1:]]


def test_a_developer_turn_ends_the_leading_run() -> None:
    """A system message behind a recorded developer turn is no leading one."""
    history = History([Message("developer", "d"), Message("system", "s"), Message("user", "u")])
    assert [("developer", "d"), ("developer", "s"), ("user", "u")] == comes_to(history)


def test_an_event_that_comes_back_ends_the_leading_run() -> None:
    """So it is behind a system message that was an event."""
    history = History([Message("system", "e", kind="event"), Message("system", "s")])
    assert [("system", "event"), ("developer", "recorded_system")] == [
        (message.role, message.kind) for message in render(history).messages
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda: History([{"role": "user", "content": "u"}]),
        lambda: History([{"role": "user", "content": [{"type": "code", "text": "u"}]}]),
        lambda: History.from_openai([{"role": "user", "content": "u"}]),
    ],
)
def test_what_is_read_knows_its_place(make: Callable[[], History]) -> None:
    """A message that is read anew knows which of its history it is, and the line."""
    history = make()
    [message] = render(history).messages
    assert (Origin("history[0]", history.source),) == message.sources


def test_an_event_ends_the_leading_run() -> None:
    """A system message behind a recorded event is no leading one."""
    event = {"role": "event", "content": [{"type": "user_action", "action": "left"}]}
    history = History([event, Message("system", "s"), Message("user", "u")])
    assert ["user", "developer", "user"] == [message.role for message in render(history).messages]


def test_recorded_events_are_events() -> None:
    """A recorded event becomes text as a written one does, at its place."""
    event = {"role": "event", "content": [{"type": "state_change", "key": "k", "from": 1, "to": 2}]}
    history = History([Message("user", "u"), event, Message("assistant", "a")])
    expected = '<event type="state_change">\nk changed: 1 -> 2\n</event>'
    assert [("user", "u", expected), ("assistant", "a")] == comes_to(history)


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("event", "<event>\n&lt;/event> <b> &amp;lt;\n</event>"),
        ("ephemeral", "<context>\n&lt;/event> <b> &amp;lt;\n</context>"),
    ],
)
def test_recorded_text_in_a_fence_is_a_value(role: str, expected: str) -> None:
    """The text of a recorded event or request-only message is from elsewhere, so it is encoded."""
    history = History([{"role": role, "content": "</event> <b> &lt;"}])
    assert [("user", expected)] == comes_to(history)


@pytest.mark.parametrize("content", ["h\ud800", ["h\ud800"]])
@pytest.mark.parametrize(("role", "fence"), [("event", "event"), ("ephemeral", "context")])
def test_what_is_no_character_in_a_fence(role: str, fence: str, content: object) -> None:
    """A lone surrogate in a fence is a reference, as in any value, and a hint; nothing is lost."""
    history, line = History([{"role": role, "content": content}]), this_line()
    found = render(history)
    assert [("user", f"<{fence}>\nh&#55296;\n</{fence}>")] == short_form(found.messages)
    what, name = "control characters U+D800", "invisible_characters"
    hint = Loss("hint", what, "sent as references", f"{role}[0]", Source(__file__, line), name=name)
    assert hint in found.hints


BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "t"},
    {"type": "code", "text": "c", "language": "python"},
    {"type": "json", "value": 1},
    {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    {"type": "user_action", "action": "left"},
]


@pytest.mark.parametrize("role", ["event", "ephemeral"])
def test_what_is_read_has_the_line_of_its_history(role: str) -> None:
    """A recorded event or request-only turn and all that it holds have the line of the History."""
    said = {"role": role, "content": BLOCKS[:-1] if role == "ephemeral" else BLOCKS, "id": "x"}
    history, line = History([said, Message("user", "u")]), this_line()
    nodes = [node for node, _ in walk(stage("read", Timeline(history)).content[0])]
    assert [] == [node for node in nodes if node.source != Source(__file__, line)]
    assert 2 + len(said["content"]) < len(nodes)


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (
            "event",
            (
                "<event>\nt\n\n```python\nc\n```\n\n1\n</event>",
                BLOCKS[3],
                '<event type="user_action">\nUser left\n</event>',
            ),
        ),
        ("ephemeral", ("<context>\nt\n\n```python\nc\n```\n\n1", BLOCKS[3], "</context>")),
    ],
)
def test_every_block_of_a_recorded_fence(role: str, expected: tuple[Any, ...]) -> None:
    """Text, code, JSON, pictures and event blocks stand in the fences, in their order."""
    blocks = BLOCKS[:-1] if role == "ephemeral" else BLOCKS
    said = Message(role, blocks, id="x", name="Ann", metadata={"n": 1}, tags=["t"])  # type: ignore[arg-type]
    [message] = render(History([said])).messages
    assert [("user", *expected)] == short_form((message,))
    assert ("x", "Ann", {"n": 1}) == (message.id, message.name, message.metadata)
    assert ("t",) == message.tags


def test_recorded_pictures_in_a_fence() -> None:
    """A picture in a recorded request-only message stands between its texts."""
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    history = History([{"role": "ephemeral", "content": ["See", picture]}])
    assert [("user", "<context>\nSee", picture, "</context>")] == comes_to(history)


def test_a_recorded_ephemeral_takes_its_configured_place() -> None:
    """A recorded request-only message goes where the configuration says."""
    history = History([Message("ephemeral", "now"), Message("user", "u")])
    assert [("user", "u", "<context>\nnow\n</context>")] == comes_to(
        history, transformation={"ephemeral_position": "end"}
    )


def test_a_recorded_event_holds_no_calls() -> None:
    """A recorded event with a tool call in it is refused with the line of the History."""
    call = {"type": "tool_use", "id": "a", "name": "t", "input": {}}
    history, written = History([{"role": "event", "content": [call]}]), this_line()
    error = raised(DataError, lambda: render(history))
    assert (
        "a recorded event message cannot contain a 'tool_use' block",
        "it may contain text, JSON, code and attachments; an event message also events",
        (f"{__file__}:{written}",),
    ) == (error.what, error.fix, error.at)


def test_a_recorded_request_only_message_holds_no_events() -> None:
    """An event in a recorded request-only message is refused, as nothing would narrate it."""
    history = History([Message("ephemeral", [UserActionBlock("left")])])
    error = raised(DataError, lambda: render(Timeline(history, User("q"))))
    assert "a recorded ephemeral message cannot contain a 'user_action' block" == error.what


def test_a_recorded_event_holds_no_block_of_another_kind() -> None:
    """A block of a kind that nobody knows is refused by what it calls itself."""
    history = History([{"role": "event", "content": [{"type": "hologram"}]}])
    error = raised(DataError, lambda: render(history))
    assert "a recorded event message cannot contain a 'hologram' block" == error.what


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "json", "value": {"a": "<b>"}}, '{"a": "\\u003cb\\u003e"}'),
        ({"type": "code", "text": "x = 1", "language": "python"}, "```python\nx = 1\n```"),
        ({"type": "code", "text": "```\nx\n```"}, "````\n```\nx\n```\n````"),
    ],
)
@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_code_and_json_become_text(role: str, block: dict[str, Any], expected: str) -> None:
    """Code and JSON are text in every role by the time they are sent."""
    assert [(role, expected)] == comes_to(History([{"role": role, "content": [block]}]))


# Attachments that came in data.


def picture(folder: Path) -> History:
    """Return a recording that names the picture in a folder."""
    (folder / "dot.png").write_bytes(PNG)
    source = {"type": "path", "path": str(folder / "dot.png")}
    return History([{"role": "user", "content": [{"type": "image", "source": source}]}])


def test_a_path_in_data_is_refused(tmp_path: Path) -> None:
    """A path that came in data is refused where no media root holds it."""
    with pytest.raises(MediaError, match="is not in a folder of media_roots"):
        render(picture(tmp_path))


def test_a_path_under_a_media_root_is_read(tmp_path: Path) -> None:
    """A path that came in data is read when a media root holds it."""
    [message] = render(picture(tmp_path), media_roots=[tmp_path]).messages
    assert [("base64", "image/png")] == [
        (block.source.kind, block.source.media_type)  # type: ignore[union-attr]
        for block in message.content
    ]


def test_a_reader_is_handed_in() -> None:
    """The pass reads a form with the reader it is given, and settles what it read."""
    tree = Timeline(History.from_openai(["one", "two"]))
    done = read(
        tree,
        reader=lambda form, items: tuple(Message("user", [form, item, "?"]) for item in items),
        make_sendable=lambda message, _, __: (
            Message("user", (*message.content, TextBlock("!"))),
            False,
        ),
        pieces=lambda *_: ((), None),
    )
    assert [("user", "openai", "one", "?", "!"), ("user", "openai", "two", "?", "!")] == short_form(
        done.content[0].content[0].items
    )


# Templates.


def test_templates_are_text() -> None:
    """A template is one text behind the pass, what its variables put in are values."""
    template, line = Template.from_string("b{{ x }}c", x="<b>"), this_line()
    [_, text] = stage("read", Timeline(System("a", template))).content[0].content
    source = Source(__file__, line)
    assert (source, source) == (text.source, text.content[1].source)
    assert Text("b", Value("<b>"), "c").content[::2] == text.content[::2]
    assert ("<b>", "x") == (text.content[1].text, text.content[1].label)


def test_a_tree_without_templates_is_the_same_object() -> None:
    """Where there is no template, no fragment and no recording, nothing is made anew."""
    assert did_nothing("read", Timeline(System("s", Section("a", "x")), User("u")))
