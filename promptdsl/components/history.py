"""The recorded conversation: :class:`History`, its options and its checks.

:func:`_begin_history` makes every history, also those of the ``from_`` methods.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from inspect import iscoroutinefunction, isgenerator
from typing import Never, Self, TypedDict, TypeGuard, TypeVar, Unpack, cast

from promptdsl.components.arguments import named_type
from promptdsl.components.block import Container
from promptdsl.components.options import (
    bad_option,
    check_count,
    check_flag,
    check_priority,
    too_many,
    unknown_option,
)
from promptdsl.components.scope import join_open_block, misplaced, retract, start
from promptdsl.config.models import named_origin
from promptdsl.foundation.errors import ContentError, OptionError, PromptError, TargetError
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.json import ABSENT, Absent
from promptdsl.foundation.source import public_api
from promptdsl.messages import conversation_cache
from promptdsl.messages.conversation_cache import recorded_before
from promptdsl.messages.field_checks import kind_of
from promptdsl.messages.message import Message
from promptdsl.messages.names import ProviderName
from promptdsl.tree import masks
from promptdsl.tree.node import Child, Node, label, make, named_label, nodes_in
from promptdsl.tree.turn_nodes import ClearResults, ConversationNode, RecordedNode, TurnNode
from promptdsl.tree.unknown_names import refuse


class HistoryOptions(TypedDict, total=False):
    """The options of a :class:`History`: how a budget shortens it."""

    keep: int
    step: int | None
    priority: float
    max_result_tokens: int | None
    clear_results: int | ClearResults | None
    pin: str | Iterable[str] | Callable[[Message], bool] | None
    keep_compacted: bool
    cut_line: bool


class RecordedOptions(HistoryOptions, total=False):
    """The options of a conversation in a provider format.

    ``origin`` is the server where it was recorded.
    """

    origin: ProviderName | None


class History(Container, ConversationNode):
    """A recorded conversation: a list of :class:`Message` values, or of their dictionaries.

    The list may be empty. Messages are sent unchanged, byte for byte. In its block you can write
    turns that follow the messages: ``User``, ``Assistant``, ``ToolMessage``, ``Event`` and
    ``Developer``.

    If a budget is too small, it drops the oldest exchanges. An exchange is a user turn, the events
    directly before it, and everything up to the next exchange. Options:

    - ``keep``: the number of last exchanges that always stay, 0 by default;
    - ``step``: the number of tokens that a budget drops at once, about; it drops more than it must.
      So the next requests begin alike, and the provider's prompt cache can serve them. By default
      ``step`` is an eighth, a fourth or half of the budget, by the size of the rounds; 0 drops only
      what is necessary;
    - ``priority``: a number, 0 by default; the history with the lowest priority is shortened first.
      The priorities of turns and parts in it do not count;
    - ``max_result_tokens``: the maximum number of tokens of one recorded tool result. A larger
      result is shortened at a line end, with or without a budget. ``None`` (default) is no maximum.
      For a result that you write, see :class:`Limit`;
    - ``clear_results``: the number of last calls whose recorded results stay when a budget is too
      small. Before the budget drops anything, older results become a placeholder. A
      :class:`ClearResults` has more options. ``None`` (default) clears nothing;
    - ``pin``: the ids of messages, or a function from a message to ``True`` or ``False``. The
      rounds of these messages, and the question of their exchange, are not cleared or dropped;
    - ``keep_compacted``: with ``True``, the messages before a provider's compaction are sent to
      that provider, too; by default only the compaction is sent;
    - ``cut_line``: with ``True``, a user message says "Earlier messages were left out." where a
      budget dropped something; ``False`` by default.

    For a conversation in a provider format use ``from_openai`` and the similar methods. They also
    take ``origin``, the server where the conversation was recorded, such as ``deepseek``. The
    server's reasoning and its special keys are sent back only to this server.

    The list is copied when the history is written. So a message that you append to it later is not
    sent: write a new history for each request. The messages are read at each render, so a change in
    a dictionary is sent.

    Raises :class:`ContentError` for an argument that is not a list of messages, or that contains a
    component. Raises :class:`OptionError` for a wrong option, :class:`TargetError` for an unknown
    ``origin``, :class:`PlacementError` for a part in its block that is not one of these turns.

    >>> from promptdsl import History, Timeline, Turn, User, render
    >>> log = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    >>> prompt = Timeline(History(log, keep=1), User("Bye."))
    >>> [message.text for message in render(prompt).messages]
    ['Hi.', 'Hello.', 'Bye.']
    >>> with History(keep=1) as history:
    ...     turns = [Turn(message["role"], message["content"]) for message in log]
    >>> [message.text for message in render(Timeline(history, User("Bye."))).messages]
    ['Hi.', 'Hello.', 'Bye.']
    """

    __slots__ = ()
    _initial_mask = masks.RECORDED  # if no turn is written in it, the first pass for it is ``read``
    _inspected_bits = masks.SURFACE | masks.DEEP  # all children are checked
    _options_type = HistoryOptions
    _option_defaults = ConversationNode._defaults

    def __init__(
        self,
        messages: Iterable[Message | Mapping[str, object]] | Absent = ABSENT,
        /,
        *extra: Never,
        **options: Unpack[HistoryOptions],
    ) -> None:
        if extra:
            raise too_many(self, messages, *extra)
        _begin_history(self, messages, "messages", cast("RecordedOptions", options))

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        super().__exit__(kind, error, trace)
        self._mask = (
            self._mask & ~masks.UNWRITTEN | masks.OPAQUE
        )  # an empty block is an empty history

    def _finished_content(self, content: tuple[Child, ...], mask: int) -> tuple[Child, ...]:
        for child in content:
            is_turn = isinstance(child, TurnNode | RecordedNode) and not child._mask & masks.SYSTEM
            if isinstance(child, Node) and not is_turn:
                raise misplaced(child, self)
        return content

    @classmethod
    def _advice(cls, node: Node) -> str:
        if node._mask & _IN_A_TURN:
            return f"put it in a turn: User({label(node)}(...))"
        if node._mask & masks.TURN and not node._mask & masks.SYSTEM:
            return "write the turns in the block: in a loop, or in a plain function"
        return f"write it next to the {cls.__name__}, directly in the Timeline"

    @classmethod
    def from_openai(cls, messages: object, /, **options: Unpack[RecordedOptions]) -> Self:
        """Return a conversation in OpenAI Chat format: a list of messages, or a payload."""
        return _begin_history(object.__new__(cls), messages, "openai", options)

    @classmethod
    def from_openai_responses(cls, messages: object, /, **options: Unpack[RecordedOptions]) -> Self:
        """Return a conversation in OpenAI Responses format: a list of items, or a payload."""
        return _begin_history(object.__new__(cls), messages, "openai_responses", options)

    @classmethod
    def from_anthropic(cls, messages: object, /, **options: Unpack[RecordedOptions]) -> Self:
        """Return a conversation in Anthropic format: a list of messages, or a payload."""
        return _begin_history(object.__new__(cls), messages, "anthropic", options)

    @classmethod
    def from_gemini(cls, messages: object, /, **options: Unpack[RecordedOptions]) -> Self:
        """Return a conversation in Gemini format: a list of contents, or a payload."""
        return _begin_history(object.__new__(cls), messages, "gemini", options)

    @classmethod
    def from_bedrock(cls, messages: object, /, **options: Unpack[RecordedOptions]) -> Self:
        """Return a conversation in Bedrock Converse format: a list of messages, or a payload."""
        return _begin_history(object.__new__(cls), messages, "bedrock", options)

    @classmethod
    def from_chat_template(cls, messages: object, /, **options: Unpack[HistoryOptions]) -> Self:
        """Return a conversation in chat template format: a list of messages, or a payload."""
        return _begin_history(
            object.__new__(cls), messages, "chat_template", cast("RecordedOptions", options)
        )


for _name in ("mistral", "groq", "ollama", "deepseek", "azure", "chat_completions"):
    _fix = "write History.from_openai(messages): they are in the format of OpenAI"
    if not hasattr(History, f"from_{_name}"):
        refuse(History, f"from_{_name}", f"from_{_name}()", _fix)
for _name in ("langchain", "litellm", "openai_agents", "pydantic_ai"):
    _fix = f"write History(from_{_name}(messages).messages), from promptdsl.integrations.{_name}"
    refuse(History, f"from_{_name}", f"from_{_name}()", _fix)
for _name in ("messages", "list", "dicts"):
    refuse(History, f"from_{_name}", f"from_{_name}()", "write History(messages)")

H = TypeVar("H", bound=History)


@public_api
def _begin_history(
    component: H, messages: object, provider_format: str, options: RecordedOptions
) -> H:
    """Fill a new history with its messages, put it into the open block, and return it.

    ``provider_format`` is ``"messages"``, or the format of a ``from_`` method. The errors are those
    of :class:`History`.
    """
    start(component, 4)
    try:
        for name in options:
            if name == "origin" and provider_format != "messages":  # only the ``from_`` methods
                continue
            if name in ("system", "system_instruction", "instructions"):
                problem = f"{label(component)}() takes no {name!r}"
                fix = "write System(...) before the History"
                raise OptionError(problem, fix=fix, at=(component.source,))
            if name not in component._accepts:
                raise unknown_option(component, name)
        component.keep = check_count(component, "keep", options.get("keep", 0), 0)
        step = options.get("step")
        component.step = None if step is None else check_count(component, "step", step, 0)
        priority = check_priority(component, options.get("priority", 0))
        if priority is None:
            fix = "write a number; keep=... is for the last exchanges that always stay"
            raise bad_option(component, "priority", priority, fix)
        component.priority = priority
        max_result_tokens = options.get("max_result_tokens")
        if max_result_tokens is not None:
            max_result_tokens = check_count(component, "max_result_tokens", max_result_tokens, 1)
        component.max_result_tokens = max_result_tokens
        component.clear_results = _checked_clearing(component, options.get("clear_results"))
        component.pin = _checked_pin(component, options.get("pin"))
        component.keep_compacted = options.get("keep_compacted", False)
        check_flag(component, "keep_compacted", component.keep_compacted)
        component.cut_line = options.get("cut_line", False)
        check_flag(component, "cut_line", component.cut_line)
        origin = _checked_origin(component, options.get("origin"), provider_format)
    except PromptError:
        retract(nodes_in(messages, *options.values()))
        raise
    if messages is ABSENT:
        component._mask |= masks.UNWRITTEN
        join_open_block(component)
        return component
    items: object
    read_cache: conversation_cache.ReadCache | None = None
    # The list is copied, because a message that is appended to it later is not sent.
    if is_mapping(messages) and provider_format != "messages":
        items = {key: _copied(component, value, provider_format) for key, value in messages.items()}
    elif _is_series(messages) and not (isgenerator(messages) and messages.gi_frame is None):
        # A generator without a frame was already read to its end.
        items, read_cache = _messages(component, messages, provider_format)
    else:
        method = "" if provider_format == "messages" else f".from_{provider_format}"
        raise ContentError(
            f"a History takes a list of messages, not {kind_of(messages)}",
            fix=_list_of(messages, f"History{method}"),
            at=(component.source,),
        )
    run = make(
        RecordedNode,
        mask=masks.RECORDED,
        at=component,
        items=items,
        provider_format=origin,
        start=0,
    )
    object.__setattr__(run, "read_cache", read_cache)
    component.content = (run,)
    join_open_block(component)
    return component


def _checked_origin(component: History, origin: object, provider_format: str) -> str:
    """Return the provider format of a conversation, or the server where it was recorded.

    Raises :class:`TargetError` for an unknown name, :class:`OptionError` for another value.
    """
    if origin is not None and not isinstance(origin, str):
        fix = "write the name of a server, such as 'deepseek'"
        raise bad_option(component, "origin", origin, fix)
    try:
        return named_origin(origin, provider_format)
    except TargetError as error:
        raise error.located(component.source) from None


def _checked_clearing(component: History, value: object) -> ClearResults | None:
    """Return the rule of the option ``clear_results``, or raise :class:`OptionError`."""
    if value is None:
        return None
    if not isinstance(value, ClearResults):
        return ClearResults(check_count(component, "clear_results", value, 1))
    check_count(component, "clear_results.keep", value.keep, 1)
    if value.at_least is not None:
        check_count(component, "clear_results.at_least", value.at_least, 1)
    if not all(isinstance(name, str) for name in value.exclude):  # pyright: ignore[reportUnnecessaryIsInstance]
        fix = 'write the names of tools: exclude=("memory",)'
        raise bad_option(component, "clear_results.exclude", value.exclude, fix)
    check_flag(component, "clear_results.inputs", value.inputs)
    placeholder: object = value.placeholder
    if not (isinstance(placeholder, str) and placeholder.strip()):  # pyright: ignore[reportUnnecessaryIsInstance]
        fix = "write a text that is not empty: some targets refuse an empty result"
        raise bad_option(component, "clear_results.placeholder", placeholder, fix)
    return value


def _checked_pin(component: History, value: object) -> object:
    """Return the ids of the option ``pin`` as a set, or its function unchanged.

    Raises :class:`OptionError` for any other value.
    """
    if callable(value):
        if iscoroutinefunction(value) or iscoroutinefunction(type(value).__call__):
            fix = "write a function without async, or await it first and pass the ids"
            raise bad_option(component, "pin", value, fix)
        return value
    if value is None:
        return None
    ids = [*value] if _is_series(value) else [value]
    if not all(isinstance(id, str) for id in ids):
        fix = "write the ids of messages, or a function from a Message to True or False"
        raise bad_option(component, "pin", value, fix)
    return frozenset(ids)


_IN_A_TURN = masks.TEXT | masks.MEDIA | masks.ITEM | masks.CALL | masks.RESULT | masks.EVENT_BLOCK
"""The bits of nodes that belong in a turn."""


def _list_of(value: object, call: str) -> str:
    """Return the advice for an argument of a History that is not a list of messages.

    ``call`` is what the author called: ``History``, or ``History.from_openai``.
    """
    from promptdsl.foundation.remedies import is_reply

    if value is None:
        return f"an empty conversation is {call}([])"
    if isgenerator(value):
        return "the generator was already read: make a list first, messages = [*generator]"
    if is_reply(value):
        return "put it in a list: History([read_response(reply)])"
    if is_mapping(value) or isinstance(value, Message):
        return f"put it in a list: {call}([message])"
    if isinstance(value, str | bytes):
        return _advice_for_text(value, call)
    if isinstance(value, os.PathLike):
        return _advice_for_path("path", "path", call)
    return f"give the list itself: {call}(messages)"


def _advice_for_text(value: str | bytes, call: str) -> str:
    """Return the advice for a text or bytes: JSON, the path of a file, or the text of a message."""
    text, variable = value, "text"
    if isinstance(text, bytes):
        text, variable = text.decode("utf-8", "replace"), "data"
    if text.lstrip().startswith(("[", "{")):
        return f"read the JSON first: {call}(json.loads({variable}))"
    if "\n" not in text and text.lower().endswith((".json", ".jsonl")):
        return _advice_for_path(variable, f"Path({variable})", call)
    turn = "User(text)" if variable == "text" else "User(data.decode())"
    return f"a text is one turn: write {turn} in the Timeline, without a History"


def _advice_for_path(name: str, path: str, call: str) -> str:
    """Return the advice for the path of a file, which is ``name`` in the author's code."""
    return (
        f"it is the path of a file: write {call}(json.loads({path}.read_text())); "
        f"for the file of a Transcript, write History(Transcript.open({name}))"
    )


