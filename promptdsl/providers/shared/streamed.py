"""The reply of a stream so far, in the format of a complete response."""

from collections.abc import Iterable
from typing import Any

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.json import read_json
from promptdsl.providers.shared.checks import items
from promptdsl.providers.shared.request import Param

_COMPLETE = {
    *("id", "toolUseId", "name", "type", "finish_reason", "stop_reason"),
    *("model", "model_version", "response_id"),
}
"""Keys whose texts are complete in one event; some servers repeat them in every event."""


class StreamedReply:
    """A response, its parts (blocks, items or calls) by number, and whether it has ended."""

    def __init__(self) -> None:
        self.response: Param = {}
        self.parts: dict[int, Param] = {}
        self.calls: list[Param] = []
        """The calls of Chat, in the order in which they began."""
        self.last: dict[int, Param] = {}
        """The last call by the number that its server sends."""
        self.named: dict[str, Param] = {}
        """The call by its id."""
        self.ended = False

    def part(self, number: object) -> Param:
        """Return the part with a number, a new one if there is none."""
        return self.parts.setdefault(number_of(number), {})


def texts_in(parts: Iterable[object], *kinds: str | None) -> list[str]:
    """Return the texts of the parts with these types, ``None`` for parts without a type."""
    texts = (part.get("text") for part in parts if is_mapping(part) and part.get("type") in kinds)
    return [text for text in texts if isinstance(text, str)]


def number_of(number: object) -> int:
    """Return the number of a part; raises :class:`DataError` if it is not an integer."""
    if type(number) is int:
        return number
    raise DataError(f"the number of a part is an integer, not {type(number).__name__}")


def merge(fields: Param, delta: Param) -> None:
    """Add a delta: texts, bytes and lists are appended, mappings merged, other values replaced.

    ``None`` and an empty text change nothing. The delta itself is not changed.
    """
    for key, piece in delta.items():
        known: Any = fields.get(key)  # Any: JSON
        if is_mapping(piece):
            fields[key] = known if type(known) is dict else {}
            merge(fields[key], dict(piece))
        elif (
            type(known) is type(piece)
            and type(piece) in (str, bytes, list)
            and key not in _COMPLETE
        ):
            fields[key] = known + piece
        elif piece is not None and (piece != "" or known is None):
            fields[key] = piece


def replace(fields: Param, later: Param) -> None:
    """Replace values by later ones; ``None`` changes nothing."""
    fields |= {key: value for key, value in later.items() if value is not None}


def add_parts(message: Param, content: object) -> None:
    """Add a piece of content, a text or a list of parts, to a message.

    The content is a text as long as all pieces are texts. Otherwise it is a list in which
    neighbours of one type are one part.
    """
    known = message.get("content")
    if is_list(content) or is_list(known):
        message["content"] = _joined_parts([*_as_parts(known), *_as_parts(content)])
    else:
        merge(message, {"content": content})


def _as_parts(content: object) -> list[object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [*items(content or (), "content")]


_GOING_ON = ("text", "thinking")
"""The types of parts that come in pieces; each has its text, or its parts, under its type."""


def _joined_parts(parts: list[object]) -> list[object]:
    """Return parts with neighbouring pieces of one text, or of one thought, as one part."""
    joined: list[Any] = []  # Any: JSON
    for part in parts:
        last: Any = joined[-1] if joined else None
        kind = part.get("type") if is_mapping(part) else None
        goes_on = is_mapping(last) and last.get("type") == kind and "signature" not in last
        if not (goes_on and kind in _GOING_ON and is_mapping(part)):
            joined.append(part)
            continue
        longer: Param = dict(last)
        merge(longer, dict(part))
        if is_list(longer.get(kind)):
            longer[kind] = _joined_parts(longer[kind])
        joined[-1] = longer
    return joined


def are_complete(arguments: object) -> bool:
    """Return whether the arguments of a call are a complete JSON object."""
    return not isinstance(arguments, str) or is_mapping(read_json(arguments))


def parse_input(call: Param) -> None:
    """Replace the input of a call, now a complete JSON text, by its object."""
    text = call.get("input")
    value = read_json(text or "{}") if isinstance(text, str) else None
    if is_mapping(value):
        call["input"] = value
