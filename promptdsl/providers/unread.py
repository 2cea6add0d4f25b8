"""The keys of recorded messages that the readers pass over, found by those that they read.

Blocks whose readers keep all further keys are open: an adapter tells what it does not send of them.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.unicode import exact
from promptdsl.providers.registry import TARGETS
from promptdsl.providers.shared.read_keys import REST, Inner

Place: TypeAlias = tuple[Any, str | int]  # Any: the place around it, or None
"""The place of a value: the one around it, and its key or index there."""


def unread_keys(data: object, form: str) -> Iterator[tuple[str, str]]:
    """Yield the keys with a value that are not read of a recorded conversation, with their places.

    The data was read before. What is ``None`` or empty is no value. A key that is passed over in
    many places of one kind comes once, with its first place and the number of the others.
    """
    keys = TARGETS[form].read_keys
    if not is_mapping(data):
        *_, key = keys.payload
        data = {key: data}
    search = _Search(keys.entries_of)
    search.find(data, {**keys.payload, REST: None}, None)
    for (*_, key), places in search.found.items():
        steps = (f".{step}" if isinstance(step, str) else f"[{step}]" for step in _steps(places[0]))
        more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
        yield key, "".join(steps).removeprefix(".") + more


class _Search:
    """A search for unread keys, and the places that were found.

    They are by the keys on the way to them, the unread one included.
    """

    def __init__(self, entries_of: Callable[[object], Mapping[str, Any]]) -> None:
        self.found: dict[tuple[str, ...], list[Place | None]] = {}
        self.entries_of = entries_of

    def find(self, value: object, inner: Inner, place: Place | None) -> None:
        """Note the unread keys in a value; the shapes, not the data, limit how deep it goes."""
        if is_list(value):
            for number, item in enumerate(value):
                # Most items are messages of a role and a text.
                if not (is_mapping(item) and _is_plain(item)):
                    # The author may have changed the data since it was read, or does so now.
                    with suppress(DataError, TypeError, RuntimeError):
                        self.find(item, inner, (place, number))
            return
        if isinstance(value, str) or not value:
            return
        entries = self.entries_of(value)
        shape = inner(entries) if callable(inner) else inner
        if shape is None:
            return
        for key, content in entries.items():
            if key in shape:
                deeper = shape[key]
                if deeper is not None and type(content) is not str:
                    self.find(content, deeper, (place, key))
            elif REST not in shape and _is_a_value(content):
                name = exact(str(key))[:60]
                names = [step for step in _steps(place) if isinstance(step, str)]
                self.found.setdefault((*names, name), []).append(place)


_PLAIN = {"role", "content"}


def _is_plain(message: Mapping[str, object]) -> bool:
    """Return whether a message is a role and a text, as most are."""
    return message.keys() <= _PLAIN and type(message.get("content")) is str


def _is_a_value(content: object) -> bool:
    """Return whether content is more than ``None`` or an empty text, list or mapping."""
    is_json = content is None or isinstance(content, str) or is_list(content) or is_mapping(content)
    return not is_json or bool(content)


def _steps(place: Place | None) -> list[str | int]:
    steps: list[str | int] = []
    while place is not None:
        place, step = place
        steps.append(step)
    return steps[::-1]
