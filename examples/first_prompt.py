"""The first prompt of the README: its text and its request. Run it: make demo."""

import json

from promptdsl import Section, System, Timeline, User, render

with Timeline() as prompt:
    with System():
        Section("role", "You are a support agent for TechCorp.")
        Section("rules", "Never promise a refund.", title="Rules")
    User("I was charged twice.")


def demo() -> Timeline:
    """Return the prompt."""
    return prompt


def main() -> None:
    """Print the prompt as the model reads it, and the arguments for the client of OpenAI."""
    rendered = render(prompt, model="gpt-5")
    print("What the model reads:\n")
    print(rendered)
    print("\nWhat is sent to OpenAI:\n")
    print(json.dumps(rendered.to_openai(), indent=2))


if __name__ == "__main__":
    main()
