"""JSON schemas: of a type, closed as strict outputs demand, and whether one is."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

from promptdsl.errors import ContentError
from promptdsl.json_text import canonical, thawed

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema

NEEDED = "pip install 'promptdsl[tools]', or give a JSON schema"


def type_schema(kind: Any, what: str) -> dict[str, Any]:
    """Return the JSON schema of a type, without the titles that only repeat names.

    ``what`` is what an error calls it. Raises :class:`ContentError` for a type that has no schema,
    whatever went wrong, and where pydantic is not installed.
    """
    check_installed(what)
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(kind).json_schema(schema_generator=_generator())
    except Exception as error:
        # A type may bring code of its own, and that may raise anything.
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".:")
        raise ContentError(f"{what} has no JSON schema: {reason}", fix=_fix(error)) from None


def _fix(error: Exception) -> str:
    if getattr(error, "code", None) == "typed-dict-version":
        return "from typing_extensions import TypedDict"
    return "use plain types, dataclasses, TypedDicts or pydantic models"


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
        """Pydantic's generator without its own titles, and with sets in one order.

        A default that JSON has no word for is left out.
        """

        ignored_warning_kinds: set[Any] = _IGNORED
        enums: Set[str] = frozenset()

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

        def model_schema(self, schema: Any) -> dict[str, Any]:
            return _untitled(super().model_schema(schema), schema["cls"])

        def dataclass_schema(self, schema: Any) -> dict[str, Any]:
            return _untitled(super().dataclass_schema(schema), schema["cls"])

        def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
            return _untitled(super().typed_dict_schema(schema), schema.get("cls"))

        def enum_schema(self, schema: Any) -> dict[str, Any]:
            made = super().enum_schema(schema)
            self.enums = {*self.enums, made["title"]}
            return made

        def generate(self, schema: Any, mode: Any = "validation") -> dict[str, Any]:
            made = super().generate(schema, mode)
            # Those of enumerations are put in last.
            for part in (made, *made.get("$defs", {}).values()):
                if part.get("title") in self.enums:
                    del part["title"]
            return made

        def get_default_value(self, schema: Any) -> Any:
            default = super().get_default_value(schema)
            # Pydantic sorts a set by itself, but not sets of sets, which have no order.
            return _ordered(default, self) if isinstance(default, Set) else default

        def encode_default(self, dft: Any) -> Any:
            encoded = super().encode_default(dft)
            _sort_sets(dft, encoded)
            return encoded

    return Generator


def _untitled(schema: dict[str, Any], cls: type | None) -> dict[str, Any]:
    if cls is not None and schema.get("title") == cls.__name__:
        del schema["title"]
    return schema


# Defaults.


def _ordered(default: Any, generator: "GenerateJsonSchema") -> Any:
    from pydantic_core import PydanticSerializationError

    try:
        return generator.encode_default(default)
    except PydanticSerializationError:
        # It is encoded once more, and then left out.
        return default


def _sort_sets(value: Any, encoded: Any) -> None:
    """Put what was encoded of sets, however deep, in one order: theirs follows the hash seed."""
    waiting, unordered = [(value, encoded)], list[Any]()
    while waiting:
        one, said = waiting.pop()
        _check_number(one)
        if isinstance(one, Set) and isinstance(said, list):
            unordered.append(said)
        waiting += _inside(one, said)
    # What is in a set comes before it: the set is ordered by what it says.
    for said in reversed(unordered):
        said[:] = _sorted(said)


def _check_number(value: Any) -> None:
    """Refuse what pydantic makes ``null`` of, as it refuses what JSON cannot say."""
    from pydantic_core import PydanticSerializationError

    if isinstance(value, float) and not isfinite(value):
        raise PydanticSerializationError(f"{value} is no JSON value")


def _inside(value: Any, encoded: Any) -> Iterable[tuple[Any, Any]]:
    """Return the parts of a value, each with what was encoded of it."""
    if getattr(cast("Any", type(value)), "__pydantic_root_model__", False):
        return [(value.root, encoded)]
    if isinstance(encoded, list) and isinstance(value, Collection):
        return zip(cast("Any", value), cast("Any", encoded), strict=False)
    if not isinstance(encoded, dict):
        return ()
    if isinstance(value, Mapping):
        return zip(cast("Any", value.values()), cast("Any", encoded.values()), strict=False)
    names = _names(value)
    said = cast("dict[str, Any]", encoded).items()
    return [(getattr(value, names.get(key, key), None), part) for key, part in said]


def _names(value: Any) -> dict[str, str]:
    """Return the names of the fields of a model by what they are called in JSON."""
    fields = getattr(cast("Any", type(value)), "__pydantic_fields__", {})
    return {field.serialization_alias or name: name for name, field in fields.items()}


def _sorted(items: list[Any]) -> list[Any]:
    ordered = sorted(items, key=canonical)
    try:
        return sorted(ordered)
    except TypeError:
        return ordered


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
