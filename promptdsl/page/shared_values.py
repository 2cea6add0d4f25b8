"""Equal values of JSON data once: requests of an agent have most messages, spans and rows alike."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from promptdsl.foundation.frozen import is_list, is_mapping

MARK = "~"
"""The beginning of a reference: ``"~7"`` is value 7. A text that begins with it has it twice."""
LONG = 40
"""From how many characters of JSON on a value is written once."""


NUMBER = "~n"
"""The beginning of a number that JavaScript would change, such as 1.0 or a large integer."""


def _is_exact(number: float) -> bool:
    """Return whether JavaScript writes a number as Python does."""
    return abs(number) < 2**53 if isinstance(number, int) else not number.is_integer()


class SharedValues:
    """A list of values, each once, and the references to them.

    >>> shared = SharedValues()
    >>> shared.of({"text": "a" * 50, "also": "a" * 50, "short": "~"})
    '~1'
    >>> shared.values[1]
    {'text': '~0', 'also': '~0', 'short': '~~'}
    """

    def __init__(self) -> None:
        self.values: list[object] = []
        self._numbers: dict[str, int] = {}
        """The number of each value, by its JSON text."""
        self._known: dict[int, tuple[object, object]] = {}
        """Each object that was seen, by its id, and what stands for it."""

    def of(self, value: Any) -> Any:  # Any: JSON data, or bytes
        """Return what stands for a value: a reference if it is long, else the value."""
        if isinstance(value, bytes | bytearray):
            value = base64.b64encode(value).decode()
        if isinstance(value, str):
            return self._reference(f"{MARK}{value}" if value.startswith(MARK) else value)
        if isinstance(value, int | float) and not _is_exact(value):
            return f"{NUMBER}{json.dumps(value)}"
        if not (is_mapping(value) or is_list(value)):
            return value
        known = self._known.get(id(value))
        if known is None:
            known = (value, self._reference(self._with_references(value)))
            self._known[id(value)] = known  # it keeps the object, so that its id stays its own
        return known[1]

    def _with_references(self, value: Any) -> object:
        if is_mapping(value):
            pairs: Mapping[str, object] = value
            return {str(key): self.of(item) for key, item in pairs.items()}
        return [self.of(item) for item in value]

    def _reference(self, value: object) -> object:
        text = json.dumps(value, separators=(",", ":"))
        if len(text) < LONG:
            return value
        if text not in self._numbers:
            self._numbers[text] = len(self.values)
            self.values.append(value)
        return f"{MARK}{self._numbers[text]}"
