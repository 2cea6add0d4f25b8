"""Prompts whose records are tested, the targets, and the oldest record."""

from pathlib import Path
from typing import Any

from promptdsl import *

OLDEST = Path(__file__).parent / "record-1.0.json"
TARGETS = {
    "openai": "gpt-5",
    "openai_responses": "gpt-5.6-sol",
    "openai_compatible": None,
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
    "bedrock": "amazon.nova-lite-v1:0",
    "chat_template": None,
}


def words(text: str) -> int:
    """Return the count of words."""
    return len(text.split())


def support(name: str = "Ada", **options: Any) -> Rendered:
    """Return a prompt with a tool, a section with a value, a long history and a question."""
    old = [("user", "one two three four five six"), ("assistant", "seven eight")]
    talk = [{"role": role, "content": text} for role, text in (*old, ("user", "nine"))]
    prompt = Timeline(
        Tool(name="find", description="Find tea.", input_schema={"type": "object"}),
        System("Be kind to ", Value(name), ".", Section("note", "a b c d e f g", priority=-1)),
        History(talk),
        User("Hello?"),
        Reserve(3),
    )
    return render(prompt, **{"provider": "openai", "counter": words, **options})
