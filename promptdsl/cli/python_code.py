"""Annotations and defaults as code, with the imports that they need."""

import ast
import builtins
import json
import sys
import types
import typing
from collections.abc import Callable, Mapping
from datetime import date
from importlib.util import resolve_name
from types import ModuleType
from typing import Any, Literal, Union, cast, get_args, get_origin


class Imports:
    """The imports of a generated file; writing an annotation adds the imports that it needs."""

    def __init__(self, names: Mapping[str, set[str]]) -> None:
        self.names = {module: {*imported} for module, imported in names.items()}
        self.modules: set[str] = set()

    def text(self) -> str:
        """Return the imports as code: first of the standard library, then the others."""
        lines = {f"import {module}": module for module in self.modules}
        for module, names in self.names.items():
            lines[f"from {module} import {', '.join(sorted(names))}"] = module
        groups: tuple[list[str], list[str]] = ([], [])
        for line in sorted(lines, key=lambda line: (line.startswith("from"), line)):
            top = lines[line].split()[0].partition(".")[0]
            groups[top not in sys.stdlib_module_names].append(line)
        return "\n\n".join("\n".join(group) for group in groups if group) + "\n"

    def code_of(self, annotation: Any) -> str:  # Any: whatever an author writes as a type
        """Return an annotation as code; ``Any`` if it cannot be written as code."""
        origin, args = get_origin(annotation), get_args(annotation)
        if annotation is None or annotation is types.NoneType:
            return "None"
        if origin is Literal:
            values = ", ".join(self.default_code(value) for value in args)
            return f"{self.add('typing', 'Literal')}[{values}]"
        if origin in (Union, types.UnionType):
            return " | ".join(map(self.code_of, args))
        if origin is typing.Annotated:
            return self.code_of(args[0])
        if origin is Callable and args:
            taken, returned = args
            inner = "..."  # also for a variable instead of the list
            if isinstance(taken, list):
                inner = f"[{', '.join(map(self.code_of, cast('list[object]', taken)))}]"
            name = self.add("collections.abc", "Callable")
            return f"{name}[{inner}, {self.code_of(returned)}]"
        if isinstance(origin or annotation, type):
            inner = ", ".join("..." if arg is ... else self.code_of(arg) for arg in args)
            return self._class(origin or annotation) + (f"[{inner}]" if inner else "")
        return self.add("typing", "Any")

    def default_code(self, value: object) -> str:
        """Return a default as code; ``...`` if it cannot be written as code."""
        if type(value) is str:
            return code_of_text(value)
        if type(value) in (types.NoneType, bool, int):
            return repr(value)
        if type(value) is float:
            return repr(value) if value - value == 0 else "..."
        if type(value) is date:
            self.add("datetime", "date")
            return f"date({value.year}, {value.month}, {value.day})"
        if type(value) in (list, tuple) and not value:
            return repr(value)
        return "..."

    def _class(self, cls: type) -> str:
        if cls.__module__ == "builtins" and hasattr(builtins, cls.__qualname__):
            return cls.__qualname__
        if "<" in cls.__qualname__ or cls.__module__ in ("__main__", "builtins"):
            return self.add("typing", "Any")
        if cls.__module__.partition(".")[0] in ("promptdsl", "datetime", "typing"):
            import promptdsl

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
    """Return the module to import a class from: ``pathlib``, not ``pathlib._local``."""
    public = cls.__module__.partition("._")[0]
    has_it = getattr(sys.modules.get(public), cls.__name__, None) is cls
    return public if has_it else cls.__module__


def imported_from(statement: ast.ImportFrom, module: ModuleType) -> str:
    """Return the full name of the module from which a statement in ``module`` imports."""
    return resolve_name("." * statement.level + (statement.module or ""), module.__package__)


def code_of_text(text: str) -> str:
    """Return a text as code, in double quotes if possible."""
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)
