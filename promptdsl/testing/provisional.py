"""Stands in for changes.py until it is there."""

import difflib

from promptdsl.testing.prompt_file import PromptFile, serialise


def failure_text(expected: PromptFile, actual: PromptFile) -> str:
    """Return a plain diff."""
    files = [serialise(it).splitlines() for it in (expected, actual)]
    return "\n".join(difflib.unified_diff(*files, "stored", "now", lineterm=""))
