"""The output of the commands: configurations and JSON as text for a terminal."""

import base64
import json
import os
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO, cast

import attrs

from promptdsl.comparing import visible, visible_json

if TYPE_CHECKING:
    from promptdsl import Difference, LibrarySection, Loss, Source, TokenPart


def as_explanation(explained: Mapping[str, tuple[object, str]]) -> str:
    """Return a line for each configuration value, with the layer that set it."""
    rows: list[tuple[str, str, str]] = []
    for key, (value, layer) in explained.items():
        if callable(value):
            # The name of a function, without its address.
            text = str(getattr(value, "__qualname__", type(value).__name__))
        elif getattr(value, "kind", None) is None:
            text = str(value)
        else:
            # A delimiter: its two ends.
            ends = (getattr(value, "open", ""), getattr(value, "close", ""))
            text = " ... ".join(repr(end)[1:-1] for end in ends if end) or "None"
        rows.append((key, visible(text, one_line=True), layer))
    first, second = (max((len(row[n]) for row in rows), default=0) for n in (0, 1))
    return "\n".join(f"{key:<{first}}  {value:<{second}}  {layer}" for key, value, layer in rows)


def as_json(value: object) -> str:
    """Return strict JSON: bytes as base64, and values without a JSON type as text.

    Raises :class:`ValueError` for NaN and infinite numbers, and ``TypeError`` for a key that is not
    text.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2, default=_json_default)
    return visible_json(text)


def _json_default(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else str(value)


def is_colourful() -> bool:
    """Return whether standard output is a terminal with colours."""
    return has_colours(sys.stdout)


def has_colours(stream: TextIO | None) -> bool:
    """Return whether an output is a terminal with colours; a closed output is ``None``."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return not is_plain and stream is not None and stream.isatty()


def relative(text: str) -> str:
    """Return text in which each ``file:line`` of the current folder is a relative path."""
    here = re.escape(os.path.join(os.getcwd(), ""))
    return re.sub(rf'(?<![^\s"]){here}(?=[^\n:"]*(?::|", line )\d)', "", text)


def as_row(part: "Loss | Difference | TokenPart") -> dict[str, object]:
    """Return the fields of a loss, a difference or a part as data, with its file and line."""
    row = attrs.asdict(part, recurse=False, filter=lambda field, _: field.name not in _NO_DATA)
    section = row.pop("library", None)
    library = {} if section is None else {"library": as_section(section)}
    return {**row, **library, **located(part.source)}


def fields(part: object, *names: str) -> dict[str, object]:
    """Return the fields with these names as data."""
    return {name: getattr(part, name) for name in names}


def as_section(section: "LibrarySection") -> dict[str, object]:
    """Return the section of a library as data: its name, version and digest."""
    return attrs.asdict(section)


_NO_DATA = ("source", "message")


def located(source: "Source | str | None") -> dict[str, object]:
    """Return the file and the line of a source as data."""
    file, _, line = relative(str(source or "")).rpartition(":")
    return {"file": file or None, "line": int(line) if line else None}
