"""OpenAI Responses: a list of items, of which messages are one kind.

The rules are those of the service and of ``openai.types.responses``. System text is the first item
and never ``instructions``: there a cache mark has a place, and nothing moves when one is dropped.
"""

from promptdsl.providers.openai_responses.read import read, read_response
from promptdsl.providers.openai_responses.write import Payload, write

__all__ = ["Payload", "read", "read_response", "write"]
