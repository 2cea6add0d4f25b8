"""What LangChain calls what both directions name."""

from typing import Any

from promptdsl.bridges.foreign import foreign

ROLE = "__openai_role__"
"""Where LangChain keeps that a system message is a developer's."""

SIGNATURES = "__gemini_function_call_thought_signatures__"
"""Where LangChain keeps the signatures of Gemini's calls, by id."""

PROVIDERS = {
    "anthropic": "anthropic",
    "openai_responses": "openai",
    "gemini": "google_genai",
    "bedrock": "bedrock_converse",
}
"""By our name of a provider, theirs."""

ORIGINS = {
    **{theirs: ours for ours, theirs in PROVIDERS.items()},
    "azure": "openai_responses",
    "azure_openai": "openai_responses",
    "bedrock": "bedrock",
    "google_vertexai": "gemini",
}
"""By their name of a provider, whose reasoning it is."""

NATIVE = ("anthropic", "openai_responses")
"""The providers whose blocks LangChain keeps as they came; those of others are its own."""


def langchain() -> Any:
    """Return LangChain's module of messages; :class:`PromptError` when it is not installed."""
    return foreign("langchain_core.messages", "langchain")
