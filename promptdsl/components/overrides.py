"""Overrides: functions that are called instead of components, by the names of these."""

import inspect
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from inspect import Parameter
from types import FunctionType
from typing import NamedTuple, TypeAlias, TypeGuard
from weakref import WeakKeyDictionary

from promptdsl.components.scope import is_mapping
from promptdsl.foundation.errors import OptionError, ScopeError, nearest
from promptdsl.foundation.source import Source, author, door

Function: TypeAlias = Callable[..., object]
KeptOverrides: TypeAlias = tuple[tuple[str, tuple[Function, ...]], ...]
"""Overrides as plain data: by name the functions that replace a component, the innermost first."""


class Replacement(NamedTuple):
    """A function that replaces a component, and the line of its ``override()``."""

    function: Function
    source: Source | None


class Replacements(dict[str, tuple[Replacement, ...]]):
    """The functions that replace components at one point: by name, the innermost first.

    ``around`` are those around the ``override`` block that added some, which is ``opened_by``.
    """

    def __init__(self, around: "Replacements | None", opened_by: object = None) -> None:
        super().__init__(around or {})
        self.around = around
        self.opened_by = opened_by

    def add(self, name: str, *replacements: Replacement) -> None:
        """Put these replacements, the innermost first, before those that a component has so far."""
        self[name] = (*replacements, *self.get(name, ()))

    def without(self, name: str) -> "Replacements":
        """Return the replacements while the innermost of a name runs, which calls the next."""
        inside = Replacements(self)
        inside[name] = self[name][1:]
        return inside


OVERRIDES: ContextVar[Replacements | None] = ContextVar("promptdsl_overrides", default=None)
COMPONENTS: WeakKeyDictionary[Function, str] = WeakKeyDictionary()
"""All components that functions were made into, and their names: several may have the same."""


@contextmanager
def replacing(replacements: Replacements | None) -> Generator[None]:
    """Let these replacements replace components while a block runs."""
    token = OVERRIDES.set(replacements)
    try:
        yield
    finally:
        OVERRIDES.reset(token)


def moved(
    inside: Replacements, own: Replacements | None, around: Replacements | None
) -> Replacements:
    """Return the replacements of ``around`` and those that ``inside`` adds to ``own``."""
    result = Replacements(around)
    for name, replacements in inside.items():
        known = 0 if own is None else len(own.get(name, ()))
        result.add(name, *replacements[: max(len(replacements) - known, 0)])
    return result


def kept_overrides() -> KeptOverrides:
    """Return the replacements at this point as data that can be compared, printed and pickled."""
    current = OVERRIDES.get() or Replacements(None)
    return tuple(
        (name, tuple(replacement.function for replacement in current[name]))
        for name in sorted(current)
        if current[name]
    )


def restored(kept: KeptOverrides) -> Replacements:
    """Return the replacements of :func:`kept_overrides`."""
    replacements = Replacements(None)
    for name, functions in kept:
        replacements.add(name, *(Replacement(function, None) for function in functions))
    return replacements


def is_plain(function: object) -> TypeGuard[FunctionType]:
    """Return whether a value is a function that is not asynchronous."""
    return inspect.isfunction(function) and not (
        inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    )


@door
def override(functions: Mapping[str, Callable[..., object]], /) -> AbstractContextManager[None]:
    """Return a ``with`` block in which functions replace the components of these names.

    Each function takes the arguments of its component; the innermost override wins. When the
    function calls the component of that name, it gets the original, or the next override around it.
    Parts that were written before, or are included, stay as they are; a :class:`Lazy` written in
    the block is called with the same overrides.

    Raises :class:`OptionError` for an unknown name, or a function that takes other arguments.

    >>> from promptdsl import System, component, override, render
    >>> @component
    ... def persona(name):
    ...     return f"You are {name}."
    >>> with override({"persona": lambda name: f"Act as {name}."}):
    ...     render(System(persona("a pirate"))).messages[0].text
    'Act as a pirate.'
    """
    line = author()
    given: object = functions
    if not is_mapping(given):
        raise OptionError(
            f"override() takes a mapping, not {type(given).__name__}",
            fix='override({"persona": my_persona})',
            at=(line,),
        )
    return _Override({name: _checked(name, f, line) for name, f in functions.items()}, line)


