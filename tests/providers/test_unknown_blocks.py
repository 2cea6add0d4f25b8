"""Blocks that the library does not know: their own provider gets them back, nobody else does."""

from typing import Any, get_args

import pytest

from promptdsl import *
from tests.errors import this_line
from tests.folding import folded

PROVIDERS = get_args(AdapterName)
every_provider = pytest.mark.parametrize("provider", PROVIDERS)

NOBODYS = "no block has this type; read the data of a provider with History.from_openai, and so on"
BLOCKS: dict[str, tuple[dict[str, Any], str]] = {
    "of no type": ({"type": "weird", "text": "secret"}, NOBODYS),
    "misspelt": ({"type": "txt", "text": "secret"}, "no block has this type: did you mean 'text'?"),
    "a misspelt result": (
        {"type": "tool_reslt", "content": "secret"},
        "no block has this type: did you mean 'tool_result'?",
    ),
    "of Chat": (
        {"type": "image_url", "image_url": {"url": "https://secret.org"}},
        "this looks like openai: History.from_openai",
    ),
    "of Responses": (
        {"type": "input_text", "text": "secret"},
        "this looks like openai_responses: History.from_openai_responses",
    ),
    "of Anthropic": (
        {"type": "thinking", "thinking": "secret", "signature": "s"},
        "this looks like anthropic: History.from_anthropic",
    ),
}


def recorded(role: str, block: dict[str, Any]) -> tuple[Timeline, str]:
    """Return a prompt with a block in a recorded message, and the line of its History."""
    if role == "tool":
        block = {"type": "tool_result", "tool_use_id": "a", "content": ["ok", block]}
    entries = [{"role": role, "content": [block] if role == "tool" else ["ok", block]}]
    history, line = History(entries), f"{__file__}:{this_line()}"
    before = [User("Hi."), Assistant(ToolUse("f", {}, id="a"))] if role == "tool" else []
    return Timeline(*before, history, User("Bye.")), line


@folded("provider", PROVIDERS)
@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant", "tool"])
@pytest.mark.parametrize("name", BLOCKS)
def test_without_an_origin(name: str, role: str, provider: str) -> None:
    """A block of an unknown type is a loss of content everywhere, which says what to write."""
    block, why = BLOCKS[name]
    prompt, line = recorded(role, block)
    rendered = render(prompt, provider=provider)
    lost = [(str(loss.source), loss.why) for loss in rendered.losses if loss.kind == "content"]
    assert [(line, why)] == lost
    assert "secret" not in str(rendered.payload())


ITEM = {"type": "hologram", "data": [1], "note": {"x": None}}
OWN: dict[str, tuple[str, Any]] = {
    "openai": ("openai", {"role": "user", "content": [{"type": "text", "text": "ok"}, ITEM]}),
    "openai_compatible": (
        "openai",
        {"role": "user", "content": [{"type": "text", "text": "ok"}, ITEM]},
    ),
    "openai_responses": (
        "openai_responses",
        {"role": "user", "content": [{"type": "input_text", "text": "ok"}, ITEM]},
    ),
    "anthropic": (
        "anthropic",
        {"role": "user", "content": [{"type": "text", "text": "ok"}, ITEM]},
    ),
    "gemini": (
        "gemini",
        {"role": "model", "parts": [{"text": "ok"}, {"executable_code": {"code": "x", "new": 1}}]},
    ),
    "bedrock": (
        "bedrock",
        {"role": "user", "content": [{"text": "ok"}, {"searchResult": {"source": "s", "new": 1}}]},
    ),
}


@pytest.mark.parametrize("provider", OWN)
def test_with_its_origin(provider: str) -> None:
    """A block that a provider sent goes back to it unchanged, without a loss."""
    form, entry = OWN[provider]
    history = getattr(History, f"from_{form}")([entry])
    before = User("Hi.") if entry["role"] == "model" else Assistant("Hm.")
    rendered = render(Timeline(before, history), provider=provider)
    payload = rendered.payload()
    key = {"openai_responses": "input", "gemini": "contents"}.get(provider, "messages")
    assert entry == payload[key][-1]
    assert [] == [loss for loss in rendered.losses if loss.kind == "content"]


FORMS = {
    **{provider: form for provider, (form, _) in OWN.items()},
    "chat_template": "chat_template",
}
"""The form that each provider reads and writes."""


@pytest.mark.parametrize(
    ("provider", "origin"),
    [(provider, form) for provider, own in FORMS.items() for form in FORMS.values() if form != own],
)
def test_with_another_origin(provider: str, origin: str) -> None:
    """To any other provider it is a loss of content that names the one that knows it."""
    prompt = Timeline(History([{"role": "user", "content": ["a", UnknownBlock(ITEM, origin)]}]))
    losses = [loss.why for loss in render(prompt, provider=provider).losses]
    assert f"only {origin} knows it" == losses[0]
