"""Hints about what an author wrote: a block in which nothing was written."""

from promptdsl.foundation.source import Source
from promptdsl.messages.loss import Loss
from promptdsl.tree.group_nodes import ComponentNode
from promptdsl.tree.masks import HINTED, HOLLOW
from promptdsl.tree.node import Node, label
from promptdsl.tree.turn_nodes import RootNode


def hints_in(root: Node) -> list[Loss]:
    """Return a hint for each line with a hinted node; what is inside another one is not told."""
    hints: dict[Source | None, Loss] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.mask & HINTED != HINTED:
            children = reversed(node.content)
            waiting += [c for c in children if not isinstance(c, str) and c.mask & HOLLOW]
        elif node.source not in hints:
            hints[node.source] = _empty(node)
    return [*hints.values()]


def _empty(node: Node) -> Loss:
    """Return the hint for a component whose block was opened, and nothing was written in it."""
    what = f"an empty {label(node)}"
    advice = "write Text(...), include(part), or call the component"
    if isinstance(node, RootNode):
        advice = "write its turns in it, such as System(...) and User(...)"
    elif isinstance(node, ComponentNode):
        if node.content:
            what = f"an empty block of {node.name}"
        else:
            advice = "write Text(...) or include(part) in its function, or return a part"
    elif node.options.id is not None:
        what += f" {node.options.id!r}"
    return Loss("hint", what, f"nothing was written in it; {advice}", source=node.source)
