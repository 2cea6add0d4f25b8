"""What is sent beside the messages: the tools a model may call, the form of its answer."""

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, cast, overload

from promptdsl.components.arguments import retract
from promptdsl.components.block import Written
from promptdsl.components.options import refuse_options
from promptdsl.components.scope import place
from promptdsl.foundation.errors import ContentError, DataError, OptionError, PromptError
from promptdsl.foundation.frozen import plain
from promptdsl.foundation.json import ABSENT
from promptdsl.foundation.unicode import exact
from promptdsl.messages.prompt import OutputSchema, ToolDefinition
from promptdsl.messages.schemas import at_root, check_shape, closed
from promptdsl.tree.masks import TOOL
from promptdsl.tree.node import DEFAULTS, found_in
from promptdsl.tree.turn_nodes import OutputNode, ToolNode

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]

_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]+")


class Tool(Written, ToolNode):
    """A tool a model may call: a function, or its name, description and JSON schema.

    A :class:`ToolDefinition`, such as one that was read, is kept as it is. A function tells its
    name, what it does (its docstring), and what it takes (its signature). It is never called.
    ``name`` and ``description`` stand in for the function's own.

    Raises :class:`ContentError` for a function of which no schema can be made, a schema that is not
    of type object, and a name that is none.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @overload
        def __init__(
            self,
            function: Callable[..., Any],
            /,
            *,
            name: str | None = None,
            description: str | None = None,
        ) -> None: ...
        @overload
        def __init__(self, definition: ToolDefinition, /) -> None: ...
        @overload
        def __init__(
            self,
            *,
            name: str,
            description: str | None = None,
            input_schema: Mapping[str, Any] | None = None,
        ) -> None: ...
        def __init__(self, *args: Any, **options: Any) -> None: ...

    else:

        def __init__(
            self, function=None, /, *, name=None, description=None, input_schema=None, **options
        ):
            _begin(self, _getframe(1))
            given = (function, name, description, input_schema)
            try:
                refuse_options(self, options, ("name", "description", "input_schema"))
                self.definition = _definition(*given)
            except PromptError as error:
                retract(found_in(given))
                raise _placed(error, self) from None
            place(self)


class Output(Written, OutputNode):
    """The form an answer has to have: a type, or a JSON schema.

    A type is a pydantic model, a dataclass, a ``TypedDict``. ``strict`` asks the provider to hold
    the model to it to the letter; the schema of a type is closed then: every object that names its
    properties has all of them and no other. ``name`` is the type's own unless given. An
    :class:`OutputSchema`, such as one that was read, is kept as it is.

    Raises :class:`ContentError` for a type that has no schema, what is neither, and with ``strict``
    for a schema whose root is no object.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @overload
        def __init__(self, schema: OutputSchema, /) -> None: ...
        @overload
        def __init__(
            self,
            schema: Mapping[str, Any] | type | Any,
            /,
            *,
            name: str | None = None,
            description: str | None = None,
            strict: bool = True,
        ) -> None: ...
        def __init__(self, schema: Any, /, **options: Any) -> None: ...

    else:

        def __init__(self, schema, /, *, name=None, description=None, strict=ABSENT, **options):
            _begin(self, _getframe(1))
            given = (schema, name, description)
            try:
                refuse_options(self, options, ("name", "description", "strict"))
                self.schema = _form(*given, strict=strict)
            except PromptError as error:
                retract(found_in(given))
                raise _placed(error, self) from None
            place(self)


def _begin(component: Any, frame: FrameType) -> None:
    component.code = frame.f_code
    component.offset = frame.f_lasti
    component.content = ()
    component.mask = TOOL
    component.options = DEFAULTS


def _placed(error: PromptError, component: Any) -> PromptError:
    """Return an error with the line of the component first, then those it knows."""
    others = [place for place in error.at if place != str(component.source)]
    return type(error)(error.what, fix=error.fix, at=(component.source, *others))


