"""What holds for every integration: the law, the losses, the other library's own classes."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from promptdsl.integrations import Converted
from promptdsl.integrations.langchain import from_langchain, to_langchain
from promptdsl.integrations.litellm import from_litellm, to_litellm
from promptdsl.integrations.mcp import from_mcp, to_mcp
from promptdsl.integrations.openai_agents import from_openai_agents, to_openai_agents
from promptdsl.integrations.pydantic_ai import from_pydantic_ai, to_pydantic_ai
from tests.errors import this_line
from tests.folding import failures, unequal
from tests.integrations.crossings import (
    any_messages,
    are_joined,
    as_rendered,
    dumped,
    plain_messages,
    rendered,
    texts,
)
from tests.providers.conversations import CONVERSATIONS, PNG
from tests.renders import reported
from tests.searching import examples

LANGCHAIN = (to_langchain, from_langchain, None)
PYDANTIC = (to_pydantic_ai, from_pydantic_ai, "openai")
MCP = (to_mcp, from_mcp, None)
LITELLM = (to_litellm, from_litellm, "openai_compatible")
AGENTS = (to_openai_agents, from_openai_agents, "openai_responses")
INTEGRATIONS = {
    "langchain": LANGCHAIN,
    "pydantic-ai": PYDANTIC,
    "mcp": MCP,
    "litellm": LITELLM,
    "openai-agents": AGENTS,
}
"""By extra: there, back, and the provider that is rendered for."""

NEEDED = {"langchain": "langchain_core", "pydantic-ai": "pydantic_ai", "mcp": "mcp"}
"""By extra, the library without whose classes nothing crosses."""

langchain_core = pytest.mark.sdk("langchain_core")
pydantic_ai = pytest.mark.sdk("pydantic_ai")
mcp = pytest.mark.sdk("mcp")


def integrations(*names: str) -> Any:
    """Return the parameters of integrations, each marked with the library it needs."""
    marks = {name: [pytest.mark.sdk(NEEDED[name])] if name in NEEDED else [] for name in names}
    given = [pytest.param(INTEGRATIONS[name], id=name, marks=marks[name]) for name in names]
    return pytest.mark.parametrize("integration", given)


every_integration = integrations(*INTEGRATIONS)


def plain(messages: Any) -> Any:
    """Return what crossed as plain data."""
    if isinstance(messages, list):
        return messages
    if not isinstance(messages, tuple):
        return messages.model_dump()
    if any(hasattr(message, "parts") for message in messages):
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        return ModelMessagesTypeAdapter.dump_python(list(messages))
    from langchain_core.messages import messages_to_dict

    return messages_to_dict(messages)


def crossed(messages: Any, integration: Any) -> Converted[Any]:
    """Return messages on the other side."""
    return integration[0](rendered(messages, integration[2]))


def back(bridged: Converted[Any], integration: Any) -> tuple[Message, ...]:
    """Return messages from the other side."""
    return integration[1](bridged.messages).messages


def changed(messages: Any, integration: Any) -> str:
    """Return where what crosses, comes back and crosses again is not the same.

    Two answers between a call and its result come back as one: then that has to cross.
    """
    there = crossed(messages, integration)
    if are_joined(back(there, integration)):
        there = crossed(back(there, integration), integration)
    return unequal(
        plain(there.messages), plain(crossed(back(there, integration), integration).messages)
    )


def unlawful(conversations: Mapping[str, Any], integration: Any) -> list[str]:
    """Return which conversations do not keep the law."""
    return failures(conversations, lambda name: changed(conversations[name], integration))


@every_integration
def test_law(integration: Any) -> None:
    """What crosses, comes back and crosses again is the same."""
    assert [] == unlawful(CONVERSATIONS, integration)


def ended(messages: list[Message]) -> list[Message]:
    """Return messages whose last calls are no longer open."""
    return [*messages, Message("user", "And?"), Message("assistant", "Done.")]


@examples(200)
@given(integration=st.sampled_from([LITELLM, AGENTS]), messages=plain_messages)
def test_law_for_any_messages(integration: Any, messages: list[Message]) -> None:
    """The law holds for any messages, also those no pass would let through."""
    assert not changed(ended(messages), integration)


@pytest.mark.sdk(*NEEDED.values())
@examples(300)
@given(integration=st.sampled_from([LANGCHAIN, PYDANTIC, MCP]), messages=any_messages)
def test_law_for_any_messages_as_objects(integration: Any, messages: list[Message]) -> None:
    """So it does where messages are objects of the other library."""
    assert not changed(ended(messages), integration)


def not_arrived(integration: Any) -> list[str]:
    """Return the texts that are not on the other side."""

    def wrong(name: str) -> set[str]:
        arrived = dumped(plain(crossed(CONVERSATIONS[name], integration).messages))
        return {t for t in texts(CONVERSATIONS[name]) if dumped(t.rstrip())[1:-1] not in arrived}

    return failures(CONVERSATIONS, wrong)


@integrations("langchain", "pydantic-ai", "litellm", "openai-agents")
def test_texts_arrive(integration: Any) -> None:
    """Every text, also of a result, is on the other side, white space at its end aside."""
    assert [] == not_arrived(integration)


def not_named(name: str) -> str:
    """Return the texts that do not arrive, and where results and losses differ."""
    there = crossed(CONVERSATIONS[name], MCP)
    arrived, lost = dumped(plain(there.messages)), [loss.what for loss in reported(there)]
    blocks = [block for message in CONVERSATIONS[name] for block in message.content]
    own = {block.text for block in blocks if isinstance(block, TextBlock)}
    results = [block for block in blocks if isinstance(block, ToolResultBlock)]
    expected: tuple[set[str], int] = (set(), len(results))
    return unequal(
        expected,
        (
            {text for text in own if dumped(text)[1:-1] not in arrived},
            lost.count("a block of type 'tool_result'"),
        ),
    )


@mcp
def test_texts_arrive_or_are_named() -> None:
    """Where results have no place, all other texts arrive, and each result is a loss."""
    assert [] == failures(CONVERSATIONS, not_named)


def differing(integration: Any) -> list[str]:
    """Return which messages cross as other data the second time."""

    def wrong(name: str) -> str:
        once, twice = (crossed(CONVERSATIONS[name], integration) for _ in range(2))
        return unequal(
            (plain(once.messages), reported(once)), (plain(twice.messages), reported(twice))
        )

    return failures(CONVERSATIONS, wrong)


@every_integration
def test_the_same_twice(integration: Any) -> None:
    """The same messages cross as the same data, with no clock and no chance in it."""
    assert [] == differing(integration)


Conversations = Mapping[str, tuple[Message, ...]]


@pytest.fixture(scope="module")
def conversations(recorded: dict[str, list[dict[str, Any]]]) -> Conversations:
    """Return the messages of recorded conversations, rendered for no target."""
    return {name: as_rendered(messages).messages for name, messages in recorded.items()}


@every_integration
def test_some_recorded(integration: Any, conversations: Conversations) -> None:
    """A real conversation crosses, comes back and crosses again as the same."""
    some = dict(islice(conversations.items(), 3))
    assert [] == unlawful(some, integration)


@pytest.mark.slow
@every_integration
def test_recorded(integration: Any, conversations: Conversations) -> None:
    """So does every real conversation."""
    assert [] == unlawful(conversations, integration)


def lost(conversations: Conversations, integration: Any) -> list[str]:
    """Return what is lost of conversations."""

    def wrong(name: str) -> set[str]:
        return {loss.what for loss in reported(crossed(conversations[name], integration))}

    return failures(conversations, wrong)


@integrations("langchain", "pydantic-ai", "litellm")
def test_recorded_without_a_loss(integration: Any, conversations: Conversations) -> None:
    """A real conversation loses nothing, the names of tools on results aside."""
    assert [] == lost(conversations, integration)


# The classes of the others.


def not_stored_by_langchain(name: str) -> str:
    """Return where LangChain reads something else than it wrote."""
    from langchain_core.messages import messages_from_dict, messages_to_dict

    messages = list(crossed(CONVERSATIONS[name], LANGCHAIN).messages)
    return unequal(messages, messages_from_dict(messages_to_dict(messages)))


@langchain_core
def test_langchain_stores_it() -> None:
    """LangChain writes its messages as dictionaries and reads the same from them."""
    assert [] == failures(CONVERSATIONS, not_stored_by_langchain)


def not_stored_by_pydantic_ai(name: str) -> str:
    """Return where Pydantic AI reads something else than it wrote."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    history = list(crossed(CONVERSATIONS[name], PYDANTIC).messages)
    stored = ModelMessagesTypeAdapter.dump_json(history)
    return unequal(history, ModelMessagesTypeAdapter.validate_json(stored))


