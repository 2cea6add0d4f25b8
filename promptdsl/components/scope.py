"""The base class of components, and the open ``with`` blocks, which are in a context variable.

The shortcuts for the most frequent components come first, each with its measured gain.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from operator import is_
from threading import current_thread, get_ident
from threading import enumerate as threads
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeGuard, TypeVar, cast
from weakref import WeakKeyDictionary

import attrs

from promptdsl.foundation.errors import ContentError, PlacementError, PromptError, ScopeError
from promptdsl.foundation.frozen import is_list
from promptdsl.foundation.source import (
    ListedSignature,
    Source,
    allow_left_out,
    author,
    end_traceback,
    public_api,
)
from promptdsl.tree.masks import CLOSED, FAILED, OPEN, PLACED
from promptdsl.tree.node import DEFAULTS, Child, Node, Options, label, named_label

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task


# Shortcuts for the most frequent components, each with its measured gain.
#
# A shortcut never changes a result: ``tests/components/test_fast_path.py`` compares both paths.

P = ParamSpec("P")
R = TypeVar("R")

MOST = 10_000
"""The most options that each table here remembers."""

SECTION_OPTIONS: dict[object, Options] = {}
"""The options of earlier sections with an id, maybe a priority, and nothing else.

Such a section takes 0.5 µs instead of 3 µs: its id and its options are not checked again."""

BY_PRIORITY: dict[type[object], dict[object, Options]] = {int: {}, float: {}}
"""The options of earlier components with a priority and nothing else, by its type and value.

