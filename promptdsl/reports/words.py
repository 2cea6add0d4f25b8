"""Words: what the parts of a request are called, and which marks they carry."""

from collections.abc import Callable, Mapping
from typing import Any

from promptdsl.blocks import Cache
from promptdsl.fitting.dropping import described
from promptdsl.messages import Message
from promptdsl.nodes import (
    CacheBreakpoint,
    Call,
    Consolidated,
    Media,
    Merged,
    Recorded,
    Result,
    Text,
    ToolTurn,
    Trusted,
    Turn,
    Value,
    Verbatim,
    Volatile,
)
from promptdsl.tree import Node, label, mark_of

INLINE = (Text, Value, Volatile, Trusted, Verbatim)
"""What is text, and holds no other part."""


def what_of(node: Any) -> str:
    """Return what a node is, in a word or two."""
    say = _WORDS.get(node._node)
    return described(node) if say is None else say(node)


def _turn(turn: Turn) -> str:
    kind = _KINDS.get(turn.kind)
    return f"{turn.role} turn" if kind is None else f"{kind} ({turn.role} turn)"


_KINDS = {"event": "event", "request": "request-only content"}
_WORDS: Mapping[type[Node], Callable[[Any], str]] = {
    Turn: _turn,
    Merged: lambda node: f"{node.role} turn (merged)",
    Consolidated: lambda _: "system text",
    **dict.fromkeys((ToolTurn, Result), lambda _: "tool result"),
    Recorded: lambda node: f"{node.items[0].role} message",
    Call: lambda node: f"call {node.block.name!r}",
    Media: lambda node: str(node.block.type),
    CacheBreakpoint: lambda _: "cache breakpoint",
    **dict.fromkeys(INLINE, lambda node: label(node).lower()),
}


def mark_on(node: Any) -> Cache | None:
    """Return the cache mark behind a node."""
    if isinstance(node, CacheBreakpoint):
        return node.ttl or "default"
    return mark_of(node.options)


def mark_in(said: Message) -> Cache | None:
    """Return the last cache mark in a message."""
    if said.plain is not None:
        return None
    marks = (getattr(block, "cache", None) for block in reversed(said.content))
    return next((mark for mark in marks if mark is not None), None)
