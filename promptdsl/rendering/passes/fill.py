"""Fill: every lazy is replaced by the part that its function returns."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from promptdsl.foundation.errors import ContentError
from promptdsl.tree.masks import NAMED, OPAQUE
from promptdsl.tree.node import Node
from promptdsl.tree.rewrite import rewrite, unique_ids
from promptdsl.tree.turn_nodes import FragmentNode, LazyNode, LimitNode, RootNode

DEEPEST = 100
"""The most rounds of lazies: a lazy may return a part with a lazy in it."""


class Waiting(NamedTuple):
    """A lazy and the parts around it: the innermost of each class, from the inside out.

    Fragments are left out, because they may contain whatever the part around them may contain.
    """

    lazy: LazyNode
    containers: tuple[Node, ...]


Ask = Callable[[Sequence[Waiting]], Sequence[Node | None]]
"""A function that returns the part of each lazy, in the same order."""


def fill(root: RootNode, *, ask: Ask) -> RootNode:
    """Return the tree with every lazy replaced by its part from ``ask``.

    ``ask`` is called with the lazies in document order, and again with the lazies in the parts it
    returned.
    """
    rounds = 0
    while waiting := _waiting_lazies(root):
        if rounds == DEEPEST:
            raise ContentError(
                f"a Lazy returned another Lazy, {DEEPEST} times in a row",
                fix="return text, or a part without a Lazy",
                at=(waiting[0].lazy.source,),
            )
        rounds += 1
        parts = iter(ask(waiting))

        def change(node: Node, parts: Iterator[Node | None] = parts) -> Node | None:
            if isinstance(node, LazyNode):
                return next(parts)
            named = (isinstance(part, Node) and part._mask & NAMED for part in node.content)
            if not isinstance(node, FragmentNode) and any(named):
                unique_ids(node, node.content)
            return node

        root = rewrite(root, change, within=OPAQUE)
    return root


def _waiting_lazies(root: Node) -> list[Waiting]:
    """Return the lazies of a tree in document order, each with the parts around it."""
    lazies: list[Waiting] = []
    stack: list[tuple[Node, tuple[Node, ...]]] = [(root, ())]
    while stack:
        node, containers = stack.pop()
        if isinstance(node, LazyNode):
            lazies.append(Waiting(node, containers))
            continue
        if not isinstance(node, FragmentNode) or isinstance(node, LimitNode):
            containers = (node, *(part for part in containers if part._node is not node._node))
        stack.extend(
            (child, containers)
            for child in reversed(node.content)
            if not isinstance(child, str) and child._mask & OPAQUE
        )
    return lazies
