"""The beginning of a request up to its last cache mark, as a request that warms the cache."""

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


def cached_prefix(written: WrittenPayload) -> Param:
    """Return the payload up to its last cache mark, as a request.

    Calls that are open at the cache mark are kept with their results. A short user message is
    added where the provider needs one at the end.
    """
    payload, wire = written.payload(), written.facts.wire
    question = WrittenPayload(Prompt((spoken("user", OPENING),)), written.facts).payload()
    entries: list[Param] = payload[wire.messages_key]
    fields = [(n, key, value) for n, entry in enumerate(entries) for key, value in entry.items()]
    marks = [
        (n, key, part) for n, key, value in fields for part in _marked(value, wire.cache_mark_key)
    ]
    if not marks:
        entries[:] = question[wire.messages_key]
        if not _cut(payload, wire.system, wire.cache_mark_key):
            # The choice may name a removed tool, and a cache of tools does not depend on it.
            _cut(payload, wire.choice, wire.cache_mark_key)
            if not _cut(payload, wire.tools, wire.cache_mark_key):
                raise _without_marks(written)
        return payload
    end: Address = (wire.messages_key, *marks[-1])
    locations = [location for location in written.locations() if location.entry is not None]
    later = (
        location.address
        for location in locations
        if location.id and _position(location.address) > _position(end)
    )
    for address in later:
        if not _open_calls(locations, end):
            break
        end = address
    _end_entries(entries, end, question[wire.messages_key])
    sent = [
        location.role for location in locations if _position(location.address) <= _position(end)
    ]
    if next(filter(SIDES.get, reversed(sent)), "assistant") == "assistant":
        entries += question[wire.messages_key]
    return payload


def _end_entries(entries: list[Param], end: Address, question: list[Param]) -> None:
    """Remove the messages after an end, and the payload parts after it in its message."""
    number, index = _position(end)
    del entries[number + 1 :]
    if len(end) > 3:
        key = str(end[2])
        parts = entries[number][key][: index + 1]
        if any("document" in part for part in parts) and not any("text" in part for part in parts):
            # Bedrock, whose payload parts have no type, needs a text with a document.
            parts += question[0][key]
        entries[number] = {**entries[number], key: parts}


def _marked(params: object, mark: str) -> list[int]:
    """Return the indices of the payload parts with a cache mark; none if ``params`` is no list."""
    parts = enumerate(params) if is_list(params) else ()
    return [index for index, part in parts if is_mapping(part) and mark in part]


def _cut(payload: Param, path: Path, mark: str) -> bool:
    """Cut a list after its last cache mark; return whether it has one.

    Without a cache mark the complete list is removed.
    """
    for key in path[:-1]:
        payload = payload.get(key, {})
    marked = _marked(payload.get(path[-1]), mark) if path else []
    if marked:
        del payload[path[-1]][marked[-1] + 1 :]
    elif path:
        payload.pop(path[-1], None)
    return bool(marked)


def _position(address: Address) -> tuple[int, int]:
    """Return the number of a message, and of the payload part in it, 0 if it has no parts."""
    return int(address[1]), int(address[3]) if len(address) > 3 else 0


def _open_calls(locations: Iterable[SentLocation], end: Address) -> set[str]:
    """Return the ids of the calls up to an end that have no result there."""
    ids: set[str] = set()
    for location in locations:
        if location.id and _position(location.address) <= _position(end):
            ids ^= {location.id}
    return ids


def _without_marks(written: WrittenPayload) -> TargetError:
    facts = written.facts
    problem = "no cache mark is sent, so there is no prefix to cache"
    fix = 'write CacheBreakpoint() or cache=True at the end of it, or render(..., cache="auto")'
    if not facts.cache_marks:
        problem = f"{facts.model or facts.provider} takes no cache marks, so it has no prefix()"
        fix = "send payload(): its provider caches by itself, if at all"
    return TargetError(problem, fix=fix, at=(author(),))
