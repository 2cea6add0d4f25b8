"""The check of a function that overrides another: it has to take the same arguments."""

import inspect
from collections.abc import Mapping, Sequence
from inspect import Parameter
from types import FunctionType
from typing import TypeAlias, TypeGuard

from promptdsl.components.replacements import Function
from promptdsl.foundation.errors import OptionError
from promptdsl.foundation.source import Source

Call: TypeAlias = tuple[Sequence[object], Mapping[str, object]]
"""The arguments of a call: by position, and by name."""


def is_plain(function: object) -> TypeGuard[FunctionType]:
    """Return whether a value is a function, and not asynchronous."""
    return inspect.isfunction(function) and not (
        inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    )


def unfit(
    name: str, original: Function, wrong: tuple[Function, str], at: tuple[Source | None, ...]
) -> OptionError:
    """Return the error for a function that cannot replace a component, with the reason."""
    function, problem = wrong
    return OptionError(
        f"{getattr(function, '__name__', function)} cannot replace {name}: {problem}",
        fix=f"take the same arguments: {name}{inspect.signature(original)}",
        at=at,
    )


def difference(original: Function, function: Function, call: Call | None = None) -> str:
    """Return the reason why ``function`` cannot replace ``original``, or an empty string.

    It has to take the required arguments of ``original``. If there is a ``call``, it has to take
    the arguments of this call. Defaults of ``original`` are not passed on.
    """
    yields = inspect.isgeneratorfunction(original)
    if yields != inspect.isgeneratorfunction(function):
        return "it does not yield" if yields else "it yields"
    wanted = inspect.signature(original).parameters
    passed = [(each.name, each.kind) for each in wanted.values() if each.default is Parameter.empty]
    if call is not None:
        kinds_in_order = (*_BY_POSITION, _SEVERAL[0])
        in_order = [parameter for parameter in wanted.values() if parameter.kind in kinds_in_order]
        passed = [(parameter.name, parameter.kind) for parameter in in_order[: len(call[0])]]
        passed += [(name, Parameter.KEYWORD_ONLY) for name in call[1]]
    taken = inspect.signature(function).parameters.values()
    kinds = {parameter.kind for parameter in taken}
    named = {parameter.name: parameter for parameter in taken if parameter.kind not in _SEVERAL}
    positions = dict(enumerate(each for each in taken if each.kind in _BY_POSITION))
    filled = {name for name, _ in passed}
    for index, (name, kind) in enumerate(passed):
        if kind in _SEVERAL and kind not in kinds:
            return f"it does not take {wanted[name]}"
        if kind in _BY_POSITION:
            at_index = positions.get(index)
            if at_index is None and Parameter.VAR_POSITIONAL not in kinds:
                return f"it does not take {name!r} by position"
            if at_index is not None:
                if at_index.name != name and at_index.name in wanted:
                    return f"it takes {name} where {at_index.name} is expected"
                filled.add(at_index.name)
        if kind in _BY_NAME:
            same = named.get(name)
            if same is None and Parameter.VAR_KEYWORD not in kinds:
                return f"it does not take {name!r} by name"
            if same is not None and same.kind is Parameter.POSITIONAL_ONLY:
                return f"it takes {name!r} by position only"
    missing = [
        name
        for name, parameter in named.items()
        if parameter.default is Parameter.empty and name not in filled
    ]
    return f"it requires {missing[0]!r}" if missing else ""


_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_SEVERAL = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
