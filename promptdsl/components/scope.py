"""The base class of components, and the open ``with`` blocks.

Read :class:`Component` first, then :class:`OpenBlock` and the functions after it. What comes before
them only saves time: it remembers what earlier components needed.
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


# Shortcuts for the most frequent components, each with the time that it saves.
#
# A shortcut never changes a result: ``tests/components/test_fast_path.py`` compares both paths.

P = ParamSpec("P")
R = TypeVar("R")

MAX_REMEMBERED = 10_000
"""The maximum number of options that each table below remembers."""

SECTION_OPTIONS: dict[object, Options] = {}
"""The options of earlier sections that have an id, perhaps a priority, and no other option.

The id and the priority are not checked again: a section takes 0.5 µs instead of 3 µs."""

BY_PRIORITY: dict[type[object], dict[object, Options]] = {int: {}, float: {}}
"""The options of earlier components that have only a priority, by its type and its value.

A turn with a priority takes 0.9 µs instead of 2 µs. Priorities of other types are not remembered,
because ``True`` is equal to 1."""


earlier_section = SECTION_OPTIONS.get
"""Return the options of an earlier section with this id and no other option, or ``None``."""


def _look_up_event_loop() -> AbstractEventLoop | None:
    """Return the running event loop, and replace this function by that of asyncio.

    So asyncio's function is looked up only once, which makes a component in a block 15 % faster.
    This function does not import asyncio: a program without asyncio has no event loop.
    """
    global running_loop  # noqa: PLW0603
    lookup: Callable[[], AbstractEventLoop | None] | None = getattr(
        sys.modules["asyncio.events"], "_get_running_loop", None
    )
    if lookup is None:  # another thread is importing asyncio at this moment
        return None
    running_loop = lookup
    return running_loop()


running_loop: Callable[[], AbstractEventLoop | None] = _look_up_event_loop


def section_options(id: str, options: Mapping[str, object]) -> Options | None:
    """Return the options of an earlier section with this id, this priority, and no other option.

    Returns ``None`` if there was no such section, or if ``options`` has another option.
    """
    priority = options.get("priority")
    priority_type = type(priority)
    if len(options) == 1 and priority_type in BY_PRIORITY:
        return SECTION_OPTIONS.get((id, priority_type, priority))
    return None


def remember_section(options: Options) -> None:
    """Remember the options of a section that has an id, perhaps a priority, and no other option."""
    id, priority = options.id, options.priority
    if len(SECTION_OPTIONS) < MAX_REMEMBERED and options == Options(id=id, priority=priority):
        SECTION_OPTIONS[id if priority is None else (id, type(priority), priority)] = options


_READ: WeakKeyDictionary[FunctionType, dict[bool, tuple[object, list[object]]]] = (
    WeakKeyDictionary()
)
"""What reading a function returned, and the attributes that it had then.

