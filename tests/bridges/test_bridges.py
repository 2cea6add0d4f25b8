"""What holds for every bridge: the law, the losses, the other library's own classes."""

from typing import Any

import pytest
from hypothesis import given
from langchain_core.messages import messages_from_dict, messages_to_dict
from mcp.types import GetPromptResult
from pydantic_ai.messages import ModelMessagesTypeAdapter

from promptdsl import (
    History,
    ImageBlock,
    Loss,
    LossError,
    MediaSource,
    Message,
    PromptError,
    ReasoningBlock,
    TextBlock,
    Timeline,
    ToolResultBlock,
    ToolUseBlock,
    User,
    render,
)
from promptdsl.bridges import Bridged
from promptdsl.bridges.langchain import from_langchain, to_langchain
from promptdsl.bridges.litellm import from_litellm, to_litellm
from promptdsl.bridges.mcp import from_mcp, to_mcp
from promptdsl.bridges.openai_agents import from_openai_agents, to_openai_agents
from promptdsl.bridges.pydantic_ai import from_pydantic_ai, to_pydantic_ai
from tests.adapters.conversations import CONVERSATIONS, PNG, RECORDED, needs_recorded
from tests.bridges.crossings import any_messages, dumped, recorded, rendered, texts

LANGCHAIN = (to_langchain, from_langchain, None)
PYDANTIC = (to_pydantic_ai, from_pydantic_ai, "openai")
MCP = (to_mcp, from_mcp, None)
LITELLM = (to_litellm, from_litellm, "openai_compatible")
AGENTS = (to_openai_agents, from_openai_agents, "openai_responses")
BRIDGES = {
    "langchain": LANGCHAIN,
    "pydantic-ai": PYDANTIC,
    "mcp": MCP,
    "litellm": LITELLM,
    "openai-agents": AGENTS,
}
"""By extra: there, back, and the provider that is rendered for."""

every_bridge = pytest.mark.parametrize("bridge", BRIDGES.values(), ids=BRIDGES)
every_conversation = pytest.mark.parametrize("name", CONVERSATIONS)


def plain(messages: Any) -> Any:
    """Return what crossed as plain data."""
    if isinstance(messages, GetPromptResult):
        return messages.model_dump()
    if isinstance(messages, list):
        return messages
    if any(hasattr(message, "parts") for message in messages):
        return ModelMessagesTypeAdapter.dump_python(list(messages))
    return messages_to_dict(messages)


def crossed(messages: Any, bridge: Any) -> Bridged[Any]:
    """Return messages on the other side."""
    return bridge[0](rendered(messages, bridge[2]))


def back(bridged: Bridged[Any], bridge: Any) -> tuple[Message, ...]:
    """Return messages from the other side."""
    return bridge[1](bridged.messages).messages


@every_bridge
@every_conversation
def test_law(name: str, bridge: Any) -> None:
    """What crosses, comes back and crosses again is the same."""
    there = crossed(CONVERSATIONS[name], bridge)
    again = crossed(back(there, bridge), bridge)
    assert plain(there.messages) == plain(again.messages)


def ended(messages: list[Message]) -> list[Message]:
    """Return messages whose last calls are no longer open."""
    return [*messages, Message("user", "And?"), Message("assistant", "Done.")]


@every_bridge
@given(messages=any_messages)
def test_law_for_any_messages(bridge: Any, messages: list[Message]) -> None:
    """The law holds for any messages, also those no pass would let through."""
    there = crossed(ended(messages), bridge)
    assert plain(there.messages) == plain(crossed(back(there, bridge), bridge).messages)


@pytest.mark.parametrize("bridge", [LANGCHAIN, PYDANTIC, LITELLM, AGENTS])
@every_conversation
def test_texts_arrive(name: str, bridge: Any) -> None:
    """Every text, also of a result, is on the other side."""
    arrived = dumped(plain(crossed(CONVERSATIONS[name], bridge).messages))
    assert set() == {t for t in texts(CONVERSATIONS[name]) if dumped(t)[1:-1] not in arrived}


@every_conversation
def test_texts_arrive_or_are_named(name: str) -> None:
    """Where results have no place, all other texts arrive, and each result is a loss."""
    there = crossed(CONVERSATIONS[name], MCP)
    arrived, lost = dumped(plain(there.messages)), [loss.what for loss in there.losses]
    blocks = [block for message in CONVERSATIONS[name] for block in message.content]
    own = {block.text for block in blocks if isinstance(block, TextBlock)}
    results = [block for block in blocks if isinstance(block, ToolResultBlock)]
    assert (set(), len(results)) == (
        {text for text in own if dumped(text)[1:-1] not in arrived},
        lost.count("a block of type 'tool_result'"),
    )


@every_bridge
@every_conversation
def test_the_same_twice(name: str, bridge: Any) -> None:
    """The same messages cross as the same data, with no clock and no chance in it."""
    once, twice = (crossed(CONVERSATIONS[name], bridge) for _ in range(2))
    assert (plain(once.messages), once.losses) == (plain(twice.messages), twice.losses)


@every_bridge
@needs_recorded
@pytest.mark.parametrize("name", RECORDED)
def test_recorded(name: str, bridge: Any) -> None:
    """A real conversation crosses, comes back and crosses again as the same."""
    there = crossed(recorded(name).messages, bridge)
    again = crossed(back(there, bridge), bridge)
    assert plain(there.messages) == plain(again.messages)


@pytest.mark.parametrize("bridge", [LANGCHAIN, PYDANTIC, LITELLM])
@needs_recorded
@pytest.mark.parametrize("name", RECORDED)
def test_recorded_without_a_loss(name: str, bridge: Any) -> None:
    """A real conversation loses nothing, the names of tools on results aside."""
    assert set() == {loss.what for loss in crossed(recorded(name).messages, bridge).losses}


