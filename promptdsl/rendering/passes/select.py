"""Select: leave out what is for another audience."""

from promptdsl.tree.group_nodes import NoteNode
from promptdsl.tree.masks import AUDIENCE
from promptdsl.tree.node import Node
from promptdsl.tree.rewrite import rewrite

WITHIN = AUDIENCE


def select(root: Node, *, audience: str) -> Node:
    """Return the tree without the nodes that another audience than ``audience`` reads.

    ``audience`` is ``"model"`` or ``"people"``. A note is for people.
    """

    def keep(node: Node) -> Node | None:
        meant = "people" if isinstance(node, NoteNode) else node.options.audience
        return node if meant in ("all", audience) else None

    return rewrite(root, keep, within=WITHIN)
