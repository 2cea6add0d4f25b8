"""This library trimming a conversation, in the ways it can be written.

What is measured is writing the tree, fitting it, and writing the payload: a whole request.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from benchmarks.conversation import Chat
from benchmarks.counting import Counter
from benchmarks.ours import MODEL
from benchmarks.prompt import SECTIONS
from benchmarks.trimming import Trimmer
from promptdsl import (
    Assistant,
    Group,
    History,
    Rendered,
    Section,
    System,
    Timeline,
    ToolMessage,
    ToolUse,
    User,
    read_payload,
    render,
)

Held = tuple[Sequence[Any], str]
"""What was said, and the question that comes now."""


def as_values(messages: Sequence[Chat]) -> Held:
    """Return what was said as :class:`Message` values, as a transcript keeps them."""
    return read_payload({"messages": messages[1:-1]}, "openai").messages, messages[-1]["content"]


def as_recorded(messages: Sequence[Chat]) -> Held:
    """Return what was said as it was recorded."""
    return messages[1:-1], messages[-1]["content"]


def one_history(held: Held, step: int | None = None) -> Timeline:
    """Write what was said as one recording."""
    said, question = held
    return Timeline(instructions(), History(said, step=step), User(question))


def turns(held: Held) -> Timeline:
    """Write every turn, newer ones with a higher priority."""
    said, question = held
    written = [_turn(message, priority=number) for number, message in enumerate(said)]
    return Timeline(instructions(), *written, User(question))


def groups(held: Held) -> Timeline:
    """Write every exchange as a group, newer ones with a higher priority."""
    said, question = held
    written = [
        Group(*[_turn(message) for message in exchange], priority=number)
        for number, exchange in enumerate(_exchanges(said))
    ]
    return Timeline(instructions(), *written, User(question))


def instructions() -> System:
    """Write the system turn."""
    return System(*[Section(s.id, s.text, title=s.title) for s in SECTIONS])


def trim(
    held: Held, budget: int | None, counter: Counter, write: Callable[[Held], Timeline]
) -> Rendered:
    """Return the prompt rendered within a budget."""
    return render(write(held), model=MODEL, budget=budget, counter=counter.given)


def chat(rendered: Rendered) -> list[Chat]:
    """Return Chat messages."""
    sent: list[Any] = rendered.to_openai()["messages"]
    return sent


def without_budget(held: Held, _budget: int, counter: Counter) -> Rendered:
    """Return the whole prompt rendered, nothing counted: what a request costs anyway."""
    return trim(held, None, counter, one_history)


def _turn(message: Chat, **options: Any) -> User | Assistant | ToolMessage:
    if message["role"] == "user":
        return User(message["content"], **options)
    if message["role"] == "tool":
        return ToolMessage(message["tool_call_id"], message["content"], **options)
    calls = [
        ToolUse(call["function"]["name"], call["function"]["arguments"], id=call["id"])
        for call in message.get("tool_calls", ())
    ]
    return Assistant(message["content"], *calls, **options)


def _exchanges(said: Iterable[Chat]) -> list[list[Chat]]:
    found: list[list[Chat]] = []
    for message in said:
        if message["role"] == "user":
            found.append([])
        found[-1].append(message)
    return found


def _ours(name: str, hold: Any, write: Callable[[Held], Timeline], note: str = "") -> Trimmer:
    return Trimmer(f"promptdsl, {name}", hold, partial(trim, write=write), chat, "promptdsl", note)


OURS = (
    _ours("one History", as_values, one_history, "of Message values, step budget // 8"),
    _ours("exact fit", as_values, partial(one_history, step=0), "the same with step 0"),
    _ours("turns", as_recorded, turns, "each with a priority"),
    _ours("groups", as_recorded, groups, "exchanges, each with a priority"),
)
NOT_FITTED = Trimmer(
    "promptdsl, all of it",
    as_values,
    without_budget,
    chat,
    "promptdsl",
    "one History, no budget: twice the messages to write",
)
