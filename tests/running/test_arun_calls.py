"""Running the calls of a message together."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from promptdsl import *
from tests.errors import raised
from tests.running.tools import call, charges, outcome

pytestmark = pytest.mark.native


async def results_of(calls: Any, tools: Any, **options: Any) -> list[tuple[str, str | None]]:
    """Return the text of each result, and the kind of its error."""
    return [outcome(message) async for message in arun_calls(calls, tools, **options)]


def numbered(count: int, name: str = "work") -> list[ToolUseBlock]:
    """Return calls with a number each."""
    return [call(name, f"call_{number}", number=number) for number in range(count)]


class Desk:
    """Tools that wait until they are let go, and know how many of them run."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.cancelled: list[int] = []
        self.most = 0
        self.doors: dict[int, asyncio.Event] = {}

    async def work(self, number: int) -> int:
        """Wait until the door of a number is open."""
        self.begun.append(number)
        self.most = max(self.most, len(self.begun) - len(self.ended) - len(self.cancelled))
        door = self.doors.setdefault(number, asyncio.Event())
        try:
            await door.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # it takes its time, which is waited for
            self.cancelled.append(number)
            raise
        self.ended.append(number)
        return number

    async def let_go(self, *numbers: int) -> None:
        """Open the doors of some numbers, each as soon as it is waited at."""
        for number in numbers:
            await until(partial(self.doors.__contains__, number))
            self.doors[number].set()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0)


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Return what an asynchronous function returns."""
    return asyncio.run(main())


def test_results_are_in_the_order_of_the_calls() -> None:
    """All calls run at once, and their results come in their order, not in that of their ends."""

    async def main() -> tuple[Any, Any]:
        desk = Desk()
        letting_go = asyncio.create_task(desk.let_go(3, 1, 2, 0))
        results = await results_of(numbered(4), [desk.work])
        await letting_go
        return results, desk.ended

    assert ([("0", None), ("1", None), ("2", None), ("3", None)], [3, 1, 2, 0]) == run(main)


@pytest.mark.parametrize(("options", "maximum"), [({}, 8), ({"limit": 1}, 1), ({"limit": 3}, 3)])
def test_a_limit(options: dict[str, int], maximum: int) -> None:
    """No more than limit= run at once, eight by default."""

    async def main() -> tuple[int, int]:
        desk = Desk()
        letting_go = asyncio.create_task(desk.let_go(*range(12)))
        results = await results_of(numbered(12), [desk.work], **options)
        await letting_go
        return desk.most, len(results)

    assert (maximum, 12) == run(main)


def test_functions_in_threads() -> None:
    """A function that is no async def runs in a thread, with the context of the loop's task."""
    customer = ContextVar("customer", default="")
    barrier = threading.Barrier(2, timeout=10)

    def work(number: int) -> str:
        barrier.wait()  # the other one has to run at the same time
        return f"{number} {customer.get()} {threading.current_thread() is threading.main_thread()}"

    async def main() -> Any:
        customer.set("Ann")
        return await results_of(numbered(2), [work])

    assert [("0 Ann False", None), ("1 Ann False", None)] == run(main)


def test_a_function_that_returns_a_coroutine() -> None:
    """What a function in a thread returns is awaited."""

    async def later(number: int) -> int:
        await asyncio.sleep(0)
        return number

    def work(number: int) -> Awaitable[int]:
        return later(number)

    assert [("0", None)] == run(lambda: results_of(numbered(1), {"work": work}))


@pytest.mark.parametrize("kind", [KeyError, StopIteration, TimeoutError, StopAsyncIteration])
@pytest.mark.parametrize("is_async", [True, False])
def test_exceptions(kind: type[Exception], is_async: bool) -> None:
    """An exception is the result of its call alone, of a function of either kind."""

    async def fail_later(number: int) -> int:
        raise kind(number)

    def fail(number: int) -> int:
        raise kind(number)

    tools = {"work": fail_later if is_async else fail, "charges": charges}
    calls = [*numbered(1), call("charges", month="May"), call("other")]
    assert [
        ("the tool failed", "execution_error"),
        ("[49.0, 49.0]", None),
        ("there is no tool of this name; the tools are: work, charges", "unknown_tool"),
    ] == run(lambda: results_of(calls, tools))
    with pytest.raises((kind, RuntimeError)):
        run(lambda: results_of(calls, tools, errors="raise"))


# Cancelled, and left.


async def cancelled_in(phase: str) -> tuple[Desk, int]:
    """Return the tools, and the number of results, of calls that are cancelled in a phase."""
    desk, results = Desk(), list[Message]()
    between = asyncio.Event()

    async def consume() -> None:
        async with aclosing(arun_calls(numbered(5), [desk.work], limit=3)) as messages:
            async for message in messages:
                results.append(message)
                if phase == "between two results":
                    between.set()
                    await asyncio.Event().wait()

    consumer = asyncio.create_task(consume())
    if phase == "before the first result":
        await until(lambda: len(desk.begun) == 3)
    else:
        await desk.let_go(0)
        await until(lambda: between.is_set() or (len(results) == 1 and len(desk.begun) == 4))
    consumer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await consumer
    return desk, len(results)


