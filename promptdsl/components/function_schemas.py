"""What a function takes, as a JSON schema, and what it does, from its docstring."""

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import partial
from operator import is_
from types import FunctionType
from typing import Annotated, Any, NamedTuple, NotRequired, cast, get_type_hints
from weakref import WeakKeyDictionary

from promptdsl.components.type_schemas import NEEDED, check_installed, type_schema
from promptdsl.foundation.errors import ContentError, PromptError
from promptdsl.foundation.frozen import frozen

_MISSING = inspect.Parameter.empty


class Signature(NamedTuple):
    """What is known of a function: its name, what it does, and the schema of what it takes."""

    name: str
    description: str | None
    input_schema: Mapping[str, Any]


_Known = tuple[Signature, list[Any]]

_KNOWN: WeakKeyDictionary[Any, _Known] = WeakKeyDictionary()
_KNOWN_METHODS: WeakKeyDictionary[Any, _Known] = WeakKeyDictionary()
"""What was found before, and of what: prompts are built again and again of the same functions."""


def signature_of(function: Callable[..., Any]) -> Signature:
    """Return what a model has to know of a function.

    Arguments that a ``partial`` gave already, and the object of a bound method, are left out. What
    parameters are for is read from the docstring (Google's, NumPy's or reST's style), where
    ``Annotated[..., Field(description=...)]`` does not say it.

    Raises :class:`ContentError`, with the line of the function, for parameters that cannot be given
    by name and annotations that have no schema or cannot be found.
    """
    known = _KNOWN_METHODS if inspect.ismethod(function) else _KNOWN
    key = getattr(function, "__func__", function)
    if type(key) is not FunctionType:
        return _read(function)
    facts = _facts(key)
    found = known.get(key)
    if found is None or not _same(found[1], facts):
        found = known[key] = _read(function), facts
    return found[0]


def _facts(function: Any) -> list[Any]:
    """Return what a signature is read from: when one of these is another, it is read again."""
    inner = getattr(function, "__wrapped__", function)
    facts: list[Any] = []
    for one in (function, inner):
        facts += [getattr(one, name, None) for name in _FACTS]
        for name in ("__annotations__", "__kwdefaults__"):
            entries: dict[str, Any] = getattr(one, name, None) or {}
            facts += [*entries, *entries.values()]
    return facts


def _same(ones: list[Any], others: list[Any]) -> bool:
    return len(ones) == len(others) and all(map(is_, ones, others))


_FACTS = ("__name__", "__doc__", "__code__", "__defaults__", "__signature__")


def _read(function: Callable[..., Any]) -> Signature:
    inner = _unwrapped(function)
    try:
        description, said = _documented(inner)
        parameters = _parameters(function)
        schema = frozen(_schema(inner, parameters, said))
        return Signature(_name(inner), description, schema)
    except PromptError as error:
        raise error.located(_place(inner)) from None


def _unwrapped(function: Any) -> Any:
    """Return the function under partials and decorators."""
    under = inspect.unwrap(function)
    while isinstance(under, partial):
        under = inspect.unwrap(cast("Any", under.func))  # pyright: ignore[reportUnknownMemberType]
    return under


def _code_of(function: Any) -> Any:
    """Return what holds the code: of an object that can be called, its method."""
    if inspect.isroutine(function) or inspect.isclass(function):
        return getattr(function, "__func__", function)
    return inspect.unwrap(type(function).__call__)


