"""The options of components: their types, the checks of their values, and the errors.

Begin with :func:`options_of`, which checks all options of a component. Components also check their
fields with the functions ``check_*``.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from inspect import Parameter, signature
from math import inf, isnan
from sys import int_info
from typing import Any, Literal, TypeAlias, TypedDict, TypeGuard, TypeVar, cast, get_args

from promptdsl.components.scope import BY_PRIORITY, MAX_REMEMBERED, Component, retract
from promptdsl.config.transformation import BodyEncoding
from promptdsl.foundation.errors import DataError, OptionError, is_one_of, nearest, shown
from promptdsl.foundation.frozen import EMPTY, frozen
from promptdsl.foundation.source import author, end_traceback, public_api
from promptdsl.foundation.unicode import exact
from promptdsl.tree.masks import SPOKEN
from promptdsl.tree.node import DEFAULTS, NAME, Node, Options, implied, label
from promptdsl.tree.part_nodes import SectionNode

S = TypeVar("S")

Audience: TypeAlias = Literal["all", "model", "people"]
BODY_ENCODINGS: tuple[BodyEncoding, ...] = get_args(BodyEncoding)
AUDIENCES: tuple[Audience, ...] = get_args(Audience)
NOT_SPOKEN = ~SPOKEN
"""All bits but ``SPOKEN``, the bit of a turn without options."""
MAX_PROPOSED_ID = 60
"""The maximum number of characters of a text that an error uses to propose an id."""
MAX_TITLE_WORDS = 4
"""The maximum number of words of a title: a longer text was probably meant as content."""
MAX_WHOLE_NUMBER: int = 10**int_info.str_digits_check_threshold
"""The largest whole number of an option, because Python may refuse to print a larger number."""
PRIORITY_ADVICE = "write a number: the higher it is, the later a budget drops the part"


# The types of the options. A turn takes them as **options, because eight keyword-only parameters
# would make it 35 % slower.


class SharedOptions(TypedDict, total=False):
    """The options that all turns and groundings take."""

    metadata: Mapping[str, object] | None
    tags: tuple[str, ...]
    audience: Audience
    priority: float | None


class FencedOptions(SharedOptions, total=False):
    """The options of content between delimiters: an event, an ``Ephemeral`` or a ``Grounding``."""

    encoding: BodyEncoding | None


class EphemeralOptions(FencedOptions, total=False):
    """The options of an ``Ephemeral``, whose id is optional."""

    id: str | None


class TurnOptions(SharedOptions, total=False):
    """The options of every turn."""

    id: str | None
    cache: bool
    separator: str | None


class EventOptions(TurnOptions, FencedOptions, total=False):
    """The options of an event turn: those of a turn, and ``encoding``."""


class NamedTurnOptions(TurnOptions, total=False):
    """The options of a ``ToolMessage``."""

    name: str | None


class SpeechOptions(NamedTurnOptions, total=False):
    """The options of a turn of the user or the assistant."""

    merge: bool


class SectionOptions(TypedDict, total=False):
    """The options of a section."""

    priority: float | None
    cache: bool
    audience: Audience
    encoding: BodyEncoding | None
    separator: str | None


def unknown_option(component: Component, name: str) -> OptionError:
    """Return the error for a keyword that a component does not take, with a suggestion."""
    problem = f"{label(component)}() takes no {name!r}"
    kinds = (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    parameters = _parameters(component)
    names = {
        parameter.name for parameter in parameters if parameter.kind in kinds
    } | component._accepts
    fix = nearest(name, names)
    by_position = {parameter.name for parameter in parameters if parameter.kind in _BY_POSITION}
    if not fix.startswith("did"):  # "did you mean ...?" is the advice for a similar name
        if _SYNONYMS.get(name) in names:
            fix = f"did you mean {_SYNONYMS[name]!r}?"
        elif name in by_position | {"content", "text"}:
            fix = f"write it without its name: {usage(component)}"
    if label(component) == "Event" and name in _EVENT_FIELDS:
        fix = f"write it in an event block: Event({_EVENT_FIELDS[name]})"
    if name == "cache":
        if label(component) == "Timeline":
            fix = 'for cache marks write render(..., cache="auto")'
        elif label(component) not in _UNCACHED:
            fix = "for a cache mark write CacheBreakpoint() after it"
    return OptionError(problem, fix=fix, at=(component.source,))


_EVENT_FIELDS = {
    **dict.fromkeys(("action", "target", "actor"), 'UserAction("opened", target="invoice 1881")'),
    **dict.fromkeys(("key", "old", "new", "trigger"), 'StateChange("plan", old="Pro", new="Free")'),
    **dict.fromkeys(("event", "source", "data"), 'SystemEvent("restarted", source="billing")'),
}
"""The fields of event blocks, each with the block that has it."""

_UNCACHED = ("Output", "Reserve", "Ephemeral", "Grounding")
"""The components without a cache mark after them: settings, and content that is sent once."""


def too_many(component: Node, *arguments: object) -> OptionError:
    """Return the error for more positional arguments than a component takes."""
    retract(arguments)
    kinds = [parameter.kind for parameter in _parameters(component)]
    positional_count = kinds.count(Parameter.POSITIONAL_ONLY)
    positional_count += kinds.count(Parameter.POSITIONAL_OR_KEYWORD)
    noun = "argument" if positional_count == 1 else "arguments"
    problem = (
        f"{label(component)}() takes {positional_count} {noun} by position, not {len(arguments)}"
    )
    return OptionError(problem, fix=f"write {usage(component)}", at=(author(),))


def left_out(component: Node) -> OptionError:
    """Return the error for a required argument that was left out."""
    problem = f"an argument of {label(component)}() is missing"
    return OptionError(problem, fix=f"write {usage(component)}", at=(component.source,))


def usage(component: Node) -> str:
    """Return the call of a component as text: ``ToolUse(name, input, id)``."""
    accepts: frozenset[str] = getattr(component, "_accepts", frozenset())
    words: list[str] = []
    for parameter in _parameters(component):
        if parameter.kind is Parameter.VAR_POSITIONAL:
            words.append('"..."')
        elif parameter.kind is Parameter.VAR_KEYWORD or parameter.name in accepts:
            continue
        elif parameter.default is Parameter.empty or parameter.kind is Parameter.POSITIONAL_ONLY:
            words.append(parameter.name)
        else:
            words.append(f"{parameter.name}=...")
    return f"{label(component)}({', '.join(words)})"


_SYNONYMS = {
    **dict.fromkeys(("name", "filename", "file_name"), "title"),
    **dict.fromkeys(("mime_type", "mimetype", "content_type"), "media_type"),
    **dict.fromkeys(("parameters", "schema", "inputSchema"), "input_schema"),
    "keep_last": "keep",
}
"""The names of options in other libraries, each with the name in promptdsl."""

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL)
"""The kinds of parameters that a call can only fill by position."""


def _parameters(component: Node) -> list[Parameter]:
    return [*signature(type(component)).parameters.values()]


def bad_option(component: Node, name: str, value: object, fix: str) -> OptionError:
    """Return the error for an option with a wrong value."""
    problem = f"{label(component)}({name}={shown(value)})"
    return OptionError(problem, fix=fix, at=(component.source,))


@public_api
def refuse_options(component: Component, options: Iterable[str]) -> None:
    """Raise :class:`OptionError` for the first of these unknown keywords."""
    for name in options:
        raise unknown_option(component, name)


def options_of(
    component: Component, options: Mapping[str, object], id: str | None = None
) -> Options:
    """Check the options of a component and return them; set the bits of its mask for them.

    ``id`` is the id of a component that takes it as its first argument; it is already checked.
    Raises :class:`OptionError` for an unknown option or a bad value, :class:`DataError` for
    metadata that is not plain data.
    """
    is_priority_only = id is None and len(options) == 1 and "priority" in options
    if is_priority_only and "priority" in component._accepts:
        return at_priority(component, options["priority"])
    checked_values: dict[str, Any] = {}  # Any: attrs checks no types, `_kept_option` has done so
    for name, value in options.items():
        if name not in component._accepts:
            raise unknown_option(component, name)
        try:
            checked_values[name] = _kept_option(component, name, value)
        except DataError as error:  # the metadata contains itself, or has too many levels
            raise error.located(component.source) from None
    if id is not None:
        checked_values["id"] = id
    node_options = Options(**checked_values)
    component._mask = component._mask & NOT_SPOKEN | implied(node_options)
    return node_options


def _kept_option(component: Node, name: str, value: object) -> object:
    """Return the value that a node keeps of an option, or raise :class:`OptionError`."""
    if name == "priority":
        return check_priority(component, value)
    if name == "audience":
        return check_choice(component, name, value, AUDIENCES)
    if name in ("cache", "merge"):
        check_flag(component, name, value)
        return value
    if name == "tags":
        return _kept_tags(component, value)
    if name == "metadata":
        return _kept_metadata(component, value)
    if value is None:
        return None
    if name == "encoding":
        return check_choice(component, name, value, BODY_ENCODINGS)
    if name == "id":
        problem = id_problem(component, value)
    elif name == "separator":
        is_space = isinstance(value, str) and _SEPARATOR.match(value)
        problem = "" if is_space else _SEPARATOR_RULE
    else:
        problem = "" if isinstance(value, str) else "write a string"
    if problem:
        raise bad_option(component, name, value, problem)
    return exact(value)


_SEPARATOR = re.compile(r"(?:[ \t]*|\n+)\Z")
_SEPARATOR_RULE = (
    r'a separator is only spaces and tabs, or only line ends: "", " ", "\n", "\n\n"; '
    "write other text as a part"
)


def _kept_tags(component: Node, value: object) -> tuple[str, ...]:
    """Return the tags of a collection as a tuple; those of a set are sorted.

    Raises :class:`OptionError` for a value that is not a collection of strings.
    """
    if not _is_collection(value) or not all(isinstance(tag, str) for tag in value):
        raise bad_option(component, "tags", value, 'write a tuple of strings: tags=("a", "b")')
    tags = map(str.__str__, cast("Collection[str]", value))
    if isinstance(value, set | frozenset):
        return tuple(sorted(tags))
    return tuple(tags)


def _is_collection(value: object) -> TypeGuard[Collection[object]]:
    return isinstance(value, list | tuple | set | frozenset)


def _kept_metadata(component: Node, value: object) -> Mapping[str, object]:
    if value is None:
        return EMPTY
    if not isinstance(value, Mapping):
        raise bad_option(component, "metadata", value, "write a mapping")
    metadata: Mapping[str, object] = frozen(value)
    return metadata


def at_priority(component: Node, priority: object) -> Options:
    """Return the options of a component that has a priority and no other option.

    A turn keeps the bit SPOKEN, because a priority does not change what is sent. Raises
    :class:`OptionError` for a bad priority.
    """
    cached_options = BY_PRIORITY.get(type(priority))
    earlier_options = None if cached_options is None else cached_options.get(priority)
    if earlier_options is not None:
        return earlier_options
    if priority is None:
        return DEFAULTS
    try:
        options = Options(priority=check_priority(component, priority))
    except OptionError as error:
        end_traceback(error)
        raise
    if cached_options is not None and len(cached_options) < MAX_REMEMBERED:
        cached_options[priority] = options
    return options


def is_real(value: object) -> bool:
    """Return whether a value is a number that can be compared: no boolean, no NaN, not too large.

    A whole number above ``MAX_WHOLE_NUMBER`` is too large; an infinite number is not.
    """
    if isinstance(value, float):
        return not isnan(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return abs(int.__int__(value)) <= MAX_WHOLE_NUMBER


def check_priority(component: Node, priority: object) -> float | None:
    """Return a priority as an ``int``, a ``float`` or ``None``.

    Raises :class:`OptionError` for a value that is not a finite number or ``None``.
    """
    number = exact_number(priority)
    if priority is not None and (not is_real(priority) or number in (inf, -inf)):
        raise bad_option(component, "priority", priority, PRIORITY_ADVICE)
    return number


def exact_number(value: object) -> float | None:
    """Return a number as an exact ``int`` or ``float``, ``None`` for any other value.

    A subclass of ``int`` may compare its values in another way.
    """
    if isinstance(value, int):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else None


def check_count(component: Node, name: str, value: object, minimum: int) -> int:
    """Return a whole number that is ``minimum`` or more, or raise :class:`OptionError`."""
    if isinstance(value, int) and is_real(value):
        count = int.__int__(value)
        if count >= minimum:
            return count
    raise bad_option(component, name, value, f"write a whole number, {minimum} or more")


def check_choice(component: Node, name: str, value: S, choices: Collection[str]) -> S:
    """Return a value that is one of the choices, as an exact ``str``.

    Raises :class:`OptionError` for any other value, with the nearest choice.
    """
    text = exact(value)
    if not is_one_of(value, choices):
        fix = nearest(value, choices)
        if isinstance(text, str) and _OTHER_SIDES.get(text) in choices:
            fix = f"did you mean {_OTHER_SIDES[text]!r}?"
        raise bad_option(component, name, value, fix)
    return text


_OTHER_SIDES = {
    **dict.fromkeys(("start", "begin", "beginning", "first", "top", "left"), "head"),
    **dict.fromkeys(("end", "last", "bottom", "right"), "tail"),
    **dict.fromkeys(("both", "edges"), "ends"),
}
"""Other words for the values of ``keep``, the part of a text that stays."""


def check_flag(component: Node, name: str, value: object) -> None:
    """Raise :class:`OptionError` for a value that is not ``True`` or ``False``."""
    if not isinstance(value, bool):
        raise bad_option(component, name, value, "write True or False")


def is_name(value: object) -> bool:
    """Return whether a value is a name: a letter or ``_``, then letters, digits, ``_ . -``."""
    return isinstance(value, str) and NAME.match(value) is not None


def id_problem(component: Node, value: object) -> str:
    """Return the rule for ids and what to write, or an empty string for a good id.

    The id of a section is the name of a tag. The id of a turn may be any text that is not empty,
    because it often comes from data.
    """
    if isinstance(component, SectionNode):
        return "" if is_name(value) else f"{_TAG_RULE}; {_section_advice(value)}"
    if isinstance(value, str) and value:
        return ""
    fix = 'write id="question"'
    if label(component) == "Grounding":
        fix = 'write Grounding("account", ...)'
    if is_real(value):
        fix = f"write str({shown(value)})"
    elif not isinstance(value, str | Node | bool | bytes | Collection | None):
        fix = "write str(id)"
    return f"an id is any text that is not empty; {fix}"


_TAG_RULE = "the id of a section is the name of a tag: a letter or _, then letters, digits, _ . -"


def _section_advice(value: object) -> str:
    """Return what to write for a value that cannot be the id of a section."""
    from unicodedata import normalize

    text = ""
    if isinstance(value, str) or is_real(value):
        text = str(value)
    ascii_text = normalize("NFKD", text[:MAX_PROPOSED_ID]).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^A-Za-z0-9_.-]+", "_", ascii_text).strip("_.-")
    if not slug:
        return 'the id comes first: Section("rules", "...")'
    if len(text.split()) > MAX_TITLE_WORDS:
        return f'the id comes first: Section("rules", {shown(text)})'
    if not is_name(slug):
        slug = f"_{slug}"
    title = f", title={shown(text)}" if " " in text.strip() else ""
    return f'write Section("{slug}", ...{title})'
