"""A tool loop: tools, replies that are appended to the conversation, and a warm cache.

Run it:     python examples/tool_loop.py
Change it:  promptdsl render examples/tool_loop.py:demo --for gemini --tool-choice charges
"""

import json
from collections.abc import Sequence

from promptdsl import (
    CacheBreakpoint,
    History,
    Message,
    Section,
    System,
    Timeline,
    Tool,
    ToolError,
    include,
    read_response,
    render,
    run_calls,
)


def charges(month: str) -> list[float]:
    """List the charges of a month, in EUR."""
    known = {"May": [49.0, 49.0]}
    if month not in known:
        raise ToolError("no charges are known for this month")
    return known[month]


CHARGES = Tool(charges)

REPLY = {
    "type": "message",
    "role": "assistant",
    "content": [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_1", "name": "charges", "input": {"month": "May"}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 312, "output_tokens": 41},
}
"""What ``client.messages.create(..., **rendered.to_anthropic())`` returned to the first request."""


def billing(conversation: Sequence[Message]) -> Timeline:
    """Return the prompt of a conversation so far. The conversation grows only at its end."""
    with Timeline() as timeline:
        include(CHARGES)
        with System():
            Section("role", "You answer questions about invoices. Look things up, never guess.")
            CacheBreakpoint("1h")
        History(conversation)
    return timeline


def demo(question: str = "Why was I charged twice?") -> Timeline:
    """Return the second request of the loop: a question, a call, and its result."""
    reply = read_response(REPLY)
    return billing([Message("user", question), reply, *run_calls(reply, [CHARGES])])


def main() -> None:
    """Print the request to one provider, the parts of the prompt, and the losses at others."""
    rendered = render(demo(), model="claude-opus-5-5", cache="auto")
    print(json.dumps(rendered.to_anthropic(), indent=2))
    print()
    print(rendered.outline())
    for provider in ("openai_responses", "gemini", "bedrock", "chat_template"):
        rendered = render(demo(), provider=provider)
        print(f"\n{provider}: {', '.join(rendered.payload())}")
        for loss in (*rendered.losses, *rendered.hints):
            print(f"  {loss.kind}: {loss.what}: {loss.why}")


if __name__ == "__main__":
    main()
