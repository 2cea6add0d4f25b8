"""What stands around a text: the two ends of a fence, and the form of a section."""

from typing import Any, Protocol

from promptdsl.config import Delimiter
from promptdsl.nodes import Fence
from promptdsl.rewriting import covering
from promptdsl.tree import TEXT, Child, bits, make


class SectionFormat(Protocol):
    """How sections are written."""

    @property
    def fenced(self) -> bool:
        """Whether a section is a tag that its text must not close."""
        ...

    def opening(self, id: str, title: str | None, level: int, *, value: bool) -> str:
        """Return what stands before a section.

        ``level`` counts from 2; ``value`` is whether the title is one.
        """
        ...

    def closing(self, id: str) -> str:
        """Return what stands behind a section."""
        ...


def fence(
    delimiter: Delimiter,
    content: tuple[Child, ...],
    *,
    attributes: str = "",
    at: Any = None,
    values: bool = False,
    said: tuple[str, ...] = (),
) -> Fence:
    """Return content between the two ends of a delimiter; only the default tag has attributes."""
    opening = delimiter.open
    if delimiter.kind == "default":
        opening = f"{opening[:-1]}{attributes}>"
    if delimiter.kind != "prefix" and opening:
        opening += "\n"
    name = delimiter.tag_name if delimiter.is_tag else None
    return make(
        Fence,
        content,
        mask=bits(TEXT, covering(content)),
        at=at,
        open=opening,
        close=f"\n{delimiter.close}" if delimiter.close else "",
        names=(name,) if name else (),
        literals=delimiter.literals,
        values=values,
        said=said,
    )
