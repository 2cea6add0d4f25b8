"""Bound reasoning: check that nothing before a model's reasoning changes in a later request.

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
    """Raise :class:`PlacementError` for a ``Volatile`` or ``Lazy`` before the last answer.

    A question and a recording count as an answer, too. ``root`` is the tree after ``select``.
    """
    turns = [*among_turns(root)]
    last_index = -1
    for index, turn in enumerate(turns):
        speaks = isinstance(turn, TurnNode) and turn.role in ("user", "assistant")
        if speaks or isinstance(turn, RecordedNode):
            last_index = index
    for index, turn in enumerate(turns):
        changing = _changing_node(turn) if _precedes(turn, index, last_index, config) else None
        if changing is not None:
            name = named_label(changing) if isinstance(changing, LazyNode) else "a Volatile"
            raise PlacementError(
                f"the reasoning of {model} is bound to the exact bytes before it, but {name} "
                "before it changes from one request to the next",
                fix='move it to the end of the conversation: Ephemeral(..., position="end")',
                at=(changing.source,),
            )


def _precedes(turn: Node, index: int, last_index: int, config: Resolved) -> bool:
    """Return whether a turn is sent before bound reasoning, in this request or a later one.

    ``last_index`` is that of the last turn that may be a question or contain reasoning.
    """
    if turn._mask & (SYSTEM | SECTION) or isinstance(turn, LazyNode):
        return True
    if isinstance(turn, RequestOnlyNode):
        default = "before_user" if turn.grounding else config.ephemeral_position
        position = turn.position or default
        return position != "end" and (position != "flow" or index < last_index)
    return index <= last_index


def _changing_node(turn: Node) -> Node | None:
    """Return the first node of a turn that may differ, or whose data may, in the next request."""
    for node, _ in walk(turn):
        if isinstance(node, VolatileNode | LazyNode):
            return node
        for name in node._volatile_fields:
            value = getattr(node, name)
            if value and (name == "labels" or _is_volatile(value)):
                return value if isinstance(value, Node) else node
    return None


def _is_volatile(data: object) -> bool:
    """Return whether data is a volatile value, or has one in its lists and dictionaries."""
    pending: list[object] = [data]
    while pending:
        value = pending.pop()
        if isinstance(value, Label | VolatileNode) and value.label is not None:
            return True
        if is_mapping(value):
            pending += value.values()
        elif is_list(value):
            pending += value
    return False
