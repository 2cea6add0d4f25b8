"""The reply of a stream so far, in the format of a complete response.

A reader of a provider makes one :class:`StreamedReply` for a stream, and adds each event to it with
the functions below. A delta is the piece of a part that one event contains.
"""

from collections.abc import Iterable
from typing import Any

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.json import JsonDict, read_json
from promptdsl.providers.shared.reading import items

_COMPLETE = {
    "id",
    "toolUseId",
    "name",
    "type",
    "finish_reason",
    "stop_reason",
    "model",
    "model_version",
    "response_id",
}
"""Keys whose texts are complete in one event; some servers repeat them in every event."""


class StreamedReply:
    """A response, its parts (blocks or items) by number, and whether it has ended.

    The reader of Chat uses the three fields of calls instead of ``parts``, because some servers
    send no number with a call, or use a number again for the next call.
    """

    def __init__(self) -> None:
        self.response: JsonDict = {}
        self.parts: dict[int, JsonDict] = {}
        self.calls: list[JsonDict] = []
        """The calls of Chat, in the order in which they began."""
        self.last_call_by_number: dict[int | None, JsonDict] = {}
        """By the number of a call, the last call with it; by ``None`` the last one that began."""
        self.call_by_id: dict[str, JsonDict] = {}
        """By its id, each call in ``calls``."""
        self.ended = False

    def part(self, number: object) -> JsonDict:
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


def merge(fields: JsonDict, delta: JsonDict) -> None:
    """Add a delta: texts, bytes and lists are appended, mappings merged, other values replaced.

    ``None`` changes nothing; an empty text neither, unless the key is new. The delta itself is not
    changed.
    """
    for key, piece in delta.items():
        known: Any = fields.get(key)  # Any: JSON
        if is_mapping(piece):
            # A copy: the known mapping may be that of an earlier event, which stays unchanged.
            fields[key] = dict(known) if is_mapping(known) else {}
            merge(fields[key], dict(piece))
        elif (
            type(known) is type(piece)
            and type(piece) in (str, bytes, list)
            and key not in _COMPLETE
        ):
            fields[key] = known + piece
        elif piece is not None and (piece != "" or known is None):
            fields[key] = piece


def replace(fields: JsonDict, later: JsonDict) -> None:
    """Replace values by later ones; ``None`` changes nothing.

    It is for fields that are complete in each event: their texts and lists are no pieces, but
    :func:`merge` would append them.
    """
    fields.update({key: value for key, value in later.items() if value is not None})


def add_parts(message: JsonDict, content: object) -> None:
    """Add a piece of content, a text or a list of parts, to a message.

    The content is a text as long as all pieces are texts. Otherwise it is a list in which
    the pieces of one text, or of one thought, are one part.
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


_IN_PIECES = ("text", "thinking")
"""The types of parts that come in pieces.

Each has its text, or a list of parts, under its type: ``{"type": "text", "text": "Hel"}`` or
``{"type": "thinking", "thinking": [{"type": "text", "text": "So"}]}``.
"""


def _joined_parts(parts: list[object]) -> list[object]:
    """Return parts with neighbouring pieces of one text, or of one thought, as one part."""
    joined: list[Any] = []  # Any: JSON
    for part in parts:
        last: Any = joined[-1] if joined else None
        kind = part.get("type") if is_mapping(part) else None
        # A signature ends a thought: what follows is the next thought.
        is_open = is_mapping(last) and last.get("type") == kind and "signature" not in last
        if not (is_open and kind in _IN_PIECES and is_mapping(part)):
            joined.append(part)
            continue
        longer: JsonDict = dict(last)
        merge(longer, dict(part))
        if is_list(longer.get(kind)):
            longer[kind] = _joined_parts(longer[kind])
        joined[-1] = longer
    return joined


def are_complete(arguments: object) -> bool:
    """Return whether the arguments of a call are complete.

    A text is complete if it is a JSON object. Any other value, such as a mapping, is complete. If
    more arguments come with the number of a complete call, they belong to a new call.
    """
    return not isinstance(arguments, str) or is_mapping(read_json(arguments))


def parse_input(call: JsonDict) -> None:
    """Replace the input of a call by its object, if it is the complete JSON text of one.

    An empty text is a call without arguments: its object is empty.
    """
    text = call.get("input")
    value = read_json(text or "{}") if isinstance(text, str) else None
    if is_mapping(value):
        call["input"] = value
