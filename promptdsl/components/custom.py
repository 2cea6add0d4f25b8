"""Components of an author's own: functions with a name, with children, with stand-ins."""

import inspect
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial, wraps
from types import FrameType
from typing import Any, NamedTuple, ParamSpec, cast, overload

from promptdsl.components.arguments import adopt, gather, retract
from promptdsl.components.block import Block, begin, finish
from promptdsl.components.options import NAME
from promptdsl.components.overrides import (
    COMPONENTS,
    OVERRIDES,
    StandIn,
    difference,
    inside_of,
    is_plain,
    moved,
    standing,
    standing_in,
    unfit,
)
from promptdsl.components.scope import OPENED, enter, fail, leave, put
from promptdsl.foundation.errors import ContentError, OptionError, PromptError, ScopeError
from promptdsl.foundation.source import author
from promptdsl.tree.group_nodes import ComponentNode
from promptdsl.tree.masks import BARE, BUSY, HOLLOW, PLACED
from promptdsl.tree.node import Node, walk

P = ParamSpec("P")

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class ComponentBlock(Block, ComponentNode):
    """What a component function writes; a ``with`` block where the function yields."""

    __slots__ = ()
    _own = HOLLOW

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
            OVERRIDES.set(moved(self.inside, self.own, self.around))
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
    if not is_plain(function):
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

    made = _Made(called, function, inspect.signature(function))

    @wraps(function)
    def write(*args: Any, **kwargs: Any) -> ComponentBlock:
        return _write(made, args, kwargs, _getframe(1))

    COMPONENTS[write] = called
    return write


class _Made(NamedTuple):
    """A component: its name, the function it was made of, and what that takes."""

    name: str
    function: Callable[..., Any]
    signature: inspect.Signature


def _write(
    made: _Made, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType
) -> ComponentBlock:
    name, original, signature = made
    block = object.__new__(ComponentBlock)
    block.code, block.offset = frame.f_code, frame.f_lasti
    block.name, block.by, block.running = name, None, None
    _move_in(block, (*args, *kwargs.values()))
    function, inside = original, OVERRIDES.get()
    found = standing_in(name, inside)
    if found is not None and found.function is not None:
        function = found.function
        problem = difference(original, function)
        if problem:
            raise unfit(name, original, (function, problem), (block.source, found.source))
        block.by = function.__name__
        inside = inside_of(name, inside)
    _check_arguments(block, signature, args, kwargs)
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


def _check_arguments(
    block: ComponentBlock, signature: inspect.Signature, args: Any, kwargs: Any
) -> None:
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise OptionError(
            f"{block.name}(): {error}", fix=f"it takes {block.name}{signature}", at=(block.source,)
        ) from None
