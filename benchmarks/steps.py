"""Steps: an agent's prompt of 4 and of 40 steps, each a text, a call and the value it returned.

An agent writes its prompt anew at each call of a model, or keeps the parts of its steps, or their
messages in a ``History``. Who keeps them has one step more at each call, up to eight. By hand each
request is written again.
"""

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any

from benchmarks.calls import INSTRUCTIONS, TOOLS, arguments, chat, functions, instructions, tools
from benchmarks.costs import compared
from benchmarks.prompt import SECTIONS
from benchmarks.report import Report
from benchmarks.rows import HAND, OURS, Build, Row
from promptdsl import (
    Assistant,
    History,
    Message,
    System,
    TextBlock,
    Timeline,
    ToolMessage,
    ToolResultBlock,
    ToolUse,
    ToolUseBlock,
    User,
    Value,
)

SIZES = (4, 40)
MORE = 8
TASK = "Find out why the tests of the module fail on Windows."
RETURNED = "total 12, of 2026\n" + "<dir> src & tests, seen by the tool at 10:14\n" * 14
"""What a tool returns: 648 characters."""


def run(only: Sequence[str] = (), quick: bool = False) -> Report:
    """Return what each prompt costs; raises :class:`UnknownName` for an unknown entrant."""
    return compared(__name__, rows(), only, quick)


def rows() -> list[Row]:
    """Return the rows: for each size, three ways to write the prompt."""
    return [
        Row(f"an agent of {size} steps, {name}", {OURS: build(size), HAND: by_hand(size, more)})
        for size in SIZES
        for name, build, more in (
            ("all written again", anew, 0),
            ("parts kept", with_parts, MORE),
            ("messages kept", with_messages, MORE),
        )
    ]


def anew(size: int) -> Build:
    """Return an agent that writes all that it sends."""

    def build(question: str) -> Any:
        turns = [turn for number in range(size) for turn in parts(number)]
        return request(tools(), instructions(), [*turns, *parts(size, question)])

    return build


def with_parts(size: int) -> Build:
    """Return an agent that keeps the parts it has sent."""
    begun = [turn for number in range(size) for turn in parts(number)]
    kept, numbers = [*begun], numbers_of(size, MORE)

    def build(question: str) -> Any:
        number = next(numbers)
        if number == size:
            kept[:] = begun
        kept.extend(parts(number, question))
        return request(TOOLS, INSTRUCTIONS, kept)

    return build


def with_messages(size: int) -> Build:
    """Return an agent that keeps the messages it has sent."""
    begun = [message for number in range(size) for message in messages(number)]
    kept, numbers = [*begun], numbers_of(size, MORE)

    def build(question: str) -> Any:
        number = next(numbers)
        if number == size:
            kept[:] = begun
        kept.extend(messages(number, question))
        return request(TOOLS, INSTRUCTIONS, [History(kept)])

    return build


def by_hand(size: int, more: int) -> Build:
    """Return an agent that writes the same requests by hand."""
    numbers = numbers_of(size, more)
    questions: list[str] = []

    def build(question: str) -> Any:
        number = next(numbers)
        # What the steps before were asked; it begins anew with the first of the numbers.
        questions[number - size :] = [question]
        titled = [f"## {section.title}\n{section.text}" for section in SECTIONS]
        sent = [chat("system", "\n\n".join(titled)), chat("user", TASK)]
        for earlier in range(size):
            sent += chat_messages(earlier)
        for later, asked in enumerate(questions, size):
            sent += chat_messages(later, asked)
        return {"messages": sent, "tools": functions()}

    return build


def numbers_of(size: int, more: int) -> Iterator[int]:
    """Yield the numbers of the last steps: they grow, and begin again."""
    return cycle(range(size, size + max(more, 1)))


# One step, in each form.


def parts(number: int, question: str = "") -> list[Assistant | ToolMessage]:
    """Return a step as parts."""
    call = ToolUse("list_files", f'{{"path": "src/{number}"}}', id=f"call_{number}")
    said = Assistant(f"I look into folder {number}. {question}", call)
    return [said, ToolMessage(f"call_{number}", Value(RETURNED))]


def messages(number: int, question: str = "") -> list[Message]:
    """Return a step as messages."""
    id = f"call_{number}"
    text = TextBlock(f"I look into folder {number}. {question}")
    call = ToolUseBlock(id, "list_files", f'{{"path": "src/{number}"}}')
    result = ToolResultBlock(id, (TextBlock(RETURNED),))
    return [Message("assistant", (text, call)), Message("tool", (result,))]


def chat_messages(number: int, question: str = "") -> list[dict[str, Any]]:
    """Return a step as messages of a Chat request."""
    id = f"call_{number}"
    function = {"name": "list_files", "arguments": f'{{"path": "src/{number}"}}'}
    said = {
        **chat("assistant", f"I look into folder {number}. {question}"),
        "tool_calls": [{"id": id, "type": "function", "function": function}],
    }
    return [said, {**chat("tool", RETURNED), "tool_call_id": id}]


def request(tools: Sequence[Any], sections: Sequence[Any], turns: Sequence[Any]) -> Any:
    """Return the arguments of a request of the agent."""
    return arguments(Timeline(*tools, System(*sections), User(TASK), *turns))
