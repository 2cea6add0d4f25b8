"""The vocabulary of a turn: the tags that are written in it, which no value in it may forge."""

from typing import cast

import attrs

from promptdsl.config.transformation import Resolved
from promptdsl.foundation.guards import fold, tag_names
from promptdsl.rendering.text.containers import CONTAINERS, LISTS
from promptdsl.rendering.text.format import FORMATS, Form
from promptdsl.rendering.text.leaves import LEAVES
from promptdsl.rendering.text.page import Framed
from promptdsl.tree.group_nodes import FormatNode, FragmentNode
from promptdsl.tree.masks import EVENT, HOLLOW, REQUEST, SECTION, SYSTEM, TURN
from promptdsl.tree.node import Node
from promptdsl.tree.part_nodes import SectionNode
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
    form = FORMATS[config.format]
    system: set[str] = set()
    sections: set[str] = set()
    turns: list[tuple[Node, frozenset[str] | None]] = []  # system content has no names of its own
    waiting: list[tuple[Node, Form]] = [(root, form)]
    while waiting:
        node, around = waiting.pop()
        if isinstance(node, FragmentNode | RootNode):
            if isinstance(node, FormatNode):
                around = FORMATS[node.format]
            # Outside of turns there is no string.
            waiting += [(child, around) for child in cast("tuple[Node, ...]", node.content)]
        elif node.mask & _SYSTEM:
            _note_tags(node, around, system, sections)
            turns.append((node, None))
        elif node.mask & (_FENCED | HOLLOW) or (around.tagged and node.mask & TURN):
            names: set[str] = set()
            _note_tags(node, around, names, names)
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

    # A section may stand beside turns and in one of them, where the vocabulary is that of the turn.
    within = _FENCED | _SYSTEM | HOLLOW | (TURN if form.tagged else 0)
    return rewrite(root, change, within=within, whole=vocabularies)


def _note_tags(turn: Node, form: Form, names: set[str], sections: set[str]) -> None:
    """Add the tags of a turn, folded, to ``names``: of its components, and in its author text.

    The ids of sections that are tags are added to ``sections``.
    """
    are_values = isinstance(turn, RequestOnlyNode) and turn.grounding
    waiting: list[tuple[Node, Form]] = [(turn, form)]
    while waiting:
        node, form = waiting.pop()
        is_section = isinstance(node, SectionNode)
        if isinstance(node, FormatNode):
            form = FORMATS[node.format]
        frame_of = FRAMES.get(type(node))
        if frame_of is not None:
            (sections if is_section else names).update(map(fold, frame_of(form, node).tags))
        if isinstance(node, LISTS):  # each of its parts becomes an item
            names.update(form.item_alone.tags)
        texts = [] if are_values and is_section else [*node.authored()]
        for child in node.content:
            if not isinstance(child, str):
                waiting.append((child, form))
            elif not are_values:
                texts.append(child)
        for text in texts:
            if "<" in text or not text.isascii():
                names |= tag_names(text)


FRAMES = {
    node: part.frame for node, part in {**LEAVES, **CONTAINERS}.items() if isinstance(part, Framed)
}
"""What returns the frame of a part in a format, by the class of its node."""
