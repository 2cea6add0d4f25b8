"""LangChain: ``langchain_core.messages``, both ways.

Contents are its standard content blocks. A developer's message is a ``SystemMessage`` marked with
``__openai_role__``, which is how LangChain itself keeps that role.
"""

from promptdsl.integrations.langchain.read import from_langchain
from promptdsl.integrations.langchain.write import to_langchain

__all__ = ["from_langchain", "to_langchain"]