def _checked(name: str, given: object, line: Source) -> Function:
    """Return the function that is to replace components, or raise :class:`OptionError`."""
    alive = [made for made in (reference() for reference in COMPONENTS.keyrefs()) if made]
    originals = [_original(made) for made in alive if COMPONENTS[made] == name]
    if not originals:
        names = {COMPONENTS[made] for made in alive}
        raise OptionError(
            f"no component is called {name!r}",
            fix=nearest(str(name), names) if names else "write @component before its function",
            at=(line,),
        )
    # A component replaces another one by the function it was made of.
    function = _original(given) if is_plain(given) else given
    if not is_plain(function):
        raise OptionError(
            f"{name!r} is overridden by {type(given).__name__}, no plain function",
            fix="give the function itself",
            at=(line,),
        )
    # Of several components with this name it has to fit one: the call shows later which it is.
    problems = [difference(original, function) for original in originals]
    if all(problems):
        raise unfit(name, originals[-1], (function, problems[-1]), (line,))
    return function


def _original(function: Function) -> Function:
    """Return the function that a component was made of, and any other function as it is."""
    wrapped: Function = getattr(function, "__wrapped__", function)
    return wrapped if function in COMPONENTS else function


class _Override(AbstractContextManager[None]):
    """The block of :func:`override`; it can be entered anywhere, any number of times."""

    def __init__(self, functions: dict[str, Function], line: Source) -> None:
        self.functions = functions
        self.line = line

    def __enter__(self) -> None:
        replacements = Replacements(OVERRIDES.get(), opened_by=self)
        for name, function in self.functions.items():
            replacements.add(name, Replacement(function, self.line))
        OVERRIDES.set(replacements)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        top = opened = OVERRIDES.get()
        while opened is not None and opened.opened_by is not self:
            opened = opened.around
        if opened is not None:
            OVERRIDES.set(opened.around)
        if kind is None and (opened is None or opened is not top):
            raise ScopeError(
                "this override() is closed out of order",
                fix="close blocks in the order they were opened; a generator suspended inside a "
                "block keeps it open",
                at=(author(), self.line),
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


def difference(original: Function, function: Function) -> str:
    """Return the reason why a function cannot take all calls of another, else an empty string."""
    yields = inspect.isgeneratorfunction(original)
    if yields != inspect.isgeneratorfunction(function):
        return "it does not yield" if yields else "it yields"
    wanted, taken = inspect.signature(original).parameters, inspect.signature(function).parameters
    positions = [parameter for parameter in taken.values() if parameter.kind in _BY_POSITION]
    kinds = {parameter.kind for parameter in taken.values()}
    filled: set[str] = set()
    for index, parameter in enumerate(wanted.values()):
        name, kind = parameter.name, parameter.kind
        by_position, by_name = kind in _BY_POSITION, kind in _BY_NAME
        same = taken.get(name)
        same = None if same is not None and same.kind in _SEVERAL else same
        at_index = positions[index] if by_position and index < len(positions) else None
        problem = ""
        if kind in _SEVERAL and kind not in kinds:
            problem = f"it does not take {parameter}"
        elif by_position and at_index is None and Parameter.VAR_POSITIONAL not in kinds:
            problem = f"it does not take {name!r} by position"
        elif at_index is not None and at_index.name != name and at_index.name in wanted:
            problem = f"it takes {name} in the place of {at_index.name}"
        elif by_name and same is None and Parameter.VAR_KEYWORD not in kinds:
            problem = f"it does not take {name!r} by name"
        elif by_name and same is not None and same.kind is Parameter.POSITIONAL_ONLY:
            problem = f"it takes {name!r} by position only"
        if problem:
            return problem
        # A parameter that may be left out fills none that is required.
        if parameter.default is Parameter.empty:
            filled |= {other.name for other in (at_index, same) if other is not None}
    required = [parameter for parameter in taken.values() if parameter.kind not in _SEVERAL]
    missing = [
        parameter.name
        for parameter in required
        if parameter.default is Parameter.empty and parameter.name not in filled
    ]
    return f"it requires {missing[0]!r}" if missing else ""


_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_SEVERAL = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
