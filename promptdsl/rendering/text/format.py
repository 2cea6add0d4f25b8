"""The text formats, Markdown and XML: the text around the parts of a prompt.

A format is a class with a method or attribute for each kind of node, which returns its frame
(:class:`TextFrame`). ``TextFormat`` is either of the two formats.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from promptdsl.config.transformation import Delimiter
from promptdsl.foundation.escaping import attribute, code_fences, field
from promptdsl.foundation.guards import guard
from promptdsl.foundation.source import Position, Source
from promptdsl.rendering.text.layout import PieceKind
from promptdsl.tree.masks import TEXT
from promptdsl.tree.node import Child, Node, make
from promptdsl.tree.part_nodes import FenceNode
from promptdsl.tree.rewrite import deep_bits

BETWEEN = "\n\n"
"""The text between two parts, if their container has no other text for that."""


class TextFrame(NamedTuple):
    """The text around the children of a container, and between them.

    ``tags`` are the names of its tags, which no text inside may contain. ``between`` separates the
    children. ``prefix`` begins every line but the first. ``kind`` is the kind of the opening.
    """

    open: str = ""
    close: str = ""
    tags: tuple[str, ...] = ()
    between: str = BETWEEN
    prefix: str = ""
    kind: PieceKind = "section"


NO_FRAME = TextFrame()


MAX_HEADING_LEVEL = 6
"""Markdown has headings of six levels."""
_SIGNS = tuple("#" * level + " " for level in range(MAX_HEADING_LEVEL + 1))
_LIST = TextFrame(between="\n")
_BOXES = ("[ ]", "[x]")
_AFTER_LABEL = ("\n  ", " ")
"""The text after a box or a label, by whether only text follows it: then there is no line end."""


def title_line(title: str, level: int) -> str:
    """Return the heading of a section, which is its complete frame."""
    return f"{_SIGNS[min(level, MAX_HEADING_LEVEL)]}{title}\n"


class Markdown:
    """Sections as headings, ``## Title``, at most at level 6."""

    tagged: bool = False
    table: str = "markdown"
    paragraph: TextFrame = NO_FRAME
    checklist: TextFrame = _LIST
    quote: TextFrame = TextFrame("> ", prefix="> ")
    item_alone: TextFrame = TextFrame("- ", prefix="  ")
    """The frame of an item whose list has another format, so that it has no list here."""
    json: TextFrame = NO_FRAME

    def section(self, id: str, title: str | None, level: int) -> TextFrame:
        """Return a heading before the section, nothing without a title."""
        return NO_FRAME if title is None else TextFrame(title_line(title, level))

    def heading(self, level: int) -> TextFrame:
        """Return the number signs of a heading."""
        return TextFrame(_SIGNS[level])

    def list(self, *, ordered: bool) -> TextFrame:
        """Return a list without blank lines between its items."""
        return _LIST

    def marker(self, *, ordered: bool, previous: str) -> str:
        """Return ``-`` or ``.``; directly after a list with this marker, ``*`` or ``)``.

        In CommonMark only another marker begins a new list (CommonMark 0.31, 5.3).
        """
        usual, other = ".)" if ordered else "-*"
        return other if previous == usual else usual

    def item(self, marker: str, number: int, *, done: bool | None, text_only: bool) -> TextFrame:
        """Return ``- ``, ``1. ``, ``- [x] `` or ``- [ ] ``; the other lines are indented.

        Only text may follow a box on its line. Any other part begins on the next line.
        """
        if marker in ".)":
            sign = f"{number}{marker} "
            return TextFrame(sign, prefix=" " * len(sign))
        if done is None:
            return TextFrame(f"{marker} ", prefix="  ")
        return TextFrame(f"{marker} {_BOXES[done]}{_AFTER_LABEL[text_only]}", prefix="  ")

    def example(self, *, text_only: bool) -> TextFrame:
        """Return the frame of an example; between sides of text alone there is no blank line."""
        return _LIST if text_only else NO_FRAME

    def side(self, name: str, *, text_only: bool) -> TextFrame:
        """Return ``Input: `` or ``Output: ``; the other lines are indented.

        Parts other than text begin on a line of their own, like all blocks of Markdown.
        """
        return TextFrame(f"{name.capitalize()}:{_AFTER_LABEL[text_only]}", prefix="  ")

    def code(self, text: str, language: str | None) -> TextFrame:
        """Return a code fence that is longer than any in the text."""
        return TextFrame(*code_fences(text, language))


