"""Recorded blocks made fit to be sent: files are read, and lone surrogates are replaced."""

import os
from collections.abc import Callable
from functools import partial
from operator import is_
from typing import TypeAlias

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

    The message is the same object if nothing had to change; JSON and code become text later.
    ``node`` is the recording and ``number`` the index of the message in it; both are noted in
    ``lost`` when a lone surrogate was replaced. Raises :class:`MediaError` for a path that is
    refused or cannot be read.
    """
    content = message.content
    # Most blocks need nothing: calls, whole texts, and results that are one whole text.
    for block in content:
        if type(block) is ToolUseBlock:
            continue
        text: Block = block
        if isinstance(block, ToolResultBlock) and len(block.content) == 1:
            text = block.content[0]
        if not isinstance(text, TextBlock) or not is_whole(text.text):
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


def settle_block(block: Block, *, media_roots: MediaRoots, replaced: Replaced) -> Block:
    """Return a block that can be sent; the same object if nothing had to change."""
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
            settle_block(inner, media_roots=media_roots, replaced=replaced)
            for inner in block.content
        )
        same = all(map(is_, content, block.content))
        return block if same else attrs.evolve(block, content=content)
    return block
