"""Pydantic AI: ``ModelMessage``, both ways.

Requests and responses take turns: neighbours that are not the model's are parts of one request. A
developer's text is a system prompt whose ``metadata`` remembers the role.
"""

from promptdsl.integrations.pydantic_ai.read import from_pydantic_ai
from promptdsl.integrations.pydantic_ai.write import to_pydantic_ai

__all__ = ["from_pydantic_ai", "to_pydantic_ai"]
