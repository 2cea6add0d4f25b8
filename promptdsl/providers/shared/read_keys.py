"""The table of the keys that each provider has, and the search for keys that are not in it.

The table has every key of an answer or a recorded message. A key in a ``shape`` is read, or kept
under its name. A key in ``no_content`` has no content: ids, dates and the like, which the page of
the provider lists; in a recorded message they are unread. Any other key is kept in
:attr:`Message.extra`, and is a hint ``unread_key`` when the message is sent.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

import attrs

from promptdsl.foundation.errors import DataError, shown_name
from promptdsl.foundation.frozen import EMPTY, is_list, is_mapping, plain
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.messages.details import NO_DETAILS, Details, named
from promptdsl.providers.shared.checks import mapping


@attrs.frozen(eq=False)
class Shape:
    """The keys of an object that are read: their names, and the shapes of some of their values.

    ``rest`` is whether the block keeps all further keys.
    """

    names: frozenset[str]
    inner: Mapping[str, "Inner"]
    rest: bool = False

    def also(self, *names: str, **inner: "Inner") -> "Shape":
        """Return the shape with further keys."""
        return Shape(self.names.union(names, inner), {**self.inner, **inner}, self.rest)


Inner: TypeAlias = Shape | Callable[[Mapping[str, Any]], Shape | None]
"""The shape of an object, or a function that returns it, ``None`` if all keys are read."""

KeyLocation: TypeAlias = tuple[Any, str | int]  # Any: the location around it, or None
"""The location of a value: the location around it, and its key or index there."""


def shape(*names: str, rest: bool = False, **inner: Inner) -> Shape:
    """Return the shape of an object: keys whose value is read completely, and keys with a shape."""
    return Shape(frozenset(names).union(inner), inner, rest)


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if is_mapping(value) else mapping(value)


class ReadKeys(NamedTuple):
    """The table of keys of a provider."""

    payload: Mapping[str, Inner]
    """The keys of a request that are read; a list without a request is the value of the last."""
    response: Shape = shape()
    """The keys of a response, except the keys of the message in it."""
    no_content: Collection[str] = ()
    """The keys of a response that have no content, at any location."""
    repeated: Collection[str] = ()
    """The keys of a response that repeat its request."""
    fields_of: Callable[[object], Mapping[str, Any]] = _as_mapping
    """Returns a mapping with its keys spelled as in these tables."""

    def unread_of_response(self, response: object, answer: JsonObject = EMPTY) -> JsonObject:
        """Return the values under unread keys in a response and its ``answer``.

        Keys without content are left out.
        """
        around = self.unread(response, self.response)
        if not (around or answer):
            return EMPTY
        unread = {**around, **answer}
        idle = self.no_content
        return {path: unread[path] for path in unread if path.rpartition(".")[2] not in idle}

    def unread(self, value: object, inner: Inner) -> JsonObject:
        """Return the values under unread keys in a recorded message, by their location in it."""
        if not value or type(value) is str:
            return EMPTY
        objects = value if is_list(value) else (value,)
        if all(is_mapping(item) and _reads_all(item, inner) for item in objects):
            return EMPTY
        search = KeySearch(self.fields_of)
        data: object = value
        search.find(data, inner, None)
        values = (pair for pairs in search.values.values() for pair in pairs)
        return {path_of(location): _as_json(content) for location, content in values} or EMPTY

    def details_of(self, value: object, inner: Inner, name: str | None = None) -> Details:
        """Return the details of a recorded message: a name, and the values under unread keys."""
        unread = self.unread(value, inner)
        if unread:
            return Details(name=name, extra=unread)
        return NO_DETAILS if name is None else named(name)


def _reads_all(value: Mapping[str, Any], inner: Inner) -> bool:
    """Return whether all keys of an object are in its shape. It is faster than a search."""
    shape = inner if isinstance(inner, Shape) else inner(value)
    if shape is None:
        return True
    if not (shape.rest or value.keys() <= shape.names):
        return False
    for key, content in value.items():
        if type(content) is str or key not in shape.inner or not content:
            continue
        deeper = shape.inner[key]
        contents = content if is_list(content) else (content,)
        for item in contents:
            if type(item) is not str and not (is_mapping(item) and _reads_all(item, deeper)):
                return False
    return True


def _as_json(value: object) -> JsonValue:
    """Return a value as JSON, or the name of its type if JSON cannot express it."""
    try:
        return plain(value, "extra")
    except DataError:
        return f"<{type(value).__name__}>"


class KeySearch:
    """A search for unread keys: their locations and ``values``, by the keys that lead to them."""

    def __init__(self, fields_of: Callable[[object], Mapping[str, Any]]) -> None:
        self.values: dict[tuple[str, ...], list[tuple[KeyLocation, object]]] = {}
        self.fields_of = fields_of

    def find(self, value: object, inner: Inner, location: KeyLocation | None) -> None:
        """Note the unread keys in a value. It goes as deep as the shapes, whatever the data is."""
        if is_list(value):
            for number, item in enumerate(value):
                # The author may change the data after it was read, also at this moment.
                with suppress(DataError, TypeError, RuntimeError):
                    if not (is_mapping(item) and _reads_all(item, inner)):
                        self.find(item, inner, (location, number))
            return
        if isinstance(value, str) or not value:
            return
        fields = self.fields_of(value)
        shape = inner if isinstance(inner, Shape) else inner(fields)
        if shape is None:
            return
        for key, content in fields.items():
            if key in shape.inner:
                if type(content) is not str:
                    self.find(content, shape.inner[key], (location, key))
            elif not shape.rest and key not in shape.names and _is_a_value(content):
                name = shown_name(key)[:60]
                names = [step for step in _steps(location) if isinstance(step, str)]
                self.values.setdefault((*names, name), []).append(((location, name), content))


def _is_a_value(content: object) -> bool:
    """Return whether content is more than ``None`` or an empty text, list or mapping."""
    is_json = content is None or isinstance(content, str) or is_list(content) or is_mapping(content)
    return not is_json or bool(content)


def _steps(location: KeyLocation | None) -> Iterator[str | int]:
    steps: list[str | int] = []
    while location is not None:
        location, step = location
        steps.append(step)
    return reversed(steps)


def path_of(location: KeyLocation | None) -> str:
    """Return a location as a path such as ``messages[0].content``."""
    path = ""
    for step in _steps(location):
        path += f".{step}" if isinstance(step, str) else f"[{step}]"
    return path.removeprefix(".")


# The keys of Chat and of chat templates.

MESSAGE_KEYS = ("role", "content", "name")
ANSWER_KEYS = ("reasoning_content", "reasoning", "refusal")
FUNCTION = shape("name", "arguments", "parsed_arguments")
_CALL = shape("id", "type", function=FUNCTION, custom=shape("name", "input"))
_FLAT_CALL = shape("id", "call_id", "type", "name", "arguments")


def call_keys(call: Mapping[str, Any]) -> Shape:
    """Return the keys of a call in a message of Chat, or of a chat template."""
    is_flat = "name" in call and "function" not in call
    return _FLAT_CALL if is_flat else _CALL
