"""Blocks built in half the time are what the others are."""

from collections.abc import Callable

import pytest
from attrs.exceptions import FrozenInstanceError

from promptdsl import Block, TextBlock, ToolResultBlock, ToolUseBlock
from tests.internals import text_block, tool_result_block, tool_use_block

CONTENT = (TextBlock("x"),)


@pytest.mark.parametrize(
    ("slow", "fast"),
    [
        (lambda: TextBlock("x"), lambda: text_block("x")),
        (lambda: TextBlock("x", "5m"), lambda: text_block("x", "5m")),
        (lambda: ToolUseBlock("1", "f", "{}"), lambda: tool_use_block("1", "f", "{}")),
        (lambda: ToolResultBlock("1", CONTENT), lambda: tool_result_block("1", CONTENT)),
        (lambda: ToolResultBlock("1", (), "f"), lambda: tool_result_block("1", (), "f")),
    ],
)
def test_the_same_block(slow: Callable[[], Block], fast: Callable[[], Block]) -> None:
    """Both ways build equal blocks of one class, which refuse changes."""
    assert (slow(), type(slow()), hash(slow())) == (fast(), type(fast()), hash(fast()))
    with pytest.raises(FrozenInstanceError):
        fast().type = "x"  # type: ignore[misc]
