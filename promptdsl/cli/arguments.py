"""The arguments of a function that returns a prompt, read from ``-p`` and ``--props``."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Never, TypeAlias, cast

from promptdsl import DataError, OptionError
from promptdsl.batch import Parameters
from promptdsl.cli.errors import UsageError, near

Arguments: TypeAlias = dict[str, object]
"""Arguments by name, each a text or a JSON value."""


TEXTS = ("model", "user", "stop", "service_tier", "safety_identifier", "prompt_cache_key")
"""The keys of requests that are texts, also where a text looks like a number."""


def request_settings(pairs: Sequence[str]) -> Arguments:
    """Return the keys of ``--set`` by name.

    ``key=value`` is a number, a truth value, null, a list or an object where it looks like one,
    else a text; ``key:=value`` is JSON.
    """
    settings = read_arguments(pairs, None, option="--set")
    for pair in pairs:
        key, _, text = pair.partition("=")
        if key in settings and key not in TEXTS and settings[key] == text:
            settings[key] = _setting(text)
    return settings


def _setting(text: str) -> object:
    """Return the value that a text is in JSON; a string in quotes, and no JSON, stay a text."""
    try:
        value: object = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, str) else value


def read_arguments(pairs: Sequence[str], props: str | None, *, option: str = "-p") -> Arguments:
    """Return the arguments of a command line by name; ``-p`` replaces those of ``--props``.

    ``key=value`` is text, ``key:=value`` is JSON. ``option`` is the option of the pairs.
    """
    arguments: Arguments = {}
    if props is not None:
        value = json_value(file_text(props), props)
        if not isinstance(value, dict):
            raise UsageError(f"{props} is not a JSON object of parameters by name")
        arguments.update(cast("Arguments", value))
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.rstrip(":"):
            raise UsageError(f"{option} {pair}: write key=value, or key:=JSON")
        if key.endswith(":"):
            arguments[key[:-1]] = json_value(text, f"{option} {pair}")
        else:
            arguments[key] = text
    return arguments


def file_text(path: str) -> str:
    """Return the text of a file. Raises :class:`UsageError` if it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except OSError as error:
        advice = ""
        if path.lstrip().startswith("{"):
            advice = "\n  it is JSON, not a file: write -p NAME:=JSON for each argument"
        raise UsageError(f"cannot read {path}: {error.strerror}{advice}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8") from None


def json_value(text: str, origin: str) -> object:
    """Return the value of a JSON text. Raises :class:`UsageError` that names ``origin``."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        position = f"line {error.lineno} column {error.colno}"
        raise UsageError(f"{origin}: not JSON: {error.msg} ({position})") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{origin}: not JSON: {error}") from None


def _refuse_constant(constant: str) -> Never:
    raise ValueError(f"{constant} is not a JSON number")


def call_function(
    function: Callable[..., object], arguments: Mapping[str, object], target: str
) -> object:
    """Return the result of a function for arguments by name; an asynchronous one is run.

    Raises :class:`UsageError` for an unknown and for a missing parameter, for an argument of
    another type, and whatever the function raises.
    """
    typed = typed_arguments(function, arguments, target)
    missing = [name for name in _parameters(function, target).required if name not in typed]
    if missing:
        options = " ".join(f"-p {name}=..." for name in missing)
        raise UsageError(f"{target} needs {', '.join(missing)}: {options}")
    result = function(**typed)
    if inspect.iscoroutine(result):
        import asyncio

        return asyncio.run(result)
    return result


def typed_arguments(
    function: Callable[..., object], arguments: Mapping[str, object], target: str
) -> Arguments:
    """Return arguments by name, each of the type of its parameter.

    A text is read as the type of its parameter, as the cell of a table is: ``"3"`` as 3 for
    ``int``. Raises :class:`UsageError` for an unknown parameter and for an argument of another
    type.
    """
    parameters = _parameters(function, target)
    for name in arguments:
        if not parameters.takes(name):
            raise UsageError(f"{target} has no parameter {name!r}{near(name, parameters.types)}")
    try:
        return {
            name: parameters.argument(name, argument, texts=True)
            for name, argument in arguments.items()
        }
    except DataError as error:
        problem = error.what.replace("the cell", "the argument")
        raise UsageError(f"{target}: {problem}\n  {error.fix or ''}".rstrip()) from None


def _parameters(function: Callable[..., object], target: str) -> Parameters:
    try:
        return Parameters(function, target)
    except OptionError as error:
        raise UsageError(error.what) from None
