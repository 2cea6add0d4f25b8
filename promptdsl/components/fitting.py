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
    taken = inspect.signature(function).parameters
    positions = [parameter for parameter in taken.values() if parameter.kind in _BY_POSITION]
    kinds = {parameter.kind for parameter in taken.values()}
    filled: set[str] = set()
    for index, (name, kind) in enumerate(passed):
        by_position, by_name = kind in _BY_POSITION, kind in _BY_NAME
        same = taken.get(name)
        same = None if same is not None and same.kind in _SEVERAL else same
        at_index = positions[index] if by_position and index < len(positions) else None
        problem = ""
        if kind in _SEVERAL and kind not in kinds:
            problem = f"it does not take {wanted[name]}"
        elif by_position and at_index is None and Parameter.VAR_POSITIONAL not in kinds:
            problem = f"it does not take {name!r} by position"
        elif at_index is not None and at_index.name != name and at_index.name in wanted:
            problem = f"it takes {name} where {at_index.name} is expected"
        elif by_name and same is None and Parameter.VAR_KEYWORD not in kinds:
            problem = f"it does not take {name!r} by name"
        elif by_name and same is not None and same.kind is Parameter.POSITIONAL_ONLY:
            problem = f"it takes {name!r} by position only"
        if problem:
            return problem
        filled |= {other.name for other in (at_index, same) if other is not None}
    missing = [
        parameter.name
        for parameter in taken.values()
        if parameter.kind not in _SEVERAL
        and parameter.default is Parameter.empty
        and parameter.name not in filled
    ]
    return f"it requires {missing[0]!r}" if missing else ""


_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_SEVERAL = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
