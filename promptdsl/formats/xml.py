"""Sections as XML elements."""

import attrs

from promptdsl.encoding import attribute


@attrs.frozen
class Xml:
    """``<id title="...">``, the body, ``</id>``, each on its own line."""

    fenced: bool = True

    def opening(self, id: str, title: str | None, level: int, *, value: bool) -> str:
        """Return the opening tag of a section, its title as an attribute."""
        return f"<{id}>\n" if title is None else f'<{id} title="{attribute(title)}">\n'

    def closing(self, id: str) -> str:
        """Return the closing tag of a section."""
        return f"\n</{id}>"


XML = Xml()
