"""A coding agent: a long recorded history of tool calls continues with another model.

The session was recorded in the format of OpenAI Chat; this program sends it to Anthropic.
promptdsl makes an id unique if the session uses it for two calls.

Run it:     python examples/coding_agent.py
Change it:  promptdsl render examples/coding_agent.py:demo -p task="Release it as 1.4.1."
"""

import json
from pathlib import Path
from typing import Any

from promptdsl import Grounding, History, Section, System, Text, Timeline, User, Value, render

SESSION = Path(__file__).parent / "data" / "coding_session.json"


def recorded() -> list[dict[str, Any]]:
    """Return the messages of the recorded session."""
    messages: list[dict[str, Any]] = json.loads(SESSION.read_text("utf-8"))["messages"]
    return messages


def coding(task: str, history: list[dict[str, Any]], branch: str) -> Timeline:
    """Return the prompt for the next task in a session."""
    with Timeline() as timeline:
        with System():
            Section("role", "You are a coding agent. You work in one repository, with tools.")
            with Section("rules", title="Rules"):
                Text("Read a file before you change it.")
                Text("Run the tests after every change, and say what they said.")
        History.from_openai(history)
        with Grounding("workspace", title="Workspace"):
            Text("Branch: ", Value(branch))
        User(task)
    return timeline


def demo(
    task: str = "Thanks. Is there any other place that assumes a fixed offset?",
    branch: str = "summer-time",
) -> Timeline:
    """Return the prompt that continues where the recorded session stopped."""
    return coding(task, recorded(), branch)


def main() -> None:
    """Print the request to the model, and the parts of the prompt."""
    rendered = render(demo(), model="claude-opus-5-5")
    print(json.dumps(rendered.to_anthropic(), indent=2))
    print()
    print(rendered.outline())


if __name__ == "__main__":
    main()
