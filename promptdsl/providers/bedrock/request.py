"""A Converse request while it is written: the names of its documents and its cache marks."""

import re
from collections.abc import Iterator, Mapping

import attrs

from promptdsl.config.wires.bedrock import WIRE
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import new_dict
from promptdsl.messages.field_checks import Cache
from promptdsl.providers.shared.checks import items, mapping, read_mark
from promptdsl.providers.shared.request import Location, Param
from promptdsl.providers.shared.two_sided import Turns, write_marks


@attrs.define(eq=False)
class Converse(Turns):
    """The turns of a request, and the state that its attachments and tools need."""

    names: dict[str, int] = attrs.field(factory=dict[str, int])
    """The number of uses of each name of a document."""
    counts: dict[str, int] = attrs.field(factory=dict[str, int])
    """The number of attachments, by kind, in the turn ``counted``."""
    counted: int = 0
    """The index of the last turn with an attachment."""
    starts: dict[int, tuple[int, Param]] = attrs.field(factory=new_dict)
    """The index of a message by the ``id()`` of its first param, where a turn may be divided.

    The param is kept with the index, so that its id stays unique.
    """
    calls_tools: bool = False
    """Whether a call or a result was written."""


LONGEST = 200
"""The greatest number of characters in a name (botocore's ``DocumentBlockNameString``)."""

_MISFIT = re.compile(r"[^a-zA-Z0-9()\[\]-]+")


_SUFFIXES = {"html": ("html", "htm"), "md": ("md", "markdown")}
"""The file extensions of a format. For any other format the extension is its name."""


def document_name(
    request: Converse, location: Location, title: str | None, media_format: str
) -> str:
    """Return the name with which a document is sent; a hint if that is not its title.

    Only letters, digits, single spaces, hyphens and brackets are taken (``DocumentBlock`` of AWS),
    so a file extension is left out if the format means the same. The first document with a name
    keeps it. A name depends on earlier documents only.
    """
    bare, _, extension = (title or "").rpartition(".")
    if bare and extension.lower() in _SUFFIXES.get(media_format, (media_format,)):
        title = bare
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
        reason = f"it has characters that are refused, is too long, or is taken: sent as {name!r}"
        request.hint(location, "mended_name", "title of a document", reason)
    return name


POINT = WIRE.mark
"""The key of a cache mark, which is a separate block after the params that it covers."""


def write_point_marks(request: Converse, tools: list[Param]) -> None:
    """Insert a block for each cache mark that the request may have, after the param it covers."""
    # Marks after documents and videos are refused (pydantic-ai, ``BedrockModel``).
    model = (request.facts.model or "").lower()
    claude = "claude" in model or "anthropic." in model
    for mark in [*request.marks]:
        pdf = claude and mark.param.get("document", {}).get("format") == "pdf"
        if "video" in mark.param or ("document" in mark.param and not pdf):
            why = "none may follow a video, or a document other than a PDF for Claude"
            request.lose_mark(mark, why)
            request.marks.remove(mark)
    write_marks(request, tools, lambda param, ttl: [param, {POINT: {"type": "default", **ttl}}])


def marked_items(data: object, key: str) -> Iterator[tuple[str, object, Cache | None]]:
    """Yield the path, the value and the cache mark of each item of a list that is not a mark."""
    listed = items(data, key)
    are_marks = [isinstance(item, Mapping) and [*item] == [POINT] for item in listed]
    for index, item in enumerate(listed):
        path = f"{key}[{index}]"
        if not are_marks[index]:
            is_marked = are_marks[index + 1 : index + 2] == [True]
            yield path, item, read_mark(mapping(listed[index + 1])[POINT]) if is_marked else None
        elif index == 0 or are_marks[index - 1]:
            raise DataError(
                f"{path}: a {POINT!r} with nothing before it", fix="put it after a block"
            )