A turn with a priority takes 0.9 µs instead of 2 µs. Priorities of other types are not remembered:
``True`` is equal to 1."""


known_section = SECTION_OPTIONS.get


def _first_look() -> AbstractEventLoop | None:
    """Return the running event loop; from the next call on, asyncio's own function is called.

    A component in a block takes 15 % less time than with a lookup of the function each time.
    asyncio is not imported here: a program without asyncio has no event loop.
    """
    global running_loop  # noqa: PLW0603
    lookup: Callable[[], AbstractEventLoop | None] | None = getattr(
        sys.modules["asyncio.events"], "_get_running_loop", None
    )
    if lookup is None:  # another thread is importing asyncio at this moment
        return None
    running_loop = lookup
    return running_loop()


running_loop: Callable[[], AbstractEventLoop | None] = _first_look


def section_options(id: str, options: Mapping[str, object]) -> Options | None:
    """Return the options of an earlier section with this id, this priority, and nothing else."""
    priority = options.get("priority")
    kind = type(priority)
    if len(options) == 1 and kind in BY_PRIORITY:
        return SECTION_OPTIONS.get((id, kind, priority))
    return None


def remember_section(options: Options) -> None:
    """Remember the options of a section, if they are an id, maybe a priority, and nothing else."""
    id, priority = options.id, options.priority
    if len(SECTION_OPTIONS) < MOST and options == Options(id=id, priority=priority):
        SECTION_OPTIONS[id if priority is None else (id, type(priority), priority)] = options


_READ: WeakKeyDictionary[FunctionType, dict[bool, tuple[object, list[object]]]] = (
    WeakKeyDictionary()
)
"""The result of reading a function, and its facts, by function and whether it is a bound method."""

_FACTS = ("__name__", "__doc__", "__code__", "__defaults__", "__signature__")


def remembered(function: Callable[P, object], read: Callable[[Callable[P, object]], R]) -> R:
    """Return the result of reading a function; it is read again only if the function changed.

    Many prompts are built with the same functions. A ``Tool`` takes 0.2 ms instead of 5 ms.
    """
    key = getattr(function, "__func__", function)
    if not isinstance(key, FunctionType):
        return read(function)
    facts: list[object] = []
    for part in (key, getattr(key, "__wrapped__", key)):
        facts += [getattr(part, name, None) for name in _FACTS]
        for name in ("__annotations__", "__kwdefaults__"):
            named: dict[str, object] = getattr(part, name, None) or {}
            facts += [*named, *named.values()]
    results = _READ.setdefault(key, {})
    known = results.get(key is function)
    # Compared by identity: a default may have an ``__eq__`` of its own.
    if known is None or len(known[1]) != len(facts) or not all(map(is_, known[1], facts)):
        known = results[key is function] = read(function), facts
    return cast("R", known[0])


# The base class of components, and the open ``with`` blocks, which are in a context variable.
#
# The variable holds an immutable chain of open blocks, the innermost first. Each block knows the
# thread and the task that opened it. So code in another thread or task, which has a copy of the
# context, gets an error, and does not write into the wrong block.
#
# In the order of a component's life: ``start``, ``join`` and ``put``, ``enter``, ``leave``,
# ``fail``, ``retract``. ``block.py`` has the rest of it. The errors are at the end.

_modules = sys.modules
_EVENTS = "asyncio.events"
getframe = sys._getframe


def _is_of_author(cls: type) -> bool:
    """Return whether a class was written outside of the package."""
    return cls.__module__.partition(".")[0] != "promptdsl"


class Component(Node):
    """A node while its author writes it. It can be changed until its parent freezes it."""

    __slots__ = ()
    __signature__ = ListedSignature()
    _options_type: ClassVar[type | None] = None
    """The ``TypedDict`` of its ``**options``."""
    _option_defaults: ClassVar[Mapping[str, object]] = attrs.asdict(DEFAULTS, recurse=False)
    _accepts: ClassVar[frozenset[str]] = frozenset()
    """The names of these options."""
    _initial_mask: ClassVar[int] = 0
    """The bits of its mask that do not depend on its content."""
    _twice: ClassVar[str] = "write a new component for a second block"
    """The advice for a component that is opened twice."""
    _forbids_at_once: ClassVar[int] = 0
    """The bits that no child in its block may have; checked when the child is written."""

    content: Any  # Any: a list of children while its block is open, a tuple at other times

    def __init_subclass__(cls) -> None:
        if _is_of_author(cls):
            base = next(base.__name__ for base in cls.__bases__ if issubclass(base, Component))
            raise ContentError(
                f"{cls.__name__} cannot be a subclass of {base}",
                fix=f"write a function that returns {base}(...), with @component before it",
                at=(author(),),
            )
        allow_left_out(cls)
        nodes = (base for base in cls.__mro__ if issubclass(base, Node))
        cls._node = next(node for node in nodes if not issubclass(node, Component))
        cls._accepts = getattr(cls._options_type, "__optional_keys__", cls._accepts)
        body = {"__slots__": (), "__module__": cls.__module__, "__doc__": cls.__doc__}
        cls._frozen = cast("type[Node]", type(cls.__name__, (FrozenComponent, cls), body))
        cls._frozen._frozen = cls._frozen
        cls._saved_as = cls

    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__

    def _check_fields(self) -> None:
        """Raise :class:`PromptError` for a field with a bad value; make the other values plain."""

    @classmethod
    def _advice(cls, node: Node) -> str:  # noqa: ARG003 (its subclasses read it)
        """Return the advice for a node that may not be in this block: where it belongs."""
        return "write it outside of this block"


class FrozenComponent:
    """The first base of a frozen class, which a component gets at its first use.

    The frozen class of ``User`` is a subclass of ``User`` with the same name. So
    ``isinstance(turn, User)`` stays true, but ``turn`` cannot be changed.
    """

    __slots__ = ()
    __setattr__ = Node.__setattr__
    __delattr__ = Node.__delattr__
    __enter__ = Node.__enter__
    __exit__ = Node.__exit__

    def __init_subclass__(cls) -> None:
        """Raise an error for a subclass that an author writes, as a component does."""
        if _is_of_author(cls):
            super().__init_subclass__()


def is_unused(part: Node) -> bool:
    """Return whether a part is a component that was not used yet: it can still be changed."""
    return type(part) is not part._frozen


def freeze(part: Node) -> Node:
    """Return a part, frozen; its content is not checked."""
    if is_unused(part):
        part.__class__ = part._frozen
    return part


def is_text(value: object) -> TypeGuard[str]:
    """Return whether an author's argument is a string; its declared type may be wrong."""
    return isinstance(value, str)


