"""Select: remove the nodes for another audience."""

from promptdsl.tree.masks import AUDIENCE
from promptdsl.tree.node import Node
from promptdsl.tree.rewrite import rewrite
from promptdsl.tree.turn_nodes import NoteNode, RootNode


def select(root: RootNode, *, audience: str) -> RootNode:
    """Return the tree with the nodes for one audience, ``"model"`` or ``"people"``.

    A note is for people. A container with a title is removed if all its children are.
    """

    def keep(node: Node) -> Node | None:
        options = node.options
        audience_of_node = "people" if isinstance(node, NoteNode) else options.audience
        # An empty node without an audience of its own has lost its children in this pass.
        emptied = not node.content and audience_of_node == "all" and not options.cache
        if emptied and getattr(node, "title", None) is not None:
            return None
        return node if audience_of_node in ("all", audience) else None

    return rewrite(root, keep, within=AUDIENCE)
