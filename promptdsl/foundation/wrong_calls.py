"""The error for a call with arguments that a public class or function does not take."""

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature

from promptdsl.foundation.errors import OptionError, nearest

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_FIRST = ("self", "cls", "_cls")
"""The names of first parameters that no caller gives; ``_cls`` is that of named tuples."""


def wrong_call(
    function: Callable[..., object],
    name: str,
    arguments: Sequence[object],
    options: Mapping[str, object],
) -> OptionError:
    """Return the error for arguments that Python refused to give to a function.

    ``name`` is what the author called, by default the name of the function. The error names the
    first unknown option; else the required arguments that are missing; else the number of arguments
    by position.
    """
    parameters = [*signature(function).parameters.values()]
    name = name or function.__qualname__.removesuffix(".__init__")
    if arguments and parameters and parameters[0].name in _FIRST:
        del parameters[0]
        name = _of_class(name, arguments[0])
        arguments = arguments[1:]
    names = [parameter.name for parameter in parameters]
    kinds = {parameter.kind for parameter in parameters}
    unknown = [option for option in options if option not in names]
    if unknown and Parameter.VAR_KEYWORD not in kinds:
        return OptionError(f"{name}() takes no {unknown[0]!r}", fix=nearest(unknown[0], names))
    problem = _problem(parameters, arguments, options)
    return OptionError(f"{name}() {problem}", fix=f"it takes {name}({_shown(parameters)})")


def _of_class(name: str, first: object) -> str:
    """Return the name of a method with the class that its caller knows, not that of a base."""
    cls = first if isinstance(first, type) else type(first)
    _, dot, method = name.rpartition(".")
    return f"{cls.__name__}.{method}" if dot else name


def _problem(
    parameters: list[Parameter], arguments: Sequence[object], options: Mapping[str, object]
) -> str:
    """Return what is wrong about arguments, apart from unknown options."""
    by_position = [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL]
    filled = [*by_position[: len(arguments)], *options]
    missing = [
        repr(parameter.name)
        for parameter in parameters
        if _is_required(parameter) and parameter.name not in filled
    ]
    if missing:
        return f"needs {', '.join(missing)}"
    twice = [option for option in options if filled.count(option) > 1]
    if twice:
        return f"takes {twice[0]!r} once: it is given by position, too"
    if not by_position:
        return "takes no arguments by position"
    most = "1 argument" if len(by_position) == 1 else f"at most {len(by_position)} arguments"
    return f"takes {most} by position, not {len(arguments)}"


def _is_required(parameter: Parameter) -> bool:
    """Return whether a caller has to give an argument."""
    takes_one = parameter.kind in (*_POSITIONAL, Parameter.KEYWORD_ONLY)
    return takes_one and parameter.default is Parameter.empty


def _shown(parameters: list[Parameter]) -> str:
    """Return parameters as an error shows them; those that may be left out end in ``=...``."""
    shown: list[str] = []
    for parameter in parameters:
        if parameter.kind is Parameter.VAR_POSITIONAL:
            continue
        if parameter.kind is Parameter.VAR_KEYWORD:
            shown.append("...")
        elif parameter.kind in _POSITIONAL and parameter.default is Parameter.empty:
            shown.append(parameter.name)
        else:
            shown.append(f"{parameter.name}=...")
    return ", ".join(shown)
