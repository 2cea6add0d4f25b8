"""The components of text as XML elements."""

from promptdsl.foundation.escaping import attribute
from promptdsl.rendering.text.format import Frame


def _element(
    name: str, attributes: str = "", *, inline: bool = False, between: str = "\n"
) -> Frame:
    """Return a tag on lines of its own, or one on the line of its text."""
    end = "" if inline else "\n"
    return Frame(f"<{name}{attributes}>{end}", f"{end}</{name}>", (name,), between)


class Xml:
    """Sections as ``<id title="...">``, other components as tags of their own names."""

    tagged: bool = True
    table: str = "xml"

    def section(self, id: str, title: str | None, level: int) -> Frame:
        """Return the tag of a section, its title as an attribute."""
        return _element(id, "" if title is None else f' title="{title}"', between="\n\n")

    def heading(self, level: int) -> Frame:
        """Return ``<heading level="1">``."""
        return _element("heading", f' level="{level}"', inline=True)

    def paragraph(self) -> Frame:
        """Return ``<paragraph>``."""
        return _element("paragraph")

    def list(self, *, ordered: bool) -> Frame:
        """Return ``<list>`` or ``<list ordered="true">``."""
        return _element("list", ' ordered="true"' if ordered else "")

    def checklist(self) -> Frame:
        """Return ``<checklist>``."""
        return _element("checklist")

    def item(
        self, number: int | None, *, done: bool | None, other: bool, plain: bool = True
    ) -> Frame:
        """Return ``<item>``, in a checklist with ``done="true"`` or ``done="false"``."""
        attributes = "" if done is None else f' done="{str(done).lower()}"'
        return _element("item", attributes, inline=True, between="\n\n")

    def quote(self) -> Frame:
        """Return ``<quote>``."""
        return _element("quote", between="\n\n")

    def example(self, *, plain: bool) -> Frame:
        """Return ``<example>``."""
        return _element("example")

    def side(self, name: str, *, plain: bool) -> Frame:
        """Return ``<input>`` or ``<output>``."""
        return _element(name, inline=True, between="\n\n")

    def code(self, text: str, language: str | None) -> Frame:
        """Return ``<code language="...">``."""
        return _element("code", f' language="{attribute(language)}"' if language else "")

    def json(self) -> Frame:
        """Return ``<json>``."""
        return _element("json")


XML = Xml()
