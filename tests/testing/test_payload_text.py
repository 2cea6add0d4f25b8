"""The payload in a snapshot: placeholders are where values change, and nowhere else."""

import json
import re
from typing import Any

import pytest

from promptdsl import *
from tests.internals import payload_text
from tests.testing.payloads import EXPECTED, payload_of

PROVIDERS = ("openai", "openai_responses", "anthropic", "gemini", "bedrock", "chat_template")
PNG = "iVBORw0KGgo="
SCHEMA = {
    "type": "object",
    "properties": {
        "day2": {"type": "string", "description": "Day 2.", "enum": ["d2"]},
        "input": {"type": "integer"},
    },
    "required": ["day2"],
}


def text(tree: Node, provider: str, **scrubbers: Any) -> str:
    """Return the payload of a prompt in a snapshot."""
    return payload_text(render(tree, provider=provider), scrubbers, None)


def strings(value: Any, kind: str = "") -> set[tuple[str, str]]:
    """Return the strings in JSON data, each with the key that it has."""
    if isinstance(value, dict):
        return {it for key, item in value.items() for it in strings(item, key)}
    if isinstance(value, list):
        return {it for item in value for it in strings(item, kind)}
    return {(kind, value)} if isinstance(value, str) else set()


def changing(value: str) -> Timeline:
    """Return a prompt with a value at several places, and with texts that are equal to some."""
    now = Volatile(value, label="now")
    tool = Tool(name="user", description="At most 3 text.", input_schema=SCHEMA)
    return Timeline(
        tool,
        System("Give at most 3 reasons.", Section("s", "text", title=now)),
        User(now),
        Assistant(ToolUse("user", {"day2": "3"}, id="3")),
        ToolMessage("3", Json({"at": now}), Table([{"at": now, "3": "user"}])),
        User("3"),
    )


@pytest.mark.parametrize("provider", PROVIDERS)
def test_volatile_values_by_place(provider: str) -> None:
    """Any value is a sign at its places, numbered in their order; equal texts stay."""
    found = {text(changing(value), provider) for value in ("3", "user", "text", "a\n| b" * 40)}
    [payload] = found
    signs = re.findall("⟦now[^⟧]*⟧", payload)
    assert {"⟦now⟧", "⟦now-2⟧", "⟦now-3⟧", "⟦now-4⟧"} == {*signs}
    assert "Give at most 3 reasons." in payload
    assert "At most 3 text." in payload


def test_a_changed_text_is_not_hidden() -> None:
    """A text that depends on a volatile value is a difference: it is not that value."""
    three, four = (
        text(Timeline(System(f"At most {it}."), User(Volatile(it, label="n"))), "anthropic")
        for it in "34"
    )
    assert (True, True) == ("At most 3." in three, "At most 4." in four)


def test_places_have_the_signs_of_the_prompt_file() -> None:
    """Two values of one label have two signs, also where they are equal."""
    clocks = User(Text(Volatile("1:00", "at"), " to ", Volatile("1:00", "at")))
    assert '"content": "⟦at⟧ to ⟦at-2⟧"' in text(clocks, "openai")


@pytest.mark.parametrize(
    ("provider", "scrubbed"),
    [
        ("openai", "arguments content description enum filename id text tool_call_id"),
        ("openai_responses", "arguments call_id content description enum filename output text"),
        ("anthropic", "day2 description enum id text title tool_use_id"),
        ("gemini", "day2 description enum id output text"),
        ("bedrock", "day2 description enum name text toolUseId"),
        ("chat_template", "content day2 description enum id tool_call_id"),
    ],
)
def test_scrubbers_change_no_fact(provider: str, scrubbed: str) -> None:
    """A scrubber takes texts, arguments and ids of calls, and names of files; nothing else."""
    tree = Timeline(
        Tool(name="find2", description="Find 2.", input_schema=SCHEMA),
        System("No 4."),
        User("q2", Image.from_base64(PNG), Document.from_base64("JVBERi0x", title="r1"), name="a2"),
        Assistant(ToolUse("find2", {"day2": "2"}, id="call_1")),
        ToolMessage("call_1", "done 2"),
    )
    before, after = (
        strings(json.loads(text(tree, provider, **it))) for it in ({}, {"all": "(?s).+"})
    )
    assert scrubbed.split() == sorted({key for key, _ in after - before}, key=str.lower)
    assert {"⟦all-"} == {value[:5] for _, value in after - before}


