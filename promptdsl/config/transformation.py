"""The settings of a render, which are merged from layers.

Begin with :class:`MessageTransformationConfig`, what an author writes, and :func:`resolve`, which
merges the layers. The delimiters of events and groundings come first.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType
from typing import Any, ClassVar, Literal, TypeAlias, TypedDict, Unpack, cast, get_args

import attrs

from promptdsl.config.model_facts import MappedRole
from promptdsl.foundation.author_text import TAGS
from promptdsl.foundation.errors import ConfigError, is_one_of, nearest, shown
from promptdsl.foundation.frozen import FrozenDict
from promptdsl.foundation.guards import check_delimiter, fold
from promptdsl.foundation.source import ListedSignature, Source, author, end_traceback, note_caller
from promptdsl.messages import Block
from promptdsl.messages.names import HINTS
from promptdsl.messages.prompt import LoneText

# Delimiters: the texts that are written before and after an event or a grounding.

_NAME = "[A-Za-z_][A-Za-z0-9_.-]*"
_TAG = re.compile(rf"\s*<({_NAME})(?:\s[^<>]*)?>\s*")
_CLOSING_TAG = re.compile(rf"\s*</({_NAME})\s*>\s*")
_set = object.__setattr__


@attrs.frozen(cache_hash=True)
class Delimiter:
    """The opening and closing delimiter of a text.

    ``kind`` is ``default`` for a tag that takes attributes (``open`` is the tag without them),
    ``pair`` for two texts, ``prefix`` if there is only ``open``, ``none`` for no delimiters.
    """

    kind: Literal["default", "pair", "prefix", "none"]
    open: str = ""
    close: str = ""
    tag_name: str | None = attrs.field(init=False, eq=False, repr=False)
    """The name of the tag if ``open`` is a tag, otherwise ``None``."""
    is_tag: bool = attrs.field(init=False, eq=False, repr=False)
    """Whether both texts are the same tag. Then it is enough to guard the name of the tag."""
    literals: tuple[str, ...] = attrs.field(init=False, eq=False, repr=False)
    """The delimiters, if they are not tags. The text between them may not contain them."""

    def __attrs_post_init__(self) -> None:
        opening, closing = _TAG.fullmatch(self.open), _CLOSING_TAG.fullmatch(self.close)
        name = opening[1] if opening else None
        is_tag = closing is not None and closing[1] == name
        # They are stripped, because line ends around a text could be the white space of a
        # delimiter.
        literals = () if is_tag else tuple(text.strip() for text in (self.open, self.close) if text)
        _set(self, "tag_name", name)
        _set(self, "is_tag", is_tag)
        _set(self, "literals", literals)


NO_DELIMITER = Delimiter("none")
EVENT_DELIMITER = Delimiter("default", "<event>", "</event>")
EPHEMERAL_DELIMITER = Delimiter("default", "<context>", "</context>")


@attrs.frozen(cache_hash=True)
class Delimiters:
    """The delimiters of each type of event, and of groundings (``ephemeral``)."""

    user_action: Delimiter = EVENT_DELIMITER
    state_change: Delimiter = EVENT_DELIMITER
    system_event: Delimiter = EVENT_DELIMITER
    text: Delimiter = EVENT_DELIMITER
    ephemeral: Delimiter = EPHEMERAL_DELIMITER

    @property
    def all(self) -> tuple[Delimiter, ...]:
        """All delimiters, those of events first."""
        events = (self.user_action, self.state_change, self.system_event, self.text)
        return (*events, self.ephemeral)


EVENT_TYPES = ("user_action", "state_change", "system_event", "text")
"""The types of events; ``text`` is text that is written in an ``Event``."""


# The settings of a render, which are merged from layers.
#
# Every setting has a flat key, such as ``role_mapping.event``. A layer has only the keys that it
# sets. So layers are merged like dictionaries: a later layer overrides an earlier one.
# ``Resolved.origins`` says which layer set each value.

EphemeralPosition: TypeAlias = Literal["flow", "after_system", "start", "before_user", "end"]
Format: TypeAlias = Literal["markdown", "xml"]
FORMATS: tuple[str, ...] = get_args(Format)
JsonKeys: TypeAlias = Literal["sorted"]
"""The order of keys in the tools and calls of a payload."""
ToolPairing: TypeAlias = Literal["error", "fill", "prune", "keep"]
BodyEncoding: TypeAlias = Literal["minimal", "full"]
"""How values between delimiters or tags are encoded."""
InlineEncoding: TypeAlias = Literal["readable", "full"]
"""How values in instructions are encoded, with no delimiters or tags around them."""
FormatBlock: TypeAlias = Callable[[Block], object]
"""A function of an event, JSON or code block that returns its text, or ``None``."""

DelimiterLike: TypeAlias = tuple[str, str] | str | None
"""Delimiters as an author writes them: a pair, a prefix, or ``None`` for no delimiters."""


class RoleOptions(TypedDict, total=False):
    """The roles in which events and groundings (``ephemeral``) are sent."""

    event: MappedRole
    ephemeral: MappedRole


class EventDelimiterOptions(TypedDict, total=False):
    """The delimiters of each type of event; ``text`` is text that is written in an ``Event``."""

    user_action: DelimiterLike
    state_change: DelimiterLike
    system_event: DelimiterLike
    text: DelimiterLike


class DelimiterOptions(TypedDict, total=False):
    """The delimiters of events and groundings (``ephemeral``)."""

    event: DelimiterLike | EventDelimiterOptions
    ephemeral: DelimiterLike


class EncodingOptions(TypedDict, total=False):
    """How values are encoded: ``body`` between delimiters or tags, ``inline`` in instructions."""

    body: BodyEncoding
    inline: InlineEncoding


class ConfigOptions(TypedDict, total=False):
    """The keywords of a :class:`MessageTransformationConfig`."""

    role_mapping: RoleOptions
    delimiters: DelimiterOptions
    encoding: EncodingOptions
    format_block: FormatBlock | None
    ephemeral_position: EphemeralPosition
    format: Format
    merge_consecutive: bool
    merge_separator: str
    lone_text: LoneText | None
    join_texts: bool
    json_keys: JsonKeys | None
    tool_pairing: ToolPairing
    guard_conversation: bool
    silent_hints: Iterable[str]


SettingValue: TypeAlias = str | bool | tuple[str, ...] | Delimiter | FormatBlock | None

LIBRARY: Mapping[str, SettingValue] = {
    "role_mapping.event": "user",
    "role_mapping.ephemeral": "user",
    **{f"delimiters.event.{type}": EVENT_DELIMITER for type in EVENT_TYPES},
    "delimiters.ephemeral": EPHEMERAL_DELIMITER,
    "encoding.body": "minimal",
    "encoding.inline": "readable",
    "format_block": None,
    "ephemeral_position": "flow",
    "format": "markdown",
    "merge_consecutive": True,
    "merge_separator": "\n\n",
    "lone_text": None,
    "join_texts": True,
    "json_keys": None,
    "tool_pairing": "error",
    "guard_conversation": False,
    "silent_hints": (),
}
"""The defaults of promptdsl, in the order of ``explain()``."""

AS_WRITTEN: ConfigOptions = cast(
    "ConfigOptions", FrozenDict({"merge_consecutive": False, "join_texts": False})
)
"""The settings with which turns and texts are sent separately, as they were written.

