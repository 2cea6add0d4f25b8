"""LiteLLM, there and back."""

import subprocess
import sys

import pytest

from promptdsl import (
    Assistant,
    DataError,
    Developer,
    PendingToolCalls,
    ReasoningBlock,
    System,
    TextBlock,
    Timeline,
    Tool,
    ToolUse,
    User,
    render,
)
from promptdsl.bridges.litellm import from_litellm, to_litellm
from tests.bridges.crossings import said


class Reply:
    """A message as LiteLLM gives it: not a dictionary, but told to be one."""

    def model_dump(self, *, exclude_none: bool) -> dict[str, str]:
        """Return the message as a dictionary."""
        return {"role": "assistant", "content": "Hi."}


def test_a_conversation() -> None:
    """Messages are those of Chat for any server; a developer speaks as the system."""
    prompt = Timeline(System("Be brief."), User("Hi.", name="ada"), Developer("Go."))
    bridged = to_litellm(render(prompt))
    assert bridged.messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi."},
        {"role": "system", "content": "Go."},
    ]
    assert said(bridged.losses) == [("hint", "the name 'ada'")]


def test_another_target() -> None:
    """What was rendered for another target is written for LiteLLM all the same."""
    prompt = Timeline(User("Hi."), Developer("Go."), User("Well?"))
    rendered = render(prompt, model="claude-sonnet-4-5")
    assert ["user", "system", "user"] == [
        message["role"] for message in to_litellm(rendered).messages
    ]


def test_tools() -> None:
    """Tools are those of Chat; which one has to be called is said with the call."""
    prompt = Timeline(Tool(name="f", input_schema={"type": "object"}), User("Hi."))
    bridged = to_litellm(render(prompt, tool_choice="required"))
    assert (["f"], [("hint", "tool_choice")]) == (
        [tool["function"]["name"] for tool in bridged.tools],
        said(bridged.losses),
    )


def test_open_calls() -> None:
    """A request whose calls are not answered cannot be sent."""
    with pytest.raises(PendingToolCalls):
        to_litellm(render(Timeline(User("Hi."), Assistant(ToolUse("f", {}, id="a")))))


def test_objects() -> None:
    """LiteLLM's own messages are read as the dictionaries they are."""
    assert (TextBlock("Hi."),) == from_litellm([Reply()]).messages[0].content


def test_leading_systems_stay_apart() -> None:
    """Reading joins nothing: that is done when a prompt is rendered."""
    recorded = [{"role": "system", "content": text} for text in ("a", "b")]
    assert ["a", "b"] == [message.plain for message in from_litellm(recorded).messages]


def test_thinking() -> None:
    """What a model thought is read from where LiteLLM keeps it."""
    blocks = [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZW5j"},
    ]
    recorded = [
        {"role": "assistant", "content": "Hi.", "thinking_blocks": blocks},
        {"role": "assistant", "content": "Hi.", "reasoning_content": "Hm."},
    ]
    assert [
        (
            ReasoningBlock("Hm.", "c2ln", origin="anthropic"),
            ReasoningBlock("", encrypted="ZW5j", origin="anthropic"),
            TextBlock("Hi."),
        ),
        (ReasoningBlock("Hm."), TextBlock("Hi.")),
    ] == [message.content for message in from_litellm(recorded).messages]


def test_no_message() -> None:
    """What is no message is refused by its number."""
    with pytest.raises(DataError, match=r"messages\[0\]"):
        from_litellm([{"role": "robot", "content": "Hi."}])


def test_nothing_is_imported() -> None:
    """Neither LiteLLM nor the Agents SDK is loaded: their messages are dictionaries."""
    loads = "import promptdsl.bridges.litellm, promptdsl.bridges.openai_agents, sys"
    code = f"{loads}; print({{'litellm', 'agents', 'openai'}} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert b"set()" == found.stdout.strip()
