"""A prompt with every kind of part: to render it loads what a render needs."""

import json

from promptdsl import (
    Assistant,
    Developer,
    Ephemeral,
    Event,
    Fragment,
    Grounding,
    Group,
    History,
    Message,
    Node,
    Note,
    Reasoning,
    Section,
    System,
    Template,
    Text,
    TextBlock,
    Timeline,
    Tool,
    ToolMessage,
    ToolUse,
    Untrusted,
    User,
    UserAction,
    Value,
)
from promptdsl.page import PagePrompt, page_data

MODELS = ("gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro")


def warm_up() -> None:
    """Make a page of such a prompt, with two requests, a budget, and three payloads."""
    requests = (_prompt(1), _prompt(2))
    prompt = PagePrompt("warm", requests)
    json.dumps(page_data(prompt, model=MODELS[0], budget=300, models=MODELS[1:], cache="auto"))


def search(query: str) -> str:
    """Find a page."""
    return query


def _prompt(turns: int) -> Node:
    messages = [
        Message("user", [TextBlock(f"Question {turn}? " * 20)]) for turn in range(turns * 3)
    ]
    with Timeline() as prompt:
        with System():
            Section("role", "Be kind to ", Value("Ada <b>"), ".", title="Role")
            with Fragment(), Group():
                Text("a\nb")
                Note("Be short.")
            Template("Hello {{ name }}.", name="Ada")
            Untrusted("Some text.", source="mail")
        Developer("Answer in JSON.")
        Tool(search)
        History(messages)
        Grounding("terms.md", "word " * 90, priority=-1)
        with Assistant():
            Reasoning("Let me think.")
            ToolUse("search", {"query": "x"}, id="c1")
        ToolMessage("c1", "A result.")
        Ephemeral("Now.")
        Event(UserAction("clicked", target="help"))
        User("Why?")
    return prompt
