"""The JSON schema of a Python type, and of the parameters of a function.

Read :func:`type_schema` and :func:`signature_of`; pydantic makes both schemas.
"""

import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from dataclasses import is_dataclass
from functools import cache, partial
from importlib.util import find_spec
from inspect import Parameter
from math import isfinite
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args, get_type_hints

import attrs

from promptdsl.components.scope import remembered
from promptdsl.foundation.errors import ContentError, PromptError, install_advice
from promptdsl.foundation.frozen import frozen
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.messages import ToolUseBlock

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic.json_schema import (
        GenerateJsonSchema,
        JsonSchemaMode,
        JsonSchemaValue,
        JsonSchemaWarningKind,
    )
    from pydantic_core import core_schema


# The JSON schema of a Python type, which pydantic makes.

INSTALL_ADVICE = f"{install_advice('tools')}, or give a JSON schema"


def type_schema(
    kind: Any,  # Any: whatever pydantic takes for a type
    name: str,
) -> dict[str, JsonValue]:
    """Return the JSON schema of a type, without the titles that only repeat names.

    ``name`` is the name of the type in an error. Raises :class:`ContentError` for a type without a
    schema, and if pydantic is not installed.
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
    """Return the adapter that checks values of a type, and its schema.

    ``name`` and the errors are those of :func:`type_schema`.
    """
    check_installed(name)
    from pydantic import TypeAdapter

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind)  # Any: as above
        return CheckedType(adapter, adapter.json_schema(schema_generator=_generator()))
    except Exception as error:
        # A type may run code of its author, which may raise any error.
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".:")
        fix = "use plain types, dataclasses, TypedDicts or pydantic models"
        if getattr(error, "code", None) == "typed-dict-version":
            fix = "from typing_extensions import TypedDict"
        raise ContentError(f"{name} has no JSON schema: {reason}", fix=fix) from None


def check_installed(name: str) -> None:
    """Raise :class:`ContentError` if pydantic is not installed: it makes the schema of ``name``."""
    if find_spec("pydantic") is None:
        raise ContentError(
            f"pydantic, which makes the schema of {name}, is not installed", fix=INSTALL_ADVICE
        )


_IGNORED: "set[JsonSchemaWarningKind]" = {"skipped-choice", "non-serializable-default"}
"""The warnings of pydantic that are not shown."""


@cache
def _generator() -> "type[GenerateJsonSchema]":
    """Return the class that makes schemas; it leaves out titles that no author wrote.

    The class is made at the first call, because pydantic is imported only where it is needed.
    """
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        """Pydantic's generator of schemas, without generated titles.

        A default that is a set becomes a sorted list. A default without a JSON value is left out.
        """

        ignored_warning_kinds = _IGNORED
        enum_titles: Set[str] = frozenset()

        def field_title_should_be_set(self, schema: object) -> bool:
            return False

        def model_schema(self, schema: "core_schema.ModelSchema") -> "JsonSchemaValue":
            return _untitled(super().model_schema(schema), schema["cls"])

        def dataclass_schema(self, schema: "core_schema.DataclassSchema") -> "JsonSchemaValue":
            return _untitled(super().dataclass_schema(schema), schema["cls"])

        def typed_dict_schema(self, schema: "core_schema.TypedDictSchema") -> "JsonSchemaValue":
            return _untitled(super().typed_dict_schema(schema), schema.get("cls"))

        def enum_schema(self, schema: "core_schema.EnumSchema") -> "JsonSchemaValue":
            json_schema = super().enum_schema(schema)
            self.enum_titles = {*self.enum_titles, json_schema["title"]}
            return json_schema

        def generate(
            self, schema: "core_schema.CoreSchema", mode: "JsonSchemaMode" = "validation"
        ) -> "JsonSchemaValue":
            json_schema = super().generate(schema, mode)
            # pydantic writes the titles of enumerations last.
            for titled in (json_schema, *json_schema.get("$defs", {}).values()):
                if titled.get("title") in self.enum_titles:
                    del titled["title"]
            return json_schema

        def get_default_value(self, schema: "core_schema.WithDefaultSchema") -> object:
            return _with_sorted_sets(super().get_default_value(schema))

    return Generator


def _untitled(schema: "JsonSchemaValue", cls: type | None) -> "JsonSchemaValue":
    """Return the schema of a class without the title that repeats its name."""
    if cls is not None and schema.get("title") == cls.__name__:
        del schema["title"]
    return schema


def _with_sorted_sets(value: object) -> object:
    """Return a default with a sorted list for each set, whose order is not always the same."""
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
        return object()  # an object has no JSON value, so pydantic leaves the default out
    # A model or a dataclass becomes a mapping, which may still contain sets.
    plain: object = TypeAdapter(object).dump_python(value, by_alias=True)
    if type(plain) not in (set, frozenset, dict, list, tuple):
        return value
    ordered = _with_sorted_sets(plain)
    return value if ordered == plain else ordered


# The signature of a function for a model: its name, its description and its JSON schema.


@attrs.frozen
class Arguments:
    """The check of a call's arguments, made of the same types as the schema of the function.

    ``adapter`` is a pydantic adapter: it returns the arguments as keywords. If the function is a
    pydantic model, it returns an instance. ``keys`` has the property of the schema for each
    parameter; it is another name if the parameter has an alias. ``preset`` are the keywords of a
    ``partial``.
    """

    adapter: Any  # Any: a TypeAdapter, imported where it is used
    keys: Mapping[str, str]
    is_model: bool
    is_open: bool
    """Whether a call may have other arguments, too."""
    preset: Mapping[str, object]


@attrs.frozen
class Signature:
    """The name of a function, its description, and the JSON schema of its arguments."""

    name: str
    description: str | None
    input_schema: JsonObject
    arguments: Arguments | None = attrs.field(default=None, eq=False, repr=False)


def signature_of(function: Callable[..., object]) -> Signature:
    """Return the signature of a function.

    The schema leaves out the arguments of a ``partial``, the object of a bound method, and a
    parameter for the call itself (``call: ToolUseBlock``). The description of a parameter is that
    in ``Annotated[..., Field(description=...)]``, or else that in the docstring (Google, NumPy or
    reST style).

    Raises :class:`ContentError`, with the line of the function, for a function without a schema.
    """
    return remembered(function, _read_signature)


def takes_call(annotation: object) -> bool:
    """Return whether a parameter with this annotation gets the tool call itself."""
    return annotation is ToolUseBlock or ToolUseBlock in get_args(annotation)


def _read_signature(function: Callable[..., object]) -> Signature:
    """Return the signature of a function: see :func:`signature_of`."""
    # The function under partials and decorators.
    inner: Callable[..., object] = inspect.unwrap(function)
    preset: dict[str, object] = {}
    while isinstance(inner, partial):
        preset = {**inner.keywords, **preset}
        inner = inspect.unwrap(inner.func)
    name = str(getattr(inner, "__name__", None) or type(inner).__name__)
    try:
        description, descriptions = _read_docstring(inner, name)
        check_installed("a function")
        is_model = hasattr(inner, "__pydantic_fields__")
        # ``names`` has the parameter for each property of the schema.
        if is_model:
            # The fields of a pydantic model have more details than the signature of its class.
            adapter, schema = checked_type(inner, name)
            schema.pop("description", None)
            names = {key: key for key in _properties(schema)}
        else:
            parameters = _parameters(function, inner, name)
            parameters = {key: kind for key, kind in parameters.items() if key not in preset}
            parameters = _with_types(parameters, inner)
            adapter, schema = _checked_arguments(parameters, inner)
            schema.pop("additionalProperties", None)
            # A property has the alias of its parameter, but a call takes the name of the parameter.
            names = dict(zip(_properties(schema), parameters, strict=True))
        properties = {names[key]: value for key, value in _properties(schema).items()}
        for key, text in descriptions.items():
            property_schema = properties.get(key)
            if isinstance(property_schema, dict):
                property_schema.setdefault("description", text)
        required = [names[key] for key in cast("list[str]", schema.get("required", []))]
        schema |= {"properties": {k: v for k, v in properties.items() if k not in preset}}
        if required:
            schema["required"] = [key for key in required if key not in preset]
        keys = {value: key for key, value in names.items()}
        is_open = schema.get("additionalProperties", False) is not False
        arguments = Arguments(adapter, keys, is_model, is_open, preset)
        return Signature(name, description, cast("JsonObject", frozen(schema)), arguments)
    except PromptError as error:
        code = getattr(_callable_of(inner), "__code__", None)
        line = None if code is None else f"{code.co_filename}:{code.co_firstlineno}"
        raise error.located(line) from None


def _properties(schema: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    properties = schema.get("properties", {})
    return properties if isinstance(properties, Mapping) else {}


def _callable_of(function: Callable[..., object]) -> object:
    """Return the function itself; for an object with ``__call__``, this method."""
    if inspect.isroutine(function) or inspect.isclass(function):
        return getattr(function, "__func__", function)
    return inspect.unwrap(type(function).__call__)


def _parameters(
    function: Callable[..., object], inner: Callable[..., object], name: str
) -> dict[str, Parameter]:
    """Return the parameters of a function by name.

    Raises :class:`ContentError` for a parameter that a model cannot fill by its name. ``inner`` is
    the function without its decorators, ``name`` its name in an error.
    """
    try:
        parameters = dict(inspect.signature(function).parameters)
    except (ValueError, NameError, TypeError) as error:
        raise ContentError(
            f"the parameters of {name} cannot be read: {error}",
            fix="wrap it in a function with annotations, or write Tool(name=, input_schema=)",
        ) from None
    class_name = str(getattr(inner, "__qualname__", "")).rpartition(".")[0]
    in_class = bool(class_name) and not class_name.endswith("<locals>")
    for index, (key, parameter) in enumerate(parameters.items()):
        kind = parameter.kind
        if kind in (kind.VAR_POSITIONAL, kind.VAR_KEYWORD):
            stars = "*" if kind is kind.VAR_POSITIONAL else "**"
            fix = "wrap it in a function that has a named parameter for each argument"
            raise ContentError(f"a model cannot fill {stars}{key}", fix=fix)
        if kind is kind.POSITIONAL_ONLY:
            fix = "a model passes arguments by name: leave the / out, or wrap the function"
            raise ContentError(f"the parameter {key!r} cannot be passed by name", fix=fix)
        unbound = index == 0 and in_class and key in ("self", "cls")
        if unbound and parameter.annotation is parameter.empty:
            fix = "give the method of an object: Tool(thing.method)"
            problem = f"this method belongs to no object, so {key!r} has no value"
            raise ContentError(problem, fix=fix)
    return parameters


def _with_types(
    parameters: Mapping[str, Parameter], function: Callable[..., object]
) -> dict[str, Parameter]:
    """Return keyword-only parameters with the types of their annotations.

    A parameter for the tool call itself is left out, because the model does not fill it. Raises
    :class:`ContentError` for an annotation that cannot be resolved.
    """
    stub = _new_stub(function)
    resolved: dict[str, Parameter] = {}
    for name, parameter in parameters.items():
        stub.__annotations__ = {name: parameter.annotation}
        annotated = parameter.annotation is not parameter.empty
        try:
            hint = get_type_hints(stub, include_extras=True)[name] if annotated else Any
        except Exception as error:
            # An annotation may contain any code, which may raise any error.
            raise ContentError(
                f"the annotation of {name!r} cannot be found: {error}",
                fix="define or import the type at the top of the module, outside of TYPE_CHECKING",
            ) from None
        if not takes_call(hint):
            resolved[name] = parameter.replace(annotation=hint, kind=parameter.KEYWORD_ONLY)
    return resolved


def _checked_arguments(
    parameters: Mapping[str, Parameter], function: Callable[..., object]
) -> CheckedType:
    """Return the check of a function's arguments, and their schema."""
    stub = _new_stub(function)
    hints = {name: parameter.annotation for name, parameter in parameters.items()}
    stub.__annotations__ = hints
    stub.__signature__ = inspect.Signature([*parameters.values()])  # type: ignore[attr-defined]
    try:
        return checked_type(stub, "a function")
    except ContentError:
        # This error does not name the parameter, so each parameter is checked separately.
        for name, hint in hints.items():
            checked_type(hint, f"the parameter {name!r}")
        raise


