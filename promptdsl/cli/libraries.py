"""The libraries and sections that a command names, and what is said about them."""

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
"""What each library has: a section of such a name is an item of it, and no attribute."""


@contextmanager
def loaded_library(name: str) -> Generator[Library]:
    """Give an installed library; what its code prints goes to standard error.

    Raises :class:`UsageError` for an unknown one, and :class:`LibraryError` for a broken one.
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
    """Give the library of a qualified name, and the name of the section in it.

    Raises :class:`UsageError` for another name and for a section that the library does not have.
    """
    library_name, colon, name = target.partition(":")
    if not colon or not library_name or not name:
        raise UsageError(
            f"SECTION is LIBRARY:NAME, such as starter:untrusted, not {target!r}: "
            "promptdsl list LIBRARY shows the sections"
        )
    with loaded_library(library_name) as library:
        # Only names are looked at: a broken section says itself what is wrong.
        if name not in [*library.sections]:
            try:
                library[name]
            except LibraryError as error:
                raise UsageError(f"{library_name} has no section {name!r}: {error.fix}") from None
        yield library, name


def section_prompt(library: Library, name: str) -> Callable[..., Any]:  # Any: parts
    """Return a function that gives a section in a system turn; texts are read as inputs.

    One with turns of its own stays alone; one that takes children gets a text in their place.
    """
    component = library[name]
    known = {one.name: one for one in library.sections[name].inputs or ()}

    def part(inputs: Arguments) -> Any:
        written = component(**inputs)
        if inspect.isgeneratorfunction(inspect.unwrap(component)):
            with written:
                Text("(its children)")
        return written

    @wraps(component)
    def prompt(**given: object) -> Any:
        inputs = {
            name: known[name].parsed(value) if name in known and isinstance(value, str) else value
            for name, value in given.items()
        }
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
        "inputs": None if info.inputs is None else [_input_row(one) for one in info.inputs],
        "file": relative(f"{info.file}:{info.line}").rpartition(":")[0],
        "line": info.line,
    }


def _input_row(one: Input) -> dict[str, object]:
    row: dict[str, object] = {"name": one.name, "type": one.type, "required": one.required}
    return {**row, **({} if one.required else {"default": plain(one.default)}), "doc": one.doc}


def plain(value: object) -> object:
    """Return a value if it is data, else its text: the default of a function may be anything."""
    try:
        as_json(value)
    except (TypeError, ValueError, RecursionError):
        return short(value)
    return value


def short(value: object) -> str:
    """Return a default as it is written."""
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
