"""A conversation of any length as an API records it: the messages of Chat requests, in order.

The same arguments give the same messages, in every process. No two exchanges share a text, and
neither do two conversations whose numbers do not overlap: what remembers counts by text counts each
of them once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks import handwritten
from benchmarks.prompt import ANSWERS, CITIES, QUESTIONS, data

Chat = dict[str, Any]
"""One message of a Chat Completions request."""

SYSTEM: Chat = handwritten.build(data(0))[0]
LAST = "Where is it now, and who signed for it?"


@dataclass(frozen=True, slots=True)
class Shape:
    """How long what is said is, in sentences of about 13 tokens, least and most.

    Every ``tools``-th exchange calls a tool; none does where it is 0.
    """

    question: tuple[int, int] = (1, 4)
    answer: tuple[int, int] = (1, 4)
    result: tuple[int, int] = (1, 2)
    tools: int = 4


SHORT = Shape()
"""As in the benchmark prompt: 2.5 messages an exchange."""


def exchanges(count: int, shape: Shape = SHORT, *, start: int = 0) -> list[list[Chat]]:
    """Return this many exchanges, the messages of each, numbered from ``start``."""
    return [_exchange(number, shape) for number in range(start, start + count)]


def conversation(messages: int, *, start: int = 0) -> list[Chat]:
    """Return a system message, about this many messages of exchanges, and a question."""
    said = [m for each in exchanges(messages * 2 // 5, start=start) for m in each]
    return [SYSTEM, *said, {"role": "user", "content": f"Order {start}: {LAST}"}]


def rounds(count: int, shape: Shape, *, start: int = 0) -> list[list[Chat]]:
    """Return this many rounds of an agent: a call and its result, numbered from ``start``."""
    return [_called(number, Random(number), shape) for number in range(start, start + count)]


def cost(message: Chat, count: Callable[[str], int]) -> int:
    """Return the tokens of a message, its frame included, by OpenAI's published rule."""
    tokens = 3 + count(message["role"]) + count(message["content"] or "")
    for call in message.get("tool_calls", ()):
        tokens += count(call["function"]["name"]) + count(call["function"]["arguments"])
    return tokens


def total(messages: Sequence[Chat], count: Callable[[str], int]) -> int:
    """Return the tokens of a request with these messages."""
    return 3 + sum(cost(message, count) for message in messages)


def _exchange(number: int, shape: Shape) -> list[Chat]:
    random = Random(number)
    asked = f"Order {number}: {_said(QUESTIONS, random, shape.question)}"
    answered = f"Order {number}: {_said(ANSWERS, random, shape.answer)}"
    called = shape.tools and number % shape.tools == 1 % shape.tools
    return [
        {"role": "user", "content": asked},
        *(_called(number, random, shape) if called else ()),
        {"role": "assistant", "content": answered},
    ]


def _called(number: int, random: Random, shape: Shape) -> list[Chat]:
    city = random.choice(CITIES)
    function = {"name": "track_parcel", "arguments": f'{{"order": {number}, "city": "{city}"}}'}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    result = f'{{"order": {number}, "notes": "{_said(ANSWERS, random, shape.result)}"}}'
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": result},
    ]


def _said(sentences: Sequence[str], random: Random, length: tuple[int, int]) -> str:
    return " ".join(random.choices(sentences, k=random.randint(*length)))