# The classes of the others.


@every_conversation
def test_langchain_stores_it(name: str) -> None:
    """LangChain writes its messages as dictionaries and reads the same from them."""
    messages = list(crossed(CONVERSATIONS[name], LANGCHAIN).messages)
    assert messages == messages_from_dict(messages_to_dict(messages))


@every_conversation
def test_pydantic_ai_stores_it(name: str) -> None:
    """Pydantic AI writes its history as JSON and reads the same from it."""
    history = list(crossed(CONVERSATIONS[name], PYDANTIC).messages)
    stored = ModelMessagesTypeAdapter.dump_json(history)
    assert history == ModelMessagesTypeAdapter.validate_json(stored)


@every_conversation
def test_mcp_sends_it(name: str) -> None:
    """MCP writes its result as JSON and reads the same from it."""
    result = crossed(CONVERSATIONS[name], MCP).messages
    sent = result.model_dump_json(by_alias=True)
    assert result == GetPromptResult.model_validate_json(sent)


# Losses.


@pytest.mark.parametrize("bridge", [PYDANTIC, MCP, LITELLM])
def test_strict(bridge: Any) -> None:
    """With ``strict=True`` what has no word there is an error that says which library."""
    picture = ImageBlock(MediaSource("file_id", "f"))
    prompt = render(History([Message("user", ("Look.", picture))]))
    with pytest.raises(LossError, match="cannot be said to"):
        bridge[0](prompt, strict=True)


def test_strict_lets_hints_pass() -> None:
    """A hint is no reason to refuse."""
    messages = [Message("user", (TextBlock("Hi.", "1h"),))]
    assert ["hint"] == [loss.kind for loss in to_langchain(rendered(messages), strict=True).losses]


def test_losses_of_rendering() -> None:
    """What rendering lost without a target stands before what the bridge loses."""
    lost = render(Timeline(User("\ud800")))
    assert lost.losses == to_langchain(lost).losses


def test_losses_of_another_target() -> None:
    """What another target loses is nothing the bridge loses."""
    named = render(Timeline(User("Hi.", name="ada")), provider="anthropic")
    assert (1, ()) == (len(named.losses), to_langchain(named).losses)


def test_the_place_of_a_loss() -> None:
    """A loss names the turn and the line it was written in, and the message where none is known."""
    written = render(Timeline(User("Hi.", name="ada")))
    (loss,) = to_mcp(written).losses
    (other,) = to_mcp(rendered([Message("user", "Hi.", name="ada")])).losses
    assert ("user[0]", __file__, "messages[0]", None) == (
        loss.path,
        loss.source.file,
        other.path,
        other.source,
    )


def test_what_a_call_is_asked() -> None:
    """Which tool has to be called is said with the call, not with messages."""
    asked = render(Timeline(User("Hi.")), tool_choice="none")
    assert [Loss("hint", "tool_choice", "MCP takes it with the call, not with messages")] == list(
        to_mcp(asked).losses
    )


def test_lone_surrogates() -> None:
    """Ids with lone surrogates stay apart, and arguments keep their real pairs."""
    arguments = '{"q": "\\ud83d\\ude00 \\ud83d \\\\ud83d"}'
    calls = [ToolUseBlock("\ud800", "f", arguments), ToolUseBlock("\ud801", "f", "{}")]
    (message,) = to_langchain(rendered([Message("assistant", tuple(calls))])).messages
    first, second = message.tool_calls
    assert ({"q": "\U0001f600 \ufffd \\ud83d"}, True) == (
        first["args"],
        first["id"] != second["id"],
    )


@pytest.mark.parametrize(
    ("bridge", "module", "extra"),
    [
        (LANGCHAIN, "langchain_core.messages", "langchain"),
        (PYDANTIC, "pydantic_ai.messages", "pydantic-ai"),
        (MCP, "mcp.types", "mcp"),
    ],
)
def test_not_installed(
    bridge: Any, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the other library the error names the extra that brings it."""
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(PromptError, match=rf"pip install 'promptdsl\[{extra}\]'"):
        bridge[0](rendered([]))


def test_deep_arguments() -> None:
    """Arguments nested 10,000 deep cross and come back."""
    deep = '{"q":' * 10_000 + "1" + "}" * 10_000
    said = [Message("assistant", (ToolUseBlock("a", "f", deep),))]
    (message,) = back(crossed(said, LANGCHAIN), LANGCHAIN)
    assert deep == message.content[0].arguments.replace(" ", "")


@pytest.mark.parametrize("bridge", [LANGCHAIN, PYDANTIC])
def test_open_calls_cross(bridge: Any) -> None:
    """A conversation that waits for its tools may be handed over."""
    call = ToolUseBlock("a", "f", "{}")
    open_calls = [Message("user", "Hi."), Message("assistant", (call,))]
    assert (call,) == back(crossed(open_calls, bridge), bridge)[-1].content


@pytest.mark.parametrize("bridge", [LANGCHAIN, PYDANTIC])
def test_reasoning_crosses(bridge: Any) -> None:
    """What a model thought keeps its signature and where it came from."""
    thought = ReasoningBlock("Hm.", "c2ln", origin="anthropic")
    said = [Message("assistant", (thought, TextBlock("So.")))]
    assert (thought, TextBlock("So.")) == back(crossed(said, bridge), bridge)[0].content


@pytest.mark.parametrize("bridge", [LANGCHAIN, PYDANTIC, MCP, LITELLM])
def test_a_picture_crosses(bridge: Any) -> None:
    """A picture keeps its bytes and its type."""
    picture = ImageBlock(MediaSource("base64", PNG, "image/png"))
    assert (picture,) == back(crossed([Message("user", (picture,))], bridge), bridge)[0].content
