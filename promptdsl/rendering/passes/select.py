"""Select: removes the parts for another audience."""

from promptdsl.tree.masks import AUDIENCE
from promptdsl.tree.node import Node
from promptdsl.tree.rewrite import rewrite
from promptdsl.tree.turn_nodes import NoteNode, RootNode


def select(root: RootNode, *, audience: str) -> RootNode:
    """Return the tree with the parts for one audience, ``"model"`` or ``"people"``.

    A note is for people. A titled container is left out with the last of its parts.
    """

    def keep(node: Node) -> Node | None:
        options = node.options
        reader = "people" if isinstance(node, NoteNode) else options.audience
        # An empty node without an audience of its own has lost its parts in this pass.
        emptied = not node.content and reader == "all" and not options.cache
        if emptied and getattr(node, "title", None) is not None:
            return None
        return node if reader in ("all", audience) else None

    return rewrite(root, keep, within=AUDIENCE)
