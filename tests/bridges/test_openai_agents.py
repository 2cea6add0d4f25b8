"""OpenAI Agents SDK, there and back."""

import pytest

from promptdsl import DataError, System, Timeline, Tool, User, render
from promptdsl.bridges.openai_agents import from_openai_agents, to_openai_agents
from tests.adapters.conversations import CONVERSATIONS
from tests.adapters.openai_responses_check import check_openai_responses
from tests.bridges.crossings import rendered
from tests.internals import facts_for
from tests.renders import named_losses

# A block no type of this version knows is sent as it came, so no checker knows it either.
KNOWN = [name for name in CONVERSATIONS if name != "unknown blocks"]


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
    assert ((), [("hint", "tools")]) == (bridged.tools, named_losses(bridged.losses))


def test_text_alone() -> None:
    """A text is what a user says, and instructions are the system message."""
    found = from_openai_agents("Hi.", instructions="Be brief.").messages
    assert [("system", "Be brief."), ("user", "Hi.")] == [(m.role, m.plain) for m in found]


@pytest.mark.parametrize("name", KNOWN)
def test_accepted(name: str) -> None:
    """Every conversation is written as the SDK's types and the service's rules ask."""
    items = to_openai_agents(rendered(CONVERSATIONS[name], "openai_responses")).messages
    check_openai_responses({"input": items}, facts_for(None, "openai_responses"))


def test_no_items() -> None:
    """What holds no input items is refused."""
    with pytest.raises(DataError, match="input items are needed, not NoneType"):
        from_openai_agents(None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