def _new_stub(function: Callable[..., object]) -> FunctionType:
    """Return a function that pydantic reads instead of ``function``; it returns its arguments.

    Its annotations can use the global names of ``function``.
    """
    if inspect.isclass(function):
        return FunctionType(_stub.__code__, vars(sys.modules[function.__module__]))
    return FunctionType(_stub.__code__, getattr(_callable_of(function), "__globals__", {}))


def _stub(**arguments: object) -> dict[str, object]:
    return arguments


def _read_docstring(
    function: Callable[..., object], name: str
) -> tuple[str | None, dict[str, str]]:
    """Return the description of a function and those of its parameters, from its docstring."""
    if inspect.isclass(function):
        text = _class_docstring(function)
    elif inspect.isroutine(function) and name != "__call__":
        text = inspect.getdoc(function)
    else:
        # For a __call__ without a docstring, inspect.getdoc() returns one of Python.
        text = None if inspect.isroutine(function) else _class_docstring(type(function))
        text = text or inspect.cleandoc(_callable_of(function).__doc__ or "")
    if not text:
        return None, {}
    if _TITLE.match(text):
        # getdoc() removed the indentation of a docstring that begins with a title. Restore it.
        text = text.replace("\n", "\n    ")
    try:
        from docstring_parser import parse
    except ImportError:
        raise ContentError(
            "docstring-parser, which reads docstrings, is not installed", fix=INSTALL_ADVICE
        ) from None
    # The parser skips the first line when it looks for the indentation, but it may be a title.
    parsed = parse(f"\n{text}")
    sections = _SECTIONS.get(parsed.style.name if parsed.style else "")
    description = sections.sub("\n", text) if sections else parsed.description or ""
    descriptions: dict[str, str] = {}
    for parameter in parsed.params:
        # A description is written on one line. NumPy's style may have one for several parameters.
        line = " ".join((parameter.description or "").split())
        if line:
            descriptions |= dict.fromkeys(map(str.strip, parameter.arg_name.split(",")), line)
    return description.strip() or None, descriptions


