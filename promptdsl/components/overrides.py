"""Stand-ins: other functions in the place of components, by name."""

import inspect
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from inspect import Parameter
from typing import Any
from weakref import WeakKeyDictionary

import attrs

from promptdsl.foundation.errors import OptionError, ScopeError, nearest
from promptdsl.foundation.source import Source, author


@attrs.frozen(eq=False, repr=False)
class StandIn:
    """A function in the place of the component ``name``.

    ``around`` is what stood in around it. Where ``function`` is ``None`` one is running, and
    ``resume`` is what stands in for the component it calls by its own name.
    """

    name: str
    function: Callable[..., Any] | None
    source: Source | None
    around: "StandIn | None"
    resume: "StandIn | None" = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StandIn):
            return NotImplemented
        return [one[:2] for one in _flat(self)] == [one[:2] for one in _flat(other)]

    def __hash__(self) -> int:
        return hash((self.name, self.function))

    def __repr__(self) -> str:
        return f"StandIn({', '.join(name for name, _, _ in _flat(self))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _stacked, (list(_flat(self)),)


def _flat(stand_in: StandIn | None) -> Iterator[tuple[str, Callable[..., Any] | None, Any]]:
    """Yield the stand-ins as plain records, the innermost first."""
    while stand_in is not None:
        yield stand_in.name, stand_in.function, stand_in.source
        stand_in = stand_in.around


def _stacked(records: list[tuple[Any, ...]]) -> StandIn | None:
    chain: StandIn | None = None
    for name, function, source in reversed(records):
        chain = (
            inside_of(name, chain) if function is None else StandIn(name, function, source, chain)
        )
    return chain


OVERRIDES: ContextVar[StandIn | None] = ContextVar("promptdsl_overrides", default=None)
COMPONENTS: WeakKeyDictionary[Callable[..., Any], str] = WeakKeyDictionary()
"""All components there are, and their names: several may have the same."""


@contextmanager
def standing(stand_ins: StandIn | None) -> Generator[None]:
    """Let functions stand in while a block runs."""
    token = OVERRIDES.set(stand_ins)
    try:
        yield
    finally:
        OVERRIDES.reset(token)


def standing_in(name: str, found: StandIn | None) -> StandIn | None:
    """Return what stands in for a component of this name, ``None`` for the component itself."""
    while found is not None:
        if found.name != name:
            found = found.around
        elif found.function is None:
            found = found.resume
        else:
            return found
    return None


def inside_of(name: str, around: StandIn | None) -> StandIn:
    """Return the stand-ins for what is called while one for ``name`` is running."""
    found = standing_in(name, around)
    return StandIn(name, None, None, around, None if found is None else found.around)


def moved(top: StandIn | None, bottom: StandIn | None, around: StandIn | None) -> StandIn | None:
    """Return the stand-ins from ``top`` down to ``bottom``, with others around them."""
    found: list[StandIn] = []
    while top is not None and top is not bottom:
        found.append(top)
        top = top.around
    for one in reversed(found):
        around = attrs.evolve(one, around=around)
    return around


def is_plain(function: object) -> bool:
    """Return whether this is a function that is not asynchronous."""
    return inspect.isfunction(function) and not (
        inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    )


