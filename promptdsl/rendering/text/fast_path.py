"""The short way for plain turns, which most are: strings, calls, and sections of one string.

It writes the same messages as a walk over the parts (``test_the_fast_path_and_the_walk``), for a
tenth of the time: 102 turns of a conversation in 45 microseconds instead of 490, 200 sections of a
system turn in 120 instead of 1,140 (CPython 3.11).
"""

# A child is told by its exact type, which is faster than isinstance and tells a checker less.
# pyright: reportUnknownVariableType=false

from typing import Any

from promptdsl.foundation.escaping import title as one_line
from promptdsl.foundation.unicode import is_whole
from promptdsl.messages import Block, ToolResultBlock
from promptdsl.messages.message import Message, message, spoken
from promptdsl.messages.roles import Role
from promptdsl.messages.unchecked import text_block, tool_result_block
from promptdsl.rendering.text.format import Form
from promptdsl.rendering.text.markdown import title_line
from promptdsl.tree.masks import CACHE, SPOKEN, SYSTEM
from promptdsl.tree.node import DEFAULTS, Child
from promptdsl.tree.part_nodes import MediaNode, SectionNode, TextNode, ToolUseNode, ValueNode
from promptdsl.tree.turn_nodes import TurnNode


def lower_plain(
    turns: tuple[Child, ...],
    start: int,
    form: Form,
    *,
    messages: list[Message],
    counts: dict[str, int],
) -> int:
    """Append the messages of plain turns from ``start`` on; return the index of the first other.

    ``counts`` are the turns so far by role.
    """
    for index in range(start, len(turns)):
        turn = turns[index]
        is_speech = turn.mask & SPOKEN
        role: Role = turn.role if is_speech else "system"
        if not is_speech:
            child: Any = _plain_system(turn, form)
            if not child:
                return index
        else:
            content = turn.content
            child = content[0] if len(content) == 1 else None
            kind = type(child)
            if kind is TextNode and len(child.content) == 1:
                child = child.content[0]
        kind = type(child)
        if kind is str and child and role != "tool":
            try:
                # Text without a UTF-8 form holds a lone surrogate, which is not sent. This is
                # is_whole() without a call: most turns come by here.
                child.isascii() or child.encode()  # pyright: ignore[reportUnusedExpression]
            except UnicodeEncodeError:
                return index
            number = counts[role]
            counts[role] = number + 1
            messages.append(spoken(role, child, turn, number))
            continue
        blocks = (child.block,) if kind is ToolUseNode else _plain_blocks(turn)
        if blocks is None:
            return index
        number = counts[role]
        counts[role] = number + 1
        if blocks:
            messages.append(message(role, blocks, turn, number))
    return len(turns)


def _plain_system(turn: Any, form: Form) -> str | None:
    """Return the text of a system turn without options, ``None`` where there is more to do."""
    if not turn.mask & SYSTEM or type(turn) is not TurnNode or turn.options is not DEFAULTS:
        return None
    return plain_instructions(turn.content, form)


def _plain_blocks(turn: Any) -> tuple[Block, ...] | None:
    """Return the blocks of plain strings, calls and attachments, ``None`` for anything else."""
    blocks: list[Block] = []
    for child in turn.content:
        kind = type(child)
        if kind is TextNode:
            parts = child.content
            if len(parts) > 1:
                return None
            child = parts[0]  # noqa: PLW2901
            kind = type(child)
        if kind is str:
            if not child.isascii() and not is_whole(child):
                return None
            if child:
                blocks.append(text_block(child))
        elif kind is ToolUseNode or (kind is MediaNode and child.block.source.kind != "path"):
            blocks.append(child.block)
        else:
            return None
    return answer_of(turn, tuple(blocks)) if turn.role == "tool" else tuple(blocks)


def answer_of(turn: Any, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the content of a tool message: one result that holds these blocks."""
    if turn.is_error or turn.error_type:
        error = (turn.is_error, turn.error_type)
        return (ToolResultBlock(turn.tool_use_id, blocks, turn.options.name, *error),)
    return (tool_result_block(turn.tool_use_id, blocks, turn.options.name),)


def plain_instructions(content: tuple[Child, ...], form: Form) -> str | None:
    """Return the text of strings and sections of one string, as most system content is.

    ``None`` when there is more to do: values, fences, dedenting, marks, lone surrogates.
    """
    if form.tagged:
        return None
    items: list[str] = []
    for child in content:
        text, head = child, ""
        if type(child) is SectionNode:
            title = child.title
            if len(child.content) != 1 or child.mask & CACHE or isinstance(title, ValueNode):
                return None
            text = child.content[0]
            if title is not None:
                if not title.isascii() and not is_whole(title):
                    return None
                head = title_line(one_line(title), 2)
        if type(text) is TextNode and len(text.content) == 1:
            text = text.content[0]
        if type(text) is not str or not text or text[0] in "\r\n":
            return None
        if not text.isascii() and not is_whole(text):
            return None
        items.append(head + text if head else text)
    return "\n\n".join(items)
