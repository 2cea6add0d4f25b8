"""The JSON schema of a Python type, made by pydantic."""

from collections.abc import Collection, Iterable, Mapping, Set
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.json import canonical

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
