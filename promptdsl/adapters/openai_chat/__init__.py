"""OpenAI Chat Completions, and servers that speak it.

The rules are those of the service and of ``openai.types.chat``: a tool message for each result,
media in user turns only, names of limited charset, ids of at most 40 characters, no reasoning.
"""

from promptdsl.adapters.openai_chat.reading import read, read_response
from promptdsl.adapters.openai_chat.writing import Payload, write

__all__ = ["Payload", "read", "read_response", "write"]
