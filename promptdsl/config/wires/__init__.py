"""The records of all providers: a file for each, of its name; ``config/wire.py`` has the class."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import TypeVar

from promptdsl.config.data_file import tables
from promptdsl.config.wire import NO_WIRE, Wire

T = TypeVar("T")


class _Wires(Mapping[str, Wire]):
    """The providers of the data file, each with its record, which is loaded when it is used."""

    def __getitem__(self, name: str) -> Wire:
        if name not in tables()["providers"]:
            raise KeyError(name)
        return _loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(tables()["providers"])

    def __len__(self) -> int:
        return len(tables()["providers"])


@cache
def _loaded(name: str) -> Wire:
    wire: Wire = import_module(f"{__name__}.{name}").WIRE
    return wire


WIRES: Mapping[str, Wire] = _Wires()


@lru_cache(maxsize=64)
def wire_of(provider: str | None) -> Wire:
    """Return the record of a provider; one without any traits for an unknown one, and for none."""
    return NO_WIRE if provider is None else WIRES.get(provider, NO_WIRE)


def forms() -> list[Wire]:
    """Return the records of the providers that have a form of their own."""
    return [wire for wire in WIRES.values() if wire.form == wire.name]


def of_all(values: Callable[[Wire], Iterable[T]]) -> tuple[T, ...]:
    """Return what the records have of one thing, each value once."""
    return tuple(dict.fromkeys(value for wire in WIRES.values() for value in values(wire)))
