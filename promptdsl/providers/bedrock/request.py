"""A Converse request while it is being written, and the names of its documents."""

import re

import attrs

from promptdsl.providers.shared.request import Place
from promptdsl.providers.shared.two_sided import Turns


@attrs.define(eq=False)
class Converse(Turns):
    """The turns of a request, and the state that its attachments and tools need."""

    names: dict[str, int] = attrs.field(factory=dict[str, int])
    """How often each name of a document was asked for."""
    counts: dict[str, int] = attrs.field(factory=dict[str, int])
    """The number of attachments, by kind, in the turn ``counted``."""
    counted: int = 0
    """The index of the last turn with an attachment."""
    calls_tools: bool = False
    """Whether a call or a result was written."""

    def is_made_by(self, *words: str) -> bool:
        """Whether the name of the model contains one of these words."""
        model = (self.facts.model or "").lower()
        return any(word in model for word in words)


LONGEST = 200
"""In characters, as botocore's ``DocumentBlockNameString`` says."""

_MISFIT = re.compile(r"[^a-zA-Z0-9()\[\]-]+")


def document_name(request: Converse, place: Place, title: str | None) -> str:
    """Return the name a document is sent with; a hint where that is not its title.

    Only letters, digits, single spaces, hyphens and brackets are taken (``DocumentBlock`` of AWS).
    The first document of a name keeps it. A name depends on earlier documents only.
    """
    stem = _MISFIT.sub(" ", title or "").strip()[:LONGEST].rstrip() or "Document"
    count = request.names.get(stem, 0) + 1
    name = stem
    while count > 1:
        suffix = f" {count}"
        name = stem[: LONGEST - len(suffix)].rstrip() + suffix
        if name not in request.names:
            break
        count += 1
    request.names[name] = 1
    request.names[stem] = count
    if title and name != title:
        reason = f"it has other characters, or is too long or taken: sent as {name!r}"
        request.lose(place, "hint", "title of a document", reason)
    return name
