"""A template as rules see it: read once, never run."""

import os
from typing import NamedTuple

from promptdsl.templates.facts import TemplateFacts, WrongTemplate

ENDINGS = (".j2", ".jinja", ".jinja2")


class CheckedTemplate(NamedTuple):
    """A file with front matter of promptdsl: what it says, and the templates that are beside it.

    ``known`` are the paths of all templates that were looked at.
    """

    path: str
    text: str
    facts: TemplateFacts | WrongTemplate
    known: tuple[str, ...]

    def has(self, name: str) -> bool:
        """Return whether another template may be there: one in a library or with this ending."""
        end = "/" + name.removeprefix("./")
        beside = os.path.join(os.path.dirname(self.path), name)
        return (
            ":" in name
            or os.path.isfile(beside)
            or any(f"/{it}".endswith(end) for it in self.known)
        )

    def line_of(self, name: str) -> int:
        """Return the line of an input in the front matter."""
        lines = enumerate(self.text.split("\n"), 1)
        return next((number for number, it in lines if it.strip().startswith(f"{name}:")), 1)


def is_ours(text: str) -> bool:
    """Return whether a template declares its inputs, as only those of promptdsl do."""
    head, closed, _ = text.removeprefix("---\n").partition("\n---")
    return text.startswith("---\n") and bool(closed) and "inputs:" in head
