"""XML: each part is an element, a section one that is named by its id."""

from promptdsl.foundation.escaping import attribute
from promptdsl.rendering.text.format import TextFrame


def _element(
    name: str, attributes: str = "", *, inline: bool = False, between: str = "\n"
) -> TextFrame:
    """Return a tag on lines of its own, or one on the line of its text."""
    end = "" if inline else "\n"
    return TextFrame(f"<{name}{attributes}>{end}", f"{end}</{name}>", (name,), between)


class Xml:
    """Sections as ``<id title="...">``, other components as tags of their own names."""

    tagged: bool = True
    table: str = "xml"
    paragraph: TextFrame = _element("paragraph")
    checklist: TextFrame = _element("checklist")
    quote: TextFrame = _element("quote", between="\n\n")
    json: TextFrame = _element("json")

    def section(self, id: str, title: str | None, level: int) -> TextFrame:
        """Return the tag of a section, its title as an attribute."""
        return _element(id, "" if title is None else f' title="{title}"', between="\n\n")

    def heading(self, level: int) -> TextFrame:
        """Return ``<heading level="1">``."""
        return _element("heading", f' level="{level}"', inline=True)

    def list(self, *, ordered: bool) -> TextFrame:
        """Return ``<list>`` or ``<list ordered="true">``."""
        return _element("list", ' ordered="true"' if ordered else "")

    def marker(self, *, ordered: bool, previous: str) -> str:
        """Return nothing: an item is an element."""
        return ""

    def item(self, marker: str, number: int, *, done: bool | None, plain: bool) -> TextFrame:
        """Return ``<item>``, in a checklist with ``done="true"`` or ``done="false"``."""
        attributes = "" if done is None else f' done="{str(done).lower()}"'
        return _element("item", attributes, inline=True, between="\n\n")

    def example(self, *, plain: bool) -> TextFrame:
        """Return ``<example>``."""
        return _element("example")

    def side(self, name: str, *, plain: bool) -> TextFrame:
        """Return ``<input>`` or ``<output>``."""
        return _element(name, inline=True, between="\n\n")

    def code(self, text: str, language: str | None) -> TextFrame:
        """Return ``<code language="...">``."""
        return _element("code", f' language="{attribute(language)}"' if language else "")


XML = Xml()
