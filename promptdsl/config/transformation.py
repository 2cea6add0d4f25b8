"""The settings of a render, merged in layers, and which layer set a value.

Every value a configuration can set has a flat key, such as ``role_mapping.event``. A layer is the
keys it sets and nothing more, so merging layers is updating one dictionary with the next.
"""

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import CodeType
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, cast, get_args

import attrs

from promptdsl.config.delimiters import (
    EPHEMERAL_DELIMITER,
    EVENT_DELIMITER,
    EVENT_TYPES,
    NO_DELIMITER,
    Delimiter,
    Delimiters,
)
from promptdsl.config.model_facts import MappedRole
from promptdsl.foundation.errors import ConfigError, nearest
from promptdsl.foundation.guards import check_delimiter
from promptdsl.foundation.source import Source, author
from promptdsl.messages import Block

EphemeralPosition: TypeAlias = Literal["flow", "after_system", "start", "before_user", "end"]
Format: TypeAlias = Literal["markdown", "xml"]
FORMATS: tuple[str, ...] = get_args(Format)
ToolPairing: TypeAlias = Literal["error", "fill", "prune"]
FormatBlock: TypeAlias = Callable[[Block], object]
"""A function of the original block, called before it becomes text."""

DelimiterLike: TypeAlias = tuple[str, str] | str | None
"""A delimiter as it is written: a pair, a prefix, or ``None`` for no fence."""


class RoleOptions(TypedDict, total=False):
    """The roles that events and request-only turns are sent in."""

    event: MappedRole
    ephemeral: MappedRole


class EventDelimiterOptions(TypedDict, total=False):
    """A delimiter for each type of event; ``text`` is text written in an ``Event``."""

    user_action: DelimiterLike
    state_change: DelimiterLike
    system_event: DelimiterLike
    text: DelimiterLike


class DelimiterOptions(TypedDict, total=False):
    """The delimiters of events and request-only turns."""

    event: DelimiterLike | EventDelimiterOptions
    ephemeral: DelimiterLike


class ConfigOptions(TypedDict, total=False):
    """The keywords of a :class:`MessageTransformationConfig`."""

    role_mapping: RoleOptions
    delimiters: DelimiterOptions
    format_block: FormatBlock | None
    ephemeral_position: EphemeralPosition
    format: Format
    merge_consecutive: bool
    tool_pairing: ToolPairing
    guard_conversation: bool


LIBRARY: Mapping[str, Any] = {
    "role_mapping.event": "user",
    "role_mapping.ephemeral": "user",
    "delimiters.event.user_action": EVENT_DELIMITER,
    "delimiters.event.state_change": EVENT_DELIMITER,
    "delimiters.event.system_event": EVENT_DELIMITER,
    "delimiters.event.text": EVENT_DELIMITER,
    "delimiters.ephemeral": EPHEMERAL_DELIMITER,
    "format_block": None,
    "ephemeral_position": "flow",
    "format": "markdown",
    "merge_consecutive": True,
    "tool_pairing": "error",
    "guard_conversation": False,
}
"""The values under every layer, set by the library. Their order is that of every explanation."""


# Reading what an author wrote.

Settings: TypeAlias = tuple[tuple[str, Any], ...]
"""The flat keys one layer sets, with their values, by key."""

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "role_mapping.event": get_args(MappedRole),
    "role_mapping.ephemeral": get_args(MappedRole),
    "ephemeral_position": get_args(EphemeralPosition),
    "format": FORMATS,
    "tool_pairing": get_args(ToolPairing),
}


def _settings(options: object) -> Settings:
    found: dict[str, Any] = {}
    for key, value in _entries("a configuration", options, _READERS):
        found.update(_READERS[key](key, value))
    return tuple(sorted(found.items()))


def _entries(path: str, options: object, known: Collection[str]) -> Iterator[tuple[str, Any]]:
    if not isinstance(options, Mapping):
        raise ConfigError(
            f"{path} is a mapping, not {options!r}", fix=f"its keys: {', '.join(known)}"
        )
    for key, value in cast("Mapping[str, Any]", options).items():
        if key not in known:
            raise ConfigError(f"unknown key {key!r} in {path}", fix=nearest(str(key), known))
        yield key, value


def _choice(key: str, value: object) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, str) or value not in _CHOICES[key]:
        raise ConfigError(f"unknown {key} {value!r}", fix=nearest(str(value), _CHOICES[key]))
    yield key, value


def _roles(key: str, value: object) -> Iterator[tuple[str, Any]]:
    for part, role in _entries(key, value, ("event", "ephemeral")):
        yield from _choice(f"{key}.{part}", role)


def _delimiters(key: str, value: object) -> Iterator[tuple[str, Any]]:
    for part, given in _entries(key, value, ("event", "ephemeral")):
        path = f"{key}.{part}"
        if part == "ephemeral":
            yield path, _delimiter(path, given)
        elif isinstance(given, Mapping):
            types = _entries(path, cast("object", given), EVENT_TYPES)
            yield from ((f"{path}.{type}", _delimiter(f"{path}.{type}", of)) for type, of in types)
        else:
            delimiter = _delimiter(path, given)
            yield from ((f"{path}.{type}", delimiter) for type in EVENT_TYPES)


def _delimiter(path: str, given: object) -> Delimiter:
    match given:
        case None:
            return NO_DELIMITER
        case str() if given:
            return _checked(Delimiter("prefix", given))
        case [str() as open, str() as close] if open and close:
            return _checked(Delimiter("pair", open, close))
        case _:
            raise ConfigError(
                f"{path} is no delimiter: {given!r}",
                fix="write a pair of texts, one text as a prefix, or None for no fence",
            )