>>> from promptdsl import AS_WRITTEN, Timeline, User, render
>>> prompt = Timeline(User("Hi."), User("Are you there?"))
>>> rendered = render(prompt, model="gpt-5", transformation={**AS_WRITTEN, "format": "xml"})
>>> len(rendered.to_openai()["messages"])
2

The settings do not change what a component writes: the blank lines between its parts, the tags, and
the encoding of values.
"""

Settings: TypeAlias = tuple[tuple[str, SettingValue], ...]
"""The flat keys that one layer sets, with their values, sorted by key."""

_KEYS: Mapping[str, tuple[str, ...]] = {
    "a configuration": tuple(ConfigOptions.__annotations__),
    "role_mapping": tuple(RoleOptions.__annotations__),
    "delimiters": tuple(DelimiterOptions.__annotations__),
    "delimiters.event": EVENT_TYPES,
    "encoding": tuple(EncodingOptions.__annotations__),
}
"""The keys of a configuration and of the mappings in it."""
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "role_mapping.event": get_args(MappedRole),
    "role_mapping.ephemeral": get_args(MappedRole),
    "encoding.body": get_args(BodyEncoding),
    "encoding.inline": get_args(InlineEncoding),
    "ephemeral_position": get_args(EphemeralPosition),
    "format": FORMATS,
    "lone_text": get_args(LoneText),
    "json_keys": get_args(JsonKeys),
    "tool_pairing": get_args(ToolPairing),
}
"""The allowed values of each setting that is one of several words."""


def _settings(options: object) -> Settings:
    """Check the options of an author, and return them under flat keys.

    Raises :class:`ConfigError` for an unknown key or a wrong value.
    """
    settings: dict[str, SettingValue] = {}
    for key, value in _flat("a configuration", options):
        if value is None and LIBRARY.get(key, key) is None:  # None is the default of this setting
            settings[key] = None
        elif key in _CHOICES:
            choices = _CHOICES[key]
            if not is_one_of(value, choices):
                raise ConfigError(f"unknown {key} {shown(value)}", fix=nearest(value, choices))
            settings[key] = value
        elif key == "delimiters.event":
            delimiter = _delimiter(key, value)
            settings.update((f"{key}.{type}", delimiter) for type in EVENT_TYPES)
        elif key.startswith("delimiters."):
            settings[key] = _delimiter(key, value)
        elif key == "format_block":
            if not callable(value):
                problem = f"{key} must be a function of a block or None, not {shown(value)}"
                raise ConfigError(problem, fix="write lambda block: ...")
            settings[key] = value
        elif key == "merge_separator":
            if not isinstance(value, str) or value.strip():
                problem = f"{key} is white space, not {shown(value)}"
                raise ConfigError(problem, fix=r'write "\n\n" for a blank line, "" for nothing')
            settings[key] = value
        elif key == "silent_hints":
            settings[key] = _names_of_hints(value)
        else:
            assert isinstance(LIBRARY[key], bool), f"{key} has no check"
            if not isinstance(value, bool):
                problem = f"{key} is True or False, not {shown(value)}"
                raise ConfigError(problem, fix="write True or False")
            settings[key] = value
    return tuple(sorted(settings.items()))


def _flat(path: str, options: object) -> Iterator[tuple[str, object]]:
    """Yield the flat keys of a mapping with their values.

    ``path`` is the key of the mapping. Raises :class:`ConfigError` for an unknown key.
    """
    keys = _KEYS[path]
    if not isinstance(options, Mapping):
        raise ConfigError(
            f"{path} must be a mapping, not {shown(options)}",
            fix=f"write a mapping with these keys: {', '.join(keys)}",
        )
    for key, value in cast("Mapping[str, object]", options).items():
        if not is_one_of(key, keys):
            raise ConfigError(f"unknown key {shown(key)} in {path}", fix=nearest(key, keys))
        name = key if path == "a configuration" else f"{path}.{key}"
        # ``event`` may also be one delimiter for all events.
        has_keys = isinstance(value, Mapping) if name == "delimiters.event" else name in _KEYS
        if has_keys:
            yield from _flat(name, value)
        else:
            yield name, value


def _names_of_hints(value: object) -> tuple[str, ...]:
    """Return the names of hints, sorted; raise :class:`ConfigError` for an unknown one."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        problem = f"silent_hints must be a list of hint names, not {shown(value)}"
        raise ConfigError(problem, fix='write ["empty_conversation"]')
    names = tuple(cast("Iterable[str]", value))
    for name in names:
        if not is_one_of(name, HINTS):
            raise ConfigError(f"unknown hint name {shown(name)}", fix=nearest(name, HINTS))
    return tuple(sorted(names))


