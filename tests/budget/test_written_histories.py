"""A budget cuts a history of written turns as it cuts the same conversation that was recorded."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.budget.cases import capitals, fit, gone, hundreds, left, loop, talk

Q = User("Q")
CHAT = talk("user A", "assistant B", "user C", "assistant D", "user E", "assistant F")


def written(turns: list[dict[str, Any]], **options: Any) -> History:
    """Return recorded turns as a block in which they are written."""
    with History(**options) as history:
        for turn in turns:
            block = turn["content"][0]
            if isinstance(block, str):
                Turn(turn["role"], turn["content"])
            elif turn["role"] == "tool":
                ToolMessage(block["tool_use_id"], block["content"])
            else:
                Assistant(ToolUse(block["name"], block["input"], block["id"]))
    return history


def test_written_exchanges_go_oldest_first() -> None:
    """A question goes with its answer, the last ``keep`` of them stay."""
    kept = [left(words, written(CHAT, step=0), Q) for words in (7, 6, 3, 1)]
    assert ["A B C D E F Q", "C D E F Q", "E F Q", "Q"] == kept
    assert "C D E F Q" == left(5, written(CHAT, step=0, keep=2), Q)
    with pytest.raises(BudgetError):
        left(4, written(CHAT, step=0, keep=2), Q)


def test_written_rounds_go_oldest_first() -> None:
    """Of a question that is worked on the oldest calls go, each with its results."""
    agent = written([*talk("user A"), *loop(3)], step=0)
    assert ["A " + "LOOK FOUND " * n for n in (3, 2, 1)] == [
        left(words, agent) + " " for words in (7, 6, 3)
    ]


def test_messages_and_turns_are_one_history() -> None:
    """Written turns follow the messages of their history, and both are cut."""
    with History(CHAT[:4], step=0) as history:
        User("E")
        Assistant("F")
    assert ["A B C D E F Q", "C D E F Q", "Q"] == [left(n, history, Q) for n in (7, 6, 1)]


def test_parts_of_a_written_history_stay_whole() -> None:
    """What is in it goes with its exchange: its first alternative is sent, no priority counts."""
    with History(step=0, priority=2) as history:
        User("A", Section("s", "S", priority=-1), priority=-2)
        Assistant(FirstFit("B B", "b"))
        User("C", cache=True)
    low = System("LOW", priority=1)
    assert ["LOW A S B B C", "A S B B C", "LOW C"] == [left(n, low, history) for n in (6, 5, 4)]


def test_what_a_written_history_lost_is_told() -> None:
    """It is named and placed as a history, and turns behind it are counted with its own."""
    low = User("LOW", priority=-1, merge=False)
    exchange = ("history", "history", 206, 0, "there is no room for its oldest exchange")
    turn = ("user turn", "user[4]", 103, -1, "there is no room for it, its priority is -1")
    assert [exchange, turn] == gone(520, written(CHAT, step=0), Q, low)
    parts = fit(3, written(CHAT, step=0), Q).tokens.parts
    assert [("history", 412), ("user turn", 103)] == [
        (part.what, part.tokens) for part in parts[:2]
    ]


EXCHANGES = st.lists(
    st.sampled_from(
        [
            talk("user A", "assistant B"),
            talk("event X", "user A B C", "assistant D"),
            talk("user A", "user B", "developer Y", "assistant D E"),
            [*talk("user A"), *loop(3), *talk("assistant D")],
            talk("assistant HI"),
        ]
    ),
    max_size=5,
)
TARGETS = st.sampled_from([None, "openai", "anthropic", "gemini"])


@given(EXCHANGES, st.integers(0, 30), st.integers(0, 3), TARGETS)
def test_a_written_conversation_is_cut_like_a_recorded_one(
    exchanges: list[list[dict[str, Any]]], words: int, keep: int, target: str | None
) -> None:
    """Any conversation loses the same of its turns, written or recorded, or is refused.

    A written turn is planned with a frame of its own, which it has not if it is merged.
    """
    question = [Q] if words % 2 else []
    turns: list[dict[str, Any]] = []
    for number, exchange in enumerate(exchanges):
        turns += _numbered(exchange, number)

    def outcome(history: History) -> tuple[Any, int]:
        prompt = Timeline(System("SYS"), history, *question)
        try:
            done: Rendered = render(prompt, provider=target, budget=words * 100, counter=hundreds)
        except BudgetError as error:
            return error.required, 0
        lost = [(part.what, part.path, part.why) for part in done.dropped]
        roles = [message.role for message in done.messages]
        tokens = sum(part.tokens for part in done.dropped)
        return (capitals(done.messages), roles, lost), tokens

    recorded, recorded_tokens = outcome(History(turns, keep=keep))
    planned, planned_tokens = outcome(written(turns, keep=keep))
    assert recorded == planned
    assert 0 <= planned_tokens - recorded_tokens <= 4 * len(turns)


def _numbered(turns: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """Return turns with other ids of their calls."""
    numbered: list[dict[str, Any]] = []
    for turn in turns:
        block = turn["content"][0]
        if isinstance(block, str):
            numbered.append(turn)
        else:
            ids = {key: f"{number}{block[key]}" for key in ("id", "tool_use_id") if key in block}
            numbered.append({**turn, "content": [{**block, **ids}]})
    return numbered


def test_an_event_goes_with_the_question_behind_it() -> None:
    """What happened directly before a question is of its exchange."""
    with History(step=0) as history:
        User("A")
        Assistant("B")
        Event("X")
        User("C")
    assert "X C" == left(2.5, history)
