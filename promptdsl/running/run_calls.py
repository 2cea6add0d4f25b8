"""Running the calls of a message: ``run_calls`` and ``arun_calls``.

Read ``run_calls`` first. Before it come the content of a result, and the handling of one call.
"""

import dataclasses
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from functools import partial
from inspect import isawaitable
from traceback import format_exception_only
from typing import Any, Literal, NamedTuple, TypeAlias, cast, get_args
from uuid import UUID
from weakref import finalize

import attrs

from promptdsl.components.scope import detached
from promptdsl.foundation.errors import DataError, OptionError, ToolError, is_one_of, nearest, shown
from promptdsl.foundation.frozen import Around, Fields, is_list, is_mapping, json_leaf, plain
from promptdsl.foundation.json import JsonDict, write_json
from promptdsl.foundation.source import Source, author, public_api, warn_of_unfinished
from promptdsl.foundation.unicode import exact
from promptdsl.messages import (
    Block,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    block_from_dict,
)
from promptdsl.messages.blocks import AnyBlock
from promptdsl.messages.field_checks import ErrorType, kind_of
from promptdsl.messages.message import Message
from promptdsl.running.tools import (
    BadArgumentsError,
    RunnableTool,
    Toolbox,
    Tools,
    checked_arguments,
    toolbox_of,
)

# Make the content of a tool result from the value that a function returned.

Content: TypeAlias = str | list[Block]


class CallResult(NamedTuple):
    """The content of a result, whether it is an error, and the type of the error."""

    content: Content
    is_error: bool = False
    error_type: ErrorType | None = None


def result_of(value: object) -> CallResult:
    """Return the result for the value that a function returned: a text, blocks, or JSON.

    Raises :class:`DataError` for a value that JSON cannot express.
    """
    if isinstance(value, str) and not isinstance(value, Enum):
        return CallResult(exact(value))
    if isinstance(value, AnyBlock):
        return CallResult([cast("Block", value)])
    if is_list(value) and value and all(isinstance(item, AnyBlock) for item in value):
        return CallResult([*cast("list[Block]", value)])
    dump: Any = getattr(value, "model_dump", None)  # Any: a method of a pydantic model
    if callable(dump) and is_list(getattr(value, "content", None)):
        data = cast("JsonDict", dump(mode="json", by_alias=True))
        if "isError" in data:  # only the result of an MCP tool has this key
            return _mcp_result(data)
    return CallResult(write_json(plain(value, "result", _leaf)))


def _leaf(value: object, enclosing: Around, key: object) -> object:
    """Return the JSON of a value that is not a list or a mapping. An object becomes its fields."""
    item: Any = value  # Any: whatever a function returns
    cls: Any = type(value)
    if isinstance(item, Enum):
        return _leaf(item.value, enclosing, key)
    if isinstance(item, date | time):
        return item.isoformat()
    if isinstance(item, Decimal | UUID):
        return str(item)
    if hasattr(cls, "__pydantic_fields__"):
        return Fields(item.model_dump(mode="json", by_alias=True))
    if dataclasses.is_dataclass(cls):
        return Fields({field.name: getattr(item, field.name) for field in dataclasses.fields(cls)})
    if attrs.has(cls) and not isinstance(item, AnyBlock):
        return Fields({field.name: getattr(item, field.name) for field in attrs.fields(cls)})
    return json_leaf(item, enclosing, key)


def _mcp_result(data: JsonDict) -> CallResult:
    """Return the result for an MCP result: its contents, or its structured content."""
    contents: list[JsonDict] = data["content"]
    structured = data.get("structuredContent")
    if not contents and structured is not None:
        return CallResult(write_json(structured), bool(data["isError"]))
    return CallResult([*map(_mcp_block, contents)], bool(data["isError"]))


def _mcp_block(content: JsonDict) -> Block:
    """Return the block for an MCP content: a text, a picture, a sound, a resource or a link."""
    match content:
        case {"type": "text", "text": str(text)} | {"resource": {"text": str(text)}}:
            return TextBlock(text)
        case {"type": "image" | "audio" as kind, "data": data, "mimeType": media_type}:
            return _media_block(kind, data, media_type)
        case {"resource": {"blob": data, **resource}}:
            media_type = resource.get("mimeType") or "application/octet-stream"
            return _media_block("document", data, media_type)
        case {"type": "resource_link", "uri": uri, "name": name}:
            return TextBlock(f"{name}: {uri}")
        case _:
            return TextBlock(write_json(content))


