"""Which result of a tool answers which call: for turns, recorded messages and payloads alike.

A call is open from its turn on, and a result answers the first open call with its id. Every turn of
an assistant closes the calls that are still open: they get no result any more. So does a turn of a
user that belongs to the conversation; an event or a grounding does not, and neither does the turn
of a tool. There is one exception: the check before a render lets a recorded message that is one
result alone leave the other calls open (``_check_messages`` in ``rendering/passes/pair.py``).

Read ``Step`` and ``OpenCalls``. The calls that wait at the end of a conversation are returned by
``open_calls`` and ``last_calls`` of ``message.py``, the answers of one message by ``answers_in``.
"""

from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import NamedTuple, TypeVar

from promptdsl.messages.blocks import ToolUseBlock
from promptdsl.messages.details import CONVERSATION
from promptdsl.messages.message import Message, answers_in, results_in

T = TypeVar("T")


class Step(NamedTuple):
    """A turn in pairing: the ids of the calls it makes and of the calls it answers.

    ``closes`` is whether it closes the calls that are open, after its own answers.
    """

    calls: tuple[str, ...]
    answers: tuple[str, ...]
    closes: bool


def step_of(message: Message) -> Step:
    """Return a message as a turn in pairing."""
    return Step(calls_in(message), answers_in(message), closes_calls(message))


def calls_in(message: Message) -> tuple[str, ...]:
    """Return the ids of the calls a message makes, in order; only an assistant makes any."""
    if message.role != "assistant":
        return ()
    return tuple([block.id for block in message.content if isinstance(block, ToolUseBlock)])


def closes_calls(message: Message) -> bool:
    """Return whether a message closes the calls that are open after its own answers."""
    if message.role == "user":
        return message.kind in CONVERSATION
    return message.role == "assistant"


class OpenCalls(dict[str, list[T]]):
    """The calls without a result so far: by id a value for each call, the first call first."""

    def add(self, id: str, call: T) -> None:
        """Add a call."""
        self.setdefault(id, []).append(call)

    def answer(self, id: str) -> T | None:
        """Remove the first open call with an id and return it; ``None`` if there is none."""
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
        """Return a copy, which changes on its own."""
        return OpenCalls({id: [*calls] for id, calls in self.items()})


new_calls: Callable[[], OpenCalls[str]] = OpenCalls
"""The factory of attrs fields with open calls, each held as its id; at first there are none."""


def answers_before_assistant(messages: Iterable[Message]) -> list[str]:
    """Return the ids of the calls that messages answer before the first one of an assistant."""
    before = takewhile(lambda message: message.role != "assistant", messages)
    return [id for message in before for id in answers_in(message)]


def asks(message: Message) -> bool:
    """Return whether a message is a user's and holds no result of a call."""
    return message.role == "user" and not results_in(message)
