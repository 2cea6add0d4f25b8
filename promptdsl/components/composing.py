"""Components of an author's own: functions with a name, with children, with stand-ins."""

import inspect
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import Parameter, Signature
from types import FrameType
from typing import Any, NamedTuple, ParamSpec, cast, overload
from weakref import WeakValueDictionary

from promptdsl import nodes
from promptdsl.components.arguments import adopt, gather
from promptdsl.components.options import NAME
from promptdsl.components.writing import Block, begin, finish
from promptdsl.errors import ContentError, OptionError, ScopeError, nearest
from promptdsl.scope import OPENED, enter, fail, leave, put
from promptdsl.sources import Source, author
from promptdsl.tree import BARE, BUSY, FRAGMENT, PLACED, Node, bits

P = ParamSpec("P")

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class StandIn(NamedTuple):
    """A function in the place of the component ``name``.

    ``around`` is what stood in around it. Where ``function`` is ``None`` one is running, and
    ``resume`` is what stands in for the component it calls by its own name.
    """

    name: str
    function: Callable[..., Any] | None
    source: Source | None
    around: "StandIn | None"
    resume: "StandIn | None" = None


OVERRIDES: ContextVar[StandIn | None] = ContextVar("promptdsl_overrides", default=None)
_KNOWN: WeakValueDictionary[str, Callable[..., Any]] = WeakValueDictionary()


class ComponentBlock(Block, nodes.Component):
    """What a component function writes; a ``with`` block where the function yields."""

    __slots__ = ()
    _node = nodes.Component
    _own = bits(FRAGMENT)

    def __enter__(self) -> Any:
        if self.running is None:
            raise ScopeError(
                f"{self.name} has no place for children",
                fix="its function writes or returns parts; it has to yield where they go",
                at=(author(), self.source),
            )
        enter(self)
        with _failing(self):
            try:
                given = self.running.advance()
            except StopIteration:
                raise _yields(self, "never yields") from None
        return self if given is None else given

    def __exit__(self, kind: object, error: Any, trace: object) -> Any:
        running, self.running = self.running, None
        with _failing(self):
            try:
                running.advance() if error is None else running.throw(error)
            except StopIteration:
                pass
            else:
                running.close()
                raise _yields(self, "yields more than once")
        super().__exit__(None, None, None)
        return error is not None


@contextmanager
def _failing(component: ComponentBlock) -> Iterator[None]:
    """Take a component out of its block when its function raises."""
    try:
        yield
    except BaseException:
        fail(component, leave(component, raised=True))
        raise


def _yields(component: ComponentBlock, what: str) -> ScopeError:
    return ScopeError(
        f"the function of {component.name} {what}",
        fix="it yields once, where its children go",
        at=(component.source,),
    )


class _Running(NamedTuple):
    """A generator, and the stand-ins that hold while its own code runs."""

    generator: Generator[Any, None, None]
    inside: StandIn | None

    def advance(self) -> Any:
        with standing(self.inside):
            return next(self.generator)

    def throw(self, error: BaseException) -> None:
        with standing(self.inside):
            self.generator.throw(error)

    def close(self) -> None:
        self.generator.close()


@contextmanager
def standing(stand_ins: StandIn | None) -> Iterator[None]:
    """Let functions stand in while a block runs."""
    token = OVERRIDES.set(stand_ins)
    try:
        yield
    finally:
        OVERRIDES.reset(token)


@overload
def component(function: Callable[P, object], /) -> Callable[P, ComponentBlock]: ...
@overload
def component(*, name: str) -> Callable[[Callable[P, object]], Callable[P, ComponentBlock]]: ...
def component(function: Any = None, /, *, name: str | None = None) -> Any:
    """Make a component of a function: it gets a name in outlines and can be overridden by it.

    The function writes into the open block or returns a part. A generator function yields once,
    where the children go that are written in its ``with`` block. With no block open what it wrote
    is a part to be used later. ``name`` is the function's own unless given.

    Raises :class:`ContentError` for what is no plain function, :class:`OptionError` for a name
    that is none.
    """
    if function is None:
        return lambda decorated: component_of(decorated, name)
    return component_of(function, name)


def component_of(function: Any, name: str | None) -> Callable[..., ComponentBlock]:
    """Return the component that a function writes, called ``name`` or as the function is."""
    if not inspect.isfunction(function) or inspect.iscoroutinefunction(function):
        raise ContentError(
            f"component() takes a plain function, not {type(function).__name__}",
            fix="write @component before a def; what awaits is a Lazy",
            at=(author(),),
        )
    called = function.__name__ if name is None else name
    if not isinstance(called, str) or not NAME.match(called):
        raise OptionError(
            f"{called!r} is no name of a component",
            fix="letters, digits, _ . - : @component(name=...)",
            at=(author(),),
        )

    @wraps(function)
    def write(*args: Any, **kwargs: Any) -> ComponentBlock:
        return _write(called, function, (args, kwargs), _getframe(1))

    _KNOWN[called] = write
    return write


