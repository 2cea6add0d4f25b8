"""Servers of open models with the interface of OpenAI's Chat Completions."""

import attrs

from promptdsl.config.wire import CacheRule
from promptdsl.config.wires.openai import WIRE as CHAT

WIRE = attrs.evolve(
    CHAT,
    name=__name__,
    other_names=(
        *("mistral", "cohere", "litellm", "vllm", "ollama", "deepseek", "groq", "openrouter"),
    ),
    telemetry=("", "chat"),  # these servers have names of their own
    any_model=True,
    deploys=False,
    some_models=False,
    image_tokens="patches-28",
    cache=CacheRule(),  # these servers have caches of their own
    strict_tools=False,
)
