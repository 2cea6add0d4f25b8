"""The components for the tools that a model may call, and for the output schema of its answer."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from types import NoneType
from typing import Never, cast

import attrs

from promptdsl.components.options import refuse_options, too_many
from promptdsl.components.scope import Component, join_open_block, retract, start
from promptdsl.foundation.errors import (
    ContentError,
    DataError,
    OptionError,
    PromptError,
    is_one_of,
    nearest,
    shown,
)
from promptdsl.foundation.frozen import is_list, is_mapping, plain
from promptdsl.foundation.json import JsonObject
from promptdsl.foundation.source import LeftOut
from promptdsl.foundation.unicode import exact
from promptdsl.messages.field_checks import kind_of
from promptdsl.messages.prompt import OUTPUT_MODES, OutputMode, OutputSchema, ToolDefinition
from promptdsl.messages.schemas import at_root, check_shape, closed
from promptdsl.tree.masks import TOOL
from promptdsl.tree.node import nodes_in
from promptdsl.tree.turn_nodes import OutputNode, ToolNode

_NO_ARGUMENTS: JsonObject = {"type": "object", "properties": {}}
"""The schema of a tool without arguments."""
_NOT_TYPES = (NoneType, LeftOut, partial, str, int, float, list, tuple)
"""The types of values that an author may pass by mistake instead of a type."""
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]+")
"""Characters that a provider may refuse in the name of a schema."""
MAX_NAME = 64
"""The maximum number of characters of a schema's name that all providers take."""


class Tool(Component, ToolNode):
    """A tool that a model may call: a function, or its name, description and JSON schema.

    From a function, the tool gets its name, its description (the docstring) and its schema (the
    signature); ``name`` and ``description`` replace those of the function. Only :func:`run_calls`
    and :func:`arun_calls` run the function. Without a function ``name`` is required, and
    ``input_schema`` is the JSON schema of the arguments; by default there are no arguments. A
    :class:`ToolDefinition`, for example from :func:`read_payload`, is used unchanged.

    Raises :class:`ContentError` for a function without a schema, for a schema that is not of type
    object, and for a missing name. Raises :class:`OptionError` for a bad option.

    >>> from promptdsl import Timeline, Tool, User, render
    >>> def weather(city: str) -> str:
    ...     '''Return the weather of a city.'''
    >>> prompt = Timeline(Tool(weather), User("Is it cold in Oslo?"))
    >>> render(prompt, model="gpt-5").to_openai()["tools"][0]["function"]["description"]
    'Return the weather of a city.'
    """

    __slots__ = ()
    _initial_mask = TOOL

    def __init__(
        self,
        function: Callable[..., object] | ToolDefinition | None = None,
        /,
        *extra: Never,
        name: str | None = None,
        description: str | None = None,
        input_schema: Mapping[str, object] | None = None,
        **unknown: Never,
    ) -> None:
        if extra:
            raise too_many(self, function, *extra)
        start(self)
        try:
            refuse_options(self, unknown)
            if isinstance(function, ToolDefinition):
                _refuse_options_with(function, (name, description, input_schema))
                self.function = None
                self.definition = function
            else:
                self.function = function
                checked_name = _text("name", name)
                checked_description = _text("description", description)
                self.definition = _definition(
                    function, checked_name, checked_description, input_schema
                )
        except PromptError as error:
            retract(nodes_in(function, name, description, input_schema))
            raise _with_line(error, self) from None
        join_open_block(self)


class Output(Component, OutputNode):
    """The output schema of the answer: a type, or a JSON schema.

    A type is a pydantic model, a dataclass or a ``TypedDict``. Options:

    - ``name``: the name of the schema, by default the name of the type, or ``"output"``;
    - ``description``: a text for the model, ``None`` by default;
    - ``strict``: with ``True`` (default) the provider has to follow the schema exactly. Then each
      object of a type has all its properties and no others;
    - ``mode``: ``"native"`` sends the schema as a setting of the request, ``"prompted"`` as the
      last part of the system text. ``None`` (default) is ``"native"`` if the target takes the
      schema, otherwise ``"prompted"``.

    An :class:`OutputSchema`, for example from :func:`read_payload`, is used unchanged.

    Raises :class:`ContentError` for a type without a schema, and with ``strict`` for a schema whose
    root is not an object. Raises :class:`OptionError` for a bad option.

    >>> from promptdsl import Output, Timeline, User, render
    >>> schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    >>> prompt = Timeline(Output(schema, name="place", strict=False), User("Where is it?"))
    >>> render(prompt, model="gpt-5").to_openai()["response_format"]["json_schema"]["name"]
    'place'
    """

    __slots__ = ()
    _initial_mask = TOOL

    def __init__(
        self,
        schema: object,
        /,
        *extra: Never,
        name: str | None = None,
        description: str | None = None,
        strict: bool = True,
        mode: OutputMode | None = None,
        **unknown: Never,
    ) -> None:
        if extra:
            raise too_many(self, schema, *extra)
        start(self)
        try:
            refuse_options(self, unknown)
            if isinstance(schema, OutputSchema):
                options = (name, description, None if strict is True else strict, mode)
                _refuse_options_with(schema, options)
                self.schema = schema
            else:
                checked_name = _text("name", name)
                checked_description = _text("description", description)
                output_schema = _output_schema(schema, checked_name, checked_description, strict)
                self.schema = attrs.evolve(output_schema, mode=_mode(mode))
        except PromptError as error:
            retract(nodes_in(schema, name, description))
            raise _with_line(error, self) from None
        join_open_block(self)


