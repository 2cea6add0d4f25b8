"""``promptdsl stubs``: the types of a library's sections in a file, for editors and checkers."""

import argparse
import ast
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from promptdsl import Library, SectionInfo
from promptdsl.cli.commands import AddParser, add_command
from promptdsl.cli.errors import FileError, UsageError
from promptdsl.cli.libraries import TAKEN, class_name
from promptdsl.cli.python_code import Imports, imported_from
from promptdsl.cli.show import as_json
from promptdsl.cli.target import loaded_target
from promptdsl.cli.write_files import write_files

DESCRIPTION = """\
Write MODULE.pyi next to a module that only defines a library: the signatures and docstrings of its
sections. With it, editors complete them, and type checkers check calls. Write it again when a
section has changed; --check shows whether that is needed."""
MARK = "Written by promptdsl stubs"
WIDEST = 100
"""The most characters of a line with all parameters of a section."""
TYPES = {"Literal": Literal, "date": date}
"""The names in types of front matter, in addition to the built-in names of Python."""


def add_stubs(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "stubs",
        run=run,
        takes="MODULE:NAME",
        description=DESCRIPTION,
        failed="the file is not up to date, or the library is wrong",
    )
    parser.add_argument(
        "target",
        metavar="MODULE:NAME",
        help="a module and the name of the library in it: promptdsl_support.library:support",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing: exit with 1 if it is not up to date"
    )
    parser.add_argument(
        "--force", action="store_true", help="replace a file that this command did not write"
    )
    parser.add_argument("--json", action="store_true", help="print the file and its text as JSON")


def run(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of the command. Raises :class:`FileError` for an old file."""
    target: str = arguments.target
    location, _, name = target.rpartition(":")
    names = location.split(".")
    if not all(part.isidentifier() for part in names) or names[-1] == "py":
        raise UsageError(f"write module:name, such as promptdsl_support.library:support: {target}")
    with redirect_stdout(sys.stderr), loaded_target(target) as library:
        module = sys.modules[location]
        if not isinstance(library, Library):
            raise UsageError(
                f"{target} is not a Library: it is of the type {type(library).__name__}"
            )
        tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
        for node in (node for node in tree.body if isinstance(node, ast.ImportFrom)):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    maker = f"{imported_from(node, module)}:{alias.name}"
                    raise UsageError(f"{location} only imports {name}: promptdsl stubs {maker}")
        path = os.path.relpath(f"{os.path.splitext(str(module.__file__))[0]}.pyi")
        hidden = sorted(_public_names(module, tree) - {name})
        if hidden:
            raise UsageError(
                f"{location} holds more than the library: {path} would hide {', '.join(hidden)}; "
                f"move {name} into a module of its own"
            )
        text = stub_text(library, target)
    old = Path(path).read_text("utf-8", "replace") if os.path.exists(path) else None
    is_current = old == text
    if arguments.check and not is_current:
        raise FileError(f"{path} is not up to date: write it with promptdsl stubs {target}")
    if not is_current:
        write_files({path: text}, force=arguments.force or (old is not None and MARK in old))
    done = "is up to date" if is_current else "is written"
    if arguments.json:
        return as_json({"file": path, "written": not is_current, "text": text}), []
    return f"{path} {done}", []


def _public_names(module: ModuleType, tree: ast.Module) -> set[str]:
    """Return the public names that a module defines; its imports do not count."""
    names = set[str](getattr(module, "__all__", ()))
    for statement in tree.body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(statement.name)
            case ast.Import() | ast.ImportFrom():
                names |= {alias.name for alias in statement.names if alias.asname == alias.name}
            case _:
                names |= {
                    node.id
                    for node in ast.walk(statement)
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
                }
    return {name for name in names if not name.startswith("_")}


def stub_text(library: Library, target: str) -> str:
    """Return the stub of the module of a library: the library, with the types of its sections.

    A section is left out if its name is not valid in Python, or is an attribute of each library,
    such as ``name``. It is called as ``library["billing/refunds"]``.
    """
    variable = target.rpartition(":")[2]
    imports = Imports({"promptdsl": {"Library", "component"}})
    names = {name for name in library.sections if name.isidentifier()} - TAKEN
    methods = [_method(library[name], library.sections[name], imports) for name in sorted(names)]
    name = class_name(library.name)
    body = "\n".join(methods) or "    pass\n"
    return (
        f'"""The types of the library {library.name}.\n\n{MARK} {target}\n"""\n\n'
        f"{imports.text()}\n"
        f"class {name}(Library):\n{body}\n{variable}: {name}\n"
    )


def _method(function: Callable[..., Any], info: SectionInfo, imports: Imports) -> str:
    name = info.section.name.partition(":")[2]
    names = TYPES if info.kind == "template" else inspect.unwrap(function).__globals__
    signature = inspect.signature(function).parameters.values()
    typed = (item.replace(annotation=_evaluated(item.annotation, names)) for item in signature)
    parameters = [*_parameters(typed, imports)]
    head = f"    def {name}({', '.join(parameters)}) -> object:"
    if len(head) > WIDEST:
        inner = "".join(f"        {parameter},\n" for parameter in parameters)
        head = f"    def {name}(\n{inner}    ) -> object:"
    body = _docstring(inspect.getdoc(function) or "")
    return "\n".join(["    @staticmethod", "    @component", head, *body, ""])


def _evaluated(annotation: object, names: Mapping[str, Any]) -> object:
    """Return an annotation; one that is written as text, as in front matter, is evaluated."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, {**names})
    except Exception:  # it may use names that only type checkers know
        return Any


def _parameters(parameters: Iterable[inspect.Parameter], imports: Imports) -> Iterator[str]:
    last: object = None
    kinds = inspect.Parameter
    empty = inspect.Parameter.empty
    for parameter in parameters:
        kind = parameter.kind
        if last is kinds.POSITIONAL_ONLY and kind is not last:
            yield "/"
        if kind is kinds.KEYWORD_ONLY and last not in (kind, kinds.VAR_POSITIONAL):
            yield "*"
        last = kind
        text = str(parameter.replace(annotation=empty, default=empty))
        if parameter.annotation is not empty:
            text += f": {imports.code_of(parameter.annotation)}"
        if parameter.default is not empty:
            text += f" = {imports.default_code(parameter.default)}"
        yield text
    if last is kinds.POSITIONAL_ONLY:
        yield "/"


def _docstring(doc: str) -> list[str]:
    """Return the lines of a docstring in a method, also for special characters; or ``...``."""
    if not doc:
        return ["        ..."]
    escaped = _QUOTES.sub(lambda match: match[0].replace('"', '\\"'), doc.replace("\\", "\\\\"))
    escaped = "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in escaped)
    first, *others = escaped.split("\n")
    if not others:
        return [f'        """{first}"""']
    return [f'        """{first}', *(f"        {line}".rstrip() for line in others), '        """']


_QUOTES = re.compile(r'"{3,}|"+\Z')
"""Quotes that would end a docstring."""
