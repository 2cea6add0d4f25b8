"""``promptdsl eject``: a copy of a section of a library, to change it in a project."""

import argparse
import ast
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from promptdsl import SectionInfo
from promptdsl.cli.commands import AddParser, add_command
from promptdsl.cli.errors import UsageError
from promptdsl.cli.libraries import FAILED, SECTION, loaded_section
from promptdsl.cli.show import as_json
from promptdsl.cli.write_files import write_files

DESCRIPTION = """\
Copy the source of a section into a file of your project, and show how to use the copy instead of
the section. A comment in the copy says where it came from."""

USE_TEMPLATE = """\
from pathlib import Path

from promptdsl import Template, override

{name}_file = Path({path!r})

with override({{{section!r}: lambda **inputs: Template({name}_file, inputs)}}):
    ...  # the prompt is written here"""
USE_FUNCTION = """\
from promptdsl import override
from {module} import {name}

with override({{{section!r}: {name}}}):
    ...  # the prompt is written here"""


def add_eject(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser, "eject", takes="SECTION", description=DESCRIPTION, failed=FAILED
    )
    parser.add_argument("target", metavar="SECTION", help=SECTION)
    parser.add_argument(
        "--to",
        metavar="PATH",
        help="the file, or a folder that exists; by default a file in the current folder",
    )
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    parser.add_argument("--json", action="store_true", help="print the file and its use as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of the command.

    Raises :class:`UsageError` when it is called wrongly, and :class:`LibraryError` for a library
    that cannot be loaded.
    """
    with loaded_section(arguments.target) as (library, name):
        info, function = library.sections[name], library[name]
    ending = ".md.j2" if info.kind == "template" else ".py"
    file_name = name.rpartition("/")[2] + ending
    path: str = arguments.to or file_name
    if os.path.isdir(path) or path.endswith(("/", os.sep)):
        path = os.path.join(path, file_name)
    path = os.path.relpath(path)
    origin = f"From {info.section}"
    if info.kind == "template":
        text = _template_copy(info, origin)
        use = USE_TEMPLATE
    else:
        text = _function_copy(inspect.unwrap(function), origin)
        use = USE_FUNCTION
    variable = file_name.removesuffix(ending).replace("-", "_").replace(".", "_")
    module = os.path.splitext(path)[0].replace(os.sep, ".").replace("/", ".").strip(".")
    usage = use.format(name=variable, path=path, section=info.section.name, module=module)
    write_files({path: text}, force=arguments.force)
    if arguments.json:
        return as_json({"file": path, "section": info.section.name, "use": usage}), []
    return usage, [f"{path} is written; use it so:"]


def _template_copy(info: SectionInfo, origin: str) -> str:
    """Return the source of a template with a comment: it renders to the same text."""
    source = info.source
    first, newline, rest = source.partition("\n")
    if first.rstrip() == "---":
        return f"{first}{newline}# {origin}\n{rest}"
    return f"{{# {origin} #}}{source}"


def _function_copy(function: Callable[..., Any], origin: str) -> str:
    """Return a module with the source of a function and the imports that it needs."""
    module = sys.modules[function.__module__]
    source = inspect.getsource(function)
    try:
        (definition,) = ast.parse(source).body
    except (SyntaxError, ValueError):
        raise UsageError(f"{function.__qualname__} is not a function of its module") from None
    names = set(_names_in(definition)) - {function.__name__}
    imports = [*_imports(module, names)]
    return "\n".join([f'"""{origin}"""', "", *imports, "", "", source.rstrip("\n"), ""])


def _names_in(tree: ast.AST) -> Iterator[str]:
    """Yield the names that code reads, those in annotations that are texts too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
        for inner in ast.walk(annotation) if isinstance(annotation, ast.AST) else ():
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                try:
                    yield from _names_in(ast.parse(inner.value, mode="eval"))
                except SyntaxError:
                    continue


def _imports(module: ModuleType, names: set[str]) -> Iterator[str]:
    """Yield the imports of names as a module makes them; its own names come from the module."""
    with open(str(module.__file__), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    found: dict[str, str] = {}
    for node in _top_level(tree.body):
        if isinstance(node, ast.Import):
            for one in node.names:
                bound = one.asname or one.name.partition(".")[0]
                suffix = f" as {one.asname}" if one.asname else ""
                found.setdefault(bound, f"import {one.name}{suffix}")
        elif isinstance(node, ast.ImportFrom):
            package = str(module.__package__).split(".")
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            for one in node.names:
                suffix = f" as {one.asname}" if one.asname else ""
                found.setdefault(one.asname or one.name, f"from {origin} import {one.name}{suffix}")
    if "annotations" in found and found["annotations"].startswith("from __future__"):
        yield "from __future__ import annotations\n"
    own = {name for name in vars(module) if not name.startswith("__")} - found.keys()
    lines = {found[name] for name in names & found.keys() - {"annotations"}}
    lines |= {f"from {module.__name__} import {name}" for name in names & own}
    yield from sorted(lines, key=lambda line: (not line.startswith("import"), line))


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, those under its conditions too."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try):
            yield from _top_level(statement.body + statement.orelse)
