"""Real conversations, recorded elsewhere: in, rendered, out for every provider."""

import json
from itertools import pairwise
from typing import Any

import pytest

from promptdsl import Grounding, History, Rendered, Timeline, User, render
from tests.adapters.conversations import RECORDED, needs_recorded
from tests.adapters.sdk_check import check_anthropic, check_openai

pytestmark = needs_recorded
every_conversation = pytest.mark.parametrize("name", RECORDED)
every_claude = pytest.mark.parametrize(
    "model", ["claude-opus-5-5", "claude-opus-4-7", "claude-opus-4-5"]
)


def rendered(name: str, *more: Any, **request: Any) -> Rendered:
    """Return a recorded conversation, rendered."""
    return render(Timeline(History.from_openai(RECORDED[name]), *more), **request)


def closed(name: str) -> list[dict[str, Any]]:
    """Return a recorded conversation up to its last turn that is not the model's."""
    messages = RECORDED[name]
    last = max(n for n, message in enumerate(messages) if message["role"] != "assistant")
    return messages[: last + 1]


def conversation(messages: Any) -> list[Any]:
    """Return turns, calls and results in Chat form, neighbours of a role as one."""
    turns: list[Any] = []
    for message in messages:
        calls = [
            (call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or ()
        ]
        turn = [message["role"], message.get("content") or "", calls, message.get("tool_call_id")]
        if turns and turn[0] == turns[-1][0] != "tool":
            turns[-1][1] = "\n\n".join(filter(None, (turns[-1][1], turn[1])))
            turns[-1][2] += calls
        else:
            turns.append(turn)
    return turns


@every_conversation
def test_in_and_out(name: str) -> None:
    """For OpenAI a conversation comes out with the turns, calls and results it went in with."""
    result = rendered(name, provider="openai")
    assert conversation(RECORDED[name]) == conversation(result.to_openai()["messages"])
    assert () == result.losses


@every_conversation
def test_openai_takes_it(name: str) -> None:
    """What comes out for OpenAI is as its types and rules ask."""
    check_openai(render(History.from_openai(closed(name)), provider="openai").payload())


@every_claude
@every_conversation
def test_anthropic_takes_it(name: str, model: str) -> None:
    """What comes out for Anthropic is as its types and rules ask, repeated ids made unique."""
    result = render(History.from_openai(closed(name)), model=model)
    check_anthropic(result.payload(), result.facts)


@every_claude
@every_conversation
def test_anthropic_read_back(name: str, model: str) -> None:
    """Read back and written again, Anthropic's payload is the same bytes."""
    first = rendered(name, model=model).payload()
    again = render(History.from_anthropic(first), model=model).payload()
    assert json.dumps(first) == json.dumps(again)


@every_conversation
def test_openai_read_back(name: str) -> None:
    """Read back and written again, OpenAI's payload is the same bytes."""
    first = rendered(name, provider="openai").payload()
    again = render(History.from_openai(first), provider="openai").payload()
    assert json.dumps(first) == json.dumps(again)


@every_conversation
def test_from_one_provider_to_another(name: str) -> None:
    """By way of Anthropic a conversation has the words and results it went in with."""
    result = rendered(name, model="claude-opus-5-5")
    back = render(History.from_anthropic(result.payload()), provider="openai").to_openai()
    expected = [(role, words) for role, words, _, _ in conversation(RECORDED[name])]
    assert [(role, words.strip() and words) for role, words in expected] == [
        (role, words) for role, words, _, _ in conversation(back["messages"])
    ]


@every_conversation
@pytest.mark.parametrize("model", ["gpt-5", "claude-opus-4-7"])
def test_at_every_length(name: str, model: str) -> None:
    """At every turn of a user the request begins with the one before it."""
    messages = RECORDED[name]
    ends = [n + 1 for n, message in enumerate(messages) if message["role"] == "user"]
    sent: Any = [
        render(History.from_openai(messages[:end]), model=model).payload()["messages"]
        for end in ends
    ]
    assert sent[:-1] == [after[: len(before)] for before, after in pairwise(sent)]


@every_conversation
@pytest.mark.parametrize("model", ["gpt-5", "claude-opus-5-5"])
def test_with_something_behind_it(name: str, model: str) -> None:
    """A turn and a grounding behind a conversation leave it as it was."""
    alone: Any = render(History.from_openai(closed(name)), model=model).payload()["messages"]
    more = [Grounding("plan", "pro"), User("Thanks.", merge=False)]
    among: Any = render(Timeline(History.from_openai(closed(name)), *more), model=model)
    assert alone[:-1] == among.payload()["messages"][: len(alone) - 1]


@every_conversation
def test_the_recording_never_changes(name: str) -> None:
    """The recorded list is as it was, whatever was rendered of it."""
    before = json.dumps(RECORDED[name])
    rendered(name, model="claude-opus-5-5", transformation={"guard_conversation": True}).payload()
    assert before == json.dumps(RECORDED[name])


@pytest.mark.parametrize("mode", ["fill", "prune"])
@every_conversation
def test_nothing_to_repair(name: str, mode: str) -> None:
    """A recorded conversation pairs, so repairing it changes no message."""
    result = render(
        History.from_openai(closed(name)),
        transformation={"tool_pairing": mode},  # type: ignore[typeddict-item]
    )
    assert render(History.from_openai(closed(name))).messages == result.messages
