"""Sections as Markdown headings."""

import attrs

from promptdsl.encoding import field
from promptdsl.encoding import title as one_line

DEEPEST = 6


@attrs.frozen
class Markdown:
    """``## Title``, a newline, the body; nested sections one level deeper, down to six."""

    fenced: bool = False

    def opening(self, id: str, title: str | None, level: int, *, value: bool) -> str:
        """Return the heading of a section, nothing without a title."""
        if title is None:
            return ""
        text = field(title) if value else one_line(title)
        return f"{'#' * min(level, DEEPEST)} {text}\n"

    def closing(self, id: str) -> str:
        """Return nothing: the next heading closes a section."""
        return ""


MARKDOWN = Markdown()
