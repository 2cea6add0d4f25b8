"""What may not stand before reasoning that is bound to the exact bytes before it.

Anthropic's documentation of preserved thinking: a request whose earlier bytes changed is refused.
"""

from collections.abc import Iterator
from typing import Any

from promptdsl.config.transformation import Resolved
from promptdsl.foundation.errors import PlacementError
from promptdsl.tree.group_nodes import LazyNode
from promptdsl.tree.masks import SECTION, SYSTEM
from promptdsl.tree.node import Node, named_label, walk
from promptdsl.tree.part_nodes import SectionNode, VolatileNode
from promptdsl.tree.turn_nodes import RecordedNode, RequestOnlyNode, TurnNode, among_turns


def check_bound(root: Node, config: Resolved, model: str | None) -> None:
    """Refuse what changes from one request to the next before the last question or answer.

    ``root`` is the tree as it was written for its audience. Raises :class:`PlacementError` with the
    line of what changes.
    """
    turns = [*among_turns(root)]
    asked = max((n for n, turn in enumerate(turns) if _may_ask(turn)), default=-1)
    for number, turn in enumerate(turns):
        if not _precedes(turn, number, asked, config):
            continue
        changing = next(_changing(turn), None)
        if changing is not None:
            raise PlacementError(
                f"{named_label(changing)} changes what stands before the reasoning of {model}, "
                "which is bound to the exact bytes before it",
                fix='put it behind the conversation: Ephemeral(..., position="end")',
                at=(changing.source,),
            )


def _changing(turn: Node) -> Iterator[VolatileNode | LazyNode]:
    """Yield what of a turn may differ in the next request, the titles of sections included."""
    for node, _ in walk(turn):
        if isinstance(node, VolatileNode | LazyNode):
            yield node
        elif isinstance(node, SectionNode) and isinstance(node.title, VolatileNode):
            yield node.title


def _may_ask(turn: Node) -> bool:
    """Return whether a turn may be a question, or hold reasoning."""
    spoken = isinstance(turn, TurnNode) and turn.role in ("user", "assistant")
    return isinstance(turn, RecordedNode) or spoken


def _precedes(turn: Any, number: int, asked: int, config: Resolved) -> bool:
    """Return whether a turn stands before what is bound, or may come to stand there."""
    if turn.mask & (SYSTEM | SECTION) or isinstance(turn, LazyNode):
        return True
    if isinstance(turn, RequestOnlyNode):
        usual = "before_user" if turn.grounding else config.ephemeral_position
        position = turn.position or usual
        return position != "end" and (position != "flow" or number < asked)
    return number <= asked
