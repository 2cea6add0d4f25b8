"""LiteLLM: the dictionaries of ``litellm.completion``, both ways. LiteLLM itself is not imported.

It takes OpenAI Chat messages for every provider, so they are written as for a server that speaks
Chat: a developer's message as a system message, names left out.
"""

from promptdsl.bridges.litellm.reading import from_litellm
from promptdsl.bridges.litellm.writing import to_litellm

__all__ = ["from_litellm", "to_litellm"]
