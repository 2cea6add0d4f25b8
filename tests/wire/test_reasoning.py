"""Reasoning that is bound to the bytes before it: where it is replayed, and where it is a hint."""

from typing import Any

import pytest

from promptdsl import ReasoningBlock, ToolResultBlock, ToolUseBlock
from tests.providers.conversations import LOOK_UP, answer, call, say
from tests.wire.sent import lost, sent

BINDING = "claude-opus-5-5"
FREE = "claude-opus-4-5"


def think(number: int, *blocks: Any) -> Any:
    """Return an answer with signed reasoning before it."""
    block = ReasoningBlock(f"{number}.", "c2ln", origin="anthropic")
    return say("assistant", block, *(blocks or (f"a{number}",)))


U, V = say("user", "u"), say("user", "v")
NOW = say("user", "Noon.", kind="request")
EVENT = say("user", "Left.", kind="event")
CALL, ANSWER = call("c"), answer("c", "x")
MIXED = say("user", "u", kind="mixed")
TRAILED = say("user", "u", kind="trailed")
RESULT = say("user", ToolResultBlock("c"))
BESIDE = say("user", ToolResultBlock("c"), "v")


def replayed(target: str, *messages: Any, **request: Any) -> list[str]:
    """Return the reasoning that is sent."""
    payload = sent(target, *messages, tools=(LOOK_UP,), **request)
    blocks = [block for turn in payload["messages"] for block in turn["content"]]
    return [block["thinking"] for block in blocks if block["type"] == "thinking"]


CASES: list[tuple[Any, list[str]]] = [
    ((U, think(1), V, think(2), V), ["1.", "2."]),
    ((U, think(1), V, NOW, think(2), V), []),
    ((U, think(1), V, think(2), NOW, V), []),
    ((U, think(1), NOW, V), []),
    ((U, think(1), V, NOW), []),
    ((NOW, U, think(1), V), []),
    ((U, think(1), NOW, V, think(2)), ["2."]),
    ((U, think(1), NOW, V, think(2, CALL), ANSWER, think(3)), ["2.", "3."]),
    ((U, think(1), NOW, V, think(2, CALL), RESULT, think(3)), ["2.", "3."]),
    ((U, think(1), NOW, V, think(2, CALL), BESIDE, think(3)), ["2.", "3."]),
    ((U, think(1), V, think(2, CALL), NOW, ANSWER, think(3)), []),
    ((U, think(1), V, think(2, CALL), ANSWER, NOW), []),
    ((NOW, U, think(1), EVENT, think(2)), ["1.", "2."]),
    ((NOW, U, think(1), say("user", "v", kind="recorded"), think(2)), ["2."]),
    ((NOW, think(1)), []),
    ((NOW, say("developer", "d"), think(1)), []),
    ((U, think(1), MIXED, think(2)), ["2."]),
    ((U, think(1), TRAILED, think(2)), []),
    ((NOW, U, think(1), say("user", "v", "w"), think(2)), ["2."]),
]


@pytest.mark.parametrize(("messages", "expected"), CASES)
def test_where_it_is_replayed(messages: Any, expected: list[str]) -> None:
    """With request-only content, reasoning is replayed behind the last question, if that is behind.

    A result is no question, even with a text beside it, and neither is an event.
    """
    assert expected == replayed(BINDING, *messages)
    every = [f"{n}." for n in (1, 2, 3) if think(n) in messages or think(n, CALL) in messages]
    assert every == replayed(FREE, *messages)
    why = "grounding changed the content before it"
    lost_count = len(every) - len(expected)
    assert [("hint", "reasoning", why)] * lost_count == [
        loss for loss in lost(BINDING, *messages, tools=(LOOK_UP,)) if loss[1] == "reasoning"
    ]


def test_what_a_budget_took() -> None:
    """Where a budget took something, none is replayed."""
    messages = (U, think(1), V)
    assert [] == replayed(BINDING, *messages, untrimmed_from=3)
    assert [("hint", "reasoning", "a budget changed the content before it")] == lost(
        BINDING, *messages, untrimmed_from=3
    )
    assert ["1."] == replayed(FREE, *messages, untrimmed_from=3)


def test_unsigned() -> None:
    """What is not signed by this provider is told as that, wherever it stands."""
    foreign = ReasoningBlock("Hm.", "c2ln", origin="gemini")
    assert [("hint", "reasoning", "not signed by this provider")] == lost(
        BINDING, NOW, say("assistant", foreign, ToolUseBlock("c", "t", "{}")), tools=(LOOK_UP,)
    )
