"""Slots: the positions of nodes in a tree, and the tree with some of its nodes replaced."""

from collections.abc import Iterator, Mapping

import attrs

from promptdsl.tree.group_nodes import ConversationNode, FirstFitNode, GroupNode, ReserveNode
from promptdsl.tree.masks import OPAQUE
from promptdsl.tree.node import Child, N, Node, walk
from promptdsl.tree.part_nodes import EventBlockNode, ToolResultNode
from promptdsl.tree.rewrite import has_content, opaque, rewrite, with_content
from promptdsl.tree.turn_nodes import RecordedNode, RootNode, ToolTurnNode

ALWAYS_SENT = (ToolTurnNode, ToolResultNode, EventBlockNode)
"""The nodes that are sent even without content."""


@attrs.define(eq=False)
class Slot:
    """A node and its position: it is child number ``index`` of the node of ``parent``."""

    node: Node
    parent: "Slot | None" = None
    index: int = 0
    depth: int = 0
    in_turn: bool = False
    """Whether it is a turn or inside one. Empty containers are dropped only in turns."""
    fixed: bool = False
    """Whether some part of it always stays: it is dropped as a unit, never by becoming empty."""
    live: int = 0
    """The count of its parts that may be dropped."""
    container_tokens: int = 0
    """The tokens around its parts (a title, a frame). They are dropped with the last part."""
    _outermost: "Slot | None" = None
    """For a node inside a part of a turn, the slot of that part."""

    def below(self, child: Node, index: int, *, in_turn: bool) -> "Slot":
        """Return the slot of a child."""
        slot = Slot(child, self, index, self.depth + 1, in_turn)
        if self.in_turn and self.parent is not None and self.parent.in_turn:
            slot._outermost = self.part
        return slot

    @property
    def part(self) -> "Slot":
        """The slot of the part of a turn that contains this slot, else the slot itself."""
        return self if self._outermost is None else self._outermost

    @property
    def containers(self) -> "Iterator[Slot]":
        """The containers around a part of a turn, the innermost first, the turn last."""
        container = self.parent
        while container is not None and container.in_turn:
            yield container
            container = container.parent

    @property
    def ancestry(self) -> "list[Slot]":
        """The slots from the root of the tree to this one."""
        slots: list[Slot] = [self]
        while slots[-1].parent is not None:
            slots.append(slots[-1].parent)
        return slots[::-1]


def changed(root: RootNode, changes: Mapping[Slot, Node | None]) -> RootNode:
    """Return the tree with other nodes in some slots; ``None`` removes the node.

    A container without parts is dropped, but a tool result stays.
    """
    rebuilt: dict[int, dict[Slot, dict[int, Node | None]]] = {}

    def put(slot: Slot, node: Node | None) -> None:
        """Note that the parent of a slot is built again, with this child."""
        parent = slot.parent
        if parent is not None:
            rebuilt.setdefault(parent.depth, {}).setdefault(parent, {})[slot.index] = node

    for slot, node in changes.items():
        put(slot, node)
    for depth in range(max(rebuilt, default=0), 0, -1):
        for slot, parts in rebuilt[depth].items():
            if slot not in changes:
                content = _with_parts(slot.node, parts)
                stays = any(content) or isinstance(slot.node, ALWAYS_SENT)
                put(slot, with_content(slot.node, content) if stays else None)
    tops = rebuilt.get(0, {}).values()
    return with_content(root, _with_parts(root, *tops)) if tops else root


def _with_parts(node: Node, parts: Mapping[int, Node | None]) -> tuple[Child, ...]:
    """Return the content of a node with some of its children replaced."""
    children = [parts.get(index, child) for index, child in enumerate(node.content)]
    return tuple([child for child in children if child is not None])


def first_alternatives(root: N) -> N:
    """Return a tree with only the first alternative of each ``FirstFit``, and without reserves."""
    if not root._mask & OPAQUE:
        return root

    def change(node: Node) -> Node | None:
        if isinstance(node, FirstFitNode):
            return next(filter(sends_anything, node.content), None)
        return None if isinstance(node, ReserveNode) else node

    return rewrite(root, change, within=OPAQUE)


def without_nested_choices(root: RootNode) -> tuple[RootNode, dict[int, float | None]]:
    """Return a tree without a ``FirstFit`` in a ``Group``, a history or another ``FirstFit``.

    These are kept or dropped completely, so nothing inside them is chosen separately. The second
    result has the priorities of the changed groups by id. They were found before alternatives were
    left out.
    """
    outermost: set[int] = set()
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, GroupNode | FirstFitNode | ConversationNode):
            waiting += [c for c in node.content if not isinstance(c, str) and c._mask & OPAQUE]
        elif any(isinstance(part, FirstFitNode) and part is not node for part, _ in walk(node)):
            outermost.add(id(node))
    priorities: dict[int, float | None] = {}
    if not outermost:
        return root, priorities

    def change(node: Node) -> Node:
        if id(node) not in outermost:
            return node
        if isinstance(node, FirstFitNode):
            return with_content(node, tuple(map(first_alternatives, node.content)))
        group = first_alternatives(node)
        priorities[id(group)] = group_priority(node)
        return group

    return rewrite(root, change, within=OPAQUE), priorities


def group_priority(group: Node) -> float | None:
    """Return the priority of a group: its own, else the lowest inside, ``None`` without one."""
    priority = _priority(group)
    if priority is not None:
        return priority
    inside = [_priority(node) for node, _ in walk(group)]
    return min((priority for priority in inside if priority is not None), default=None)


def _priority(node: Node) -> float | None:
    if isinstance(node, GroupNode | FirstFitNode | ConversationNode):
        return node.priority
    return node.options.priority


def sends_anything(alternative: Node) -> bool:
    """Return whether an alternative sends anything. An empty alternative is never chosen."""
    if has_content((alternative,)):
        return True
    results = RecordedNode | ToolTurnNode | ToolResultNode
    return any(isinstance(node, results) for node, _ in walk(alternative))


def reserved(root: Node) -> int:
    """Return the sum of the tokens of all reserves in a tree."""
    return sum(node.tokens for node in opaque(root) if isinstance(node, ReserveNode))
