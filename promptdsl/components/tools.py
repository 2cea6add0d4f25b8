"""Tool calls and their results."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Never

from promptdsl import tree
from promptdsl.blocks import tool_use_block
from promptdsl.components.turns import RESULT_OPTIONS, ROOTED, check_result
from promptdsl.components.writing import Block, Content, Written, begin, refuse_options
from promptdsl.errors import ContentError, DataError
from promptdsl.json_text import write_json
from promptdsl.scope import OPENED, join
from promptdsl.tree import BARE, CALL, DEFAULTS, HAPPENING, RESULT, Node, bits

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]

_CALL = bits(CALL)


class ToolUse(Written, tree.Call):
    """A call the model made, inside an assistant turn.

    ``input`` is a mapping, or the JSON text as the provider sent it, which is kept to the byte.
    Raises :class:`ContentError` for an input that is neither, or holds no plain data.
    """

    __slots__ = ()
    _node = tree.Call

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
        self.block = tool_use_block(id, name, input)
        top = OPENED.get()
        if top is None:
            self.mask = _CALL
        else:
            join(self, top, _CALL)


def _arguments(component: ToolUse, name: object, input: object, id: object) -> str:
    if not isinstance(name, str) or not isinstance(id, str):
        raise ContentError(
            "a ToolUse needs the tool's name and the call's id, both strings",
            fix='ToolUse("search", {"query": "..."}, id="call_1")',
            at=(component.source,),
        )
    if isinstance(input, str):
        return str(input)
    if not isinstance(input, Mapping):
        raise ContentError(
            f"the input of a tool call is a mapping, not {type(input).__name__}",
            fix='ToolUse("search", {"query": "..."}, id="call_1")',
            at=(component.source,),
        )
    try:
        return write_json(dict(input))
    except DataError as error:
        raise ContentError(error.what, fix=error.fix, at=(component.source,)) from None


class ToolResult(Block, tree.Result):
    """The answer to the call ``tool_use_id``, inside a user or tool turn."""

    __slots__ = ()
    _node = tree.Result
    _own = bits(RESULT)
    _forbids = ROOTED | CALL | RESULT | HAPPENING
    _refuses = ROOTED

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
        return "a tool's answer is text and media"