def start(component: Component, calls: int = 2) -> None:
    """Set the first fields of a new component; the author's line is ``calls`` calls up."""
    frame = getframe(calls)
    component._code = frame.f_code
    component._offset = frame.f_lasti
    component.content = ()
    component._mask = component._initial_mask
    component.options = DEFAULTS


class OpenBlock:
    """An open block: its component, the open block around it, and the code that opened it.

    ``component`` is ``None`` in ``detached()``. ``owner`` is a thread, and its task if there is
    one. ``forbids`` is ``_forbids_at_once`` of the component. The fields are set from outside: with
    an ``__init__``, opening a block takes 10 % longer.
    """

    __slots__ = ("around", "component", "forbids", "owner")
    component: Component | None
    around: OpenBlock | None
    owner: tuple[int, Task[object] | None]
    forbids: int


class _Detached(OpenBlock):
    """The open block of a ``detached()``: it has no component, but a line."""

    __slots__ = ("source", "wrote")
    source: Source
    wrote: bool
    """Whether a component was written in it."""


OPENED: ContextVar[OpenBlock | None] = ContextVar("promptdsl_open", default=None)

innermost = OPENED.get
set_innermost = OPENED.set


def running_task() -> Task[object] | None:
    """Return the running asyncio task, ``None`` without one; asyncio is not imported for this."""
    if _EVENTS not in _modules:
        return None
    loop = running_loop()
    return None if loop is None else _modules["asyncio.tasks"].current_task(loop)


def join(component: Node, opened: OpenBlock, mask: int) -> int:
    """Put a new component into the open block, and return its new mask."""
    block = opened.component
    if block is None:
        if isinstance(opened, _Detached):
            opened.wrote = True
        return mask
    try:
        thread, task = opened.owner
        if thread != get_ident() or running_task() is not task:
            raise _foreign(component, opened)
        if mask & opened.forbids:
            component._mask = mask | PLACED
            raise misplaced(component, block)
        try:
            block.content.append(component)
        except AttributeError:
            raise _closed(component, block) from None
    except PromptError as error:
        end_traceback(error)
        raise
    return mask | PLACED


def location(component: Node) -> None:
    """Put a new component into the open block, if there is one. Its mask is set before."""
    top = OPENED.get()
    if top is None:
        return
    try:
        component._mask = join(component, top, component._mask)
    except PromptError as error:
        end_traceback(error)
        raise


def put(node: Node, opened: OpenBlock, at: Source | None = None) -> None:
    """Put a finished node into the open block, at a line; a node may be in several blocks."""
    check_owner(node, opened)
    block = opened.component
    if block is None:
        return
    if node._mask & block._forbids_at_once:
        raise misplaced(node, block, at)
    children: list[Child] | tuple[Child, ...] = block.content
    if not isinstance(children, list):
        raise _closed(node, block)
    children.append(node)


C = TypeVar("C", bound=Component)


def enter(component: C) -> C:
    """Open a component as a block and return it.

    A block inside another one has the same owner: the code in it is checked when it writes.
    """
    mask, top = component._mask, innermost()
    if mask & FAILED:
        state = "closed" if mask & CLOSED else "still open"
        raise ScopeError(
            f"this {label(component)} cannot be opened again: its block is {state}",
            fix=component._twice,
            at=(author(), component.source),
        )
    if mask & PLACED and _position_in(top, component) is None:
        raise _elsewhere(component)
    owner = (get_ident(), running_task()) if top is None or top.component is None else top.owner
    opened = OpenBlock()
    opened.component, opened.around = component, top
    opened.owner, opened.forbids = owner, component._forbids_at_once
    content = component.content
    component.content = [*content] if content else []
    component._mask = mask | OPEN
    set_innermost(opened)
    return component


