"""The list of commands, and what several commands share.

In this order: the commands and their common options; the values of ``-p``, ``--props`` and
``--set``; and the call of a function with them. The module of a command is loaded only when a user
calls the command.
"""

import argparse
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import isinf
from typing import Never, TypeAlias, cast

from promptdsl import DataError, OptionError
from promptdsl.batch import Parameters
from promptdsl.cli.output import UsageError, suggestion

# The commands and their common options.

COMMANDS = {
    "render": ("render", "render a prompt"),
    "tokens": ("render", "count the tokens of a prompt, part by part"),
    "diff": ("diff", "show what changed between two prompts"),
    "check": ("check", "look for mistakes in files and prompts"),
    "batch": ("batch", "render a prompt for each row of a table, into files of requests"),
    "batch read": ("batch", "join the results of a batch to its rows"),
    "page": ("page", "write a web page that shows what is sent, left out and cached"),
    "preview": ("preview", "show that page in a browser, and update it after each save"),
    "records": ("records", "show what was sent, and why"),
    "list": ("libraries", "list the section libraries, or the sections of one"),
    "show": ("libraries", "show a section of a library"),
    "new": ("new", "create a section library, or add a section to one"),
    "stubs": ("stubs", "write the types of a library's sections, for editors"),
    "eject": ("stubs", "copy a section of a library into a project, to change it"),
    "transcript": ("transcript", "show, check, repair and convert recorded conversations"),
}
"""The module and the summary of each command, by its name.

``batch read`` is one name: ``main`` joins the two words of the command line.
"""
GROUPS = {
    "look": ("render", "tokens", "page", "preview", "records", "transcript"),
    "compare": ("diff", "check"),
    "run": ("batch", "batch read"),
    "libraries": ("list", "show", "new", "stubs", "eject"),
}
"""The commands by their purpose."""
EXAMPLES = {
    "render": "support.py:support --model gpt-5",
    "tokens": "support.py:chat --model claude-sonnet-4-5 --budget 8000",
    "diff": "git:main:support.py:support support.py:support",
    "check": "prompts/ support.py:support --model gpt-5",
    "batch": "prompts.py:topic reviews.csv --model gpt-5 --output requests",
    "batch read": "results.jsonl --batch requests --output answers.jsonl",
    "page": "support.py:answer --model gpt-5 --budget 4000 -o answer.html",
    "preview": "support.py:answer --model gpt-5 --budget 4000",
    "records show": "record.json",
    "records list": "log/",
    "list": "support",
    "show": "starter:untrusted",
    "new library": "support",
    "new section": "refunds",
    "stubs": "promptdsl_support.library:support",
    "eject": "support:scope --to prompts/",
    "transcript show": "1881.jsonl",
    "transcript check": "1881.jsonl",
    "transcript repair": "1881.jsonl repaired.jsonl",
    "transcript vacuum": "1881.jsonl clean.jsonl",
    "transcript list": "chats.db",
    "transcript convert": "1881.jsonl --from transcript --to openai",
}
"""The arguments of an example for each command.

``records``, ``new`` and ``transcript`` have none: they have commands of their own, with examples.
"""
TARGET_HELP = (
    "file.py:name or module:name, where name is a prompt or a function that returns one; "
    "the only prompt of a file needs no name"
)
"""The help of an argument that names a prompt."""

AddParser: TypeAlias = Callable[..., argparse.ArgumentParser]
"""The method ``add_parser`` of an argparse object that has commands."""


