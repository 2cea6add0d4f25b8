"""The JSON schema of a Python type, made by pydantic."""

from collections.abc import Collection, Iterable, Mapping, Set
from functools import cache
from importlib.util import find_spec
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.json import JsonValue, canonical

if TYPE_CHECKING:
    from pydantic.json_schema import (
        GenerateJsonSchema,
        JsonSchemaMode,
        JsonSchemaValue,
        JsonSchemaWarningKind,
    )
    from pydantic_core import core_schema


NEEDED = "pip install 'promptdsl[tools]', or give a JSON schema"


def type_schema(
    kind: Any,  # Any: whatever pydantic takes for a type
    name: str,
) -> dict[str, JsonValue]:
    """Return the JSON schema of a type, without the titles that only repeat names.

    ``name`` is the subject of an error. Raises :class:`ContentError` for a type without a schema,
    whatever went wrong, and where pydantic is not installed.
    """
    check_installed(name)
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(kind).json_schema(schema_generator=_generator())
    except Exception as error:
        # A type may bring code of its own, and that may raise anything.
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".:")
        fix = "use plain types, dataclasses, TypedDicts or pydantic models"
        if getattr(error, "code", None) == "typed-dict-version":
            fix = "from typing_extensions import TypedDict"
        raise ContentError(f"{name} has no JSON schema: {reason}", fix=fix) from None


def check_installed(name: str) -> None:
    """Raise :class:`ContentError` where pydantic, which makes schemas, is not installed."""
    if find_spec("pydantic") is None:
        raise ContentError(
            f"the schema of {name} is made by pydantic, which is not installed", fix=NEEDED
        )


_IGNORED: "set[JsonSchemaWarningKind]" = {"skipped-choice", "non-serializable-default"}


@cache
def _generator() -> "type[GenerateJsonSchema]":
    """Return the class that makes schemas: it leaves out titles that no author wrote."""
    from pydantic.json_schema import GenerateJsonSchema
    from pydantic_core import PydanticSerializationError

    class Generator(GenerateJsonSchema):
        """Pydantic's generator without its own titles, and with sets in one order.

        A default without a JSON value is left out. Its parameters are pydantic's.
        """

        ignored_warning_kinds = _IGNORED
        enums: Set[str] = frozenset()

        def field_title_should_be_set(self, schema: object) -> bool:
            return False

        def model_schema(self, schema: "core_schema.ModelSchema") -> "JsonSchemaValue":
            return _untitled(super().model_schema(schema), schema["cls"])

        def dataclass_schema(self, schema: "core_schema.DataclassSchema") -> "JsonSchemaValue":
            return _untitled(super().dataclass_schema(schema), schema["cls"])

        def typed_dict_schema(self, schema: "core_schema.TypedDictSchema") -> "JsonSchemaValue":
            return _untitled(super().typed_dict_schema(schema), schema.get("cls"))

        def enum_schema(self, schema: "core_schema.EnumSchema") -> "JsonSchemaValue":
            made = super().enum_schema(schema)
            self.enums = {*self.enums, made["title"]}
            return made

        def generate(
            self, schema: "core_schema.CoreSchema", mode: "JsonSchemaMode" = "validation"
        ) -> "JsonSchemaValue":
            made = super().generate(schema, mode)
            # The titles of enumerations are put in last.
            for part in (made, *made.get("$defs", {}).values()):
                if part.get("title") in self.enums:
                    del part["title"]
            return made

        def get_default_value(self, schema: "core_schema.WithDefaultSchema") -> object:
            default: object = super().get_default_value(schema)
            if not issubclass(type(default), Set):
                return default
            try:
                # Pydantic sorts a set by itself, but not sets of sets, which have no order.
                return self.encode_default(default)
            except PydanticSerializationError:
                # It is encoded once more, and then left out.
                return default

        def encode_default(self, dft: object) -> object:
            encoded: object = super().encode_default(dft)
            _sort_sets(dft, encoded)
            return encoded

    return Generator


def _untitled(schema: "JsonSchemaValue", cls: type | None) -> "JsonSchemaValue":
    if cls is not None and schema.get("title") == cls.__name__:
        del schema["title"]
    return schema


def _sort_sets(default: object, encoded: object) -> None:
    """Put the lists that sets became, however deep, in one order: theirs follows the hash seed.

    A float without a JSON value is an error of pydantic's, which then leaves the default out.
    """
    from pydantic_core import PydanticSerializationError

    waiting: list[tuple[object, object]] = [(default, encoded)]
    unordered: list[list[Any]] = []  # Any: JSON values, which `sorted` compares if it can
    while waiting:
        value, data = waiting.pop()
        if isinstance(value, float) and not isfinite(value):
            raise PydanticSerializationError(f"{value} is no JSON value")
        if isinstance(value, Set) and _is_list(data):
            unordered.append(data)
        waiting += _inside(value, data)
    # The inner sets come first: a set is ordered by its entries.
    for entries in reversed(unordered):
        entries.sort(key=canonical)
        try:
            entries[:] = sorted(entries)
        except TypeError:
            continue  # of types that cannot be compared


def _is_list(value: object) -> TypeGuard[list[Any]]:  # Any: JSON values
    return isinstance(value, list)


def _inside(value: Any, encoded: object) -> Iterable[tuple[object, object]]:  # Any: any default
    """Return the parts of a value, each with its encoded form."""
    if getattr(cast("object", type(value)), "__pydantic_root_model__", False):
        return [(value.root, encoded)]
    if _is_list(encoded) and isinstance(value, Collection):
        return zip(cast("Collection[object]", value), encoded, strict=False)
    if not isinstance(encoded, dict):
        return ()
    entries = cast("dict[str, object]", encoded)
    if isinstance(value, Mapping):
        parts = cast("Mapping[object, object]", value).values()
        return zip(parts, entries.values(), strict=False)
    # The fields of a model, by their names in JSON.
    fields: Mapping[str, Any] = getattr(
        cast("object", type(value)), "__pydantic_fields__", {}
    )  # Any: `FieldInfo`
    names = {field.serialization_alias or name: name for name, field in fields.items()}
    return [(getattr(value, names.get(key, key), None), part) for key, part in entries.items()]
