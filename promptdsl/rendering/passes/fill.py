"""Fill: replace every ``Lazy`` by the node that its function returns."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from promptdsl.foundation.errors import ContentError
from promptdsl.tree.masks import NAMED, OPAQUE
from promptdsl.tree.node import Node
from promptdsl.tree.rewrite import check_unique_ids, rewrite
from promptdsl.tree.turn_nodes import FragmentNode, LazyNode, LimitNode, RootNode

MAX_ROUNDS = 100
"""The maximum number of rounds: a lazy may return a node with a lazy in it."""


class PendingLazy(NamedTuple):
    """A lazy whose function was not called yet, and the nodes around it, the innermost first.

    Of several nodes of one class around it, only the innermost is listed. Fragments are left out,
    because they may contain whatever the node around them may contain. One fragment is listed: a
    ``LimitNode``, because it may contain only what it can cut.
    """

    lazy: LazyNode
    containers: tuple[Node, ...]


Ask = Callable[[Sequence[PendingLazy]], Sequence[Node | None]]
"""A function that returns the node of each lazy, in the same order; ``None`` for no content."""


def fill(root: RootNode, *, ask: Ask) -> RootNode:
    """Return the tree with every lazy replaced by its node from ``ask``.

    ``ask`` is called with the lazies in document order, and again with the lazies in the nodes that
    it returned. Raises :class:`ContentError` after 100 rounds.
    """
    rounds = 0
    while pending := _pending_lazies(root):
        if rounds == MAX_ROUNDS:
            raise ContentError(
                f"a Lazy returned another Lazy, {MAX_ROUNDS} times in a row",
                fix="return text, or a part without a Lazy",
                at=(pending[0].lazy.source,),
            )
        rounds += 1
        # ``rewrite`` calls ``change`` with the lazies in document order, the order of ``pending``.
        # No lazy is in another one. So the next replacement is always that of the next lazy.
        replacements = iter(ask(pending))

        def change(node: Node, replacements: Iterator[Node | None] = replacements) -> Node | None:
            if isinstance(node, LazyNode):
                return next(replacements)
            # A new node may have the id of a sibling. The children of a fragment are compared with
            # the siblings of the fragment, when ``node`` is the node around it.
            are_named = (isinstance(child, Node) and child._mask & NAMED for child in node.content)
            if not isinstance(node, FragmentNode) and any(are_named):
                check_unique_ids(node, node.content)
            return node

        # ``OPAQUE`` is a bit in the mask of each lazy, and of each node with a lazy below it.
        root = rewrite(root, change, within=OPAQUE)
    return root


def _pending_lazies(root: Node) -> list[PendingLazy]:
    """Return the lazies of a tree in document order, each with the nodes around it."""
    lazies: list[PendingLazy] = []
    stack: list[tuple[Node, tuple[Node, ...]]] = [(root, ())]
    while stack:
        node, containers = stack.pop()
        if isinstance(node, LazyNode):
            lazies.append(PendingLazy(node, containers))
            continue
        if not isinstance(node, FragmentNode) or isinstance(node, LimitNode):
            # Nodes are of one class if their ``_node`` is the same: a component is of a subclass.
            containers = (node, *(outer for outer in containers if outer._node is not node._node))
        stack.extend(
            (child, containers)
            for child in reversed(node.content)
            if not isinstance(child, str) and child._mask & OPAQUE
        )
    return lazies
