"""OpenAI Agents SDK, there and back."""

from promptdsl import System, Timeline, Tool, User, render
from promptdsl.bridges.openai_agents import from_openai_agents, to_openai_agents
from tests.bridges.crossings import said


def test_a_conversation() -> None:
    """The input holds the whole conversation, its system message too."""
    prompt = render(Timeline(System("Be brief."), User("Hi.")))
    payload = render(
        Timeline(System("Be brief."), User("Hi.")), provider="openai_responses"
    ).payload()
    bridged = to_openai_agents(prompt)
    assert payload == {"input": bridged.messages}


def test_tools() -> None:
    """Tools are a hint: an agent is given functions."""
    prompt = render(Timeline(Tool(name="f", input_schema={"type": "object"}), User("Hi.")))
    bridged = to_openai_agents(prompt)
    assert ((), [("hint", "tools")]) == (bridged.tools, said(bridged.losses))


def test_text_alone() -> None:
    """A text is what a user says, and instructions are the system message."""
    found = from_openai_agents("Hi.", instructions="Be brief.").messages
    assert [("system", "Be brief."), ("user", "Hi.")] == [(m.role, m.plain) for m in found]
