"""Running the calls of a message: ``run_calls`` and ``arun_calls``.

Each call has one result, and results come in the order of the calls.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable
from functools import partial
from inspect import isawaitable
from weakref import finalize

import attrs

from promptdsl.components.scope import detached
from promptdsl.foundation.errors import OptionError, shown
from promptdsl.foundation.source import Source, author, public_api
from promptdsl.foundation.unfinished import warn_of_unfinished
from promptdsl.messages import ToolUseBlock
from promptdsl.messages.message import Message
from promptdsl.running.calls import (
    ErrorMode,
    called,
    calls_to_run,
    check_mode,
    failed,
    finished,
    message_of,
    unknown_tool,
)
from promptdsl.running.results import Result
from promptdsl.running.tools import RunnableTool, Toolbox, Tools, toolbox_of


@public_api
def run_calls(
    calls: Message | Iterable[ToolUseBlock], tools: Tools, *, errors: ErrorMode = "hide"
) -> Generator[Message]:
    """Return an iterator that runs calls one after the other, and yields the result of each.

    ``calls`` is a message, its calls, or ``transcript.pending_calls``. ``tools`` is a list of
    functions and :class:`Tool` components, or a mapping of names to functions, whose arguments are
    not checked.

    Store each result before you ask for the next one, because the next function runs only then. A
    call whose result was not stored runs again. To prevent that its action is done twice, a
    function may take the call itself (``call: ToolUseBlock``) and use its id as a key. An iterator
    that is discarded before its first result warns with a ``RuntimeWarning``: nothing ran.

    If the arguments do not fit, the function is not called, and the result says what was expected.
    If the function raises an exception, the result says that the tool failed; for a
    :class:`ToolError` it has the text of the error. With ``errors="text"`` the model reads the
    exception, which may contain secrets; with ``errors="raise"`` it is raised. Exceptions are
    logged to ``promptdsl.tools``.

    A function returns text, data that becomes JSON, ``None``, a block, a list of blocks, or the
    result of an MCP tool. While it runs, no block of a prompt is open.

    >>> from promptdsl import ToolUseBlock, run_calls
    >>> def charges(month: str) -> list[float]:
    ...     '''List the charges of a month.'''
    ...     return [49.0, 49.0]
    >>> call = ToolUseBlock("call_1", "charges", '{"month": "May"}')
    >>> for result in run_calls([call], [charges]):
    ...     print(result.text)
    [49.0, 49.0]

    Raises :class:`OptionError`, before anything runs, for a tool that cannot be run, for two tools
    with the same name, and for an ``async def``: use :func:`arun_calls` for that.
    """
    toolbox = toolbox_of(tools)
    waiting = calls_to_run(calls, toolbox)
    check_mode(errors)
    for tool in toolbox.tools.values():
        if tool.is_async:
            fix = "run it with arun_calls: async for result in arun_calls(calls, tools)"
            raise OptionError(f"the tool {tool.name!r} is asynchronous", fix=fix)
    run = _Run("run_calls", "for", len(waiting), author())
    results = _run_calls(waiting, toolbox, errors, run)
    finalize(results, run.check_started)
    return results


@attrs.define(eq=False)
class _Run:
    """The calls of an iterator, which warns if it is discarded before any of them ran."""

    function: str
    loop: str
    count: int
    source: Source
    is_started: bool = False

    def check_started(self) -> None:
        """Warn at the line that made the iterator, if it has calls and was never started."""
        if self.is_started or not self.count:
            return
        warn_of_unfinished(
            f"{self.function}() was not iterated, so no function ran (calls: {self.count})",
            f"write {self.loop} result in {self.function}(...): a function runs with its result",
            self.source,
        )


def _run_calls(
    calls: tuple[ToolUseBlock, ...], toolbox: Toolbox, errors: ErrorMode, run: _Run
) -> Generator[Message]:
    run.is_started = True
    for call in calls:
        tool = toolbox.tools.get(call.name)
        if tool is None:
            yield unknown_tool(call, toolbox)
            continue
        try:
            result = finished(called(tool, call))
        except Exception as error:
            result = failed(tool, call, error, errors)
        yield message_of(call, result)


@public_api
def arun_calls(
    calls: Message | Iterable[ToolUseBlock],
    tools: Tools,
    *,
    errors: ErrorMode = "hide",
    limit: int = 8,
    timeout: float | None = None,
) -> AsyncGenerator[Message]:
    """Return an asynchronous iterator that runs calls at the same time; see :func:`run_calls`.

    At most ``limit`` calls run at once. Their results come in the order of the calls. A function
    that is not an ``async def`` runs in a thread. When the iteration ends early or is cancelled,
    the calls that still run are cancelled and awaited; a thread cannot be cancelled and runs to its
    end. If you leave the loop with ``break``, write ``contextlib.aclosing`` around the iterator, so
    that this happens at once.

    ``timeout`` is the number of seconds that an ``async def`` may take, by default without a limit.
    After that time it is cancelled, and the result says that its action may have happened.

    >>> import asyncio
    >>> from promptdsl import ToolUseBlock, arun_calls
    >>> async def charges(month: str) -> list[float]:
    ...     return [49.0, 49.0]
    >>> async def texts(*calls):
    ...     return [result.text async for result in arun_calls(calls, [charges])]
    >>> asyncio.run(texts(ToolUseBlock("call_1", "charges", '{"month": "May"}')))
    ['[49.0, 49.0]']

    Raises :class:`OptionError` like :func:`run_calls`, and for a ``timeout`` with a function that
    is not an ``async def``, because a thread cannot be stopped.
    """
    toolbox = toolbox_of(tools)
    waiting = calls_to_run(calls, toolbox)
    check_mode(errors)
    if type(limit) is not int or limit < 1:
        raise OptionError(f"limit={shown(limit)}", fix="write how many may run at once: 1 or more")
    if timeout is not None:
        _check_timeout(timeout, toolbox)
    run = _Run("arun_calls", "async for", len(waiting), author())
    message_of_call = partial(_awaited_message, toolbox, errors, timeout)
    results = _arun_calls(waiting, message_of_call, limit, run)
    finalize(results, run.check_started)
    return results


async def _arun_calls(
    calls: tuple[ToolUseBlock, ...],
    message_of_call: Callable[[ToolUseBlock], Awaitable[Message]],
    limit: int,
    run: _Run,
) -> AsyncGenerator[Message]:
    import asyncio

    run.is_started = True
    free_slots = asyncio.Semaphore(limit)

    async def run_within_limit(call: ToolUseBlock) -> Message:
        async with free_slots:
            return await message_of_call(call)

    tasks = [asyncio.create_task(run_within_limit(call)) for call in calls]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _awaited_message(
    toolbox: Toolbox, errors: ErrorMode, timeout: float | None, call: ToolUseBlock
) -> Message:
    tool = toolbox.tools.get(call.name)
    if tool is None:
        return unknown_tool(call, toolbox)
    try:
        result = await _awaited_result(tool, call, timeout)
    except Exception as error:
        result = failed(tool, call, error, errors)
    return message_of(call, result)


async def _awaited_result(tool: RunnableTool, call: ToolUseBlock, timeout: float | None) -> Result:
    """Return the result of a function: an ``async def`` is awaited, another runs in a thread."""
    import asyncio

    if not tool.is_async:
        value, error = await asyncio.to_thread(_value_or_error, tool, call)
        if error is not None:
            raise error
        with detached():
            return finished(await value if isawaitable(value) else value)
    clock = asyncio.timeout(timeout)
    try:
        async with clock:
            value = called(tool, call)
            with detached():
                return finished(await value if isawaitable(value) else value)
    except TimeoutError:
        if not clock.expired():
            raise
        text = f"the tool was stopped after {timeout:g} seconds; its action may have happened"
        return Result(text, error_type="timeout_error")


def _value_or_error(tool: RunnableTool, call: ToolUseBlock) -> tuple[object, Exception | None]:
    """Return the value of a function and ``None``, or ``None`` and the exception that it raised.

    The exception is returned, because ``StopIteration`` cannot be raised out of a thread.
    """
    try:
        return called(tool, call), None
    except Exception as error:
        return None, error


def _check_timeout(timeout: object, toolbox: Toolbox) -> None:
    """Raise :class:`OptionError` for an invalid time, or for a tool that cannot be stopped."""
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise OptionError(f"timeout={shown(timeout)}", fix="write a number of seconds above 0")
    for tool in toolbox.tools.values():
        if not tool.is_async:
            what = f"the tool {tool.name!r} runs in a thread, so timeout= cannot stop it"
            raise OptionError(what, fix="write it as an async def, or leave timeout= out")
