"""JSON schemas: their closed form, which strict outputs require, references, sizes and checks.

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
_SINGLE = (
    *("items", "additionalItems", "unevaluatedItems", "contains", "additionalProperties"),
    *("unevaluatedProperties", "propertyNames", "not", "if", "then", "else"),
)
_WITH_SCHEMAS = frozenset({*_IN_LISTS, *_BY_NAME, *_SINGLE})
"""The keywords whose values are schemas. Most schemas have none of them."""


def closed(schema: JsonObject) -> JsonDict:
    """Return a schema whose objects require all their properties, and allow no others.

    An object that allows further properties, such as a dictionary, stays open: see
    :func:`is_closed`.
    """
    root = at_root(thawed(schema))
    # Each schema is changed before the schemas inside it.
    for subschema in parts_of(root):
        if "oneOf" in subschema and "anyOf" not in subschema:
            subschema["anyOf"] = subschema.pop("oneOf")
            subschema.pop("discriminator", None)
        if (
            subschema.get("type") == "object"
            and subschema.setdefault("additionalProperties", False) is False
        ):
            subschema["required"] = [*subschema.setdefault("properties", {})]
        if "$ref" in subschema and len(subschema) > 1:
            # A reference must be the only key. A choice of one schema means the same.
            subschema["anyOf"] = [{"$ref": subschema.pop("$ref")}]
    return root


def at_root(schema: JsonObject) -> JsonDict:
    """Return a schema whose root is not a reference; the root of a recursive type is one."""
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
        f"#/{key}/{name}": definition
        for key in ("$defs", "definitions")
        for name, definition in mapping_of(schema.get(key)).items()
    }


MAXIMUM_REFERENCES = 500
"""The maximum number of references that are replaced in a schema."""
MAXIMUM_REFERENCE_DEPTH = 16
"""The maximum number of references inside each other that are followed."""


def inlined(schema: JsonObject) -> tuple[JsonDict, bool]:
    """Return a schema in which definitions replace the references to them.

    The second result is whether all references were replaced. A definition inside itself, or after
    too many others, becomes a schema that allows any value.
    """
    root, is_complete, count = at_root(thawed(schema)), True, 0
    definitions = definitions_in(root)
    root = {key: value for key, value in root.items() if key not in ("$defs", "definitions")}
    schema_stack: list[tuple[JsonDict, tuple[str, ...]]] = [(root, ())]
    while schema_stack:
        subschema, enclosing = schema_stack.pop()
        while isinstance(reference := subschema.pop("$ref", None), str):
            definition = definitions.get(reference)
            count += 1
            if (
                reference in enclosing
                or len(enclosing) == MAXIMUM_REFERENCE_DEPTH
                or count > MAXIMUM_REFERENCES
            ):
                definition = None
            if not isinstance(definition, dict):
                is_complete = False
                break
            subschema.update({**thawed(definition), **subschema})
            enclosing = (*enclosing, reference)
        schema_stack += [(inner, enclosing) for inner in _inner(subschema)]
    return root, is_complete


def resolved(value: JsonValue, root: JsonObject) -> JsonObject:
    """Return a schema, or the definition in ``root`` that it refers to; empty for another value."""
    schema = mapping_of(value)
    for _ in range(MAXIMUM_REFERENCE_DEPTH):
        _, _, path = str(schema.get("$ref", "")).partition("#/")
        key, _, name = path.partition("/")
        if not name:
            return schema
        schema = mapping_of(mapping_of(root.get(key)).get(name))
    return {}


def is_recursive(schema: JsonObject) -> bool:
    """Return whether a definition of a schema, or its root, is inside itself."""
    root = dict(schema)
    if any(subschema.get("$ref") == "#" for subschema in parts_of(root)):
        return True
    # By definition, the references in it; then how many definitions refer to each definition.
    references_in: dict[str, set[str]] = {}
    definitions = definitions_in(root)
    for reference, definition in definitions.items():
        subschemas = parts_of(definition) if isinstance(definition, dict) else ()
        references_in[reference] = {
            str(subschema.get("$ref")) for subschema in subschemas
        } & definitions.keys()
    counts = Counter(reference for references in references_in.values() for reference in references)
    # A definition is finished if no unfinished definition contains it. The rest contain each other.
    finished = [reference for reference in references_in if not counts[reference]]
    for reference in finished:
        for inner in references_in[reference]:
            counts[inner] -= 1
            finished += [] if counts[inner] else [inner]
    return len(finished) < len(references_in)


def has_pointers(schema: JsonObject) -> bool:
    """Return whether a schema has a reference to anything but its definitions and its root."""
    defined = {"#", *definitions_in(schema)}
    return any(
        str(subschema.get("$ref", "#")) not in defined for subschema in parts_of(dict(schema))
    )


def sizes_of(schema: JsonObject) -> dict[str, int]:
    """Return the numbers of levels of objects, properties, optional properties and unions."""
    sizes: dict[str, int] = {"nesting": 0, "properties": 0, "optional": 0, "unions": 0}
    for subschema in parts_of(dict(schema)):
        properties, required = (
            mapping_of(subschema.get("properties")),
            items_of(subschema.get("required")),
        )
        sizes["properties"] += len(properties)
        sizes["optional"] += sum(name not in required for name in properties)
        sizes["unions"] += (
            "anyOf" in subschema or "oneOf" in subschema or isinstance(subschema.get("type"), list)
        )
    # Each definition is counted on its own.
    roots = [dict(schema), *mapping_of(schema.get("$defs")).values()]
    sizes["nesting"] = max(_levels(root) for root in roots if isinstance(root, dict))
    return sizes


def _levels(schema: JsonDict) -> int:
    """Return the levels of objects in a schema, without its definitions."""
    deepest, schema_stack = 0, [(schema, 0)]
    while schema_stack:
        subschema, level = schema_stack.pop()
        level += "properties" in subschema
        deepest = max(deepest, level)
        body = {
            key: value for key, value in subschema.items() if key not in ("$defs", "definitions")
        }
        schema_stack += [(inner, level) for inner in _inner(body)]
    return deepest


def parts_of(schema: JsonDict) -> Iterator[JsonDict]:
    """Yield a schema and all schemas inside it; each may be changed before the next is read."""
    schema_stack = [schema]
    while schema_stack:
        subschema = schema_stack.pop()
        yield subschema
        schema_stack += reversed(_inner(subschema))


def _inner(schema: JsonDict) -> list[JsonDict]:
    """Return the schemas directly inside a schema."""
    if _WITH_SCHEMAS.isdisjoint(schema):
        return []
    inner: list[JsonValue] = []
    for key in _BY_NAME:
        inner += mapping_of(schema.get(key)).values()
    for key in _IN_LISTS:
        inner += items_of(schema.get(key))
    inner += [schema.get(key) for key in _SINGLE]
    return [value for value in inner if isinstance(value, dict)]


def mapping_of(value: JsonValue) -> JsonObject:
    """Return a mapping in a schema; an empty mapping for another value."""
    return value if isinstance(value, dict) else {}


def items_of(value: JsonValue) -> Sequence[JsonValue]:
    """Return a list in a schema; an empty list for another value."""
    return value if isinstance(value, list) else []


def check_shape(schema: JsonObject, name: str) -> None:
    """Raise :class:`ContentError` for properties or required names of a wrong type."""
    for subschema in parts_of(dict(schema)):
        properties, required = subschema.get("properties", {}), subschema.get("required", [])
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

    Its root is an object. Every object requires all its properties and allows no others. Every list
    has a schema for its items.
    """
    if schema.get("type") != "object" or "anyOf" in schema:
        return False
    return all(map(_is_strict, parts_of(dict(schema))))


def _is_strict(schema: JsonObject) -> bool:
    """Return whether a schema has the shape that strict outputs ask for, without those inside."""
    if "$ref" in schema:
        return len(schema) == 1
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if kind is None and not ("anyOf" in schema or "enum" in schema or "const" in schema):
        return False
    if "array" in kinds and not isinstance(schema.get("items"), dict):
        return False
    if "object" not in kinds:
        return True
    # An object: every property has a schema and is required, and no others are allowed.
    properties = mapping_of(schema.get("properties"))
    schemas = properties.values()
    if schema.get("additionalProperties") is not False:
        return False
    required = {name for name in items_of(schema.get("required")) if isinstance(name, str)}
    return required == set(properties) and all(isinstance(item, dict) for item in schemas)