The keys are the function, and whether it was read as a plain function or as a bound method."""

_COMPARED = ("__name__", "__doc__", "__code__", "__defaults__", "__signature__")
"""The attributes of a function that show whether it changed."""


def remembered(function: Callable[P, object], read: Callable[[Callable[P, object]], R]) -> R:
    """Return ``read(function)``; the function is read again only if it changed.

    Many prompts use the same functions, and a ``Tool`` takes 0.2 ms instead of 5 ms.
    """
    key = getattr(function, "__func__", function)
    if not isinstance(key, FunctionType):
        return read(function)
    compared: list[object] = []
    for function_or_wrapped in (key, getattr(key, "__wrapped__", key)):
        compared += [getattr(function_or_wrapped, name, None) for name in _COMPARED]
        for name in ("__annotations__", "__kwdefaults__"):
            values_by_name: dict[str, object] = getattr(function_or_wrapped, name, None) or {}
            compared += [*values_by_name, *values_by_name.values()]
    results = _READ.setdefault(key, {})
    earlier = results.get(key is function)
    # They are compared by identity, because a default may define ``__eq__``.
    if (
        earlier is None
        or len(earlier[1]) != len(compared)
        or not all(map(is_, earlier[1], compared))
    ):
        earlier = results[key is function] = read(function), compared
    return cast("R", earlier[0])


# The base class of components, and the open ``with`` blocks.
#
# The context variable ``OPENED`` holds the innermost open block, and each block holds the block
# around it. Code in another thread or task may get a copy of the context. Therefore each block has
# the thread and the task that opened it: code in another one gets an error and cannot write into
# the block.
#
# The functions are in the order in which a component needs them: ``start``, ``join`` and ``put``,
# ``enter``, ``leave``, ``fail``, ``retract``. ``block.py`` has the others. The errors come last.

_modules = sys.modules
_EVENTS = "asyncio.events"
"""The module of event loops; a program without asyncio has not imported it."""
getframe = sys._getframe


def _is_of_author(cls: type) -> bool:
    """Return whether a class was defined outside of promptdsl."""
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
    """The bits of its mask that every component of the class has."""
    _open_again_advice: ClassVar[str] = "write a new component for a second block"
    """The advice of the error for a component that is opened a second time."""
    _forbids_at_once: ClassVar[int] = 0
    """The bits that no child written in its block may have. They are checked at once.

    Other rules are checked when the block closes."""

    content: Any  # Any: a list of children while its block is open, otherwise a tuple

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
        """Check the fields, and convert their values to plain ones, such as a ``str``.

        Raises :class:`PromptError` for a bad value.
        """

    @classmethod
    def _advice(cls, node: Node) -> str:  # noqa: ARG003 (its subclasses read it)
        """Return where to write a node that may not be in this block."""
        return "write it outside of this block"


class FrozenComponent:
    """The first base of a frozen class, which a component gets at its first use.

    The frozen class of ``User`` is a subclass of ``User`` with the same name. After ``turn`` gets
    this class, ``isinstance(turn, User)`` is still true, but ``turn`` cannot be changed.
    """

    __slots__ = ()
    __setattr__ = Node.__setattr__
    __delattr__ = Node.__delattr__
    __enter__ = Node.__enter__
    __exit__ = Node.__exit__

    def __init_subclass__(cls) -> None:
        """Raise the error of a component for a subclass that an author writes."""
        if _is_of_author(cls):
            super().__init_subclass__()


def is_unused(node: Node) -> bool:
    """Return whether a node is a component that can still be changed: it was not used yet."""
    return type(node) is not node._frozen


def freeze(node: Node) -> Node:
    """Freeze a node and return it; its content is not checked."""
    if is_unused(node):
        node.__class__ = node._frozen
    return node


def is_text(value: object) -> TypeGuard[str]:
    """Return whether an author's argument is a string, whatever its declared type is."""
    return isinstance(value, str)


def start(component: Component, calls: int = 2) -> None:
    """Set the first fields of a new component, among them the author's line.

    ``calls`` is the number of calls between the author's line and this function.
    """
    frame = getframe(calls)
    component._code = frame.f_code
    component._offset = frame.f_lasti
    component.content = ()
    component._mask = component._initial_mask
    component.options = DEFAULTS


class OpenBlock:
    """An open ``with`` block.

    ``component`` is the component of the block, ``None`` in ``detached()``. ``enclosing`` is the
    open block around it. ``owner`` is the thread that opened it, and its task if there is one.
    ``forbids`` is ``_forbids_at_once`` of the component.

    The caller sets the fields, because with an ``__init__`` opening a block takes 10 % longer.
    """

    __slots__ = ("component", "enclosing", "forbids", "owner")
    component: Component | None
    enclosing: OpenBlock | None
    owner: tuple[int, Task[object] | None]
    forbids: int


class _Detached(OpenBlock):
    """The open block of a ``detached()``, with the line that opened it."""

    __slots__ = ("source", "wrote")
    source: Source
    wrote: bool
    """Whether a component was written in it."""


OPENED: ContextVar[OpenBlock | None] = ContextVar("promptdsl_open", default=None)
"""The innermost open block, ``None`` if no block is open."""

innermost = OPENED.get
set_innermost = OPENED.set


def running_task() -> Task[object] | None:
    """Return the running asyncio task, or ``None``; asyncio is not imported for this."""
    if _EVENTS not in _modules:
        return None
    loop = running_loop()
    return None if loop is None else _modules["asyncio.tasks"].current_task(loop)


def join(component: Node, block: OpenBlock, mask: int) -> int:
    """Put a new component into an open block, and return its new mask.

    Raises :class:`ScopeError` if another thread or task opened the block, or if it was closed
    meanwhile, and :class:`PlacementError` if the component may not be there.
    """
    parent = block.component
    if parent is None:
        if isinstance(block, _Detached):
            block.wrote = True
        return mask
    try:
        thread, task = block.owner
        if thread != get_ident() or running_task() is not task:
            raise _foreign(component, block)
        if mask & block.forbids:
            component._mask = mask | PLACED  # the error puts its line before that of the block
            raise misplaced(component, parent)
        try:
            parent.content.append(component)
        except AttributeError:
            raise _closed(component, parent) from None
    except PromptError as error:
        end_traceback(error)
        raise
    return mask | PLACED


def join_open_block(component: Node) -> None:
    """Put a new component into the open block, if there is one; the component has its mask."""
    top = OPENED.get()
    if top is None:
        return
    try:
        component._mask = join(component, top, component._mask)
    except PromptError as error:
        end_traceback(error)
        raise


