"""This library, in the ways an author can write the same prompt."""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from benchmarks import handwritten
from benchmarks.prompt import Data, Exchange
from promptdsl import (
    Assistant,
    History,
    Image,
    Section,
    System,
    Text,
    Timeline,
    ToolMessage,
    ToolUse,
    User,
    render,
)

MODEL = "gpt-5.2"


@attrs.frozen
class Entrant:
    """One way of writing the prompt: ``write`` builds it, ``build`` renders it as well."""

    NAME: str
    write: Callable[[Data], Timeline]
    NOTE: str = ""
    PACKAGE: str = "promptdsl"

    def build(self, data: Data) -> object:
        """Return the messages of the request."""
        return render(self.write(data), model=MODEL).to_openai()["messages"]

    def check(self, data: Data) -> bool:
        """Return whether the messages are the hand-written ones, to the byte."""
        return self.build(data) == handwritten.build(data)


def by_call(data: Data) -> Timeline:
    """Write the prompt as nested calls."""
    turns: list[Any] = []
    for exchange in data.exchanges:
        turns.append(User(exchange.question))
        call = exchange.call
        if call is not None:
            turns.append(Assistant(ToolUse(call.name, call.arguments, id=call.id)))
            turns.append(ToolMessage(call.id, call.result))
        turns.append(Assistant(exchange.answer))
    return Timeline(
        System(*[Section(s.id, s.text, title=s.title) for s in data.sections]),
        *turns,
        User(data.question, Image.from_url(data.image_url)),
    )


def in_one_block(data: Data) -> Timeline:
    """Write the root and the system turn as blocks, the turns as calls."""
    with Timeline() as timeline:
        with System():
            for section in data.sections:
                Section(section.id, section.text, title=section.title)
        for exchange in data.exchanges:
            User(exchange.question)
            call = exchange.call
            if call is not None:
                Assistant(ToolUse(call.name, call.arguments, id=call.id))
                ToolMessage(call.id, call.result)
            Assistant(exchange.answer)
        User(data.question, Image.from_url(data.image_url))
    return timeline


def by_with(data: Data) -> Timeline:
    """Write every container as a block."""
    with Timeline() as timeline:
        with System():
            for section in data.sections:
                with Section(section.id, title=section.title):
                    Text(section.text)
        for exchange in data.exchanges:
            with User():
                Text(exchange.question)
            call = exchange.call
            if call is not None:
                with Assistant():
                    ToolUse(call.name, call.arguments, id=call.id)
                with ToolMessage(call.id):
                    Text(call.result)
            with Assistant():
                Text(exchange.answer)
        with User():
            Text(data.question)
            Image.from_url(data.image_url)
    return timeline


def as_history(data: Data) -> Timeline:
    """Give the conversation as one recording, in OpenAI's form."""
    with Timeline() as timeline:
        System(*[Section(s.id, s.text, title=s.title) for s in data.sections])
        History.from_openai([m for exchange in data.exchanges for m in _recorded(exchange)])
        User(data.question, Image.from_url(data.image_url))
    return timeline


def _recorded(exchange: Exchange) -> Iterator[dict[str, Any]]:
    yield {"role": "user", "content": exchange.question}
    call = exchange.call
    if call is not None:
        function = {"name": call.name, "arguments": call.arguments}
        calls = [{"id": call.id, "type": "function", "function": function}]
        yield {"role": "assistant", "content": None, "tool_calls": calls}
        yield {"role": "tool", "tool_call_id": call.id, "content": call.result}
    yield {"role": "assistant", "content": exchange.answer}


ENTRANTS = (
    Entrant("promptdsl, by call", by_call),
    Entrant("promptdsl, turns by call in a block", in_one_block),
    Entrant("promptdsl, one History", as_history, "recorded in OpenAI's format, read each time"),
    Entrant("promptdsl, all blocks", by_with, "every container is a with block"),
)
