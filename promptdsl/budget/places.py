"""Places in a tree, the changes that are decided there, and the tree with these changes."""

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from promptdsl.tree.group_nodes import ConversationNode, FirstFitNode, GroupNode, ReserveNode
from promptdsl.tree.masks import HOLLOW
from promptdsl.tree.node import Node, walk
from promptdsl.tree.part_nodes import ToolResultNode
from promptdsl.tree.rewrite import has_content, hollow, rewrite, with_content
from promptdsl.tree.turn_nodes import RecordedNode, ToolTurnNode


@attrs.define(eq=False)
class TreePlace:
    """A node and where it is: the ``index``-th part of the node at ``parent``."""

    node: Any
    parent: "TreePlace | None" = None
    index: int = 0
    depth: int = 0
    """How many places are around it."""
    holds: bool = False
    """Whether it is a turn or in one; outside of turns, nothing goes for being empty."""
    fixed: bool = False
    """Whether something in it stays as long as it does itself: it never becomes empty."""
    live: int = 0
    """How many of its parts may go; all of them are there at first."""
    shell: int = 0
    """The tokens around its parts (a title, a frame), which go with the last of them."""
    changes: dict[int, Node | None] = attrs.field(factory=dict[int, Node | None])
    """By index the parts that become others, ``None`` for nothing, while a tree is changed."""
    decided: bool = False
    """Whether its own part in ``parent.changes`` was chosen, while a tree is changed."""

    def below(self, index: int, *, holds: bool) -> "TreePlace":
        """Return the place of the ``index``-th part."""
        return TreePlace(self.node.content[index], self, index, self.depth + 1, holds)

    def becomes(self, node: Node | None) -> None:
        """Decide what is here instead, ``None`` for nothing."""
        self.decided = True
        self.put(node)

    def put(self, node: Node | None) -> None:
        """Put something in this place, whatever was decided."""
        if self.parent is not None:
            self.parent.changes[self.index] = node

    def clear(self) -> None:
        """Forget what was decided of this place and of its parts."""
        self.changes.clear()
        self.decided = False


def changed(root: TreePlace, decided: Iterable[TreePlace]) -> Node:
    """Return the tree at ``root`` with what was decided of places. A container left empty goes.

    The decisions are written into the places, and cleared again: a plan serves several limits.
    """
    touched: dict[int, dict[int, TreePlace]] = {}
    seen = [*decided]
    for place in seen:
        _touch(place, touched)
    for depth in range(max(touched, default=0), 0, -1):
        for place in touched[depth].values():
            if not place.decided:
                place.put(_without(place))
            _touch(place, touched)
    whole = with_content(root.node, _content(root))
    for place in (root, *seen, *(one for places in touched.values() for one in places.values())):
        place.clear()
    return whole  # type: ignore[no-any-return]


def _touch(place: TreePlace, touched: dict[int, dict[int, TreePlace]]) -> None:
    parent = place.parent
    if parent is not None:
        touched.setdefault(parent.depth, {})[id(parent)] = parent


def _without(place: TreePlace) -> Node | None:
    content = _content(place)
    if not any(content) and not isinstance(place.node, ToolTurnNode | ToolResultNode):
        return None
    return with_content(place.node, content)  # type: ignore[no-any-return]


def _content(place: TreePlace) -> tuple[Any, ...]:
    changes = place.changes
    parts = ((changes.get(n, part), n in changes) for n, part in enumerate(place.node.content))
    return tuple(part for part, is_changed in parts if part is not None or not is_changed)


def first_forms(root: Node) -> Node:
    """Return a tree with the first form wherever there are several, and without reserves."""
    if not root.mask & HOLLOW:
        return root

    def change(node: Node) -> Node | None:
        if isinstance(node, FirstFitNode):
            return next((form for form in node.content if says(form)), None)
        return None if isinstance(node, ReserveNode) else node

    return rewrite(root, change, within=HOLLOW)


def whole_units(root: Node) -> tuple[Node, dict[int, float | None]]:
    """Return a tree in which what goes whole has its first forms: nothing in it is chosen singly.

    That are groups, and forms, which may hold a ``FirstFit`` of their own. Beside it stand by id
    the priorities that such groups had with all that was in them.
    """
    found = {id(node) for node in _outermost(root)}
    priorities: dict[int, float | None] = {}
    if not found:
        return root, priorities

    def change(node: Node) -> Node:
        if id(node) not in found:
            return node
        if isinstance(node, FirstFitNode):
            return with_content(node, tuple(map(first_forms, node.content)))
        whole = first_forms(node)
        priorities[id(whole)] = group_priority(node)
        return whole

    return rewrite(root, change, within=HOLLOW), priorities


def group_priority(group: Node) -> float | None:
    """Return the priority of a Group: its own, else the lowest inside, ``None`` without any."""
    own = priority_of(group)
    if own is not None:
        return own
    inside = (priority_of(node) for node, _ in walk(group))
    return min((priority for priority in inside if priority is not None), default=None)


def priority_of(node: Any) -> float | None:
    """Return the priority its author gave a node."""
    if isinstance(node, GroupNode | FirstFitNode | ConversationNode):
        return node.priority
    return node.options.priority  # type: ignore[no-any-return]


def _outermost(root: Node) -> Iterator[Node]:
    """Yield the outermost groups and alternatives of a tree in which others stand."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, GroupNode | FirstFitNode):
            waiting += [c for c in node.content if not isinstance(c, str) and c.mask & HOLLOW]
        elif any(isinstance(one, FirstFitNode) and one is not node for one, _ in walk(node)):
            yield node


def says(form: Node) -> bool:
    """Return whether there is anything in a form: one that came to nothing is none."""
    if has_content((form,)):
        return True
    return any(
        isinstance(node, RecordedNode | ToolTurnNode | ToolResultNode) for node, _ in walk(form)
    )


def reserved(root: Node) -> int:
    """Return how many tokens the reserves of a tree ask for."""
    return sum(node.tokens for node in hollow(root) if isinstance(node, ReserveNode))
