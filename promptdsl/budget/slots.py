"""Slots: the positions of nodes in a tree, and the tree after a budget changed some of them."""

from collections.abc import Iterator, Mapping, Sequence

import attrs

from promptdsl.tree.group_nodes import ConversationNode, FirstFitNode, GroupNode, ReserveNode
from promptdsl.tree.masks import HOLLOW
from promptdsl.tree.node import Child, N, Node, walk
from promptdsl.tree.part_nodes import EventBlockNode, ToolResultNode
from promptdsl.tree.rewrite import has_content, hollow, rewrite, with_content
from promptdsl.tree.turn_nodes import RecordedNode, RootNode, ToolTurnNode

ALWAYS_SENT = (ToolTurnNode, ToolResultNode, EventBlockNode)
"""The nodes that are sent without any content, too."""


@attrs.define(eq=False)
class Slot:
    """A node and its position: child number ``index`` of the node of ``parent``."""

    node: Node
    parent: "Slot | None" = None
    index: int = 0
    depth: int = 0
    in_turn: bool = False
    """Whether it is a turn or inside one; outside of turns, no empty holder is dropped."""
    fixed: bool = False
    """Whether a part of it stays as long as the node itself, so that it never becomes empty."""
    live: int = 0
    """The count of its parts that may be dropped."""
    shell: int = 0
    """The tokens around its parts (a title, a frame), dropped with the last of them."""
    _outermost: "Slot | None" = None
    """Of what is inside a part of a turn, the slot of that part."""
    positions: Sequence[int] = ()
    """Of an entry of the timeline, the positions of its messages in the line."""

    def below(self, child: Node, index: int, *, in_turn: bool) -> "Slot":
        """Return the slot of a child."""
        slot = Slot(child, self, index, self.depth + 1, in_turn)
        if self.in_turn and self.parent is not None and self.parent.in_turn:
            slot._outermost = self.part
        return slot

    @property
    def part(self) -> "Slot":
        """The slot of the part directly in the turn that it is in; of anything else itself."""
        return self if self._outermost is None else self._outermost

    @property
    def holders(self) -> "Iterator[Slot]":
        """The turn and the holders around a part of a turn, the innermost first."""
        holder = self.parent
        while holder is not None and holder.in_turn:
            yield holder
            holder = holder.parent

    @property
    def way(self) -> "list[Slot]":
        """The slots from the root of the tree to this one."""
        way: list[Slot] = [self]
        while way[-1].parent is not None:
            way.append(way[-1].parent)
        return way[::-1]


def changed(root: RootNode, changes: Mapping[Slot, Node | None]) -> RootNode:
    """Return the tree with another node in some slots, ``None`` for no node.

    A holder without a part left is dropped, but a tool result stays.
    """
    rebuilt: dict[int, dict[Slot, dict[int, Node | None]]] = {}

    def put(slot: Slot, node: Node | None) -> None:
        """Note that the parent of a slot, at its depth, is built again with this child."""
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
    """Return a tree with the first alternative of each ``FirstFit``, and without reserves."""
    if not root._mask & HOLLOW:
        return root

    def change(node: Node) -> Node | None:
        if isinstance(node, FirstFitNode):
            return next(filter(sends_anything, node.content), None)
        return None if isinstance(node, ReserveNode) else node

    return rewrite(root, change, within=HOLLOW)


def without_nested_choices(root: RootNode) -> tuple[RootNode, dict[int, float | None]]:
    """Return a tree without a ``FirstFit`` in a ``Group``, a history or another ``FirstFit``.

    These are kept or dropped whole, so nothing in them is chosen separately. The second result has
    the priorities of the changed groups by id, found before their alternatives were left out.
    """
    outermost: set[int] = set()
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, GroupNode | FirstFitNode | ConversationNode):
            waiting += [c for c in node.content if not isinstance(c, str) and c._mask & HOLLOW]
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

    return rewrite(root, change, within=HOLLOW), priorities


def group_priority(group: Node) -> float | None:
    """Return the priority of a group: its own, else the lowest inside, ``None`` without any."""
    own = _priority(group)
    if own is not None:
        return own
    inside = [_priority(node) for node, _ in walk(group)]
    return min((priority for priority in inside if priority is not None), default=None)


def _priority(node: Node) -> float | None:
    if isinstance(node, GroupNode | FirstFitNode | ConversationNode):
        return node.priority
    return node.options.priority


def sends_anything(alternative: Node) -> bool:
    """Return whether an alternative sends anything: an empty one is never chosen."""
    if has_content((alternative,)):
        return True
    results = RecordedNode | ToolTurnNode | ToolResultNode
    return any(isinstance(node, results) for node, _ in walk(alternative))


def reserved(root: Node) -> int:
    """Return the sum of the tokens of all reserves in a tree."""
    return sum(node.tokens for node in hollow(root) if isinstance(node, ReserveNode))
