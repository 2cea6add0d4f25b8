"""Shorter ways to write a turn than the ``walk``, for the kinds of content that most turns have.

``instructions`` writes strings and sections of one string. ``side_by_side`` writes the texts, calls
and attachments of a conversation. The blocks and the layout are those of the ``walk``.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import attrs

from promptdsl.foundation.escaping import title as one_line
from promptdsl.foundation.guards import has_bracket
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages import Block
from promptdsl.messages.loss import Loss
from promptdsl.rendering.text.encode import (
    Fences,
    StringRules,
    kind_of,
    texts_in,
)
from promptdsl.rendering.text.format import BETWEEN, title_line
from promptdsl.rendering.text.leaves import sent_block
from promptdsl.rendering.text.page import NO_INDENT, OnLoss, TurnText
from promptdsl.rendering.text.pieces import Layout, PieceKind
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


def way_of(turn: TurnNode, rules: StringRules) -> Way | None:
    """Return the way of a turn, ``None`` for the walk, which writes any parts."""
    if rules.joined or turn.options.separator is not None:
        return None
    kinds = {str if isinstance(child, str) else child._node for child in turn.content}
    return side_by_side if kinds <= SIDE_BY_SIDE else None


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
    content = part.content if part._node is TextNode and len(part.content) == 1 else ("",)
    return content[0] if isinstance(content[0], str) else ""


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
            page.block(sent_block(part, state.setting.media_roots), rules.kind)
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


def _is_sent_as_written(part: Child) -> bool:
    """Return whether a part of instructions is a string or a section of one, sent as written."""
    text, title = part, ""
    if isinstance(part, SectionNode):
        options = part.options
        if part._mask & CACHE or options.encoding or options.separator is not None:
            return False
        if len(part.content) != 1 or isinstance(part.title, ValueNode):
            return False
        (text,), title = part.content, part.title or ""
    string = only_string(text)
    # A text that starts with a line end is dedented, one with a bracket is guarded.
    if not string or string.isspace() or string[0] in "\r\n" or "<" in string:
        return False
    is_ascii = string.isascii() and title.isascii()
    return is_ascii or (
        is_valid_unicode(title) and is_valid_unicode(string) and not has_bracket(string)
    )


def instructions(layout: Layout, turn: TurnNode) -> str:
    """Return the text of instructions that are strings, and sections of one string each.

    Its pieces are noted in the layout. For other instructions the result is ``""``, and nothing is
    noted.
    """
    if not all(map(_is_sent_as_written, turn.content)):
        return ""
    first = len(layout.lengths)
    pieces: list[tuple[str, PieceKind, int]] = []
    for part in turn.content:
        start, node_number, text = first + len(pieces), -1, part
        if pieces:
            pieces.append((BETWEEN, "gap", -1))
        if isinstance(part, SectionNode):
            node_number, (text,) = _noted(layout, part, -1, start), part.content
            if part.title is not None:
                title = title_line(one_line(str(part.title)), 2)
                pieces.append((title, "section", node_number))
                start = first + len(pieces)
        if not isinstance(text, str):
            node_number = _noted(layout, text, node_number, start)
        pieces.append((only_string(text), "author", node_number))
    layout.lengths.extend(len(piece[0]) for piece in pieces)
    layout.kinds.extend(piece[1] for piece in pieces)
    layout.node_numbers.extend(piece[2] for piece in pieces)
    layout.ends.append(len(layout.lengths))
    return "".join([piece[0] for piece in pieces])


def _noted(layout: Layout, node: Node, around: int, start: int) -> int:
    """Note a node in another one, after ``start`` pieces, and return its number."""
    layout.nodes.append(node)
    layout.around.append(around)
    layout.starts.append(start)
    return len(layout.nodes) - 1


def _report(report: OnLoss, node: Node, loss: Loss) -> None:
    """Report a loss of a node that is directly in a turn."""
    report(attrs.evolve(loss, path="", source=node.source))
