"""The rule which result of a tool answers which call, for turns, recorded messages and payloads.

- A call is open from its turn on. A result answers the first open call with its id.
- A turn of the assistant closes the calls that are still open: they get no result.
- So does a turn of the user that belongs to the conversation, but not an event or a grounding.
- A turn of a tool closes no calls.

There is one exception. The check before a render accepts a recorded user message that is a single
result: it leaves the other calls open (``_check_messages`` in ``rendering/passes/pair.py``).

Read ``Step`` first, then ``OpenCalls``. In ``message.py``, ``open_calls`` and ``last_calls`` return
the open calls at the end of a conversation, and ``answers_in`` the calls that a message answers.
"""

from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import NamedTuple, TypeVar

from promptdsl.messages.blocks import ToolUseBlock
from promptdsl.messages.details import CONVERSATION
from promptdsl.messages.message import Message, answers_in, results_in

T = TypeVar("T")


class Step(NamedTuple):
    """A turn, as pairing sees it: the ids of the calls that it makes, and of those that it answers.

    ``closes`` is whether the turn closes the calls that are open after its own answers.
    """

    calls: tuple[str, ...]
    answers: tuple[str, ...]
    closes: bool


def step_of(message: Message) -> Step:
    """Return the step of a message."""
    return Step(calls_in(message), answers_in(message), closes_calls(message))


def calls_in(message: Message) -> tuple[str, ...]:
    """Return the ids of the calls that a message makes, in order; only an assistant makes any."""
    if message.role != "assistant":
        return ()
    return tuple([block.id for block in message.content if isinstance(block, ToolUseBlock)])


def closes_calls(message: Message) -> bool:
    """Return whether a message closes the calls that are open after its own answers."""
    if message.role == "user":
        return message.kind in CONVERSATION
    return message.role == "assistant"


class OpenCalls(dict[str, list[T]]):
    """The calls without a result so far: by id, a value for each call with this id, in order."""

    def add(self, id: str, call: T) -> None:
        """Add a call."""
        self.setdefault(id, []).append(call)

    def answer(self, id: str) -> T | None:
        """Remove and return the first open call with an id; ``None`` without an open call."""
        calls = self.get(id)
        if calls is None:
            return None
        if len(calls) == 1:
            del self[id]
        return calls.pop(0)

    def close(self) -> list[str]:
        """Remove all calls, and return their ids."""
        ids = [id for id, calls in self.items() for _ in calls]
        self.clear()
        return ids

    def copy(self) -> "OpenCalls[T]":
        """Return an independent copy."""
        return OpenCalls({id: [*calls] for id, calls in self.items()})


new_calls: Callable[[], OpenCalls[str]] = OpenCalls
"""The factory of attrs fields with open calls, whose values are their ids; at first empty."""


def answers_before_assistant(messages: Iterable[Message]) -> list[str]:
    """Return the ids of the calls that messages answer before the first assistant message."""
    before = takewhile(lambda message: message.role != "assistant", messages)
    return [id for message in before for id in answers_in(message)]


def asks(message: Message) -> bool:
    """Return whether a message is a user message without the result of a call."""
    return message.role == "user" and not results_in(message)
