"""Functions that find the record of a provider or a server by its name.

In this order: the tables of ``models.toml``; the servers of ``servers.toml`` and of users; the
functions, which begin with :func:`wire_of`. ``records.py`` has the records themselves.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeVar

import attrs

from promptdsl.config.records import RECORDS
from promptdsl.config.wire import NO_WIRE, Wire
from promptdsl.foundation.frozen import EMPTY
from promptdsl.messages.names import ProviderId

# The tables of ``models.toml``: providers and their facts, models, families, token encodings.


@cache
def tables() -> Mapping[str, Any]:  # Any: the tables of a TOML file
    """Return all tables of ``models.toml``; the file is read once."""
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "models.toml"), "rb") as file:
        return tomllib.load(file)


# The servers with the API of a provider: those in ``servers.toml``, and those of users.


class Family(NamedTuple):
    """The facts of some models of a server: those whose name contains one of these words."""

    words: Sequence[str]
    facts: Mapping[str, object]


@attrs.frozen(eq=False, repr=False)
class Server:
    """A server: the provider whose adapter writes its requests, and the facts that differ."""

    name: str
    adapter: str
    facts: Mapping[str, object]
    """The facts by name, and all other keys of its row in ``servers.toml``."""
    families: Sequence[Family] = ()
    telemetry: str = ""
    """Its name in OpenTelemetry, if it is not ``name``."""
    other_names: Sequence[str] = ()
    """Other names for it. For these names an error suggests the right name."""
    host: str = ""
    """The end of its host name, empty if it has none."""


@cache
def _built_in() -> Mapping[str, Server]:
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "servers.toml"), "rb") as file:
        rows = tomllib.load(file)
    return {name: _server(name, row) for name, row in rows.items()}


def _server(name: str, row: Mapping[str, Any]) -> Server:  # Any: a table of a TOML file
    """Return the server of a row of the data file."""
    families = [Family(facts["words"], facts) for facts in row.get("families", ())]
    options = {key: row[key] for key in ("telemetry", "other_names", "host") if key in row}
    return Server(name, row["adapter"], row, families, **options)


@attrs.frozen(eq=False, repr=False)
class RegisteredServers:
    """The servers of users by name.

    A registration makes a new object, because the object is a key of caches.
    """

    servers: Mapping[str, Server] = EMPTY


class Registry:
    """Holds the current registrations of users; ``models.py`` replaces them."""

    registered = RegisteredServers()


REGISTRY = Registry()


def server_of(provider: str | None) -> Server | None:
    """Return the server with this name, ``None`` for a provider or an unknown name."""
    if provider is None or provider in tables()["providers"]:
        return None
    return REGISTRY.registered.servers.get(provider) or _built_in().get(provider)


def provider_names() -> tuple[ProviderId, ...]:
    """Return the names of all providers: first providers with their own adapter, then servers.

    Servers that you registered come last.

    >>> from promptdsl import provider_names
    >>> [name in provider_names() for name in ("openai", "deepseek", "my-server")]
    [True, True, False]
    """
    return tuple(
        map(ProviderId, (*tables()["providers"], *_built_in(), *REGISTRY.registered.servers))
    )


def servers() -> Iterator[Server]:
    """Yield all servers, those of users last."""
    yield from _built_in().values()
    yield from REGISTRY.registered.servers.values()


# The functions that find the record of a provider or a server.

T = TypeVar("T")


def wire_of(provider: str | None) -> Wire:
    """Return the record of a provider or a server; ``NO_WIRE`` for an unknown name."""
    if provider is None:
        return NO_WIRE
    if provider in tables()["providers"]:
        return RECORDS[provider]
    server = server_of(provider)
    return NO_WIRE if server is None else _of_server(server)


_UNCOUNTED = (None, "extra_content", "provider_specific_fields", "reasoning_opaque")
"""Keys of an assistant message that the model does not read, so they are not counted."""


@lru_cache(maxsize=256)
def _of_server(server: Server) -> Wire:
    """Return the record of a server: the record of its adapter, with the facts that differ."""
    wire = RECORDS[server.adapter]
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
    """Return whether a block is a compaction of this provider, which replaces earlier messages."""
    kind = block.get("type")
    return any(kind == name and block.get(key) for name, key in wire_of(provider).compactions)


def of_all(values: Callable[[Wire], Iterable[T]]) -> tuple[T, ...]:
    """Return what ``values`` returns for all records, each value once."""
    return tuple(dict.fromkeys(value for wire in wires() for value in values(wire)))
