"""The reply of a stream so far: what its events said, in the form of a whole response."""

import attrs

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.json import read_json
from promptdsl.providers.shared.request import Param, new_dict

_SET_ONCE = {"id", "toolUseId", "name", "type", "status", "finish_reason", "stop_reason"}
"""Keys whose values come whole, and with some servers again in every event."""


@attrs.define(eq=False)
class StreamedReply:
    """The keys of a response, and its parts by number: blocks, items or calls."""

    response: Param = attrs.field(factory=new_dict)
    parts: dict[int, Param] = attrs.field(factory=dict[int, Param])
    open: set[int] = attrs.field(factory=set[int])
    """The numbers of the parts that did not end yet."""
    ended: bool = False
    """Whether the provider said why the model stopped."""

    def part(self, number: object) -> Param:
        """Return the part with a number; a new one is empty and open."""
        if type(number) is not int:
            raise DataError(f"the number of a part is an integer, not {type(number).__name__}")
        if number not in self.parts:
            self.parts[number] = {}
            self.open.add(number)
        return self.parts[number]

    def call_input(self, number: int, text: object) -> object:
        """Return the input of a call, made of its JSON text; a text that is cut stays a text."""
        value = (
            read_json(text or ("" if number in self.open else "{}"))
            if isinstance(text, str)
            else text
        )
        return value if is_mapping(value) else text


def merge(entries: Param, delta: Param) -> None:
    """Continue the texts, the bytes and the lists of entries, at any depth; set other values.

    ``None`` changes nothing. No container of the delta is changed later.
    """
    for key, piece in delta.items():
        known = entries.get(key)
        if is_mapping(piece):
            entries[key] = known if type(known) is dict else {}
            merge(entries[key], dict(piece))
        elif (
            isinstance(piece, str | bytes | list)
            and type(known) is type(piece)
            and key not in _SET_ONCE
        ):
            entries[key] = known + piece
        elif piece is not None:
            entries[key] = piece


def several_answers() -> DataError:
    """Return the error for a stream of several answers to one request."""
    return DataError(
        "the stream has several answers to one request",
        fix="ask for one: n=1, for Gemini candidate_count=1",
    )
