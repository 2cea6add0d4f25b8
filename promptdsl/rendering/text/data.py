"""JSON and code: the nodes that recorded blocks become, and the text that they are sent as."""

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

from promptdsl.config.transformation import FormatBlock
from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.escaping import json_text, text_of
from promptdsl.foundation.json import ABSENT, read_json
from promptdsl.messages import Block, CodeBlock, JsonBlock, ToolResultBlock
from promptdsl.messages.message import Message
from promptdsl.messages.unchecked import text_block
from promptdsl.rendering.text.markdown import MARKDOWN
from promptdsl.tree.masks import TEXT
from promptdsl.tree.node import make
from promptdsl.tree.part_nodes import CodeNode, JsonNode, ValueNode

DataBlock: TypeAlias = JsonBlock | CodeBlock

Rewording = Callable[[Block], str | None]
"""Returns what an author wants a block to say, ``None`` for the usual text."""


def data_node(block: DataBlock, at: Any, *, is_value: bool) -> JsonNode | CodeNode:
    """Return the node of a recorded block; ``is_value`` is whether code is encoded as a value."""
    mask = TEXT
    if isinstance(block, JsonBlock):
        return make(JsonNode, mask=mask, at=at, text=json_text(block.value))
    code: Any = block.text
    if is_value:
        code = make(ValueNode, mask=mask, at=at, text=block.text, label=None)
    return make(CodeNode, (code,), mask=mask, at=at, language=block.language)


def data_block(node: JsonNode | CodeNode) -> DataBlock:
    """Return the block of a node, for a function that asks for it.

    Raises :class:`ContentError` for JSON that is nested too deep to be read back.
    """
    if isinstance(node, CodeNode):
        return CodeBlock(code_of(node), node.language)
    value = read_json(node.text)
    if value is ABSENT:
        raise ContentError(
            "format_block cannot be given this Json: it is nested too deep to be read back",
            fix="make it flatter, or render it without format_block",
            at=(node.source,),
        )
    return JsonBlock(value)


def code_of(node: CodeNode) -> str:
    """Return source code as it was written, nothing in it encoded."""
    return "".join([part if isinstance(part, str) else part.text for part in node.content])


def formatted(block: Block, format_block: FormatBlock, at: object) -> str | None:
    """Return what an author's function makes of a block, ``None`` for the usual text.

    Raises :class:`ContentError` with a line when it returns anything else.
    """
    text = format_block(block)
    if text is None:
        return None
    if isinstance(text, str):
        return text_of(text)
    raise ContentError(
        f"format_block returned {type(text).__name__} for a {block.type!r} block",
        fix="return its text, or None for the text it has by default",
        at=(at,),
    )


def is_text(message: Message) -> bool:
    """Return whether no block of a message is JSON or code, which has to become text."""
    if message.plain is not None:
        return True
    for block in message.content:
        inner = block.content if isinstance(block, ToolResultBlock) else (block,)
        if any(isinstance(part, JsonBlock | CodeBlock) for part in inner):
            return False
    return True


def as_text(message: Message, reword: Rewording) -> Message:
    """Return a recorded message whose JSON and code are text."""
    if is_text(message):
        return message
    return message.replace(content=tuple(_as_text(block, reword) for block in message.content))


def _as_text(block: Block, reword: Rewording) -> Block:
    if isinstance(block, ToolResultBlock):
        content = tuple(_as_text(inner, reword) for inner in block.content)
        return attrs.evolve(block, content=content)
    if not isinstance(block, JsonBlock | CodeBlock):
        return block
    text = reword(block)
    if text is not None:
        return text_block(text)
    if isinstance(block, JsonBlock):
        return text_block(json_text(block.value))
    # What was said has no format: it stays the same text when that of the prompt is another.
    frame = MARKDOWN.code(block.text, block.language)
    return text_block(f"{frame.open}{block.text}{frame.close}")
