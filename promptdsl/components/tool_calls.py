"""The components for event blocks, tool calls, their results, and reasoning."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Never, Unpack

from promptdsl.components.arguments import adopt_values, volatile_leaf
from promptdsl.components.block import (
    PART_FORBIDS,
    ROOTED,
    TEXT_FORBIDS,
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
    join_open_block,
    retract,
    start,
)
from promptdsl.foundation.author_text import Trusted
from promptdsl.foundation.errors import ContentError, DataError, PromptError, shown
from promptdsl.foundation.escaping import text_of
from promptdsl.foundation.frozen import EMPTY, frozen, is_list, is_mapping, plain
from promptdsl.foundation.json import ABSENT, JsonValue, write_json
from promptdsl.foundation.source import LEFT_OUT, end_traceback
from promptdsl.foundation.unicode import exact, on_one_line
from promptdsl.messages import (
    EventBlock,
    ReasoningBlock,
    StateChangeBlock,
    SystemEventBlock,
    UserActionBlock,
)
from promptdsl.messages.field_checks import ERROR_TYPES, ErrorType, kind_of
from promptdsl.messages.read_blocks import tool_use_block
from promptdsl.tree.masks import CALL, EVENT_BLOCK, RESULT, SPOKEN, TURN, UNWRITTEN, bits
from promptdsl.tree.node import DEFAULTS, Node, label, named_label, nodes_in
from promptdsl.tree.part_nodes import (
    EventBlockNode,
    ReasoningNode,
    ToolResultNode,
    ToolUseNode,
    ValueNode,
    VolatileNode,
)
from promptdsl.tree.turn_nodes import ToolTurnNode

if TYPE_CHECKING:
    from promptdsl.components.block import PartContent, TextContent


# The event blocks: an action of a user, a change of a value, an event of the application.


class EventBlockComponent(Container, EventBlockNode):
    """The base class of the event blocks, which have fields and text. Not for authors."""

    __slots__ = ()
    _initial_mask = bits(EVENT_BLOCK)
    _forbids = TEXT_FORBIDS
    _forbids_at_once = ROOTED

    def _check_fields(self) -> None:
        self._mask &= ~UNWRITTEN  # most events have no text

    @classmethod
    def _advice(cls, node: Node) -> str:
        return part_advice(node, f"an event block holds text: write the {label(node)} next to it")


class UserAction(EventBlockComponent):
    """An action of a user, inside an :class:`Event`: ``{actor or "User"} {action}: {target}``.

    Any other keyword is a detail, which is written on its own line. Every field is a value: a
    string, a number, a boolean, ``None``, a :class:`Volatile`, or a list or mapping of these, which
    becomes JSON. The content is author text, and is written after the fields.

    Raises :class:`ContentError` for a field that is not data.

    >>> from promptdsl import Event, UserAction, render
    >>> event = Event(UserAction("opened", target="invoice 1881", amount="EUR 49"))
    >>> print(render(event).messages[0].content[0].text)
    <event type="user_action">
    User opened: invoice 1881
    amount: EUR 49
    </event>
    """

    __slots__ = ()

    def __init__(
        self,
        action: str | ValueNode,
        /,
        *content: "TextContent",
        target: object = None,
        actor: object = None,
        **details: object,
    ) -> None:
        fields = {"action": action, "target": target, "actor": actor}
        _begin_event(self, UserActionBlock, fields, details, *content)


class StateChange(EventBlockComponent):
    """A value that changed, inside an :class:`Event`: ``{key} changed: {old} -> {new}``.

    You can leave ``old`` and ``new`` out. ``trigger`` is the cause. Any other keyword is a detail,
    which is written on its own line. Fields and content are like those of :class:`UserAction`.

    Raises :class:`ContentError` for a field that is not data, and for two strings after the key
    without ``old`` and ``new``.

    >>> from promptdsl import Event, StateChange, render
    >>> event = Event(StateChange("ticket", old="draft", new="open"))
    >>> print(render(event).messages[0].content[0].text)
    <event type="state_change">
    ticket changed: draft -> open
    </event>
    """

    __slots__ = ()

    def __init__(
        self,
        key: str | ValueNode,
        /,
        *content: "TextContent",
        old: object = ABSENT,
        new: object = ABSENT,
        trigger: object = None,
        **details: object,
    ) -> None:
        fields = {"key": key, "old": old, "new": new, "trigger": trigger}
        _begin_event(self, StateChangeBlock, fields, details, *content)


class SystemEvent(EventBlockComponent):
    """An event of the application, inside an :class:`Event`: ``{source}: {event}``.

    ``source`` is the part of the application. Any other keyword is data, which is written on its
    own line. Fields and content are like those of :class:`UserAction`.

    Raises :class:`ContentError` for a field that is not data.

    >>> from promptdsl import Event, SystemEvent, render
    >>> event = Event(SystemEvent("payment failed", source="billing", attempts=3))
    >>> print(render(event).messages[0].content[0].text)
    <event type="system_event">
    billing: payment failed
    attempts: 3
    </event>
    """

    __slots__ = ()

    def __init__(
        self,
        event: str | ValueNode,
        /,
        *content: "TextContent",
        source: object = None,
        **data: object,
    ) -> None:
        _begin_event(self, SystemEventBlock, {"event": event, "source": source}, data, *content)


def _begin_event(
    component: EventBlockComponent,
    cls: Callable[..., EventBlock],
    fields: Mapping[str, object],
    details: Mapping[str, object],
    *content: "TextContent",
) -> None:
    """Fill a component with its block and its content, and put it into the open block.

    ``cls`` is the class of the block. The block gets the plain value of a volatile one, and the
    component gets its label. Raises :class:`ContentError` for a missing text and for a field that
    is not data.
    """
    start(component, 3)
    volatile: list[VolatileNode] = []
    labels: dict[tuple[object, ...], str] = {}
    try:
        first = next(iter(fields.values()))
        if first is None or first is LEFT_OUT:
            problem = f"{named_label(component)} needs a text"
            raise ContentError(problem, fix=f'{label(component)}("...")')
        has_no_values = fields.get("old") is fields.get("new") is ABSENT
        if has_no_values and [*map(type, content)] == [str, str]:
            problem = "a StateChange takes the old and the new value by name"
            raise ContentError(problem, fix="write StateChange(key, old=..., new=...)")
        plain_fields = _plain_values("fields", fields, volatile, labels)
        plain_details = _plain_values("details", details, volatile, labels)
        if volatile:
            adopt_values(component, volatile, *content)
        component.labels = frozen(labels) if volatile else EMPTY
        component.block = cls(*plain_fields.values(), plain_details)
    except PromptError as error:
        retract((*content, *nodes_in(*fields.values(), *details.values())))
        end_traceback(error.located(component.source))
        raise
    # The block has only plain strings, so the component keeps the names of fields with author text.
    details_field = "data" if cls is SystemEventBlock else "details"
    trusted = [name for name, value in fields.items() if type(value) is Trusted]
    trusted += [
        f"{details_field}.{key}" for key, value in details.items() if type(value) is Trusted
    ]
    component.trusted = frozenset(trusted)
    if content:
        begin(component, content, {}, at=component._at)
    else:
        join_open_block(component)


def _plain_values(
    group: str,
    fields: Mapping[str, object],
    volatile: list[VolatileNode],
    labels: dict[tuple[object, ...], str],
) -> Mapping[str, object]:
    """Return the fields with plain values; add volatile values and their labels to the arguments.

    Raises :class:`ContentError`, with the name of the field, for a value that is not data.
    """
    plain_values: dict[str, object] = {}
    for name, value in fields.items():
        if type(value) is str or value is None or value is ABSENT:
            continue
        leaf = volatile_leaf(volatile, labels, group)
        if is_mapping(value) or is_list(value):
            plain_values[name] = plain(value, name, leaf)
        elif isinstance(value, VolatileNode):
            plain_values[name] = leaf(value, {}, name)
        else:
            try:
                text_of(value)
            except ContentError as error:
                raise ContentError(f"{on_one_line(name)}: {error.what}", fix=error.fix) from None
    return {**fields, **plain_values} if volatile else fields


# The components for tool calls, their results, and reasoning.

_CALL = bits(CALL)
"""The mask of a tool call, and of reasoning."""
_TOOL = bits(TURN | SPOKEN, bits(RESULT))
"""The mask of a tool message: a turn with a result below it, as if the result was a child."""


class ToolUse(Component, ToolUseNode):
    """A tool call that the model made, inside an assistant turn.

    ``name`` is the name of the tool, ``id`` the id of the call. ``input`` is a mapping of
    arguments, or the JSON text that the provider sent. The text is kept byte for byte.

    Raises :class:`ContentError` for any other input, for a mapping that is not plain data, for a
    name or id that is not a string, and for an empty id.

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
        join_open_block(self)