def put(node: Node, block: OpenBlock, at: Source | None = None) -> None:
    """Put a finished node into an open block. A node may be in several blocks.

    ``at`` is the line for an error. Raises the errors of :func:`join`.
    """
    check_owner(node, block)
    parent = block.component
    if parent is None:
        return
    if node._mask & parent._forbids_at_once:
        raise misplaced(node, parent, at)
    children: list[Child] | tuple[Child, ...] = parent.content
    if not isinstance(children, list):
        raise _closed(node, parent)
    children.append(node)


C = TypeVar("C", bound=Component)


def enter(component: C) -> C:
    """Open a component as a block and return it.

    A block inside another one has the owner of the outer block: a component is checked when it
    joins the block. Raises :class:`ScopeError` for a component that was opened before, or that
    joined another block.
    """
    mask, top = component._mask, innermost()
    if mask & FAILED:  # OPEN or CLOSED
        state = "closed" if mask & CLOSED else "still open"
        raise ScopeError(
            f"this {label(component)} cannot be opened again: its block is {state}",
            fix=component._open_again_advice,
            at=(author(), component.source),
        )
    if mask & PLACED and _position_in(top, component) is None:
        raise _not_open_here(component)
    owner = (get_ident(), running_task()) if top is None or top.component is None else top.owner
    block = OpenBlock()
    block.component, block.enclosing = component, top
    block.owner, block.forbids = owner, component._forbids_at_once
    content = component.content
    component.content = [*content] if content else []
    component._mask = mask | OPEN
    set_innermost(block)
    return component


def _position_in(block: OpenBlock | None, component: Node) -> tuple[list[Child], int] | None:
    """Return the children of the open block that contains a component, and its index in them.

    ``block`` is the innermost open block. Returns ``None`` if no open block has the component.
    """
    while block is not None and block.component is not None:
        children: list[Child] | tuple[Child, ...] = block.component.content
        # From the last child on, because most components were written just now. The content of a
        # closed block is a tuple.
        for index in range(len(children) - 1, -1, -1):
            if children[index] is component and isinstance(children, list):
                return children, index
        block = block.enclosing
    return None


@public_api
def leave(component: Component, *, raised: bool) -> OpenBlock | None:
    """Close a block that an error ended, or that is not the innermost; return the block around it.

    If it is not the innermost block, the blocks inside it are still open. Then all of them fail,
    and a :class:`ScopeError` names the innermost one. With ``raised`` another exception is already
    raised, so this error is not.
    """
    top = OPENED.get()
    if is_unused(component):
        component._mask = component._mask & ~OPEN | CLOSED
    if top is not None and top.component is component:
        OPENED.set(top.enclosing)
        return top.enclosing
    enclosing = _unwind(component, top)
    fail(component, enclosing)
    if not raised:
        raise out_of_order(f"this {label(component)}", component.source, top)
    return enclosing


def _unwind(end: object, top: OpenBlock | None) -> OpenBlock | None:
    """Fail all blocks that are open inside ``end``, and close it; return the block around it.

    ``end`` is the component of a block, or the block of a ``detached()``. ``top`` is the innermost
    open block. Nothing happens if ``end`` is not open.
    """
    inner_blocks: list[OpenBlock] = []
    block = top
    while block is not None and block.component is not end and block is not end:
        inner_blocks.append(block)
        block = block.enclosing
    if block is None:
        return top
    for inner in inner_blocks:
        if inner.component is not None:
            fail(inner.component, inner.enclosing)
    OPENED.set(block.enclosing)
    return block.enclosing


def fail(component: Component, enclosing: OpenBlock | None) -> None:
    """Remove a component from its parent after an error in its block; it can never be used.

    Nothing happens to a component that was closed out of order and was used since then.
    """
    if not is_unused(component):
        return
    component.content = tuple(component.content)
    component._mask |= FAILED
    position = _position_in(enclosing, component)
    if component._mask & PLACED and position is not None:
        children, index = position
        del children[index]


