"""Functions that make messages of the values that can be appended to a transcript.

The file begins with messages that a browser sent. Then come the functions of packages above this
one, which read replies and written turns, and ``new_message``, for all other values.
"""

from collections.abc import Callable, Mapping, Sequence
from types import AsyncGeneratorType, GeneratorType
from typing import Any, Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.foundation.errors import ContentError, DataError, TranscriptError
from promptdsl.foundation.frozen import is_list, is_mapping, json_leaf, plain, thawed
from promptdsl.messages import Block, ReasoningBlock, TextBlock, ToolResultBlock
from promptdsl.messages.attachment import read_path
from promptdsl.messages.details import KEYS, NO_DETAILS, ROLES, check_results
from promptdsl.messages.field_checks import kind_of
from promptdsl.messages.media_type import MEDIA_KINDS
from promptdsl.messages.message import Message
from promptdsl.messages.names import ProviderName
from promptdsl.transcript.entries import LEVELS

# Messages that a browser sent: only the listed roles, blocks and keys are accepted.

_MEDIA_KEYS = frozenset({"type", "source", "title"})
_BLOCK_KEYS = {
    "text": frozenset({"type", "text"}),
    "image": _MEDIA_KEYS,
    "audio": _MEDIA_KEYS,
    "document": _MEDIA_KEYS,
    "video": _MEDIA_KEYS,
    "tool_use": frozenset({"type", "id", "name", "input"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error"}),
}
"""The keys that a client may write, by type of block."""
_SOURCE_KEYS = {
    "base64": frozenset({"type", "data", "media_type"}),
    "url": frozenset({"type", "url", "media_type"}),
}
"""The keys that a client may write, by type of an attachment's source."""
_ADDRESSES = ("https://", "http://", "data:")
_CLIENT_ROLES = ("user", "assistant", "tool")
_ADVICE = "send user, assistant and tool turns with text, addresses, base64, calls and results"


def client_messages(data: object) -> list[Message]:
    """Return the messages that a client sent; :class:`DataError` for anything not accepted."""
    raw_messages = data["messages"] if is_mapping(data) and [*data] == ["messages"] else data
    if not is_list(raw_messages):
        raise DataError(
            f"a list of messages is needed, not {type(raw_messages).__name__}", fix=_ADVICE
        )
    messages, ids = list[Message](), set[str | None]()
    for index, raw in enumerate(raw_messages):
        path = f"messages[{index}]"
        fields = _allowed(raw, frozenset({"role", "content", "id"}), path)
        if fields.get("role") not in _CLIENT_ROLES:
            raise DataError(f"{path} has the role {str(fields.get('role'))[:60]!r}", fix=_ADVICE)
        content = fields.get("content")
        if not isinstance(content, str):
            _check_blocks(content, f"{path}.content")
        message = Message.from_dict(fields)
        if message.id in ids:
            raise DataError(f"{path} has the id of another message", fix=_ADVICE)
        ids |= {message.id} - {None}
        messages.append(message)
    return messages


def _check_blocks(blocks: object, path: str, *, in_result: bool = False) -> None:
    if not is_list(blocks):
        raise DataError(f"{path} is a text or a list of blocks", fix=_ADVICE)
    for index, block in enumerate(blocks):
        block_path = f"{path}[{index}]"
        kind: Any = block.get("type") if is_mapping(block) else None
        keys = _BLOCK_KEYS.get(kind) if isinstance(kind, str) else None
        if keys is None or (in_result and kind in ("tool_use", "tool_result")):
            raise DataError(f"{block_path} has the type {str(kind)[:60]!r}", fix=_ADVICE)
        fields = _allowed(block, keys, block_path)
        if "source" in keys:
            source: Any = fields.get("source")
            source_type: Any = source.get("type") if is_mapping(source) else None
            if not isinstance(source_type, str) or source_type not in _SOURCE_KEYS:
                raise DataError(
                    f"{block_path}.source has the type {str(source_type)[:60]!r}",
                    fix=_ADVICE,
                )
            _allowed(source, _SOURCE_KEYS[source_type], f"{block_path}.source")
            if source_type == "url" and not str(source.get("url")).startswith(_ADDRESSES):
                raise DataError(f"{block_path}.source.url is not a web address", fix=_ADVICE)
        elif kind == "tool_use" and not is_mapping(fields.get("input")):
            raise DataError(f"{block_path}.input is an object", fix=_ADVICE)
        elif kind == "tool_result" and not isinstance(fields.get("content", ""), str):
            _check_blocks(fields["content"], f"{block_path}.content", in_result=True)


def _allowed(data: object, keys: frozenset[str], path: str) -> dict[str, Any]:  # Any: JSON
    """Return the entries of a mapping; :class:`DataError` for a key that is not allowed."""
    if not is_mapping(data):
        raise DataError(f"{path} must be an object, not {type(data).__name__}", fix=_ADVICE)
    for key in data:
        if key not in keys:
            raise DataError(f"{path} has the key {str(key)[:60]!r}", fix=_ADVICE)
    return dict(data)


# Values that can be appended, and the functions of packages above this one.
#
# To read a reply or a written turn needs providers and components, which are in packages above. So
# ``rendering/transcripts.py`` passes the functions that do it to :func:`connect`.

Repair: TypeAlias = Literal["error", "fill", "prune"]


class NewMessage(NamedTuple):
    """The message of a value that is appended; of a reply also its id, model and provider."""

    message: Message
    reply: Mapping[str, str]


Repairer: TypeAlias = Callable[[list[Message], Repair], tuple[list[tuple[int, Message]], list[str]]]


@attrs.define
class Above:
    """Functions of packages above this one, which :func:`connect` sets."""

    read: Callable[[object, ProviderName | None], NewMessage]
    """Returns the message of a provider's reply, of a stream that was read, or of a written turn.

    The second argument is the provider that sent a reply, if it is known."""
    recording: Callable[[object, str, str | None], tuple[Message, ...]]
    """Returns the messages of a conversation; arguments: data, provider format, server."""
    check_provider: Callable[[str], None]
    """Raises an error for an unknown provider."""
    repair: Repairer
    """Returns messages in pairs, each with its index (-1 for a new message), and notes of repairs.
    """


_ABOVE: list[Above] = []


def connect(above: Above) -> None:
    """Set the functions of the packages above."""
    _ABOVE[:] = [above]


def above() -> Above:
    """Return the functions of the packages above."""
    return _ABOVE[0]


_RUNNERS = {
    "_run_calls": ("run_calls", "for"),
    "_arun_calls": ("arun_calls", "async for"),
}
"""By the name of a generator, the function that made it, and the loop that reads it."""
_NO_MESSAGES = frozenset({type(None), bool, int, float, bytes, list, tuple, set})


def new_message(value: object, provider: ProviderName | None = None) -> NewMessage:
    """Return the message of a text, a message, its dictionary, a reply, or a written turn.

    ``provider`` is the provider of a reply, if it is known. Raises :class:`TranscriptError` for a
    text without content, :class:`ContentError` for a value that is no message, :class:`DataError`
    for wrong data, and :class:`TargetError` for an unknown provider.
    """
    if provider is not None:
        above().check_provider(provider)
    if isinstance(value, str):
        if not value.strip():
            raise TranscriptError("a user's turn has no text", fix="append what the user wrote")
        return NewMessage(Message("user", value), {})
    if isinstance(value, Message):
        return NewMessage(checked(value), {})
    if type(value) in _NO_MESSAGES:
        fix = "append each message, a text, a reply of a client, or a written turn"
        if is_list(value) and len(value) == 2 and value[0] in ROLES:
            fix = f"write Message({value[0]!r}, text)"
        raise ContentError(f"{kind_of(value)} cannot be appended", fix=fix)
    is_running = type(value) in (GeneratorType, AsyncGeneratorType)
    runner = getattr(value, "__name__", "") if is_running else ""
    if runner in _RUNNERS:
        function, loop = _RUNNERS[runner]
        fix = f"append each: {loop} result in {function}(...): transcript.append(result)"
        raise ContentError(f"the results of {function}() are not one message", fix=fix)
    if is_mapping(value) and "role" in value and value.keys() <= KEYS:
        return NewMessage(checked(Message.from_dict(value)), {})
    try:
        new = above().read(value, provider)
    except DataError:
        if is_mapping(value) and "role" in value:
            Message.from_dict(value)  # for its error, which names the wrong key
        raise
    return NewMessage(checked(new.message), new.reply)


def with_text(message: Message, text: str) -> Message:
    """Return a message with a new text instead of its text; all other content stays.

    In a tool's turn, the text of its result is replaced. Raises :class:`TranscriptError` for an
    empty text, and for a tool's turn with several results.
    """
    if not text.strip():
        raise TranscriptError("the new text is empty", fix="remove the turn, or write a text")
    content = message.content
    if message.role == "tool":
        result = content[0]
        if len(content) > 1 or not isinstance(result, ToolResultBlock):
            fix = "replace it with a Message that has all its results"
            raise TranscriptError("the turn has several results, so it has no single text", fix=fix)
        inner = _with_text(result.content, text)
        return message.replace(content=(attrs.evolve(result, content=inner),))
    return message.replace(content=_with_text(content, text), token_usage=None)


def _with_text(content: Sequence[Block], text: str) -> tuple[Block, ...]:
    """Return blocks with a new text instead of their texts.

    The new text has the position of the first text. Without a text, it is after the reasoning.
    """
    locations = [i for i, block in enumerate(content) if isinstance(block, TextBlock)]
    after_reasoning = (
        i for i, block in enumerate(content) if not isinstance(block, ReasoningBlock)
    )
    location = locations[0] if locations else next(after_reasoning, len(content))
    after = [block for block in content[location:] if not isinstance(block, TextBlock)]
    return (*content[:location], TextBlock(text), *after)


def checked(message: Message) -> Message:
    """Return a message that can be written to a file: plain data, attachments as bytes.

    Raises :class:`DataError`, which names the key, for a value that JSON cannot express.
    """
    if message._plain is not None and message._details is NO_DETAILS:
        return message
    if message.role == "tool":
        check_results(message.content)
    content = tuple(_with_bytes(block) for block in message.content)
    if any(new is not old for new, old in zip(content, message.content, strict=True)):
        message = message.replace(content=content)
    data = plain(message.to_dict(), "", json_leaf, levels=LEVELS)
    return message if Message.from_dict(thawed(data)) == message else Message.from_dict(data)


def _with_bytes(block: Block) -> Block:
    """Return a block with the bytes of its file, because the file may change later.

    Raises :class:`DataError` for a path that comes from data, and :class:`MediaError` for a file
    that cannot be read.
    """
    if isinstance(block, ToolResultBlock):
        inner = tuple(map(_with_bytes, block.content))
        is_same = all(new is old for new, old in zip(inner, block.content, strict=True))
        return block if is_same else attrs.evolve(block, content=inner)
    source: Any = getattr(block, "source", None)  # Any: a MediaSource, or a field of an event
    if block.type not in MEDIA_KINDS or source.kind != "path":
        return block
    if source.from_data:
        what = f"the path {source.value!r} comes from data, so its file is not read"
        raise DataError(what, fix="append a Message or a turn that your code makes of the path")
    kind: Any = block.type
    return attrs.evolve(block, source=read_path(source, (), kind))  # pyright: ignore[reportCallIssue]
