"""The reply of a stream so far, in the form of a whole response."""

from typing import Any

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.json import read_json
from promptdsl.providers.shared.request import Param

_WHOLE = {
    *("id", "toolUseId", "name", "type", "finish_reason", "stop_reason"),
    *("model", "model_version", "response_id"),
}
"""Keys whose texts come whole, from some servers in every event."""


class StreamedReply:
    """A response, its parts (blocks, items or calls) by number, and whether it has its end."""

    def __init__(self) -> None:
        self.response: Param = {}
        self.parts: dict[int, Param] = {}
        self.last: dict[int, Param] = {}
        """The last call by the number that its server gives it, -1 for none."""
        self.ended = False

    def part(self, number: object) -> Param:
        """Return the part with a number, a new one if there is none."""
        return self.parts.setdefault(number_of(number), {})


def number_of(number: object) -> int:
    """Return the number of a part; :class:`DataError` for anything but an integer."""
    if type(number) is int:
        return number
    raise DataError(f"the number of a part is an integer, not {type(number).__name__}")


def merge(entries: Param, delta: Param) -> None:
    """Add a delta: texts, bytes and lists go on, mappings are merged, other values are replaced.

    ``None`` and an empty text change nothing, and nothing in the delta is changed.
    """
    for key, piece in delta.items():
        known: Any = entries.get(key)  # Any: JSON
        if is_mapping(piece):
            entries[key] = known if type(known) is dict else {}
            merge(entries[key], dict(piece))
        elif type(known) is type(piece) and type(piece) in (str, bytes, list) and key not in _WHOLE:
            entries[key] = known + piece
        elif piece is not None and (piece != "" or known is None):
            entries[key] = piece


def parse_input(call: Param) -> None:
    """Replace the input of a call, a JSON text that is whole now, by its object."""
    text = call.get("input")
    value = read_json(text or "{}") if isinstance(text, str) else None
    if is_mapping(value):
        call["input"] = value
