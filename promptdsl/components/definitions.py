"""What is sent beside the messages: the tools a model may call, the form of its answer."""

import re
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, Never, cast, overload

from promptdsl import nodes
from promptdsl.components.arguments import retract
from promptdsl.components.options import refuse_options
from promptdsl.components.writing import Written
from promptdsl.errors import ContentError, DataError, OptionError, PromptError
from promptdsl.json_text import exact, plain
from promptdsl.nodes import found_in
from promptdsl.prompts import OutputSchema, ToolDefinition
from promptdsl.schemas import closed, type_schema
from promptdsl.scope import place
from promptdsl.signatures import signature_of
from promptdsl.tree import DEFAULTS, TOOL, bits

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]

_TOOL = bits(TOOL)
_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]+")


class Tool(Written, nodes.Tool):
    """A tool a model may call: a function, or its name, description and JSON schema.

    A function tells its name, what it does (its docstring), and what it takes (its signature). It
    is never called. ``name`` and ``description`` stand in for the function's own.

    Raises :class:`ContentError` for a function of which no schema can be made, a schema that is not
    of type object, and a name that is none.
    """

    __slots__ = ()
    _node = nodes.Tool

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


class Output(Written, nodes.Output):
    """The form an answer has to have: a type, or a JSON schema.

    A type is a pydantic model, a dataclass, a ``TypedDict``. ``strict`` asks the provider to hold
    the model to it to the letter; the schema of a type is closed then: every object has all its
    properties and no other. ``name`` is the type's own unless given.

    Raises :class:`ContentError` for a type that has no schema, and what is neither.
    """

    __slots__ = ()
    _node = nodes.Output

    def __init__(
        self,
        schema: Mapping[str, Any] | type | Any,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        strict: bool = True,
        **options: Never,
    ) -> None:
        _begin(self, _getframe(1))
        try:
            refuse_options(self, options, ("name", "description", "strict"))
            self.schema = OutputSchema(
                _output(schema, strict=_flag(strict)),
                _fitting(_text("name", name) or getattr(schema, "__name__", None) or "output"),
                _text("description", description),
                strict,
            )
        except PromptError as error:
            retract(found_in((schema, name, description)))
            raise _placed(error, self) from None
        place(self)


def _begin(component: Any, frame: FrameType) -> None:
    component.code = frame.f_code
    component.offset = frame.f_lasti
    component.content = ()
    component.mask = _TOOL
    component.options = DEFAULTS


def _placed(error: PromptError, component: Any) -> PromptError:
    """Return an error with the line of the component first, then those it knows."""
    others = [place for place in error.at if place != str(component.source)]
    return type(error)(error.what, fix=error.fix, at=(component.source, *others))


def _definition(function: Any, name: Any, description: Any, schema: Any) -> ToolDefinition:
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
    own, said, made = signature_of(function)
    if name is None and own == "<lambda>":
        raise ContentError("a lambda has no name", fix='Tool(..., name="search")')
    return ToolDefinition(_named(own if name is None else name), description or said, _input(made))


def _named(name: str | None) -> str:
    if not name:
        raise ContentError(
            "a Tool needs a function or a name", fix='Tool(search), or Tool(name="search", ...)'
        )
    return name


def _text(option: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return cast("str | None", exact(value))
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


def _output(schema: Any, *, strict: bool) -> Mapping[str, Any]:
    if isinstance(schema, Mapping):
        return _json(cast("object", schema), "schema")
    if schema is None or isinstance(schema, str | int | float | list | tuple):
        raise ContentError(
            f"an Output takes a type or a JSON schema, not {type(schema).__name__}",  # pyright: ignore[reportUnknownArgumentType]
            fix="Output(Answer), or Output({...})",
        )
    made = type_schema(schema, getattr(schema, "__name__", repr(schema)))
    return _json(closed(made) if strict else made, "schema")


def _fitting(name: str) -> str:
    """Return a name of the characters and the length that all providers take."""
    return _UNFIT.sub("_", name)[:64]
