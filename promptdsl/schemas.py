"""JSON schemas: of a type, closed as strict outputs demand, and whether one is."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from promptdsl.errors import ContentError
from promptdsl.json_text import canonical, thawed

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema

NEEDED = "pip install 'promptdsl[tools]', or give a JSON schema"


def type_schema(kind: Any, what: str) -> dict[str, Any]:
    """Return the JSON schema of a type, without the titles that only repeat names.

    ``what`` is what an error calls it. Raises :class:`ContentError` for a type that has no schema,
    and where pydantic is not installed.
    """
    check_installed(what)
    from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

    try:
        return TypeAdapter(kind).json_schema(schema_generator=_generator())
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError, NameError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        raise ContentError(
            f"{what} has no JSON schema: {reason}",
            fix="use plain types, dataclasses, TypedDicts or pydantic models",
        ) from None


def check_installed(what: str) -> None:
    """Raise :class:`ContentError` where pydantic, which makes schemas, is not installed."""
    try:
        import pydantic  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise ContentError(
            f"the schema of {what} is made by pydantic, which is not installed", fix=NEEDED
        ) from None


_IGNORED = {"skipped-choice", "non-serializable-default"}


@cache
def _generator() -> "type[GenerateJsonSchema]":
    """Return what makes a schema of a type: it leaves out titles that its author did not write."""
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        """Pydantic's generator without its own titles, and with sets in one order."""

        # A default that JSON has no word for is left out of the schema.
        ignored_warning_kinds: set[Any] = _IGNORED

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

        def model_schema(self, schema: Any) -> dict[str, Any]:
            return _untitled(super().model_schema(schema), schema["cls"])

        def dataclass_schema(self, schema: Any) -> dict[str, Any]:
            return _untitled(super().dataclass_schema(schema), schema["cls"])

        def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
            return _untitled(super().typed_dict_schema(schema), schema.get("cls"))

        def generate(self, schema: Any, mode: Any = "validation") -> dict[str, Any]:
            made = super().generate(schema, mode)
            # Those of enumerations are put in last.
            for name, part in made.get("$defs", {}).items():
                if part.get("title") == name:
                    del part["title"]
            return made

        def encode_default(self, dft: Any) -> Any:
            encoded = super().encode_default(dft)
            return sorted(encoded, key=canonical) if isinstance(dft, set | frozenset) else encoded

    return Generator


def _untitled(schema: dict[str, Any], cls: type | None) -> dict[str, Any]:
    if cls is not None and schema.get("title") == cls.__name__:
        del schema["title"]
    return schema


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
    whole = _at_root(cast("dict[str, Any]", thawed(schema)))
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


def _at_root(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose root is no reference: that of a type that holds itself is one."""
    definitions = schema.get("$defs", {})
    for _ in range(len(definitions)):
        name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
        if name not in definitions:
            break
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**thawed(definitions[name]), **rest}
    return schema


def _parts(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield a schema and the schemas in it, however deep; some may be no mappings."""
    waiting: list[Any] = [schema]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += [part[key] for key in _ALONE if isinstance(part.get(key), Mapping)]
        waiting += [one for key in _IN_LISTS for one in part.get(key, ()) if isinstance(one, dict)]
        for key in _BY_NAME:
            waiting += [one for one in part.get(key, {}).values() if isinstance(one, dict)]


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
    properties = part.get("properties", {})
    if part.get("additionalProperties") is not False:
        return False
    if not all(isinstance(one, Mapping) for one in properties.values()):
        return False
    return set(part.get("required", ())) == set(properties)