def _delimiter(path: str, value: object) -> Delimiter:
    """Return the delimiter that an author wrote for the key ``path``.

    Raises :class:`ConfigError` for another value, and for a text that cannot be a delimiter.
    """
    match value:
        case None:
            return NO_DELIMITER
        case str() if value:
            delimiter = Delimiter("prefix", value)
        case [str() as open, str() as close] if open and close:
            delimiter = Delimiter("pair", open, close)
        case _:
            raise ConfigError(
                f"{path} cannot be {shown(value)}",
                fix="write a pair of texts, one text as a prefix, or None for no delimiters",
            )
    for text in filter(None, (delimiter.open, delimiter.close)):
        check_delimiter(text, tag=delimiter.is_tag)
    return delimiter


@attrs.frozen(init=False)
class MessageTransformationConfig:
    """An author's settings for how a prompt becomes messages.

    An option that you leave out is not set: an earlier layer decides. Nested mappings may leave out
    keys, too. ``settings`` has the options that are set, under flat keys.

    - ``role_mapping``: the roles of ``event`` and ``ephemeral`` turns: ``"user"``, ``"developer"``
      or ``"system"``; the default depends on the provider.
    - ``delimiters``: the texts around ``event`` and ``ephemeral`` turns: a pair of texts, a prefix,
      or ``None``; for ``event`` also a mapping by type of event.
    - ``encoding``: how values are encoded, ``"body"`` between delimiters or tags, ``"inline"`` in
      other instructions. With ``"full"`` every ``&``, ``<`` and ``>`` becomes a reference. By
      default (``"minimal"``, ``"readable"``) only text that could forge a tag or begin a heading
      is changed.
    - ``format_block``: a function of an event, JSON or code block that returns its text, or
      ``None`` for the usual text; ``None`` by default.
    - ``ephemeral_position``: ``"flow"`` (default), ``"after_system"``, ``"start"``,
      ``"before_user"`` or ``"end"``.
    - ``format``: ``"markdown"`` (default) or ``"xml"``.
    - ``merge_consecutive``: whether neighbouring turns of the same role become one message;
      ``True`` by default.
    - ``merge_separator``: the white space between the texts of merged turns, if a target takes one
      string; a blank line by default.
    - ``lone_text``: how content that is a single text is sent: as a ``"string"`` (for Anthropic),
      as a ``"list"`` (for Chat), or ``None`` (default) for the usual way of each target.
    - ``join_texts``: whether neighbouring texts that you write in a message become one text, if the
      target reads them as one text; ``True`` by default. With ``False`` each text is a separate
      part. Texts that were recorded as several parts always stay separate.
    - ``json_keys``: with ``"sorted"`` the keys of tools and of the inputs of calls are sent in
      sorted order, so that equal data has equal bytes. With ``None`` (default) they are sent in the
      order in which they were written.
    - ``tool_pairing``: what happens to calls without results, and to results without calls:
      ``"error"`` (default), ``"fill"``, ``"prune"`` or ``"keep"``. Use ``"keep"`` if the provider
      stores a part of the conversation.
    - ``guard_conversation``: whether values in the conversation are guarded, too; ``False`` by
      default.
    - ``silent_hints``: the names of hints (``Loss.name``) that are not reported; none by default.

    >>> from promptdsl import MessageTransformationConfig
    >>> MessageTransformationConfig(format="xml", role_mapping={"event": "system"}).settings
    (('format', 'xml'), ('role_mapping.event', 'system'))

    Raises :class:`ConfigError` for an unknown key or value.
    """

    settings: Settings
    __signature__ = ListedSignature()
    _options_type: ClassVar[type] = ConfigOptions
    _option_defaults: ClassVar[Mapping[str, object]] = LIBRARY

    def __init__(self, **options: Unpack[ConfigOptions]) -> None:
        try:
            object.__setattr__(self, "settings", _settings(options))
        except ConfigError as error:
            end_traceback(error.located(author()))
            raise


