"""Values that JSON cannot say, anywhere in a payload or a reply: they are refused, or left out."""

from math import inf, nan
from typing import Any

import pytest

from promptdsl import *
from tests.errors import raised
from tests.folding import failures
from tests.providers.conversations import PNG, answer, call, media, say
from tests.providers.every_target import FACTS, as_wire, write
from tests.searching import places_in, with_value

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
ASKED = [{"role": "user", "content": "Hi."}]
MESSAGES: Any = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi."}]}]}
TURNS: Any = {"messages": [{"role": "user", "content": [{"text": "Hi."}]}]}
CONTENTS: Any = {"contents": [{"role": "user", "parts": [{"text": "Hi."}]}]}
BYTES: dict[str, Any] = {"type": b"object"}
FORMED = {"type": "json_schema", "name": "a", "schema": BYTES}


class Unprintable:
    """An object without a text."""

    def __repr__(self) -> str:
        """Raise an error."""
        raise KeyError("x")


UNSAYABLE: dict[str, Any] = {
    "bytes": b"x",
    "a set": {1},
    "a class": int,
    "an object without a text": Unprintable(),
    "no number": nan,
    "infinity": inf,
    "a number of many digits": 10**5_000,
    "bytes in an object": {"enum": [1, b"x"]},
    "a number as a key": {1: 2},
    "a key of many digits": {10**5_000: 1},
    "a key without a text": {Unprintable(): 1},
}


REFUSED: list[tuple[str, Any, str]] = [
    (
        "openai_responses",
        {"input": ASKED, "tools": [{"type": "function", "name": "t", "parameters": BYTES}]},
        "tools[0]: 'schema.type' is not a JSON value: bytes",
    ),
    (
        "openai",
        {
            "messages": ASKED,
            "tools": [{"type": "function", "function": {"name": "t", "parameters": BYTES}}],
        },
        "tools[0]: 'schema.type' is not a JSON value: bytes",
    ),
    (
        "anthropic",
        {**MESSAGES, "tools": [{"name": "t", "input_schema": BYTES}]},
        "tools[0]: 'schema.type' is not a JSON value: bytes",
    ),
    (
        "bedrock",
        {
            **TURNS,
            "toolConfig": {"tools": [{"toolSpec": {"name": "t", "inputSchema": {"json": BYTES}}}]},
        },
        "tools[0]: 'schema.type' is not a JSON value: bytes",
    ),
    (
        "anthropic",
        {**MESSAGES, "tools": [{"name": "t", "input_schema": {}, "later": {1}}]},
        "tools[0]: 'later' is not a JSON value: set",
    ),
    (
        "anthropic",
        {**MESSAGES, "tools": [{"type": "web_search_1", "name": "w", "max_uses": nan}]},
        "tools[0]: 'max_uses' is not a JSON value: nan",
    ),
    (
        "openai_responses",
        {"input": ASKED, "text": {"format": FORMED}},
        "text.format: 'schema.type' is not a JSON value: bytes",
    ),
    (
        "openai_responses",
        {"input": ASKED, "text": {"format": {**FORMED, "schema": SCHEMA, "later": {1}}}},
        "text.format: 'later' is not a JSON value: set",
    ),
    (
        "openai",
        {"messages": [{"role": 10**5_000, "content": "Hi."}]},
        "messages[0]: unknown role <int that cannot be printed>",
    ),
    ("openai", {"messages": [{10**5_000: "Hi."}]}, "messages[0]: unknown role None"),
]


@pytest.mark.parametrize(("provider", "payload", "what"), REFUSED)
def test_in_a_payload(provider: Any, payload: Any, what: str) -> None:
    """In a schema, beside a tool, in a tool of the provider: the error says where it is."""
    assert what == raised(DataError, lambda: read_payload(payload, provider)).what


def test_in_a_value() -> None:
    """Nor has the tool, or the form of the answer, of an author such a value."""
    problems = [
        raised(DataError, lambda: ToolDefinition("t", None, BYTES)).what,
        raised(DataError, lambda: OutputSchema(UNSAYABLE["bytes in an object"])).what,
    ]
    assert [
        "'schema.type' is not a JSON value: bytes",
        "'schema.enum[1]' is not a JSON value: bytes",
    ] == problems


TOOLS = tuple(
    ToolDefinition(name, "d", SCHEMA, extra={"strict": False}, origin=origin)
    for name, origin in [("look_up", "openai"), ("look_down", None)]
)
MESSAGES_OF_ALL = (
    say("system", "Be brief."),
    say("user", "Hi.", ImageBlock(media("base64", PNG, "image/png"))),
    say("assistant", call("a"), call("b")),
    answer("a", "rain"),
    answer("b", "mud"),
    say("user", "So?"),
)
PROMPT = Prompt(MESSAGES_OF_ALL, TOOLS, "look_up", OutputSchema(SCHEMA, "form", "d"))


def spoiled_payloads(payload: Any) -> dict[str, Any]:
    """Return a payload with each of these values in each place, and under a new key there."""
    cases: dict[str, Any] = {}
    for path in places_in(payload):
        container = payload
        for key in path:
            container = container[key]
        for name, value in UNSAYABLE.items():
            cases[f"{name} in {path}"] = with_value(payload, path, value)
            if isinstance(container, dict):
                cases[f"{name} beside {path}"] = with_value(
                    payload, path, {**container, "x-new": value}
                )
    return cases


@pytest.mark.parametrize("target", ["openai", "responses", "anthropic", "gemini", "bedrock"])
def test_anywhere(target: str) -> None:
    """Whatever stands where in a payload, it is refused by its reader, or what is sent is JSON."""
    facts = FACTS[target]
    provider: Any = facts.provider
    cases = spoiled_payloads(write(PROMPT, facts)[0])

    def wrong(name: str) -> None:
        try:
            rendered = render(read_payload(cases[name], provider), provider=provider)
            as_wire(rendered.payload())
        except PromptError:
            pass

    assert [] == failures(cases, wrong)
