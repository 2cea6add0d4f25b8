"""Hints for texts that contain the outline of a part, because the part was made text too early."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from promptdsl.messages.loss import Loss
from promptdsl.tree.node import Node, walk

WHY = "str() or %s of a part is its outline: pass the part itself"
LONGEST = 500
"""The characters of a first line that are searched for its beginning."""
_START = re.compile(r"<\w+ (?:at|'|\")")
_END = ": not rendered>"


def outline_hints(tree: Node) -> Iterator[Loss]:
    """Yield a hint for each part of a tree whose text contains the first line of an outline.

    Recorded messages are not searched.
    """
    for node, _ in walk(tree):
        for text in _texts(node):
            line = _first_line(text) if isinstance(text, str) else None
            if line is not None:
                yield Loss("hint", f"the text {line!r}", WHY, source=node.source)


def _texts(node: Any) -> Iterator[object]:  # Any: a node of any class
    """Return the texts of a part before they were encoded: its own, those of fields and cells."""
    rows: tuple[tuple[object, ...], ...] = getattr(node, "rows", ())
    values: tuple[object, ...] = getattr(node, "raw_values", ())
    return chain(node.content, (getattr(node, "text", ""),), values, *rows)


def _first_line(text: str) -> str | None:
    """Return the first line of an outline that a text contains."""
    end = text.find(_END)
    while end >= 0:
        line = text[max(end - LONGEST, 0) : end].rpartition("\n")[2]
        start = _START.search(line)
        if start and line[-1].isdigit():
            return line[start.start() :] + _END
        end = text.find(_END, end + 1)
    return None
