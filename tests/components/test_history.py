"""Recorded conversations as parts of a prompt."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import lines_of, raised
from tests.renders import reported, said

OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "a"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "t", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": "b"},
    {"role": "assistant", "content": "c"},
]
ANTHROPIC: dict[str, Any] = {
    "system": "s",
    "messages": [
        {"role": "user", "content": "a"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "1", "content": "b"}],
        },
        {"role": "assistant", "content": "c"},
    ],
}
EXPECTED = [
    ("system", ["s"]),
    ("user", ["a"]),
    ("assistant", ["tool_use"]),
    ("tool", ["tool_result"]),
    ("assistant", ["c"]),
]


@pytest.mark.parametrize(
    "history",
    [
        History.from_openai(OPENAI),
        History.from_openai({"messages": OPENAI}),
        History.from_anthropic(ANTHROPIC),
    ],
)
def test_a_recording_of_a_provider_is_read(history: History) -> None:
    """A list of messages or a whole request of a provider is the conversation it records."""
    assert EXPECTED == said(Timeline(history))


def test_messages_and_dictionaries_are_recorded() -> None:
    """A recording holds messages, dictionaries of messages, or both."""
    history = History([Message("user", "a"), {"role": "assistant", "content": "b"}])
    assert [("user", ["a"]), ("assistant", ["b"])] == said(history)


def test_a_message_comes_out_as_it_went_in() -> None:
    """A recorded message that needs nothing done is the message of the result."""
    message = Message("user", (TextBlock("a"),), id="x", name="bob", metadata={"k": 1})
    assert (message,) == render(History([message])).messages


def test_what_was_rendered_is_a_recording() -> None:
    """The messages of one prompt are the history of the next."""
    first = render(Timeline(System("s"), User("a"))).messages
    assert [("system", ["s"]), ("user", ["a", "b"])] == said(Timeline(History(first), User("b")))


@pytest.mark.parametrize("empty", [[], (), iter(())])
def test_a_recording_may_be_empty(empty: Any) -> None:
    """An empty recording is no message."""
    assert [("user", ["q"])] == said(Timeline(History(empty), User("q")))


RECORDS: dict[str, tuple[Callable[[Any], History], Callable[[str], Any]]] = {
    "messages": (History, lambda text: {"content": text}),
    "openai": (History.from_openai, lambda text: {"content": text}),
    "a payload": (
        lambda given: History.from_openai({"messages": given}),
        lambda text: {"content": text},
    ),
    "openai_responses": (History.from_openai_responses, lambda text: {"content": text}),
    "anthropic": (History.from_anthropic, lambda text: {"content": text}),
    "gemini": (History.from_gemini, lambda text: {"parts": [{"text": text}]}),
    "bedrock": (History.from_bedrock, lambda text: {"content": [{"text": text}]}),
    "chat_template": (History.from_chat_template, lambda text: {"content": text}),
}
"""A history of each form, and the content of its messages."""


@pytest.mark.parametrize("is_rendered", [False, True], ids=["new", "rendered"])
@pytest.mark.parametrize(("record", "content"), RECORDS.values(), ids=RECORDS)
def test_a_list_that_changes_later(
    record: Callable[[Any], History], content: Callable[[str], Any], is_rendered: bool
) -> None:
    """An append to the list of a recording is never sent, an edit of a message always is."""
    given = [{"role": "user", **content(text)} for text in ("first", *["next"] * 80)]
    prompt = Timeline(record(given))
    before = said(prompt) if is_rendered else None
    given.append({"role": "user", **content("appended")})
    given[0].update(content("edited"))
    assert before == ([("user", ["first", *["next"] * 80])] if is_rendered else None)
    assert [("user", ["edited", *["next"] * 80])] == said(prompt)


def test_an_iterator_is_read_once() -> None:
    """A recording passed as an iterator renders any number of times."""
    history = History(Message("user", text) for text in "ab")
    assert said(history) == said(history) == [("user", ["a", "b"])]


def test_recordings_stand_where_they_are_written() -> None:
    """Several recordings are among the turns, written in blocks, as parts and as arguments."""
    with detached():
        part = History([{"role": "assistant", "content": "b"}])
    with Timeline() as tree:
        User("a")
        include(part)
        History([{"role": "user", "content": "c"}])
        include(part)
    assert [
        ("user", ["a"]),
        ("assistant", ["b"]),
        ("user", ["c"]),
        ("assistant", ["b"]),
    ] == said(tree)


@given(st.text(min_size=1))
def test_any_recorded_text_is_sent_to_the_byte(text: str) -> None:
    """Whatever was said is sent as it was recorded."""
    assert [("user", [text])] == said(History([{"role": "user", "content": text}]))


A_PATH = "it is the path of a file: write History(json.loads(Path(text).read_text()));"
OF_A_TRANSCRIPT = "for the file of a Transcript, write History(Transcript.open(text))"


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ("text", "a text is one turn: write User(text) in the Timeline, without a History"),
        (b"x", "a text is one turn: write User(data.decode()) in the Timeline, without a History"),
        (" [1]", "read the JSON first: History(json.loads(text))"),
        ("a.JSONL", f"{A_PATH} {OF_A_TRANSCRIPT}"),
        (b"{}", "read the JSON first: History(json.loads(data))"),
        (None, "an empty conversation is History([])"),
        ({"role": "user", "content": "a"}, "put it in a list: History([message])"),
        (Message("user", "a"), "put it in a list: History([message])"),
        (3, "give the list itself: History(messages)"),
        (User, "give the list itself: History(messages)"),
    ],
)
def test_what_is_no_list_is_refused_where_it_is_written(given: Any, fix: str) -> None:
    """What cannot be a recording is an error at its line that says how to make one."""

    def write() -> None:
        History(given)

    error = raised(ContentError, write)
    assert lines_of(write, 1) == error.at
    assert fix == error.fix


def test_an_entry_that_is_no_message_is_refused_where_it_is_written() -> None:
    """An entry of another type has its number, at the line of the History."""

    def write() -> None:
        History([{"role": "user", "content": "a"}, "text"])  # type: ignore[list-item]

    error = raised(ContentError, write)
    assert lines_of(write, 1) == error.at
    assert "messages[1] of this History is not a message: a str" == error.what


@pytest.mark.parametrize(
    "read", [History, History.from_openai, lambda given: History.from_openai({"messages": given})]
)
def test_a_component_is_refused_where_it_is_written(read: Any) -> None:
    """A component among recorded messages is an error with both lines, and where it belongs."""

    def write() -> None:
        read(
            [
                Message("user", "a"),
                ToolMessage("1", "b"),
            ]
        )

    error = raised(ContentError, write)
    assert "a ToolMessage cannot be in the list of a History" == error.what
    assert "write it in a block: with History(...): ToolMessage(...)" == error.fix
    assert lines_of(write, 4) == error.at[1:]


def test_a_component_in_a_list_is_in_no_block() -> None:
    """The block a refused component was written in does not keep it."""
    with Timeline() as tree:
        User("a")
        raised(ContentError, lambda: History([ToolMessage("1", "b")]))
    assert [("user", ["a"])] == said(tree)


@pytest.mark.parametrize(
    ("item", "what"),
    [
        ({"role": "usr", "content": "x"}, "messages[1]: unknown role 'usr'"),
        (
            {"role": "tool", "content": "x"},
            "messages[1]: a tool message contains tool results, not a 'text' block",
        ),
    ],
)
def test_what_cannot_be_read_is_an_error_when_rendered(item: Any, what: str) -> None:
    """A message that is none is an error with its number and the line of the History."""

    def write() -> History:
        return History([{"role": "user", "content": "a"}, item])

    error = raised(DataError, lambda: render(write()))
    assert lines_of(write, 1) == error.at
    assert what == error.what


@pytest.mark.parametrize("read", [History.from_openai, History.from_anthropic])
def test_what_a_provider_never_said_is_an_error_when_rendered(read: Any) -> None:
    """A message no provider takes is an error with the line of the History."""
    history = read([{"role": "usr", "content": "a"}])
    error = raised(DataError, lambda: render(history))
    assert (str(history.source),) == error.at


def test_recorded_conversations_render(airline_conversations: list[list[dict[str, Any]]]) -> None:
    """Every recorded conversation comes out with its turns in order."""
    recorded = [[message["role"] for message in one] for one in airline_conversations]
    rendered = [
        [
            message.role
            for message in render(
                History.from_openai(one), transformation={"merge_consecutive": False}
            ).messages
        ]
        for one in airline_conversations
    ]
    assert recorded == rendered


# What a budget may take.


RECORDINGS: dict[str, Callable[..., History]] = {
    "History": History,
    "from_openai": History.from_openai,
    "from_openai_responses": History.from_openai_responses,
    "from_anthropic": History.from_anthropic,
    "from_gemini": History.from_gemini,
    "from_bedrock": History.from_bedrock,
    "from_chat_template": History.from_chat_template,
}
every_recording = pytest.mark.parametrize("name", RECORDINGS)


@every_recording
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (0, None, 0)),
        ({"keep": 3}, (3, None, 0)),
        ({"step": 0}, (0, 0, 0)),
        ({"step": 2_000, "priority": -1.5}, (0, 2_000, -1.5)),
        ({"keep": 10**30, "priority": 10**400}, (10**30, None, 10**400)),
    ],
)
def test_what_a_budget_may_take(
    name: str, options: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    """A history in any form says how many exchanges stay, its steps and its priority."""
    history = RECORDINGS[name]([], **options)
    assert expected == (history.keep, history.step, history.priority)


@every_recording
@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"keep": -1}, "write a whole number, 0 or more"),
        ({"keep": None}, "write a whole number, 0 or more"),
        ({"keep": True}, "write a whole number, 0 or more"),
        ({"keep": 1.0}, "write a whole number, 0 or more"),
        ({"step": -1}, "write a whole number, 0 or more"),
        ({"step": "1"}, "write a whole number, 0 or more"),
        ({"priority": None}, "write a number; keep=... is for the last exchanges that always stay"),
        ({"priority": True}, "write a number: the higher it is, the later a budget drops the part"),
        (
            {"priority": float("nan")},
            "write a number: the higher it is, the later a budget drops the part",
        ),
        ({"kep": 1}, "did you mean 'keep'?"),
    ],
)
def test_what_no_budget_may_take(name: str, options: dict[str, Any], fix: str) -> None:
    """Anything else is refused at its line, and leaves nothing."""

    def write() -> None:
        RECORDINGS[name]([], **options)

    with Timeline() as tree:
        error = raised(OptionError, write)
    assert (fix, lines_of(write, 1), ()) == (error.fix, error.at, tree.content)


def test_options_are_keywords() -> None:
    """Content is positional, options are not."""
    with pytest.raises(TypeError):
        History([], 3)  # type: ignore[misc]


def test_turns_are_written_in_the_block_of_a_history() -> None:
    """They are what they are outside of it: values are values, the last question is one."""
    with detached():
        turns = [
            User("a"),
            Assistant(ToolUse("t", {}, id="1")),
            ToolMessage("1", "b"),
            User(Template.from_string("<x>{{ x }}</x>", x="</x>"), id="q"),
            Event("c"),
        ]
    plan = Grounding("plan", "Pro")
    with History() as history:
        include(*turns)
    with History([{"role": "user", "content": "a"}]) as joined:
        include(*turns[1:])
    rendered = render(Timeline(plan, history))
    assert rendered.messages == render(Timeline(plan, *turns)).messages
    assert rendered.messages == render(Timeline(plan, joined)).messages
    assert rendered.spans() == render(Timeline(plan, *turns)).spans()
    assert pickle.loads(pickle.dumps(history)) == history == rendered.stages()[0].tree.content[1]
    assert not reported(rendered)


def test_an_empty_block_is_an_empty_history() -> None:
    """A loop over nothing is no mistake; a history without messages and block is one."""
    with Timeline() as prompt:
        with History():
            pass
        User("q")
    assert [("user", ["q"])] == said(prompt)
    assert not reported(render(prompt, provider="openai"))
    error = raised(ContentError, lambda: Timeline(History()))
    assert "this History was written with no content and no block" == error.what


WRONG: list[Callable[[], object]] = [
    lambda: System("a"),
    lambda: Grounding("a", "b"),
    lambda: Section("a", "b"),
    lambda: Text("a"),
    lambda: Fragment(User("a")),
    lambda: History([]),
    CacheBreakpoint,
    lambda: Lazy(lambda _: "a"),
    lambda: include(Note("a")),
]


@pytest.mark.parametrize("write", WRONG, ids=range(len(WRONG)))
def test_a_history_holds_turns_alone(write: Callable[[], object]) -> None:
    """Anything else in its block is an error with both lines, and leaves nothing behind."""
    with Timeline() as prompt:
        error = raised(PlacementError, lambda: _within(write))
        User("q")
    assert 2 == len(error.at)
    assert [("user", ["q"])] == said(prompt)


def _within(write: Callable[[], object]) -> None:
    with History():
        User("a")
        write()


def test_a_written_history_is_no_part_of_a_turn() -> None:
    """It is named as such where it is refused."""
    with History() as history:
        User("a")
    assert "a History cannot be in a User" == raised(PlacementError, lambda: User(history)).what