def _position_in(opened: OpenBlock | None, component: Node) -> tuple[list[Child], int] | None:
    """Return the children of the open block that contains a component, and its index there."""
    while opened is not None and opened.component is not None:
        children: list[Child] | tuple[Child, ...] = opened.component.content
        # From the last one on: most components were written just now. The content of a closed block
        # is a tuple.
        for index in range(len(children) - 1, -1, -1):
            if children[index] is component and isinstance(children, list):
                return children, index
        opened = opened.around
    return None


@public_api
def leave(component: Component, *, raised: bool) -> OpenBlock | None:
    """Close a block after an error, or one that is not the innermost; return the block around it.

    If it is not the innermost block, the blocks inside it, which are still open, fail with it. The
    error names the innermost of them, unless another exception is raised already.
    """
    top = OPENED.get()
    if is_unused(component):
        component._mask = component._mask & ~OPEN | CLOSED
    if top is not None and top.component is component:
        OPENED.set(top.around)
        return top.around
    around = _unwind(component, top)
    fail(component, around)
    if not raised:
        raise out_of_order(f"this {label(component)}", component.source, top)
    return around


def _unwind(block: object, top: OpenBlock | None) -> OpenBlock | None:
    """Fail the blocks inside an open block or ``detached()``; return the block around it."""
    inside: list[OpenBlock] = []
    opened = top
    while opened is not None and opened.component is not block and opened is not block:
        inside.append(opened)
        opened = opened.around
    if opened is None:
        return top
    for inner in inside:
        if inner.component is not None:
            fail(inner.component, inner.around)
    OPENED.set(opened.around)
    return opened.around


def fail(component: Component, around: OpenBlock | None) -> None:
    """Remove a component from its parent after an error in its block; it cannot be used any more.

    Nothing happens to a component that was closed out of order and then used.
    """
    if not is_unused(component):
        return
    component.content = tuple(component.content)
    component._mask |= FAILED
    position = _position_in(around, component)
    if component._mask & PLACED and position is not None:
        children, index = position
        del children[index]


def detached() -> AbstractContextManager[None]:
    """Return a ``with`` block in which no prompt is open, so a component in it joins no block.

    Use it for parts that are built in another task or thread, and in a function that builds one
    prompt while another is being written. A block that is still open at its end is a
    :class:`ScopeError`.

    >>> from promptdsl import Section, System, detached
    >>> with System("Be kind.") as system:
    ...     with detached():
    ...         rules = Section("rules", "Cite a page.")
    >>> [child for child in system.content]
    ['Be kind.']
    """
    return _detached(author())


@contextmanager
def _detached(source: Source) -> Generator[None]:
    opened = _Detached()
    opened.component, opened.around = None, OPENED.get()
    opened.owner = (get_ident(), running_task())
    opened.source, opened.wrote = source, False
    OPENED.set(opened)
    try:
        yield
    except BaseException:
        _unwind(opened, OPENED.get())
        raise
    top = OPENED.get()
    _unwind(opened, top)
    if top is not opened:
        raise out_of_order("this detached()", source, top)


def wrote_detached() -> bool:
    """Return whether the open block is a ``detached()`` in which a component was written."""
    opened = OPENED.get()
    return isinstance(opened, _Detached) and opened.wrote


def open_block() -> Component | None:
    """Return the component of the open block, ``None`` without one: a new component joins it."""
    opened = OPENED.get()
    return None if opened is None else opened.component


def flattened(args: Iterable[object]) -> list[object]:
    """Return arguments; a list among them is replaced by its items."""
    items: list[object] = []
    for arg in args:
        if is_list(arg):
            items += arg
        else:
            items.append(arg)
    return items


