"""The command ``promptdsl``: it parses the command line, runs a command and prints the result.

Data goes to standard output, notes and errors to standard error. ``commands.py`` has the list of
commands, and the module of each command has its options and the function that runs it.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import promptdsl
from promptdsl.cli.commands import (
    COMMANDS,
    EXAMPLES,
    ParagraphFormatter,
    add_commands,
    commands_by_group,
)
from promptdsl.cli.output import (
    UsageError,
    coloured_notes,
    error_text,
    has_colours,
    relative_paths,
    suggestion,
)
from promptdsl.comparing import visible

OK, WRONG, USAGE = 0, 1, 2
"""The usual exit codes; ``main`` explains them."""


class _Parser(argparse.ArgumentParser):
    """A parser of arguments whose error for an unknown option names the most similar option."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse arguments; the error for an unknown option names the most similar option."""
        namespace, unknown = super().parse_known_args(args, namespace)
        option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
        if option is not None:
            self.error(f"no such option: {option}{suggestion(option, self._option_string_actions)}")
        # In ``-p name value``, the pair is only the name, and the value is an unknown word.
        names = [pair for pair in getattr(namespace, "pairs", ()) if "=" not in pair]
        if unknown and names:
            self.error(f"-p {names[0]}: join the name and the value: -p {names[0]}={unknown[0]}")
        return namespace, unknown


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, print its data, notes and errors, and return its exit code.

    0: done. 1: the prompt is wrong, or its code failed. 2: the command was called wrongly. Some
    commands have other codes, such as ``diff``; their help lists them. ``argv`` is the command line
    without ``promptdsl``; by default, it is that of the process.
    """
    parser = _Parser(
        prog="promptdsl",
        usage="promptdsl [--version] COMMAND ...",
        description="Work with prompts written with promptdsl.",
        epilog=f"{commands_by_group()}\n\nExample: promptdsl render {EXAMPLES['render']}",
        formatter_class=ParagraphFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    words = [*(sys.argv[1:] if argv is None else argv)]
    if " ".join(words[:2]) in COMMANDS:  # a command of two words
        words[:2] = [" ".join(words[:2])]
    command_name = next((word for word in words if not word.startswith("-")), None)
    # If an option comes first, the parser finds its error.
    if command_name is not None and command_name == words[0] and command_name not in COMMANDS:
        problem = f"no such command: {command_name}{suggestion(command_name, COMMANDS)}"
        if ":" in command_name or command_name.endswith(".py"):
            problem = f"a command comes first: write promptdsl render {command_name}"
        _print_text(sys.stderr, f"promptdsl: error: {problem}")
        return USAGE
    add_commands(parser, command_name)
    try:
        arguments = parser.parse_args(words)
    except SystemExit as exit_error:
        return exit_error.code if isinstance(exit_error.code, int) else OK
    if arguments.version:
        return _print_text(sys.stdout, f"promptdsl {promptdsl.__version__}")
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return USAGE
    try:
        output, notes, *codes = arguments.run(arguments)
    except UsageError as error:
        _print_text(sys.stderr, f"promptdsl {arguments.command}: error: {error}")
        return error.code
    # A prompt is code: it may raise anything. Even SystemExit must not end this command.
    except (Exception, SystemExit) as error:
        message = error_text(error, target=arguments.target, frames=arguments.traceback)
        _print_text(sys.stderr, message)
        return int(getattr(arguments, "failed", WRONG))
    code = _print_text(sys.stdout, output)
    _print_text(sys.stderr, "\n".join(notes))
    # ``codes`` has the exit code of the command, or is empty for a command that only returns 0.
    return code or next(iter(codes), OK)


def _print_text(stream: TextIO | None, text: str) -> int:
    """Write text as UTF-8 in any locale, with a line end after it, and return an exit code.

    Nothing is written for an empty text. A reader that stops early, such as ``head``, is no error.
    On standard error, control characters are escaped, paths are relative to the current folder, and
    notes have colours on a terminal.
    """
    if not text or stream is None:
        return OK
    if stream is sys.stderr:
        text = visible(relative_paths(text))
        if has_colours(stream):
            text = coloured_notes(text)
    try:
        stream.flush()
        buffer = getattr(stream, "buffer", None)
        if buffer is None:
            stream.write(f"{text}\n")
        else:
            buffer.write(f"{text}\n".encode("utf-8", "backslashreplace"))
            buffer.flush()
    except OSError as error:
        # The interpreter writes the rest of the buffer when it ends. That must not fail again.
        null_file = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_file, stream.fileno())
        os.close(null_file)
        if isinstance(error, BrokenPipeError):
            return OK
        _print_text(sys.stderr, f"promptdsl: cannot write: {error.strerror}")
        return WRONG
    return OK