def _write(
    name: str, original: Callable[..., Any], given: tuple[Any, Any], frame: FrameType
) -> ComponentBlock:
    block = object.__new__(ComponentBlock)
    block.code, block.offset = frame.f_code, frame.f_lasti
    block.name, block.by, block.running = name, None, None
    args, kwargs = given
    adopt(block, _parts((*args, *kwargs.values())))
    function, inside = original, OVERRIDES.get()
    found = _standing_in(name)
    if found is not None and found.function is not None:
        function = found.function
        _check_same(name, original, function, (block.source, found.source))
        block.by = function.__name__
        inside = StandIn(name, None, None, inside, found.around)
    _check_arguments(block, original, args, kwargs)
    begin(block, (), {})
    if inspect.isgeneratorfunction(function):
        block.running = _Running(function(*args, **kwargs), inside)
        return block
    enter(block)
    with _failing(block), standing(inside):
        _take(block, function(*args, **kwargs))
    Block.__exit__(block, None, None, None)
    return block


def _parts(given: tuple[Any, ...]) -> list[Any]:
    """Return the components among arguments that were just written into the open block."""
    flat = [x for one in given for x in (one if isinstance(one, list | tuple) else (one,))]  # pyright: ignore[reportUnknownVariableType]
    return [x for x in flat if isinstance(x, Node) and x.mask & (BUSY | BARE)]


def _take(block: ComponentBlock, returned: object) -> None:
    """Put what a function returned into its component, where it does not stand there yet."""
    if any(part is returned for part in block.content):
        return
    if isinstance(returned, Node) and not returned.mask & PLACED:
        frame = OPENED.get()
        put(finish(returned), cast("Any", frame))
    elif returned is not None:
        block.content += gather(block, (returned,))


def _standing_in(name: str) -> StandIn | None:
    found = OVERRIDES.get()
    while found is not None:
        if found.name != name:
            found = found.around
        elif found.function is None:
            found = found.resume
        else:
            return found
    return None


def override(stand_ins: Mapping[str, Callable[..., object]], /) -> AbstractContextManager[None]:
    """Let functions stand in for components of these names, for what is written in the block.

    Each takes the arguments of its component; the innermost wins. What was written before, or is
    included, stays as it is; a :class:`Lazy` written in the block keeps the stand-ins.

    Raises :class:`OptionError` for an unknown name, or a function that takes other arguments.
    """
    place = author()
    chain: StandIn | None = OVERRIDES.get()
    if not isinstance(stand_ins, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(
            f"override() takes a mapping, not {type(stand_ins).__name__}",
            fix='override({"persona": my_persona})',
            at=(place,),
        )
    for name, given in stand_ins.items():
        original = _KNOWN.get(name)
        if original is None:
            raise OptionError(
                f"no component is called {name!r}", fix=nearest(str(name), _KNOWN), at=(place,)
            )
        function = inspect.unwrap(given) if callable(given) else given
        if not inspect.isfunction(function):
            raise OptionError(
                f"{name!r} is overridden by {type(given).__name__}, no plain function",
                fix="give the function itself",
                at=(place,),
            )
        _check_same(name, inspect.unwrap(original), function, (place,))
        chain = StandIn(name, function, place, chain)
    return standing(chain)


def _check_same(
    name: str, original: Callable[..., Any], function: Callable[..., Any], at: tuple[Any, ...]
) -> None:
    """Raise :class:`OptionError` unless a function can be called wherever a component is."""
    problem = _difference(inspect.signature(original), inspect.signature(function))
    yields = inspect.isgeneratorfunction(original)
    if not problem and yields != inspect.isgeneratorfunction(function):
        problem = "it does not yield" if yields else "it yields"
    if problem:
        raise OptionError(
            f"{function.__name__} cannot stand in for {name}: {problem}",
            fix=f"take the same arguments: {name}{inspect.signature(original)}",
            at=at,
        )


def _difference(one: Signature, other: Signature) -> str:
    """Return what keeps a function from taking the calls that another takes: all are tried."""
    for args, kwargs in _calls(list(one.parameters.values())):
        try:
            bound = other.bind(*args, **kwargs)
        except TypeError as error:
            return str(error)
        for name, given in bound.arguments.items():
            if name in one.parameters and given in one.parameters and name != given:
                return f"it takes {given} in the place of {name}"
    return ""


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


def _check_arguments(
    block: ComponentBlock, function: Callable[..., Any], args: Any, kwargs: Any
) -> None:
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise OptionError(
            f"{block.name}(): {error}", fix=f"it takes {block.name}{signature}", at=(block.source,)
        ) from None
