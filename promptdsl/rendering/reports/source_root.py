"""The root of a record: the folder to which the files of its sources are relative."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from promptdsl.foundation.json import JsonDict

_COMPLETE = re.compile(r"[/\\<]|[A-Za-z]:[/\\]")
"""The beginning of a file that is not relative to the root; ``<stdin>`` is no file."""
_TOP = re.compile(r"(?:[A-Za-z]:|[/\\]{2}[^/\\]+)?[/\\]*[^/\\]+[/\\]")
"""The beginning of a complete path: its drive and its first folder."""
_ROWS = ("outline", "spans", "dropped", "losses", "tools")
"""The keys of a record whose rows have a source."""


def shorten_sources(data: JsonDict) -> None:
    """Add the root to a new record, and make its sources relative to it.

    The root ends with a separator, so a file is the root and the rest. It is the longest folder
    that has all files below the first folder in which most of them are. Files outside of it stay
    as they are. There is no root if a source is relative already.
    """
    rows = [row for row in _rows_of(data) if "source" in row]
    sources = {row["source"] for row in rows}
    root = _root_of(sources)
    if not root:
        return
    data["root"] = root
    short = {source: _relative(source, root) for source in sources}
    for row in rows:
        row["source"] = short[row["source"]]


def with_complete_sources(data: Mapping[str, Any]) -> Mapping[str, Any]:  # Any: JSON data
    """Return a record in which each source has its complete file; the record does not change."""
    root = data.get("root")
    if root is None:
        return data

    def complete(rows: Iterable[JsonDict]) -> list[JsonDict]:
        return [
            {**row, "source": root + row["source"]}
            if "source" in row and not _COMPLETE.match(row["source"])
            else row
            for row in rows
        ]

    changed: JsonDict = {key: complete(data[key]) for key in _ROWS}
    if data["tokens"] is not None:
        lists = {key: complete(data["tokens"].get(key, ())) for key in ("sources", "parts")}
        changed["tokens"] = {**data["tokens"], **lists}
    if data["output"] is not None:
        (changed["output"],) = complete([data["output"]])
    return {**data, **changed}


def _rows_of(data: JsonDict) -> Iterator[JsonDict]:
    for key in _ROWS:
        yield from data[key]
    tokens: JsonDict = data["tokens"] or {}
    for key in ("sources", "parts"):
        yield from tokens.get(key, ())
    yield data["output"] or {}


def _root_of(sources: Iterable[str]) -> str:
    """Return the root of sources, which ends with a separator; empty if there is none."""
    files = [source.rpartition(":")[0] for source in sources if not source.startswith("<")]
    tops = [_TOP.match(file) if _COMPLETE.match(file) else None for file in files]
    if not all(tops):
        return ""
    counts = Counter(top[0] for top in tops if top)
    if not counts:
        return ""
    top = max(counts, key=lambda name: (counts[name], name))
    inside = sorted(file for file in files if file.startswith(top))
    # What the first and the last of sorted files have in common, all of them have.
    first, last = inside[0], inside[-1]
    same = next(
        (n for n, pair in enumerate(zip(first, last, strict=False)) if len({*pair}) > 1), -1
    )
    common = first if same < 0 else first[:same]
    return common[: max(common.rfind("/"), common.rfind("\\")) + 1]


def _relative(source: str, root: str) -> str:
    rest = source.removeprefix(root)
    return source if _COMPLETE.match(rest) else rest
