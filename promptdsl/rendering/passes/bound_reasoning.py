"""Bound reasoning: the check that no part before it changes from one request to the next.

Some models refuse a request in which any byte before their earlier reasoning has changed.
Source: Anthropic's documentation of preserved thinking.
"""

from promptdsl.config.transformation import Resolved
from promptdsl.foundation.errors import PlacementError
from promptdsl.tree.group_nodes import LazyNode
from promptdsl.tree.masks import SECTION, SYSTEM
from promptdsl.tree.node import Node, named_label, walk
from promptdsl.tree.part_nodes import SectionNode, VolatileNode
from promptdsl.tree.turn_nodes import RecordedNode, RequestOnlyNode, RootNode, TurnNode, among_turns


def check_bound(root: RootNode, config: Resolved, model: str | None) -> None:
    """Refuse a ``Volatile`` or ``Lazy`` before the last question or answer.

    ``root`` is the tree as it was written for its audience. Raises :class:`PlacementError` with
    the line of the part that changes.
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
            raise PlacementError(
                f"{named_label(changing)} comes before the reasoning of {model} and changes from "
                "one request to the next, but that reasoning is bound to the exact bytes before it",
                fix='move it to the end of the conversation: Ephemeral(..., position="end")',
                at=(changing.source,),
            )


def _precedes(turn: Node, index: int, last: int, config: Resolved) -> bool:
    """Return whether a turn is sent before bound reasoning, in this request or a later one.

    ``last`` is the index of the last turn that may be a question or contain reasoning.
    """
    if turn.mask & (SYSTEM | SECTION) or isinstance(turn, LazyNode):
        return True
    if isinstance(turn, RequestOnlyNode):
        default = "before_user" if turn.grounding else config.ephemeral_position
        position = turn.position or default
        return position != "end" and (position != "flow" or index < last)
    return index <= last


def _changing_part(turn: Node) -> VolatileNode | LazyNode | None:
    """Return the first part of a turn, or title in it, that may differ in the next request."""
    for node, _ in walk(turn):
        if isinstance(node, VolatileNode | LazyNode):
            return node
        if isinstance(node, SectionNode) and isinstance(node.title, VolatileNode):
            return node.title
    return None
