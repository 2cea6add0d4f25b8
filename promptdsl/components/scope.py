"""What is open, and who opened it: the one context variable.

It holds an immutable chain of open blocks, the innermost first. Each names the thread and task that
opened it, so that code which runs elsewhere with a copy of the context is told apart instead of
mixed in.
"""

import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from threading import current_thread, get_ident
from threading import enumerate as threads
from typing import Any, TypeAlias

from promptdsl.foundation.errors import PlacementError, ScopeError
from promptdsl.foundation.source import Source, author
from promptdsl.tree.masks import BARE, CLOSED, FAILED, OPEN, PLACED
from promptdsl.tree.node import Node, label, named_label

_modules = sys.modules
_EVENTS = "asyncio.events"
NOT_BARE = ~BARE


OpenBlock: TypeAlias = tuple[Any, Any, int, Any, int]
"""A component whose block is open, the open block around it, its owner (thread and asyncio task),
and what it forbids at once.

The block is ``None`` in ``detached()``. A plain tuple, because one is made for every block."""

OPENED: ContextVar[OpenBlock | None] = ContextVar("promptdsl_open", default=None)


def _first_look() -> Any:
    """Return the event loop that runs here; from now on asyncio's own function is asked."""
    global running_loop  # noqa: PLW0603
    asked = getattr(_modules[_EVENTS], "_get_running_loop", None)
    if asked is None:  # another thread is just importing it
        return None
    running_loop = asked
    return asked()


running_loop: Callable[[], Any] = _first_look


def running_task() -> Any:
    """Return the asyncio task that runs here, ``None`` outside of one; asyncio is not imported."""
    loop = running_loop() if _EVENTS in _modules else None
    return None if loop is None else _modules["asyncio.tasks"].current_task(loop)


def join(component: Any, opened: OpenBlock, mask: int) -> None:
    """Put a new component into the block that is open, and set its mask.

    In ``detached()`` it stays on its own.
    """
    block, _, thread, task, forbidden = opened
    if block is None:
        component.mask = mask
        return
    loop = running_loop() if _EVENTS in _modules else None
    if thread != get_ident() or task is not (None if loop is None else running_task()):
        raise _foreign(component, opened)
    component.mask = mask | PLACED
    if mask & forbidden:
        raise misplaced(component, block)
    try:
        block.content.append(component)
    except AttributeError:
        raise _closed(component, block) from None


def place(component: Any) -> None:
    """Put a new component whose mask is set into the block that is open, if one is."""
    top = OPENED.get()
    if top is not None:
        join(component, top, component.mask)


def put(node: Node, opened: OpenBlock) -> None:
    """Put a finished node into the block that is open; it may stand in others, too."""
    check_owner(node, opened)
    block, forbidden = opened[0], opened[4]
    if node.mask & forbidden:
        raise misplaced(node, block)
    if type(block.content) is not list:
        raise _closed(node, block)
    block.content.append(node)  # pyright: ignore[reportUnknownMemberType]


def enter(component: Any) -> Any:
    """Open a component as a block and return it.

    A block inside another one is the same owner's: what is written in it is checked anyway.
    """
    mask = component.mask
    top = OPENED.get()
    opened: OpenBlock
    if mask & (OPEN | CLOSED):
        raise _twice(component)
    if top is not None and top[0] is not None:
        if mask & PLACED:
            entries = top[0].content
            # Mostly it was written just now, so it is the newest entry.
            if not (entries and entries[-1] is component) and not _stands_here(component, top):
                raise _elsewhere(component)
        opened = (component, top, top[2], top[3], component._forbids_at_once)
    elif mask & PLACED:
        raise _elsewhere(component)
    else:
        opened = (component, top, get_ident(), running_task(), component._forbids_at_once)
    content = component.content
    component.content = [*content] if content else []
    component.mask = mask & NOT_BARE | OPEN
    OPENED.set(opened)
    return component


def _stands_here(component: Any, top: OpenBlock | None) -> bool:
    """Return whether one of the open blocks holds a component: mostly the innermost, at its end."""
    while top is not None and top[0] is not None:
        if any(entry is component for entry in reversed(top[0].content)):
            return True
        top = top[1]
    return False


def leave(component: Any, *, raised: bool) -> OpenBlock | None:
    """Close a block that raised, or is not on top; return the one below it.

    When it is not on top, the blocks that were left open fail with it, and the error names the
    innermost one (unless an exception is on its way already).
    """
    top = OPENED.get()
    component.mask = component.mask & ~OPEN | CLOSED
    if top is not None and top[0] is component:
        below: OpenBlock | None = top[1]
        OPENED.set(below)
        return below
    unwound = _unwind(component, top)
    fail(component, unwound)
    if not raised:
        raise _out_of_order(f"this {label(component)}", component.source, top)
    return unwound


