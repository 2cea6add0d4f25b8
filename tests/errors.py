"""Errors, and the lines they name."""

import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

E = TypeVar("E", bound=Exception)


def raised(kind: type[E], write: Callable[[], object]) -> E:
    """Return the error that a function raises."""
    with pytest.raises(kind) as caught:
        write()
    return caught.value


def lines_of(function: Callable[..., Any], *offsets: int) -> tuple[str, ...]:
    """Return lines of a function as errors name them; its ``def`` is line 0."""
    code = inspect.unwrap(function).__code__
    return tuple(f"{code.co_filename}:{code.co_firstlineno + offset}" for offset in offsets)


def this_line() -> int:
    """Return the number of the line that asks."""
    return sys._getframe(1).f_lineno


def with_article(component: str) -> str:
    """Return "a" or "an" and the name of a component, as in the text of errors."""
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
