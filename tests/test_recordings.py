"""What is known of a long recording: the next render goes on from it, and comes to the same."""

import gc
import weakref
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptdsl import (
    Grounding,
    History,
    Message,
    Rendered,
    System,
    SystemEventBlock,
    TextBlock,
    Timeline,
    ToolUseBlock,
    User,
    render,
)
from tests.internals import Recording, recalled, recorded_before
from tests.internals import read_module as reading
from tests.internals import recordings_module as remembering


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
    return result.messages, [str(loss) for loss in result.losses], dropped


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


def test_only_what_is_new_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a conversation that has grown, the messages that were read before are not looked at."""
    messages = [Message("user", "h\u00e9" + str(n)) for n in range(100)]
    rendered(messages, "1")
    seen: list[str] = []
    monkeypatch.setattr(reading, "is_whole", lambda text: bool(seen.append(text)) or True)
    rendered([*messages, Message("user", "\u00e9")], "2")
    assert ["\u00e9"] == seen


def test_what_is_known_moves_on() -> None:
    """The message that was the last one forgets a conversation that has grown."""
    messages = talk(4)
    rendered(messages, "1")
    grown = [*messages, *talk(2)]
    rendered(grown, "2")
    assert [None, None] == [recalled(messages[-1]), recorded_before(messages)]
    assert tuple(grown) == recorded_before(grown).given  # type: ignore[union-attr]


def test_what_is_known_goes_with_the_conversation() -> None:
    """Nothing keeps a conversation that its application has dropped."""
    messages = talk(8)
    rendered(messages, "1")
    left = weakref.ref(recalled(messages[-1]))  # type: ignore[arg-type]
    assert isinstance(left(), Recording)
    del messages
    gc.collect()
    assert left() is None


def test_a_short_one_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read in no time is read each time."""
    monkeypatch.setattr(remembering, "SHORTEST", 9)
    messages = talk(8)
    rendered(messages, "1")
    assert recalled(messages[-1]) is None