ConfigLike: TypeAlias = MessageTransformationConfig | Mapping[str, object]
Transformation: TypeAlias = ConfigLike | Callable[[str | None, str | None], ConfigLike | None]
"""A configuration, or a function of model and provider that returns a configuration or ``None``."""


@attrs.frozen(cache_hash=True)
class Resolved:
    """The configuration of one render, in which every value is set."""

    event_role: MappedRole
    ephemeral_role: MappedRole
    delimiters: Delimiters
    body_encoding: BodyEncoding
    inline_encoding: InlineEncoding
    format_block: FormatBlock | None
    ephemeral_position: EphemeralPosition
    format: Format
    merge_consecutive: bool
    merge_separator: str
    lone_text: LoneText | None
    join_texts: bool
    json_keys: JsonKeys | None
    tool_pairing: ToolPairing
    guard_conversation: bool
    silent_hints: tuple[str, ...]
    tags: frozenset[str] = attrs.field(default=frozenset(), eq=False, repr=False)
    """The names of the tags that no value can forge, case-folded."""
    literals: frozenset[str] = attrs.field(default=frozenset(), eq=False, repr=False)
    """The delimiters that are not tags."""
    origins: tuple[tuple[str, SettingValue, str], ...] = attrs.field(
        default=(), eq=False, repr=False
    )
    """Each flat key, its value, and the name of the layer that set it."""

    def explain(self) -> dict[str, tuple[SettingValue, str]]:
        """Return for each flat key its value, and the name of the layer that set it."""
        return {key: (value, layer) for key, value, layer in self.origins}


