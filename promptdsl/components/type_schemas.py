"""The JSON schema of a Python type, which pydantic makes."""

import json
from collections.abc import Mapping, Set
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.extras import install_advice
from promptdsl.foundation.json import JsonValue

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic.json_schema import (
        GenerateJsonSchema,
        JsonSchemaMode,
        JsonSchemaValue,
        JsonSchemaWarningKind,
    )
    from pydantic_core import core_schema


NEEDED = f"{install_advice('tools')}, or give a JSON schema"


def type_schema(
    kind: Any,  # Any: whatever pydantic takes for a type
    name: str,
) -> dict[str, JsonValue]:
    """Return the JSON schema of a type, without the titles that only repeat names.

    ``name`` is the subject of an error. Raises :class:`ContentError` for a type without a schema,
    for any reason, and if pydantic is not installed.
    """
    return checked_type(kind, name).schema


class CheckedType(NamedTuple):
    """A type as pydantic reads it: the adapter that checks its values, and its JSON schema."""

    adapter: "TypeAdapter[Any]"  # Any: whatever pydantic takes for a type
    schema: dict[str, JsonValue]


def checked_type(
    kind: Any,  # Any: whatever pydantic takes for a type
    name: str,
) -> CheckedType:
    """Return the check of a type's values, and its schema; see :func:`type_schema`."""
    check_installed(name)
    from pydantic import TypeAdapter

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind)  # Any: as above
        return CheckedType(adapter, adapter.json_schema(schema_generator=_generator()))
    except Exception as error:
        # A type may have code of its own, which may raise any error.
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".:")
        fix = "use plain types, dataclasses, TypedDicts or pydantic models"
        if getattr(error, "code", None) == "typed-dict-version":
            fix = "from typing_extensions import TypedDict"
        raise ContentError(f"{name} has no JSON schema: {reason}", fix=fix) from None


def check_installed(name: str) -> None:
    """Raise :class:`ContentError` if pydantic, which makes schemas, is not installed."""
    if find_spec("pydantic") is None:
        raise ContentError(
            f"pydantic, which makes the schema of {name}, is not installed", fix=NEEDED
        )


_IGNORED: "set[JsonSchemaWarningKind]" = {"skipped-choice", "non-serializable-default"}


@cache
def _generator() -> "type[GenerateJsonSchema]":
    """Return the class that makes schemas; it leaves out titles that no author wrote."""
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        """Pydantic's generator, without its own titles, and with sorted sets.

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
            return _with_sorted_sets(super().get_default_value(schema))

    return Generator


def _untitled(schema: "JsonSchemaValue", cls: type | None) -> "JsonSchemaValue":
    """Return the schema of a class without the title that repeats its name."""
    if cls is not None and schema.get("title") == cls.__name__:
        del schema["title"]
    return schema


def _with_sorted_sets(value: object) -> object:
    """Return a default with sorted lists for sets: the order of a set depends on the hash seed."""
    from pydantic import TypeAdapter

    if isinstance(value, Set):
        members = [_with_sorted_sets(member) for member in cast("Set[object]", value)]
        members.sort(key=lambda member: json.dumps(member, sort_keys=True, default=str))
        with suppress(TypeError):  # values that cannot be compared
            return sorted(cast("list[Any]", members))  # Any: JSON values
        return members
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {key: _with_sorted_sets(member) for key, member in items}
    if isinstance(value, list | tuple):
        return [_with_sorted_sets(member) for member in cast("list[object]", value)]
    if isinstance(value, float) and not isfinite(value):
        return object()  # has no JSON, so pydantic leaves the default out
    # A model or a dataclass becomes a mapping, which may still contain sets.
    plain: object = TypeAdapter(object).dump_python(value, by_alias=True)
    if type(plain) not in (set, frozenset, dict, list, tuple):
        return value
    ordered = _with_sorted_sets(plain)
    return value if ordered == plain else ordered
