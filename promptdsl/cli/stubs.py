"""``promptdsl stubs`` and ``promptdsl eject``: the sections of a library as code.

In this order: annotations and defaults as code; ``stubs``; and ``eject``.
"""

import argparse
import ast
import builtins
import inspect
import json
import os
import re
import sys
import tokenize
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from datetime import date
from importlib.util import resolve_name
from inspect import Parameter
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Union, cast, get_args, get_origin

from promptdsl import Library, LibraryError, SectionInfo
from promptdsl.cli.commands import AddParser, add_command
from promptdsl.cli.libraries import (
    BROKEN_LIBRARY,
    LIBRARY_ATTRIBUTES,
    SECTION_HELP,
    class_name,
    loaded_section,
)
from promptdsl.cli.output import FileError, UsageError, as_json, write_files
from promptdsl.cli.target import loaded_target

# Annotations and defaults as code, with the imports that they need.


class Imports:
    """The imports of a generated file. Writing an annotation as code adds the imports it needs.

    ``names`` are the names to import from each module, ``modules`` are modules to import.
    """

    def __init__(self, names: Mapping[str, set[str]]) -> None:
        self.names = {module: {*imported} for module, imported in names.items()}
        self.modules: set[str] = set()

    def text(self) -> str:
        """Return the imports as code: first those of the standard library, then the others."""
        lines = {f"import {module}": module for module in self.modules}
        for module, names in self.names.items():
            lines[f"from {module} import {', '.join(sorted(names))}"] = module
        groups: tuple[list[str], list[str]] = ([], [])
        for line in sorted(lines, key=lambda line: (line.startswith("from"), line)):
            top = lines[line].split()[0].partition(".")[0]
            groups[top not in sys.stdlib_module_names].append(line)
        return "\n\n".join("\n".join(group) for group in groups if group) + "\n"

    def code_of(self, annotation: Any) -> str:  # Any: whatever an author writes as a type
        """Return an annotation as code; ``Any`` if code cannot express it."""
        origin, args = get_origin(annotation), get_args(annotation)
        if annotation is None or annotation is types.NoneType:
            return "None"
        if origin is Literal:
            values = ", ".join(self.default_code(literal) for literal in args)
            return f"{self.add('typing', 'Literal')}[{values}]"
        if origin in (Union, types.UnionType):
            return " | ".join(map(self.code_of, args))
        if origin is typing.Annotated:
            return self.code_of(args[0])
        if origin is Callable and args:
            parameters, returned = args
            inner = "..."  # also for a ParamSpec instead of a list
            if isinstance(parameters, list):
                inner = f"[{', '.join(map(self.code_of, cast('list[object]', parameters)))}]"
            name = self.add("collections.abc", "Callable")
            return f"{name}[{inner}, {self.code_of(returned)}]"
        if isinstance(origin or annotation, type):
            inner = ", ".join("..." if arg is ... else self.code_of(arg) for arg in args)
            return self._class(origin or annotation) + (f"[{inner}]" if inner else "")
        return self.add("typing", "Any")

    def default_code(self, default: object) -> str:
        """Return a default as code; ``...`` if code cannot express it."""
        if type(default) is str:
            return code_of_text(default)
        if type(default) in (types.NoneType, bool, int):
            return repr(default)
        if type(default) is float:
            is_finite = default - default == 0  # not for NaN and infinity
            return repr(default) if is_finite else "..."
        if type(default) is date:
            self.add("datetime", "date")
            return f"date({default.year}, {default.month}, {default.day})"
        if type(default) in (list, tuple) and not default:
            return repr(default)
        return "..."

    def _class(self, cls: type) -> str:
        """Return the name of a class as code; ``Any`` for a class that cannot be imported."""
        if cls.__module__ == "builtins" and hasattr(builtins, cls.__qualname__):
            return cls.__qualname__
        if "<" in cls.__qualname__ or cls.__module__ in ("__main__", "builtins"):
            return self.add("typing", "Any")
        if cls.__module__.partition(".")[0] in ("promptdsl", "datetime", "typing"):
            import promptdsl

            # A public class is imported from promptdsl, not from its file.
            module = cls.__module__ if not hasattr(promptdsl, cls.__name__) else "promptdsl"
            return self.add(module, cls.__qualname__)
        module = public_module(cls)
        self.modules.add(module)
        return f"{module}.{cls.__qualname__}"

    def add(self, module: str, name: str) -> str:
        """Import a name from a module, and return it."""
        self.names.setdefault(module, set()).add(name)
        return name


def public_module(cls: type) -> str:
    """Return the public module that has a class: ``pathlib``, not ``pathlib._local``."""
    public = cls.__module__.partition("._")[0]
    is_public = getattr(sys.modules.get(public), cls.__name__, None) is cls
    return public if is_public else cls.__module__


