"""The reply of a stream so far, in the format of a complete response.

:class:`Reading` makes one :class:`StreamedReply` for a stream. The provider's ``add_event`` adds
each event to it, with the functions below. A delta is the piece of a part that one event contains.
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
"""The keys whose texts are complete in one event. Some servers repeat them in every event."""


class StreamedReply:
    """A response, its parts (blocks or items) by index, and whether it has ended.

    The reader of Chat uses the three fields of calls instead of ``parts``, because some servers
    send no index with a call, or use an index again for the next call.
    """

    def __init__(self) -> None:
        self.response: JsonDict = {}
        self.parts: dict[int, JsonDict] = {}
        self.calls: list[JsonDict] = []
        """The calls of Chat, in the order in which they began."""
        self.last_call_by_index: dict[int | None, JsonDict] = {}
        """By an index, the last call with this index; by ``None`` the last call that began."""
        self.call_by_id: dict[str, JsonDict] = {}
        """The calls in ``calls`` by their id."""
        self.ended = False

    def part(self, index: object) -> JsonDict:
        """Return the part with an index, a new part if there is none."""
        return self.parts.setdefault(index_of(index), {})


def texts_in(parts: Iterable[object], *kinds: str | None) -> list[str]:
    """Return the texts of the parts with these types, ``None`` for parts without a type."""
    texts = (part.get("text") for part in parts if is_mapping(part) and part.get("type") in kinds)
    return [text for text in texts if isinstance(text, str)]


def index_of(index: object) -> int:
    """Return the index of a part; raises :class:`DataError` if it is not an integer."""
    if type(index) is int:
        return index
    raise DataError(f"the index of a part must be an integer, not {type(index).__name__}")


def merge(fields: JsonDict, delta: JsonDict) -> None:
    """Add a delta to fields: append texts, bytes and lists, merge mappings, replace other values.

    ``None`` changes nothing. An empty text changes nothing either, unless the key is new. The delta
    itself stays unchanged.
    """
    for key, piece in delta.items():
        value: Any = fields.get(key)  # Any: JSON
        if is_mapping(piece):
            # Copy the mapping, because an earlier event may contain it, which stays unchanged.
            fields[key] = dict(value) if is_mapping(value) else {}
            merge(fields[key], dict(piece))
        elif (
            type(value) is type(piece)
            and type(piece) in (str, bytes, list)
            and key not in _COMPLETE
        ):
            fields[key] = value + piece
        elif piece is not None and (piece != "" or value is None):
            fields[key] = piece


def replace(fields: JsonDict, later: JsonDict) -> None:
    """Replace values by later values; ``None`` changes nothing.

    It is for fields that are complete in each event, whose texts :func:`merge` would append.
    """
    fields.update({key: value for key, value in later.items() if value is not None})


def add_parts(message: JsonDict, content: object) -> None:
    """Add a piece of content, a text or a list of parts, to a message.

    The content is a text as long as all pieces are texts. Otherwise it is a list. In the list, the
    pieces of one text, or of one reasoning, are one part.
    """
    content_so_far = message.get("content")
    if is_list(content) or is_list(content_so_far):
        message["content"] = _joined_parts([*_as_parts(content_so_far), *_as_parts(content)])
    else:
        merge(message, {"content": content})


def _as_parts(content: object) -> list[object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [*items(content or (), "content")]


_IN_PIECES = ("text", "thinking")
"""The types of parts that come in pieces.

Each part has its text, or a list of parts, under its type: ``{"type": "text", "text": "Hel"}`` or
``{"type": "thinking", "thinking": [{"type": "text", "text": "So"}]}``.
"""


def _joined_parts(parts: list[object]) -> list[object]:
    """Return parts in which neighbouring pieces of one text, or of one reasoning, are one part."""
    joined: list[Any] = []  # Any: JSON
    for part in parts:
        last: Any = joined[-1] if joined else None
        kind = part.get("type") if is_mapping(part) else None
        # A signature ends reasoning: the next piece begins the next reasoning.
        is_open = is_mapping(last) and last.get("type") == kind and "signature" not in last
        if not (is_open and kind in _IN_PIECES and is_mapping(part)):
            joined.append(part)
            continue
        longer_part: JsonDict = dict(last)
        merge(longer_part, dict(part))
        if is_list(longer_part.get(kind)):
            longer_part[kind] = _joined_parts(longer_part[kind])
        joined[-1] = longer_part
    return joined


def are_complete(arguments: object) -> bool:
    """Return whether the arguments of a call are complete.

    A text is complete if it is a JSON object. Any other value, such as a mapping, is complete. If
    more arguments come with the index of a complete call, they belong to a new call.
    """
    return not isinstance(arguments, str) or is_mapping(read_json(arguments))


def parse_input(call: JsonDict) -> None:
    """Replace the input of a call by an object, if the input is the JSON text of an object.

    An empty text means a call without arguments: the object is empty.
    """
    text = call.get("input")
    value = read_json(text or "{}") if isinstance(text, str) else None
    if is_mapping(value):
        call["input"] = value
