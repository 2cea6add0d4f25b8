"""The arguments of a call that were streamed in pieces (``PartialArg`` of Google's SDK)."""

import re
from collections.abc import Iterable
from typing import Any

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.json import JsonValue
from promptdsl.providers.gemini.spelling import entries_of

_STEP = re.compile(r"""\.(\w+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]""")
_PATH = re.compile(rf"\$(?:{_STEP.pattern})+")
_VALUES = ("string_value", "number_value", "bool_value", "null_value")


def whole_args(pieces: Iterable[object]) -> dict[str, Any]:  # Any: JSON
    """Return the arguments that pieces make; each has a value, and its JSON path in them.

    A text goes on with the text that is there. Raises :class:`DataError` for another path.
    """
    values: dict[tuple[str | int, ...], Any] = {}  # Any: JSON
    for piece in map(entries_of, pieces):
        kind = next((key for key in _VALUES if key in piece), None)
        if kind is None:
            continue
        steps = _steps(piece.get("json_path"))
        value: JsonValue = None if kind == "null_value" else piece[kind]
        known = values.get(steps)
        values[steps] = known + value if type(known) is type(value) is str else value
    tree: dict[str | int, Any] = {}
    for (*around, last), value in values.items():
        entries = tree
        for step in around:
            entries = entries.setdefault(step, {})
            if type(entries) is not dict:
                raise DataError(f"'json_path': a value has no {last!r}")
        entries[last] = value
    arguments: dict[str, Any] = _with_lists(tree)
    return arguments


def _steps(path: object) -> tuple[str | int, ...]:
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        raise DataError(f"'json_path' is a path such as '$.city', not {path!r}")
    found = _STEP.findall(path)
    return tuple(int(number) if number else name or a or b for name, number, a, b in found)


def _with_lists(tree: dict[str | int, Any]) -> Any:
    """Return objects whose keys are all numbers as lists."""
    values = [_with_lists(it) if type(it) is dict and it else it for it in tree.values()]
    is_list = all(isinstance(key, int) for key in tree)
    return values if tree and is_list else dict(zip(tree, values, strict=True))
