"""A request of Converse while it is being written, and the names of its documents."""

import re

import attrs

from promptdsl.providers.shared.request import Place
from promptdsl.providers.shared.two_sided import Turns


@attrs.define(eq=False)
class Converse(Turns):
    """Turns, and what their attachments need.

    ``names`` are those of the documents so far, each with how often it was asked for. ``counts``
    are the attachments of the last turn that holds any, by kind, and ``counted`` is its number.
    ``calls_tools`` is whether a call or a result was written.
    """

    names: dict[str, int] = attrs.field(factory=dict[str, int])
    counts: dict[str, int] = attrs.field(factory=dict[str, int])
    counted: int = 0
    calls_tools: bool = False

    def is_made_by(self, *words: str) -> bool:
        """Whether the model's name holds one of these words."""
        model = (self.facts.model or "").lower()
        return any(word in model for word in words)


LONGEST = 200
"""In characters, as botocore's ``DocumentBlockNameString`` says."""

_MISFIT = re.compile(r"[^a-zA-Z0-9()\[\]-]+")


def document_name(request: Converse, place: Place, title: str | None) -> str:
    """Return what a document is called, a hint where that is not its title.

    Only letters, digits, single spaces, hyphens and brackets are taken (``DocumentBlock`` of AWS).
    The first document of a name keeps it; it depends on earlier ones only.
    """
    stem = _MISFIT.sub(" ", title or "").strip()[:LONGEST].rstrip() or "Document"
    count = request.names.get(stem, 0) + 1
    name = stem if count == 1 else _numbered(stem, count)
    while count > 1 and name in request.names:
        count += 1
        name = _numbered(stem, count)
    request.names[name] = 1
    request.names[stem] = count
    if title and name != title:
        why = f"it has other characters, or is too long or taken: sent as {name!r}"
        request.lose(place, "hint", "title of a document", why)
    return name


def _numbered(stem: str, count: int) -> str:
    suffix = f" {count}"
    return stem[: LONGEST - len(suffix)].rstrip() + suffix