def _checked(delimiter: Delimiter) -> Delimiter:
    for text in (delimiter.open, delimiter.close):
        if text:
            check_delimiter(text, tag=delimiter.is_tag)
    return delimiter


def _function(key: str, value: object) -> Iterator[tuple[str, Any]]:
    if value is not None and not callable(value):
        raise ConfigError(f"{key} is a function of a block or None, not {value!r}")
    yield key, value


def _flag(key: str, value: object) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, bool):
        raise ConfigError(f"{key} is True or False, not {value!r}")
    yield key, value


_READERS: Mapping[str, Callable[[str, object], Iterator[tuple[str, Any]]]] = {
    "role_mapping": _roles,
    "delimiters": _delimiters,
    "format_block": _function,
    "ephemeral_position": _choice,
    "format": _choice,
    "merge_consecutive": _flag,
    "tool_pairing": _choice,
    "guard_conversation": _flag,
}


@attrs.frozen(init=False)
class MessageTransformationConfig:
    """The wishes of an author for the way from tree to messages.

    An option that is left out is unset, so that the layers below show through. Nested values are
    mappings and may be partial. ``settings`` are the options set, under flat keys such as
    ``role_mapping.event``.

    >>> from promptdsl import MessageTransformationConfig
    >>> MessageTransformationConfig(format="xml", role_mapping={"event": "system"}).settings
    (('format', 'xml'), ('role_mapping.event', 'system'))

    Raises :class:`ConfigError` for an unknown key or value.
    """

    settings: Settings

    def __init__(self, **options: Unpack[ConfigOptions]) -> None:
        try:
            object.__setattr__(self, "settings", _settings(options))
        except ConfigError as error:
            error.located(author())
            raise


# Layers.

ConfigLike: TypeAlias = MessageTransformationConfig | Mapping[str, Any]
Transformation: TypeAlias = ConfigLike | Callable[[str | None, str | None], ConfigLike | None]
"""A configuration, or a function of model and provider that returns one or ``None``."""


@attrs.frozen(cache_hash=True)
class Resolved:
    """The configuration of one render, every value set."""

    event_role: MappedRole
    ephemeral_role: MappedRole
    delimiters: Delimiters
    format_block: FormatBlock | None
    ephemeral_position: EphemeralPosition
    format: Format
    merge_consecutive: bool
    tool_pairing: ToolPairing
    guard_conversation: bool
    origins: tuple[tuple[str, Any, str], ...] = attrs.field(default=(), eq=False, repr=False)

    def explain(self) -> dict[str, tuple[Any, str]]:
        """Return the value of every flat key and the name of the layer that set it."""
        return {key: (value, layer) for key, value, layer in self.origins}


def resolve(
    layers: Iterable[tuple[str, Transformation | None]],
    *,
    model: str | None = None,
    provider: str | None = None,
) -> Resolved:
    """Return the configuration of ``(name, layer)`` pairs, each over the ones before it.

    The first layer is over the values of the library. A function is called with ``model`` and
    ``provider`` every time. The same layers give the same object. Raises :class:`ConfigError` for
    an unknown key or value, and names the layer.
    """
    found = tuple(
        (name, _settings_of(name, layer, model, provider))
        for name, layer in layers
        if layer is not None
    )
    try:
        return _remembered(found)
    except TypeError:  # a format_block that cannot be hashed
        return _merged(found)


def _settings_of(
    name: str, layer: Transformation, model: str | None, provider: str | None
) -> Settings:
    if callable(layer):
        return _read(name, layer(model, provider), at=_definition(layer))
    return _read(name, layer, at=None)


def _read(name: str, given: object, *, at: Source | None) -> Settings:
    if given is None:
        return ()
    if isinstance(given, MessageTransformationConfig):
        return given.settings
    try:
        return _settings(given)
    except ConfigError as error:
        what = f"{error.what} (in the transformation of {name})"
        raise ConfigError(what, fix=error.fix, at=(at,)) from None


def _definition(function: object) -> Source | None:
    code = getattr(function, "__code__", None)
    return Source(code.co_filename, code.co_firstlineno) if isinstance(code, CodeType) else None


def _merged(layers: tuple[tuple[str, Settings], ...]) -> Resolved:
    values = dict(LIBRARY)
    origins = dict.fromkeys(LIBRARY, "library")
    for name, settings in layers:
        values.update(settings)
        origins.update((key, name) for key, _ in settings)
    return Resolved(
        event_role=values["role_mapping.event"],
        ephemeral_role=values["role_mapping.ephemeral"],
        delimiters=Delimiters(
            **{type: values[f"delimiters.event.{type}"] for type in EVENT_TYPES},
            ephemeral=values["delimiters.ephemeral"],
        ),
        **{key: values[key] for key in _PLAIN},
        origins=tuple((key, values[key], layer) for key, layer in origins.items()),
    )


_PLAIN = tuple(key for key in LIBRARY if "." not in key)
_remembered = functools.lru_cache(maxsize=128)(_merged)


def as_layer(given: object, *, at: Source | None) -> Transformation | None:
    """Return the layer of an author's ``transformation=``, a mapping read at once.

    Raises :class:`ConfigError` with the author's line for anything but a configuration.
    """
    if given is None or isinstance(given, MessageTransformationConfig):
        return given
    if callable(given):
        return cast("Transformation", given)
    try:
        return MessageTransformationConfig(**cast("Any", given))
    except ConfigError as error:
        raise ConfigError(error.what, fix=error.fix, at=(at,)) from None
    except TypeError:
        raise ConfigError(
            f"a transformation is a configuration, a mapping or a function, not {given!r}", at=(at,)
        ) from None
