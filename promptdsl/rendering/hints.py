"""Hints about what an author wrote: an empty block, sentences without a space, unused variables."""

from itertools import pairwise

from promptdsl.components.arguments import sentences_touch
from promptdsl.messages.loss import Loss
from promptdsl.tree.group_nodes import ComponentNode
from promptdsl.tree.masks import HINTED, HOLLOW
from promptdsl.tree.node import Child, Node, label
from promptdsl.tree.part_nodes import ParagraphNode, TextNode, TrustedTextNode, ValueNode
from promptdsl.tree.turn_nodes import RootNode


def hints_in(root: Node) -> list[Loss]:
    """Return a hint for each line with a hinted node; what is inside another one is not told."""
    hints: dict[object, Loss] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.mask & HINTED != HINTED:
            children = reversed(node.content)
            waiting += [c for c in children if not isinstance(c, str) and c.mask & HOLLOW]
            continue
        tell = _empty
        if isinstance(node, _TEXTS):
            tell = _unused if len(node.content) == 1 else _touching
        if (tell, node.source) not in hints:
            hints[tell, node.source] = tell(node)
    return [*hints.values()]


_TEXTS = (TextNode, ParagraphNode)


def _empty(node: Node) -> Loss:
    """Return the hint for a component whose block was opened, and nothing was written in it."""
    what, why = f"an empty {label(node)}", "nothing was written in it"
    advice = "write Text(...), include(part), or call the component"
    if isinstance(node, RootNode):
        advice = "write its turns in it, such as System(...) and User(...)"
    elif isinstance(node, ComponentNode) and node.content:
        what = f"an empty block of {node.name}"
    elif isinstance(node, ComponentNode) and node.name == "Lazy":
        why = "its function wrote parts and returned none"
        advice = "return the part, or a Fragment of them"
    elif isinstance(node, ComponentNode):
        advice = "write Text(...) or include(part) in its function, or return a part"
    elif node.options.id is not None:
        what += f" {node.options.id!r}"
    return Loss("hint", what, f"{why}; {advice}", source=node.source)


def _touching(node: Node) -> Loss:
    """Return the hint for two parts of one text: a sentence ends, the next begins at once."""
    texts = map(_text_of, node.content)
    pairs = zip(pairwise(texts), pairwise(node.content), strict=True)
    left, right = next(parts for pair, parts in pairs if sentences_touch(*pair))
    before = repr(left.rsplit(None, 1)[-1]) if isinstance(left, str) else f"a {label(left)}"
    after = repr(right.split(None, 1)[0][:20]) if isinstance(right, str) else f"a {label(right)}"
    what = f"no space between {before} and {after}"
    why = "the strings of one call are one text; write the space, or Text(...) for each"
    return Loss("hint", what, why, source=node.source)


def _unused(node: Node) -> Loss:
    """Return the hint for a template that was given variables, and is sent as it is."""
    what = f"the template {str(node.content[0])[:40]!r}"
    why = "it uses none of its variables; write {{ name }} where one goes, not {name}"
    return Loss("hint", what, why, source=node.source)


def _text_of(part: Child) -> str:
    return part.text if isinstance(part, ValueNode | TrustedTextNode) else str(part)
