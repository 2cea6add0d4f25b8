"""The command ``promptdsl``. Data goes to standard output, notes to standard error."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from promptdsl.cli.diff import add_diff
from promptdsl.cli.errors import UsageError, described
from promptdsl.cli.render import add_render
from promptdsl.cli.show import visible
from promptdsl.cli.tokens import add_tokens

OK, WRONG, USAGE = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    0: done. 1: the prompt is wrong, or the code that makes it failed. 2: the command was called
    wrongly. ``argv`` are the arguments without the name of the command.
    """
    parser = build_parser()
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else OK
    if arguments.version:
        from importlib.metadata import version

        return _put(sys.stdout, f"promptdsl {version('promptdsl')}")
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return USAGE
    return _done(arguments)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="promptdsl",
        usage="promptdsl [--version] COMMAND ...",
        description="Work with prompts written with promptdsl.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", prog="promptdsl"
    )
    for add in (add_render, add_tokens, add_diff):
        add(commands)
    return parser


def _done(arguments: argparse.Namespace) -> int:
    """Print the data, then the notes; return the exit code."""
    try:
        data, notes = arguments.run(arguments)
    except UsageError as error:
        _put(sys.stderr, f"promptdsl {arguments.command}: error: {error}")
        return USAGE
    # A prompt is code, so it may raise anything; SystemExit is not its way out of this command.
    except (Exception, SystemExit) as error:
        _put(sys.stderr, described(error, target=arguments.target, frames=arguments.traceback))
        return WRONG
    code = _put(sys.stdout, data)
    _put(sys.stderr, "\n".join(notes))
    return code


def _put(stream: TextIO | None, text: str) -> int:
    """Write lines as UTF-8, whatever the locale; return an exit code.

    A reader that went away has what it wanted. Notes have their control characters made visible.
    """
    if not text or stream is None:
        return OK
    if stream is sys.stderr:
        text = visible(text)
    try:
        _write(stream, f"{text}\n")
    except OSError as error:
        _silence(stream)
        if isinstance(error, BrokenPipeError):
            return OK
        _put(sys.stderr, f"promptdsl: cannot write: {error.strerror}")
        return WRONG
    return OK


def _silence(stream: TextIO) -> None:
    """Let what is still in the buffer go nowhere: the interpreter would fail to write it again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _write(stream: TextIO, text: str) -> None:
    stream.flush()
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(text)
    else:
        buffer.write(text.encode("utf-8", "backslashreplace"))
        buffer.flush()
