"""Making blocks ready to be sent: what is no text yet becomes text, and files are read."""

import os
import re
from collections.abc import Callable, Iterable
from functools import partial
from operator import is_
from typing import Any

import attrs

from promptdsl.blocks import (
    Block,
    CodeBlock,
    JsonBlock,
    MediaBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    text_block,
)
from promptdsl.encoding import is_whole, json_text, whole
from promptdsl.media import read_path
from promptdsl.messages import Message
from promptdsl.tree import Node

Roots = Iterable[str | os.PathLike[str]]
Replaced = Callable[[], object]
"""Called when a lone surrogate of a text was replaced."""


def settle(
    message: Message, node: Node, number: int, *, roots: Roots, lost: list[tuple[Node, int]]
) -> Message:
    """Return a recorded message whose blocks can be sent; the same one where they could already.

    ``node`` is the recording and ``number`` which of its messages this is; both are noted in
    ``lost`` when a lone surrogate was replaced. Raises :class:`MediaError` for a path that is
    refused or cannot be read.
    """
    content = message.content
    for block in content:
        if not _is_settled(block):
            break
    else:
        return message
    replaced = partial(lost.append, (node, number))
    settled = tuple(settle_block(block, roots=roots, replaced=replaced) for block in content)
    if all(map(is_, settled, content)):
        return message
    return message.replace(content=settled)


def _is_settled(block: Any) -> bool:
    """Whether a block is one of the common kinds that need nothing."""
    kind = type(block)  # pyright: ignore[reportUnknownVariableType]
    if kind is ToolResultBlock:
        inner = block.content
        return len(inner) == 1 and type(inner[0]) is TextBlock and is_whole(inner[0].text)
    return kind is ToolUseBlock or (kind is TextBlock and is_whole(block.text))


def settle_block(block: Block, *, roots: Roots, replaced: Replaced) -> Block:
    """Return a block that can be sent; the same one where it could already."""
    if isinstance(block, TextBlock):
        text, changed = whole(block.text)
        if not changed:
            return block
        replaced()
        return attrs.evolve(block, text=text)
    if isinstance(block, MediaBlock) and block.source.kind == "path":
        return attrs.evolve(block, source=read_path(block.source, roots))
    if isinstance(block, JsonBlock):
        return text_block(json_text(block.value))
    if isinstance(block, CodeBlock):
        return text_block(fenced_code(block.text, block.language))
    if isinstance(block, ToolResultBlock):
        content = tuple(settle_block(b, roots=roots, replaced=replaced) for b in block.content)
        same = all(map(is_, content, block.content))
        return block if same else attrs.evolve(block, content=content)
    return block


def fenced_code(text: str, language: str | None) -> str:
    """Return code in a Markdown fence longer than any inside it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language or ''}\n{text}\n{fence}"
