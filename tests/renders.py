"""What a prompt comes to: the messages, texts, losses and stages of its render, short to write."""

import re
import warnings
from collections.abc import Iterable
from typing import Any

from promptdsl import *
from promptdsl.integrations import Converted

ShortForm = tuple[Any, ...]
"""A message: its role, and each block as ``short_form`` says it."""


def timeline_of(*content: Any) -> Timeline:
    """Return a timeline of this content, which may be none."""
    with Timeline() as tree:
        include(*content)
    return tree


def said(tree: Node, **request: Any) -> list[tuple[str, list[str]]]:
    """Return the role and the texts of every message; a block that is no text is its type."""
    return [
        (message.role, [getattr(block, "text", block.type) for block in message.content])
        for message in render(tree, **request).messages
    ]


def comes_to(*content: Any, **request: Any) -> list[ShortForm]:
    """Return the short form of every message that a timeline of this content comes to."""
    return short_form(render(timeline_of(*content), **request).messages)


def short_form(messages: tuple[Message, ...]) -> list[ShortForm]:
    """Return role and blocks of messages: a text as a string, a call or result as a tuple."""
    return [(message.role, *map(_block, message.content)) for message in messages]


def only_text(*content: Any, **request: Any) -> str:
    """Return the only text of the only message that a timeline of this content comes to."""
    [(_, only)] = comes_to(*content, **request)
    return str(only)


def losses_of(*content: Any, **request: Any) -> list[tuple[str, str]]:
    """Return kind and subject of every loss and hint of a timeline of this content."""
    return named_losses(reported(render(timeline_of(*content), **request)))


def reported(result: Rendered | PromptRecord | Converted[Any]) -> tuple[Loss, ...]:
    """Return the losses of a result, and after them its hints."""
    return (*result.losses, *result.hints)


def named_losses(losses: Iterable[Loss]) -> list[tuple[str, str]]:
    """Return kind and subject of losses."""
    return [(loss.kind, loss.what) for loss in losses]


def lossy_payload(rendered: Rendered) -> Any:
    """Return the payload of a prompt that may lose content of its author."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LostContentWarning)
        return rendered.payload()


def stage(name: str, tree: Node, **request: Any) -> Node:
    """Return the tree after a pass."""
    return dict(render(tree, **request).stages())[name]


def did_nothing(name: str, tree: Node, **request: Any) -> bool:
    """Return whether the tree is the same object before and after a pass."""
    names, trees = zip(*render(tree, **request).stages(), strict=True)
    place = names.index(name)
    return trees[place - 1] is trees[place]


def _block(block: Any) -> Any:
    if isinstance(block, TextBlock) and block.cache is None:
        return block.text
    if isinstance(block, ToolUseBlock):
        return ("call", block.id, block.name)
    if isinstance(block, ToolResultBlock):
        flags = [flag for flag in (block.is_error and "error", block.error_type) if flag]
        return ("result", block.tool_use_id, *map(_block, block.content), *flags)
    return block.to_dict()


def ruled(text: str) -> str:
    """Return the text of a request from one with ``[user]`` in place of the rule over a message."""
    return re.sub(r"^\[(.+)\]$", lambda line: f"── {line[1]} ".ljust(72, "─"), text, flags=re.M)
