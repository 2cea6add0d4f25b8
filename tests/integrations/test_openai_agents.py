"""OpenAI Agents SDK, there and back."""

from typing import Any

import pytest

from promptdsl import DataError, System, Timeline, Tool, User, render
from promptdsl.integrations.openai_agents import from_openai_agents, to_openai_agents
from tests.folding import failures
from tests.integrations.crossings import rendered
from tests.internals import facts_for
from tests.providers.conversations import CONVERSATIONS
from tests.providers.openai_responses_check import check_openai_responses, openai_responses_rules
from tests.renders import named_losses

# A block no type of this version knows is sent as it came, so no checker knows it either.
KNOWN = [name for name in CONVERSATIONS if name != "unknown blocks"]

every_check = pytest.mark.parametrize(
    "check",
    [
        openai_responses_rules,
        pytest.param(check_openai_responses, marks=pytest.mark.sdk("openai")),
    ],
)


def test_a_conversation() -> None:
    """The input has the complete conversation, also its system message."""
    bridged = to_openai_agents(render(Timeline(System("Be brief."), User("Hi."))))
    assert bridged.messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi."},
    ]


def test_tools() -> None:
    """Tools are a hint: an agent is given functions."""
    prompt = render(Timeline(Tool(name="f", description="Find."), User("Hi.")))
    bridged = to_openai_agents(prompt)
    assert ((), [("hint", "tools")]) == (bridged.tools, named_losses(bridged.hints))


def test_text_alone() -> None:
    """A text is what a user says, and instructions are the system message."""
    found = from_openai_agents("Hi.", instructions="Be brief.").messages
    assert [("system", "Be brief."), ("user", "Hi.")] == [(m.role, m.text) for m in found]


def refused(check: Any) -> list[str]:
    """Return what a check says of conversations as input items."""
    facts = facts_for(None, "openai_responses")

    def wrong(name: str) -> None:
        items = to_openai_agents(rendered(CONVERSATIONS[name], "openai_responses")).messages
        check({"input": items}, facts)

    return failures(KNOWN, wrong)


@every_check
def test_accepted(check: Any) -> None:
    """Every conversation is written as the SDK's types and the service's rules ask."""
    assert [] == refused(check)


def test_no_items() -> None:
    """What holds no input items is refused."""
    with pytest.raises(DataError, match="input items are needed, not NoneType"):
        from_openai_agents(None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