@pydantic_ai
def test_pydantic_ai_stores_it() -> None:
    """Pydantic AI writes its history as JSON and reads the same from it."""
    assert [] == failures(CONVERSATIONS, not_stored_by_pydantic_ai)


def not_sent_by_mcp(name: str) -> str:
    """Return where MCP reads something else than it wrote."""
    from mcp.types import GetPromptResult

    result = crossed(CONVERSATIONS[name], MCP).messages
    sent = result.model_dump_json(by_alias=True)
    return unequal(result, GetPromptResult.model_validate_json(sent))


@mcp
def test_mcp_sends_it() -> None:
    """MCP writes its result as JSON and reads the same from it."""
    assert [] == failures(CONVERSATIONS, not_sent_by_mcp)


# Losses.


@integrations("pydantic-ai", "mcp", "litellm")
def test_strict(integration: Any) -> None:
    """With ``strict=True`` what has no word there is an error that says which library."""
    picture = ImageBlock(MediaSource("file_id", "f"))
    prompt = render(History([Message("user", ("Look.", picture))]))
    with pytest.raises(LossError, match="cannot be sent to"):
        integration[0](prompt, strict=True)


@langchain_core
def test_strict_lets_hints_pass() -> None:
    """A hint is no reason to refuse."""
    messages = [Message("user", (TextBlock("Hi.", "1h"),))]
    assert ["hint"] == [hint.kind for hint in to_langchain(rendered(messages), strict=True).hints]


