"""What a function that makes a prompt is called with: ``-p``, ``--props`` and its own signature."""

import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from types import UnionType
from typing import Any, NamedTuple, Union, cast, get_args, get_origin

from promptdsl.cli.errors import UsageError, near


class Given(NamedTuple):
    """An argument: ``is_text`` when it is written as text and has still to be read as its type."""

    value: Any
    is_text: bool


def given(pairs: Sequence[str], props: str | None, *, option: str = "-p") -> dict[str, Given]:
    """Return the arguments of a command line by name; ``-p`` wins over the file of properties.

    ``option`` is what the pairs were given with.

    Raises :class:`UsageError` for a pair, a file or a JSON text that cannot be read.
    """
    arguments = {} if props is None else _props(props)
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.rstrip(":"):
            raise UsageError(f"{option} {pair}: write key=value, or key:=JSON")
        if key.endswith(":"):
            arguments[key[:-1]] = Given(_json(value, f"{option} {pair}"), is_text=False)
        else:
            arguments[key] = Given(value, is_text=True)
    return arguments


def _props(path: str) -> dict[str, Given]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8") from None
    value = _json(text, path)
    if not isinstance(value, dict):
        raise UsageError(f"{path} holds no JSON object of parameters by name")
    entries = cast("dict[str, Any]", value)
    return {key: Given(entry, is_text=False) for key, entry in entries.items()}


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise UsageError(f"{where}: not JSON: {error.msg} ({place})") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: not JSON: {error}") from None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON number")


def call(function: Callable[..., object], arguments: Mapping[str, Given], target: str) -> object:
    """Return what a function returns for arguments by name, texts read as they are annotated.

    Raises :class:`UsageError` for a parameter it does not have, one that it needs, and a text that
    is not of its type; and whatever the function raises.
    """
    if inspect.iscoroutinefunction(function):
        raise UsageError(f"{target} is asynchronous: name a function that returns a prompt")
    parameters = _parameters(function, target)
    named = {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    }
    if all(parameter.kind != Parameter.VAR_KEYWORD for parameter in parameters.values()):
        _refuse_unknown(named, arguments, target)
    _refuse_missing(named, arguments, target)
    return function(
        **{
            name: _read(name, argument.value, named.get(name))
            if argument.is_text
            else argument.value
            for name, argument in arguments.items()
        }
    )


def _parameters(function: Callable[..., object], target: str) -> Mapping[str, Parameter]:
    try:
        return inspect.signature(function, eval_str=True).parameters
    except Exception:  # an annotation may name what exists for type checkers only
        pass
    try:
        return _unread_signature(function).parameters
    except (TypeError, ValueError):
        raise UsageError(f"{target} does not say which parameters it takes") from None


def _unread_signature(function: Callable[..., object]) -> inspect.Signature:
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.FORWARDREF)
    return inspect.signature(function)


def _refuse_unknown(
    named: Mapping[str, Parameter], arguments: Mapping[str, Given], target: str
) -> None:
    for name in arguments:
        if name not in named:
            raise UsageError(f"{target} has no parameter {name!r}{near(name, named)}")


def _refuse_missing(
    named: Mapping[str, Parameter], arguments: Mapping[str, Given], target: str
) -> None:
    missing = [
        name
        for name, parameter in named.items()
        if parameter.default is Parameter.empty and name not in arguments
    ]
    if missing:
        wanted = " ".join(f"-p {name}=..." for name in missing)
        raise UsageError(f"{target} needs {', '.join(missing)}: {wanted}")


def _truth(text: str) -> bool:
    if text.lower() not in _TRUTH:
        raise ValueError(text)
    return _TRUTH[text.lower()]


_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_READERS: Mapping[str, Callable[[str], object]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": _truth,
}


def _read(name: str, text: str, parameter: Parameter | None) -> object:
    """Return a text as the first of its annotated types that it can be read as."""
    types = [] if parameter is None else _types(parameter.annotation)
    for type_name in types:
        try:
            return _READERS[type_name](text)
        except KeyError:
            return text
        except ValueError:
            continue
    if types:
        raise UsageError(f"-p {name}={text}: {name} is {' or '.join(types)}")
    return text


def _types(annotation: object) -> list[str]:
    """Return the names of the types an annotation allows, ``None`` aside, which has no text."""
    if isinstance(annotation, str):
        names = [part.strip() for part in annotation.split("|")]
    elif get_origin(annotation) in (Union, UnionType):
        names = [_type_name(part) for part in get_args(annotation)]
    else:
        names = [_type_name(annotation)]
    return [name for name in names if name not in ("None", "NoneType", "_empty")]


def _type_name(annotation: object) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
