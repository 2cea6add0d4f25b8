"""Group nodes: they hold other nodes, or are replaced by some when the prompt is rendered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from promptdsl.tree.node import Node


class FragmentNode(Node):
    """Several parts without anything around them."""


class GroupNode(FragmentNode):
    """Parts that a budget keeps or drops together."""

    priority: float | None = None


class FirstFitNode(FragmentNode):
    """Alternatives, one per child; the first that fits the budget is sent."""

    priority: float | None = None


class LimitNode(FragmentNode):
    """Text that is cut to ``max_tokens``; ``keep`` names the end that stays."""

    max_tokens: int
    keep: Literal["head", "tail", "ends"] = "head"


class ReserveNode(Node):
    """Tokens of the budget that nothing is to use."""

    tokens: int


class ConversationNode(FragmentNode):
    """One history that was read: runs of messages (``Recorded``), events, request-only turns.

    A budget drops its oldest exchanges, at ``priority``, in steps of ``step`` tokens, and never the
    last ``keep`` exchanges.
    """

    keep: int = 0
    step: int | None = None
    priority: float = 0

    def _name(self) -> str:
        return "History"


class ComponentNode(FragmentNode):
    """The parts that a component function wrote.

    ``name`` is the name of the component, ``by`` the name of the function that replaced it, if any.
    """

    _beside = ("running",)
    name: str
    by: str | None
    running: Any
    """The rest of its function, while its block is being written."""

    def _name(self) -> str:
        return self.name


class FormatNode(FragmentNode):
    """Parts in a text format of their own."""

    format: str


class LazyNode(Node):
    """A part that ``function`` returns when the prompt is rendered.

    ``weight`` is its share of the budget among lazies. ``overrides`` are the replaced components at
    the place where it was written.
    """

    function: Callable[..., Any]
    weight: float
    overrides: Any


class NoteNode(Node):
    """Text for people, which is never sent to a model."""
