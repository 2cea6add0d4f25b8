"""Servers of open models with the interface of OpenAI's Chat Completions."""

import attrs

from promptdsl.config.wire import TEXT, CacheRule, Part
from promptdsl.config.wires.openai import WIRE as CHAT

WIRE = attrs.evolve(
    CHAT,
    name=__name__,
    adapter=__name__,
    other_names=("cohere", "llama_cpp", "lm_studio", "sambanova", "nebius"),
    telemetry=("", "chat"),  # these servers have names of their own
    contents=(
        *CHAT.contents,
        *("reasoning", "reasoning_text", "reasoning_details", "thinking_blocks"),
    ),
    parts={
        **CHAT.parts,
        "reasoning.text": TEXT,
        "reasoning.summary": Part(texts=("summary",)),
        "reasoning.encrypted": Part(),
    },
    any_model=True,
    deploys=False,
    some_models=False,
    image_tokens="patches-28",
    cache=CacheRule(),  # these servers have caches of their own
    strict_tools=False,
)
