"""The text around the parts of a prompt: frames, the formats that make them, and fences."""

from typing import NamedTuple, Protocol

from promptdsl.config.delimiters import Delimiter
from promptdsl.foundation.source import Position, Source
from promptdsl.tree.masks import TEXT
from promptdsl.tree.node import Child, Node, make
from promptdsl.tree.part_nodes import FenceNode
from promptdsl.tree.rewrite import covering


class TextFrame(NamedTuple):
    """The text around the parts of a container, and between them.

    ``tags`` are the names of its tags, which no text inside may forge. ``between`` separates the
    parts, ``prefix`` begins every further line.
    """

    open: str = ""
    close: str = ""
    tags: tuple[str, ...] = ()
    between: str = "\n\n"
    prefix: str = ""


BARE = TextFrame()


class Form(Protocol):
    """A text format: the frames of the parts of a prompt."""

    tagged: bool
    """Whether containers are tags, which their text must not close."""
    table: str
    """The format of a table that has none of its own."""
    paragraph: TextFrame
    checklist: TextFrame
    quote: TextFrame
    json: TextFrame

    def section(self, id: str, title: str | None, level: int) -> TextFrame:
        """Return the frame of a section; ``title`` is encoded already, ``level`` counts from 2."""
        ...

    def heading(self, level: int) -> TextFrame:
        """Return the frame of a heading, ``level`` from 1 to 6."""
        ...

    def list(self, *, ordered: bool) -> TextFrame:
        """Return the frame of a list."""
        ...

    def marker(self, *, ordered: bool, previous: str) -> str:
        """Return the marker of the items of a list.

        ``previous`` is the marker of the list right before it, ``""`` after anything else.
        """
        ...

    def item(self, marker: str, number: int, *, done: bool | None, plain: bool) -> TextFrame:
        """Return the frame of an item of a list with this marker.

        ``done`` is ``None`` outside of a checklist, ``plain`` is whether it begins with text.
        """
        ...

    def example(self, *, plain: bool) -> TextFrame:
        """Return the frame of an example; ``plain`` is whether both sides are plain text."""
        ...

    def side(self, name: str, *, plain: bool) -> TextFrame:
        """Return the frame of a side of an example, which is ``input`` or ``output``."""
        ...

    def code(self, text: str, language: str | None) -> TextFrame:
        """Return the frame of code, which nothing in ``text`` can close."""
        ...


def fence(
    delimiter: Delimiter,
    content: tuple[Child, ...],
    *,
    attributes: str = "",
    at: Position | Source | Node | None = None,
    values: bool = False,
    said: tuple[str, ...] = (),
) -> FenceNode:
    """Return content between the two ends of a delimiter; only the default tag has attributes."""
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
        mask=TEXT | covering(content),
        at=at,
        open=opening,
        close=f"\n{delimiter.close}" if delimiter.close else "",
        names=(name,) if name else (),
        literals=() if is_tag else delimiter.literals,
        values=values,
        said=said,
    )
