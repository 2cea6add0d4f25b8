"""The options that commands share, and the render they ask for.

``add_...`` declare options; ``asked_for`` calls the prompt's function with its arguments, renders
it, and returns the result; ``noted`` and ``of_model`` are the lines on standard error about it.
"""

import argparse
import os
import re
from collections.abc import Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any, Literal

from promptdsl import Node, Rendered, arender, render
from promptdsl.cli.arguments import Given, call
from promptdsl.cli.errors import UsageError

# Those of ``providers.registry``, which no command loads before it needs them (a test holds it).
PROVIDERS = (
    "openai",
    "openai_responses",
    "openai_compatible",
    "anthropic",
    "gemini",
    "bedrock",
    "chat_template",
)
TARGET = "file.py:name or module:name; the name of a prompt, or of a function that returns one"
EPILOG = """\
Exit codes: 0 done; 1 the prompt is wrong, or its code failed; 2 the command was called wrongly."""


def add_command(
    commands: Any, name: str, *, takes: str, summary: str, description: str
) -> argparse.ArgumentParser:
    """Add a command to those of a parser; ``takes`` is what its usage shows before the options."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        usage=f"promptdsl {name} {takes} [options]",
        help=summary,
        description=description,
        epilog=EPILOG,
        allow_abbrev=False,
    )
    return parser


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add the prompt itself."""
    parser.add_argument("target", metavar="TARGET", help=TARGET)


def add_provider(group: Any) -> None:
    """Add the provider, where it is all that ``--for`` may say."""
    group.add_argument(
        "--for",
        dest="form",
        choices=PROVIDERS,
        metavar="PROVIDER",
        help=f"the provider ({', '.join(PROVIDERS)}); without it that of --model, or none",
    )


def add_input(group: Any, *, marks: bool) -> None:
    """Add what commands are told of a prompt; ``marks`` is whether cache marks are placed."""
    group.add_argument("--model", metavar="NAME", help="the model, such as claude-opus-5-5")
    group.add_argument(
        "-p",
        dest="pairs",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an argument of the function, read as int, float or bool where it is annotated so; "
        "KEY:=JSON gives any JSON value; may be repeated",
    )
    group.add_argument(
        "--props", metavar="FILE", help="a JSON object of arguments; -p wins over it"
    )
    group.add_argument(
        "--budget",
        type=_budget,
        metavar="TOKENS",
        help="how many tokens there are for the prompt and its reserves; 'window' is the model's",
    )
    group.add_argument(
        "--reserve",
        type=_whole,
        default=0,
        metavar="TOKENS",
        help="how many tokens of the budget are left for the answer",
    )
    group.add_argument(
        "--media-root",
        dest="media_roots",
        action="append",
        default=[],
        metavar="DIR",
        help="a folder that paths in data may point into; may be repeated",
    )
    if marks:
        group.add_argument(
            "--cache", choices=("auto",), help="place cache marks where most can be reused"
        )
    group.add_argument(
        "--tool-choice",
        metavar="CHOICE",
        help="auto, none, required, or the name of the tool that has to be called",
    )
    group.add_argument(
        "--chat-template",
        metavar="FILE",
        help="the Jinja chat template of an open model, for chat_template",
    )
    group.add_argument(
        "--strict", action="store_true", help="fail for text or media the target cannot say"
    )


def add_traceback(group: Any) -> None:
    """Add the way to a failing line."""
    group.add_argument(
        "--traceback", action="store_true", help="show how the failing line was reached"
    )


def whole_number(text: str, of: str) -> int:
    """Return a number that is written as in Python, such as ``100_000``."""
    if _WHOLE.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of {of}")
    return int(text)


# Python reads no number of more than 4,300 digits, and nobody has so many tokens.
_WHOLE = re.compile(r"[0-9](?:_?[0-9]){0,99}")


def _whole(text: str) -> int:
    return whole_number(text, "tokens")


def _budget(text: str) -> int | Literal["window"]:
    if text == "window":
        return "window"
    try:
        return _whole(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, and not 'window'") from None


def check_folders(folders: Sequence[str]) -> None:
    """Raise :class:`UsageError` for a media root that is none."""
    for root in folders:
        if not os.path.isdir(root):
            raise UsageError(f"no such folder: {root}")


def asked_for(
    named: object,
    target: str,
    props: Mapping[str, Given],
    arguments: argparse.Namespace,
    *,
    marks: bool = True,
) -> Rendered:
    """Return what a prompt comes to that TARGET names, with what the options say.

    Raises :class:`UsageError` when the command was called wrongly, and whatever the prompt raises.
    """
    prompt: Any = _prompt(named, props, target)
    request: dict[str, Any] = {
        "model": arguments.model,
        "provider": arguments.form if arguments.form in PROVIDERS else None,
        "budget": arguments.budget,
        "reserve": arguments.reserve,
        "strict": arguments.strict,
        "cache": arguments.cache if marks else None,
        "tool_choice": arguments.tool_choice,
        "chat_template": _template(arguments.chat_template),
        "media_roots": arguments.media_roots,
    }
    if not _waits(prompt):
        return render(prompt, **request)
    import asyncio

    return asyncio.run(arender(prompt, **request))


def _prompt(named: object, props: Mapping[str, Given], target: str) -> object:
    if isinstance(named, type):
        raise UsageError(f"{target} is a class: name a prompt, or a function that returns one")
    if callable(named):
        return call(named, props, target)
    if props:
        raise UsageError(f"{target} is no function: it takes no parameters")
    return named


def _template(name: str | None) -> str | None:
    """Return the text of a chat template; :class:`UsageError` for a file that cannot be read."""
    if name is None:
        return None
    try:
        with open(name, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise UsageError(f"the chat template {name} cannot be read: {error}") from None


def _waits(prompt: Any) -> bool:
    """Return whether a part of the prompt has to be awaited."""
    waiting = [prompt]
    while waiting:
        part = waiting.pop()
        if iscoroutinefunction(getattr(part, "function", None)):
            return True
        waiting += getattr(part, "content", ()) if isinstance(part, Node) else ()
    return False


def noted(found: Rendered, arguments: argparse.Namespace) -> list[str]:
    """Return what is to be noted of a render: what is lost, and what nobody knows of its model."""
    return [*map(str, found.losses), *of_model(found, arguments)]


def of_model(found: Rendered, arguments: argparse.Namespace) -> list[str]:
    """Return what nobody knows of the model."""
    facts = found.facts
    if arguments.model and facts.provider is None:
        return [f"model {arguments.model!r} is not known: name its provider with --for"]
    return [facts.label] if arguments.model and not facts.known else []
