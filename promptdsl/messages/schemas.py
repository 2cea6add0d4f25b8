"""JSON schemas: checking their shape, and closing them as strict outputs require.

The rules of strict outputs are OpenAI's: platform.openai.com/docs/guides/structured-outputs, and
openai.lib._pydantic in their SDK.
"""

from collections.abc import Iterator, Sequence

from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.json import JsonDict, JsonObject, JsonValue

_IN_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
_BY_NAME = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_ALONE = ("items", "additionalProperties", "contains", "not", "if", "then", "else")
_HOLDING = frozenset({*_IN_LISTS, *_BY_NAME, *_ALONE})
"""The keywords that hold schemas. Most schemas have none of them."""
_OPEN = frozenset(
    {
        *("allOf", "oneOf", "not", "if", "then", "else", "prefixItems", "contains", "default"),
        *("dependentRequired", "dependentSchemas", "patternProperties", "propertyNames"),
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)
"""Keywords that are not allowed in a strict schema."""


def closed(schema: JsonObject) -> JsonDict:
    """Return a schema whose objects require all the properties they name, and take no others.

    An object that names none, such as a dictionary, stays open: see :func:`is_closed`.
    """
    whole = at_root(thawed(schema))
    # Each part is changed before the parts inside it follow.
    for part in parts_of(whole):
        part.pop("default", None)
        if "oneOf" in part and "anyOf" not in part:
            part["anyOf"] = part.pop("oneOf")
            part.pop("discriminator", None)
        if part.get("type") == "object" and part.setdefault("additionalProperties", False) is False:
            part["required"] = [*part.setdefault("properties", {})]
        if "$ref" in part and len(part) > 1:
            # A reference must be alone: a choice of one schema means the same.
            part["anyOf"] = [{"$ref": part.pop("$ref")}]
    return whole


def at_root(schema: JsonObject) -> JsonDict:
    """Return a schema whose root is not a reference, as it is for a recursive type."""
    root, definitions = dict(schema), _mapping(schema.get("$defs"))
    for _ in definitions:
        name = str(root.get("$ref", "")).removeprefix("#/$defs/")
        definition = definitions.get(name)
        if not isinstance(definition, dict):
            break
        rest = {key: value for key, value in root.items() if key != "$ref"}
        root = {**thawed(definition), **rest}
    return root


MOST_REFERENCES = 500
DEEPEST_REFERENCE = 16
"""How many references of a schema are replaced by what they refer to: in all, and in each other."""


def inlined(schema: JsonObject) -> tuple[JsonDict, bool]:
    """Return a schema with definitions in the place of the references to them.

    Also return whether that was possible: a definition inside itself, or after too many others,
    becomes a schema that takes any value.
    """
    whole, is_whole, count = at_root(thawed(schema)), True, 0
    definitions = {
        f"#/{key}/{name}": part
        for key in ("$defs", "definitions")
        for name, part in _mapping(whole.pop(key, None)).items()
    }
    waiting: list[tuple[JsonDict, tuple[str, ...]]] = [(whole, ())]
    while waiting:
        part, around = waiting.pop()
        while isinstance(reference := part.pop("$ref", None), str):
            definition = definitions.get(reference)
            count += 1
            if reference in around or len(around) == DEEPEST_REFERENCE or count > MOST_REFERENCES:
                definition = None
            if not isinstance(definition, dict):
                is_whole = False
                break
            part.update({**thawed(definition), **part})
            around = (*around, reference)
        waiting += [(inner, around) for inner in _inner(part)]
    return whole, is_whole


def parts_of(schema: JsonDict) -> Iterator[JsonDict]:
    """Yield a schema and all schemas inside it; a part may be changed before the next one."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += reversed(_inner(part))


def _inner(schema: JsonDict) -> list[JsonDict]:
    """Return the schemas that a schema contains, without those inside these."""
    if _HOLDING.isdisjoint(schema):
        return []
    inner: list[JsonValue] = []
    for key in _BY_NAME:
        inner += _mapping(schema.get(key)).values()
    for key in _IN_LISTS:
        inner += _items(schema.get(key))
    inner += [schema.get(key) for key in _ALONE]
    return [part for part in inner if isinstance(part, dict)]


def _mapping(part: JsonValue) -> JsonObject:
    return part if isinstance(part, dict) else {}


def _items(part: JsonValue) -> Sequence[JsonValue]:
    return part if isinstance(part, list) else []


def check_shape(schema: JsonObject, name: str) -> None:
    """Raise :class:`ContentError` for properties or required names in a wrong form."""
    for part in parts_of(dict(schema)):
        properties, required = part.get("properties", {}), part.get("required", [])
        schemas, names = _mapping(properties).values(), _items(required)
        if not (
            isinstance(properties, dict)
            and all(isinstance(schema, dict | bool) for schema in schemas)
        ):
            fix = '{"type": "object", "properties": {"name": {"type": "string"}}}'
            raise ContentError(f"the properties in {name} are not schemas by name", fix=fix)
        if not (isinstance(required, list) and all(isinstance(item, str) for item in names)):
            fix = '{"type": "object", "required": ["name"]}'
            raise ContentError(f"'required' in {name} is not a list of names", fix=fix)


def is_closed(schema: JsonObject) -> bool:
    """Return whether a schema keeps the rules of strict outputs.

    Its root is an object. Every object requires all its properties and takes no others, every list
    has a schema for its items, and no keyword is used that only a validator understands.
    """
    if schema.get("type") != "object" or "anyOf" in schema:
        return False
    return all(map(_is_strict, parts_of(dict(schema))))


def _is_strict(part: JsonObject) -> bool:
    if not _OPEN.isdisjoint(part):
        return False
    if "$ref" in part:
        return len(part) == 1
    kind = part.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if kind is None and not ("anyOf" in part or "enum" in part or "const" in part):
        return False
    if "array" in kinds and not isinstance(part.get("items"), dict):
        return False
    if "object" not in kinds:
        return True
    # An object: every property has a schema and is required, and no others are taken.
    properties = _mapping(part.get("properties"))
    schemas = properties.values()
    if part.get("additionalProperties") is not False:
        return False
    required = {name for name in _items(part.get("required")) if isinstance(name, str)}
    return required == set(properties) and all(isinstance(item, dict) for item in schemas)
