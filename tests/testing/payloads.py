"""A prompt with two of all that a payload in a snapshot has, and its payloads."""

import json
from pathlib import Path
from typing import Any

from promptdsl import *
from tests.internals import payload_text

FILE = Path(__file__).with_name("payloads.json")
EXPECTED: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
PROVIDERS = ("openai", "openai_responses", "anthropic", "gemini", "bedrock", "chat_template")
SCHEMA = {
    "type": "object",
    "properties": {
        "input": {"type": "string", "description": "in 1", "enum": ["e1", "e2"]},
        "text": {"type": "string", "default": "d1", "title": "t1"},
        "id": {"const": "c1"},
    },
    "required": ["input", "text"],
}
SCRUBBERS = {"word": r"\b[a-z]+\d+\b", "call": "call_[0-9]"}


def two_of_all() -> Timeline:
    """Return a prompt with volatile values, images, tools, calls and results, two of each."""
    return Timeline(
        Tool(name="find1", description="Find 1.", input_schema=SCHEMA),
        Tool(name="find2", description="Find b2.", input_schema=SCHEMA),
        System("At ", Volatile("12:01", "now"), ", ", Volatile("12:02", "now"), " s1 call_9."),
        User(
            "q1 ",
            Volatile("12:01", "now"),
            Image.from_base64("iVBORw0KGgo="),
            Document.from_base64("JVBERi0x", title="r1"),
            "q2",
            Image.from_base64("iVBORw0KGgp4"),
            name="a2",
        ),
        Assistant(
            "t1",
            ToolUse("find1", {"input": "i1", "text": ["x1", {"id": "y1", "type": "z1"}]}, "call_1"),
            ToolUse("find2", {"input": "i1", "type": "x1", "n": 7, "f": None}, "call_2"),
        ),
        ToolMessage("call_1", "done d1", Image.from_base64("iVBORw0KGgo=")),
        ToolMessage("call_2", Json({"text": "i1", "name": "n1"})),
        User("q1, q2, q12, ", Volatile("q1", "who")),
    )


def payload_of(provider: str) -> Any:
    """Return the payload in a snapshot, as data."""
    rendered = render(two_of_all(), provider=provider)
    return json.loads(payload_text(rendered, SCRUBBERS, None))


def rewritten() -> str:
    """Return the file with the payloads that there are now."""
    payloads = {it: payload_of(it) for it in PROVIDERS}
    return json.dumps(payloads, indent=1, ensure_ascii=False) + "\n"
