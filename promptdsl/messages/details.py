"""The details of a message, such as its id, and its origins: the turns that it was made of."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

import attrs

from promptdsl.foundation.frozen import EMPTY, frozen
from promptdsl.foundation.json import ABSENT, JsonObject
from promptdsl.foundation.source import Position, Source, looked_up


def _frozen_output(value: object) -> object:
    return value if value is ABSENT else frozen(value)


@attrs.frozen
class Details:
    """The id, name and notes of a message. Most messages share one object of defaults."""

    id: str | None = None
    name: str | None = None
    metadata: Mapping[str, object] = attrs.field(default=EMPTY, converter=frozen)
    tags: tuple[str, ...] = ()
    token_usage: Mapping[str, object] | None = attrs.field(default=None, converter=frozen)
    structured_output: object = attrs.field(default=ABSENT, converter=_frozen_output)
    finish_reason: str | None = None
    raw_finish_reason: str | None = None
    extra: JsonObject = attrs.field(default=EMPTY, converter=frozen)


NO_DETAILS = Details()


@lru_cache(maxsize=512)
def named(name: str) -> Details:
    """Return the details of a message that has a name and nothing else."""
    return Details(name=name)


JOINED = "joined_turns"
"""The key in the metadata of a recorded answer that was several turns: how many they were."""
DETAIL_KEYS = frozenset(field.name for field in attrs.fields(Details))

RawOrigin: TypeAlias = tuple[str, int, Position | Source | None, Details, tuple[str, ...]]
"""An :class:`Origin` before its line is looked up. Its address is a name and a number, which is
written in brackets; -1 means no number."""


@attrs.frozen
class Origin:
    """One of the turns that a message was made of: its address in the prompt, and its line.

    ``id``, ``metadata``, ``tags``, ``token_usage``, ``structured_output``, ``finish_reason``,
    ``raw_finish_reason`` and ``extra`` are those of the turn; a message made of several turns has
    them only here.
    ``components`` are the names of the components around it, the outermost first.

    >>> from promptdsl import Timeline, User, render
    >>> (origin,) = render(Timeline(User("Hi.", id="first"))).messages[0].sources
    >>> origin.address, origin.id
    ('first', 'first')
    """

    address: str
    source: Source | None
    id: str | None = None
    metadata: Mapping[str, object] = EMPTY
    components: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    token_usage: Mapping[str, object] | None = None
    structured_output: object = None
    finish_reason: str | None = None
    raw_finish_reason: str | None = None
    extra: JsonObject = EMPTY


def origin_of(raw: RawOrigin) -> Origin:
    """Return an origin with its address and its line."""
    head, number, at, details, components = raw
    address = head if number < 0 else f"{head}[{number}]"
    notes = {key: getattr(details, key) for key in DETAIL_KEYS - {"name"}}
    if details.structured_output is ABSENT:
        notes["structured_output"] = None
    return Origin(address, looked_up(at), components=components, **notes)
