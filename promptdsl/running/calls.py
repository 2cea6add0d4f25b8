"""One tool call: whether it has to be run, running it, and the message with its result."""

import logging
from collections.abc import Iterable
from traceback import format_exception_only
from typing import Literal, TypeAlias, cast, get_args

from promptdsl.components.scope import detached
from promptdsl.foundation.errors import DataError, OptionError, ToolError, is_one_of, nearest, shown
from promptdsl.foundation.frozen import is_mapping
from promptdsl.messages import Block, ToolResultBlock, ToolUseBlock, UnknownBlock
from promptdsl.messages.field_checks import kind_of
from promptdsl.messages.message import Message
from promptdsl.running.arguments import BadArgumentsError, checked_arguments
from promptdsl.running.results import Result, result_of
from promptdsl.running.tools import RunnableTool, Toolbox

ErrorMode: TypeAlias = Literal["hide", "text", "raise"]
"""What happens to an exception of a function.

``"hide"``: the model reads that the tool failed. ``"text"``: the model reads the exception.
``"raise"``: the exception is raised.
"""

_MODES: tuple[ErrorMode, ...] = get_args(ErrorMode)
_LOG = logging.getLogger("promptdsl.tools")

_RUN_BY_ANTHROPIC = "srvtoolu_"
"""The beginning of the id of a call that Anthropic ran itself.

Gateways pass such a call on as if the client had to run it.
"""


def check_mode(errors: object) -> None:
    """Raise :class:`OptionError` for an unknown value of ``errors``."""
    if not is_one_of(errors, _MODES):
        raise OptionError(f"errors={shown(errors)}", fix=nearest(errors, _MODES))


def calls_to_run(calls: object, toolbox: Toolbox) -> tuple[ToolUseBlock, ...]:
    """Return the calls of a message, or of a list of calls, that wait for a result.

    Without those that the provider ran, those with a result in the message, and those that are the
    answer itself. Raises :class:`OptionError` for anything but calls.
    """
    answered: set[object] = set()
    waiting: tuple[ToolUseBlock, ...] = ()
    if isinstance(calls, Message):
        answered = {id for block in calls.content for id in _answered_by(block)}
        waiting = calls.calls
    elif isinstance(calls, str) or is_mapping(calls) or not isinstance(calls, Iterable):
        raise _no_calls(calls)
    elif hasattr(type(cast("object", calls)), "__pydantic_fields__"):
        raise _no_calls(cast("object", calls))  # an object of a client, which can be iterated
    else:
        waiting = tuple(cast("Iterable[ToolUseBlock]", calls))
    for call in waiting:
        if not isinstance(call, ToolUseBlock):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _no_calls(call)
    return tuple(
        call
        for call in waiting
        if call.id not in answered
        and call.name not in toolbox.answers
        and not call.id.startswith(_RUN_BY_ANTHROPIC)
    )


def _answered_by(block: Block) -> tuple[object, ...]:
    """Return the ids of the calls whose result a block is."""
    if isinstance(block, ToolResultBlock):
        return (block.tool_use_id,)
    if isinstance(block, UnknownBlock):
        return block.data.get("tool_use_id"), block.data.get("call_id")
    return ()


def _no_calls(value: object) -> OptionError:
    from promptdsl.foundation.remedies import REPLY, is_reply

    fix = REPLY if is_reply(value) else "give a message, its calls, or transcript.pending_calls"
    return OptionError(f"{kind_of(value)} is not a tool call", fix=fix)


def called(tool: RunnableTool, call: ToolUseBlock) -> object:
    """Run the function of a tool for a call, and return its value."""
    with detached():
        arguments = checked_arguments(tool, call)
        if tool.arguments is not None and tool.arguments.is_model:
            return arguments
        return tool.function(**{**arguments, **dict.fromkeys(tool.call_parameters, call)})


def finished(value: object) -> Result:
    """Return the result for a value; :class:`DataError` for a coroutine that was not awaited."""
    close = getattr(value, "close", None)
    if hasattr(value, "__await__") and callable(close):
        close()
        raise DataError("the function returned a coroutine", fix="run it with arun_calls")
    return result_of(value)


def failed(tool: RunnableTool, call: ToolUseBlock, error: Exception, errors: ErrorMode) -> Result:
    """Return the result of a call whose function raised an exception, and log the exception.

    With ``errors="raise"`` the exception is raised again. Arguments that do not fit are a result in
    any case.
    """
    if isinstance(error, BadArgumentsError):
        return Result(str(error), error_type="validation_error")
    if errors == "raise":
        raise error
    level = logging.INFO if isinstance(error, ToolError) else logging.ERROR
    _LOG.log(level, "the tool %r failed in the call %r", tool.name, call.id, exc_info=error)
    text = "the tool failed"
    if isinstance(error, ToolError):
        text = error.what
    elif errors == "text":
        text = "".join(format_exception_only(error)).strip()
    return Result(text, error_type="execution_error")


def unknown_tool(call: ToolUseBlock, toolbox: Toolbox) -> Message:
    """Return the result of a call whose tool does not exist."""
    names = ", ".join(toolbox.tools) or "none"
    text = f"there is no tool of this name; the tools are: {names}"
    return message_of(call, Result(text, error_type="unknown_tool"))


def message_of(call: ToolUseBlock, result: Result) -> Message:
    """Return the message with the result of a call."""
    return Message.tool_result(
        call.id,
        result.content,
        name=call.name,
        is_error=result.is_error,
        error_type=result.error_type,
    )
