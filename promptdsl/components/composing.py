"""Components of an author's own: functions with a name, with children, with stand-ins."""

import inspect
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from inspect import Parameter
from types import FrameType
from typing import Any, ParamSpec, cast, overload
from weakref import WeakKeyDictionary

import attrs

from promptdsl import nodes
from promptdsl.components.arguments import adopt, gather, retract
from promptdsl.components.options import NAME
from promptdsl.components.writing import Block, begin, finish
from promptdsl.errors import ContentError, OptionError, PromptError, ScopeError, nearest
from promptdsl.scope import OPENED, enter, fail, leave, put
from promptdsl.sources import Source, author
from promptdsl.tree import BARE, BUSY, FRAGMENT, PLACED, Node, bits, walk

P = ParamSpec("P")

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


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
        chain = _inside(name, chain) if function is None else StandIn(name, function, source, chain)
    return chain


OVERRIDES: ContextVar[StandIn | None] = ContextVar("promptdsl_overrides", default=None)
_COMPONENTS: WeakKeyDictionary[Callable[..., Any], str] = WeakKeyDictionary()
"""All components there are, and their names: several may have the same."""


class ComponentBlock(Block, nodes.Component):
    """What a component function writes; a ``with`` block where the function yields."""

    __slots__ = ()
    _node = nodes.Component
    _own = bits(FRAGMENT)

    def __enter__(self) -> Any:
        if self.running is None:
            raise ScopeError(
                f"{self.name} is written already, it has no place for children",
                fix="its function has to yield where they go; a block is entered once",
                at=(author(), self.source),
            )
        enter(self)
        with _failing(self):
            try:
                given = self.running.start()
            except StopIteration:
                raise _yields(self, "never yields") from None
        return self if given is None else given

    def __exit__(self, kind: object, error: Any, trace: object) -> Any:
        running, self.running = self.running, None
        try:
            with _failing(self):
                if not running.end(error):
                    raise _yields(self, "yields more than once")
        except BaseException as raised:
            # What the block raised goes on as it was.
            if raised is error or _is_stopped(raised, error):
                return False
            raise
        super().__exit__(None, None, None)
        return error is not None


@contextmanager
def _failing(component: ComponentBlock) -> Generator[None]:
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


def _is_stopped(raised: BaseException, error: object) -> bool:
    """Whether a generator made another error of a ``StopIteration`` thrown into it (PEP 479)."""
    return isinstance(error, StopIteration) and raised.__cause__ is error


class _Running:
    """A generator, and the stand-ins that hold while its own code runs."""

    def __init__(self, generator: Generator[Any, None, None], own: StandIn | None) -> None:
        self.generator = generator
        self.own = self.inside = own
        self.around: StandIn | None = None

    def start(self) -> Any:
        """Run to where the children go: what it overrides around them holds for them, too."""
        with standing(self.own):
            given = next(self.generator)
            self.inside = OVERRIDES.get()
        if self.inside is not self.own:
            self.around = OVERRIDES.get()
            OVERRIDES.set(_moved(self.inside, self.own, self.around))
        return given

    def end(self, error: BaseException | None) -> bool:
        """Run to the end, with the exception of the block if there was one; return whether it ends.

        A generator that does not is closed.
        """
        if self.inside is not self.own:
            OVERRIDES.set(self.around)
        with standing(self.inside):
            try:
                next(self.generator) if error is None else self.generator.throw(error)
            except StopIteration:
                return True
            self.generator.close()
        return False


def _moved(top: StandIn | None, bottom: StandIn | None, around: StandIn | None) -> StandIn | None:
    """Return the stand-ins from ``top`` down to ``bottom``, with others around them."""
    found: list[StandIn] = []
    while top is not None and top is not bottom:
        found.append(top)
        top = top.around
    for one in reversed(found):
        around = attrs.evolve(one, around=around)
    return around


@contextmanager
def standing(stand_ins: StandIn | None) -> Generator[None]:
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
    return partial(component_of, name=name) if function is None else component_of(function, name)