class ParagraphFormatter(argparse.HelpFormatter):
    """Formats a help: it wraps each paragraph, but not one that has an indented line."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs: list[str] = []
        for paragraph in text.split("\n\n"):
            is_list = "\n  " in paragraph
            paragraphs.append(
                paragraph if is_list else super()._fill_text(paragraph, width, indent)
            )
        return "\n\n".join(paragraphs)


def commands_by_group() -> str:
    """Return the commands with their summaries, grouped by their purpose."""
    width = max(map(len, COMMANDS))
    return "\n\n".join(
        f"{group}:\n" + "\n".join(f"  {name:<{width}}  {COMMANDS[name][1]}" for name in names)
        for group, names in GROUPS.items()
    )


def add_commands(parser: argparse.ArgumentParser, command_name: str | None) -> None:
    """Add all commands by name. Only the command ``command_name`` gets its options.

    The module of each other command is not imported, which saves time.
    """
    # The commands are listed by group, after the options.
    parsers = parser.add_subparsers(
        dest="command", metavar="COMMAND", help=argparse.SUPPRESS, prog="promptdsl"
    )
    for name, (module, _) in COMMANDS.items():
        if name == command_name:
            vars(import_module(f"promptdsl.cli.{module}"))[f"add_{name.replace(' ', '_')}"](
                parsers.add_parser
            )
        else:
            parsers.add_parser(name)


def add_command(
    add_parser: AddParser,
    name: str,
    *,
    run: Callable[..., object],
    takes: str,
    description: str,
    summary: str = "",
    failed: str = "the prompt is wrong, or its code failed",
    codes: str = "",
) -> argparse.ArgumentParser:
    """Add a command, with its help and the option ``--traceback``, and return its parser.

    The usage shows ``takes`` after the name of the command. ``failed`` says what exit code 1 means.
    A command that has other exit codes than 0, 1 and 2 passes ``codes`` instead: a description of
    all of them. ``run`` runs the command. ``run`` returns the data and
    the notes, and an exit code if that may be another than 0. ``run`` raises :class:`UsageError`
    for a wrong call, and whatever the code of a user raises.
    """
    # ``records show`` is the command ``show`` of the parser of ``records``.
    word = name if name in COMMANDS else name.rpartition(" ")[2]
    parser = add_parser(
        word,
        usage=f"promptdsl {name} {takes} [options]",
        help=summary or COMMANDS[name][1],
        description=f"{description.rstrip()}\n\nExample: promptdsl {name} {EXAMPLES[name]}",
        epilog=f"Exit codes: {codes or f'0 done; 1 {failed}; 2 the command was called wrongly'}.",
        formatter_class=ParagraphFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--traceback", action="store_true", help="show the calls that led to the failing line"
    )
    parser.set_defaults(run=run)
    return parser


def add_arguments(
    add_argument: Callable[..., object],
    *,
    what: str,
    reading: str = "read as its type (count=3); KEY:=JSON is any JSON value; may be repeated",
) -> None:
    """Add the options ``-p`` and ``--props`` to a parser or to a group of options.

    The help of ``-p`` says ``what`` a pair is, such as "an argument of the function", and how its
    value is read (``reading``).
    """
    add_argument(
        "-p",
        dest="pairs",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help=f"{what}, {reading}",
    )
    props_help = "a JSON file of arguments by name; -p overrides one"
    add_argument("--props", metavar="FILE", help=props_help)


# The values of ``-p`` and ``--props``, and those of ``--set``.

Arguments: TypeAlias = dict[str, object]
"""Arguments by name: texts and JSON values, or values of the types of their parameters."""


TEXT_KEYS = ("model", "user", "stop", "service_tier", "safety_identifier", "prompt_cache_key")
"""The keys of requests whose values are texts, even if a text looks like a number."""


def request_settings(pairs: Sequence[str]) -> Arguments:
    """Return the settings of ``--set`` by name.

    ``key=value`` is read as JSON if it is a number, a truth value, null, a list or an object. Any
    other value is a text; a value of a key in ``TEXT_KEYS`` is always a text. ``key:=value`` is
    JSON. Of several pairs with the same key, the last counts. Raises :class:`UsageError` for a pair
    without a key or without ``=``, and for text after ``:=`` that is not JSON.
    """
    settings: Arguments = {}
    for pair in pairs:
        settings |= read_arguments([pair], None, option="--set")
        key, _, text = pair.partition("=")
        if not key.endswith(":") and key not in TEXT_KEYS:
            settings[key] = _setting(text)
    return settings


def _setting(text: str) -> object:
    """Return the JSON value of a text; a JSON string, and text that is not JSON, stay unchanged."""
    try:
        value: object = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, str) else value


def read_arguments(pairs: Sequence[str], props: str | None, *, option: str = "-p") -> Arguments:
    """Return the arguments of a command line by name; ``-p`` replaces those of ``--props``.

    ``key=value`` is text, ``key:=value`` is JSON. ``props`` is the path of the file of ``--props``.
    Errors name the ``option`` of the pairs. Raises :class:`UsageError` for a pair without a
    key or without ``=``, for text that is not JSON, and for a file that cannot be read or is not a
    JSON object.
    """
    arguments: Arguments = {}
    if props is not None:
        value = json_value(file_text(props), props)
        if not isinstance(value, dict):
            raise UsageError(f"{props} is not a JSON object with arguments by name")
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
    """Return the text of a file in UTF-8. Raises :class:`UsageError` if it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except OSError as error:
        advice = ""
        if path.lstrip().startswith("{"):
            advice = "\n  this is JSON, not a file name: write -p NAME:=JSON for each argument"
        raise UsageError(f"cannot read {path}: {error.strerror}{advice}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8") from None


