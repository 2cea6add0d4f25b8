"""The tree: frozen nodes, their masks, and pure functions from node to node.

Read ``node.py`` first, then ``masks.py``. The classes of nodes are in ``turn_nodes.py`` and
``part_nodes.py``; ``rewrite.py`` makes new trees.
"""

from promptdsl.tree import unknown_names as unknown_names
from promptdsl.tree.node import Node


def _outline(root: Node) -> str:
    from promptdsl.foundation.unicode import terminal_width  # both are rarely needed
    from promptdsl.tree.outline import outline

    return outline(root, terminal_width())


Node._outline = _outline