def override(stand_ins: Mapping[str, Callable[..., object]], /) -> AbstractContextManager[None]:
    """Let functions stand in for components of these names, for what is written in the block.

    Each takes the arguments of its component; the innermost wins. What was written before, or is
    included, stays as it is; a :class:`Lazy` written in the block keeps the stand-ins.

    Raises :class:`OptionError` for an unknown name, or a function that takes other arguments.
    """
    place = author()
    if not isinstance(stand_ins, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(
            f"override() takes a mapping, not {type(stand_ins).__name__}",
            fix='override({"persona": my_persona})',
            at=(place,),
        )
    return _Override([(name, _checked(name, f, place)) for name, f in stand_ins.items()], place)


def _checked(name: str, given: object, place: Source) -> Callable[..., Any]:
    """Return the function that stands in for components, or raise :class:`OptionError`."""
    originals = [_original(made) for made, called in _components() if called == name]
    if not originals:
        names = {called for _, called in _components()}
        raise OptionError(
            f"no component is called {name!r}", fix=nearest(str(name), names), at=(place,)
        )
    function: Callable[..., Any] = _original(given)
    if not is_plain(function):
        raise OptionError(
            f"{name!r} is overridden by {type(given).__name__}, no plain function",
            fix="give the function itself",
            at=(place,),
        )
    # Of several components with this name it has to fit one: which is called is seen later.
    problems = [difference(original, function) for original in originals]
    if all(problems):
        raise unfit(name, originals[-1], (function, problems[-1]), (place,))
    return function


def _components() -> list[tuple[Callable[..., Any], str]]:
    """Return the components there are, the newest last, and their names."""
    alive = filter(None, [reference() for reference in COMPONENTS.keyrefs()])
    return [(made, COMPONENTS[made]) for made in alive]


def _original(given: Any) -> Any:
    """Return the function that a component was made of; of what is none, itself."""
    return given.__wrapped__ if inspect.isfunction(given) and given in COMPONENTS else given  # type: ignore[attr-defined]


class _Override(AbstractContextManager[None]):
    """A block in which functions stand in; it can be entered anywhere, any number of times."""

    def __init__(self, given: list[tuple[str, Callable[..., Any]]], place: Source) -> None:
        self.given = given
        self.place = place

    def __enter__(self) -> None:
        chain = OVERRIDES.get()
        for name, function in self.given:
            chain = StandIn(name, function, self.place, chain)
        OVERRIDES.set(chain)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        top = found = OVERRIDES.get()
        while found is not None and found.source is not self.place:
            found = found.around
        if found is not None:
            OVERRIDES.set(_below(found, len(self.given)))
        if kind is None and self.given and (found is None or found is not top):
            raise ScopeError(
                "this override() is closed out of order",
                fix="close blocks in the order they were opened; a generator suspended inside a "
                "block keeps it open",
                at=(author(), self.place),
            )


def _below(stand_in: StandIn | None, count: int) -> StandIn | None:
    for _ in range(count):
        stand_in = None if stand_in is None else stand_in.around
    return stand_in


def unfit(
    name: str, original: Callable[..., Any], wrong: tuple[Any, str], at: tuple[Any, ...]
) -> OptionError:
    """Return the error for a function that cannot stand in for a component, and why."""
    function, problem = wrong
    return OptionError(
        f"{function.__name__} cannot stand in for {name}: {problem}",
        fix=f"take the same arguments: {name}{inspect.signature(original)}",
        at=at,
    )


def difference(original: Callable[..., Any], function: Callable[..., Any]) -> str:
    """Return what keeps a function from taking the calls of another: all kinds are tried."""
    one, other = inspect.signature(original), inspect.signature(function)
    for args, kwargs in _calls(list(one.parameters.values())):
        try:
            bound = other.bind(*args, **kwargs)
        except TypeError as error:
            return str(error)
        for name, given in bound.arguments.items():
            named = name in one.parameters and isinstance(given, str) and given in one.parameters
            if named and name != given:
                return f"it takes {given} in the place of {name}"
    yields = inspect.isgeneratorfunction(original)
    if yields == inspect.isgeneratorfunction(function):
        return ""
    return "it does not yield" if yields else "it yields"


def _calls(parameters: list[Parameter]) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Yield calls by position, by keyword, and with what is required alone.

    Every argument is the name of its parameter.
    """
    plain = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    more = ["more"] if _has(parameters, "VAR_POSITIONAL") else []
    others = {"other": "other"} if _has(parameters, "VAR_KEYWORD") else {}
    required = [p for p in plain if p.default is Parameter.empty]
    for some in (plain, required):
        by_place = [p.name for p in some if p.kind is not Parameter.KEYWORD_ONLY]
        named = {p.name: p.name for p in some if p.kind is Parameter.KEYWORD_ONLY}
        yield [*by_place, *(more if some is plain else ())], {**named, **others}
        first = [p.name for p in some if p.kind is Parameter.POSITIONAL_ONLY]
        yield first, {p.name: p.name for p in some if p.name not in first} | others


def _has(parameters: list[Parameter], kind: str) -> bool:
    return any(p.kind.name == kind for p in parameters)
