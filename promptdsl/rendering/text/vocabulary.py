"""The vocabulary of a turn: the tags that are written in it, which no value in it may forge."""

from collections.abc import Iterable, Iterator

import attrs

from promptdsl.config.transformation import Resolved
from promptdsl.foundation.guards import fold, tag_names
from promptdsl.foundation.trusted import Trusted
from promptdsl.rendering.text.format import FORMATS
from promptdsl.tree.group_nodes import FormatNode, FragmentNode, NoteNode
from promptdsl.tree.masks import EVENT, HOLLOW, REQUEST, SECTION, SYSTEM, TURN
from promptdsl.tree.node import Node
from promptdsl.tree.part_nodes import (
    ChecklistNode,
    CodeNode,
    ExampleNode,
    ExampleSideNode,
    HeadingNode,
    ItemNode,
    JsonNode,
    ListNode,
    ParagraphNode,
    QuoteNode,
    SectionNode,
    TableNode,
    TrustedTextNode,
)
from promptdsl.tree.rewrite import replace, rewrite
from promptdsl.tree.turn_nodes import RequestOnlyNode, RootNode

_FENCED = REQUEST | EVENT
_SYSTEM = SYSTEM | SECTION


def with_vocabulary(root: RootNode, config: Resolved) -> RootNode:
    """Return the tree, in which each turn with a fence or tag has its vocabulary in its options.

    That is the tags that its components write, and the tags in its author text. All system content
    is one turn, and the tags of its sections are in every vocabulary. They are noted before a
    budget removes parts, so a part that is removed changes no other text.
    """
    is_xml = config.format == "xml"
    parts: list[tuple[Node, bool]] = []
    waiting: list[tuple[Node, bool]] = [(root, is_xml)]
    while waiting:
        node, is_tagged = waiting.pop()
        if isinstance(node, FragmentNode | RootNode) and not isinstance(node, NoteNode):
            inside = _is_tagged(node, is_tagged)
            waiting += [(child, inside) for child in node.content if isinstance(child, Node)]
        elif node.mask & (_FENCED | _SYSTEM | HOLLOW) or (is_tagged and node.mask & TURN):
            parts.append((node, is_tagged))
    system: set[str] = set()
    sections: set[str] = set()
    own: list[tuple[Node, set[str]]] = []
    for part, is_tagged in parts:
        names = set[str]()
        for node, in_xml in _below(part, is_tagged):
            names.update(_tags(node, in_xml, part))
            if in_xml and part.mask & _SYSTEM and isinstance(node, SectionNode):
                sections.add(fold(str(node.options.id)))
        if part.mask & _SYSTEM:
            system |= names
        own.append((part, names))
    vocabularies = {
        id(part): frozenset(system if part.mask & _SYSTEM else names | sections)
        for part, names in own
    }
    if not any(vocabularies.values()):
        return root

    def change(node: Node) -> Node:
        names = vocabularies.get(id(node))
        if not names:
            return node
        return replace(node, options=attrs.evolve(node.options, vocabulary=names))

    return rewrite(root, change, within=_FENCED | _SYSTEM | HOLLOW | (TURN if is_xml else 0))


def _is_tagged(node: Node, around: bool) -> bool:
    return FORMATS[node.format].tagged if isinstance(node, FormatNode) else around


def _below(part: Node, is_tagged: bool) -> Iterator[tuple[Node, bool]]:
    """Yield a part and the nodes below it, each with whether it is written in XML."""
    waiting = [(part, is_tagged)]
    while waiting:
        node, around = waiting.pop()
        inside = _is_tagged(node, around)
        yield node, inside
        waiting += [(child, inside) for child in node.content if isinstance(child, Node)]


def _tags(node: Node, is_tagged: bool, part: Node) -> Iterable[str]:
    """Yield the names of the tags that a node itself writes, and those in its author text."""
    texts: list[str] = []
    if isinstance(node, SectionNode):
        if is_tagged:
            yield fold(str(node.options.id))
        texts += [node.title] if isinstance(node.title, str) else []
    elif isinstance(node, TableNode):
        yield from _TABLES.get(node.format or ("xml" if is_tagged else ""), ())
        texts += [cell for row in node.rows for cell in row if type(cell) is Trusted]
    elif isinstance(node, TrustedTextNode):
        texts.append(node.text)
    elif is_tagged:
        yield from _ELEMENTS.get(type(node), ())
    if not (isinstance(part, RequestOnlyNode) and part.grounding):  # its strings are values
        texts += [child for child in node.content if isinstance(child, str)]
    for text in texts:
        if "<" in text or not text.isascii():
            yield from tag_names(text)


_ELEMENTS: dict[type[Node], tuple[str, ...]] = {
    ParagraphNode: ("paragraph",),
    HeadingNode: ("heading",),
    ListNode: ("list", "item"),
    ChecklistNode: ("checklist", "item"),
    ItemNode: ("item",),
    QuoteNode: ("quote",),
    ExampleNode: ("example", "input", "output"),
    ExampleSideNode: ("input", "output"),
    CodeNode: ("code",),
    JsonNode: ("json",),
}
"""The tags of components in XML."""
_TABLES = {"xml": ("table", "row", "cell"), "html": ("table", "tr", "th", "td")}
