"""Messages that a browser sent: only listed roles, blocks and keys are accepted."""

from typing import Any

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.messages.message import Message

_MEDIA = frozenset({"type", "source", "title"})
BLOCKS = {
    "text": frozenset({"type", "text"}),
    "image": _MEDIA,
    "audio": _MEDIA,
    "document": _MEDIA,
    "video": _MEDIA,
    "tool_use": frozenset({"type", "id", "name", "input"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error"}),
}
"""The keys that a client may write, by type of block."""
SOURCES = {
    "base64": frozenset({"type", "data", "media_type"}),
    "url": frozenset({"type", "url", "media_type"}),
}
_ADDRESSES = ("https://", "http://", "data:")
ROLES = ("user", "assistant", "tool")
FIX = "a client sends user, assistant and tool turns of text, addresses, base64, calls and results"


def client_messages(data: object) -> list[Message]:
    """Return the messages that a client sent; :class:`DataError` names what is not accepted."""
    raw_messages = data["messages"] if is_mapping(data) and [*data] == ["messages"] else data
    if not is_list(raw_messages):
        raise DataError(f"a list of messages is needed, not {type(raw_messages).__name__}", fix=FIX)
    messages, ids = list[Message](), set[str | None]()
    for number, raw in enumerate(raw_messages):
        where = f"messages[{number}]"
        fields = _allowed(raw, frozenset({"role", "content", "id"}), where)
        if fields.get("role") not in ROLES:
            raise DataError(f"{where} has the role {str(fields.get('role'))[:60]!r}", fix=FIX)
        content = fields.get("content")
        if not isinstance(content, str):
            _check_blocks(content, f"{where}.content")
        message = Message.from_dict(fields)
        if message.id in ids:
            raise DataError(f"{where} has the id of another message", fix=FIX)
        ids |= {message.id} - {None}
        messages.append(message)
    return messages


def _check_blocks(blocks: object, where: str, *, in_result: bool = False) -> None:
    if not is_list(blocks):
        raise DataError(f"{where} is a text or a list of blocks", fix=FIX)
    for number, block in enumerate(blocks):
        here = f"{where}[{number}]"
        kind: Any = block.get("type") if is_mapping(block) else None
        known = BLOCKS.get(kind) if isinstance(kind, str) else None
        if known is None or (in_result and kind in ("tool_use", "tool_result")):
            raise DataError(f"{here} has the type {str(kind)[:60]!r}", fix=FIX)
        fields = _allowed(block, known, here)
        if "source" in known:
            source: Any = fields.get("source")
            source_type: Any = source.get("type") if is_mapping(source) else None
            if not isinstance(source_type, str) or source_type not in SOURCES:
                raise DataError(f"{here}.source has the type {str(source_type)[:60]!r}", fix=FIX)
            _allowed(source, SOURCES[source_type], f"{here}.source")
            if source_type == "url" and not str(source.get("url")).startswith(_ADDRESSES):
                raise DataError(f"{here}.source.url is not a web address", fix=FIX)
        elif kind == "tool_use" and not is_mapping(fields.get("input")):
            raise DataError(f"{here}.input is an object", fix=FIX)
        elif kind == "tool_result" and not isinstance(fields.get("content", ""), str):
            _check_blocks(fields["content"], f"{here}.content", in_result=True)


def _allowed(data: object, keys: frozenset[str], where: str) -> dict[str, Any]:  # Any: JSON
    """Return the entries of a mapping; :class:`DataError` for a key that is not allowed."""
    if not is_mapping(data):
        raise DataError(f"{where} is an object, not {type(data).__name__}", fix=FIX)
    for key in data:
        if key not in keys:
            raise DataError(f"{where} has the key {str(key)[:60]!r}", fix=FIX)
    return dict(data)
