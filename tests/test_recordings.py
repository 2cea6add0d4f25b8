"""What is known of a long recording: the next render goes on from it, and comes to the same."""

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import raised
from tests.internals import ReadCache, recalled, recorded_before
from tests.internals import read_module as reading
from tests.internals import recordings_module as remembering
from tests.renders import ShortForm, reported, short_form
from tests.searching import examples


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remember recordings of two messages, too."""
    monkeypatch.setattr(remembering, "SHORTEST", 2)


def talk(count: int) -> list[Message]:
    """Return a conversation of so many messages."""
    return [Message(("user", "assistant")[n % 2], f"word {n}") for n in range(count)]  # type: ignore[arg-type]


def fresh(messages: list[Message]) -> list[Message]:
    """Return the same messages as new objects, of which nothing is known."""
    return [Message.from_dict(message.to_dict()) for message in messages]


def rendered(messages: list[Message], clock: str, **request: Any) -> Rendered:
    """Return a recorded conversation and what is around it, rendered."""
    history = History(messages, step=20)
    around = (System("Be kind."), history, Grounding("clock", clock), User("And now?"))
    return render(Timeline(*around), counter=len, **request)


def told(result: Rendered) -> tuple[object, ...]:
    """Return all that a render came to."""
    dropped = [(one.what, one.tokens, one.why) for one in result.dropped]
    return result.messages, [str(loss) for loss in reported(result)], dropped


TURNS = st.sampled_from(
    [
        [Message("user", "a question")],
        [Message("assistant", "an answer")],
        [Message("developer", "an instruction")],
        [Message("system", "a rule")],
        [Message("user", "one"), Message("assistant", "two")],
        [
            Message("assistant", [TextBlock("Let me see."), ToolUseBlock("c", "find", "{}")]),
            Message.tool_result("c", "found"),
        ],
        [Message("assistant", [ToolUseBlock("d", "find", '{"q": 1}')])],
        [Message.tool_result("d", [{"type": "json", "value": {"a": 1}}])],
        [Message("event", [SystemEventBlock("restarted")])],
        [Message("user", "h\ud800")],
    ]
)
CONVERSATIONS = st.lists(TURNS, max_size=12).map(
    lambda turns: fresh([message for turn in turns for message in turn])
)
REQUESTS = st.sampled_from(
    [{}, {"budget": 400}, {"budget": 300, "provider": "openai"}, {"provider": "gemini"}]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CONVERSATIONS, st.lists(st.integers(0, 5), max_size=4), REQUESTS)
def test_a_grown_conversation(
    messages: list[Message], sizes: list[int], request: dict[str, Any]
) -> None:
    """A conversation that has grown comes to what it does when nothing is known of it."""
    request = {"transformation": {"tool_pairing": "fill"}, **request}
    ends = [*(sum(sizes[: n + 1]) for n in range(len(sizes))), len(messages), 1]
    seen = [told(rendered(messages[:end], str(end), **request)) for end in ends]
    anew = [told(rendered(fresh(messages[:end]), str(end), **request)) for end in ends]
    assert anew == seen


@given(CONVERSATIONS, st.integers(0, 20))
def test_an_edited_conversation(messages: list[Message], place: int) -> None:
    """One that was changed in the middle is read anew."""
    request = {"transformation": {"tool_pairing": "fill"}}
    rendered(messages, "1", **request)
    edited = [*messages[:place], Message("user", "edited"), *messages[place + 1 :]]
    assert told(rendered(fresh(edited), "2", **request)) == told(rendered(edited, "2", **request))


# At every seam, in every place.


def call(*ids: str) -> Message:
    """Return a message of calls."""
    return Message("assistant", [ToolUseBlock(id, "find", "{}") for id in ids])


def found(id: str) -> ToolResultBlock:
    """Return the result of a call."""
    return ToolResultBlock(id, (TextBlock("found"),))


SEAMS: dict[str, Message] = {
    "question": Message("user", "And why?"),
    "question of Ann": Message("user", "And why?", name="Ann"),
    "nothing": Message("user", []),
    "answer": Message("assistant", "So it is."),
    "call": call("c"),
    "two calls": call("c", "d"),
    "result": Message("tool", [found("c")]),
    "user's result": Message("user", [found("c")]),
    "result and words": Message("user", [found("c"), TextBlock("And now?")]),
    "instruction": Message("developer", "Be brief."),
    "rule": Message("system", "Be kind."),
    "rule of another time": Message("system", "Be kind.", kind="event"),
    "event": Message("event", [SystemEventBlock("restarted")]),
    "request": Message("ephemeral", "It is noon."),
    "said before a request": Message("user", "And why?", kind="trailed"),
    "data": Message("user", [{"type": "json", "value": {"a": 1}}]),
    "half a character": Message("user", "h\ud800"),
}
"""Every kind of message that another one may follow."""

OPENINGS = (
    (Message("user", "Hello."), Message("assistant", "Hello!")),
    (Message("system", "Be wise."), Message("user", "Hello.")),
    (),
)

Scene = tuple[Callable[[History], list[Node]], dict[str, Any]]
FILL = {"tool_pairing": "fill"}
PRUNE = {"tool_pairing": "prune"}
SCENES: list[Scene] = [
    (lambda history: [history], {}),
    (lambda history: [System("s"), User("u"), history, User("v")], {"transformation": FILL}),
    (lambda history: [history, Grounding("g", "x")], {"transformation": PRUNE}),
    (lambda history: [history, Event("e"), Assistant("a")], {"provider": "openai"}),
    (lambda history: [Assistant(ToolUse("find", {}, id="c")), history], {"transformation": FILL}),
    (lambda history: [history, ToolMessage("c", "found")], {}),
    (lambda history: [history, User("v")], {"transformation": {"merge_consecutive": False}}),
    (lambda history: [history], {"budget": 12, "counter": len, "transformation": PRUNE}),
]
"""What stands around a recording, and how it is rendered."""


def recording(messages: tuple[Message, ...]) -> History:
    """Return a recording, always written on this line."""
    return History(messages, step=1)


def outcome(history: History, scene: Scene) -> object:
    """Return what a scene comes to: messages with their sources and losses, or an error."""
    around, request = scene
    try:
        result = render(Timeline(*around(history)), **request)
    except PromptError as error:
        return type(error), str(error)
    places = [[(o.address, o.id) for o in message.sources] for message in result.messages]
    return told(result), places


def growths(one: Message, two: Message) -> Iterator[tuple[Message, ...]]:
    """Yield the turns of a conversation as it grows, is cut, edited, and grows again."""
    question, answer = Message("user", "And why?"), ("assistant", "So it is.")
    yield ()
    yield (one,)
    yield (one, two)
    yield (one, two, question)
    yield (one, two)
    yield (two,)
    yield (one, two, Message(*answer), Message(*answer))


def anew(messages: tuple[Message, ...], scenes: list[Scene]) -> list[object]:
    """Return what the scenes of messages come to when nothing is known of the messages."""
    return [outcome(recording(tuple(fresh([*messages]))), scene) for scene in scenes]


def again(messages: tuple[Message, ...], scenes: list[Scene]) -> list[object]:
    """Return what the scenes of one recording of messages come to, one after the other."""
    known = recording(messages)
    return [outcome(known, scene) for scene in scenes]


@settings(examples(300, fast=6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(OPENINGS),
    st.sampled_from([*SEAMS.values()]),
    st.sampled_from([*SEAMS.values()]),
    st.lists(st.sampled_from(SCENES), min_size=1, max_size=2),
)
def test_any_seam(
    opening: tuple[Message, ...], one: Message, two: Message, scenes: list[Scene]
) -> None:
    """Whatever a recording grows by, is cut to or edited to, nothing old is left in its render."""
    first, (one, two) = fresh([*opening]), fresh([one, two])
    grown = [(*first, *turns) for turns in growths(one, two)]
    assert [anew(said, scenes) for said in grown] == [again(said, scenes) for said in grown]


ANN = {"name": "Ann"}


@pytest.mark.parametrize(
    ("last", "added", "expected"),
    [
        (Message("assistant", "a"), Message("assistant", "b"), [("assistant", "a", "b")]),
        (Message("user", "a"), Message("user", "b"), [("user", "a", "b")]),
        (Message("developer", "a"), Message("developer", "b"), [("developer", "a", "b")]),
        (Message("system", "a"), Message("system", "b"), [("developer", "a", "b")]),
        (Message("user", "a", **ANN), Message("user", "b", **ANN), [("user", "a", "b")]),
        (Message("user", "a"), Message("user", "b", **ANN), [("user", "a"), ("user", "b")]),
        (
            Message("developer", "a"),
            Message("system", "b"),
            [("developer", "a"), ("developer", "b")],
        ),
        (
            Message("assistant", "a"),
            call("c"),
            [("assistant", "a", ("call", "c", "find"))],
        ),
        (Message("assistant", "a"), Message("user", "b"), [("assistant", "a"), ("user", "b")]),
    ],
)
def test_a_message_behind_the_last_one(
    last: Message, added: Message, expected: list[ShortForm]
) -> None:
    """What a conversation grows by joins the message before it as it does in a new one."""
    messages = [Message("user", "u"), call("x"), Message("tool", [found("x")]), last]
    rendered(messages[:3], "1")
    rendered(messages[:4], "1")
    grown = render(History([*messages, added])).messages
    assert expected == short_form(grown)[3:]


def test_what_was_left_out_is_looked_at_when_it_is_back() -> None:
    """A stray result that a budget left out is an error in the next render, which has room."""
    stray = Message("tool", [found("x")])
    history = recording((Message("user", "Hello."), stray, Message("user", "Well?")))
    [said] = render(Timeline(history), budget=20, counter=len).messages
    assert "Well?" == said.text
    with pytest.raises(PairingError, match="there is no open tool call for the result 'x'"):
        render(Timeline(history, Grounding("clock", "noon")))


@pytest.mark.parametrize("owner", ["", "their-"])
def test_pictures_are_counted_for_each_model(owner: str) -> None:
    """A budget leaves out the same pictures whatever other model the conversation was sent to.

    A name that nobody knows has no provider, and so no payload that is counted.
    """
    source = MediaSource("url", "https://example.org/a.png")
    messages = [
        message
        for n in range(4)
        for message in (Message("user", (ImageBlock(source),)), Message("assistant", f"{n}"))
    ]
    newer, older = (f"{owner}claude-{version}" for version in ("opus-5", "opus-4-5"))

    def kept(messages: list[Message], model: str) -> tuple[Message, ...]:
        timeline = Timeline(History(messages, step=1), User("And now?"))
        return render(timeline, model=model, counter=len, budget=6_000).messages

    kept(messages, newer)
    assert kept(fresh(messages), older) == kept(messages, older)


def test_counters_of_single_requests_are_forgotten() -> None:
    """A counter that is made anew for every request leaves nothing behind that grows."""
    messages = talk(9)

    def kept() -> int:
        history = History(messages, step=1)
        render(Timeline(history, User("Q")), counter=lambda text: len(text), budget=60)  # noqa: PLW0108
        return len(recorded_before(messages).findings)  # type: ignore[union-attr]

    assert max(kept() for _ in range(20)) == max(kept() for _ in range(20))


def test_only_what_is_new_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a conversation that has grown, the messages that were read before are not looked at."""
    messages = [Message("user", "h\u00e9" + str(n)) for n in range(100)]
    rendered(messages, "1")
    seen: list[str] = []
    monkeypatch.setattr(reading, "is_valid_unicode", lambda text: bool(seen.append(text)) or True)
    rendered([*messages, Message("user", "\u00e9")], "2")
    assert ["\u00e9"] == seen


