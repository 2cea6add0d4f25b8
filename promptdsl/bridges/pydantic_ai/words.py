"""What Pydantic AI calls what both directions name."""

from typing import Any

from promptdsl.bridges.foreign import foreign

DEVELOPER = {"role": "developer"}
"""The metadata of a system prompt that is a developer's."""

PROVIDERS = {
    "openai": "openai",
    "openai_responses": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
    "bedrock": "bedrock",
}
"""By our name of a provider, theirs."""

ORIGINS = {
    **dict.fromkeys(("openai", "azure"), "openai_responses"),
    **dict.fromkeys(("google", "google-cloud", "google-gla", "google-vertex"), "gemini"),
}
"""By their name of a provider, whose reasoning it is where the name differs."""

REDACTED = ("redacted_thinking", "redacted_content")
"""The ids of thoughts that are encrypted, of Claude."""


def pydantic_ai() -> Any:
    """Return Pydantic AI's module of messages; :class:`PromptError` when it is not installed."""
    return foreign("pydantic_ai.messages", "pydantic-ai")
