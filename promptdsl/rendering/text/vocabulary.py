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
    EventBlockNode,
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

    That is the tags of the configuration, those that its components write, and those in its author
    text. All system content is one turn, and the tags of its sections are in every vocabulary. They
    are noted before a budget removes parts, so a part that is removed changes no other text.
    """
    is_xml = config.format == "xml"
    system: set[str] = set()
    sections: set[str] = set()
    turns: list[tuple[Node, frozenset[str] | None]] = []  # system content has no names of its own
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
            _note_tags(node, is_tagged, system, sections)
            turns.append((node, None))
        elif node.mask & (_FENCED | HOLLOW) or (is_tagged and node.mask & TURN):
            names: set[str] = set()
            _note_tags(node, is_tagged, names, names)
            turns.append((node, frozenset(names)))
    if not system and not sections and not any(names for _, names in turns):
        return root
    # Turns with the same tags share one set, as there may be many turns and many sections.
    everywhere = config.tags | sections
    of_system = everywhere | system
    shared: dict[frozenset[str], frozenset[str]] = {}
    vocabularies: dict[int, frozenset[str]] = {}
    for turn, tags in turns:
        if tags is not None and tags not in shared:
            shared[tags] = everywhere | tags
        vocabulary = of_system if tags is None else shared[tags]
        # A part that is placed twice has the tags of both places.
        before = vocabularies.setdefault(id(turn), vocabulary)
        if before is not vocabulary:
            vocabularies[id(turn)] = before | vocabulary

    def change(node: Node) -> Node:
        names = vocabularies.get(id(node))
        if not names:
            return node
        return replace(node, options=attrs.evolve(node.options, vocabulary=names))

    return rewrite(root, change, within=_FENCED | _SYSTEM | HOLLOW | (TURN if is_xml else 0))


def _note_tags(turn: Node, is_tagged: bool, names: set[str], sections: set[str]) -> None:
    """Add the tags of a turn, folded, to ``names``: of its components, and in its author text.

    The ids of sections that are tags are added to ``sections``.
    """
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
        if isinstance(node, TableNode):
            names.update(TABLE_TAGS.get(node.format or ("xml" if in_xml else ""), ()))
        if isinstance(node, SectionNode | TableNode | TrustedTextNode | EventBlockNode):
            texts += _texts_beside(node, are_values=are_values)
        for child in node.content:
            if not isinstance(child, str):
                waiting.append((child, in_xml))
            elif not are_values:
                texts.append(child)
        for text in texts:
            if "<" in text or not text.isascii():
                names |= tag_names(text)


def _texts_beside(
    node: SectionNode | TableNode | TrustedTextNode | EventBlockNode, *, are_values: bool
) -> list[str]:
    """Return the author texts of a node that are not in its content."""
    match node:
        case TrustedTextNode():
            return [node.text]
        case SectionNode():
            return [node.title] if isinstance(node.title, str) and not are_values else []
        case TableNode():
            return [cell for row in node.rows for cell in row if type(cell) is Trusted]
        case EventBlockNode():
            fields = [name.partition(".") for name in sorted(node.trusted)]
            values = [(getattr(node.block, field), key) for field, _, key in fields]
            return [str(value[key] if key else value) for value, key in values]


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
