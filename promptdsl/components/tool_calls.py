"""The components for tool calls, their results, and reasoning."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Never, Unpack

from promptdsl.components.block import (
    PART_FORBIDS,
    ROOTED,
    Container,
    begin,
    part_advice,
    turn_advice,
)
from promptdsl.components.options import (
    NamedTurnOptions,
    check_choice,
    check_flag,
    refuse_options,
    too_many,
)
from promptdsl.components.scope import (
    Component,
    getframe,
    innermost,
    is_text,
    join,
    location,
    start,
)
from promptdsl.foundation.errors import ContentError, DataError, PromptError, shown
from promptdsl.foundation.frozen import is_mapping, plain
from promptdsl.foundation.json import JsonValue, write_json
from promptdsl.foundation.source import end_traceback
from promptdsl.foundation.unicode import exact
from promptdsl.messages import ReasoningBlock
from promptdsl.messages.fast_path import tool_use_block
from promptdsl.messages.field_checks import ERROR_TYPES, ErrorType, kind_of
from promptdsl.tree.masks import CALL, RESULT, SPOKEN, TURN, UNWRITTEN, bits
from promptdsl.tree.node import DEFAULTS, Node, label, named_label
from promptdsl.tree.part_nodes import ReasoningNode, ToolResultNode, ToolUseNode
from promptdsl.tree.turn_nodes import ToolTurnNode

if TYPE_CHECKING:
    from promptdsl.components.contents import PartContent

_CALL = bits(CALL)
_TOOL = bits(TURN | SPOKEN, bits(RESULT))


class ToolUse(Component, ToolUseNode):
    """A tool call that the model made, inside an assistant turn.

    ``name`` is the tool, ``id`` the id of the call. ``input`` is a mapping of arguments, or the
    JSON text as the provider sent it, which is kept to the byte.

    Raises :class:`ContentError` for any other input, for one that is not plain data, and for an
    empty id.

    >>> from promptdsl import Assistant, Timeline, ToolMessage, ToolUse, User, render
    >>> call = ToolUse("add", {"a": 2, "b": 2}, id="call_1")
    >>> prompt = Timeline(User("2 + 2?"), Assistant(call), ToolMessage("call_1", "4"))
    >>> render(prompt, model="gpt-5").to_openai()["messages"][1]["tool_calls"][0]["function"]
    {'name': 'add', 'arguments': '{"a": 2, "b": 2}'}
    """

    __slots__ = ()
    _initial_mask = _CALL

    def __init__(
        self,
        name: str,
        input: Mapping[str, JsonValue] | str,
        /,
        id: str,
        *extra: Never,
        **unknown: Never,
    ) -> None:
        if extra:
            raise too_many(self, name, input, id, *extra)
        start(self)
        try:
            if unknown:
                refuse_options(self, unknown)
            if type(input) is not str or type(name) is not str or type(id) is not str or not id:
                input = _input_text(self, name, input, id)
                name, id = exact(name), exact(id)
        except PromptError as error:
            end_traceback(error)
            raise
        self.block = tool_use_block(id, name, input)
        location(self)


def _input_text(component: ToolUse, name: object, input: object, id: object) -> str:
    """Return the input of a call as JSON text, or raise :class:`ContentError`."""
    fix = 'ToolUse("search", {"query": "..."}, id="call_1")'
    if not isinstance(name, str) or not isinstance(id, str) or not id:
        problem = "a ToolUse needs two texts: the name of the tool, and an id that is not empty"
        raise ContentError(problem, fix=fix, at=(component.source,))
    if isinstance(input, str):
        return exact(input)
    if not is_mapping(input):
        problem = f"the input of a tool call is a mapping, not {kind_of(input)}"
        raise ContentError(problem, fix=fix, at=(component.source,))
    try:
        return write_json(dict(input))
    except DataError as unnamed:
        error = unnamed
        try:
            plain(input, "input")  # its error names the key
        except DataError as named:
            error = named
        raise ContentError(error.what, fix=error.fix, at=(component.source,)) from None


class Reasoning(Component, ReasoningNode):
    """The reasoning of a model, inside an assistant turn; it is sent back to its provider only.

    ``origin`` is this provider (``"anthropic"``, ``"openai"``, ...). ``signature`` and
    ``encrypted`` are texts that it sent with the reasoning, kept to the byte; by default there are
    none.

    Raises :class:`ContentError` for a value that is not a string.

    >>> from promptdsl import Assistant, Reasoning
    >>> turn = Assistant(Reasoning("Add both.", "c2ln", origin="anthropic"), "4")
    >>> turn.content[0].block.signature
    'c2ln'
    """

    __slots__ = ()
    _initial_mask = _CALL

    def __init__(
        self,
        text: str,
        signature: str | None = None,
        *extra: Never,
        encrypted: str | None = None,
        origin: str | None = None,
        **unknown: Never,
    ) -> None:
        if extra:
            raise too_many(self, text, signature, *extra)
        start(self)
        refuse_options(self, unknown)
        fields: dict[str, object] = {"text": text, "signature": signature}
        fields |= {"encrypted": encrypted, "origin": origin}
        for name, value in fields.items():
            if not isinstance(value, str) and (name == "text" or value is not None):
                raise ContentError(
                    f"Reasoning({name}={shown(value)})", fix="write a string", at=(self.source,)
                )
        self.block = ReasoningBlock(exact(text), exact(signature), exact(encrypted), exact(origin))
        location(self)


def _check_result(self: "ToolResult | ToolMessage") -> None:
    """Raise an error for a bad id, flag or error type; an error type implies ``is_error``."""
    if not is_text(self.tool_use_id) or not self.tool_use_id:
        raise ContentError(
            f"{named_label(self)} takes the id of its call first, a text that is not empty",
            fix=f'{label(self)}("call_1", "...")',
            at=(self.source,),
        )
    self.tool_use_id = exact(self.tool_use_id)
    check_flag(self, "is_error", self.is_error)
    if self.error_type is not None:
        check_choice(self, "error_type", self.error_type, ERROR_TYPES)
        self.is_error = True
    # The result of a tool may be empty.
    self._mask &= ~UNWRITTEN


class ToolResult(Container, ToolResultNode):
    """The result of the tool call ``tool_use_id``, inside a user or tool turn: text and media.

    ``is_error=True`` (default ``False``) means that the call failed. ``error_type`` is the reason:
    ``"unknown_tool"``, ``"validation_error"``, ``"execution_error"``, ``"timeout_error"`` or
    ``"interrupted"``. It implies ``is_error`` and is for people: it is not sent. A result may be
    empty.

    Raises :class:`ContentError` for an id that is empty or not a string, :class:`OptionError` for a
    bad option, :class:`PlacementError` for a child that may not be here.

    >>> from promptdsl import Image, ToolResult, User
    >>> turn = User(ToolResult("call_1", "The page:", Image.from_file_id("file_1")))
    >>> turn.content[0].tool_use_id
    'call_1'
    """

    __slots__ = ()
    _initial_mask = bits(RESULT)
    _forbids = PART_FORBIDS
    _forbids_at_once = ROOTED
    _check_fields = _check_result

    def __init__(
        self,
        tool_use_id: str,
        /,
        *content: "PartContent",
        is_error: bool = False,
        error_type: ErrorType | None = None,
        **unknown: Never,
    ) -> None:
        self.tool_use_id = tool_use_id
        self.is_error = is_error
        self.error_type = error_type
        begin(self, content, unknown)

    @classmethod
    def _advice(cls, node: Node) -> str:
        return part_advice(node, "a tool result holds text and media only")


class ToolMessage(Container, ToolTurnNode):
    """The result of the tool call ``tool_use_id`` as a turn of its own.

    ``name`` is the name of the tool, ``is_error`` and ``error_type`` are those of
    :class:`ToolResult`. It also takes the options of :class:`System`.

    Raises the errors of :class:`ToolResult`.

    >>> from promptdsl import Assistant, Timeline, ToolMessage, ToolUse, render
    >>> call = Assistant(ToolUse("now", {}, id="call_1"))
    >>> prompt = Timeline(call, ToolMessage("call_1", "9 am", name="now"))
    >>> render(prompt).messages[1].role
    'tool'
    """

    __slots__ = ()
    _initial_mask = _TOOL
    _forbids = PART_FORBIDS
    _forbids_at_once = ROOTED
    _options_type = NamedTurnOptions
    _check_fields = _check_result

    def __init__(
        self,
        tool_use_id: str,
        /,
        *content: "PartContent",
        is_error: bool = False,
        error_type: ErrorType | None = None,
        **options: Unpack[NamedTurnOptions],
    ) -> None:
        self.role = "tool"
        self.kind = "written"
        self.tool_use_id = tool_use_id
        self.is_error = is_error
        self.error_type = error_type
        plain = not content or (len(content) == 1 and type(content[0]) is str and content[0])
        is_fault = is_error is not False or error_type is not None
        if not plain or type(tool_use_id) is not str or not tool_use_id or options or is_fault:
            begin(self, content, options)
            return
        # The fast path, 0.5 µs instead of 2.5 µs: one text or nothing, which needs no checks.
        frame = getframe(1)
        self._code = frame.f_code
        self._offset = frame.f_lasti
        self.content = content
        self.options = DEFAULTS
        top = innermost()
        self._mask = _TOOL if top is None else join(self, top, _TOOL)

    @classmethod
    def _advice(cls, node: Node) -> str:
        return turn_advice(node, "a tool result holds text and media only")