def imported_from(statement: ast.ImportFrom, module: ModuleType) -> str:
    """Return the full name of the module from which a statement in ``module`` imports."""
    return resolve_name("." * statement.level + (statement.module or ""), module.__package__)


def code_of_text(text: str) -> str:
    """Return a text as code, in double quotes if possible."""
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)


# ``promptdsl stubs``: the types of a library's sections in a file, for editors and checkers.

STUBS_DESCRIPTION = """\
Write MODULE.pyi next to a module that only defines a library. It has the signatures and docstrings
of the sections, so editors can complete calls, and type checkers can check them. Write it again
after a change of a section; --check shows whether it is up to date."""
STUB_SIGN = "Written by promptdsl stubs"
"""A text in each file that this command writes: such a file may be replaced."""
MAXIMUM_WIDTH = 100
"""The maximum number of characters of a line with all parameters of a section."""
FRONT_MATTER_NAMES = {"Literal": Literal, "date": date}
"""The names that types in front matter may use, in addition to the built-in names of Python."""


def add_stubs(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "stubs",
        run=run_stubs,
        takes="MODULE:NAME",
        description=STUBS_DESCRIPTION,
        failed="the file is not up to date, or the library is wrong",
    )
    parser.add_argument(
        "target",
        metavar="MODULE:NAME",
        help="the module and name of a library, such as promptdsl_support.library:support",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit with 1 if the file is not up to date",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace a file that this command did not write"
    )
    parser.add_argument("--json", action="store_true", help="print the file and its text as JSON")


def run_stubs(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Write the file; return the line that says so, or JSON, and no notes.

    Raises :class:`FileError` with ``--check`` if the file is not up to date, and
    :class:`UsageError` for a target that is not a library in a module without other public names.
    """
    target: str = arguments.target
    location, _, name = target.rpartition(":")
    words = location.split(".")
    # A path such as library.py is not the name of a module.
    if not all(word.isidentifier() for word in words) or words[-1] == "py":
        problem = f"{target} is not a library"
        raise UsageError(f"{problem}: write module:name, such as promptdsl_support.library:support")
    with redirect_stdout(sys.stderr), loaded_target(target) as library:
        module = sys.modules[location]
        if not isinstance(library, Library):
            raise UsageError(f"{target} is not a Library: its type is {type(library).__name__}")
        tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
        for node in (node for node in tree.body if isinstance(node, ast.ImportFrom)):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    origin = f"{imported_from(node, module)}:{alias.name}"
                    raise UsageError(f"{location} only imports {name}: promptdsl stubs {origin}")
        path = os.path.relpath(f"{os.path.splitext(str(module.__file__))[0]}.pyi")
        hidden_names = sorted(_public_names(module, tree) - {name})
        if hidden_names:
            raise UsageError(
                f"{location} has other names, which {path} would hide: {', '.join(hidden_names)}; "
                f"move {name} into a module of its own"
            )
        text = stub_text(library, target)
    old = Path(path).read_text("utf-8", "replace") if os.path.exists(path) else None
    is_current = old == text
    if arguments.check and not is_current:
        raise FileError(f"{path} is not up to date: write it with promptdsl stubs {target}")
    if not is_current:
        write_files({path: text}, force=arguments.force or (old is not None and STUB_SIGN in old))
    status = "is up to date" if is_current else "is written"
    if arguments.json:
        return as_json({"file": path, "written": not is_current, "text": text}), []
    return f"{path} {status}", []


def _public_names(module: ModuleType, tree: ast.Module) -> set[str]:
    """Return the public names that a module defines, without its imports.

    An import such as ``import a as a`` counts: it exports the name.
    """
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
    """Return the stub of a library's module: the library, with the types of its sections.

    A section is left out if its name is not valid in Python, or is an attribute of every library,
    such as ``name``. Users write ``library["billing/refunds"]`` for such a section.
    """
    variable = target.rpartition(":")[2]
    imports = Imports({"promptdsl": {"Library", "component"}})
    names = {name for name in library.sections if name.isidentifier()} - LIBRARY_ATTRIBUTES
    methods = [_method(library[name], library.sections[name], imports) for name in sorted(names)]
    class_of_library = class_name(library.name)
    body = "\n".join(methods) or "    pass\n"
    return (
        f'"""The types of the library {library.name}.\n\n{STUB_SIGN} {target}\n"""\n\n'
        f"{imports.text()}\n"
        f"class {class_of_library}(Library):\n{body}\n{variable}: {class_of_library}\n"
    )


def _method(function: Callable[..., Any], info: SectionInfo, imports: Imports) -> str:
    """Return the method of a section in a stub; ``imports`` gets what its types need."""
    name = info.section.name.partition(":")[2]
    names = FRONT_MATTER_NAMES if info.kind == "template" else inspect.unwrap(function).__globals__
    signature = inspect.signature(function).parameters.values()
    typed = (
        parameter.replace(annotation=_evaluated_annotation(parameter.annotation, names))
        for parameter in signature
    )
    parameters = [*_parameters(typed, imports)]
    head = f"    def {name}({', '.join(parameters)}) -> object:"
    if len(head) > MAXIMUM_WIDTH:
        inner = "".join(f"        {parameter},\n" for parameter in parameters)
        head = f"    def {name}(\n{inner}    ) -> object:"
    body = _docstring(inspect.getdoc(function) or "")
    return "\n".join(["    @staticmethod", "    @component", head, *body, ""])


def _evaluated_annotation(annotation: object, names: Mapping[str, Any]) -> object:
    """Return an annotation; a text is evaluated, as in front matter.

    An annotation that cannot be evaluated is ``Any``.
    """
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, {**names})
    except Exception:  # it may use names that only type checkers import
        return Any


def _parameters(parameters: Iterable[Parameter], imports: Imports) -> Iterator[str]:
    """Yield parameters as code, with the signs ``/`` and ``*`` between their kinds."""
    last_kind: object = None
    empty = Parameter.empty
    for parameter in parameters:
        kind = parameter.kind
        if last_kind is Parameter.POSITIONAL_ONLY and kind is not last_kind:
            yield "/"
        if kind is Parameter.KEYWORD_ONLY and last_kind not in (kind, Parameter.VAR_POSITIONAL):
            yield "*"
        last_kind = kind
        text = str(parameter.replace(annotation=empty, default=empty))
        if parameter.annotation is not empty:
            text += f": {imports.code_of(parameter.annotation)}"
        if parameter.default is not empty:
            text += f" = {imports.default_code(parameter.default)}"
        yield text
    if last_kind is Parameter.POSITIONAL_ONLY:
        yield "/"


def _docstring(doc: str) -> list[str]:
    """Return the lines of a method's docstring, with special characters escaped; else ``...``."""
    if not doc:
        return ["        ..."]
    escaped = _CLOSING_QUOTES.sub(
        lambda match: match[0].replace('"', '\\"'), doc.replace("\\", "\\\\")
    )
    escaped = "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1]
        for character in escaped
    )
    first, *further_lines = escaped.split("\n")
    if not further_lines:
        return [f'        """{first}"""']
    return [
        f'        """{first}',
        *(f"        {line}".rstrip() for line in further_lines),
        '        """',
    ]


