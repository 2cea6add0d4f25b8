"""The tree: frozen nodes, their masks, and functions that read trees and make new ones.

Read ``node.py`` first, then ``masks.py``. ``turn_nodes.py`` and ``part_nodes.py`` have the classes
of nodes. ``rewrite.py`` makes new trees, ``recorded.py`` shortens recorded conversations, and
``outline.py`` makes the text of an outline. ``unknown_names.py`` has advice for wrong names.
"""

from promptdsl.tree import unknown_names as unknown_names
from promptdsl.tree.node import Node


def _outline(root: Node) -> str:
    # Both are imported here, because they are rarely needed.
    from promptdsl.foundation.unicode import terminal_width
    from promptdsl.tree.outline import outline

    return outline(root, terminal_width())


Node._outline = _outline
