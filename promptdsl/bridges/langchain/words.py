"""What LangChain calls what both directions name."""

from typing import Any

from promptdsl.bridges.foreign import foreign

ROLE = "__openai_role__"
"""Where LangChain keeps that a system message is a developer's."""

REASONING = ("signature", "encrypted", "origin")
"""What of a model's reasoning stands in the ``extras`` of its block."""


def langchain() -> Any:
    """Return LangChain's module of messages; :class:`PromptError` when it is not installed."""
    return foreign("langchain_core.messages", "langchain")
