"""The ways to write a turn that are shorter than the ``walk``, for the content of most turns.

``instructions`` writes strings and sections of one string, ``side_by_side`` the texts, calls and
attachments of a conversation. The blocks and the layout are those of the ``walk``.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import attrs

from promptdsl.foundation.escaping import title as one_line
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages import Block
from promptdsl.messages.loss import Loss
from promptdsl.rendering.text.encode import Fences, StringRules, kind_of, texts_in
from promptdsl.rendering.text.format import BETWEEN, title_line
from promptdsl.rendering.text.leaves import sent_block
from promptdsl.rendering.text.page import NO_INDENT, OnLoss, TurnText
from promptdsl.rendering.text.pieces import Layout, PieceKind
from promptdsl.rendering.text.walk import walk
from promptdsl.tree.masks import CACHE
from promptdsl.tree.node import Child, Node
from promptdsl.tree.part_nodes import (
    MediaNode,
    ReasoningNode,
    SectionNode,
    TextNode,
    ToolUseNode,
    TrustedTextNode,
    ValueNode,
    VolatileNode,
)
from promptdsl.tree.turn_nodes import TurnNode

Way: TypeAlias = Callable[[TurnText, TurnNode], tuple[Block, ...]]


def way_of(turn: TurnNode, rules: StringRules) -> Way:
    """Return the way of a turn that is not simple, by the kinds of its content."""
    if rules.joined or turn.options.separator is not None:
        return walk
    kinds = {str if isinstance(child, str) else child._node for child in turn.content}
    return side_by_side if kinds <= SIDE_BY_SIDE else walk


SIDE_BY_SIDE = frozenset(
    {
        *(str, TextNode, ValueNode, VolatileNode, TrustedTextNode),
        *(ToolUseNode, ReasoningNode, MediaNode),
    }
)
"""The kinds of parts that are one text or one block in a conversation."""


def parts_of(text: Child) -> tuple[Child, ...]:
    """Return the strings and values of a text."""
    return text.content if isinstance(text, TextNode) else (text,)


def only_string(part: Child) -> str:
    """Return a string, or the string of a text of one string; ``""`` for another part."""
    if isinstance(part, str):
        return part
    if part._node is TextNode and len(part.content) == 1:
        (text,) = part.content
        return text if isinstance(text, str) else ""
    return ""


def side_by_side(state: TurnText, turn: TurnNode) -> tuple[Block, ...]:
    """Return the blocks of a conversation turn: one for each text, call and attachment."""
    page, rules = state.page, state.rules
    fences = Fences(state.author_tags, state.literals)
    follows = False
    for part in turn.content:
        node: Node = turn
        if not isinstance(part, str):
            page.begin(part)
            node = part
        if isinstance(part, ToolUseNode | ReasoningNode | MediaNode):
            page.block(sent_block(part, state.setting.media_roots, rules), rules.kind)
            follows = False
        else:
            parts = parts_of(part)
            note = partial(_report, state.report, node)
            texts = texts_in(parts, rules, fences, note, follows=follows)
            page.write("".join(texts), kind_of(parts, texts, rules), NO_INDENT)
            page.flush()
            follows = True
        page.node_number = -1
    return page.finish()


def _is_plain(part: Child) -> bool:
    """Return whether a part of instructions is a string, or a section of one, sent as written."""
    title = ""
    if isinstance(part, SectionNode):
        if part._mask & CACHE or isinstance(part.title, ValueNode) or len(part.content) != 1:
            return False
        title = str(part.title)
        (part,) = part.content
    text = only_string(part)
    # A text that starts with a line end is dedented.
    written = title + text
    is_valid = written.isascii() or is_valid_unicode(written)
    return is_valid and text[:1] not in ("", "\r", "\n")


def instructions(layout: Layout, turn: TurnNode) -> str:
    """Return the text of instructions that are strings, and sections of one string each.

    Its pieces are noted in the layout. For other instructions the result is ``""``, and nothing is
    noted.
    """
    if not all(map(_is_plain, turn.content)):
        return ""
    texts: list[str] = []

    def add(text: str, kind: PieceKind, node_number: int) -> None:
        texts.append(text)
        layout.lengths.append(len(text))
        layout.kinds.append(kind)
        layout.node_numbers.append(node_number)

    for part in turn.content:
        start, node_number, text = len(layout.lengths), -1, part
        if texts:
            add(BETWEEN, "gap", -1)
        if isinstance(part, SectionNode):
            node_number = _noted(layout, part, -1, start)
            (text,) = part.content
            if part.title is not None:
                add(title_line(one_line(str(part.title)), 2), "section", node_number)
                start = len(layout.lengths)
        if not isinstance(text, str):
            node_number = _noted(layout, text, node_number, start)
            text = only_string(text)
        add(text, "author", node_number)
    layout.ends.append(len(layout.lengths))
    return "".join(texts)


def _noted(layout: Layout, node: Node, around: int, start: int) -> int:
    """Note a node in another one, after ``start`` pieces, and return its number."""
    layout.nodes.append(node)
    layout.around.append(around)
    layout.starts.append(start)
    return len(layout.nodes) - 1


def _report(report: OnLoss, node: Node, loss: Loss) -> None:
    """Report a loss of a node that is directly in a turn."""
    report(attrs.evolve(loss, path="", source=node.source))
