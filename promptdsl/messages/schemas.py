"""JSON schemas: of a type, closed as strict outputs demand, and whether one is."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.frozen import thawed

# The rules of strict outputs are OpenAI's: platform.openai.com/docs/guides/structured-outputs, and
# openai.lib._pydantic in their SDK.

_IN_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
_BY_NAME = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_ALONE = ("items", "additionalProperties", "contains", "not", "if", "then", "else")
_OPEN = frozenset(
    {
        *("allOf", "oneOf", "not", "if", "then", "else", "prefixItems", "contains", "default"),
        *("dependentRequired", "dependentSchemas", "patternProperties", "propertyNames"),
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)
"""Keywords that no strict schema has."""


def closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema in which every object has the properties it names, all of them, and no other.

    An object that names none, such as a dictionary, stays open: see :func:`is_closed`.
    """
    whole = at_root(cast("dict[str, Any]", thawed(schema)))
    # A part is changed before what is in it is looked for.
    for part in _parts(whole):
        _close(part)
    return whole


def _close(part: Any) -> None:
    part.pop("default", None)
    if "oneOf" in part and "anyOf" not in part:
        part["anyOf"] = part.pop("oneOf")
        part.pop("discriminator", None)
    if part.get("type") == "object" and part.setdefault("additionalProperties", False) is False:
        part["required"] = [*part.setdefault("properties", {})]
    if "$ref" in part and len(part) > 1:
        # Nothing may stand beside a reference: a choice of one says the same.
        part["anyOf"] = [{"$ref": part.pop("$ref")}]


def at_root(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema whose root is no reference: that of a type that holds itself is one."""
    schema, definitions = dict(schema), _mapping(schema.get("$defs"))
    for _ in range(len(definitions)):
        name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
        if not isinstance(definitions.get(name), Mapping):
            break
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**thawed(definitions[name]), **rest}
    return schema


def _parts(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield a schema and the schemas in it, however deep."""
    waiting: list[Any] = [schema]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += [part[key] for key in _ALONE if isinstance(part.get(key), Mapping)]
        for key in _IN_LISTS:
            waiting += [one for one in _list(part.get(key)) if isinstance(one, Mapping)]
        for key in _BY_NAME:
            waiting += [one for one in _mapping(part.get(key)).values() if isinstance(one, Mapping)]


def _mapping(part: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", part) if isinstance(part, Mapping) else {}


def _list(part: Any) -> list[Any]:
    return part if isinstance(part, list) else []  # pyright: ignore[reportUnknownVariableType]


def check_shape(schema: Mapping[str, Any], what: str) -> None:
    """Raise :class:`ContentError` where what an object holds is not said as JSON schemas say it."""
    for part in _parts(schema):
        properties, required = part.get("properties", {}), part.get("required", [])
        if not isinstance(properties, Mapping) or not all(map(_is_schema, properties.values())):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            fix = '{"type": "object", "properties": {"name": {"type": "string"}}}'
            raise ContentError(f"the properties in {what} are no schemas by name", fix=fix)
        if not isinstance(required, list) or not all(isinstance(one, str) for one in required):  # pyright: ignore[reportUnknownVariableType]
            fix = '{"type": "object", "required": ["name"]}'
            raise ContentError(f"what is required in {what} is no list of names", fix=fix)


def _is_schema(part: object) -> bool:
    return isinstance(part, Mapping | bool)


def is_closed(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema keeps the rules of strict outputs.

    Its root is an object. Every object requires all its properties and takes no other, every list
    says what is in it, and nothing is said that only a validator understands.
    """
    if schema.get("type") != "object" or "anyOf" in schema:
        return False
    return all(map(_is_strict, _parts(schema)))


def _is_strict(part: Any) -> bool:
    if not _OPEN.isdisjoint(part):
        return False
    if "$ref" in part:
        return len(part) == 1
    kind = part.get("type")
    kinds = cast("list[object]", kind) if isinstance(kind, list) else [kind]
    if kind is None and not ("anyOf" in part or "enum" in part or "const" in part):
        return False
    if "array" in kinds and not isinstance(part.get("items"), Mapping):
        return False
    return "object" not in kinds or _is_object_strict(part)


def _is_object_strict(part: Any) -> bool:
    properties = _mapping(part.get("properties"))
    if part.get("additionalProperties") is not False:
        return False
    if not all(isinstance(one, Mapping) for one in properties.values()):
        return False
    required = {one for one in _list(part.get("required")) if isinstance(one, str)}
    return required == set(properties)
