"""Select: removes the parts for another audience."""

from promptdsl.tree.group_nodes import NoteNode
from promptdsl.tree.masks import AUDIENCE
from promptdsl.tree.node import Node
from promptdsl.tree.rewrite import rewrite
from promptdsl.tree.turn_nodes import RootNode


def select(root: RootNode, *, audience: str) -> RootNode:
    """Return the tree with the parts for one audience, ``"model"`` or ``"people"``.

    A note is for people.
    """

    def keep(node: Node) -> Node | None:
        reader = "people" if isinstance(node, NoteNode) else node.options.audience
        return node if reader in ("all", audience) else None

    return rewrite(root, keep, within=AUDIENCE)