@langchain_core
def test_losses_of_rendering() -> None:
    """The losses of a render without a target come before those of the integration."""
    lost = render(Timeline(User("\ud800")))
    assert reported(lost) == reported(to_langchain(lost))


@langchain_core
def test_losses_of_another_target() -> None:
    """What another target loses is nothing the integration loses."""
    named = render(Timeline(User("Hi.", name="ada")), provider="anthropic")
    assert (1, ()) == (len(reported(named)), reported(to_langchain(named)))


@mcp
def test_the_place_of_a_loss() -> None:
    """A loss names the turn and the line it was written in, and of a recording the message."""
    (loss,) = to_mcp(render(Timeline(User("Hi.", name="ada")))).hints
    (other,) = to_mcp(render(History([Message("user", "Hi.", name="ada")]))).hints
    line = this_line()
    assert ("user[0]", f"{__file__}:{line - 2}", "history[0]", f"{__file__}:{line - 1}") == (
        loss.path,
        str(loss.source),
        other.path,
        str(other.source),
    )


@mcp
def test_the_line_of_a_block() -> None:
    """A loss in a merged message names the line of its block."""
    with Timeline() as tree:
        User("a")
        with User("b"):
            line = this_line() + 1
            Image.from_file_id("f")
    with pytest.warns(LostContentWarning, match="MCP has no files"):
        (loss,) = reported(to_mcp(render(tree)))
    assert ((0, 2), "user[1]", f"{__file__}:{line}") == (loss.at, loss.path, str(loss.source))


@mcp
def test_what_a_call_is_asked() -> None:
    """Which tool has to be called is said with the call, not with messages."""
    prompt = Timeline(User("Hi."))
    why = "MCP takes it with the call, not with messages"
    expected = Loss("hint", "tool_choice", why, source=prompt.source, name="unsent_setting")
    assert (expected,) == to_mcp(render(prompt, tool_choice="none")).hints


@langchain_core
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
    ("integration", "module", "extra"),
    [
        (LANGCHAIN, "langchain_core.messages", "langchain"),
        (PYDANTIC, "pydantic_ai.messages", "pydantic-ai"),
        (MCP, "mcp.types", "mcp"),
    ],
)
def test_not_installed(
    integration: Any, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the other library the error names the extra that brings it."""
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(PromptError, match=f"install the extra `{extra}` of promptdsl"):
        integration[0](rendered([]))


@langchain_core
@pytest.mark.parametrize("depth", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_deep_arguments(depth: int) -> None:
    """Arguments nested thousands deep cross and come back."""
    deep = '{"q":' * depth + "1" + "}" * depth
    said = [Message("assistant", (ToolUseBlock("a", "f", deep),))]
    (message,) = back(crossed(said, LANGCHAIN), LANGCHAIN)
    assert deep == message.content[0].arguments.replace(" ", "")


@integrations("langchain", "pydantic-ai")
def test_open_calls_cross(integration: Any) -> None:
    """A conversation that waits for its tools may be handed over."""
    call = ToolUseBlock("a", "f", "{}")
    open_calls = [Message("user", "Hi."), Message("assistant", (call,))]
    assert (call,) == back(crossed(open_calls, integration), integration)[-1].content


@integrations("langchain", "pydantic-ai")
def test_reasoning_crosses(integration: Any) -> None:
    """What a model thought keeps its signature and where it came from."""
    thought = ReasoningBlock("Hm.", "c2ln", origin="anthropic")
    said = [Message("assistant", (thought, TextBlock("So.")))]
    assert (thought, TextBlock("So.")) == back(crossed(said, integration), integration)[0].content


@integrations("langchain", "pydantic-ai", "mcp", "litellm")
def test_a_picture_crosses(integration: Any) -> None:
    """A picture keeps its bytes and its type."""
    picture = ImageBlock(MediaSource("base64", PNG, "image/png"))
    assert (picture,) == back(crossed([Message("user", (picture,))], integration), integration)[
        0
    ].content
