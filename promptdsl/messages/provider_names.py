"""The names of providers, for annotations."""

from typing import Literal, NewType, TypeAlias, Union

AdapterName: TypeAlias = Literal[
    "openai",
    "openai_responses",
    "openai_compatible",
    "anthropic",
    "gemini",
    "bedrock",
    "chat_template",
]
"""The providers with an adapter of their own."""

ServerName: TypeAlias = Literal[
    "deepseek",
    "deepseek_responses",
    "openrouter",
    "openrouter_responses",
    "mistral",
    "groq",
    "gemini_openai",
    "ollama",
    "vllm",
    "moonshotai",
    "zai",
    "cerebras",
    "github_copilot",
    "huggingface",
    "together",
    "fireworks",
    "xai",
    "alibaba",
    "snowflake",
    "crusoe",
    "litellm",
    "bedrock_mantle",
    "meta",
]
"""The servers of ``config/servers.toml``."""

ProviderId = NewType("ProviderId", str)
ProviderId.__doc__ = """Tell type checkers that a string is the name of a provider.

It returns the string. Use it for a name that :func:`register_provider` added, and for one in a
variable; the names that promptdsl has need none. The name is checked when it is used.

>>> from promptdsl import ProviderId, Timeline, User, register_provider, render
>>> with register_provider("house", adapter="openai_compatible"):
...     rendered = render(Timeline(User("Hi.")), provider=ProviderId("house"))
>>> rendered.facts.provider
'house'
"""

ProviderName: TypeAlias = Union[ProviderId, AdapterName, ServerName]  # noqa: UP007 (jedi fails on `|`)
"""A provider: one that promptdsl has, or a :class:`ProviderId`."""
