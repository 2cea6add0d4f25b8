"""What tests of bad input share: the error a call raises inside a block, and what it leaves."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from promptdsl import PromptError, System

Write = Callable[[], object]


class Failed(NamedTuple):
    """The error of a call, whether it names its author's line first, and what the call left."""

    kind: type[PromptError]
    fix: str
    first: bool
    left: tuple[object, ...]


def failed(write: Write) -> Failed:
    """Return how a one-line function fails inside a block that holds a text."""
    with System("before") as block, pytest.raises(PromptError) as caught:
        write()
    error, code = caught.value, write.__code__
    first = error.at[:1] == (f"{code.co_filename}:{code.co_firstlineno}",)
    return Failed(type(error), error.fix, first, block.content)


def refusal(kind: type[PromptError], fix: str) -> Failed:
    """Return how a call fails that names its line and leaves nothing."""
    return Failed(kind, fix, first=True, left=("before",))
