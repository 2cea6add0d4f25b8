"""The servers with the API of a provider: those in ``servers.toml``, and those of users."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import attrs

from promptdsl.config.data_file import tables
from promptdsl.foundation.frozen import EMPTY
from promptdsl.messages.provider_names import ProviderId


class Family(NamedTuple):
    """The facts of those models of a server whose name contains one of these words."""

    words: Sequence[str]
    facts: Mapping[str, object]


@attrs.frozen(eq=False, repr=False)
class Server:
    """A server: the provider whose adapter writes its requests, and the facts that differ."""

    name: str
    adapter: str
    facts: Mapping[str, object]
    """The facts by name, and other keys of its row."""
    families: Sequence[Family] = ()
    telemetry: str = ""
    """Its name in OpenTelemetry, if that is a different one."""
    other_names: Sequence[str] = ()
    """Other names for it: an error suggests the right name."""
    host: str = ""
    """The end of its host name, if it has one."""


@cache
def _built_in() -> Mapping[str, Server]:
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "servers.toml"), "rb") as file:
        rows = tomllib.load(file)
    return {name: _server(name, row) for name, row in rows.items()}


def _server(name: str, row: Mapping[str, Any]) -> Server:  # Any: a table of a TOML file
    """Return the server of a row of the data file."""
    families = [Family(facts["words"], facts) for facts in row.get("families", ())]
    others = {key: row[key] for key in ("telemetry", "other_names", "host") if key in row}
    return Server(name, row["adapter"], row, families, **others)


@attrs.frozen(eq=False, repr=False)
class Added:
    """The servers of users by name. A change makes a new object: it is a key of caches."""

    servers: Mapping[str, Server] = EMPTY


class Registry:
    """The current registrations of users."""

    added = Added()


REGISTRY = Registry()


def server_of(provider: str | None) -> Server | None:
    """Return the server with this name, ``None`` for a provider and for an unknown name."""
    if provider is None or provider in tables()["providers"]:
        return None
    return REGISTRY.added.servers.get(provider) or _built_in().get(provider)


def provider_names() -> tuple[ProviderId, ...]:
    """Return the names of all providers: first those with their own adapter, then the servers.

    Registered servers come last.

    >>> from promptdsl import provider_names
    >>> [name in provider_names() for name in ("openai", "deepseek", "my-server")]
    [True, True, False]
    """
    return tuple(map(ProviderId, (*tables()["providers"], *_built_in(), *REGISTRY.added.servers)))


def servers() -> Iterator[Server]:
    """Yield all servers, those of users last."""
    yield from _built_in().values()
    yield from REGISTRY.added.servers.values()
