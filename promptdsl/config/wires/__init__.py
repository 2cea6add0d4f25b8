"""The records of all providers: one file for each. The class is in ``config/wire.py``."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, TypeVar

import attrs

from promptdsl.config.data_file import tables
from promptdsl.config.server_rows import Server, server_of
from promptdsl.config.wire import NO_WIRE, Wire

T = TypeVar("T")


def wire_of(provider: str | None) -> Wire:
    """Return the record of a provider or a server; ``NO_WIRE`` for an unknown name."""
    if provider is None:
        return NO_WIRE
    if provider in tables()["providers"]:
        return _loaded(provider)
    server = server_of(provider)
    return NO_WIRE if server is None else _of_server(server)


@cache
def _loaded(provider: str) -> Wire:
    wire: Wire = import_module(f"{__name__}.{provider}").WIRE
    return wire


_UNCOUNTED = (None, "extra_content", "provider_specific_fields", "reasoning_opaque")
"""The keys of signatures, which the model does not read."""


@lru_cache(maxsize=256)
def _of_server(server: Server) -> Wire:
    """Return the record of a server: that of its adapter, with models of any name."""
    wire = _loaded(server.adapter)
    facts: Any = server.facts  # Any: each was checked
    keys = (facts.get("reasoning_key"), *facts.get("kept_keys", ()))
    return attrs.evolve(
        wire,
        name=server.name,
        contents=(*wire.contents, *(str(key) for key in keys if key not in _UNCOUNTED)),
        other_names=(*server.other_names,),
        telemetry=(server.telemetry or server.name, wire.telemetry[1]),
        any_model=True,
        signs=wire.signs and facts.get("reasoning_back", "never") == "never",
        chat=None,
        deploys=False,
        own_models=False,
        some_models=False,
    )


@cache
def wires() -> tuple[Wire, ...]:
    """Return the records of all providers of the data file, in its order."""
    return tuple(map(wire_of, tables()["providers"]))


def provider_formats() -> list[Wire]:
    """Return the records of the providers that have their own format."""
    return [wire for wire in wires() if wire.provider_format == wire.name]


def compacts(provider: str | None, block: Mapping[str, object]) -> bool:
    """Return whether a block is a provider's compaction, which replaces all earlier messages."""
    kind = block.get("type")
    return any(kind == name and block.get(key) for name, key in wire_of(provider).compactions)


def of_all(values: Callable[[Wire], Iterable[T]]) -> tuple[T, ...]:
    """Return the values that a function gives for all records, each value once."""
    return tuple(dict.fromkeys(value for wire in wires() for value in values(wire)))
