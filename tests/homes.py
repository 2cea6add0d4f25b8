"""Where code runs that writes prompts: here, in a thread, in a task, or for a moment elsewhere."""

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

Work = Callable[[], Any]


def ending(work: Work) -> Any:
    """Return what a function returns, or the error it raises, whichever that is."""
    try:
        return work()
    except Exception as error:  # a loop or a thread that died of it would be waited for
        return error


class Home(Protocol):
    """A place where one writer's code runs, a step at a time."""

    def run(self, work: Work) -> Any:
        """Return the outcome of a function that runs here; what it awaits is awaited."""

    def close(self) -> None:
        """End the thread or the task."""


def awaited(work: Work) -> Any:
    """Return the outcome of a function outside of any task."""
    found = ending(work)
    return asyncio.run(found) if inspect.iscoroutine(found) else found


class Here:
    """The code of the test itself, outside any task, with a context of its own."""

    def __init__(self) -> None:
        self.context = contextvars.Context()

    def run(self, work: Work) -> Any:
        """Return the outcome of a function."""
        return self.context.run(awaited, work)

    def close(self) -> None:
        """Nothing was started."""


class Thread:
    """A thread that lives as long as its writer, with a context of its own."""

    def __init__(self, context: contextvars.Context) -> None:
        self.context = context
        self.pool = ThreadPoolExecutor(1)

    def run(self, work: Work) -> Any:
        """Return the outcome of a function in the thread."""
        return self.pool.submit(self.context.run, awaited, work).result()

    def close(self) -> None:
        """End the thread."""
        self.pool.shutdown()


class Task:
    """An asyncio task that lives as long as its writer, in a loop of the test's thread."""

    def __init__(self, context: contextvars.Context) -> None:
        self.loop = asyncio.new_event_loop()
        self.orders: asyncio.Queue[tuple[Work, asyncio.Future[Any]]] = asyncio.Queue()
        self.task = self.loop.create_task(self._serve(), context=context)

    async def _serve(self) -> None:
        while True:
            work, done = await self.orders.get()
            found = ending(work)
            done.set_result(await found if inspect.isawaitable(found) else found)

    def run(self, work: Work) -> Any:
        """Return the outcome of a function in the task."""
        done = self.loop.create_future()
        self.orders.put_nowait((work, done))
        return self.loop.run_until_complete(done)

    def close(self) -> None:
        """End the task and its loop."""
        self.task.cancel()
        self.loop.run_until_complete(asyncio.gather(self.task, return_exceptions=True))
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


# For a moment elsewhere.


async def in_new_task(work: Work) -> Any:
    """Return the outcome of a function in a task made by ``asyncio.create_task``."""

    async def task() -> Any:
        await asyncio.sleep(0)
        return ending(work)

    return await asyncio.create_task(task())


async def gathered(work: Work) -> Any:
    """Return the outcome of a function that ``asyncio.gather`` runs beside something else."""
    found, _ = await asyncio.gather(in_new_task(work), asyncio.sleep(0))
    return found


async def to_thread(work: Work) -> Any:
    """Return the outcome of a function that ``asyncio.to_thread`` runs."""
    return await asyncio.to_thread(ending, work)


def in_copied_context(work: Work) -> Any:
    """Return the outcome of a function in a thread that has this one's context."""
    return _in_thread(work, contextvars.copy_context())


def in_bare_thread(work: Work) -> Any:
    """Return the outcome of a function in a thread of its own."""
    return _in_thread(work, contextvars.Context())


def _in_thread(work: Work, context: contextvars.Context) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(context.run(ending, work)))
    thread.start()
    thread.join()
    return found[0]


COPYING: dict[str, Callable[[Work], Awaitable[Any] | Any]] = {
    "create_task": in_new_task,
    "gather": gathered,
    "to_thread": to_thread,
    "copied context": in_copied_context,
}
"""The ways to run code elsewhere that take the open block along, where it may not be written to."""