def retract(args: Iterable[object]) -> None:
    """Remove the components of an argument list from the open block, because the call failed.

    They are the last children of the block. Components that were written before them stay.
    """
    written = {
        id(part)
        for part in flattened(args)
        if isinstance(part, Node) and part._mask & PLACED and is_unused(part)
    }
    top = innermost()
    if not written or top is None or top.component is None or not is_owner(top):
        return
    children: list[Child] | tuple[Child, ...] = top.component.content
    while isinstance(children, list) and children and id(children[-1]) in written:
        del children[-1]


# Errors.


def misplaced(node: Node, block: Node, at: Source | None = None) -> PlacementError:
    """Return the error for a node that may not be in a block; ``at`` is the line that put it there.

    The line of a part that was written before the block comes after the line of the block.
    """
    lines = (node.source, block.source)
    if not node._mask & PLACED and _is_before(node.source, block.source):
        lines = (block.source, node.source)
    fix = block._advice(node) if isinstance(block, Component) else ""
    return PlacementError(
        f"{named_label(node)} cannot be in {named_label(block)}", fix=fix, at=(at, *lines)
    )


def _is_before(line: Source | None, other: Source | None) -> bool:
    """Return whether a line of the author is before another one in the same file."""
    if line is None or other is None:
        return False
    return line.file == other.file and line.line < other.line


def _closed(component: Node, block: Node) -> ScopeError:
    return ScopeError(
        f"the {label(block)} around this {label(component)} is closed",
        fix="write it inside the block, or under detached()",
        at=(component.source, block.source),
    )


def _elsewhere(component: Node) -> ScopeError:
    return ScopeError(
        f"this {label(component)} is in a block that is not open here",
        fix="open it where it was written",
        at=(author(), component.source),
    )


def out_of_order(name: str, source: Source | None, top: OpenBlock | None = None) -> ScopeError:
    """Return the error for a block that is closed while ``top``, if any, is open inside it."""
    still_open, line = "", None
    if isinstance(top, _Detached):
        still_open, line = ": the detached() written inside it is still open", top.source
    elif top is not None and top.component is not None:
        still_open = f": the {label(top.component)} written inside it is still open"
        line = top.component.source
    return ScopeError(
        f"{name} is closed out of order{still_open}",
        fix="close blocks in the order they were opened; a generator suspended inside a block "
        "keeps it open",
        at=(author(), source, line),
    )


def is_owner(opened: OpenBlock) -> bool:
    """Return whether this thread and task opened a block."""
    return opened.owner == (get_ident(), running_task())


def check_owner(component: Node, opened: OpenBlock) -> None:
    """Raise :class:`ScopeError` unless this thread and task opened a block."""
    if not is_owner(opened):
        raise _foreign(component, opened)


def _foreign(component: Node, opened: OpenBlock) -> ScopeError:
    thread, task = opened.owner
    name, source = "detached()", None
    if opened.component is not None:
        name, source = label(opened.component), opened.component.source
    if thread == get_ident():
        here, there = _task_name(running_task()), _task_name(task)
    else:
        here, there = f"thread {current_thread().name!r}", "a thread that has ended"
        for owner in threads():
            if owner.ident == thread:
                there = f"thread {owner.name!r}"
    # If the standard library called the component, as a thread does, there is no author's line.
    line, library = component.source, os.path.dirname(os.__file__)
    installed = os.path.join(library, "site-packages")
    if line is not None and line.file.startswith(library) and not line.file.startswith(installed):
        line = None
    return ScopeError(
        f"this {label(component)} is written in {here}, but the open {name} belongs to {there}",
        fix="build the part under `with detached():` there, "
        "and include() it where the block is open",
        at=(line, source),
    )


def _task_name(task: Task[object] | None) -> str:
    return "the code outside any task" if task is None else f"task {task.get_name()!r}"
