"""The arguments of a call that were streamed in pieces (``PartialArg`` of Google's SDK)."""

import re
from collections.abc import Iterable
from typing import Any, TypeAlias, cast

from promptdsl.foundation.errors import DataError
from promptdsl.providers.gemini.spelling import entries_of

_STEP = re.compile(r"""\.(\w+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]""")
_PATH = re.compile(rf"\$(?:{_STEP.pattern})+")
_VALUES = ("string_value", "number_value", "bool_value", "null_value")


Tree: TypeAlias = dict[str | int, Any]  # Any: JSON
"""Objects, and lists by the numbers of their items."""


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
        value: Any = None if kind == "null_value" else piece[kind]
        known = values.get(steps)
        if isinstance(known, str) and isinstance(value, str):
            value = known + value
        values[steps] = value
    tree: Tree = {}
    for (*around, last), value in values.items():
        entries = tree
        for step in around:
            inner: object = entries.setdefault(step, {})
            if not isinstance(inner, dict):
                raise DataError(f"'json_path': a value has no {last!r}")
            entries = cast("Tree", inner)
        entries[last] = value
    arguments: dict[str, Any] = _with_lists(tree)
    return arguments


def _steps(path: object) -> tuple[str | int, ...]:
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        raise DataError(f"'json_path' is a path such as '$.city', not {path!r}")
    found = _STEP.findall(path)
    return tuple(int(number) if number else name or a or b for name, number, a, b in found)


def _with_lists(tree: Tree) -> Any:
    """Return objects whose keys are all numbers as lists."""
    inner: list[Any] = [*tree.values()]
    values: list[Any] = [_with_lists(it) if isinstance(it, dict) else it for it in inner]
    if tree and all(isinstance(key, int) for key in tree):
        return values
    return dict(zip(tree, values, strict=True))
