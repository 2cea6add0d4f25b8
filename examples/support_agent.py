"""A support agent: sections, an event of the application, and facts for one request only.

Run it:     python examples/support_agent.py
Change it:  promptdsl render examples/support_agent.py:demo -p question="May I have a discount?"
"""

import json
from collections.abc import Mapping, Sequence

from promptdsl import (
    Event,
    Grounding,
    History,
    Section,
    StateChange,
    System,
    Text,
    Timeline,
    User,
    UserAction,
    Value,
    render,
)

Message = Mapping[str, str]

EARLIER = (
    {"role": "user", "content": "Hi, I was charged twice this month."},
    {
        "role": "assistant",
        "content": "I am sorry about that. Could you open the invoice you mean?",
    },
)


def rules(plan: str) -> None:
    """Write the rules of the company; a plain function is a component."""
    with Section("rules", title="Rules"):
        Text("Never promise a refund; open a ticket for the billing team instead.")
        if plan == "Enterprise":
            Text("Offer a call with the account manager.")


def support(question: str, history: Sequence[Message], plan: str, charges: int) -> Timeline:
    """Return the complete prompt for one question of a customer."""
    with Timeline() as timeline:
        with System():
            Section("role", "You are a support agent for TechCorp. Answer in two sentences.")
            rules(plan)
        History(history)
        with Event():
            UserAction("opened", target="invoice 1881", amount="EUR 49.00")
            StateChange("ticket", old="none", new="draft")
        with Grounding("account", title="Account"):
            Text("Plan: ", Value(plan))
            Text("Charges in May: ", charges)
        User(question)
    return timeline


def demo(
    question: str = "Why was I charged twice for May?", plan: str = "Pro", charges: int = 2
) -> Timeline:
    """Return the prompt for a made-up customer."""
    return support(question, EARLIER, plan, charges)


def main() -> None:
    """Print the request to the model, and the parts of the prompt."""
    rendered = render(demo(), model="claude-opus-5-5")
    print(json.dumps(rendered.to_anthropic(), indent=2))
    print()
    print(rendered.outline())


if __name__ == "__main__":
    main()
