"""The tools that can be run, by name: their functions and the checks of their arguments."""

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
"""Functions and tools, or functions by name.

For mypy a list of two functions is a list of ``object``, so its items are checked at run time.
"""


@attrs.frozen
class RunnableTool:
    """A tool that can be run: its function, and how the function is called."""

    name: str
    function: Function
    arguments: Arguments | None
    """The check of the arguments; ``None`` if they are not checked."""
    schema: JsonObject
    call_parameters: tuple[str, ...]
    """The parameters that get the call itself."""
    is_async: bool


@attrs.frozen
class Toolbox:
    """The tools that can be run, and the names of calls that are the model's answer itself."""

    tools: Mapping[str, RunnableTool]
    answers: frozenset[str]


def toolbox_of(tools: object) -> Toolbox:
    """Return the tools of a list of functions, or of a mapping of names to functions.

    Raises :class:`OptionError` for a tool that cannot be run, and for two tools with the same name.
    """
    if is_mapping(tools):
        named = {name: _unchecked_tool(name, function) for name, function in tools.items()}
        return Toolbox(named, frozenset())
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
    return tuple(name for name, kind in parameters.items() if takes_call(kind.annotation))


def _is_async(function: Any) -> bool:  # Any: whatever can be called
    """Return whether a function, or the ``__call__`` of an object, is an ``async def``."""
    inner = getattr(function, "func", function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(
        getattr(inner, "__call__", None)  # noqa: B004 (the method itself is needed)
    )
