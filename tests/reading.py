"""What tests read of a rendered prompt: its messages in a form that is short to write."""

import sys
from typing import Any

from promptdsl import (
    Message,
    Node,
    TextBlock,
    Timeline,
    ToolResultBlock,
    ToolUseBlock,
    include,
    render,
)

Said = tuple[Any, ...]


def said(*content: Any, **request: Any) -> list[Said]:
    """Return role and blocks of every message that a timeline of this content comes to."""
    return heard(render(timeline(*content), **request).messages)


def timeline(*content: Any) -> Timeline:
    """Return a timeline of this content, which may be none."""
    with Timeline() as tree:
        include(*content)
    return tree


def heard(messages: tuple[Message, ...]) -> list[Said]:
    """Return role and blocks of messages: a text as a string, a call or result as a tuple."""
    return [(message.role, *map(_block, message.content)) for message in messages]


def text(*content: Any, **request: Any) -> str:
    """Return the only text of the only message that a timeline of this content comes to."""
    [(_, only)] = said(*content, **request)
    return str(only)


def lost(*content: Any, **request: Any) -> list[tuple[str, str]]:
    """Return kind and subject of everything that was lost."""
    return [(loss.kind, loss.what) for loss in render(timeline(*content), **request).losses]


def stage(name: str, tree: Node, **request: Any) -> Node:
    """Return the tree after a pass."""
    return dict(render(tree, **request).stages())[name]


def did_nothing(name: str, tree: Node, **request: Any) -> bool:
    """Return whether the tree is the same object before and after a pass."""
    names, trees = zip(*render(tree, **request).stages(), strict=True)
    place = names.index(name)
    return trees[place - 1] is trees[place]


def line() -> int:
    """Return the number of the line that asks."""
    return sys._getframe(1).f_lineno


def _block(block: Any) -> Any:
    if isinstance(block, TextBlock) and block.cache is None:
        return block.text
    if isinstance(block, ToolUseBlock):
        return ("call", block.id, block.name)
    if isinstance(block, ToolResultBlock):
        flags = [flag for flag in (block.is_error and "error", block.error_type) if flag]
        return ("result", block.tool_use_id, *map(_block, block.content), *flags)
    return block.to_dict()
