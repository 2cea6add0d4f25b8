"""The components of an author: ``@component`` functions, which have a name and can be overridden.

Read :func:`component` first. It makes a :class:`ComponentFunction`. A call of this object writes a
:class:`CustomComponent`, and :class:`_Running` runs the function if it yields.
"""

import inspect
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial, update_wrapper
from types import FunctionType, MethodType, TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, cast, overload
from weakref import WeakKeyDictionary

from promptdsl.components.arguments import adopt, gather
from promptdsl.components.block import Container, finish
from promptdsl.components.options import is_name
from promptdsl.components.replacements import (
    OVERRIDES,
    Function,
    Replacement,
    Replacements,
    as_tuple,
    difference,
    is_plain,
    replacing,
    unfit,
)
from promptdsl.components.scope import (
    enter,
    fail,
    flattened,
    getframe,
    innermost,
    join_open_block,
    leave,
    open_block,
    put,
    retract,
)
from promptdsl.foundation.errors import (
    ContentError,
    OptionError,
    PromptError,
    ScopeError,
    nearest,
    shown,
)
from promptdsl.foundation.source import author, author_frame, public_api
from promptdsl.messages.field_checks import kind_of
from promptdsl.tree.masks import HINTED, OPAQUE, PLACED, UNWRITTEN
from promptdsl.tree.node import DEFAULTS, Node, label, walk
from promptdsl.tree.turn_nodes import ComponentNode

if TYPE_CHECKING:
    from promptdsl.foundation.source import LibrarySection

P = ParamSpec("P")


class CustomComponent(Container, ComponentNode):
    """The parts that the function of a component wrote.

    If the function yields, it is a ``with`` block, and its children go where the function yields.
    """

    __slots__ = ()
    _initial_mask = OPAQUE

    @public_api
    def __enter__(self) -> Any:  # Any: the value that the author's function yields
        running: _Running | None = self.running
        if running is None:
            raise ScopeError(
                f"{self.name} cannot be opened as a block: it is finished",
                fix="its function has to yield where the children go; open a block only once",
                at=(author(), self.source),
            )
        enter(self)
        with _failing(self):
            try:
                yielded = running.start()
            except StopIteration:
                raise _yield_error(self, "never yields") from None
        running.children_before = _written_count()
        return self if yielded is None else yielded

    @public_api
    def __exit__(
        self, kind: object, error: object, trace: object
    ) -> Any:  # Any: True if the function caught the exception of the block
        running, self.running = self.running, None
        is_empty = kind is None and running.children_before == _written_count()
        try:
            with _failing(self):
                if not running.end(cast("BaseException | None", error)):
                    raise _yield_error(self, "yields more than once")
        except BaseException as raised:
            # The exception of the block goes on unchanged. If it is a StopIteration, the generator
            # raises another error, whose cause is this StopIteration (PEP 479).
            stopped = isinstance(error, StopIteration) and raised.__cause__ is error
            if raised is error or stopped:
                # Its traceback does not get the frames of this file.
                cast("BaseException", error).__traceback__ = cast("TracebackType", trace)
                return False
            raise
        super().__exit__(None, None, None)
        if is_empty:
            self._mask |= HINTED
        return error is not None


def _written_count() -> int:
    """Return the number of children that the open block has so far."""
    block = open_block()
    return 0 if block is None else len(block.content)


@contextmanager
def _failing(component: CustomComponent) -> Generator[None]:
    """Remove a component from its block if the code in this ``with`` block raises an error."""
    try:
        yield
    except BaseException:
        fail(component, leave(component, raised=True))
        raise


def _yield_error(component: CustomComponent, problem: str) -> ScopeError:
    return ScopeError(
        f"the function of {component.name} {problem}",
        fix="yield once, where the children go",
        at=(component.source,),
    )