def detached() -> AbstractContextManager[None]:
    """Return a ``with`` block in which no prompt is open: a component in it joins no block.

    Use it for parts that are built in another task or thread. Use it also in a function that builds
    one prompt while another prompt is being written.

    Raises :class:`ScopeError` at its end if a block that was opened in it is still open.

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
    block = _Detached()
    block.component, block.enclosing = None, OPENED.get()
    block.owner = (get_ident(), running_task())
    block.source, block.wrote = source, False
    OPENED.set(block)
    try:
        yield
    except BaseException:
        _unwind(block, OPENED.get())
        raise
    top = OPENED.get()
    _unwind(block, top)
    if top is not block:
        raise out_of_order("this detached()", source, top)


def wrote_detached() -> bool:
    """Return whether the open block is a ``detached()`` in which a component was written."""
    block = OPENED.get()
    return isinstance(block, _Detached) and block.wrote


def open_block() -> Component | None:
    """Return the component that a new component would join, ``None`` if no block is open."""
    block = OPENED.get()
    return None if block is None else block.component


def flattened(args: Iterable[object]) -> list[object]:
    """Return the arguments, with the items of a list instead of the list."""
    items: list[object] = []
    for arg in args:
        if is_list(arg):
            items += arg
        else:
            items.append(arg)
    return items


def retract(args: Iterable[object]) -> None:
    """Remove the components among the arguments of a failed call from the open block.

    They joined it just before the call, so they are its last children. Other children stay.
    """
    argument_ids = {
        id(arg)
        for arg in flattened(args)
        if isinstance(arg, Node) and arg._mask & PLACED and is_unused(arg)
    }
    top = innermost()
    if not argument_ids or top is None or top.component is None or not is_owner(top):
        return
    children: list[Child] | tuple[Child, ...] = top.component.content
    while isinstance(children, list) and children and id(children[-1]) in argument_ids:
        del children[-1]


# Errors.


def misplaced(node: Node, block: Node, at: Source | None = None) -> PlacementError:
    """Return the error for a node that may not be in a block.

    ``at`` is the line that put the node there. If the node was written before the block, the line
    of the block comes first.
    """
    lines = (node.source, block.source)
    if not node._mask & PLACED and _is_before(node.source, block.source):
        lines = (block.source, node.source)
    fix = block._advice(node) if isinstance(block, Component) else ""
    return PlacementError(
        f"{named_label(node)} cannot be in {named_label(block)}", fix=fix, at=(at, *lines)
    )


def _is_before(line: Source | None, other: Source | None) -> bool:
    """Return whether a line is above another line in the same file."""
    if line is None or other is None:
        return False
    return line.file == other.file and line.line < other.line


def _closed(component: Node, block: Node) -> ScopeError:
    return ScopeError(
        f"the {label(block)} around this {label(component)} is closed",
        fix="write it inside the block, or under `with detached():`",
        at=(component.source, block.source),
    )


def _not_open_here(component: Node) -> ScopeError:
    return ScopeError(
        f"this {label(component)} belongs to a block that is not open here, so it cannot be opened",
        fix="open it in the block in which it was written",
        at=(author(), component.source),
    )


def out_of_order(name: str, source: Source | None, top: OpenBlock | None = None) -> ScopeError:
    """Return the error for a block that is closed out of order.

    ``top`` is the innermost block that is still open inside it, if there is one.
    """
    still_open, line = "", None
    if isinstance(top, _Detached):
        still_open, line = ": the detached() written inside it is still open", top.source
    elif top is not None and top.component is not None:
        still_open = f": the {label(top.component)} written inside it is still open"
        line = top.component.source
    return ScopeError(
        f"{name} is closed out of order{still_open}",
        fix="close the inner block first; a generator that is suspended inside a block keeps the "
        "block open",
        at=(author(), source, line),
    )


def is_owner(block: OpenBlock) -> bool:
    """Return whether the running thread and task opened a block."""
    return block.owner == (get_ident(), running_task())


def check_owner(component: Node, block: OpenBlock) -> None:
    """Raise :class:`ScopeError` unless the running thread and task opened a block."""
    if not is_owner(block):
        raise _foreign(component, block)


def _foreign(component: Node, block: OpenBlock) -> ScopeError:
    thread, task = block.owner
    name, source = "detached()", None
    if block.component is not None:
        name, source = label(block.component), block.component.source
    if thread == get_ident():
        writer, opener = _task_name(running_task()), _task_name(task)
    else:
        writer, opener = f"thread {current_thread().name!r}", "a thread that has ended"
        for owner in threads():
            if owner.ident == thread:
                opener = f"thread {owner.name!r}"
    # A thread calls its target from the standard library: that line is not one of the author's.
    line, library = component.source, os.path.dirname(os.__file__)
    installed = os.path.join(library, "site-packages")
    if line is not None and line.file.startswith(library) and not line.file.startswith(installed):
        line = None
    return ScopeError(
        f"this {label(component)} is written in {writer}, but the open {name} belongs to {opener}",
        fix="build the part under `with detached():`, and include() it where the block is open",
        at=(line, source),
    )


def _task_name(task: Task[object] | None) -> str:
    return "the code outside any task" if task is None else f"task {task.get_name()!r}"
