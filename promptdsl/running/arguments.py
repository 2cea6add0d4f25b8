"""Checking the arguments of a call, and the text that a model reads about wrong ones.

The text names parameters and the types that they expect. It repeats nothing that the model wrote.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from promptdsl.foundation.errors import ToolError
from promptdsl.foundation.frozen import is_list
from promptdsl.foundation.json import JsonObject, JsonValue, write_json
from promptdsl.messages import ToolUseBlock
from promptdsl.messages.schemas import resolved
from promptdsl.running.tools import RunnableTool

_MOST_PROBLEMS = 10
_NO_CONSTRAINTS = ("type", "title", "description", "default", "const", "contentMediaType")
_UNKNOWN_NAME = ("unexpected_keyword_argument", "extra_forbidden")
_MISSING = ("missing", "missing_argument", "missing_keyword_only_argument")
_REFUSED_BY_AUTHOR = ("value_error", "assertion_error")


class BadArgumentsError(Exception):
    """The arguments of a call do not fit. The text of the error is for the model."""


def checked_arguments(tool: RunnableTool, call: ToolUseBlock) -> Any:  # Any: of any types
    """Return the arguments of a call as keywords, or as an instance if the tool is a class.

    Raises :class:`BadArgumentsError` for arguments that do not fit the schema of the tool.
    """
    values = call.input
    if values is None:
        raise BadArgumentsError("the arguments are no JSON object")
    arguments = tool.arguments
    if arguments is None:
        return values
    properties = _properties(tool.schema)
    unknown = () if arguments.is_open else tuple(key for key in values if key not in properties)
    accepted = {arguments.keys.get(key, key): values[key] for key in values if key not in unknown}
    problems = [_unknown_name("the arguments", properties)] if unknown else []
    from pydantic import ValidationError

    checked: object = None
    try:
        if arguments.given and arguments.is_model:
            checked = arguments.adapter.validate_python({**arguments.given, **accepted})
        else:
            checked = arguments.adapter.validate_json(write_json(accepted))
    except ValidationError as error:
        names = {key: name for name, key in arguments.keys.items()}
        for problem in error.errors(include_url=False, include_input=False):
            first, *rest = problem["loc"] or ("",)
            location = (names.get(str(first), str(first)), *rest)
            problems.append(_problem(tool, problem["type"], location, problem.get("ctx", {})))
    if not problems:
        return checked
    more = len(problems) - _MOST_PROBLEMS
    lines = ["the arguments do not fit:", *dict.fromkeys(problems[:_MOST_PROBLEMS])]
    if more > 0:
        lines.append(f"and {more} more")
    raise BadArgumentsError("\n- ".join(lines))


def _problem(
    tool: RunnableTool, kind: str, location: tuple[int | str, ...], context: Mapping[str, object]
) -> str:
    """Return what is wrong with one argument, in words of the schema only."""
    path, schema = _walked(tool.schema, location)
    reason = context.get("error")
    if kind in _REFUSED_BY_AUTHOR and isinstance(reason, ToolError):
        return f"{path or 'the arguments'}: {reason.what}"
    if kind in _UNKNOWN_NAME:
        return _unknown_name(path, _properties(schema))
    if not path:
        return "the arguments cannot be read, or are refused together"
    if kind in _MISSING:
        return f"{path} is missing, expected: {_described(schema, tool.schema)}"
    return f"{path} is not accepted, expected: {_described(schema, tool.schema)}"


def _unknown_name(path: str, properties: Iterable[str]) -> str:
    return f"{path}: a name is unknown, known: {', '.join(properties) or 'none'}"


def _walked(root: JsonObject, location: tuple[int | str, ...]) -> tuple[str, JsonObject]:
    """Return the path of a location as far as the schema has it, and the schema there.

    The path ends at a key that the model chose, or where one of several types was tried.
    """
    path, schema = "", root
    for key in location:
        inner: JsonValue
        if isinstance(key, int):
            inner, step = schema.get("items"), f"[{key}]"
        else:
            inner, step = _properties(schema).get(key), f".{key}"
        if not isinstance(inner, Mapping):
            break
        path, schema = path + step, resolved(inner, root)
    return path.removeprefix("."), schema


def _properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _described(schema: JsonObject, root: JsonObject) -> str:
    """Return in a few words which values a schema accepts."""
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if is_list(choices):
        return f"one of {', '.join(map(write_json, choices))}"
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key)
        if is_list(branches):
            types = [resolved(cast("JsonValue", branch), root) for branch in branches]
            return " or ".join(dict.fromkeys(_described(branch, root) for branch in types))
    kind = schema.get("type", "another value")
    items = schema.get("items")
    if kind == "array" and isinstance(items, Mapping):
        kind = f"array of {resolved(items, root).get('type', 'values')}"
    constraints = [
        f"{key} {value}"
        for key, value in schema.items()
        if isinstance(value, str | int | float) and key not in _NO_CONSTRAINTS
    ]
    return f"{kind} ({', '.join(constraints)})" if constraints else str(kind)
