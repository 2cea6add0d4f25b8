"""A prompt with every kind of part: to render it loads what a render needs."""

import json
from typing import Any

from promptdsl import (
    Assistant,
    Code,
    Developer,
    Ephemeral,
    Event,
    Fragment,
    Grounding,
    Group,
    History,
    Json,
    Lazy,
    List,
    Message,
    Node,
    Note,
    Reasoning,
    Section,
    System,
    Table,
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
    render,
)
from promptdsl.comparing import parse, prompt_file, serialise
from promptdsl.page import PagePrompt, made_page

BUDGET = 700
"""The tokens of the prompt: a part of it is left out."""
MODELS = ("gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro")


def warm_up() -> list[str]:
    """Make a page of such a prompt with a budget and payloads, compared with a snapshot.

    Returns its errors: there are none.
    """
    before = parse(serialise(prompt_file(render(_prompt(1), model=MODELS[0]))))
    prompt = PagePrompt("warm", (_prompt(2), LookupError("no plan")), before=before)
    options: dict[str, Any] = {"model": MODELS[0], "budget": BUDGET, "cache": "auto"}
    data, errors = made_page(prompt, models=MODELS[1:], price=None, content=True, **options)
    json.dumps(data)
    return errors[:-1]


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
            Template.from_string("Hello {{ name }}.", name="Ada")
            Untrusted("Some text.", source="mail")
        Developer("Answer in JSON.")
        Tool(search)
        History(messages)
        Grounding("terms.md", "word " * 90, priority=-1)
        Grounding("facts", Table([{"name": "Ada"}]), Json({"a": 1}), Code("x"), List("a", "b"))
        with Assistant():
            Reasoning("Let me think.")
            ToolUse("search", {"query": "x"}, id="c1")
        ToolMessage("c1", "A result.")
        Ephemeral("Now.")
        Event(UserAction("clicked", target="help"))
        User("Why? ", Lazy(lambda context: str(context.model)))
    return prompt
