"""``promptdsl eject``: a copy of a section of a library, to change it in a project."""

import argparse
import ast
import inspect
import os
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from promptdsl import Library, LibraryError, SectionInfo
from promptdsl.cli.commands import AddParser, add_command
from promptdsl.cli.errors import UsageError
from promptdsl.cli.libraries import FAILED, SECTION, loaded_section
from promptdsl.cli.python_code import Imports, code_of_text, imported_from
from promptdsl.cli.show import as_json
from promptdsl.cli.write_files import write_files

DESCRIPTION = """\
Copy the source of a section into a file of your project, and show how to use the copy instead of
the section. A comment in the copy says where it came from."""

USE_TEMPLATE = """\
from pathlib import Path

from promptdsl import Template, override

{name}_file = Path({path})

with override({{{section}: lambda **inputs: Template({name}_file, inputs)}}):
    ...  # the prompt is written here"""
USE_WHITE_SPACE = """\
from promptdsl import Template, override, register_templates

register_templates({folder}, {options})

with override({{{section}: lambda **inputs: Template({file}, inputs)}}):
    ...  # the prompt is written here"""
USE_FUNCTION = """\
from promptdsl import override
from {module} import {name}

with override({{{section}: {name}}}):
    ...  # the prompt is written here"""


def add_eject(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser, "eject", run=run, takes="SECTION", description=DESCRIPTION, failed=FAILED
    )
    parser.add_argument("target", metavar="SECTION", help=SECTION)
    parser.add_argument(
        "--to",
        metavar="PATH",
        help="the file, or a folder; by default a file in the current folder",
    )
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument("--json", action="store_true", help="print the file and its use as JSON")


def run(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the data and the notes of the command."""
    with loaded_section(arguments.target) as (library, name):
        info, function = library.sections[name], library[name]
    options, original = "", inspect.unwrap(function)
    ending = ".md.j2" if info.kind == "template" else ".py"
    # A component may have another name than its function.
    is_template = info.kind == "template"
    word = name.rpartition("/")[2] if is_template else original.__name__
    if not is_template and not word.isidentifier():
        word = re.sub(r"\W", "_", name)
    is_standard = not is_template and word in (*sys.stdlib_module_names, "promptdsl")
    file_name = f"{word}_section{ending}" if is_standard else word + ending
    path: str = arguments.to or file_name
    if os.path.isdir(path) or path.endswith(("/", os.sep)):
        path = os.path.join(path, file_name)
    path = os.path.relpath(path)
    if is_template:
        files, use = _template_copies(library, name, path), USE_TEMPLATE
        if options := _white_space(library):
            use = USE_WHITE_SPACE
    else:
        files, use = {path: _function_copy(info, original)}, USE_FUNCTION
    variable = re.sub(r"\W|^(?=\d)", "_", word)
    module = os.path.splitext(path)[0].replace(os.sep, ".").replace("/", ".").strip(".")
    usage = use.format(
        name=variable,
        path=code_of_text(path),
        folder=code_of_text(os.path.dirname(path) or "."),
        file=code_of_text(os.path.basename(path)),
        options=options,
        section=code_of_text(info.section.name),
        module=module,
    )
    write_files(files, force=arguments.force)
    if arguments.json:
        return as_json({"file": path, "section": info.section.name, "use": usage}), []
    return usage, [f"{path} is written: the code above uses it instead of {info.section.name}"]


def _white_space(library: Library) -> str:
    """Return the white-space settings of a library that differ from the defaults, as arguments."""
    if library.templates is None:
        return ""
    settings = library.templates.white_space
    usual = type(settings)()._asdict()
    changed = {key: value for key, value in settings._asdict().items() if value != usual[key]}
    return ", ".join(f"{key}={value}" for key, value in changed.items())


def _template_copies(library: Library, name: str, path: str) -> dict[str, str]:
    """Return the copy of a template and of the private files that it includes, by their paths."""
    info, folder = library.sections[name], library.templates
    assert folder is not None
    root = os.path.join(os.path.realpath(folder.folder), "")
    files = {path: info.source}
    waiting = [info.source]
    while waiting:
        for tag in _INCLUDE.findall(waiting.pop()):
            for included in _QUOTED.findall(tag):
                copy = os.path.join(os.path.dirname(path), included)
                original = os.path.join(folder.folder, included)
                if copy in files or not os.path.isfile(original):
                    continue
                # A name with .. could also lead out of the folder of the copies.
                if ".." in included.split("/") or not os.path.realpath(original).startswith(root):
                    raise LibraryError(
                        f"{info.section.name} includes {included!r}, which is not in its library",
                        fix="report it to its authors; nothing is copied",
                    )
                with open(original, encoding="utf-8-sig", newline="") as opened:
                    files[copy] = opened.read()
                waiting.append(files[copy])
    # The library removes this line end, so the text still begins a line.
    line_end = "\n" if folder.white_space.trim_blocks else ""
    for file, text in files.items():
        opening = _FRONT_MATTER.match(text)
        if opening:
            files[file] = f"{opening[0]}# From {info.section}{opening[1]}{text[opening.end() :]}"
        else:
            files[file] = f"{{# From {info.section} #}}{line_end}{text}"
    return files


_INCLUDE = re.compile(r"\{%[-+]?\s*(?:include|import|from|extends)\b.*?%\}", re.DOTALL)
_QUOTED = re.compile(r"""["']([^"':]+)["']""")


_FRONT_MATTER = re.compile(r"---[ \t]*(\r\n|\r|\n)")


def _function_copy(info: SectionInfo, function: Callable[..., Any]) -> str:
    """Return a module with the source of a function and the imports that it needs."""
    module = sys.modules[function.__module__]
    try:
        source = inspect.getsource(function)
        (definition,) = ast.parse(source).body
    except (OSError, SyntaxError, ValueError):
        raise UsageError(f"{function.__qualname__} is not a function of its module") from None
    names = set(_names_in(definition)) - {function.__name__}
    head = [f'"""From {info.section}"""', "", _imports(module, names), ""]
    return "\n".join([*head, source.rstrip("\n"), ""])


def _names_in(tree: ast.AST) -> Iterator[str]:
    """Yield the names that code reads, also in annotations that are written as text."""
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


def _imports(module: ModuleType, names: set[str]) -> str:
    """Return imports of names, written as in a module.

    Names that the module defines, or imports under a condition, are imported from the module.
    Names that only type checkers import are left out.
    """
    with tokenize.open(str(module.__file__)) as file:
        tree = ast.parse(file.read())
    imports, bound, future = Imports({}), set[str](), ""
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                bound.add(name)
                if name in names:
                    imports.modules.add(ast.unparse(alias))
        elif isinstance(node, ast.ImportFrom) and node.module == "__future__":
            future = f"{ast.unparse(node)}\n\n"
        elif isinstance(node, ast.ImportFrom):
            origin = imported_from(node, module)
            for alias in node.names:
                bound.add(alias.asname or alias.name)
                if (alias.asname or alias.name) in names:
                    imports.add(origin, ast.unparse(alias))
    for name in names & vars(module).keys() - bound:
        if name not in _OF_EVERY_MODULE:
            imports.add(module.__name__, name)
    return future + imports.text()


_OF_EVERY_MODULE = {"__builtins__", "__cached__", "__file__", *vars(ModuleType(""))}