def test_a_scrubbed_value_that_begins_with_another() -> None:
    """The longer match wins, whatever the order in which a function returns the matches."""
    payload = text(User("12, 1234"), "openai", id=lambda text: re.findall("[0-9]+", text))
    assert '"content": "⟦id-1⟧, ⟦id-2⟧"' in payload


def test_a_scrubber_takes_no_sign() -> None:
    """The sign of a volatile value, or of another scrubber, is not scrubbed."""
    tree = User("room 3 at ", Volatile("12:00", label="time"))
    payload = text(tree, "openai", room="room [0-9]", word="[a-z]+|[0-9]")
    assert '"content": "⟦room-1⟧ ⟦word-1⟧ ⟦time⟧"' in payload


@pytest.mark.parametrize("provider", PROVIDERS)
def test_payloads_with_two_of_all(provider: str) -> None:
    """An equal value has an equal sign, another one has another, in all of a payload."""
    assert EXPECTED[provider] == payload_of(provider)


def test_a_matcher_gets_each_value_before_it_is_scrubbed() -> None:
    """A matcher is called for each value from the outside in, with the keys and types around it."""
    seen: list[str] = []

    def matcher(*, data: Any, path: Any) -> Any:
        seen.append(".".join(f"{key}:{kind.__name__}" for key, kind in path))
        return "b1 b2" if data == "a1" else data

    rendered = render(Timeline(System("a1"), User("a2 a1", name="a3")), provider="openai")
    scrubbers: dict[str, Any] = {"b": "b[0-9]", "a": "a[0-9]"}
    payload = json.loads(payload_text(rendered, scrubbers, matcher))
    assert [
        {"role": "system", "content": "⟦b-1⟧ ⟦b-2⟧"},
        {"role": "user", "content": "⟦a-1⟧ ⟦a-2⟧", "name": "a3"},
    ] == payload["messages"]
    assert [
        "",
        "messages:list",
        "messages:list.0:dict",
        "messages:list.0:dict.role:str",
        "messages:list.0:dict.content:str",
        "messages:list.1:dict",
        "messages:list.1:dict.role:str",
        "messages:list.1:dict.content:str",
        "messages:list.1:dict.name:str",
    ] == seen


@pytest.mark.parametrize(
    ("scrubbers", "expected"),
    [
        ({"a": "x[0-9]", "b": "[a-z][0-9]"}, "⟦a-1⟧ ⟦b-1⟧ ⟦a-2⟧ ⟦b-1⟧ ⟦a-1⟧ z"),
        ({"b": "[a-z][0-9]", "a": "x[0-9]"}, "⟦b-1⟧ ⟦b-2⟧ ⟦b-3⟧ ⟦b-2⟧ ⟦b-1⟧ z"),
        ({"a": "x[0-9] y", "b": "[0-9]"}, "⟦a-1⟧⟦b-1⟧ ⟦a-2⟧⟦b-1⟧ x⟦b-1⟧ z"),
        ({"a": "q", "b": "z"}, "x1 y1 x2 y1 x1 ⟦b-1⟧"),
    ],
)
def test_two_scrubbers(scrubbers: dict[str, str], expected: str) -> None:
    """The first of two scrubbers takes what both match, the second takes the rest."""
    payload = json.loads(text(User("x1 y1 x2 y1 x1 z"), "openai", **scrubbers))
    assert [{"role": "user", "content": expected}] == payload["messages"]
