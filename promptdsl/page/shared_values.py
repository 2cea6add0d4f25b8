"""Equal values of JSON data once: requests of an agent have most messages, spans and rows alike."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from promptdsl.foundation.frozen import is_list, is_mapping

MARK = "~"
"""The beginning of a reference: ``"~7"`` is value 7. A text that begins with it has it twice."""
NUMBER = "~n"
"""The beginning of a number that JavaScript would write otherwise, such as 1.0 or 1e-05."""
TEXT = "~t"
"""The beginning of a text in parts: ``"~t7"`` is all texts of list 7, one after the other."""
OBJECT = "~o"
"""The beginning of an object with keys that JavaScript would move: ``"~o7"`` has the keys and
values of list 7, which begins with the list of the keys."""
LONG = 40
"""From how many characters of its ``repr`` on a value is written once."""
EXACT = 2**53
"""From this integer on JavaScript rounds."""
PART = 500
"""From how many characters on a part of a long text ends with its line."""
_MOVED = re.compile(r"(?:0|[1-9][0-9]{0,9})\Z")
"""A key that JavaScript takes for an index: it stands before the other keys."""


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
        """The number of each value, by its ``repr``, in which 1, 1.0 and True differ."""
        self._texts: dict[str, object] = {}
        """What stands for each long text."""
        self._known: dict[int, tuple[object, object]] = {}
        """Each object that was seen, by its id, and what stands for it."""

    def of(self, value: Any) -> Any:  # Any: JSON data, or bytes
        """Return what stands for a value: a reference if it is long, else the value."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int | float):
            return value if _is_exact(value) else f"{NUMBER}{json.dumps(value)}"
        if isinstance(value, bytes | bytearray):
            return self._text(base64.b64encode(value).decode())
        if not (is_mapping(value) or is_list(value)):
            return value
        known = self._known.get(id(value))
        if known is None:
            known = (value, self._container(value))
            self._known[id(value)] = known  # it keeps the object, so that its id stays its own
        return known[1]

    def parts(self, row: Mapping[str, Any]) -> dict[str, object]:  # Any: JSON data
        """Return an object whose values are what stands for each; its objects may then end."""
        parts = {key: self.of(value) for key, value in row.items()}
        self._known.clear()
        return parts

    def _text(self, text: str) -> object:
        if len(text) + 2 < LONG:
            return _escaped(text)
        if text not in self._texts:
            parts = [*_lines(text)] if len(text) > 2 * PART else [text]
            if len(parts) > 1:
                number = self._number([self._text(part) for part in parts])
                self._texts[text] = f"{TEXT}{number}"
            else:
                self._texts[text] = f"{MARK}{self._number(_escaped(text))}"
        return self._texts[text]

    def _container(self, value: Any) -> object:
        if not is_mapping(value):
            return self._reference([self.of(part) for part in value])
        pairs: Mapping[str, object] = value
        row = {str(key): self.of(part) for key, part in pairs.items()}
        if any(key[:1].isdigit() and _MOVED.match(key) for key in row):
            return f"{OBJECT}{self._number([[*row], *row.values()])}"
        return self._reference(row)

    def _reference(self, value: object) -> object:
        text = repr(value)
        return value if len(text) < LONG else f"{MARK}{self._number(value, text)}"

    def _number(self, value: object, text: str | None = None) -> int:
        """Return the number of a value, which is added if it is new."""
        key = repr(value) if text is None else text
        number = self._numbers.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


def _escaped(text: str) -> str:
    return f"{MARK}{text}" if text.startswith(MARK) else text


def _is_exact(number: float) -> bool:
    """Return whether JavaScript writes a number as Python does."""
    if isinstance(number, int):
        return -EXACT < number < EXACT
    return isfinite(number) and not number.is_integer() and "e" not in repr(number)


def _lines(text: str) -> Iterator[str]:
    """Yield the parts of a text: lines of together 500 characters or more, but for the last."""
    start = 0
    while len(text) - start > PART:
        end = text.find("\n", start + PART) + 1
        if end == 0:
            break
        yield text[start:end]
        start = end
    if text[start:]:
        yield text[start:]
