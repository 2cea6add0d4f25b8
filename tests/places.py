"""What tests of writing share: what a prompt comes to, and the lines an error names."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from promptdsl import Loss, Node, PromptError, render

E = TypeVar("E", bound=PromptError)


def said(tree: Node, **options: Any) -> list[tuple[str, list[str]]]:
    """Return the role and the texts of every message; a block that is no text is its type."""
    return [
        (message.role, [getattr(block, "text", block.type) for block in message.content])
        for message in render(tree, **options).messages
    ]


def named(component: str) -> str:
    """Return the name of a component behind its article, as errors say it."""
    vowel = component in (
        "Assistant",
        "Audio",
        "Ephemeral",
        "Event",
        "Example",
        "Image",
        "Item",
        "Output",
        "Untrusted",
    )
    return f"an {component}" if vowel else f"a {component}"


def losses(tree: Node, **options: Any) -> tuple[Loss, ...]:
    """Return what of a tree could not be said."""
    return render(tree, **options).losses


def raised(kind: type[E], write: Callable[[], object]) -> E:
    """Return the error that a function raises."""
    with pytest.raises(kind) as caught:
        write()
    return caught.value


def places(function: Callable[..., object], *offsets: int) -> tuple[str, ...]:
    """Return lines of a function as errors name them; its ``def`` is line 0."""
    code = inspect.unwrap(function).__code__
    return tuple(f"{code.co_filename}:{code.co_firstlineno + offset}" for offset in offsets)
