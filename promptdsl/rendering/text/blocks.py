"""Making blocks ready to be sent: what is no text yet becomes text, and files are read."""

import os
from collections.abc import Callable, Iterable
from functools import partial
from operator import is_
from typing import Any

import attrs

from promptdsl.config.transformation import FormatBlock
from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.escaping import code_fences, json_text, text_of
from promptdsl.foundation.unicode import is_whole, whole
from promptdsl.messages import (
    Block,
    CodeBlock,
    JsonBlock,
    MediaBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from promptdsl.messages.message import Message
from promptdsl.messages.unchecked import text_block
from promptdsl.tree.node import Node

Roots = Iterable[str | os.PathLike[str]]
Replaced = Callable[[], object]
"""Called when a lone surrogate of a text was replaced."""


def settle(
    message: Message, node: Node, number: int, *, roots: Roots, lost: list[tuple[Node, int]]
) -> tuple[Message, bool]:
    """Return a recorded message whose blocks can be sent; the same one where they could already.

    Beside it stands whether some are JSON or code, which become text later. ``node`` is the
    recording and ``number`` which of its messages this is; both are noted in ``lost`` when a lone
    surrogate was replaced. Raises :class:`MediaError` for a path that is refused or cannot be read.
    """
    content = message.content
    for block in content:
        # A call is most often what is no text: it is told without another function.
        if type(block) is not ToolUseBlock and not _is_settled(block):
            break
    else:
        return message, False
    replaced = partial(lost.append, (node, number))
    settled = tuple(settle_block(block, roots=roots, replaced=replaced) for block in content)
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


def settle_block(block: Block, *, roots: Roots, replaced: Replaced) -> Block:
    """Return a block that can be sent; the same one where it could already."""
    if isinstance(block, TextBlock | CodeBlock):
        text, changed = whole(block.text)
        if not changed:
            return block
        replaced()
        return attrs.evolve(block, text=text)
    if isinstance(block, MediaBlock) and block.source.kind == "path":
        from promptdsl.messages.media.attachment import read_path

        return attrs.evolve(block, source=read_path(block.source, roots, block.type))
    if isinstance(block, ToolResultBlock):
        content = tuple(settle_block(b, roots=roots, replaced=replaced) for b in block.content)
        same = all(map(is_, content, block.content))
        return block if same else attrs.evolve(block, content=content)
    return block


def fenced_code(text: str, language: str | None) -> str:
    """Return code in a Markdown fence longer than any inside it."""
    opening, closing = code_fences(text, language)
    return f"{opening}{text}{closing}"


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
    """Return whether no block of a message still has to become text."""
    if message.plain is not None:
        return True
    return not any(_is_data(block) for block in message.content)


def _is_data(block: Block) -> bool:
    if isinstance(block, ToolResultBlock):
        return any(isinstance(inner, JsonBlock | CodeBlock) for inner in block.content)
    return isinstance(block, JsonBlock | CodeBlock)


Wanted = Callable[[Block], str | None]
"""Returns what an author wants a block to say, ``None`` for what it says by default."""


def worded(message: Message, wanted: Wanted) -> Message:
    """Return a message whose JSON and code are text."""
    if is_text(message):
        return message
    return message.replace(content=tuple(_worded(block, wanted) for block in message.content))


def _worded(block: Block, wanted: Wanted) -> Block:
    if isinstance(block, ToolResultBlock):
        content = tuple(_worded(inner, wanted) for inner in block.content)
        return attrs.evolve(block, content=content)
    if not isinstance(block, JsonBlock | CodeBlock):
        return block
    text = wanted(block)
    if text is not None:
        return text_block(text)
    if isinstance(block, JsonBlock):
        return text_block(json_text(block.value))
    return text_block(fenced_code(block.text, block.language))
