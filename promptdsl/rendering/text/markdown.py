"""Markdown: sections are headings, lists have dashes or numbers, code stands in fences."""

from promptdsl.foundation.escaping import code_fences
from promptdsl.rendering.text.format import BARE, TextFrame

DEEPEST = 6
_SIGNS = tuple("#" * level + " " for level in range(DEEPEST + 1))
_LIST = TextFrame(between="\n")


def title_line(title: str, level: int) -> str:
    """Return the heading of a section, which is all of its frame."""
    return f"{_SIGNS[min(level, DEEPEST)]}{title}\n"


class Markdown:
    """Sections as headings, ``## Title``, nested ones a level deeper, down to six."""

    tagged: bool = False
    table: str = "markdown"
    paragraph: TextFrame = BARE
    checklist: TextFrame = _LIST
    quote: TextFrame = TextFrame("> ", prefix="> ")
    json: TextFrame = BARE

    def section(self, id: str, title: str | None, level: int) -> TextFrame:
        """Return a heading before the section, nothing without a title."""
        return BARE if title is None else TextFrame(title_line(title, level))

    def heading(self, level: int) -> TextFrame:
        """Return the number signs of a heading."""
        return TextFrame(_SIGNS[level])

    def list(self, *, ordered: bool) -> TextFrame:
        """Return a list without blank lines between its items."""
        return _LIST

    def marker(self, *, ordered: bool, previous: str) -> str:
        """Return ``-`` or ``.``; after a list of the same marker ``*`` or ``)``.

        Another marker begins a new list (CommonMark 0.31, 5.3).
        """
        usual, other = ".)" if ordered else "-*"
        return other if previous == usual else usual

    def item(self, marker: str, number: int, *, done: bool | None, plain: bool) -> TextFrame:
        """Return ``- ``, ``1. ``, ``- [x] `` or ``- [ ] ``; further lines are indented.

        Only text may follow a box on its line: all else starts on the next one.
        """
        if marker in ".)":
            sign = f"{number}{marker} "
            return TextFrame(sign, prefix=" " * len(sign))
        box = "" if done is None else "[x]" if done else "[ ]"
        end = "" if done is None else " " if plain else "\n  "
        return TextFrame(f"{marker} {box}{end}", prefix="  ")

    def example(self, *, plain: bool) -> TextFrame:
        """Return an example, a blank line between its sides unless both are plain text."""
        return _LIST if plain else BARE

    def side(self, name: str, *, plain: bool) -> TextFrame:
        """Return ``Input: `` or ``Output: ``; further lines are indented.

        Other parts than plain text start on a line of their own, as all blocks of Markdown do.
        """
        end = " " if plain else "\n  "
        return TextFrame(f"{name.capitalize()}:{end}", prefix="  ")

    def code(self, text: str, language: str | None) -> TextFrame:
        """Return a fence longer than any in the text."""
        return TextFrame(*code_fences(text, language))


MARKDOWN = Markdown()
