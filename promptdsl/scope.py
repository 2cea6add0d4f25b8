"""What is open, and who opened it: the one context variable.

It holds an immutable chain of frames. A frame names the thread and task that opened its block, so
that code which runs elsewhere with a copy of the context is told apart instead of mixed in.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import current_thread, get_ident
from typing import Any, NamedTuple, Optional

from promptdsl.errors import PlacementError, ScopeError
from promptdsl.sources import caller
from promptdsl.tree import BARE, CLOSED, FAILED, OPEN, PLACED, Node, label

_modules = sys.modules


class Frame(NamedTuple):
    """An open block, what is open around it, and its owner. ``block`` is ``None`` in ``detached()``."""

    block: Any
    below: Optional["Frame"]
    thread: int
    task: object


OPENED: ContextVar[Frame | None] = ContextVar("promptdsl_open", default=None)


def running_task() -> object:
    """Return the asyncio task that runs here, ``None`` outside of one; asyncio is not imported."""
    asyncio = _modules.get("asyncio.tasks")
    if asyncio is None:
        return None
    loop = _modules["asyncio.events"]._get_running_loop()
    return None if loop is None else asyncio.current_task(loop)


def join(component: Any, frame: Frame) -> None:
    """Put a component into the block that is open; in ``detached()`` it stays on its own."""
    block = frame.block
    if block is None:
        return
    if frame.thread != get_ident() or frame.task is not running_task():
        raise _foreign(component, frame)
    if component.mask & block._refuses:
        raise misplaced(component, block)
    if type(block.content) is not list:
        raise ScopeError(
            f"the {label(block)} around this {label(component)} is closed",
            fix="write it inside the block, or under detached()",
            at=(component.source, block.source),
        )
    block.content.append(component)
    if component._node is not type(component):
        component.mask |= PLACED


def enter(component: Any) -> None:
    """Open a component as a block."""
    top = OPENED.get()
    if component.mask & (OPEN | CLOSED | FAILED):
        state = "open already" if component.mask & OPEN else "closed"
        raise ScopeError(
            f"this {label(component)} is {state}, a block is entered once",
            fix="write a new component for a second block",
            at=(caller(3), component.source),
        )
    thread, task = get_ident(), running_task()
    if component.mask & PLACED and (
        top is None or top.thread != thread or (top.task is not task)
    ):
        raise _foreign(component, top or Frame(component, None, thread, task))
    component.content = list(component.content)
    component.mask = component.mask & ~BARE | OPEN
    OPENED.set(Frame(component, top, thread, task))


def leave(component: Any, *, raised: bool) -> Frame | None:
    """Close the block on top, which must be this one; return the frame below it.

    When it is not, the blocks that were left open fail with it, and the error names the innermost
    one (unless an exception is on its way already).
    """
    top = OPENED.get()
    component.mask = component.mask & ~OPEN | CLOSED
    if top is not None and top.block is component:
        OPENED.set(top.below)
        return top.below
    unwound = _unwind(component, top)
    fail(component, unwound)
    if raised:
        return unwound
    still = top.block if top is not None and top.block is not None else None
    raise ScopeError(
        f"this {label(component)} is closed out of order"
        + (f": the {label(still)} written inside it is still open" if still is not None else ""),
        fix="close blocks in the order they were opened; a generator that is suspended inside a block "
        "keeps it open",
        at=(caller(3), component.source, None if still is None else still.source),
    )


def _unwind(component: Any, top: Frame | None) -> Frame | None:
    """Fail the blocks above ``component`` and return the frame below it, if it is open here at all."""
    chain: list[Frame] = []
    frame = top
    while frame is not None and frame.block is not component:
        chain.append(frame)
        frame = frame.below
    if frame is None:
        return top
    for above in chain:
        if above.block is not None:
            above.block.mask |= FAILED
    OPENED.set(frame.below)
    return frame.below


def fail(component: Any, below: Frame | None) -> None:
    """Take a block that raised out of its parent and leave it unusable."""
    component.content = tuple(component.content)
    component.mask |= FAILED
    if component.mask & PLACED:
        take_out([component], below)


def take_out(components: list[Any], frame: Frame | None) -> None:
    """Remove components from whichever open block holds them."""
    unwanted = {id(component) for component in components}
    while frame is not None and frame.block is not None:
        entries = frame.block.content
        if type(entries) is list:
            entries[:] = [entry for entry in entries if id(entry) not in unwanted]
        frame = frame.below


@contextmanager
def detached() -> Iterator[None]:
    """Give a place where no block is open.

    For parts built in another task or thread, and for a function that builds another prompt while
    one is being written. Components written here are detached parts.
    """
    frame = Frame(None, OPENED.get(), get_ident(), running_task())
    token = OPENED.set(frame)
    try:
        yield
    finally:
        OPENED.reset(token)


def is_detached() -> bool:
    """Return whether a component written here would be a detached part."""
    frame = OPENED.get()
    return frame is None or frame.block is None


def misplaced(node: Node, block: Node) -> PlacementError:
    """Return the error for a node that may not stand in a block."""
    advice = getattr(block, "_advice", None)
    return PlacementError(
        f"a {label(node)} cannot stand in a {label(block)}",
        fix=advice(node) if advice is not None else "",
        at=(node.source, block.source),
    )


def _foreign(component: Any, frame: Frame) -> ScopeError:
    here = f"thread {current_thread().name!r}" if frame.thread != get_ident() else _name(running_task())
    there = "another thread" if frame.thread != get_ident() else _name(frame.task)
    block = frame.block
    return ScopeError(
        f"this {label(component)} is written in {here}, but the open {label(block)} belongs to {there}",
        fix="build the part under `with detached():` there, and include() it where the block is open",
        at=(component.source, block.source),
    )


def _name(task: Any) -> str:
    return "the code outside any task" if task is None else f"task {task.get_name()!r}"
