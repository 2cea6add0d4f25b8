"""The prompts of the page's tests."""

import json

from promptdsl import *

MODEL = "claude-sonnet-4-5"


def answer(name: str = "Ada") -> Timeline:
    """Return a prompt with two documents, of which a budget of 230 tokens holds one."""
    with Timeline() as prompt:
        with System():
            Section("role", "You are a support agent.")
        Grounding("terms/billing.md", "x " * 50, priority=1)
        Grounding("terms/hours.md", "y " * 80, priority=-1)
        User("I am ", Value(name), ". Please help.")
        Event(UserAction("clicked", target="help"))
    return prompt


def find(query: str) -> str:
    """Find pages."""
    return query


def agent(calls: int) -> Timeline:
    """Return the request of an agent after some calls of its tool."""
    messages = [Message("user", [TextBlock("Find the bug.")])]
    for number in range(calls):
        call = ToolUseBlock(f"call_{number}", "find", json.dumps({"query": f"page {number}"}))
        result = ToolResultBlock(call.id, f"Result {number}: " + "words " * 60)
        messages += [Message("assistant", [call]), Message("tool", [result])]
    role = "You are an agent. " + "Be careful. " * 400
    return Timeline(System(Section("role", role)), Tool(find), History(messages))