_CLOSING_QUOTES = re.compile(r'"{3,}|"+\Z')
"""Quotes that would end a docstring."""


# ``promptdsl eject``: a copy of a section of a library, to change it in a project.

EJECT_DESCRIPTION = """\
Copy the source of a section into a file of your project, and print code that uses the copy instead
of the section. A comment in the copy says where it came from."""

# The code that uses a copy: of a template, of a template with white-space settings, of a function.
TEMPLATE_USE = """\
from pathlib import Path

from promptdsl import Template, override

{name}_file = Path({path})

with override({{{section}: lambda **inputs: Template({name}_file, inputs)}}):
    ...  # the prompt is written here"""
WHITE_SPACE_USE = """\
from promptdsl import Template, override, register_templates

register_templates({folder}, {options})

with override({{{section}: lambda **inputs: Template({file}, inputs)}}):
    ...  # the prompt is written here"""
FUNCTION_USE = """\
from promptdsl import override
from {module} import {name}

with override({{{section}: {name}}}):
    ...  # the prompt is written here"""


def add_eject(add_parser: AddParser) -> None:
    """Add the command and its options."""
    parser = add_command(
        add_parser,
        "eject",
        run=run_eject,
        takes="SECTION",
        description=EJECT_DESCRIPTION,
        failed=BROKEN_LIBRARY,
    )
    parser.add_argument("target", metavar="SECTION", help=SECTION_HELP)
    parser.add_argument(
        "--to",
        metavar="PATH",
        help="the new file, or its folder; by default the current folder",
    )
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument(
        "--json", action="store_true", help="print the file, and the code that uses it, as JSON"
    )


