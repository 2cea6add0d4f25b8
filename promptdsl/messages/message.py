"""Messages: components become messages, and adapters of providers write these as payloads.

``Message`` is the public class. ``spoken`` and ``message`` make messages without checks, which is
faster. The functions at the end say which calls a conversation has answered.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import attrs
from attrs.exceptions import FrozenInstanceError

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_mapping, plain, thawed
from promptdsl.foundation.json import ABSENT, JsonDict, JsonObject
from promptdsl.foundation.source import end_traceback, looked_up, public_api
from promptdsl.foundation.unicode import exact
from promptdsl.messages.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.details import (
    DETAIL_KEYS,
    KEYS,
    KINDS,
    LEADING,
    NO_DETAILS,
    ROLES,
    Details,
    Kind,
    Origin,
    RawOrigin,
    Role,
    check_results,
    checked_details,
    checked_role,
    foreign_format,
    origin_of,
    refuse_unknown_keys,
)
from promptdsl.messages.field_checks import ErrorType, kind_of, one_of
from promptdsl.messages.field_checks import error_type as checked_error_type
from promptdsl.messages.read_blocks import attachments, contents, draft_of, text_block

_set = object.__setattr__

_SPEAKERS = tuple(role for role in ROLES if role != "tool")
"""The roles whose messages may be a single text."""


class Message:
    """One message to or from a model: a role and content blocks, a frozen value.

    ``content`` is a tuple of blocks; you may also pass a string or a list of block dictionaries.
    ``files`` are attachments after the content: paths, addresses, or their dictionaries.
    ``kind`` says where the message comes from. ``sources`` lists the turns that became the message;
    ``==`` ignores them. ``text`` is the text of all its blocks.

    Other keywords are ``id``, ``name``, ``metadata``, ``tags``, ``token_usage``,
    ``structured_output``, ``finish_reason``, ``raw_finish_reason`` and ``extra``. Of these, a
    message that was made of several turns has only the name; its ``sources`` have the others.
    Raises :class:`DataError` for an unknown role or key, and for a wrong value.

    >>> from promptdsl import Message
    >>> message = Message("user", "Where is the tea?", name="Ada")
    >>> message.text, message.content
    ('Where is the tea?', (TextBlock(text='Where is the tea?', cache=None, extra={}),))
    """

    __slots__ = (
        "__weakref__",
        "_at",
        "_blocks",
        "_cache",
        "_details",
        "_index",
        "_plain",
        "kind",
        "role",
    )

    role: Role
    kind: Kind
    # The text of a message that is only a text, otherwise ``None``. The block of the text is made
    # when ``content`` is read.
    _plain: str | None
    _details: Details
    _blocks: tuple[Block, ...] | None
    _at: Any  # Any: the turn that became the message (a tree node), or a tuple of origins
    _index: int  # the index in the address of this turn; -1 if ``_at`` is a tuple of origins

    def __init__(
        self,
        role: Role,
        content: object = (),
        *,
        kind: Kind = "written",
        origins: tuple[RawOrigin, ...] = (),
        files: object = None,
        **details: object,
    ) -> None:
        try:
            _set(self, "role", checked_role(role))
            _set(self, "kind", one_of(KINDS, kind, "kind"))
            refuse_unknown_keys(details, DETAIL_KEYS)
            blocks = contents(content, "content")
            if files is not None:
                blocks = (*blocks, *attachments(files, "files"))
            # A tuple of finished blocks is not checked here, because adapters check it.
            if self.role == "tool" and blocks is not content:
                check_results(blocks)
            _set(self, "_details", checked_details(details) if details else NO_DETAILS)
        except DataError as error:
            end_traceback(error)
            raise
        _set(self, "_plain", only_text(blocks))
        _set(self, "_blocks", blocks)
        _set(self, "_at", origins)
        _set(self, "_index", -1)

    @property
    def content(self) -> tuple[Block, ...]:
        """The blocks of the message."""
        blocks = self._blocks
        if blocks is None:
            blocks = (text_block(self._plain or ""),)
            _set(self, "_blocks", blocks)
        return blocks

    @property
    def text(self) -> str:
        """The text of the message: all its texts, also those in tool results.

        The texts of the assistant are joined directly, as SDKs join the pieces of a reply. Other
        texts, except empty texts, are joined by a blank line, as in a payload that takes a single
        string. Calls, reasoning and attachments have no text: ``str(rendered)`` shows them.
        """
        if self._plain is not None:
            return self._plain
        texts = _texts(self.content)
        return "".join(texts) if self.role == "assistant" else "\n\n".join(filter(None, texts))

    @property
    def calls(self) -> tuple[ToolUseBlock, ...]:
        """The tool calls of an assistant message, in order."""
        if self._plain is not None:
            return ()
        return tuple([block for block in self.content if isinstance(block, ToolUseBlock)])

    @property
    def id(self) -> str | None:
        """The id that the author gave the turn."""
        return self._details.id

    @property
    def name(self) -> str | None:
        """The speaker's name."""
        return self._details.name

    @property
    def metadata(self) -> Mapping[str, object]:
        """Notes of the author; never sent."""
        return self._details.metadata

    @property
    def tags(self) -> tuple[str, ...]:
        """The labels that the author gave the turn; never sent."""
        return self._details.tags

    @property
    def token_usage(self) -> Mapping[str, object] | None:
        """The tokens that a provider counted for an assistant message."""
        return self._details.token_usage

    @property
    def structured_output(self) -> Any:  # Any: its author knows the type
        """The value that was parsed from the text of an assistant message, ``None`` without one.

        An answer may be ``None``, too: ``null``. See :attr:`has_structured_output`.
        """
        value = self._details.structured_output
        return None if value is ABSENT else value

    @property
    def has_structured_output(self) -> bool:
        """Whether a value was parsed from the text of an assistant message."""
        return self._details.structured_output is not ABSENT

    @property
    def is_refusal(self) -> bool:
        """Whether the model refused to answer: a block or the finish reason says so."""
        refusals = (getattr(block, "extra", {}).get("refusal") for block in self.content)
        return self.finish_reason == "refused" or any(refusal is True for refusal in refusals)

    @property
    def finish_reason(self) -> str | None:
        """The reason why the model stopped: one of the words of :func:`read_response`."""
        return self._details.finish_reason

    @property
    def raw_finish_reason(self) -> str | None:
        """The provider's word for the reason, if it differs from ``finish_reason``."""
        return self._details.raw_finish_reason

    @property
    def extra(self) -> JsonObject:
        """The values of unknown keys of a reply or a recorded message, by key.

        A key inside the message is a path: ``tool_calls[0].weight``. The values are stored with the
        message, but not sent. A hint ``unread_key`` names each of them.
        """
        return self._details.extra

    @property
    def _origins(self) -> tuple[RawOrigin, ...]:
        """The origins of the message, before their lines are looked up."""
        if self._index < 0:
            origins: tuple[RawOrigin, ...] = self._at
            return origins
        turn = self._at
        head, within = turn._address_word or self.role, turn.options.within
        return ((head, self._index, turn._at, self._details, within),)

    @property
    def sources(self) -> tuple[Origin, ...]:
        """The address, file and line of every turn that became this message."""
        return tuple(map(origin_of, self._origins))

    @public_api
    def replace(self, **changes: Any) -> "Message":  # Any: checked like new fields
        """Return a copy of the message with some of its fields changed."""
        fields = self._fields()
        fields["origins"] = self._origins
        return Message(**(fields | changes))

    def _fields(self) -> dict[str, Any]:  # Any: keywords of Message
        """Return the fields by name, except for the origins."""
        details = attrs.asdict(self._details, recurse=False)
        return {"role": self.role, "content": self.content, "kind": self.kind, **details}

    def to_dict(self) -> JsonDict:
        """Return the message as plain data, without its sources."""
        data: JsonDict = {"role": self.role}
        if self._plain is not None:
            data["content"] = [{"type": "text", "text": self._plain}]
        else:
            data["content"] = [block.to_dict() for block in self.content]
        if self.kind != "written":
            data["kind"] = self.kind
        if self._details is NO_DETAILS:
            return data
        for key, default in attrs.asdict(NO_DETAILS, recurse=False).items():
            value = getattr(self._details, key)
            if value != default:
                data[key] = thawed(value)
        return data

    @classmethod
    def from_dict(cls, data: object) -> "Message":
        """Return the message that a dictionary describes.

        Raises :class:`DataError` for a value of another type, a missing or unknown role, an unknown
        key, and values that JSON cannot express.
        """
        try:
            if not is_mapping(data):
                from promptdsl.foundation.remedies import message_remedy

                problem = f"a message must be a mapping, not {kind_of(data)}"
                raise DataError(problem, fix=message_remedy(data))
            role, text = data.get("role"), data.get("content")
            # Most recorded messages have only a role and a text.
            is_speaker = len(data) == 2 and type(role) is str and role in _SPEAKERS
            if is_speaker and type(text) is str and text:
                return spoken(cast("Role", role), text)
            if "role" not in data:
                fix = foreign_format(data) or f"one of {', '.join(ROLES)}"
                raise DataError("a message needs a 'role'", fix=fix)
            fields: JsonDict = {exact(key): value for key, value in data.items()}
            refuse_unknown_keys(fields, KEYS)
            for key in ("metadata", "token_usage", "structured_output", "extra"):
                if key in fields:
                    fields[key] = plain(fields[key], key)
            return cls(**fields)
        except DataError as error:
            end_traceback(error)
            raise

    @staticmethod
    @public_api
    def tool_result(
        tool_use_id: str,
        content: str | Sequence[Block | Mapping[str, object]] = (),
        *,
        name: str | None = None,
        is_error: bool = False,
        error_type: ErrorType | None = None,
    ) -> "Message":
        """Return the tool message with the result of a call: a text, or a list of blocks.

        ``name`` is the name of the tool. ``error_type`` is the kind of error: ``unknown_tool``,
        ``validation_error``, ``execution_error``, ``timeout_error`` or ``interrupted``. It sets
        ``is_error``. Raises :class:`DataError` for a wrong value.
        """
        blocks = contents(content, "content")
        error = checked_error_type(error_type, "error_type")
        return Message("tool", (ToolResultBlock(tool_use_id, blocks, name, is_error, error),))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return (
            self.role == other.role
            and self.kind == other.kind
            and self._details == other._details
            and self.content == other.content
        )

    def __hash__(self) -> int:
        return hash((self.role, self.kind, self._plain, self._details.id))

    def __repr__(self) -> str:
        defaults = {"kind": "written", **attrs.asdict(NO_DETAILS, recurse=False)}
        fields = [
            f"{name}={value!r}"
            for name, value in self._fields().items()
            if name not in defaults or value != defaults[name]
        ]
        return f"Message({', '.join(fields)})"

    def __setattr__(self, name: str, value: object, /) -> None:
        raise FrozenInstanceError

    def __delattr__(self, name: str, /) -> None:
        raise FrozenInstanceError

    def __reduce__(self) -> tuple[object, ...]:
        # A position has a code object, which cannot be pickled; its file and line can.
        origins = tuple((*raw[:2], looked_up(raw[2]), *raw[3:]) for raw in self._origins)
        return partial(Message, **self._fields(), origins=origins), ()


