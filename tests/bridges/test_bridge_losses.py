"""What a library has no word for is told: a loss for each thing that does not come along."""

from importlib import import_module
from typing import Any

import pytest

from promptdsl import (
    Block,
    Message,
    Prompt,
    ReasoningBlock,
    TextBlock,
    ToolDefinition,
    render,
)

pytestmark = pytest.mark.sdk("langchain_core", "pydantic_ai")

SEARCH = ToolDefinition("search", raw={"type": "web_search"}, origin="openai_responses")


def written(library: str, *answer: Block, tools: tuple[ToolDefinition, ...] = ()) -> list[Any]:
    """Return the losses of a conversation with this answer on its way to a library."""
    bridge = import_module(f"promptdsl.bridges.{library}")
    messages = (Message("user", "Hi"), Message("assistant", answer), Message("user", "Go on"))
    crossed = getattr(bridge, f"to_{library}")(render(Prompt(messages, tools)))
    return [(loss.kind, loss.what) for loss in crossed.losses]


def read(library: str, *messages: Any) -> list[Any]:
    """Return the losses of messages of a library on their way back."""
    bridge = import_module(f"promptdsl.bridges.{library}")
    return [(loss.kind, loss.what) for loss in getattr(bridge, f"from_{library}")(messages).losses]


@pytest.mark.parametrize("library", ["langchain", "pydantic_ai"])
def test_tools_of_a_provider(library: str) -> None:
    """A tool that only one provider has does not come along."""
    assert [("content", "the tool 'search'")] == written(library, TextBlock("Yes"), tools=(SEARCH,))


@pytest.mark.parametrize("library", ["langchain", "pydantic_ai"])
def test_keys_beside_a_signature(library: str) -> None:
    """A text with a signature of Gemini's has no further keys there."""
    text = TextBlock("Yes", extra={"thought_signature": "c2ln", "own": 1})
    assert [("hint", "further keys of a block")] == written(library, text)


@pytest.mark.parametrize(
    ("signature", "extra", "lost"),
    [
        ("c2ln", {}, "the signature of reasoning"),
        (None, {"own": 1}, "further keys of a block"),
        (None, {"content": [{"type": "image"}]}, "further keys of a block"),
    ],
)
def test_reasoning_of_responses(signature: str | None, extra: dict[str, Any], lost: str) -> None:
    """Pydantic AI has no word for what an item of Responses says beside its texts."""
    block = ReasoningBlock("Hm.", signature, "c2Vj", "openai_responses", {"id": "rs_1", **extra})
    assert [("hint", lost)] == written("pydantic_ai", block, TextBlock("Yes"))


def test_fields_of_a_call() -> None:
    """Of the fields that LiteLLM adds to a call only Gemini's signature is read."""
    function = {"name": "find", "arguments": "{}"}
    fields = {"thought_signature": "c2ln", "own": 1}
    call = {"id": "a", "type": "function", "function": function, "provider_specific_fields": fields}
    answer = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert [("hint", "provider_specific_fields of a call")] == read("litellm", answer)


def test_citations() -> None:
    """The citations of a text of Pydantic AI are not read."""
    ai = import_module("pydantic_ai.messages")
    source = ai.WebCitationSource("https://example.com")
    cited = ai.TextPart("Yes", citations=[ai.Citation([source])])
    assert [("hint", "citations of a text")] == read("pydantic_ai", ai.ModelResponse([cited]))


def test_a_part_that_is_not_known() -> None:
    """A part of a request of Pydantic AI that has no form here is lost with its kind."""
    ai = import_module("pydantic_ai.messages")
    later = ai.InstructionDeltaPart(id=None, content="Be brief.")
    request = ai.ModelRequest([ai.UserPromptPart("Hi"), later])
    assert [("content", "a part of kind 'instruction-delta'")] == read("pydantic_ai", request)