def component_of(function: Any, name: str | None) -> Callable[..., ComponentBlock]:
    """Return the component that a function writes, called ``name`` or as the function is."""
    if not _is_plain(function):
        asynchronous = inspect.isfunction(function)
        raise ContentError(
            "component() takes a plain function, not "
            + ("an async def" if asynchronous else type(function).__name__),
            fix="what awaits is a Lazy" if asynchronous else "write @component before a def",
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

    _COMPONENTS[write] = called
    return write


def _is_plain(function: object) -> bool:
    return inspect.isfunction(function) and not (
        inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    )


def _write(
    name: str, original: Callable[..., Any], given: tuple[Any, Any], frame: FrameType
) -> ComponentBlock:
    block = object.__new__(ComponentBlock)
    block.code, block.offset = frame.f_code, frame.f_lasti
    block.name, block.by, block.running = name, None, None
    args, kwargs = given
    _move_in(block, (*args, *kwargs.values()))
    function, inside = original, OVERRIDES.get()
    found = _standing_in(name, inside)
    if found is not None and found.function is not None:
        function = found.function
        problem = _difference(original, function)
        if problem:
            raise _unfit(name, original, (function, problem), (block.source, found.source))
        block.by = function.__name__
        inside = _inside(name, inside)
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


def _move_in(block: ComponentBlock, given: tuple[Any, ...]) -> None:
    """Take the components among arguments, or in a list of them, out of the open block."""
    flat: list[Any] = []
    for one in given:
        flat += cast("list[Any]", one) if isinstance(one, list | tuple) else [one]
    try:
        adopt(block, [x for x in flat if isinstance(x, Node) and x.mask & (BUSY | BARE)])
    except PromptError:
        retract(given)
        raise


def _take(block: ComponentBlock, returned: object) -> None:
    """Put what a function returned into its component, where it does not stand there yet."""
    if isinstance(returned, list | tuple):
        raise ContentError(
            f"{block.name} returned a {type(cast('object', returned)).__name__}",
            fix="return Fragment(*parts)",
            at=(block.source,),
        )
    if not isinstance(returned, Node):
        block.content += gather(block, (returned,))
    elif not returned.mask & PLACED:
        put(finish(returned), cast("Any", OPENED.get()))
    elif not _stands_in(block, returned):
        block.content += gather(block, (returned,))


def _stands_in(block: ComponentBlock, part: Node) -> bool:
    tops = [child for child in block.content if isinstance(child, Node)]
    return any(part is top for top in tops) or any(
        part is node for top in tops for node, _ in walk(top)
    )


def _standing_in(name: str, found: StandIn | None) -> StandIn | None:
    while found is not None:
        if found.name != name:
            found = found.around
        elif found.function is None:
            found = found.resume
        else:
            return found
    return None


def _inside(name: str, around: StandIn | None) -> StandIn:
    """Return the stand-ins for what is called while one for ``name`` is running."""
    found = _standing_in(name, around)
    return StandIn(name, None, None, around, None if found is None else found.around)


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
    if not _is_plain(function):
        raise OptionError(
            f"{name!r} is overridden by {type(given).__name__}, no plain function",
            fix="give the function itself",
            at=(place,),
        )
    # Of several components with this name it has to fit one: which is called is seen later.
    problems = [_difference(original, function) for original in originals]
    if all(problems):
        raise _unfit(name, originals[-1], (function, problems[-1]), (place,))
    return function


def _components() -> Iterator[tuple[Callable[..., Any], str]]:
    for reference in _COMPONENTS.keyrefs():
        made = reference()
        if made is not None:
            yield made, _COMPONENTS[made]


def _original(given: Any) -> Any:
    """Return the function that a component was made of; of what is none, itself."""
    return given.__wrapped__ if inspect.isfunction(given) and given in _COMPONENTS else given  # type: ignore[attr-defined]


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


def _unfit(
    name: str, original: Callable[..., Any], wrong: tuple[Any, str], at: tuple[Any, ...]
) -> OptionError:
    function, problem = wrong
    return OptionError(
        f"{function.__name__} cannot stand in for {name}: {problem}",
        fix=f"take the same arguments: {name}{inspect.signature(original)}",
        at=at,
    )


def _difference(original: Callable[..., Any], function: Callable[..., Any]) -> str:
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