def _texts(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, TextBlock):
            yield block.text
        elif isinstance(block, ToolResultBlock):
            yield from _texts(block.content)


def only_text(blocks: tuple[Block, ...]) -> str | None:
    """Return the text of content that is only a text, without a cache mark and unknown keys."""
    if len(blocks) == 1:
        block = blocks[0]
        if type(block) is TextBlock and block.cache is None and not block.extra:
            return block.text
    return None


# Messages made without checks, from values that are known to be valid (see ``read_blocks.py``).

_Draft = draft_of(Message)


def spoken(
    role: Role,
    text: str,
    at: object = (),
    index: int = -1,
    *,
    kind: Kind = "written",
    details: Details = NO_DETAILS,
) -> Message:
    """Return a message that is only a text.

    ``at`` is the turn that became the message, and ``index`` the index in its address. Without an
    index, ``at`` is the tuple of origins.
    """
    draft = _Draft()
    draft.role = role
    draft.kind = kind
    draft._plain = text
    draft._details = details
    draft._blocks = None
    draft._at = at
    draft._index = index
    draft.__class__ = Message
    message: Message = draft
    return message


def message(
    role: Role,
    content: tuple[Block, ...],
    at: object = (),
    index: int = -1,
    *,
    kind: Kind = "written",
    details: Details = NO_DETAILS,
) -> Message:
    """Return a message of blocks; :func:`spoken` explains ``at`` and ``index``."""
    draft = _Draft()
    draft.role = role
    draft.kind = kind
    draft._plain = only_text(content)
    draft._details = details
    draft._blocks = content
    draft._at = at
    draft._index = index
    draft.__class__ = Message
    message: Message = draft
    return message