class _Running:
    """The generator of a component, and the overrides that are in force while its code runs.

    ``overrides`` are in force when it begins, and ``at_yield`` when it yields. ``of_caller`` are in
    force for the code that opened its block.
    """

    def __init__(
        self, generator: Generator[object, None, None], overrides: Replacements | None
    ) -> None:
        self.generator = generator
        self.overrides = self.at_yield = overrides
        self.of_caller: Replacements | None = None
        self.children_before = 0
        """The number of children in the open block before those of the component."""

    def start(self) -> object:
        """Run the generator to its ``yield``, and return what it yields.

        An ``override()`` around the ``yield`` is in force for the children, too.
        """
        before = self.overrides
        with replacing(before):
            yielded = next(self.generator)
            self.at_yield = OVERRIDES.get()
        if self.at_yield is not before and self.at_yield is not None:
            self.of_caller = OVERRIDES.get()
            added_count = len(self.at_yield.in_order) - len(as_tuple(before))
            outer = as_tuple(self.of_caller)
            OVERRIDES.set(Replacements(self.at_yield.in_order[: max(added_count, 0)] + outer))
        return yielded

    def end(self, error: BaseException | None) -> bool:
        """Run the generator to its end, with the exception of the block if there was one.

        Returns ``False`` if the generator yields again; then it is closed.
        """
        if self.at_yield is not self.overrides:
            OVERRIDES.set(self.of_caller)
        with replacing(self.at_yield):
            try:
                if error is None:
                    next(self.generator)
                else:
                    self.generator.throw(error)
            except StopIteration:
                return True
            self.generator.close()
        return False


@overload
def component(function: Callable[P, object], /) -> Callable[P, CustomComponent]: ...
@overload
def component(*, name: str) -> Callable[[Callable[P, object]], Callable[P, CustomComponent]]: ...
def component(function: object = None, /, *, name: str | None = None) -> object:
    r"""Return a component made of a function: it has a name in outlines and can be overridden.

    The function writes into the open block, or it returns a part. A generator function yields once,
    and the children in its ``with`` block go where it yields. If no block is open, the component is
    a part for later use. ``name`` is the name of the function by default.

    Raises :class:`ContentError` for anything but a plain function, :class:`OptionError` for a name
    with other characters than letters, digits and ``_ . -``.

    >>> from promptdsl import Section, System, Text, component, render
    >>> @component
    ... def card(title):
    ...     with Section(title.lower(), title=title):
    ...         yield
    >>> with System() as system, card("Rules"):
    ...     rule = Text("Be kind.")
    >>> render(system).messages[0].text
    '## Rules\nBe kind.'
    """
    return partial(component_of, name=name) if function is None else component_of(function, name)


@public_api
def component_of(function: object, name: str | None) -> "ComponentFunction":
    """Return the component of a function; its name is ``name``, or that of the function."""
    if not is_plain(function) and not isinstance(function, ComponentFunction):
        kind, fix = kind_of(function), "write @component before a def"
        if inspect.isfunction(function):
            kind, fix = "an async def", "write Lazy(function) for a function that awaits"
        elif type(function) is str and is_name(function):
            fix = f'write @component(name="{function}") before a def'
        problem = f"component() takes a plain function, not {kind}"
        raise ContentError(problem, fix=fix, at=(author(),))
    name = function.__name__ if name is None else name
    if not is_name(name):
        raise OptionError(
            f"{shown(name)} cannot be the name of a component",
            fix="use only letters, digits, _ . and -: @component(name=...)",
            at=(author(),),
        )
    return ComponentFunction(function, name)