def _place(function: Any) -> str | None:
    code = getattr(_code_of(function), "__code__", None)
    return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def _name(function: Any) -> str:
    name = getattr(function, "__name__", None) or type(function).__name__
    return str(name)


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters a model may fill, by name."""
    try:
        found = inspect.signature(function).parameters
    except (ValueError, NameError, TypeError) as error:
        raise ContentError(
            f"the parameters of {_name(function)} cannot be read: {error}",
            fix="wrap it in a function with annotations, or write Tool(name=, input_schema=)",
        ) from None
    for position, parameter in enumerate(found.values()):
        _check(parameter, unbound=position == 0 and _is_in_class(function))
    given = _given(function)
    return {name: parameter for name, parameter in found.items() if name not in given}


def _is_in_class(function: Any) -> bool:
    """Return whether a function was written in a class."""
    around = str(getattr(_unwrapped(function), "__qualname__", "")).rpartition(".")[0]
    return bool(around) and not around.endswith("<locals>")


def _given(function: Any) -> set[str]:
    """Return the names of what partials gave already."""
    names: set[str] = set()
    while isinstance(function, partial):
        names |= function.keywords.keys()
        function = cast("Any", function.func)
    return names


def _check(parameter: inspect.Parameter, *, unbound: bool) -> None:
    kind, name = parameter.kind, parameter.name
    if kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        stars = "*" if kind is parameter.VAR_POSITIONAL else "**"
        fix = "name what it takes, one parameter each: wrap it in a function that does"
        raise ContentError(f"a model cannot fill {stars}{name}", fix=fix)
    if kind is parameter.POSITIONAL_ONLY:
        fix = "a model gives arguments by name: leave the / out, or wrap it"
        raise ContentError(f"the parameter {name!r} has no name for callers", fix=fix)
    if unbound and name in ("self", "cls") and parameter.annotation is _MISSING:
        fix = "give the method of an object: Tool(thing.method)"
        raise ContentError(f"the parameter {name!r} is not bound", fix=fix)


def _schema(
    function: Any, parameters: Mapping[str, inspect.Parameter], said: Mapping[str, str]
) -> dict[str, Any]:
    check_installed("a function")
    kinds = {name: _kind(function, parameter) for name, parameter in parameters.items()}
    # First one by one: of all together an error does not tell which it is.
    for name, kind in kinds.items():
        type_schema(_typed_dict({name: kind}), f"the parameter {name!r}")
    schema = type_schema(_typed_dict(kinds), "a function")
    for name, entry in schema.get("properties", {}).items():
        if name in said and "description" not in entry:
            entry["description"] = said[name]
    return schema


def _typed_dict(kinds: Mapping[str, Any]) -> Any:
    # Before Python 3.12 pydantic does not take the one of the standard library.
    from typing_extensions import TypedDict

    return cast("Any", TypedDict)("Arguments", dict(kinds))


def _kind(function: Any, parameter: inspect.Parameter) -> Any:
    """Return the type of a parameter under its own name, with its default."""
    from pydantic import Field
    from pydantic.fields import FieldInfo

    default = _default(function, parameter)
    said = [Field(alias=parameter.name)]
    if default is not _MISSING:
        said.insert(0, default if isinstance(default, FieldInfo) else Field(default=default))
    kind = Annotated[(_resolved(function, parameter), *said)]  # type: ignore[valid-type]
    required = default is _MISSING or (isinstance(default, FieldInfo) and default.is_required())
    return kind if required else NotRequired[kind]  # pyright: ignore[reportInvalidTypeForm]


def _default(function: Any, parameter: inspect.Parameter) -> Any:
    """Return the default of a parameter; of a pydantic model the field, which says more."""
    fields: dict[str, Any] = getattr(function, "__pydantic_fields__", {})
    for name, field in fields.items():
        if parameter.name in (name, field.alias):
            return field
    return parameter.default


def _resolved(function: Any, parameter: inspect.Parameter) -> Any:
    annotation = parameter.annotation
    if annotation is _MISSING:
        return Any
    # A function of its own for each, so that what cannot be found is told by name, and what is
    # said of the result does not matter.
    holder = FunctionType(_holder.__code__, _names_around(function))
    holder.__annotations__ = {parameter.name: annotation}
    try:
        return get_type_hints(holder, include_extras=True)[parameter.name]
    except Exception as error:
        # An annotation may be any code.
        raise ContentError(
            f"the annotation of {parameter.name!r} cannot be found: {error}",
            fix="define or import the type at the top of the module, outside of TYPE_CHECKING",
        ) from None


def _holder() -> None:
    """Hold annotations."""


def _names_around(function: Any) -> dict[str, Any]:
    if inspect.isclass(function):
        return vars(sys.modules[function.__module__])
    return cast("dict[str, Any]", getattr(_code_of(function), "__globals__", {}))


def _documented(function: Any) -> tuple[str | None, dict[str, str]]:
    """Return what a docstring says the function does, and what it says of each parameter."""
    text = _indented(_docstring(function) or "")
    if not text:
        return None, {}
    try:
        from docstring_parser import parse
    except ImportError:
        raise ContentError(
            "docstrings are read by docstring-parser, which is not installed", fix=NEEDED
        ) from None
    # It indents by all lines but the first, which may be a title.
    found = parse(f"\n{text}")
    sections = _SECTIONS.get(found.style.name if found.style else "")
    description = sections.sub("\n", text) if sections else found.description or ""
    said: dict[str, str] = {}
    for one in found.params:
        said |= dict.fromkeys(map(str.strip, one.arg_name.split(",")), _joined(one.description))
    return description.strip() or None, {name: text for name, text in said.items() if text}


def _indented(text: str) -> str:
    """Return a docstring that starts with a title with the indentation that cleaning took."""
    return text.replace("\n", "\n    ") if _TITLE.match(text) else text


def _docstring(function: Any) -> str | None:
    """Return the docstring that somebody wrote, not one that Python or a library made."""
    if inspect.isclass(function):
        return _of_class(function)
    is_routine = inspect.isroutine(function)
    if is_routine and _name(function) != "__call__":
        return inspect.getdoc(function)
    # Of a __call__ without a docstring Python finds that of all functions.
    said = None if is_routine else _of_class(cast("Any", type(function)))
    return said or inspect.cleandoc(_code_of(function).__doc__ or "")


def _of_class(cls: type[Any]) -> str | None:
    said = vars(cls).get("__doc__") or ""
    made = is_dataclass(cls) or issubclass(cls, tuple)
    if made and said.startswith(f"{cls.__name__}(") and said.endswith(")"):
        return None
    return inspect.cleandoc(said)


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
"""What a description leaves out; other sections, such as notes and warnings, stay in it."""


def _joined(text: str | None) -> str:
    """Return a description on one line."""
    return " ".join((text or "").split())
