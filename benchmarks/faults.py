"""What can be wrong with a conversation that was trimmed."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from benchmarks.conversation import Chat

Check = Callable[[Sequence[Chat], Sequence[Chat]], bool]
"""Says of what is left, and of what it was trimmed from, whether it has a fault."""


def orphaned(left: Sequence[Chat], _said: Sequence[Chat]) -> bool:
    """Return whether a result does not stand behind the message that calls for it."""
    return any(answers - calls for calls, answers in _batches(left))


def unanswered(left: Sequence[Chat], _said: Sequence[Chat]) -> bool:
    """Return whether a call has no result behind its message."""
    return any(calls - answers for calls, answers in _batches(left))


def headless(left: Sequence[Chat], _said: Sequence[Chat]) -> bool:
    """Return whether the conversation starts with something else than a user turn."""
    roles = [message["role"] for message in left if message["role"] != "system"]
    return roles[:1] not in (["user"], [])


def cut(left: Sequence[Chat], said: Sequence[Chat]) -> bool:
    """Return whether a message is there in part; neighbours may have been joined."""
    whole = {paragraph for message in said for paragraph in _paragraphs(message)}
    return any(whole.isdisjoint([each]) for message in left for each in _paragraphs(message))


def unasked(left: Sequence[Chat], said: Sequence[Chat]) -> bool:
    """Return whether the last user turn is gone."""
    asked = [message["content"] for message in said if message["role"] == "user"][-1]
    return not any(message["role"] == "user" and asked in message["content"] for message in left)


FAULTS: dict[str, Check] = {
    "orphaned results": orphaned,
    "calls without results": unanswered,
    "not starting with a user turn": headless,
    "cut inside a message": cut,
    "last user turn gone": unasked,
}


def _batches(left: Sequence[Chat]) -> Iterator[tuple[set[str], set[str]]]:
    """Yield the calls of a message, and what the results directly behind it answer."""
    calls: set[str] = set()
    for is_result, run in groupby(left, key=lambda message: message["role"] == "tool"):
        messages = list(run)
        if is_result:
            yield calls, {message["tool_call_id"] for message in messages}
            calls = set()
            continue
        for message in messages:
            if calls:
                yield calls, set()
            calls = {call["id"] for call in message.get("tool_calls") or ()}
    yield calls, set()


def _paragraphs(message: Chat) -> list[str]:
    text: str = message["content"] or ""
    return text.split("\n\n")