def resolve(
    layers: Iterable[tuple[str, Transformation | None]],
    *,
    model: str | None = None,
    provider: str | None = None,
) -> Resolved:
    """Merge ``(name, layer)`` pairs, and return the configuration.

    The first layer overrides the defaults of promptdsl, and each layer overrides the earlier ones.
    A layer that is a function is called with ``model`` and ``provider`` each time. Equal layers
    give the same object.

    Raises :class:`ConfigError` for a layer that is not a configuration.
    """
    settings_of_layers: list[tuple[str, Settings]] = []
    for name, layer in layers:
        if layer is None:
            continue
        try:
            options: object = layer(model, provider) if callable(layer) else layer
        except Exception as error:
            note_caller(error, author(), f"the transformation of {name}")
            raise
        settings: Settings = ()
        if isinstance(options, MessageTransformationConfig):
            settings = options.settings
        elif options is not None:
            try:
                settings = _settings(options)
            except ConfigError as error:
                code = getattr(layer, "__code__", None)
                at = None
                if isinstance(code, CodeType):
                    at = Source(code.co_filename, code.co_firstlineno)
                problem = f"{error.what} (in the transformation of {name})"
                raise ConfigError(problem, fix=error.fix, at=(at,)) from None
        settings_of_layers.append((name, settings))
    try:
        return _remembered(tuple(settings_of_layers))
    except TypeError:  # a format_block that cannot be hashed
        return _merged(tuple(settings_of_layers))


def _merged(layers: tuple[tuple[str, Settings], ...]) -> Resolved:
    """Return the configuration of named layers; a later layer overrides an earlier one."""
    values: dict[str, Any] = dict(LIBRARY)  # Any: each value was checked when it was read
    origins = dict.fromkeys(LIBRARY, "library")
    for name, settings in layers:
        values.update(settings)
        origins.update((key, name) for key, _ in settings)
    delimiters = Delimiters(
        **{type: values[f"delimiters.event.{type}"] for type in EVENT_TYPES},
        ephemeral=values["delimiters.ephemeral"],
    )
    return Resolved(
        event_role=values["role_mapping.event"],
        ephemeral_role=values["role_mapping.ephemeral"],
        delimiters=delimiters,
        tags=TAGS.union(
            fold(delimiter.tag_name)
            for delimiter in delimiters.all
            if delimiter.tag_name is not None
        ),
        literals=frozenset(text for delimiter in delimiters.all for text in delimiter.literals),
        body_encoding=values["encoding.body"],
        inline_encoding=values["encoding.inline"],
        **{key: values[key] for key in LIBRARY if "." not in key},
        origins=tuple((key, values[key], layer) for key, layer in origins.items()),
    )


_remembered = functools.lru_cache(maxsize=128)(_merged)


def as_layer(value: object, *, at: Source | None) -> Transformation | None:
    """Return the layer of an author's ``transformation=``; a mapping is checked at once.

    Raises :class:`ConfigError`, with the line ``at``, for a mapping with a mistake and for another
    value.
    """
    if value is None or isinstance(value, MessageTransformationConfig):
        return value
    if callable(value):
        return cast("Transformation", value)
    try:
        return MessageTransformationConfig(**cast("ConfigOptions", value))
    except ConfigError as error:
        raise ConfigError(error.what, fix=error.fix, at=(at,)) from None
    except TypeError:
        kinds = "a configuration, a mapping or a function"
        raise ConfigError(
            f"a transformation must be {kinds}, not {shown(value)}",
            fix='write transformation={"format": "xml"}',
            at=(at,),
        ) from None