def _input_text(component: ToolUse, name: object, input: object, id: object) -> str:
    """Return the input of a call as JSON text, or raise :class:`ContentError`."""
    fix = 'ToolUse("search", {"query": "..."}, id="call_1")'
    if not isinstance(name, str) or not isinstance(id, str) or not id:
        problem = "a ToolUse needs two texts: the name of the tool, and an id that is not empty"
        raise ContentError(problem, fix=fix, at=(component.source,))
    if isinstance(input, str):
        return exact(input)
    if not is_mapping(input):
        problem = f"the input of a tool call must be a mapping, not {kind_of(input)}"
        raise ContentError(problem, fix=fix, at=(component.source,))
    try:
        return write_json(dict(input))
    except DataError as unnamed:
        error = unnamed
        try:
            plain(input, "input")  # its error names the key
        except DataError as named_error:
            error = named_error
        raise ContentError(error.what, fix=error.fix, at=(component.source,)) from None


class Reasoning(Component, ReasoningNode):
    """The reasoning of a model, inside an assistant turn; it is sent back only to its provider.

    ``origin`` is this provider (``"anthropic"``, ``"openai"``, ...). ``signature`` and
    ``encrypted`` are texts that the provider sent with the reasoning; they are kept byte for byte.
    All three are ``None`` by default.

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
        join_open_block(self)


def _check_result(self: "ToolResult | ToolMessage") -> None:
    """Check the fields of a tool result; an error type sets ``is_error``.

    Raises :class:`ContentError` for a bad id, :class:`OptionError` for a bad flag or error type.
    """
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
    # The result of a tool may be empty, so it does not count as unwritten.
    self._mask &= ~UNWRITTEN


class ToolResult(Container, ToolResultNode):
    """The result of the tool call ``tool_use_id``, inside a user or tool turn: text and media.

    ``is_error=True`` (default ``False``) means that the call failed. ``error_type`` is the reason:
    ``"unknown_tool"``, ``"validation_error"``, ``"execution_error"``, ``"timeout_error"`` or
    ``"interrupted"``; ``None`` by default. An error type sets ``is_error``; it is for people and is
    not sent. A result may be empty.

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
    """The result of the tool call ``tool_use_id`` as a separate turn.

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
        is_plain = not content or (len(content) == 1 and type(content[0]) is str and content[0])
        is_fault = is_error is not False or error_type is not None
        if not is_plain or type(tool_use_id) is not str or not tool_use_id or options or is_fault:
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