def _unwind(block: Any, top: OpenBlock | None) -> OpenBlock | None:
    """Fail what is open above a block (or a ``detached()``) and return what is below.

    Where it is not open here at all, nothing changes.
    """
    chain: list[OpenBlock] = []
    opened = top
    while opened is not None and opened[0] is not block and opened is not block:
        chain.append(opened)
        opened = opened[1]
    if opened is None:
        return top
    for inner in chain:
        if inner[0] is not None:
            fail(inner[0], inner[1])
    below: OpenBlock | None = opened[1]
    OPENED.set(below)
    return below


def fail(component: Any, below: OpenBlock | None) -> None:
    """Take a block that raised out of its parent and leave it unusable."""
    component.content = tuple(component.content)
    component.mask |= FAILED
    if component.mask & PLACED:
        take_out(component, below)


def take_out(component: Any, opened: OpenBlock | None) -> None:
    """Remove a component from the open block that holds it: mostly the innermost, at its end."""
    while opened is not None and opened[0] is not None:
        entries: Any = opened[0].content
        # What is a tuple is closed: it lost its place elsewhere.
        places = range(len(entries) - 1, -1, -1) if hasattr(entries, "append") else ()
        for index in places:
            if entries[index] is component:
                del entries[index]
                return
        opened = opened[1]


def detached() -> AbstractContextManager[None]:
    """Give a place where no block is open.

    For parts built in another task or thread, and for a function that builds another prompt while
    one is being written. Components written here are detached parts.
    """
    return _detached(author())


class _Detached(tuple[Any, Any, int, Any, int]):
    """An open block without a component, of a ``detached()``: it knows where it was written."""

    source: Source


@contextmanager
def _detached(place: Source) -> Generator[None]:
    opened = _Detached((None, OPENED.get(), get_ident(), running_task(), 0))
    opened.source = place
    OPENED.set(opened)
    try:
        yield
    except BaseException:
        _unwind(opened, OPENED.get())
        raise
    top = OPENED.get()
    _unwind(opened, top)
    if top is not opened:
        raise _out_of_order("this detached()", place, top)


def open_block() -> Any:
    """Return the component a component written here would go into, ``None`` when there is none."""
    opened = OPENED.get()
    return None if opened is None else opened[0]


def misplaced(node: Node, block: Node) -> PlacementError:
    """Return the error for a node that may not stand in a block."""
    advice = getattr(block, "_advice", None)
    return PlacementError(
        f"{named_label(node)} cannot stand in {named_label(block)}",
        fix=advice(node) if advice is not None else "",
        at=(node.source, block.source),
    )


def _closed(component: Any, block: Any) -> ScopeError:
    return ScopeError(
        f"the {label(block)} around this {label(component)} is closed",
        fix="write it inside the block, or under detached()",
        at=(component.source, block.source),
    )


def _elsewhere(component: Any) -> ScopeError:
    return ScopeError(
        f"this {label(component)} stands in a block that is not open here",
        fix="open it where it was written",
        at=(author(), component.source),
    )


def _twice(component: Any) -> ScopeError:
    state = "closed" if component.mask & CLOSED else "open already"
    return ScopeError(
        f"this {label(component)} is {state}, a block is entered once",
        fix="write a new component for a second block",
        at=(author(), component.source),
    )


def _out_of_order(name: str, place: Source | None, top: OpenBlock | None) -> ScopeError:
    still: Any = None if top is None else top[0] or top
    around = None if still is None else still.source
    named = ""
    if still is not None:
        inner = "detached()" if isinstance(still, tuple) else label(still)
        named = f": the {inner} written inside it is still open"
    return ScopeError(
        f"{name} is closed out of order{named}",
        fix="close blocks in the order they were opened; a generator suspended inside a block "
        "keeps it open",
        at=(author(), place, around),
    )


def is_owner(opened: OpenBlock) -> bool:
    """Return whether this thread and task opened a block."""
    return opened[2] == get_ident() and opened[3] is running_task()


def check_owner(component: Any, opened: OpenBlock) -> None:
    """Raise :class:`ScopeError` unless this thread and task opened a block."""
    if not is_owner(opened):
        raise _foreign(component, opened)


def _foreign(component: Any, opened: OpenBlock) -> ScopeError:
    block, _, thread, task, _ = opened
    elsewhere = thread != get_ident()
    here = f"thread {current_thread().name!r}" if elsewhere else _name(running_task())
    there = _thread(thread) if elsewhere else _name(task)
    return ScopeError(
        f"this {label(component)} is written in {here}, "
        f"but the open {label(block)} belongs to {there}",
        fix="build the part under `with detached():` there, "
        "and include() it where the block is open",
        at=(component.source, block.source),
    )


def _thread(ident: int) -> str:
    names = [f"thread {thread.name!r}" for thread in threads() if thread.ident == ident]
    return names[0] if names else "a thread that has ended"


def _name(task: Any) -> str:
    return "the code outside any task" if task is None else f"task {task.get_name()!r}"
