"""Lazy imports: names of a package that are imported with their first use (PEP 562).

This module imports nothing: its cost is part of every ``import promptdsl``.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_names(
    package: "dict[str, object]", homes: "Mapping[str, str]"
) -> "tuple[list[str], Callable[[str], object], Callable[[], list[str]]]":
    """Return the ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    ``package`` is the ``globals()`` of the package. ``homes`` has its public names, by the module
    that defines them, relative to the package. A name is declared only there. Type checkers and
    other tools that run no code read the imports in the package, which are generated from it.

    After its first use, a name is a plain global. A wrong call of its value is an error with advice
    (:func:`~promptdsl.foundation.source.public_object`). ``__all__`` has constants first, and no
    name that begins with an underscore.
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> object:
        if name in modules:
            from importlib import import_module

            from promptdsl.foundation.source import public_object

            module = import_module(f"{package['__name__']}.{modules[name]}")
            value = package[name] = public_object(getattr(module, name))
            setattr(module, name, value)
            return value
        from promptdsl.foundation.old_names import OLD_NAMES, new_name_with_warning

        old = f"{package['__name__']}.{name}"
        if old in OLD_NAMES:
            return load(new_name_with_warning(old))
        message = f"module {package['__name__']!r} has no attribute {name!r}"
        if not name.startswith("_"):  # tools ask for private names, and need no advice
            from promptdsl.foundation.errors import close_names

            close = close_names(name, modules)
            message += f": did you mean {close[0]!r}?" if close else ""
        # With ``obj``, Python would add its own suggestion.
        raise AttributeError(message, name=name, obj=None)

    def names() -> list[str]:
        return sorted({*package, *modules})

    public = [name for name in modules if not name.startswith("_")]
    return sorted(public, key=lambda name: (not name.isupper(), name)), load, names
