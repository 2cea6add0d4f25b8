"""The text around the parts of a prompt: frames, the formats that make them, and fences."""

from typing import Any, NamedTuple, Protocol

from promptdsl.config.delimiters import Delimiter
from promptdsl.tree.masks import TEXT
from promptdsl.tree.node import Child, make
from promptdsl.tree.part_nodes import FenceNode
from promptdsl.tree.rewrite import covering


class Frame(NamedTuple):
    """The text around the parts of a container, and between them.

    ``tags`` are the names no text inside may forge. ``between`` separates the parts, ``prefix``
    begins every further line.
    """

    open: str = ""
    close: str = ""
    tags: tuple[str, ...] = ()
    between: str = "\n\n"
    prefix: str = ""


BARE = Frame()


class Form(Protocol):
    """How the components of text are written."""

    @property
    def tagged(self) -> bool:
        """Whether containers are tags, which their text must not close."""
        ...

    @property
    def table(self) -> str:
        """The format of a table that has none of its own."""
        ...

    def section(self, id: str, title: str | None, level: int) -> Frame:
        """Return the frame of a section; ``title`` is encoded already, ``level`` counts from 2."""
        ...

    def heading(self, level: int) -> Frame:
        """Return the frame of a heading, ``level`` from 1 to 6."""
        ...

    def paragraph(self) -> Frame:
        """Return the frame of a paragraph."""
        ...

    def list(self, *, ordered: bool) -> Frame:
        """Return the frame of a list."""
        ...

    def checklist(self) -> Frame:
        """Return the frame of a checklist."""
        ...

    def item(
        self, number: int | None, *, done: bool | None, other: bool, plain: bool = True
    ) -> Frame:
        """Return the frame of an item: ``number`` in an ordered list, ``done`` in a checklist.

        ``other`` is whether the list comes right after one of its kind.
        """
        ...

    def quote(self) -> Frame:
        """Return the frame of a quotation."""
        ...

    def example(self, *, plain: bool) -> Frame:
        """Return the frame of an example; ``plain`` is whether both sides are plain text."""
        ...

    def side(self, name: str, *, plain: bool) -> Frame:
        """Return the frame of a side of an example, which is ``input`` or ``output``."""
        ...

    def code(self, text: str, language: str | None) -> Frame:
        """Return the frame of code, which nothing in ``text`` can close."""
        ...

    def json(self) -> Frame:
        """Return the frame of a JSON text."""
        ...


def fence(
    delimiter: Delimiter,
    content: tuple[Child, ...],
    *,
    attributes: str = "",
    at: Any = None,
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