def run_eject(arguments: argparse.Namespace) -> tuple[str, list[str]]:
    """Write the copy; return the code that uses it, or JSON, and the notes.

    Raises :class:`UsageError` for a function without a source, and if a file cannot be written.
    """
    with loaded_section(arguments.target) as (library, name):
        info, function = library.sections[name], library[name]
    options, original = "", inspect.unwrap(function)
    is_template = info.kind == "template"
    ending = ".md.j2" if is_template else ".py"
    # A component may have a different name than its function.
    word = name.rpartition("/")[2] if is_template else original.__name__
    if not is_template and not word.isidentifier():  # the name of a lambda is <lambda>
        word = re.sub(r"\W", "_", name)
    # A module of the project would hide an installed module with the same name.
    hides_module = not is_template and word in (*sys.stdlib_module_names, "promptdsl")
    file_name = f"{word}_section{ending}" if hides_module else word + ending
    path: str = arguments.to or file_name
    if os.path.isdir(path) or path.endswith(("/", os.sep)):
        path = os.path.join(path, file_name)
    path = os.path.relpath(path)
    if is_template:
        files, template = _template_copies(library, name, path), TEMPLATE_USE
        if options := _white_space(library):
            template = WHITE_SPACE_USE
    else:
        files, template = {path: _function_copy(info, original)}, FUNCTION_USE
    variable = re.sub(r"\W|^(?=\d)", "_", word)
    module = os.path.splitext(path)[0].replace(os.sep, ".").replace("/", ".").strip(".")
    use = template.format(
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
        return as_json({"file": path, "section": info.section.name, "use": use}), []
    return use, [f"{path} is written: the code above uses it instead of {info.section.name}"]


def _white_space(library: Library) -> str:
    """Return the white-space settings of a library as code of arguments, without defaults."""
    if library.templates is None:
        return ""
    settings = library.templates.white_space
    defaults = type(settings)()._asdict()
    changed = {key: value for key, value in settings._asdict().items() if value != defaults[key]}
    return ", ".join(f"{key}={value}" for key, value in changed.items())


def _template_copies(library: Library, name: str, path: str) -> dict[str, str]:
    """Return the copies of a template and of the files that it includes, by their paths.

    Raises :class:`LibraryError` for a template that includes a file outside of its library.
    """
    info, folder = library.sections[name], library.templates
    assert folder is not None
    root = os.path.join(os.path.realpath(folder.folder), "")
    files = {path: info.source}
    unread_texts = [info.source]
    while unread_texts:
        for tag in _INCLUDE.findall(unread_texts.pop()):
            for included in _QUOTED.findall(tag):
                copy = os.path.join(os.path.dirname(path), included)
                original = os.path.join(folder.folder, included)
                if copy in files or not os.path.isfile(original):
                    continue
                # A name with .. could also lead out of the folder of the copy.
                if ".." in included.split("/") or not os.path.realpath(original).startswith(root):
                    raise LibraryError(
                        f"{info.section.name} includes {included!r}, which is not in its library",
                        fix="report this to the authors of the library; nothing is copied",
                    )
                with open(original, encoding="utf-8-sig", newline="") as stream:
                    files[copy] = stream.read()
                unread_texts.append(files[copy])
    # With trim_blocks, the library removes the line end, so the text still begins a line.
    line_end = "\n" if folder.white_space.trim_blocks else ""
    for file, text in files.items():
        opening = _FRONT_MATTER.match(text)
        if opening:  # the comment must not come before front matter
            files[file] = f"{opening[0]}# From {info.section}{opening[1]}{text[opening.end() :]}"
        else:
            files[file] = f"{{# From {info.section} #}}{line_end}{text}"
    return files


_INCLUDE = re.compile(r"\{%[-+]?\s*(?:include|import|from|extends)\b.*?%\}", re.DOTALL)
_QUOTED = re.compile(r"""["']([^"':]+)["']""")


_FRONT_MATTER = re.compile(r"---[ \t]*(\r\n|\r|\n)")
"""The line that begins front matter, with its line end."""


def _function_copy(info: SectionInfo, function: Callable[..., Any]) -> str:
    """Return a module with the source of a function and the imports that it needs.

    Raises :class:`UsageError` if the source of a single function cannot be read.
    """
    module = sys.modules[function.__module__]
    try:
        source = inspect.getsource(function)
        (definition,) = ast.parse(source).body
    except (OSError, SyntaxError, ValueError):
        problem = f"{function.__qualname__} has no source that can be copied"
        raise UsageError(f"{problem}: it is not a function of its module") from None
    names = set(_used_names(definition)) - {function.__name__}
    head = [f'"""From {info.section}"""', "", _imports(module, names), ""]
    return "\n".join([*head, source.rstrip("\n"), ""])


def _used_names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that code uses, also in annotations that are texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
        for inner in ast.walk(annotation) if isinstance(annotation, ast.AST) else ():
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                try:
                    yield from _used_names(ast.parse(inner.value, mode="eval"))
                except SyntaxError:
                    continue


def _imports(module: ModuleType, names: set[str]) -> str:
    """Return the imports of names that a module uses.

    They are those of the module. Names that the module defines, or imports under a condition, are
    imported from the module. Names that only type checkers import are left out.
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
        if name not in _MODULE_ATTRIBUTES:
            imports.add(module.__name__, name)
    return future + imports.text()


_MODULE_ATTRIBUTES = {"__builtins__", "__cached__", "__file__", *vars(ModuleType(""))}
"""The names that every module has."""