def _class_docstring(cls: type) -> str | None:
    """Return the docstring of a class, or ``None`` if Python generated it."""
    text: str = vars(cls).get("__doc__") or ""
    name = cls.__name__
    may_be_generated = is_dataclass(cls) or issubclass(cls, tuple)
    if may_be_generated and text.startswith(f"{name}(") and text.endswith(")"):
        return None
    return inspect.cleandoc(text)


# The titles of sections in a docstring, and a docstring that begins with one.
_TITLES = (
    "(?:Arguments|Args|Parameters|Params|Raises|Exceptions|Except|Attributes|Examples?|Returns"
    "|Yields):[ \\t]*"
)
_TITLE = re.compile(rf"{_TITLES}\n(?=\S)")
_SECTIONS = {
    "GOOGLE": re.compile(rf"(?:\n*^{_TITLES}(?:\n(?:[ \t].*)?$)*+)+", re.MULTILINE),
    "NUMPYDOC": re.compile(
        r"(?:\n*^(?:(?:Other )?(?:Parameters|Params|Arguments|Args)|Receives?|Raises?|Warns?"
        r"|Attributes?|Returns?|Yields?|Examples?|See Also|Related|References?)[ \t]*\n--+[ \t]*"
        r"(?:\n(?!.+\n--+[ \t]*$).*)*+)+",
        re.MULTILINE,
    ),
}
"""The sections of a docstring that are not part of the description; others, such as notes, are."""
