"""The prompts of the page's tests."""

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
    with Timeline() as prompt:
        System(Section("role", "You are an agent. " + "Be careful. " * 400))
        Tool(find)
        User("Find the bug.")
        for number in range(calls):
            Assistant(ToolUse("find", {"query": f"page {number}"}, id=f"call_{number}"))
            ToolMessage(f"call_{number}", f"Result {number}: " + "words " * 60)
    return prompt
