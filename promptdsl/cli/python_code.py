"""Annotations and defaults as code, with the imports that they need."""

import types
import typing
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Literal, Union, get_args, get_origin


class Imports:
    """The imports of a file that is written, and what is written with them."""

    def __init__(self, names: Mapping[str, set[str]]) -> None:
        self.names = {module: {*found} for module, found in names.items()}
        self.modules: set[str] = set()

    def text(self) -> str:
        """Return the imports: modules first, then names."""
        lines = [f"import {module}" for module in sorted(self.modules)]
        lines += [
            f"from {module} import {', '.join(sorted(names))}"
            for module, names in sorted(self.names.items())
        ]
        return "\n".join(lines) + "\n"

    def code_of(self, annotation: Any) -> str:  # Any: whatever an author writes as a type
        """Return an annotation as code; ``Any`` for what cannot be written."""
        origin, args = get_origin(annotation), get_args(annotation)
        if annotation is None or annotation is types.NoneType:
            return "None"
        if origin is Literal:
            values = ", ".join(repr(value) for value in args)
            return f"{self._named('typing', 'Literal')}[{values}]"
        if origin in (Union, types.UnionType):
            return " | ".join(self.code_of(one) for one in args)
        if origin is typing.Annotated:
            return self.code_of(args[0])
        if origin is Callable:
            *taken, returned = args
            inner = "..." if taken == [...] else f"[{', '.join(map(self.code_of, taken[0]))}]"
            name = self._named("collections.abc", "Callable")
            return f"{name}[{inner}, {self.code_of(returned)}]"
        if isinstance(origin or annotation, type):
            inner = ", ".join("..." if one is ... else self.code_of(one) for one in args)
            return self._class(origin or annotation) + (f"[{inner}]" if inner else "")
        return self._named("typing", "Any")

    def default_code(self, value: object) -> str:
        """Return a default as code; ``...`` for one that code cannot tell."""
        if value is None or isinstance(value, bool | int | str):
            return repr(value) if type(value) in (type(None), bool, int, str) else "..."
        if type(value) is float:
            return repr(value) if value - value == 0 else "..."
        if type(value) is date:
            self._named("datetime", "date")
            return f"date({value.year}, {value.month}, {value.day})"
        if type(value) in (list, tuple) and not value:
            return repr(value)
        return "..."

    def _class(self, cls: type) -> str:
        if "<" in cls.__qualname__ or cls.__module__ == "__main__":
            return self._named("typing", "Any")
        if cls.__module__ == "builtins":
            return cls.__qualname__
        if cls.__module__.partition(".")[0] in ("promptdsl", "datetime", "typing"):
            import promptdsl

            module = cls.__module__ if not hasattr(promptdsl, cls.__name__) else "promptdsl"
            return self._named(module, cls.__qualname__)
        self.modules.add(cls.__module__)
        return f"{cls.__module__}.{cls.__qualname__}"

    def _named(self, module: str, name: str) -> str:
        self.names.setdefault(module, set()).add(name)
        return name
