"""The tools that can be run, by name: their functions, and what checks their arguments."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

import attrs

from promptdsl.components.function_schemas import Arguments, signature_of, takes_call
from promptdsl.components.tool_definitions import Output, Tool
from promptdsl.foundation.errors import OptionError, PromptError, shown, with_article
from promptdsl.foundation.frozen import EMPTY, is_mapping
from promptdsl.foundation.json import JsonObject
from promptdsl.foundation.source import author
from promptdsl.messages.field_checks import kind_of

Function: TypeAlias = Callable[..., object]
Tools: TypeAlias = Iterable[object] | Mapping[str, object]
"""Functions and tools, or functions by name. mypy takes a list of two functions for one of objects,
so what is in it is checked when it is given."""


@attrs.frozen
class RunnableTool:
    """The function of a tool, with what it is called with."""

    name: str
    function: Function
    arguments: Arguments | None
    """What checks the arguments; ``None`` for a function that gets them unchecked."""
    schema: JsonObject
    call_parameters: tuple[str, ...]
    """The parameters that get the call itself."""
    is_async: bool


@attrs.frozen
class Toolbox:
    """The tools that can be run, and the names of answers that the model gives by a call."""

    tools: Mapping[str, RunnableTool]
    answers: frozenset[str]


def toolbox_of(tools: object) -> Toolbox:
    """Return the tools of a list of functions, or of a mapping of names to functions.

    Raises :class:`OptionError` for a tool that cannot be run, and for two of one name.
    """
    if is_mapping(tools):
        named = {name: _unchecked_tool(name, function) for name, function in tools.items()}
        return Toolbox(named, frozenset())
    if isinstance(tools, str | Tool | Output) or not isinstance(tools, Iterable):
        fix = "give a list of functions and Tools, or a mapping of names to functions"
        raise OptionError(f"{with_article(kind_of(tools))} is no list of tools", fix=fix)
    runnable: dict[str, RunnableTool] = {}
    answers: set[str] = set()
    for entry in cast("Iterable[object]", tools):
        if isinstance(entry, Output):
            answers.add(entry.schema.name)
            continue
        tool = _checked_tool(entry)
        if tool.name in runnable:
            fix = 'give one of them another name: Tool(function, name="...")'
            raise OptionError(f"two tools are named {tool.name!r}", fix=fix)
        runnable[tool.name] = tool
    return Toolbox(runnable, frozenset(answers))


def _checked_tool(entry: object) -> RunnableTool:
    """Return the tool of a function or a :class:`Tool`, whose arguments are checked."""
    name, function = None, entry
    if isinstance(entry, Tool):
        name, function = entry.definition.name, getattr(entry, "function", None)
        if function is None:
            fix = "write Tool(function), or run it by a mapping of names to functions"
            lines = (author(), entry.source)
            raise OptionError(f"the tool {name!r} has no function", fix=fix, at=lines)
    if not callable(function):
        fix = "give functions, or Tools that were made of functions"
        raise OptionError(f"{kind_of(entry)} is no tool that can be run", fix=fix)
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
    """Return the tool of a function in a mapping, which gets its arguments as they came."""
    if not isinstance(name, str) or not callable(function) or isinstance(function, Tool):
        fix = 'write {"search": search}; a list takes functions and Tools'
        raise OptionError(f"{shown(name)}: {kind_of(function)} is no function", fix=fix)
    parameters = _call_parameters(function)
    return RunnableTool(name, function, None, EMPTY, parameters, _is_async(function))


def _call_parameters(function: Function) -> tuple[str, ...]:
    """Return the names of the parameters that get the call itself."""
    try:
        parameters = inspect.signature(function, eval_str=True).parameters
    except Exception:  # an annotation may be any code; a function of C may have no signature
        return ()
    return tuple(name for name, kind in parameters.items() if takes_call(kind.annotation))


def _is_async(function: Any) -> bool:  # Any: whatever can be called
    """Return whether a function, or the ``__call__`` of an object, is an ``async def``."""
    inner = getattr(function, "func", function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(
        getattr(inner, "__call__", None)  # noqa: B004 (the method itself is looked at)
    )
