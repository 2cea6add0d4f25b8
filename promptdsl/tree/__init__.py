"""The tree: frozen nodes, their masks, and pure functions from node to node."""

from promptdsl.tree import unknown_names as unknown_names
from promptdsl.tree.node import Node


def _outline(root: Node) -> str:
    from promptdsl.tree.outline import outline  # rarely needed

    return outline(root)


Node._outline = _outline