def test_what_is_known_moves_on() -> None:
    """The message that was the last one forgets a conversation that has grown."""
    messages = talk(4)
    rendered(messages, "1")
    grown = [*messages, *talk(2)]
    rendered(grown, "2")
    assert [None, None] == [recalled(messages[-1]), recorded_before(messages)]
    assert tuple(grown) == recorded_before(grown).messages  # type: ignore[union-attr]


def test_two_that_end_in_the_same_message() -> None:
    """Of two conversations of equal length with the same last message each has its own messages."""
    first = talk(4)
    second = [Message("user", "another"), *first[1:]]
    assert ["word 0", "another"] == [
        rendered(messages, "1").messages[1].text for messages in (first, second)
    ]


def test_what_is_known_goes_with_the_conversation() -> None:
    """Nothing keeps a conversation that its application has dropped."""
    messages = talk(8)
    rendered(messages, "1")
    left = weakref.ref(recalled(messages[-1]))  # type: ignore[arg-type]
    assert isinstance(left(), ReadCache)
    del messages
    gc.collect()
    assert left() is None


def test_a_short_one_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read in no time is read each time."""
    monkeypatch.setattr(remembering, "SHORTEST", 9)
    messages = talk(8)
    rendered(messages, "1")
    assert recalled(messages[-1]) is None


def test_a_format_block_that_fails_for_recorded_data() -> None:
    """A ``format_block`` that returns no text for a recorded block is told with the History."""
    block = {"type": "json", "value": {"a": 1}}
    history = History([{"role": "user", "content": [block]}])
    request = {"transformation": {"format_block": lambda _: 3}}
    error = raised(ContentError, lambda: render(history, **request))
    assert (str(history.source),) == error.at
