"""The records of all providers: a file for each, of its name; ``config/wire.py`` has the class."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import TypeVar

from promptdsl.config.data_file import tables
from promptdsl.config.wire import NO_WIRE, Wire

T = TypeVar("T")


@lru_cache(maxsize=64)
def wire_of(provider: str | None) -> Wire:
    """Return the record of a provider; one without any traits for an unknown one, and for none."""
    if provider not in tables()["providers"]:
        return NO_WIRE
    wire: Wire = import_module(f"{__name__}.{provider}").WIRE
    return wire


@cache
def wires() -> tuple[Wire, ...]:
    """Return the records of all providers of the data file, in its order."""
    return tuple(map(wire_of, tables()["providers"]))


def forms() -> list[Wire]:
    """Return the records of the providers that have a form of their own."""
    return [wire for wire in wires() if wire.form == wire.name]


def compacts(provider: str | None, block: Mapping[str, object]) -> bool:
    """Return whether a block of a provider stands for all that was said before it."""
    kind = block.get("type")
    return any(kind == name and block.get(key) for name, key in wire_of(provider).compactions)


def of_all(values: Callable[[Wire], Iterable[T]]) -> tuple[T, ...]:
    """Return what the records have of one thing, each value once."""
    return tuple(dict.fromkeys(value for wire in wires() for value in values(wire)))
