"""The tree: frozen nodes, their masks, and pure functions from node to node.

Read ``node.py`` first, then ``masks.py``. ``turn_nodes.py`` and ``part_nodes.py`` have the classes
of nodes. ``rewrite.py`` makes new trees, ``outline.py`` the text of an outline.
"""

from promptdsl.tree import unknown_names as unknown_names
from promptdsl.tree.node import Node


def _outline(root: Node) -> str:
    # Both are imported here, because they are rarely needed.
    from promptdsl.foundation.unicode import terminal_width
    from promptdsl.tree.outline import outline

    return outline(root, terminal_width())


Node._outline = _outline
