"""Real conversations, recorded elsewhere: in, rendered, out for every provider.

Each helper returns what fails, by the ids of the conversations.
"""

import json
from itertools import pairwise
from typing import Any

import pytest

from promptdsl import Grounding, History, Rendered, Timeline, User, render
from tests.folding import failures, unequal
from tests.providers.every_target import every_check_of
from tests.renders import reported

Conversation = list[dict[str, Any]]
Recorded = dict[str, Conversation]

every_claude = pytest.mark.parametrize(
    "model", ["claude-opus-5-5", "claude-opus-4-7", "claude-opus-4-5"]
)


def rendered(recorded: Conversation, *more: Any, **request: Any) -> Rendered:
    """Return a recorded conversation, rendered."""
    return render(Timeline(History.from_openai(recorded), *more), **request)


def closed(messages: Conversation) -> Conversation:
    """Return a recorded conversation up to its last turn that is not the model's."""
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


def changed(recorded: Recorded) -> list[str]:
    """Return where a conversation comes out of OpenAI's payload as another, or with a loss."""

    def wrong(name: str) -> str:
        result = rendered(recorded[name], provider="openai")
        found = conversation(result.to_openai()["messages"]), reported(result)
        return unequal((conversation(recorded[name]), ()), found)

    return failures(recorded, wrong)


def test_in_and_out(recorded: Recorded) -> None:
    """For OpenAI a conversation comes out with the turns, calls and results it went in with."""
    assert [] == changed(recorded)


def refused(recorded: Recorded, check: Any, **request: Any) -> list[str]:
    """Return what a check says of payloads."""

    def wrong(name: str) -> None:
        result = render(History.from_openai(closed(recorded[name])), **request)
        check(result.payload(), result.facts)

    return failures(recorded, wrong)


@every_check_of("openai")
def test_openai_takes_it(recorded: Recorded, check: Any) -> None:
    """What comes out for OpenAI is as its types and rules ask."""
    assert [] == refused(recorded, check, provider="openai")


@every_check_of("anthropic")
@every_claude
def test_anthropic_takes_it(recorded: Recorded, check: Any, model: str) -> None:
    """What comes out for Anthropic is as its types and rules ask, repeated ids made unique."""
    assert [] == refused(recorded, check, model=model)


def misread(recorded: Recorded, read: Any, **request: Any) -> list[str]:
    """Return where what is read back and written again is not the same bytes."""

    def wrong(name: str) -> str:
        first = rendered(recorded[name], **request).payload()
        again = render(read(first), **request).payload()
        return unequal(json.dumps(first), json.dumps(again))

    return failures(recorded, wrong)


@every_claude
def test_anthropic_read_back(recorded: Recorded, model: str) -> None:
    """Read back and written again, Anthropic's payload is the same bytes."""
    assert [] == misread(recorded, History.from_anthropic, model=model)


def test_openai_read_back(recorded: Recorded) -> None:
    """Read back and written again, OpenAI's payload is the same bytes."""
    assert [] == misread(recorded, History.from_openai, provider="openai")


def lost_on_the_way(recorded: Recorded) -> list[str]:
    """Return where the words and results differ that came by way of Anthropic."""

    def wrong(name: str) -> str:
        result = rendered(recorded[name], model="claude-opus-5-5")
        back = render(History.from_anthropic(result.payload()), provider="openai").to_openai()
        expected = [(role, words) for role, words, _, _ in conversation(recorded[name])]
        return unequal(
            [(role, words.strip() and words) for role, words in expected],
            [(role, words) for role, words, _, _ in conversation(back["messages"])],
        )

    return failures(recorded, wrong)


def test_from_one_provider_to_another(recorded: Recorded) -> None:
    """By way of Anthropic a conversation has the words and results it went in with."""
    assert [] == lost_on_the_way(recorded)


def moved(recorded: Recorded, model: str) -> list[str]:
    """Return where a request does not begin with the one before it."""

    def wrong(name: str) -> str:
        messages = recorded[name]
        ends = [n + 1 for n, message in enumerate(messages) if message["role"] == "user"]
        sent: Any = [
            render(History.from_openai(messages[:end]), model=model).payload()["messages"]
            for end in ends
        ]
        return unequal(sent[:-1], [after[: len(before)] for before, after in pairwise(sent)])

    return failures(recorded, wrong)


@pytest.mark.parametrize(
    "model", ["gpt-5", pytest.param("claude-opus-4-7", marks=pytest.mark.slow)]
)
def test_at_every_length(recorded: Recorded, model: str) -> None:
    """At every turn of a user the request begins with the one before it."""
    assert [] == moved(recorded, model)


def disturbed(recorded: Recorded, model: str) -> list[str]:
    """Return where a turn and a grounding behind a conversation change what stands before."""
    more = [Grounding("plan", "pro"), User("Thanks.", merge=False)]

    def wrong(name: str) -> str:
        history = closed(recorded[name])
        alone: Any = render(History.from_openai(history), model=model).payload()["messages"]
        among: Any = rendered(history, *more, model=model).payload()["messages"]
        return unequal(alone[:-1], among[: len(alone) - 1])

    return failures(recorded, wrong)


@pytest.mark.parametrize("model", ["gpt-5", "claude-opus-5-5"])
def test_with_something_behind_it(recorded: Recorded, model: str) -> None:
    """A turn and a grounding behind a conversation leave it as it was."""
    assert [] == disturbed(recorded, model)


def overwritten(recorded: Recorded) -> list[str]:
    """Return which recorded lists are not as they were when they have been rendered."""

    def wrong(name: str) -> str:
        before = json.dumps(recorded[name])
        guarded: Any = {"guard_conversation": True}
        rendered(recorded[name], model="claude-opus-5-5", transformation=guarded).payload()
        return unequal(before, json.dumps(recorded[name]))

    return failures(recorded, wrong)


def test_the_recording_never_changes(recorded: Recorded) -> None:
    """The recorded list is as it was, whatever was rendered of it."""
    assert [] == overwritten(recorded)


def repaired(recorded: Recorded, mode: str) -> list[str]:
    """Return which conversations a repair changes."""

    def wrong(name: str) -> str:
        history = History.from_openai(closed(recorded[name]))
        mended: Any = {"tool_pairing": mode}
        return unequal(render(history).messages, render(history, transformation=mended).messages)

    return failures(recorded, wrong)


@pytest.mark.parametrize("mode", ["fill", "prune"])
def test_nothing_to_repair(recorded: Recorded, mode: str) -> None:
    """A recorded conversation pairs, so repairing it changes no message."""
    assert [] == repaired(recorded, mode)