def _is_series(value: object) -> TypeGuard[Iterable[object]]:
    """Return whether a value can be read as a list: it is iterable, not a text, not a mapping."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _copied(component: History, value: object, provider_format: str) -> object:
    """Return a value of a payload; a list is copied, and its messages are checked."""
    if isinstance(value, list):
        return _messages(component, cast("list[object]", value), provider_format)[0]
    return value


_PLAIN = {Message, dict}
"""The usual types of messages. They need no further check here."""


def _messages(
    component: History, messages: Iterable[object], provider_format: str
) -> tuple[tuple[object, ...], conversation_cache.ReadCache | None]:
    """Return messages as a tuple, and the cache of the conversation that they continue, if any.

    Raises :class:`ContentError` for a component among them, and for a value that is not a message.
    """
    copies = tuple(messages)
    read_cache = None
    if provider_format == "messages" and len(copies) >= conversation_cache.SHORTEST:
        read_cache = recorded_before(copies)
    # Only the types of the new messages are checked: the others were checked before.
    new = copies if read_cache is None else copies[len(read_cache.messages) :]
    kinds = set(map(type, new))
    if kinds <= _PLAIN:
        return copies, read_cache
    nodes = [message for message in copies if isinstance(message, Node)]
    if nodes:
        retract(nodes)
        fix = f"write it in a block: with History(...): {label(nodes[0])}(...)"
        raise ContentError(
            f"{named_label(nodes[0])} cannot be in the list of a History",
            fix=fix,
            at=(component.source, nodes[0].source),
        )
    wrong_indexes = [
        index for index, item in enumerate(copies) if not isinstance(item, Message | Mapping)
    ]
    if provider_format == "messages" and wrong_indexes:
        from promptdsl.foundation.remedies import is_reply, message_remedy

        if is_reply(messages):
            problem = f"a History takes a list of messages, not {named_type(messages)}"
            raise ContentError(problem, fix=_list_of(messages, "History"), at=(component.source,))
        index = wrong_indexes[0]
        item = copies[index]
        problem = f"messages[{index}] of this History is not a message: {named_type(item)}"
        fix = message_remedy(item)
        raise ContentError(problem, fix=fix, at=(component.source,))
    return copies, read_cache
