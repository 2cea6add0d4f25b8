"""Loading the libraries and sections that a command names, and their rows and texts."""

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, redirect_stdout
from datetime import date
from functools import wraps
from typing import Any

from promptdsl import (
    Input,
    Library,
    LibraryError,
    PlacementError,
    PromptError,
    SectionInfo,
    System,
    Text,
)
from promptdsl.cli.arguments import Arguments
from promptdsl.cli.errors import UsageError
from promptdsl.cli.show import as_json, as_section, fields, relative
from promptdsl.comparing import visible

SECTION = "a section of an installed library, such as starter:untrusted"
FAILED = "the library is wrong"
WIDTH = 76
TAKEN = frozenset({*dir(Library), "name"})
"""The attributes of each library: a section with such a name is only an item of it."""


@contextmanager
def loaded_library(name: str) -> Generator[Library]:
    """Give an installed library; output of its code goes to standard error.

    Raises :class:`UsageError` for an unknown, and :class:`LibraryError` for a broken library.
    """
    is_installed = any(library.name == name for library in Library.installed())
    with redirect_stdout(sys.stderr):
        try:
            library = Library.load(name)
        except LibraryError as error:
            if is_installed:
                raise
            raise UsageError(one_line(error)) from None
        yield library


@contextmanager
def loaded_section(target: str) -> Generator[tuple[Library, str]]:
    """Give the library and the name of the section in ``LIBRARY:NAME``.

    Raises :class:`UsageError` for any other text, and for an unknown section.
    """
    library_name, colon, name = target.partition(":")
    if not colon or not library_name or not name:
        raise UsageError(
            f"SECTION is LIBRARY:NAME, such as starter:untrusted, not {target!r}: "
            "promptdsl list LIBRARY shows the sections"
        )
    with loaded_library(library_name) as library:
        # Only names are checked here: a broken section raises its own error.
        if name not in [*library.sections]:
            try:
                library[name]
            except LibraryError as error:
                raise UsageError(f"{library_name} has no section {name!r}: {error.fix}") from None
        yield library, name


def section_prompt(library: Library, name: str) -> Callable[..., Any]:  # Any: parts
    """Return a function that returns a section in a system turn; texts are parsed as its inputs.

    A section with turns is returned as it is. A section that takes children gets a text as child.
    """
    component = library[name]
    declared = {entry.name: entry for entry in library.sections[name].inputs or ()}

    def part(inputs: Arguments) -> Any:
        written = component(**inputs)
        if inspect.isgeneratorfunction(inspect.unwrap(component)):
            with written:
                Text("(its children)")
        return written

    @wraps(component)
    def prompt(**arguments: object) -> Any:
        inputs = dict(arguments)
        for key, value in arguments.items():
            if key in declared and isinstance(value, str):
                inputs[key] = declared[key].parsed(value)
        try:
            return System(part(inputs))
        except PlacementError:
            return part(inputs)

    return prompt


def section_row(info: SectionInfo) -> dict[str, object]:
    """Return a section as data, without its source."""
    return {
        **as_section(info.section),
        **fields(info, "kind", "title", "description"),
        "inputs": None
        if info.inputs is None
        else [_input_row(declared) for declared in info.inputs],
        "file": relative(f"{info.file}:{info.line}").rpartition(":")[0],
        "line": info.line,
    }


def _input_row(declared: Input) -> dict[str, object]:
    row = fields(declared, "name", "type", "required")
    default = {} if declared.required else {"default": plain(declared.default)}
    return {**row, **default, "doc": declared.doc}


def plain(value: object) -> object:
    """Return a value if JSON can express it, else its text: a default may be any object."""
    try:
        as_json(value)
    except (TypeError, ValueError, RecursionError):
        return short(value)
    return value


def short(value: object) -> str:
    """Return a default as an author writes it."""
    return value.isoformat() if isinstance(value, date) else repr(value)


def wrapped(text: str, indent: str = "    ") -> Iterable[str]:
    """Return text as lines that fit a terminal."""
    wrap = textwrap.TextWrapper(WIDTH, indent, indent, break_on_hyphens=False).wrap
    return [row for line in visible(text).split("\n") for row in wrap(line) or [""]]


def class_name(library: str) -> str:
    """Return the name of the class of a library in its stub."""
    return "_" + "".join(word.capitalize() for word in re.split("[_.-]", library))


def one_line(error: PromptError) -> str:
    """Return an error in one line: the problem and the advice."""
    return f"{error.what}: {error.fix}" if error.fix else error.what
