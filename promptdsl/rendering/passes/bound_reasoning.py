"""Bound reasoning: the check that no part before the reasoning changes in a later request.

Some models refuse a request in which any byte before their earlier reasoning has changed.
Source: Anthropic's documentation of preserved thinking.
"""

from promptdsl.config.transformation import Resolved
from promptdsl.foundation.errors import PlacementError
from promptdsl.foundation.escaping import Label
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.tree.masks import SECTION, SYSTEM
from promptdsl.tree.node import Node, named_label, walk
from promptdsl.tree.part_nodes import VolatileNode
from promptdsl.tree.turn_nodes import (
    LazyNode,
    RecordedNode,
    RequestOnlyNode,
    RootNode,
    TurnNode,
    among_turns,
)


def check_bound(root: RootNode, config: Resolved, model: str | None) -> None:
    """Raise for a ``Volatile`` or ``Lazy`` before the last question or answer.

    ``root`` is the tree as it was written for its audience.
    """
    turns = [*among_turns(root)]
    last = -1
    for index, turn in enumerate(turns):
        speaks = isinstance(turn, TurnNode) and turn.role in ("user", "assistant")
        if speaks or isinstance(turn, RecordedNode):
            last = index
    for index, turn in enumerate(turns):
        changing = _changing_part(turn) if _precedes(turn, index, last, config) else None
        if changing is not None:
            name = named_label(changing) if isinstance(changing, LazyNode) else "a Volatile"
            raise PlacementError(
                f"{name} comes before the reasoning of {model} and changes from "
                "one request to the next, but that reasoning is bound to the exact bytes before it",
                fix='move it to the end of the conversation: Ephemeral(..., position="end")',
                at=(changing.source,),
            )


def _precedes(turn: Node, index: int, last: int, config: Resolved) -> bool:
    """Return whether a turn is sent before bound reasoning, in this request or a later one.

    ``last`` is the index of the last turn that may be a question or contain reasoning.
    """
    if turn._mask & (SYSTEM | SECTION) or isinstance(turn, LazyNode):
        return True
    if isinstance(turn, RequestOnlyNode):
        default = "before_user" if turn.grounding else config.ephemeral_position
        position = turn.position or default
        return position != "end" and (position != "flow" or index < last)
    return index <= last


def _changing_part(turn: Node) -> Node | None:
    """Return the first part of a turn that may differ in the next request, or has data that may."""
    for node, _ in walk(turn):
        if isinstance(node, VolatileNode | LazyNode):
            return node
        for name in node._volatile_fields:
            value = getattr(node, name)
            if value and (name == "labels" or _is_volatile(value)):
                return value if isinstance(value, Node) else node
    return None


def _is_volatile(data: object) -> bool:
    """Return whether plain data is or holds a volatile value."""
    waiting: list[object] = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Label | VolatileNode) and value.label is not None:
            return True
        if is_mapping(value):
            waiting += value.values()
        elif is_list(value):
            waiting += value
    return False
