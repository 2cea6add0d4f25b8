"""The commands and their common options; the module of a command is loaded when it is called."""

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

COMMANDS = {
    "render": ("render", "render a prompt"),
    "tokens": ("tokens", "count the tokens of a prompt, part by part"),
    "diff": ("diff", "show what changed between two prompts"),
    "check": ("check", "look for mistakes in files and prompts"),
    "batch": ("batch", "render a prompt for each row of a table, into files of requests"),
    "batch read": ("batch_read", "join the results of a batch to its rows"),
    "page": ("page", "write a page to look at: what is sent, left out and cached"),
    "preview": ("preview", "show a page that follows each save"),
    "records": ("records", "show what was sent, and why"),
    "list": ("list", "list the section libraries, or the sections of one"),
    "show": ("library_show", "show a section of a library"),
    "new": ("new", "begin a section library, or add a section to it"),
    "stubs": ("stubs", "write the types of a library's sections, for editors"),
    "eject": ("eject", "copy a section of a library, to change it"),
    "transcript": ("transcript", "show, check, repair and convert recorded conversations"),
}
"""The module and the summary of each command, by its name."""
GROUPS = {
    "look": ("render", "tokens", "page", "preview", "records", "transcript"),
    "compare": ("diff", "check"),
    "run": ("batch", "batch read"),
    "libraries": ("list", "show", "new", "stubs", "eject"),
}
"""The commands by what they are for."""
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
"""The arguments of an example of each command that does something."""
TARGET = (
    "file.py:name or module:name, where name is a prompt or a function that returns one; "
    "the only prompt of a file needs no name"
)

AddParser: TypeAlias = Callable[..., argparse.ArgumentParser]
"""``add_parser`` of the commands of a parser."""


class ParagraphFormatter(argparse.HelpFormatter):
    """Writes a help whose description and last text may consist of paragraphs and lists."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs: list[str] = []
        for paragraph in text.split("\n\n"):
            is_list = "\n  " in paragraph
            paragraphs.append(
                paragraph if is_list else super()._fill_text(paragraph, width, indent)
            )
        return "\n\n".join(paragraphs)


def commands_by_group() -> str:
    """Return the commands with their summaries, by what they are for."""
    width = max(map(len, COMMANDS))
    return "\n\n".join(
        f"{group}:\n" + "\n".join(f"  {name:<{width}}  {COMMANDS[name][1]}" for name in names)
        for group, names in GROUPS.items()
    )


def add_commands(parser: argparse.ArgumentParser, called: str | None) -> None:
    """Add all commands by name, and the options of the command that is called."""
    # The commands are listed by group, after the options.
    parsers = parser.add_subparsers(
        dest="command", metavar="COMMAND", help=argparse.SUPPRESS, prog="promptdsl"
    )
    for name, (module, _) in COMMANDS.items():
        if name == called:
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
    """Add a command. Its usage shows ``takes``; ``failed`` says what exit code 1 means.

    ``run`` runs the command. It returns the data, the notes, and an exit code other than 0. It
    raises :class:`UsageError` for a wrong call, and whatever the code of a user raises. ``codes``
    describes all exit codes of a command with other ones.
    """
    parser = add_parser(
        name if name in COMMANDS else name.rpartition(" ")[2],
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
    of: str,
    read: str = "read as its type (count=3); KEY:=JSON is any JSON value; may be repeated",
) -> None:
    """Add the options ``-p`` and ``--props`` to a parser or to a group of a parser."""
    add_argument(
        "-p",
        dest="pairs",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help=f"an {of}, {read}",
    )
    add_argument("--props", metavar="FILE", help="a JSON object of arguments; -p takes precedence")
