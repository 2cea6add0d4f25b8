"""The names of documents, as Converse takes them: few letters, and never two the same."""

import re

from promptdsl.adapters.bedrock.request import Converse

LONGEST = 200
"""In characters, as botocore's ``DocumentBlockNameString`` says."""

_MISFIT = re.compile(r"[^a-zA-Z0-9()\[\]-]+")


def document_name(request: Converse, title: str | None) -> str:
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
        request.lose("hint", "title of a document", why)
    return name


def _numbered(stem: str, count: int) -> str:
    suffix = f" {count}"
    return stem[: LONGEST - len(suffix)].rstrip() + suffix
