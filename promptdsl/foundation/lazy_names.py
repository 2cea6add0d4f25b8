"""Names of a package that are loaded when they are first asked for (PEP 562).

It imports nothing: its cost is part of every ``import promptdsl``.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(
    package: "dict[str, Any]", homes: "Mapping[str, str]"
) -> "tuple[Callable[[str], Any], Callable[[], list[str]]]":
    """Return the ``__getattr__`` and the ``__dir__`` of a package, given its ``globals()``.

    ``homes`` lists public names by module, relative to the package. A name is a plain global once
    it was asked for.
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> "Any":
        if name not in modules:
            raise AttributeError(_unknown(package["__name__"], name, modules))
        from importlib import import_module

        module = import_module(f"{package['__name__']}.{modules[name]}")
        value = package[name] = getattr(module, name)
        return value

    def names() -> list[str]:
        return sorted({*package, *modules})

    return load, names


def _unknown(package: str, name: str, known: "Mapping[str, str]") -> str:
    what = f"module {package!r} has no attribute {name!r}"
    if name.startswith("_"):  # asked for by tools, which do without
        return what
    from difflib import get_close_matches

    close = get_close_matches(name, known, 1)
    return f"{what}: did you mean {close[0]!r}?" if close else what
