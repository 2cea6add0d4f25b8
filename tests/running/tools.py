"""What the tests of ``run_calls`` share: calls, and what came of each."""

import json
from typing import Any

from promptdsl import *


def call(name: str, id: str = "call_1", /, **arguments: Any) -> ToolUseBlock:
    """Return a call of a tool."""
    return ToolUseBlock(id, name, json.dumps(arguments))


def charges(month: str) -> list[float]:
    """List the charges of a month."""
    return {"May": [49.0, 49.0]}[month]


def results(calls: Any, tools: Any, **options: Any) -> list[tuple[str, str | None]]:
    """Return the text of each result, and the kind of its error."""
    return [outcome(message) for message in run_calls(calls, tools, **options)]


def outcome(message: Message) -> tuple[str, str | None]:
    """Return the text of a result, and the kind of its error."""
    (block,) = message.content
    assert isinstance(block, ToolResultBlock)
    return message.text, block.error_type


def only_result(function: Any, **arguments: Any) -> tuple[str, str | None]:
    """Return what comes of one call of a function."""
    (result,) = results([call(function.__name__, **arguments)], [function])
    return result