def json_value(text: str, text_name: str) -> object:
    """Return the value of a JSON text.

    Raises :class:`UsageError` for text that is not JSON, and for JSON that is not strict, such as
    ``NaN`` or a number that is too large for a float (``1e400``). The error begins with
    ``text_name``: the path or the option that the text is from.
    """
    try:
        value: object = _DECODER.decode(text)
        return value
    except json.JSONDecodeError as error:
        position = f"line {error.lineno} column {error.colno}"
        raise UsageError(f"{text_name}: not JSON: {error.msg} ({position})") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{text_name}: not JSON: {error}") from None


def _refuse_constant(constant: str) -> Never:
    raise ValueError(f"{constant} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise ValueError(f"{text} is too large")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
"""Reads strict JSON; its errors say what is wrong with a number."""


# The call of a function that returns a prompt.


def call_function(
    function: Callable[..., object], arguments: Mapping[str, object], target: str
) -> object:
    """Call a function with arguments by name, and return its result; run an asynchronous function.

    Raises :class:`UsageError` for a function whose signature Python cannot read, for an unknown
    argument, a missing argument and an argument of another type. Also raises whatever the function
    raises.
    """
    typed = typed_arguments(function, arguments, target)
    missing = [name for name in _parameters(function, target).required if name not in typed]
    if missing:
        options = " ".join(f"-p {name}=..." for name in missing)
        raise UsageError(f"{target} needs {', '.join(missing)}: {options}")
    returned = function(**typed)
    if inspect.iscoroutine(returned):
        import asyncio

        return asyncio.run(returned)
    return returned


def typed_arguments(
    function: Callable[..., object], arguments: Mapping[str, object], target: str
) -> Arguments:
    """Return arguments by name, each of the type of its parameter.

    A text is read like the cell of a table: ``"3"`` becomes 3 for a parameter of type ``int``.
    Raises :class:`UsageError` for a function whose signature Python cannot read, for an unknown
    argument and for an argument of another type.
    """
    parameters = _parameters(function, target)
    for name in arguments:
        if not parameters.takes(name):
            raise UsageError(
                f"{target} has no parameter {name!r}{suggestion(name, parameters.types)}"
            )
    try:
        return {
            name: parameters.argument(name, argument, texts=True)
            for name, argument in arguments.items()
        }
    except DataError as error:
        # The error is about the cell of a table; here, it is an argument.
        problem = error.what.replace("the cell", "the argument")
        raise UsageError(f"{target}: {problem}\n  {error.fix or ''}".rstrip()) from None


def _parameters(function: Callable[..., object], target: str) -> Parameters:
    try:
        return Parameters(function, target)
    except OptionError as error:
        raise UsageError(error.what) from None