@pytest.mark.parametrize(
    ("phase", "count"),
    [("before the first result", 0), ("between two results", 1), ("while one is awaited", 1)],
)
def test_cancelled(phase: str, count: int) -> None:
    """When it is cancelled, what runs is cancelled and awaited, and nothing else begins."""

    async def main() -> tuple[bool, int, int]:
        desk, results = await cancelled_in(phase)
        started = [*desk.begun]
        other_tasks = len(asyncio.all_tasks()) - 1
        await asyncio.sleep(0.01)
        is_over = sorted(desk.begun) == sorted([*desk.ended, *desk.cancelled])
        return is_over and started == desk.begun, results, other_tasks

    assert (True, count, 0) == run(main)


@pytest.mark.parametrize("how", ["break", "close", "raise"])
def test_left(how: str) -> None:
    """When the iteration is left, what runs is cancelled and awaited."""

    async def main() -> Any:
        desk = Desk()
        letting_go = asyncio.create_task(desk.let_go(0))

        async def consume() -> None:
            messages = arun_calls(numbered(3), [desk.work])
            async for _ in messages:
                if how == "raise":
                    raise ArithmeticError
                break
            if how == "close":
                await messages.aclose()

        await asyncio.gather(consume(), return_exceptions=True)
        await letting_go
        gc.collect()
        await until(lambda: len(asyncio.all_tasks()) == 1)
        return sorted(desk.cancelled)

    assert [1, 2] == run(main)


def test_it_begins_when_it_is_iterated() -> None:
    """Nothing begins, and no task is left, where nobody asks for a result; a warning says so."""

    async def main() -> Any:
        desk = Desk()
        problem = r"^arun_calls\(\) was not iterated, so no function ran \(calls: 3\)"
        with pytest.warns(RuntimeWarning, match=problem) as caught:
            arun_calls(numbered(3), [desk.work])
        assert [__file__] == [warning.filename for warning in caught]
        await asyncio.sleep(0)
        return desk.begun, len(asyncio.all_tasks())

    assert ([], 1) == run(main)


# Time.


def test_a_timeout() -> None:
    """A function that takes too long is cancelled; its result says what may have happened."""

    async def main() -> Any:
        desk = Desk()
        asyncio.get_running_loop().call_soon(
            lambda: desk.doors.setdefault(1, asyncio.Event()).set()
        )
        return await results_of(numbered(2), [desk.work], timeout=0.05), desk.cancelled

    text = "the tool was stopped after 0.05 seconds; its action may have happened"
    assert ([(text, "timeout_error"), ("1", None)], [0]) == run(main)


def test_a_timeout_of_the_function_itself() -> None:
    """A TimeoutError that a function raises is an exception as any other."""

    async def work(number: int) -> int:
        raise TimeoutError(number)

    assert [("the tool failed", "execution_error")] == run(
        lambda: results_of(numbered(1), [work], timeout=60)
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"timeout": 0}, "timeout=0"),
        ({"timeout": True}, "timeout=True"),
        ({"timeout": float("nan")}, "timeout=nan"),
        ({"limit": 0}, "limit=0"),
        ({"limit": True}, "limit=True"),
        ({"errors": "all"}, "errors='all'"),
        ({"timeout": 1}, "the tool 'charges' runs in a thread, so timeout= cannot stop it"),
    ],
)
def test_options(options: Any, problem: str) -> None:
    """A wrong option, and a time for a function that cannot be stopped, is an error at once."""
    tools = [charges]
    assert problem == raised(OptionError, lambda: arun_calls([], tools, **options)).what


# Prompts in functions.


@pytest.mark.parametrize("is_async", [True, False])
def test_tools_that_write_components(is_async: bool) -> None:
    """A function runs with no block open, in a thread and in a task, while a prompt is written."""

    def summary(number: int) -> str:
        with Timeline() as prompt:
            User(f"Sum up {number}.")
        return render(prompt).messages[0].text

    async def asummary(number: int) -> str:
        with Timeline() as prompt:
            await asyncio.sleep(0)
            User(f"Sum up {number}.")
        return (await arender(prompt)).messages[0].text

    async def main() -> Any:
        with Timeline() as outer, System("Be kind."):
            found = await results_of(numbered(2), {"work": asummary if is_async else summary})
        return found, [message.text for message in render(outer).messages]

    assert ([("Sum up 0.", None), ("Sum up 1.", None)], ["Be kind."]) == run(main)


def test_a_tool_that_runs_calls() -> None:
    """A function may run calls of its own, more than the limit in all."""

    async def agent(number: int) -> str:
        results = await results_of([call("charges", month="May")] * 3, [charges])
        return f"{number} {len(results)}"

    calls = numbered(10, "agent")
    expected = [(f"{number} 3", None) for number in range(10)]
    assert expected == run(lambda: results_of(calls, [agent], limit=2))
