"""Fill: put in place what functions write when the prompt is rendered."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from promptdsl.foundation.errors import ContentError
from promptdsl.tree.group_nodes import FragmentNode, LazyNode, LimitNode
from promptdsl.tree.masks import HOLLOW, NAMED
from promptdsl.tree.node import Node
from promptdsl.tree.rewrite import rewrite, unique_ids

WITHIN = HOLLOW
DEEPEST = 100
"""How often what a lazy returned may hold a lazy again."""


class Waiting(NamedTuple):
    """A lazy and the parts of the tree around it, the innermost first, one of each kind.

    Fragments are left out: they take what the part around them takes.
    """

    lazy: LazyNode
    holders: tuple[Node, ...]


Ask = Callable[[Sequence[Waiting]], Sequence[Node | None]]
"""Returns what lazies come to, in their order."""


def fill(root: Node, *, ask: Ask) -> Node:
    """Return the tree with what ``ask`` says in the place of every lazy.

    ``ask`` is called with the lazies in document order, and again with those that were in what it
    returned. Raises :class:`ContentError` when that does not end, :class:`PlacementError` when ids
    are not unique any more.
    """
    waiting = _waiting(root)
    for _ in range(DEEPEST):
        if not waiting:
            return root
        root = _filled(root, ask(waiting))
        waiting = _waiting(root)
    if waiting:
        raise ContentError(
            f"lazies return lazies, {DEEPEST} times over",
            fix="return text or a part that is written",
            at=(waiting[0].lazy.source,),
        )
    return root


def _waiting(root: Node) -> list[Waiting]:
    """Return the lazies of a tree in document order."""
    found: list[Waiting] = []
    stack: list[tuple[Node, tuple[Node, ...]]] = [(root, ())]
    while stack:
        node, holders = stack.pop()
        if isinstance(node, LazyNode):
            found.append(Waiting(node, holders))
            continue
        if not isinstance(node, FragmentNode) or isinstance(node, LimitNode):
            holders = _within(node, holders)
        stack.extend(
            (child, holders)
            for child in reversed(node.content)
            if not isinstance(child, str) and child.mask & WITHIN
        )
    return found


def _within(node: Node, holders: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the holders inside a node; of its own kind it is the innermost one."""
    return (node, *(one for one in holders if type(one) is not type(node)))


def _filled(root: Node, parts: Sequence[Node | None]) -> Node:
    rest = iter(parts)

    def change(node: Node) -> Node | None:
        if isinstance(node, LazyNode):
            return next(rest)
        if not isinstance(node, FragmentNode) and any(_is_named(child) for child in node.content):
            unique_ids(node, node.content)
        return node

    return rewrite(root, change, within=WITHIN)


def _is_named(child: object) -> bool:
    return isinstance(child, Node) and bool(child.mask & NAMED)
