"""The tables of pairs: what a prompt is sent as, what is told of it, and where its blocks are."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from promptdsl import *
from tests.internals import Memory, Written
from tests.providers.pairs.prompts import TARGETS, Pair
from tests.providers.wire_tables.tables import as_json, message_data
from tests.renders import lossy_payload, reported

FOLDER = Path(__file__).parent


@cache
def table(name: str) -> Any:
    """Return what stands in a file."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def sent(pair: Pair, *, placed: bool) -> dict[str, Any]:
    """Return what a prompt comes to, by the targets that get the same of it.

    ``placed``: with the places of its blocks.
    """
    groups: dict[str, list[str]] = {}
    for target in pair.targets:
        groups.setdefault(json.dumps(_sent(pair, target, placed=placed)), []).append(target)
    return {" = ".join(targets): json.loads(value) for value, targets in groups.items()}


def _sent(pair: Pair, target: str, *, placed: bool) -> dict[str, Any]:
    try:
        rendered = render(pair.prompt(), **TARGETS[target], **pair.options)
        payload = lossy_payload(rendered)
    except PromptError as error:
        return {"refused": error.what}
    losses = [*map(loss_line, reported(rendered))]
    places = {"places": [*map(_place_line, rendered.locations())]} if placed else {}
    return {"payload": as_json(payload), "told": losses, **places}


def loss_line(loss: Loss) -> str:
    """Return a loss in one line: what is lost, why, and where it stands."""
    at = ".".join(map(str, loss.at or ()))
    times = f" x{loss.count}" if loss.count > 1 else ""
    return f"{loss.name or loss.kind}{times} at {at or loss.path}: {loss.what}: {loss.why}"


def _place_line(location: SentLocation) -> str:
    """Return a place in one line: where a block is sent, and what it is sent as."""
    steps = (location.message, location.block, location.inner)
    block = ".".join(str(step) for step in steps if step is not None)
    keys = ("id", "name", "speaker", "fence", "cache", "is_error")
    fields: Any = {key: getattr(location, key) for key in keys if getattr(location, key)}
    notes = "".join(f" {key}={value}" for key, value in fields.items())
    part = "" if location.start is None else f"[{location.start}:{location.end}] {location.text!r}"
    address = ".".join(map(str, location.address))
    return f"{block or '+'} {location.role} {location.entry} {address}{notes} {part}".rstrip()


def prompt_data(prompt: Prompt) -> dict[str, Any]:
    """Return all that was read of a payload; what it does not say is left out."""
    fields = attrs.fields(Prompt)
    said = {
        field.name: _data(getattr(prompt, field.name)) for field in fields if field.name != "joints"
    }
    said["messages"] = [message_data(message) for message in prompt.messages]
    usual = {"untrimmed_from": 0, "join_texts": True, "merges": True, "prompts_output": False}
    return {
        key: value
        for key, value in said.items()
        if value not in (None, []) and usual.get(key) != value
    }


def _data(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_data(item) for item in value]
    if not attrs.has(type(value)):
        return as_json(value)
    fields = {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}
    fields.pop("at", None)
    filled: Any = {key: _data(inner) for key, inner in fields.items()}
    return {key: inner for key, inner in filled.items() if inner not in (None, {}, "")}


def read_again(data: Any, provider: str) -> dict[str, Any]:
    """Return what is read of a payload, what is told when it goes back, and what is other then."""
    try:
        prompt = read_payload(data, provider)
    except PromptError as error:
        return {"refused": error.what, "fix": error.fix}
    read = {"read": prompt_data(prompt)}
    try:
        options: Any = {**AS_WRITTEN, "tool_pairing": "keep"}
        rendered = render(prompt, provider=provider, transformation=options)
        payload = as_json(rendered.payload())
    except PromptError as error:
        return {**read, "unsendable": error.what}
    losses = [*map(loss_line, reported(rendered))]
    again = {} if payload == data else {"again": payload}
    return {**read, **({"told": losses} if losses else {}), **again}


def read_reply(reply: Any, provider: str | None) -> dict[str, Any]:
    """Return what is read of a reply, or why it is none."""
    try:
        return {"read": message_data(read_response(reply, provider=provider))}
    except PromptError as error:
        return {"refused": error.what, "fix": error.fix}


def read_events(events: list[Any], provider: str | None) -> dict[str, Any]:
    """Return what is read of a stream, and of what it is cut to after a third and two thirds.

    ``left out`` is what is not whole after each event.
    """
    cuts = (len(events) // 3, 2 * len(events) // 3)
    cut = {str(count): _after(events[:count], provider) for count in cuts if count}
    readings = [_after(events[:count], provider) for count in range(1, len(events) + 1)]
    left_out = [after.get("metadata", {}).get("interrupted", []) for after in readings]
    return {"read": readings[-1], "cut": cut, "left out": left_out}


def _after(events: list[Any], provider: str | None) -> dict[str, Any]:
    reading = read_stream(events, provider=provider)
    try:
        passed = [*reading]
    except PromptError as error:
        return {"refused": error.what, "fix": error.fix, **message_data(reading.message)}
    assert passed == events
    return message_data(reading.message)


def forgotten(pair: Pair, target: str) -> list[int]:
    """Return how long a prompt is where a memory of its beginning sends it otherwise.

    It grows by one message after the other, and then loses its last two again.
    """
    expected = render(pair.prompt(), **TARGETS[target], **pair.options)
    memory, nothing = Memory(min_messages=0, long=0, newest=1, growth=1), Memory(min_messages=1_000)
    count = len(expected.messages)
    lengths = [*range(1, count + 1), max(count - 2, 1), count]
    prompts = {n: Prompt(expected.messages[:n], expected.tools) for n in lengths}
    return [
        length
        for length in lengths
        if _told(Written(prompts[length], expected.facts, memory))
        != _told(Written(prompts[length], expected.facts, nothing))
    ]


def _told(written: Written) -> str:
    return json.dumps([as_json(written.payload()), [*map(loss_line, written.losses)]])
