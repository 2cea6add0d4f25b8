"""Stands in for canonical.py and changes.py until they are there."""

import difflib
from collections.abc import Mapping
from typing import Any

from promptdsl import Rendered
from promptdsl.testing.prompt_file import FileEntry, FilePart, PromptFile, serialise

Scrubber = Any


def prompt_file(rendered: Rendered, *, scrubbers: Mapping[str, Any] | None = None) -> PromptFile:
    """Return the texts of the messages."""
    entries = [FileEntry(it.role, (FilePart("", it.text),)) for it in rendered.messages]
    return PromptFile((("model", rendered.facts.model or "none"),), tuple(entries))


def failure_text(expected: PromptFile, actual: PromptFile) -> str:
    """Return a plain diff."""
    files = [serialise(it).splitlines() for it in (expected, actual)]
    return "\n".join(difflib.unified_diff(*files, "stored", "now", lineterm=""))