class ComponentFunction:
    """The result of ``@component``: a call writes the parts of the function.

    ``name`` is the name of the component; for a library section it is the qualified name. Then
    ``section`` returns the version and the digest of the section, otherwise it is ``None``.
    ``takes_children`` is whether the function yields.
    """

    __name__: str
    __qualname__: str

    def __init__(self, function: "FunctionType | ComponentFunction", name: str) -> None:
        update_wrapper(self, function)
        self.function: Function = function
        self.name = name
        self.section: Callable[[], LibrarySection] | None = None
        self.signature = inspect.signature(function)
        self.takes_children = inspect.isgeneratorfunction(function)
        _MADE[self] = None

    @property
    def names(self) -> tuple[str, str]:
        """Its name, and its name with its module: ``shop.prompts.tone``."""
        return self.name, f"{self.__module__}.{self.name.rpartition(':')[2]}"

    @public_api
    def __call__(self, /, *args: object, **kwargs: object) -> CustomComponent:
        """Write the parts of the function into the open block, and return them as a component.

        If the function yields, the result is opened by ``with``. Raises :class:`OptionError` for
        arguments that the function does not take.
        """
        frame = getframe(2)
        node = object.__new__(CustomComponent)
        node.name, node.by, node.running, node.section = self.name, None, None, None
        if self.section is not None:
            frame, node.section = author_frame(frame), self.section()
        node._code, node._offset = frame.f_code, frame.f_lasti
        arguments = (*args, *kwargs.values())
        try:
            # Components among the arguments leave the open block: the function puts them in place.
            adopt(node, flattened(arguments))
        except PromptError:
            retract(arguments)
            raise
        try:
            self.signature.bind(*args, **kwargs)
        except PromptError as error:
            raise error.located(node.source) from None
        except TypeError as error:
            raise _unfit_call(node, self.signature, kwargs, error) from None
        function: Function = self.function
        overrides = OVERRIDES.get()
        if overrides is not None:
            keys = (self, *self.names)
            replacement = overrides.of_component(keys, has_children=self.takes_children)
            if replacement is not None:
                function, node.by, node.section = stand_in(replacement)
                if problem := difference(self.function, function, (args, kwargs)):
                    wrong, at = (function, problem), (node.source, replacement.line)
                    raise unfit(self.name, self.function, wrong, at)
                overrides = overrides.without(replacement)
        node.content, node.options, node._mask = (), DEFAULTS, OPAQUE | UNWRITTEN
        join_open_block(node)
        # A generator function runs when its block is opened, any other function runs now.
        if inspect.isgeneratorfunction(function):
            node.running = _Running(function(*args, **kwargs), overrides)
            return node
        enter(node)
        with _failing(node), replacing(overrides):
            _take(node, function(*args, **kwargs))
        Container.__exit__(node, None, None, None)
        return node

    def __get__(self, instance: object, owner: object = None) -> Callable[..., CustomComponent]:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str:
        """Return the name by which a pickle finds the component in its module."""
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<component {self.name}>"


ComponentFunction.__name__ = "component"  # for errors: a component that was not called
_MADE: WeakKeyDictionary[ComponentFunction, None] = WeakKeyDictionary()
"""All components made of functions. A dictionary keeps the order in which they were made."""


def components() -> list[ComponentFunction]:
    """Return all components made of functions; several may have the same name."""
    alive = (reference() for reference in _MADE.keyrefs())
    return [component for component in alive if component is not None]


def original_of(function: object) -> Function:
    """Return the function of a component; any other value is returned unchanged."""
    while isinstance(function, ComponentFunction):
        function = function.function
    return cast("Function", function)


def stand_in(replacement: Replacement) -> "tuple[Function, str | None, LibrarySection | None]":
    """Return the function to call instead of a component, its name, and its library section."""
    by = replacement.by
    if isinstance(by, Node):
        return lambda *args, **kwargs: by, label(by), None  # noqa: ARG005 (the part is the same)
    if isinstance(by, ComponentFunction) and by.section is not None:
        section = by.section()
        return original_of(by), section.name, section
    return original_of(by), getattr(by, "__name__", None), None


def _take(node: CustomComponent, returned: object) -> None:
    """Put what a function returned into its component, unless the function wrote it there.

    Raises :class:`ContentError` for a list, and for a value that cannot be content.
    """
    if returned is not None:
        node._mask &= ~UNWRITTEN
    kind = kind_of(returned)
    if isinstance(returned, list | tuple):
        problem = f"{node.name} returned a {kind}"
        raise ContentError(problem, fix="return Fragment(*parts)", at=(node.source,))
    if not isinstance(returned, Node):
        node.content += gather(node, (returned,))
        return
    top = innermost()
    # A part that the function did not write in a block, such as a constant of its module.
    if not returned._mask & PLACED and top is not None:
        put(finish(returned), top)
        return
    # A part that the function wrote in the component is there already.
    if not any(returned is inner for inner, _ in walk(node)):
        node.content += gather(node, (returned,))


def _unfit_call(
    node: CustomComponent,
    signature: inspect.Signature,
    options: Mapping[str, object],
    error: TypeError,
) -> OptionError:
    """Return the error for a call with arguments that the function does not take."""
    problem, fix = (
        f"{node.name}(): {error}",
        f"it takes {node.name}{signature}",
    )
    unknown = [option for option in options if option not in signature.parameters]
    suggestion = nearest(unknown[0], signature.parameters) if unknown else ""
    if suggestion.startswith("did"):
        problem, fix = f"{node.name}() takes no {unknown[0]!r}", f"{suggestion} {fix}"
    return OptionError(problem, fix=fix, at=(node.source,))
