"""The components of text as Markdown."""

import attrs

from promptdsl.encoding import code_fence, field
from promptdsl.encoding import title as one_line
from promptdsl.fencing import BARE, Frame

DEEPEST = 6


@attrs.frozen
class Markdown:
    """Sections as headings, ``## Title``, nested ones a level deeper, down to six."""

    tagged: bool = False
    table: str = "markdown"

    def section(self, id: str, title: str | None, level: int, *, value: bool) -> Frame:
        """Return a heading before the section, nothing without a title."""
        if title is None:
            return BARE
        text = field(title) if value else one_line(title)
        return Frame(f"{'#' * min(level, DEEPEST)} {text}\n")

    def heading(self, level: int) -> Frame:
        """Return the number signs of a heading."""
        return Frame(f"{'#' * level} ")

    def paragraph(self) -> Frame:
        """Return nothing: a blank line is enough."""
        return BARE

    def list(self, *, ordered: bool) -> Frame:
        """Return a list without blank lines between its items."""
        return _LIST

    def checklist(self) -> Frame:
        """Return a list without blank lines between its items."""
        return _LIST

    def item(self, number: int | None, *, done: bool | None) -> Frame:
        """Return ``- ``, ``1. ``, ``- [x] `` or ``- [ ] ``; further lines are indented."""
        if number is not None:
            marker = f"{number}. "
            return Frame(marker, prefix=" " * len(marker))
        return _ITEM if done is None else _DONE if done else _TO_DO

    def quote(self) -> Frame:
        """Return ``> `` before every line."""
        return _QUOTE

    def example(self) -> Frame:
        """Return an example without a blank line between its sides."""
        return _LIST

    def side(self, name: str) -> Frame:
        """Return ``Input: `` or ``Output: ``; further lines are indented."""
        return Frame(f"{name.capitalize()}: ", prefix="  ")

    def code(self, text: str, language: str | None) -> Frame:
        """Return a fence longer than any in the text."""
        fence = code_fence(text)
        return Frame(f"{fence}{language or ''}\n", f"\n{fence}")

    def json(self) -> Frame:
        """Return nothing: JSON of one line heads nothing."""
        return BARE


_LIST = Frame(between="\n")
_ITEM = Frame("- ", prefix="  ")
_DONE = Frame("- [x] ", prefix="  ")
_TO_DO = Frame("- [ ] ", prefix="  ")
_QUOTE = Frame("> ", prefix="> ")

MARKDOWN = Markdown()
