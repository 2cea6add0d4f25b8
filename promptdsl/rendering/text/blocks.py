"""Blocks that can be sent: files are read, and lone surrogates are replaced."""

import os
from collections.abc import Callable
from functools import partial
from operator import is_
from typing import Any, TypeAlias

import attrs

from promptdsl.foundation.unicode import is_whole, whole
from promptdsl.messages import (
    Block,
    CodeBlock,
    MediaBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from promptdsl.messages.message import Message
from promptdsl.rendering.text.data import is_text
from promptdsl.tree.node import Node

MediaRoots: TypeAlias = tuple[str | os.PathLike[str], ...]
"""The folders that data may name files in."""
Replaced = Callable[[], object]
"""Called when a lone surrogate of a text was replaced."""


def settle(
    message: Message,
    node: Node,
    number: int,
    *,
    media_roots: MediaRoots,
    lost: list[tuple[Node, int]],
) -> tuple[Message, bool]:
    """Return a recorded message whose blocks can be sent, and whether some are JSON or code.

    It is the same message where they could be sent already; JSON and code become text later.
    ``node`` is the recording and ``number`` the index of the message in it; both are noted in
    ``lost`` when a lone surrogate was replaced. Raises :class:`MediaError` for a path that is
    refused or cannot be read.
    """
    content = message.content
    for block in content:
        # Most blocks other than text are calls: they are told without another function.
        if type(block) is not ToolUseBlock and not _is_settled(block):
            break
    else:
        return message, False
    replaced = partial(lost.append, (node, number))
    settled = tuple(
        settle_block(block, media_roots=media_roots, replaced=replaced) for block in content
    )
    if not all(map(is_, settled, content)):
        message = message.replace(content=settled)
    return message, not is_text(message)


def _is_settled(block: Any) -> bool:
    """Whether a block is one of the common kinds that need nothing."""
    kind = type(block)  # pyright: ignore[reportUnknownVariableType]
    if kind is ToolResultBlock:
        inner = block.content
        return len(inner) == 1 and type(inner[0]) is TextBlock and is_whole(inner[0].text)
    return kind is ToolUseBlock or (kind is TextBlock and is_whole(block.text))


def settle_block(block: Block, *, media_roots: MediaRoots, replaced: Replaced) -> Block:
    """Return a block that can be sent; the same one where it could already."""
    if isinstance(block, TextBlock | CodeBlock):
        text, changed = whole(block.text)
        if not changed:
            return block
        replaced()
        return attrs.evolve(block, text=text)
    if isinstance(block, MediaBlock) and block.source.kind == "path":
        from promptdsl.messages.media.attachment import read_path

        return attrs.evolve(block, source=read_path(block.source, media_roots, block.type))
    if isinstance(block, ToolResultBlock):
        content = tuple(
            settle_block(b, media_roots=media_roots, replaced=replaced) for b in block.content
        )
        same = all(map(is_, content, block.content))
        return block if same else attrs.evolve(block, content=content)
    return block
