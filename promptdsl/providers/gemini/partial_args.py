"""Read the arguments of a call that were streamed in pieces (``PartialArg`` of the SDK)."""

import re
from collections.abc import Iterable
from typing import Any, TypeAlias, cast

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.json import LEVELS, too_deep
from promptdsl.providers.gemini.spelling import fields_of
from promptdsl.providers.shared.checks import mapping

_STEP = re.compile(r"""\.(\w+)|\[(\d{1,9})\]|\[["']([^"']*)["']\]""")
_PATH = re.compile(rf"\$(?:{_STEP.pattern})+")
_VALUES = ("string_value", "number_value", "bool_value", "null_value")
_SPELLED = {key.replace("_", "") for key in _VALUES}


Steps: TypeAlias = tuple[str | int, ...]
Tree: TypeAlias = dict[str | int, Any]  # Any: JSON
"""Objects, and lists as dictionaries by index."""


def joined_args(pieces: Iterable[object]) -> dict[str, Any]:  # Any: JSON
    """Return the arguments that pieces make. Each piece has a value and its JSON path.

    Texts of one path are joined. Raises :class:`DataError` for a path that is not supported, and
    for two pieces of one path that are not texts.
    """
    values: dict[Steps, Any] = {}  # Any: JSON
    for piece in map(fields_of, map(_with_null, pieces)):
        kind = next((key for key in _VALUES if key in piece), None)
        if kind is None:
            continue
        steps = _steps(piece.get("json_path"))
        value: Any = None if kind == "null_value" else piece[kind]
        if steps not in values:
            values[steps] = value
        elif isinstance(values[steps], str) and isinstance(value, str):
            values[steps] += value
        else:
            raise DataError("'json_path': only a text may come in several pieces")
    tree: Tree = {}
    for (*around, last), value in values.items():
        fields = tree
        for step in around:
            inner: object = fields.setdefault(step, {})
            if not isinstance(inner, dict):
                raise DataError(f"'json_path': a value has no {last!r}")
            fields = cast("Tree", inner)
        if last in fields:
            raise DataError(f"'json_path': {last!r} has a value already")
        fields[last] = value
    arguments: object = _with_lists(tree)
    if not isinstance(arguments, dict):
        raise DataError("'json_path': arguments are an object, not a list")
    return cast("dict[str, Any]", arguments)


def _with_null(piece: object) -> object:
    """Return a piece in which a null of JSON is replaced by its name in Google's SDK."""
    fields = mapping(piece)
    # A dump of the SDK has the keys of all values.
    values = {key for key in fields if str(key).lower().replace("_", "") in _SPELLED}
    if values and values <= {"nullValue", "null_value"}:
        return {**fields, "null_value": "NULL_VALUE"}
    return fields


def _steps(path: object) -> Steps:
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        raise DataError(f"'json_path' is a path such as '$.city', not {str(path)[:60]!r}")
    steps = _STEP.findall(path)
    if len(steps) > LEVELS:
        raise too_deep("partial_args")
    return tuple(int(number) if number else name or quoted for name, number, quoted in steps)


def _with_lists(tree: Tree) -> Any:
    """Return data in which objects with numbers as keys are replaced by lists."""
    inner: Tree = {}
    for key, value in tree.items():
        inner[key] = _with_lists(cast("Tree", value)) if isinstance(value, dict) else value
    numbers = [key for key in inner if isinstance(key, int)]
    if not numbers:
        return inner
    if len(numbers) < len(inner):
        raise DataError("'json_path': one value has both numbers and names as keys")
    return [inner[number] for number in sorted(numbers)]
