"""The ways to write a turn, chosen by the kinds of its content.

``instructions`` writes strings and sections of one string, ``side_by_side`` the texts, calls and
attachments of a conversation. The ``walk`` writes parts of any kind, and takes longer.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import attrs

from promptdsl.foundation.escaping import title as one_line
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages import Block
from promptdsl.messages.loss import Loss
from promptdsl.rendering.text.encode import Fences, StringRules, kind_of, texts_in
from promptdsl.rendering.text.format import TextFormat, title_line
from promptdsl.rendering.text.leaves import sent_block
from promptdsl.rendering.text.page import NO_INDENT, OnLoss, TurnText
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


def way_of(turn: TurnNode, rules: StringRules, text_format: TextFormat) -> Way:
    """Return the way of a turn."""
    options = turn.options
    kinds = {str if isinstance(child, str) else child._node for child in turn.content}
    if options.separator is not None or not kinds <= KINDS[rules.joined]:
        return walk
    if not rules.joined:
        return side_by_side
    is_plain = not (text_format.tagged or options.cache)
    return instructions if is_plain and all(map(_is_plain, turn.content)) else walk


KINDS: Mapping[bool, frozenset[type]] = {
    True: frozenset({str, TextNode, SectionNode}),
    False: frozenset(
        {
            *(str, TextNode, ValueNode, VolatileNode, TrustedTextNode),
            *(ToolUseNode, ReasoningNode, MediaNode),
        }
    ),
}
"""The kinds of parts of instructions, and of those of a conversation, that need no walk."""


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
    return text[:1] not in ("", "\r", "\n") and is_valid_unicode(title + text)


def instructions(state: TurnText, turn: TurnNode) -> tuple[Block, ...]:
    """Return the block of instructions that are strings, and sections of one string each."""
    page = state.page
    for part in turn.content:
        text = part
        if isinstance(part, SectionNode):
            page.begin(part)
            (text,) = part.content
            if part.title is not None:
                page.open(title_line(one_line(str(part.title)), 2), "section", NO_INDENT)
        if not isinstance(text, str):
            page.begin(text)
            text = only_string(text)
        page.put(text, "author", NO_INDENT)
        page.node_number = -1
    return page.finish()


def _report(report: OnLoss, node: Node, loss: Loss) -> None:
    """Report a loss of a node that is directly in a turn."""
    report(attrs.evolve(loss, path="", source=node.source))