def _definition(function: Any, name: Any, description: Any, schema: Any) -> ToolDefinition:
    if isinstance(function, ToolDefinition):
        _refuse_beside(function, (name, description, schema))
        return function
    name, description = _text("name", name), _text("description", description)
    if function is None:
        return ToolDefinition(_named(name), description, _input(schema))
    if not callable(function):
        raise ContentError(
            f"a Tool takes a function, not {type(function).__name__}",
            fix="Tool(search), or Tool(name=..., description=..., input_schema=...)",
        )
    if schema is not None:
        raise OptionError(
            "the schema of a function is its own", fix="leave the function or input_schema out"
        )
    from promptdsl.components.function_schemas import signature_of

    own, said, made = signature_of(function)
    if name is None and own == "<lambda>":
        raise ContentError("a lambda has no name", fix='Tool(..., name="search")')
    return ToolDefinition(_named(own if name is None else name), description or said, _input(made))


def _refuse_beside(definition: object, options: tuple[Any, ...]) -> None:
    """Raise :class:`OptionError` for options beside a definition, which says them itself."""
    if any(one is not None for one in options):
        what = f"{type(definition).__name__} and options beside it"
        raise OptionError(what, fix="attrs.evolve(definition, name=...)")


def _named(name: str | None) -> str:
    if not name:
        raise ContentError(
            "a Tool needs a function or a name", fix='Tool(search), or Tool(name="search", ...)'
        )
    return name


def _text(option: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return exact(value)
    raise OptionError(f"{option}={value!r}", fix="write a string")


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise OptionError(f"strict={value!r}", fix="write True or False")


def _input(schema: object) -> Mapping[str, Any]:
    data = _json(_NO_ARGUMENTS if schema is None else schema, "input_schema")
    if data.get("type") != "object":
        raise ContentError(
            f"input_schema is of type {data.get('type')!r}, a tool takes an object",
            fix='{"type": "object", "properties": {...}}',
        )
    check_shape(data, "input_schema")
    return data


def _json(schema: object, what: str) -> Mapping[str, Any]:
    if not isinstance(schema, Mapping):
        raise ContentError(
            f"{what} is a JSON schema, a mapping, not {type(schema).__name__}",
            fix='{"type": "object", "properties": {...}}',
        )
    try:
        return cast("Mapping[str, Any]", plain(cast("object", schema), what))
    except DataError as error:
        raise ContentError(error.what, fix=error.fix) from None


def _form(schema: Any, name: Any, description: Any, *, strict: Any) -> OutputSchema:
    if isinstance(schema, OutputSchema):
        _refuse_beside(schema, (name, description, None if strict is ABSENT else strict))
        return schema
    strict = strict is ABSENT or _flag(strict)
    data = _output(schema, strict=strict)
    if strict and at_root(data).get("type") != "object":
        raise ContentError(
            f"the schema of an Output is of type {data.get('type')!r}, a strict one is an object",
            fix="put it in a field of a model, or write strict=False where a provider takes it",
        )
    own = schema.__name__ if inspect.isclass(schema) else "output"
    name = _fitting(_text("name", name) or own)
    return OutputSchema(data, name, _text("description", description), strict)


def _output(schema: Any, *, strict: bool) -> Mapping[str, Any]:
    if isinstance(schema, Mapping):
        data = _json(cast("object", schema), "schema")
        check_shape(data, "schema")
        return data
    if not _may_be_type(schema):
        raise ContentError(
            f"an Output takes a type or a JSON schema, not {type(schema).__name__}",
            fix="Output(Answer), or Output({...})",
        )
    from promptdsl.components.type_schemas import type_schema

    made = type_schema(schema, getattr(schema, "__name__", repr(schema)))
    return _json(closed(made) if strict else made, "schema")


def _may_be_type(schema: object) -> bool:
    if inspect.isroutine(schema) or isinstance(schema, partial):
        return False
    return not (schema is None or isinstance(schema, str | int | float | list | tuple))


def _fitting(name: str) -> str:
    """Return a name of the characters and the length that all providers take."""
    return _UNFIT.sub("_", name)[:64]
