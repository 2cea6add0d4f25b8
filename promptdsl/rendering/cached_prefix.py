"""``Rendered.prefix()``: the payload up to its last cache mark, as a request that warms a cache."""

from collections.abc import Iterable
from typing import Any, TypeAlias

from promptdsl.config.wire import Path
from promptdsl.foundation.errors import TargetError
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.source import author
from promptdsl.messages.message import spoken
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.shared.request import OPENING, Address, SentLocation
from promptdsl.providers.shared.two_sided import SIDES
from promptdsl.providers.written import WrittenPayload

Param: TypeAlias = dict[str, Any]  # Any: JSON of a provider


def cached_prefix(written_payload: WrittenPayload) -> Param:
    """Return the payload up to its last cache mark, as a request.

    If calls are open at the cache mark, their results are kept, too. A short user message is added
    if the request would not end with a user's message. Raises :class:`TargetError` if the payload
    has no cache mark.
    """
    payload, wire = written_payload.payload(), written_payload.facts.wire
    question = WrittenPayload(Prompt((spoken("user", OPENING),)), written_payload.facts).payload()
    messages: list[Param] = payload[wire.messages_key]
    fields = [
        (n, key, value) for n, message in enumerate(messages) for key, value in message.items()
    ]
    cache_marks = [
        (n, key, index) for n, key, value in fields for index in _marked(value, wire.cache_mark_key)
    ]
    if not cache_marks:
        messages[:] = question[wire.messages_key]
        if not _cut(payload, wire.system, wire.cache_mark_key):
            # The tool choice may name a removed tool. It is not part of what is cached here.
            _cut(payload, wire.choice, wire.cache_mark_key)
            if not _cut(payload, wire.tools, wire.cache_mark_key):
                raise _without_marks(written_payload)
        return payload
    end: Address = (wire.messages_key, *cache_marks[-1])
    locations = [location for location in written_payload.locations() if location.entry is not None]
    later = (
        location.address
        for location in locations
        if location.id and _position(location.address) > _position(end)
    )
    for address in later:
        if not _open_calls(locations, end):
            break
        end = address
    _end_messages(messages, end, question[wire.messages_key])
    roles = [
        location.role for location in locations if _position(location.address) <= _position(end)
    ]
    if next(filter(SIDES.get, reversed(roles)), "assistant") == "assistant":
        messages += question[wire.messages_key]
    return payload


def _end_messages(messages: list[Param], end: Address, question: list[Param]) -> None:
    """Remove all messages and payload parts after the address ``end``."""
    message_index, part_index = _position(end)
    del messages[message_index + 1 :]
    if len(end) > 3:
        key = str(end[2])
        parts = messages[message_index][key][: part_index + 1]
        if any("document" in part for part in parts) and not any("text" in part for part in parts):
            # Bedrock needs a text next to a document. Its payload parts have no ``type``.
            parts += question[0][key]
        messages[message_index] = {**messages[message_index], key: parts}


def _marked(params: object, mark_key: str) -> list[int]:
    """Return the indices of the payload parts with a cache mark; ``[]`` if it is no list."""
    parts = enumerate(params) if is_list(params) else ()
    return [index for index, part in parts if is_mapping(part) and mark_key in part]


def _cut(payload: Param, path: Path, mark_key: str) -> bool:
    """Cut the list at ``path`` after its last cache mark; return whether it has a cache mark.

    Without a cache mark, the complete list is removed.
    """
    for key in path[:-1]:
        payload = payload.get(key, {})
    marked_indexes = _marked(payload.get(path[-1]), mark_key) if path else []
    if marked_indexes:
        del payload[path[-1]][marked_indexes[-1] + 1 :]
    elif path:
        payload.pop(path[-1], None)
    return bool(marked_indexes)


def _position(address: Address) -> tuple[int, int]:
    """Return the index of a message, and of the payload part in it (0 if it has no parts)."""
    return int(address[1]), int(address[3]) if len(address) > 3 else 0


def _open_calls(locations: Iterable[SentLocation], end: Address) -> set[str]:
    """Return the ids of the calls without a result before or at the address ``end``."""
    ids: set[str] = set()
    for location in locations:
        if location.id and _position(location.address) <= _position(end):
            ids ^= {location.id}
    return ids


def _without_marks(written_payload: WrittenPayload) -> TargetError:
    """Return the error for a payload without a cache mark."""
    facts = written_payload.facts
    problem = "no cache mark is sent, so there is no prefix to cache"
    fix = 'write CacheBreakpoint() or cache=True at the end of it, or render(..., cache="auto")'
    if not facts.cache_marks:
        problem = f"{facts.model or facts.provider} takes no cache marks, so it has no prefix()"
        fix = "send payload(): if its provider has a cache, it needs no cache marks"
    return TargetError(problem, fix=fix, at=(author(),))
