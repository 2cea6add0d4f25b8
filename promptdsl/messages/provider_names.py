"""The names of providers, for annotations."""

from typing import Literal, TypeAlias

ProviderName: TypeAlias = Literal[
    "openai",
    "openai_responses",
    "openai_compatible",
    "anthropic",
    "gemini",
    "bedrock",
    "chat_template",
]
"""The providers with an adapter of their own; servers and names in variables are a ``str``.

A ``str`` is checked at run time: :func:`register_provider` adds names."""
