"""The vocabulary of a turn: the tags that are written in it, which no value in it may forge."""

import attrs

from promptdsl.config.transformation import Resolved
from promptdsl.foundation.guards import fold, tag_names
from promptdsl.foundation.tables import TABLE_TAGS
from promptdsl.foundation.trusted import Trusted
from promptdsl.rendering.text.format import FORMATS
from promptdsl.tree.group_nodes import FormatNode, FragmentNode, NoteNode
from promptdsl.tree.masks import EVENT, HOLLOW, REQUEST, SECTION, SYSTEM, TURN
from promptdsl.tree.node import Child, Node
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
    """Return the tree with the tags of each turn noted in its options, where values are in a fence.

    The tags are those of its components and those in the author's text; all system content is one
    turn, and its sections are in every vocabulary. They are noted before a budget removes parts, so
    that a part that is removed changes no other text.
    """
    is_xml = config.format == "xml"
    turns: list[tuple[Node, frozenset[str]]] = []
    system: frozenset[str] = frozenset()
    sections: set[str] = set()
    waiting: list[tuple[Child, bool]] = [(root, is_xml)]
    while waiting:
        node, is_tagged = waiting.pop()
        if isinstance(node, str):
            continue
        if isinstance(node, FragmentNode | RootNode) and not isinstance(node, NoteNode):
            if isinstance(node, FormatNode):
                is_tagged = FORMATS[node.format].tagged
            waiting += [(child, is_tagged) for child in node.content]
        elif node.mask & _SYSTEM:
            names = _tags_in(node, is_tagged, sections)
            turns.append((node, names))
            system |= names
        elif node.mask & (_FENCED | HOLLOW) or (is_tagged and node.mask & TURN):
            turns.append((node, _tags_in(node, is_tagged, set())))
    if not system and not any(names for _, names in turns):
        return root
    vocabularies: dict[int, frozenset[str]] = {}
    for turn, names in turns:
        # A part that is placed twice has the tags of both places.
        before = vocabularies.get(id(turn), frozenset())
        vocabularies[id(turn)] = before | (system if turn.mask & _SYSTEM else names | sections)

    def change(node: Node) -> Node:
        names = vocabularies.get(id(node))
        if not names:
            return node
        return replace(node, options=attrs.evolve(node.options, vocabulary=names))

    return rewrite(root, change, within=_FENCED | _SYSTEM | HOLLOW | (TURN if is_xml else 0))


def _tags_in(turn: Node, is_tagged: bool, sections: set[str]) -> frozenset[str]:
    """Return the tags of a turn, folded: those of its components, and those in its author text.

    The ids of sections that are tags are added to ``sections``, too.
    """
    names: set[str] = set()
    are_values = isinstance(turn, RequestOnlyNode) and turn.grounding
    waiting: list[tuple[Node, bool]] = [(turn, is_tagged)]
    while waiting:
        node, in_xml = waiting.pop()
        if isinstance(node, FormatNode):
            in_xml = FORMATS[node.format].tagged
        elif in_xml and isinstance(node, SectionNode):
            sections.add(fold(str(node.options.id)))
        elif in_xml:
            names.update(_ELEMENTS.get(type(node), ()))
        texts: list[str] = []
        if isinstance(node, SectionNode | TableNode | TrustedTextNode):
            texts += _texts_beside(node, in_xml, names)
        for child in node.content:
            if not isinstance(child, str):
                waiting.append((child, in_xml))
            elif not are_values:
                texts.append(child)
        for text in texts:
            if "<" in text or not text.isascii():
                names |= tag_names(text)
    return frozenset(names | sections)


def _texts_beside(
    node: SectionNode | TableNode | TrustedTextNode, in_xml: bool, names: set[str]
) -> list[str]:
    """Return the author texts of a node that are not in its content; add the tags of a table."""
    match node:
        case TrustedTextNode():
            return [node.text]
        case SectionNode():
            return [node.title] if isinstance(node.title, str) else []
        case TableNode():
            names.update(TABLE_TAGS.get(node.format or ("xml" if in_xml else ""), ()))
            return [cell for row in node.rows for cell in row if type(cell) is Trusted]


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