MARKDOWN = Markdown()


def _element(
    name: str, attributes: str = "", *, inline: bool = False, between: str = "\n"
) -> TextFrame:
    """Return the frame of a tag; an ``inline`` tag is on the line of its text."""
    end = "" if inline else "\n"
    return TextFrame(f"<{name}{attributes}>{end}", f"{end}</{name}>", (name,), between)


_LIST_TAGS = ("list", "item")
_XML_LISTS = (
    _element("list")._replace(tags=_LIST_TAGS),
    _element("list", ' ordered="true"')._replace(tags=_LIST_TAGS),
)
_XML_EXAMPLE = _element("example")


class Xml:
    """Sections as ``<id title="...">``, other components as tags of their own names."""

    tagged: bool = True
    table: str = "xml"
    paragraph: TextFrame = _element("paragraph")
    checklist: TextFrame = _element("checklist")._replace(tags=("checklist", "item"))
    quote: TextFrame = _element("quote", between=BETWEEN)
    item_alone: TextFrame = _element("item", inline=True, between=BETWEEN)
    json: TextFrame = _element("json")

    def section(self, id: str, title: str | None, level: int) -> TextFrame:
        """Return the tag of a section, its title as an attribute."""
        return _element(id, "" if title is None else f' title="{title}"', between=BETWEEN)

    def heading(self, level: int) -> TextFrame:
        """Return ``<heading level="1">``."""
        return _element("heading", f' level="{level}"', inline=True)

    def list(self, *, ordered: bool) -> TextFrame:
        """Return ``<list>`` or ``<list ordered="true">``."""
        return _XML_LISTS[ordered]

    def marker(self, *, ordered: bool, previous: str) -> str:
        """Return ``""``: an item is an element, without a marker."""
        return ""

    def item(self, marker: str, number: int, *, done: bool | None, text_only: bool) -> TextFrame:
        """Return ``<item>``, in a checklist with ``done="true"`` or ``done="false"``."""
        if done is None:
            return self.item_alone
        flag = f' done="{str(done).lower()}"'
        return _element("item", flag, inline=True, between=BETWEEN)

    def example(self, *, text_only: bool) -> TextFrame:
        """Return ``<example>``."""
        return _XML_EXAMPLE

    def side(self, name: str, *, text_only: bool) -> TextFrame:
        """Return ``<input>`` or ``<output>``."""
        return _element(name, inline=True, between=BETWEEN)

    def code(self, text: str, language: str | None) -> TextFrame:
        """Return ``<code language="...">``."""
        return _element("code", f' language="{attribute(language)}"' if language else "")


XML = Xml()

TextFormat: TypeAlias = Markdown | Xml
FORMATS: Mapping[str, TextFormat] = {"markdown": MARKDOWN, "xml": XML}


def line_in_fence(value: str, names: frozenset[str], literals: frozenset[str]) -> str:
    """Return a value for one line or an attribute of a fence; no reserved tag can begin in it.

    ``names`` are the reserved tags, ``literals`` the delimiters that it may not contain, either.
    """
    encoded = field(value)
    if encoded.isascii() and not literals:  # it has no bracket of any kind
        return encoded
    return guard(encoded, names, literals)


def fence(
    delimiter: Delimiter,
    content: tuple[Child, ...],
    *,
    attributes: str = "",
    at: Position | Source | Node | None = None,
    values: bool = False,
    raw_values: tuple[str, ...] = (),
) -> FenceNode:
    """Return content between the two texts of a delimiter; only a default tag has attributes.

    With ``values`` the strings of the content are values. ``raw_values`` are the values of the
    attributes, not encoded.
    """
    opening = delimiter.open
    if delimiter.kind == "default":
        opening = f"{opening[:-1]}{attributes}>"
    if delimiter.kind != "prefix" and opening:
        opening += "\n"
    is_tag = delimiter.kind == "default" or delimiter.is_tag
    name = delimiter.tag_name if is_tag else None
    return make(
        FenceNode,
        content,
        mask=TEXT | deep_bits(content),
        at=at,
        open=opening,
        close=f"\n{delimiter.close}" if delimiter.close else "",
        names=(name,) if name else (),
        literals=() if is_tag else delimiter.literals,
        values=values,
        raw_values=raw_values,
    )
