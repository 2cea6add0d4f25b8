"""The tools that can be run, by name, and the check of the arguments of a call."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

import attrs

from promptdsl.components.schemas import Arguments, signature_of, takes_call
from promptdsl.components.tool_definitions import Output, Tool
from promptdsl.foundation.errors import OptionError, PromptError, ToolError, shown, with_article
from promptdsl.foundation.frozen import EMPTY, is_list, is_mapping
from promptdsl.foundation.json import JsonObject, JsonValue, write_json
from promptdsl.foundation.source import author
from promptdsl.messages import ToolUseBlock
from promptdsl.messages.field_checks import kind_of
from promptdsl.messages.schemas import resolved

# The tools that can be run, by name: their functions and what the functions take.

Function: TypeAlias = Callable[..., object]
Tools: TypeAlias = Iterable[object] | Mapping[str, object]
"""Functions and tools, or functions by name.

For mypy, a list of two functions is a list of ``object``, so the items are checked at run time.
"""


@attrs.frozen
class RunnableTool:
    """A tool that can be run: its function, and how the function is called."""

    name: str
    function: Function
    arguments: Arguments | None
    """The check of the arguments, ``None`` if there is none."""
    schema: JsonObject
    call_parameters: tuple[str, ...]
    """The parameters that get the call itself."""
    is_async: bool


@attrs.frozen
class Toolbox:
    """The tools that can be run by name, and the names of the calls that are the answer itself."""

    tools: Mapping[str, RunnableTool]
    answers: frozenset[str]


def toolbox_of(tools: object) -> Toolbox:
    """Return the tools of a list of functions, or of a mapping of names to functions.

    Raises :class:`OptionError` for a tool that cannot be run, and for two tools with the same name.
    """
    if is_mapping(tools):
        tools_by_name = {name: _unchecked_tool(name, function) for name, function in tools.items()}
        return Toolbox(tools_by_name, frozenset())
    if isinstance(tools, str | Tool | Output) or not isinstance(tools, Iterable):
        fix = "give a list of functions and Tools, or a mapping of names to functions"
        raise OptionError(f"{with_article(kind_of(tools))} is not a list of tools", fix=fix)
    runnable: dict[str, RunnableTool] = {}
    answers: set[str] = set()
    for candidate in cast("Iterable[object]", tools):
        if isinstance(candidate, Output):
            answers.add(candidate.schema.name)
            continue
        tool = _checked_tool(candidate)
        if tool.name in runnable:
            fix = 'give one of them another name: Tool(function, name="...")'
            raise OptionError(f"two tools are named {tool.name!r}", fix=fix)
        runnable[tool.name] = tool
    return Toolbox(runnable, frozenset(answers))


def _checked_tool(candidate: object) -> RunnableTool:
    """Return the tool for a function or a :class:`Tool`. Its arguments are checked."""
    name, function = None, candidate
    if isinstance(candidate, Tool):
        name, function = candidate.definition.name, getattr(candidate, "function", None)
        if function is None:
            fix = f"write Tool(function), or give a mapping: {{{name!r}: function}}"
            lines = (author(), candidate.source)
            raise OptionError(f"the tool {name!r} has no function", fix=fix, at=lines)
    if not callable(function):
        fix = "give functions, or tools of functions: Tool(function)"
        raise OptionError(f"{kind_of(candidate)} is not a tool that can be run", fix=fix)
    try:
        signature = signature_of(function)
    except PromptError as error:
        raise OptionError(error.what, fix=error.fix, at=(author(), *error.at)) from None
    if name is None and signature.name == "<lambda>":
        raise OptionError("a lambda has no name", fix='write Tool(function, name="search")')
    return RunnableTool(
        name or signature.name,
        function,
        signature.arguments,
        signature.input_schema,
        _call_parameters(function),
        _is_async(function),
    )


def _unchecked_tool(name: object, function: object) -> RunnableTool:
    """Return the tool for a function in a mapping. Its arguments are not checked."""
    if not isinstance(name, str) or not callable(function) or isinstance(function, Tool):
        fix = 'write {"search": search}; a list takes functions and Tools'
        raise OptionError(f"{shown(name)}: {kind_of(function)} is not a function", fix=fix)
    parameters = _call_parameters(function)
    return RunnableTool(name, function, None, EMPTY, parameters, _is_async(function))


def _call_parameters(function: Function) -> tuple[str, ...]:
    """Return the names of the parameters that get the call itself."""
    try:
        parameters = inspect.signature(function, eval_str=True).parameters
    except Exception:  # an annotation may be any code; a function in C may have no signature
        return ()
    return tuple(name for name, parameter in parameters.items() if takes_call(parameter.annotation))


def _is_async(function: Any) -> bool:  # Any: whatever can be called
    """Return whether a function, or the ``__call__`` of an object, is an ``async def``."""
    inner = getattr(function, "func", function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(
        getattr(inner, "__call__", None)  # noqa: B004 (the method itself is needed)
    )


# Check the arguments of a call, and make the text that a model reads about wrong arguments.
#
# The text names parameters and the types that they expect. It repeats nothing that the model wrote.

_MAX_PROBLEMS = 10
"""The maximum number of problems in the text: a model may write thousands of wrong arguments."""
_NO_CONSTRAINTS = ("type", "title", "description", "default", "const", "contentMediaType")
"""The keys of a schema that the text does not show as constraints of a value."""
# Types of errors of pydantic: a name that the tool does not have, a missing argument, and an
# argument that code of the author refused.
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
        # A preset value may be any object, so it cannot be checked as JSON.
        if arguments.preset and arguments.is_model:
            checked = arguments.adapter.validate_python({**arguments.preset, **accepted})
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
    hidden_count = len(problems) - _MAX_PROBLEMS
    lines = ["the arguments do not fit:", *dict.fromkeys(problems[:_MAX_PROBLEMS])]
    if hidden_count > 0:
        lines.append(f"and {hidden_count} more")
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
    """Return the path of a location as far as the schema has it, and the schema at its end.

    The path ends before a key that the model made up, and where a value may have several types.
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
    """Return in a few words the values that a schema accepts."""
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