def _with_line(error: PromptError, component: Component) -> PromptError:
    """Return an error with the line of the component first, before its other lines."""
    other_lines = [line for line in error.at if line != str(component.source)]
    return type(error)(error.what, fix=error.fix, at=(component.source, *other_lines))


def _definition(
    function: object, name: str | None, description: str | None, schema: object
) -> ToolDefinition:
    """Return the definition of a tool; the errors are those of :class:`Tool`."""
    if function is not None:
        if not callable(function):
            fix = "Tool(search), or Tool(name=..., description=..., input_schema=...)"
            if is_list(function) and all(map(callable, function)):
                fix = "write a Tool for each function: *map(Tool, functions)"
            elif callable(getattr(function, "func", None)):
                fix = "give the function in it: Tool(tool.func)"
            raise ContentError(f"a Tool takes a function, not {kind_of(function)}", fix=fix)
        if schema is not None:
            raise OptionError(
                "the schema of a tool comes from its function or from input_schema, not from both",
                fix="leave the function or input_schema out",
            )
        from promptdsl.components.schemas import signature_of

        signature = signature_of(function)
        if name is None and signature.name == "<lambda>":
            raise ContentError("a lambda has no name", fix='write Tool(function, name="search")')
        name = signature.name if name is None else name
        description = description or signature.description
        schema = signature.input_schema
    if not name:
        raise ContentError(
            "a Tool needs a function or a name", fix='Tool(search), or Tool(name="search", ...)'
        )
    data = _plain_schema(_NO_ARGUMENTS if schema is None else schema, "input_schema")
    if "$ref" not in data:
        _refuse_no_object(data)
    check_shape(data, "input_schema")
    return ToolDefinition(name, description, data)


def _refuse_no_object(schema: JsonObject) -> None:
    if schema.get("type") != "object":
        schema_type = shown(schema.get("type"))
        raise ContentError(
            f"the input_schema of a tool must be an object, not of type {schema_type}",
            fix='{"type": "object", "properties": {...}}',
        )


def _output_schema(
    schema: object, name: str | None, description: str | None, strict: object
) -> OutputSchema:
    """Return the output schema of a type or a JSON schema; the errors are those of Output."""
    if not isinstance(strict, bool):
        raise OptionError(f"strict={shown(strict)}", fix="write True or False")
    problem = f"an Output takes a type or a JSON schema, not {kind_of(schema)}"
    schema_name = name or (schema.__name__ if inspect.isclass(schema) else "output")
    if is_mapping(schema):
        data = _plain_schema(schema, "schema")
        check_shape(data, "schema")
    elif inspect.isroutine(schema) or isinstance(schema, _NOT_TYPES):
        raise ContentError(problem, fix="Output(Answer), or Output({...})")
    else:
        from promptdsl.components.schemas import type_schema

        if hasattr(type(schema), "__pydantic_fields__"):
            raise ContentError(problem, fix=f"give its class: Output({type(schema).__name__})")
        generated = type_schema(schema, getattr(schema, "__name__", shown(schema)))
        data = _plain_schema(closed(generated) if strict else generated, "schema")
    if strict and at_root(data).get("type") != "object":
        root_type = data.get("type")
        fix = "put it in a field of a model, or write strict=False if the provider takes it"
        has_no_type = is_mapping(schema) and schema and schema.keys().isdisjoint(("anyOf", "$ref"))
        if root_type is None and has_no_type:
            fix = 'write {"type": "object", "properties": {...}}, or give a type: Output(Answer)'
        elif root_type == "json_schema":
            fix = "give only the schema in it: Output(schema)"
        problem = f"the schema of a strict Output must be an object, not of type {shown(root_type)}"
        raise ContentError(problem, fix=fix)
    fitting_name = _NOT_IN_NAMES.sub("_", schema_name)[:MAX_NAME]
    return OutputSchema(data, fitting_name, description, strict)


def _mode(mode: object) -> OutputMode | None:
    """Return a mode, or raise :class:`OptionError`."""
    if mode is None or is_one_of(mode, OUTPUT_MODES):
        return cast("OutputMode | None", mode)
    raise OptionError(f"mode={shown(mode)}", fix=nearest(mode, OUTPUT_MODES))


def _refuse_options_with(definition: object, options: tuple[object, ...]) -> None:
    """Raise :class:`OptionError` if there are options besides a definition, which has them all."""
    if any(option is not None for option in options):
        problem = f"{type(definition).__name__} has these options itself"
        raise OptionError(problem, fix="write attrs.evolve(definition, name=...)")


def _text(option: str, value: object) -> str | None:
    """Return an option that is a string or ``None``, or raise :class:`OptionError`."""
    if value is None or isinstance(value, str):
        return exact(value)
    raise OptionError(f"{option}={shown(value)}", fix="write a string")


def _plain_schema(schema: object, name: str) -> JsonObject:
    if not is_mapping(schema):
        raise ContentError(
            f"{name} must be a JSON schema, a mapping, not {kind_of(schema)}",
            fix='{"type": "object", "properties": {...}}',
        )
    try:
        return plain(schema, name)
    except DataError as error:
        raise ContentError(error.what, fix=error.fix) from None