def _media_block(kind: str, data: object, media_type: object) -> Block:
    """Return the block for base64 data."""
    source: Mapping[str, object] = {"type": "base64", "data": data, "media_type": media_type}
    return block_from_dict({"type": kind, "source": source})


# Handle one tool call: decide whether it is run, run it, and make the message with its result.

ErrorMode: TypeAlias = Literal["hide", "text", "raise"]
"""What happens to an exception of a function.

``"hide"``: the model reads that the tool failed. ``"text"``: the model reads the exception.
``"raise"``: the exception is raised.
"""

_MODES: tuple[ErrorMode, ...] = get_args(ErrorMode)
_LOG = logging.getLogger("promptdsl.tools")

_RUN_BY_ANTHROPIC = "srvtoolu_"
"""How the id of a call begins that Anthropic ran itself.

Gateways pass such a call on as if the client had to run it.
"""


def check_mode(errors: object) -> None:
    """Raise :class:`OptionError` for an unknown value of ``errors``."""
    if not is_one_of(errors, _MODES):
        raise OptionError(f"errors={shown(errors)}", fix=nearest(errors, _MODES))


def calls_to_run(calls: object, toolbox: Toolbox) -> tuple[ToolUseBlock, ...]:
    """Return the calls, of a message or a list, whose function must be run.

    Three kinds of calls are left out: those that the provider ran, those with a result in the
    message, and those that are the answer itself. Raises :class:`OptionError` for anything but
    calls.
    """
    answered: set[object] = set()
    pending: tuple[ToolUseBlock, ...] = ()
    if isinstance(calls, Message):
        answered = {id for block in calls.content for id in _answered_by(block)}
        pending = calls.calls
    elif isinstance(calls, str) or is_mapping(calls) or not isinstance(calls, Iterable):
        raise _no_calls(calls)
    elif hasattr(type(cast("object", calls)), "__pydantic_fields__"):
        raise _no_calls(cast("object", calls))  # an object of a client, which can be iterated
    else:
        pending = tuple(cast("Iterable[ToolUseBlock]", calls))
    for call in pending:
        if not isinstance(call, ToolUseBlock):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _no_calls(call)
    return tuple(
        call
        for call in pending
        if call.id not in answered
        and call.name not in toolbox.answers
        and not call.id.startswith(_RUN_BY_ANTHROPIC)
    )


def _answered_by(block: Block) -> tuple[object, ...]:
    """Return the ids of the calls that a block answers, if it is a result."""
    if isinstance(block, ToolResultBlock):
        return (block.tool_use_id,)
    if isinstance(block, UnknownBlock):
        return block.data.get("tool_use_id"), block.data.get("call_id")
    return ()


def _no_calls(argument: object) -> OptionError:
    """Return the error for an object that is not a call."""
    from promptdsl.foundation.remedies import REPLY, is_reply

    fix = REPLY if is_reply(argument) else "give a message, its calls, or transcript.pending_calls"
    return OptionError(f"{kind_of(argument)} is not a tool call", fix=fix)


def value_of_call(tool: RunnableTool, call: ToolUseBlock) -> object:
    """Run the function of a tool for a call, and return what the function returns.

    For a class of pydantic, it is an instance of the class. Raises :class:`BadArgumentsError` for
    arguments that do not fit, and what the function raises.
    """
    with detached():
        arguments = checked_arguments(tool, call)
        if tool.arguments is not None and tool.arguments.is_model:
            return arguments
        return tool.function(**{**arguments, **dict.fromkeys(tool.call_parameters, call)})


def finished_result(value: object) -> CallResult:
    """Return the result for a value; raises :class:`DataError` for a coroutine, and closes it."""
    close = getattr(value, "close", None)
    if hasattr(value, "__await__") and callable(close):
        close()
        raise DataError("the function returned a coroutine", fix="run it with arun_calls")
    return result_of(value)


def failed_result(
    tool: RunnableTool, call: ToolUseBlock, error: Exception, errors: ErrorMode
) -> CallResult:
    """Return the result of a call whose function raised an exception, and log the exception.

    With ``errors="raise"`` it raises the exception again. Arguments that do not fit always become a
    result, which is not logged.
    """
    if isinstance(error, BadArgumentsError):
        return CallResult(str(error), error_type="validation_error")
    if errors == "raise":
        raise error
    level = logging.INFO if isinstance(error, ToolError) else logging.ERROR
    _LOG.log(level, "the tool %r failed in the call %r", tool.name, call.id, exc_info=error)
    text = "the tool failed"
    if isinstance(error, ToolError):
        text = error.what
    elif errors == "text":
        text = "".join(format_exception_only(error)).strip()
    return CallResult(text, error_type="execution_error")


