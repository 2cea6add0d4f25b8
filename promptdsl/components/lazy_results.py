"""The checks of parts that come later: the result of a ``Lazy``, and a replacement.

They follow the rules of the component in which the part is placed.
"""

from collections.abc import Mapping, Sequence

from promptdsl.components.any_turn import TURNS
from promptdsl.components.block import Container, culprit
from promptdsl.components.budget import Limit, uncut
from promptdsl.components.events import EventBlockComponent
from promptdsl.components.lists import Checklist, Example, ExampleSide, Item, List, Quote
from promptdsl.components.request_only import RequestComponent
from promptdsl.components.sections import Note, Section
from promptdsl.components.timeline import Timeline, refuse_loose_media
from promptdsl.components.tool_calls import ToolMessage, ToolResult
from promptdsl.foundation.errors import PlacementError
from promptdsl.foundation.source import Source
from promptdsl.tree.group_nodes import LazyNode, NoteNode
from promptdsl.tree.masks import DEEP
from promptdsl.tree.node import Node, named_label
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import RequestOnlyNode, RootNode, TurnNode

_CONTAINERS: Mapping[type[Node], type[Container]] = {
    component._node: component
    for component in (
        *(Timeline, ToolMessage, RequestComponent, Section, Note, ToolResult, Limit),
        *(List, Checklist, Item, Quote, Example, ExampleSide, EventBlockComponent),
    )
}


def check_placement(part: Node, containers: Sequence[Node], lazy: LazyNode) -> Node:
    """Return a part that a ``Lazy`` returned; :class:`PlacementError` if it may not be there.

    ``containers`` are the nodes around the ``Lazy``, the innermost first, one of each kind.
    """
    innermost, root = containers[0], containers[-1]
    for container in containers:
        rules = _rules(container)
        # An outer node only refuses a part that may not be inside it at any depth.
        forbidden = rules._forbids if container is innermost else rules._forbids & DEEP
        if part._mask & forbidden:
            raise _misplaced(culprit(part, forbidden), container, lazy)
        node = uncut((part,)) if rules is Limit else None
        if node is not None:
            raise _misplaced(node, container, lazy)
    if not any(
        isinstance(container, TurnNode | RequestOnlyNode | NoteNode) for container in containers
    ):
        # Outside of any turn the part is system content, so it may not have attachments.
        loose = part if innermost is root else with_content(innermost, (part,))
        try:
            refuse_loose_media((loose,))
        except PlacementError as error:
            raise PlacementError(error.what, fix=error.fix, at=(lazy.source, *error.at)) from None
    return part


def check_replaced(container: Node, line: Source | None) -> None:
    """Raise :class:`PlacementError` for a replaced child that may not be in its node.

    The node was checked when it was written. Its child was replaced later, at ``line``.
    """
    if container._node not in _CONTAINERS and container._node is not TurnNode:
        return
    rules = _rules(container)
    wrong = uncut(container.content) if rules is Limit else None
    for child in container.content:
        if not isinstance(child, str) and child._mask & rules._forbids:
            wrong = wrong or culprit(child, rules._forbids)
    if wrong is not None:
        raise PlacementError(
            f"{named_label(wrong)} cannot be in {named_label(container)}",
            fix=rules._advice(wrong),
            at=(line, wrong.source, container.source),
        )


def _rules(container: Node) -> type[Container]:
    """Return the component class whose rules apply to the content of a node."""
    if isinstance(container, TurnNode) and container._node is TurnNode:
        return TURNS[container.role]
    return _CONTAINERS[container._node]


def _misplaced(node: Node, container: Node, lazy: LazyNode) -> PlacementError:
    """Return the error for a node that a ``Lazy`` returned and that may not be there."""
    advice = "return its turns in a Fragment"
    if not isinstance(node, RootNode):
        advice = _rules(container)._advice(node)
    return PlacementError(
        f"this Lazy returned {named_label(node)}, which cannot be in {named_label(container)}",
        fix=advice,
        at=(lazy.source, node.source, container.source),
    )
