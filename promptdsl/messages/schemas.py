"""JSON schemas: checking them, and closing them as strict outputs require.

The rules of strict outputs are OpenAI's: platform.openai.com/docs/guides/structured-outputs, and
openai.lib._pydantic in their SDK.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.json import JsonDict, JsonObject, JsonValue

_IN_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems", "items")
_BY_NAME = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_ALONE = (
    *("items", "additionalItems", "unevaluatedItems", "contains"),
    *(
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "not",
        "if",
        "then",
        "else",
    ),
)
_HOLDING = frozenset({*_IN_LISTS, *_BY_NAME, *_ALONE})
"""The keywords that hold schemas. Most schemas have none of them."""


def closed(schema: JsonObject) -> JsonDict:
    """Return a schema whose objects require all their properties, and allow no others.

    An object without properties, such as a dictionary, stays open: see :func:`is_closed`.
    """
    root = at_root(thawed(schema))
    # Each part is changed before the parts inside it follow.
    for part in parts_of(root):
        if "oneOf" in part and "anyOf" not in part:
            part["anyOf"] = part.pop("oneOf")
            part.pop("discriminator", None)
        if part.get("type") == "object" and part.setdefault("additionalProperties", False) is False:
            part["required"] = [*part.setdefault("properties", {})]
        if "$ref" in part and len(part) > 1:
            # A reference must be alone: a choice of one schema means the same.
            part["anyOf"] = [{"$ref": part.pop("$ref")}]
    return root


def at_root(schema: JsonObject) -> JsonDict:
    """Return a schema whose root is not a reference, as it is for a recursive type."""
    root = dict(schema)
    definitions = definitions_in(root)
    for _ in definitions:
        definition = definitions.get(str(root.get("$ref")))
        if not isinstance(definition, dict):
            break
        rest = {key: value for key, value in root.items() if key != "$ref"}
        root = {**thawed(definition), **rest}
    return root


def definitions_in(schema: JsonObject) -> dict[str, JsonValue]:
    """Return the definitions at the root of a schema by the references to them."""
    return {
        f"#/{key}/{name}": part
        for key in ("$defs", "definitions")
        for name, part in mapping_of(schema.get(key)).items()
    }


MOST_REFERENCES = 500
DEEPEST_REFERENCE = 16
"""How many references of a schema are replaced in all, and how many inside each other."""


def inlined(schema: JsonObject) -> tuple[JsonDict, bool]:
    """Return a schema in which references are replaced by the definitions that they refer to.

    Also return whether all were replaced: a definition inside itself, or after too many others,
    becomes a schema that allows any value.
    """
    root, is_complete, count = at_root(thawed(schema)), True, 0
    definitions = definitions_in(root)
    root = {key: value for key, value in root.items() if key not in ("$defs", "definitions")}
    waiting: list[tuple[JsonDict, tuple[str, ...]]] = [(root, ())]
    while waiting:
        part, around = waiting.pop()
        while isinstance(reference := part.pop("$ref", None), str):
            definition = definitions.get(reference)
            count += 1
            if reference in around or len(around) == DEEPEST_REFERENCE or count > MOST_REFERENCES:
                definition = None
            if not isinstance(definition, dict):
                is_complete = False
                break
            part.update({**thawed(definition), **part})
            around = (*around, reference)
        waiting += [(inner, around) for inner in _inner(part)]
    return root, is_complete


def resolved(part: JsonValue, root: JsonObject) -> JsonObject:
    """Return a schema, or the definition in ``root`` that it refers to; empty for anything else."""
    schema = mapping_of(part)
    for _ in range(DEEPEST_REFERENCE):
        _, _, path = str(schema.get("$ref", "")).partition("#/")
        key, _, name = path.partition("/")
        if not name:
            return schema
        schema = mapping_of(mapping_of(root.get(key)).get(name))
    return {}


def is_recursive(schema: JsonObject) -> bool:
    """Return whether a definition of a schema, or its root, is inside itself."""
    root = dict(schema)
    if any(part.get("$ref") == "#" for part in parts_of(root)):
        return True
    # The references in each definition, and how often each definition is in others.
    inside: dict[str, set[str]] = {}
    definitions = definitions_in(root)
    for reference, definition in definitions.items():
        parts = parts_of(definition) if isinstance(definition, dict) else ()
        inside[reference] = {str(part.get("$ref")) for part in parts} & definitions.keys()
    counts = Counter(reference for references in inside.values() for reference in references)
    # A definition that no other contains is done. Those that are never done contain each other.
    done = [reference for reference in inside if not counts[reference]]
    for reference in done:
        for inner in inside[reference]:
            counts[inner] -= 1
            done += [] if counts[inner] else [inner]
    return len(done) < len(inside)


def has_pointers(schema: JsonObject) -> bool:
    """Return whether a schema has references to anything but its definitions and its root."""
    known = {"#", *definitions_in(schema)}
    return any(str(part.get("$ref", "#")) not in known for part in parts_of(dict(schema)))


def sizes_of(schema: JsonObject) -> dict[str, int]:
    """Return the numbers of levels of objects, properties, optional properties and unions."""
    sizes: dict[str, int] = {"nesting": 0, "properties": 0, "optional": 0, "unions": 0}
    for part in parts_of(dict(schema)):
        properties, required = mapping_of(part.get("properties")), items_of(part.get("required"))
        sizes["properties"] += len(properties)
        sizes["optional"] += sum(name not in required for name in properties)
        sizes["unions"] += "anyOf" in part or "oneOf" in part or isinstance(part.get("type"), list)
    # Each definition is counted on its own.
    roots = [dict(schema), *mapping_of(schema.get("$defs")).values()]
    sizes["nesting"] = max(_levels(root) for root in roots if isinstance(root, dict))
    return sizes


def _levels(schema: JsonDict) -> int:
    """Return the levels of objects in a schema, without its definitions."""
    deepest, waiting = 0, [(schema, 0)]
    while waiting:
        part, level = waiting.pop()
        level += "properties" in part
        deepest = max(deepest, level)
        body = {key: value for key, value in part.items() if key not in ("$defs", "definitions")}
        waiting += [(inner, level) for inner in _inner(body)]
    return deepest


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
        inner += mapping_of(schema.get(key)).values()
    for key in _IN_LISTS:
        inner += items_of(schema.get(key))
    inner += [schema.get(key) for key in _ALONE]
    return [part for part in inner if isinstance(part, dict)]


def mapping_of(part: JsonValue) -> JsonObject:
    """Return a mapping in a schema; an empty one for anything else."""
    return part if isinstance(part, dict) else {}


def items_of(part: JsonValue) -> Sequence[JsonValue]:
    """Return a list in a schema; an empty one for anything else."""
    return part if isinstance(part, list) else []


def check_shape(schema: JsonObject, name: str) -> None:
    """Raise :class:`ContentError` for properties or required names of a wrong type."""
    for part in parts_of(dict(schema)):
        properties, required = part.get("properties", {}), part.get("required", [])
        schemas, names = mapping_of(properties).values(), items_of(required)
        if not (
            isinstance(properties, dict)
            and all(isinstance(schema, dict | bool) for schema in schemas)
        ):
            fix = '{"type": "object", "properties": {"name": {"type": "string"}}}'
            raise ContentError(
                f"'properties' in {name} is not a mapping of names to schemas", fix=fix
            )
        if not (isinstance(required, list) and all(isinstance(item, str) for item in names)):
            fix = '{"type": "object", "required": ["name"]}'
            raise ContentError(f"'required' in {name} is not a list of names", fix=fix)


def is_closed(schema: JsonObject) -> bool:
    """Return whether a schema has the shape that strict outputs ask for.

    Its root is an object. Every object requires all its properties and takes no others, and every
    list has a schema for its items.
    """
    if schema.get("type") != "object" or "anyOf" in schema:
        return False
    return all(map(_is_strict, parts_of(dict(schema))))


def _is_strict(part: JsonObject) -> bool:
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
    properties = mapping_of(part.get("properties"))
    schemas = properties.values()
    if part.get("additionalProperties") is not False:
        return False
    required = {name for name in items_of(part.get("required")) if isinstance(name, str)}
    return required == set(properties) and all(isinstance(item, dict) for item in schemas)