def set_turn(message: Message, at: object, index: int) -> None:
    """Set the turn that became a new message, unless the message has origins."""
    if not message._at:
        _set(message, "_at", at)
        _set(message, "_index", index)


def remember(message: Message, cache: object) -> None:
    """Set the cache of the conversation that ends with a message; it is freed with the message."""
    _set(message, "_cache", cache)


def recalled(message: Message) -> object:
    """Return the cache of the conversation that ends with a message, or ``None``."""
    return getattr(message, "_cache", None)


def results_in(message: Message) -> Sequence[ToolResultBlock]:
    """Return the results in a message."""
    if message._plain is not None:
        return ()
    return [block for block in message.content if isinstance(block, ToolResultBlock)]


def answers_in(message: Message) -> tuple[str, ...]:
    """Return the ids of the calls that a message answers, in order."""
    return tuple([result.tool_use_id for result in results_in(message)])


class LastCalls(NamedTuple):
    """The last assistant message, ``None`` without one, and its calls without a result after it."""

    caller: Message | None
    unanswered: list[ToolUseBlock]


def last_calls(backwards: Iterable[Message]) -> LastCalls:
    """Return the calls of the last assistant message without a result, in order.

    ``backwards`` are the messages from the last one to the first one.
    """
    answered: set[str] = set()
    for message in backwards:
        if message.role == "assistant":
            unanswered = [call for call in message.calls if call.id not in answered]
            return LastCalls(message, unanswered)
        answered.update(answers_in(message))
    return LastCalls(None, [])


def open_calls(messages: Sequence[Message]) -> list[ToolUseBlock]:
    """Return the calls at the end of a conversation that have no result yet."""
    return last_calls(reversed(messages)).unanswered


def leading_systems(messages: Sequence[Message]) -> int:
    """Return how many system messages at the beginning are joined with the first one."""
    for index, message in enumerate(messages):
        if message.role != "system" or message.kind not in LEADING:
            return index
    return len(messages)
