"""The cost of long transcripts, beside a plain list of messages.

Machines are shared, so each bound is twice what is promised.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from promptdsl import History, Message, System, Timeline, Transcript, render

pytestmark = [pytest.mark.slow, pytest.mark.native]


def long_talk() -> list[Message]:
    """Return 10,001 messages."""
    roles: list[Any] = ["user", "assistant"]
    return [Message(roles[n % 2], f"This is the message number {n}.") for n in range(10_001)]


def send(messages: Iterable[Message]) -> None:
    """Write the request of a conversation."""
    render(Timeline(System("Be brief."), History(messages)), model="gpt-5").to_openai()


def best(run: Callable[[], object], rounds: int = 7) -> float:
    """Return the shortest of some times, in seconds of the processor."""
    times: list[float] = []
    for _ in range(rounds):
        start = process_time()
        run()
        times.append(process_time() - start)
    return min(times)


def test_the_next_turn() -> None:
    """Appending and rendering take at most twice the time of a plain list, as promised."""
    messages, transcript = long_talk(), Transcript(long_talk())

    def next_of(conversation: Any) -> None:
        conversation.append(Message("assistant" if len(conversation) % 2 else "user", "More."))
        send(conversation)

    assert best(lambda: next_of(transcript)) < 4 * best(lambda: next_of(messages))


def test_opening(tmp_path: Path) -> None:
    """Opening a file takes at most three times the time of reading its JSON, as promised."""
    path = tmp_path / "a.jsonl"
    Transcript(long_talk()).save(path)
    lines = path.read_bytes().splitlines()

    def opened() -> None:
        with Transcript.open(path, read_only=True):
            pass

    assert best(opened, 3) < 6 * best(lambda: [*map(json.loads, lines)], 3)
