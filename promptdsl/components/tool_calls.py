"""Tool calls and their results."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Never

from promptdsl.components.arguments import Content, retract
from promptdsl.components.block import (
    BESIDE,
    PART_FORBIDS,
    ROOTED,
    Block,
    Written,
    advice_for,
    begin,
    with_own_code,
)
from promptdsl.components.options import TURN_OPTIONS, refuse_options
from promptdsl.components.scope import OPENED, join, place
from promptdsl.foundation.errors import ContentError, DataError, OptionError, PromptError, nearest
from promptdsl.foundation.json import write_json
from promptdsl.foundation.unicode import exact
from promptdsl.messages import ReasoningBlock
from promptdsl.messages.field_checks import ERROR_TYPES
from promptdsl.messages.unchecked import tool_use_block
from promptdsl.tree.masks import BARE, CALL, RESULT, SPOKEN, TURN, bits
from promptdsl.tree.node import DEFAULTS, Node, label, named_label
from promptdsl.tree.part_nodes import ReasoningNode, ToolResultNode, ToolUseNode
from promptdsl.tree.turn_nodes import OutputNode, ToolNode, ToolTurnNode

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]
_join_call = with_own_code(join)
_join_message = with_own_code(join)

_CALL = bits(CALL)
_TOOL = bits(TURN | SPOKEN, bits(RESULT))


class ToolUse(Written, ToolUseNode):
    """A call the model made, inside an assistant turn.

    ``input`` is a mapping, or the JSON text as the provider sent it, which is kept to the byte.
    Raises :class:`ContentError` for an input that is neither, or holds no plain data.
    """

    __slots__ = ()

    def __init__(
        self, name: str, input: Mapping[str, Any] | str, /, id: str, **options: Never
    ) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.content = ()
        self.options = DEFAULTS
        if options:
            refuse_options(self, options, ("id",))
        if type(input) is not str or type(name) is not str or type(id) is not str:
            input = _arguments(self, name, input, id)
            name, id = exact(name), exact(id)
        self.block = tool_use_block(id, name, input)
        top = OPENED.get()
        if top is None:
            self.mask = _CALL
        else:
            _join_call(self, top, _CALL)


def _arguments(component: ToolUse, name: object, input: object, id: object) -> str:
    if not isinstance(name, str) or not isinstance(id, str):
        raise ContentError(
            "a ToolUse needs the tool's name and the call's id, both strings",
            fix='ToolUse("search", {"query": "..."}, id="call_1")',
            at=(component.source,),
        )
    if isinstance(input, str):
        return exact(input)
    if not isinstance(input, Mapping):
        raise ContentError(
            f"the input of a tool call is a mapping, not {type(input).__name__}",
            fix='ToolUse("search", {"query": "..."}, id="call_1")',
            at=(component.source,),
        )
    try:
        return write_json(dict(input))  # pyright: ignore[reportUnknownArgumentType]
    except DataError as error:
        raise ContentError(error.what, fix=error.fix, at=(component.source,)) from None


class Reasoning(Written, ReasoningNode):
    """What a model thought, inside an assistant turn; replayed only to where it came from.

    ``signature`` and ``encrypted`` are what the provider ``origin`` sent with it, kept to the byte.
    """

    __slots__ = ()

    def __init__(
        self,
        text: str,
        signature: str | None = None,
        *,
        encrypted: str | None = None,
        origin: str | None = None,
        **options: Never,
    ) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.content = ()
        self.mask = _CALL
        self.options = DEFAULTS
        refuse_options(self, options, ("signature", "encrypted", "origin"))
        given: dict[str, Any] = {"text": text, "signature": signature}
        given |= {"encrypted": encrypted, "origin": origin}
        for name, value in given.items():
            if not isinstance(value, str) and (name == "text" or value is not None):
                raise ContentError(
                    f"Reasoning({name}={value!r})", fix="write a string", at=(self.source,)
                )
        self.block = ReasoningBlock(*map(exact, given.values()))
        place(self)


class ToolResult(Block, ToolResultNode):
    """The answer to the call ``tool_use_id``, inside a user or tool turn."""

    __slots__ = ()
    _own = bits(RESULT)
    _forbids = PART_FORBIDS
    _forbids_at_once = ROOTED

    if TYPE_CHECKING:

        def __init__(
            self,
            tool_use_id: str,
            /,
            *content: Content,
            is_error: bool = False,
            error_type: str | None = None,
        ) -> None: ...

    else:

        def __init__(self, tool_use_id, /, *content, is_error=False, error_type=None, **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            self.tool_use_id = tool_use_id
            self.is_error = is_error
            self.error_type = error_type
            check_result(self, content)
            begin(self, content, options)
            # A tool may answer with nothing at all.
            self.mask &= ~BARE

    def _keywords(self) -> frozenset[str]:
        return RESULT_OPTIONS

    def _advice(self, node: Node) -> str:
        if isinstance(node, ToolNode | OutputNode):
            return BESIDE
        return "a tool's answer is text and media"


class ToolMessage(Block, ToolTurnNode):
    """The answer of a tool to the call ``tool_use_id``. ``name`` is the tool's.

    ``error_type`` is one of ``unknown_tool``, ``validation_error``, ``execution_error``,
    ``timeout_error``, ``interrupted``.
    """

    __slots__ = ()
    _own = _TOOL
    _forbids = PART_FORBIDS
    _forbids_at_once = ROOTED
    _accepts = TURN_OPTIONS | {"name"}

    if TYPE_CHECKING:

        def __init__(
            self,
            tool_use_id: str,
            /,
            *content: Content,
            name: str | None = None,
            is_error: bool = False,
            error_type: str | None = None,
            id: str | None = None,
            metadata: Mapping[str, Any] | None = None,
            tags: tuple[str, ...] = (),
            audience: str = "all",
            priority: float | None = None,
            cache: bool = False,
        ) -> None: ...

    else:

        def __init__(self, tool_use_id, /, *content, is_error=False, error_type=None, **options):
            frame = _getframe(1)
            self.role = "tool"
            self.kind = "written"
            self.tool_use_id = tool_use_id
            self.is_error = is_error
            self.error_type = error_type
            if (
                type(tool_use_id) is str
                and not (options or is_error or error_type)
                and (not content or (len(content) == 1 and type(content[0]) is str))
            ):
                # The fast path; a tool may answer with nothing at all.
                self.code = frame.f_code
                self.offset = frame.f_lasti
                self.content = content
                self.options = DEFAULTS
                top = OPENED.get()
                if top is None:
                    self.mask = _TOOL
                else:
                    _join_message(self, top, _TOOL)
                return
            self.code = frame.f_code
            self.offset = frame.f_lasti
            check_result(self, content)
            begin(self, content, options)
            # A tool may answer with nothing at all.
            self.mask &= ~BARE

    def _keywords(self) -> frozenset[str]:
        return self._accepts | RESULT_OPTIONS

    def _advice(self, node: Node) -> str:
        return advice_for(node, "a tool's answer is text and media")


RESULT_OPTIONS = frozenset({"is_error", "error_type"})


def check_result(component: Any, content: tuple[Any, ...]) -> None:
    """Raise when a tool result's id, flag or error type is not one."""
    try:
        _check_result(component)
    except PromptError:
        retract(content)
        raise


def _check_result(component: Any) -> None:
    if not isinstance(component.tool_use_id, str):
        raise ContentError(
            f"the first argument of {named_label(component)} is the id of the call it answers",
            fix=f'{label(component)}("call_1", "...")',
            at=(component.source,),
        )
    component.tool_use_id = exact(component.tool_use_id)
    if not isinstance(component.is_error, bool):
        raise OptionError(
            f"is_error={component.is_error!r}", fix="write True or False", at=(component.source,)
        )
    if component.error_type is not None and component.error_type not in ERROR_TYPES:
        raise OptionError(
            f"error_type={component.error_type!r}",
            fix=nearest(str(component.error_type), ERROR_TYPES),
            at=(component.source,),
        )