def message_of_unknown_tool(call: ToolUseBlock, toolbox: Toolbox) -> Message:
    """Return the result of a call whose tool does not exist."""
    names = ", ".join(toolbox.tools) or "none"
    text = f"there is no tool of this name; the tools are: {names}"
    return message_of(call, CallResult(text, error_type="unknown_tool"))


def message_of(call: ToolUseBlock, result: CallResult) -> Message:
    """Return the message with the result of a call."""
    return Message.tool_result(
        call.id,
        result.content,
        name=call.name,
        is_error=result.is_error,
        error_type=result.error_type,
    )


# Run the calls of a message: ``run_calls`` and ``arun_calls``.
#
# Each call gets one result. The results come in the order of the calls.


@public_api
def run_calls(
    calls: Message | Iterable[ToolUseBlock], tools: Tools, *, errors: ErrorMode = "hide"
) -> Generator[Message]:
    """Return an iterator that runs calls one after the other, and yields the result of each.

    ``calls`` is a message, its calls, or ``transcript.pending_calls``. ``tools`` is a list of
    functions and :class:`Tool` components, or a mapping of names to functions, whose arguments are
    not checked.

    Store each result before you ask for the next one, because the next function runs only then. A
    call whose result you did not store runs again. So that its action is not done twice, a function
    may take the call itself (``call: ToolUseBlock``) and use its id as a key. If you discard the
    iterator before its first result, nothing runs, and a ``RuntimeWarning`` says so.

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
    pending = calls_to_run(calls, toolbox)
    check_mode(errors)
    for tool in toolbox.tools.values():
        if tool.is_async:
            fix = "run it with arun_calls: async for result in arun_calls(calls, tools)"
            raise OptionError(f"the tool {tool.name!r} is asynchronous", fix=fix)
    run = _Run("run_calls", "for", len(pending), author())
    results = _run_calls(pending, toolbox, errors, run)
    finalize(results, run.check_started)
    return results


@attrs.define(eq=False)
class _Run:
    """The state of an iterator over calls. It warns if nobody asks for the first result."""

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
            yield message_of_unknown_tool(call, toolbox)
            continue
        try:
            result = finished_result(value_of_call(tool, call))
        except Exception as error:
            result = failed_result(tool, call, error, errors)
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
    pending = calls_to_run(calls, toolbox)
    check_mode(errors)
    if type(limit) is not int or limit < 1:
        raise OptionError(f"limit={shown(limit)}", fix="write how many may run at once: 1 or more")
    if timeout is not None:
        _check_timeout(timeout, toolbox)
    run = _Run("arun_calls", "async for", len(pending), author())
    message_of_call = partial(_awaited_message, toolbox, errors, timeout)
    results = _arun_calls(pending, message_of_call, limit, run)
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
    """Run a call, and return the message with its result."""
    tool = toolbox.tools.get(call.name)
    if tool is None:
        return message_of_unknown_tool(call, toolbox)
    try:
        result = await _awaited_result(tool, call, timeout)
    except Exception as error:
        result = failed_result(tool, call, error, errors)
    return message_of(call, result)


async def _awaited_result(
    tool: RunnableTool, call: ToolUseBlock, timeout: float | None
) -> CallResult:
    """Return the result of a call: await an ``async def``, run any other function in a thread."""
    import asyncio

    if not tool.is_async:
        value, error = await asyncio.to_thread(_value_or_error, tool, call)
        if error is not None:
            raise error
        with detached():
            return finished_result(await value if isawaitable(value) else value)
    clock = asyncio.timeout(timeout)
    try:
        async with clock:
            value = value_of_call(tool, call)
            with detached():
                return finished_result(await value if isawaitable(value) else value)
    except TimeoutError:
        if not clock.expired():
            raise
        text = f"the tool was stopped after {timeout:g} seconds; its action may have happened"
        return CallResult(text, error_type="timeout_error")


def _value_or_error(tool: RunnableTool, call: ToolUseBlock) -> tuple[object, Exception | None]:
    """Return the value of a function and ``None``, or ``None`` and the exception that it raised.

    The exception is returned, because ``StopIteration`` cannot be raised out of a thread.
    """
    try:
        return value_of_call(tool, call), None
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
