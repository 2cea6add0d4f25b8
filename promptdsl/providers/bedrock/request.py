"""Bytes on the wire, which are base64 text in blocks."""

import base64
import re
from typing import Any, cast

import attrs

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import Around, json_leaf, plain
from promptdsl.providers.shared.request import Place
from promptdsl.providers.shared.two_sided import Turns


def encoded(data: object, key: str) -> str:
    """Return bytes as base64 text, and text as it is; :class:`DataError` for anything else."""
    if isinstance(data, bytes | bytearray):
        return base64.b64encode(data).decode("ascii")
    if not isinstance(data, str):
        raise DataError(f"{key!r} is bytes or their base64 text, not {type(data).__name__}")
    return data


def decoded(text: str) -> bytes | None:
    """Return the bytes of a base64 text, ``None`` for another text."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


def without_bytes(data: object) -> Any:
    """Return data with base64 text for the bytes in it, at any depth: blocks hold JSON values.

    Raises :class:`DataError` for what else JSON has no word for.
    """
    return plain(data, "data", _leaf)


def _leaf(item: Any, around: Around, key: Any) -> Any:
    if isinstance(item, bytes | bytearray):
        return encoded(item, "bytes")
    return json_leaf(item, around, key)


_JSON = ("input", "json")
"""Under these keys stands any JSON value, in which ``bytes`` is a key like others."""


def put_bytes(param: dict[str, Any]) -> None:
    """Put bytes for the base64 text of every source in a block, at any depth."""
    waiting: list[object] = [param]
    while waiting:
        held = waiting.pop()
        if isinstance(held, dict):
            entries = cast("dict[str, Any]", held)
            _put_source(entries.get("source"))
            waiting += [value for key, value in entries.items() if key not in _JSON]
        elif isinstance(held, list):
            waiting += cast("list[object]", held)


def _put_source(source: Any) -> None:
    match source:
        case {"bytes": str(text)}:
            source["bytes"] = decoded(text) or text
        case _:
            pass


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
