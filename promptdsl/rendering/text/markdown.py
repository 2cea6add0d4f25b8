"""The components of text as Markdown."""

from promptdsl.foundation.escaping import code_fences
from promptdsl.rendering.text.format import BARE, Frame

DEEPEST = 6
_SIGNS = tuple("#" * level + " " for level in range(DEEPEST + 1))


def title_line(title: str, level: int) -> str:
    """Return the heading of a section, which is all of its frame."""
    return f"{_SIGNS[min(level, DEEPEST)]}{title}\n"


class Markdown:
    """Sections as headings, ``## Title``, nested ones a level deeper, down to six."""

    tagged: bool = False
    table: str = "markdown"

    def section(self, id: str, title: str | None, level: int) -> Frame:
        """Return a heading before the section, nothing without a title."""
        return BARE if title is None else Frame(title_line(title, level))

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

    def item(
        self, number: int | None, *, done: bool | None, other: bool, plain: bool = True
    ) -> Frame:
        """Return ``- ``, ``1. ``, ``- [x] `` or ``- [ ] ``; further lines are indented.

        Only ``plain`` text may follow a box: all else starts on the next line.
        The other marks are ``* `` and ``1) ``: they begin a new list (CommonMark 0.31, 5.3).
        """
        if number is not None:
            marker = f"{number}) " if other else f"{number}. "
            return Frame(marker, prefix=" " * len(marker))
        box = "" if done is None else "[x] " if done else "[ ] "
        box = box if plain or not box else f"{box[:-1]}\n  "
        return Frame(f"* {box}" if other else f"- {box}", prefix="  ")

    def quote(self) -> Frame:
        """Return ``> `` before every line."""
        return _QUOTE

    def example(self, *, plain: bool) -> Frame:
        """Return an example, a blank line between its sides unless both are plain text."""
        return _LIST if plain else BARE

    def side(self, name: str, *, plain: bool) -> Frame:
        """Return ``Input: `` or ``Output: ``; further lines are indented.

        What is more than plain text starts on a line of its own, as all of Markdown's blocks do.
        """
        return Frame(
            f"{name.capitalize()}: " if plain else f"{name.capitalize()}:\n  ", prefix="  "
        )

    def code(self, text: str, language: str | None) -> Frame:
        """Return a fence longer than any in the text."""
        return Frame(*code_fences(text, language))

    def json(self) -> Frame:
        """Return nothing: JSON of one line heads nothing."""
        return BARE


_LIST = Frame(between="\n")
_QUOTE = Frame("> ", prefix="> ")

MARKDOWN = Markdown()
