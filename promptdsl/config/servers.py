"""Servers with the API of a provider: rows of facts in ``servers.toml``, and users' own."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from threading import Lock
from typing import Any, NamedTuple, Unpack, cast

import attrs

from promptdsl.config.data_file import tables
from promptdsl.config.model_facts import FACT_NAMES, Facts, checked_facts
from promptdsl.config.transformation import as_layer
from promptdsl.foundation.errors import (
    ConfigError,
    OptionError,
    PromptError,
    TargetError,
    nearest,
    shown,
)
from promptdsl.foundation.frozen import EMPTY
from promptdsl.foundation.source import author, door
from promptdsl.messages.provider_names import ProviderName


class Family(NamedTuple):
    """The facts of the models of a server whose name has one of these words."""

    words: Sequence[str]
    facts: Facts


@attrs.frozen(eq=False, repr=False)
class Server:
    """A server: the provider whose adapter writes for it, and the facts that differ."""

    name: str
    adapter: str
    facts: Facts
    families: Sequence[Family] = ()
    telemetry: str = ""
    """Its name in OpenTelemetry, where that is another one."""
    other_names: Sequence[str] = ()
    """Other names of it: an error suggests the right one."""
    host: str = ""
    """The end of the name of its host, where it has one."""


@cache
def _built_in() -> Mapping[str, Server]:
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "servers.toml"), "rb") as file:
        rows = tomllib.load(file)
    return {name: _server(name, row) for name, row in rows.items()}


def _server(name: str, row: Mapping[str, Any]) -> Server:
    """Return the server of a row of the data file."""
    families = [Family(it["words"], facts_in(it)) for it in row.get("families", ())]
    others = {key: row[key] for key in ("telemetry", "other_names", "host") if key in row}
    return Server(name, row["adapter"], facts_in(row), families, **others)


def facts_in(table: Mapping[str, object]) -> Facts:
    """Return the facts in a table of a data file; lists become tuples."""
    facts = {
        name: tuple(cast("list[object]", value)) if isinstance(value, list) else value
        for name, value in table.items()
        if name in FACT_NAMES
    }
    return cast("Facts", facts)


@attrs.frozen(eq=False, repr=False)
class Added:
    """The servers of users by name. Every change makes another object, a key of caches."""

    servers: Mapping[str, Server] = EMPTY


class Registry:
    """What users registered, at this moment."""

    added = Added()


REGISTRY = Registry()
_CHANGING = Lock()


def server_of(provider: str | None) -> Server | None:
    """Return the server of this name, ``None`` for a provider and for an unknown name."""
    if provider is None or provider in tables()["providers"]:
        return None
    return REGISTRY.added.servers.get(provider) or _built_in().get(provider)


def provider_names() -> tuple[str, ...]:
    """Return the names of all providers: those with an adapter of their own, then the servers.

    Servers that were registered come last.

    >>> from promptdsl import provider_names
    >>> [name in provider_names() for name in ("openai", "deepseek", "my-server")]
    [True, True, False]
    """
    return (*tables()["providers"], *_built_in(), *REGISTRY.added.servers)


def servers() -> Iterator[Server]:
    """Yield all servers, those of users last."""
    yield from _built_in().values()
    yield from REGISTRY.added.servers.values()


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@door
def register_provider(name: str, /, *, adapter: ProviderName, **facts: Unpack[Facts]) -> ExitStack:
    """Register a server with the API of a provider, for the whole process.

    Its name can be given wherever a provider is named. ``adapter`` is the provider with this API:
    ``openai_compatible`` for a server with OpenAI's Chat, ``openai_responses`` or ``anthropic``.
    ``facts`` are the fields of :class:`ModelFacts` that differ from the defaults of the adapter.
    What a reply of the server holds goes back to it alone: ``read_response(reply, provider=name)``.
    The result is a context manager, which removes the registration at its end.

    >>> from promptdsl import Timeline, User, register_provider, render
    >>> with register_provider("house", adapter="openai_compatible", schema_output=True):
    ...     rendered = render(Timeline(User("Hi.")), provider="house", model="house-1")
    >>> rendered.facts.provider, rendered.to_openai()["messages"]
    ('house', [{'role': 'user', 'content': 'Hi.'}])

    Raises :class:`TargetError` for an unknown adapter, :class:`OptionError` for a name that is
    taken or has other characters than letters, digits, ``_`` and ``-``, and for a fact that is
    unknown or has a wrong value; :class:`ConfigError` for a wrong transformation or a function.
    """
    try:
        if not isinstance(name, str) or not _NAME.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
            problem = f"{shown(name)} is no name of a server"
            raise OptionError(problem, fix="write a letter, then letters, digits, _ and -")
        if adapter not in tables()["providers"]:
            problem = f"unknown adapter {shown(adapter)}"
            raise TargetError(problem, fix=nearest(adapter, tables()["providers"]))
        checked = checked_facts(facts)
        if callable(given := facts.get("transformation")):
            problem = f"the transformation of a server is no function: {shown(given)}"
            raise ConfigError(problem, fix="pass the function to render(transformation=...)")
        if given is not None:
            checked["transformation"] = as_layer(given, at=author())
        server = Server(name, adapter, checked)
        with _CHANGING:
            if name in provider_names():
                fix = "register it under another name; register_model() adds facts of its models"
                raise OptionError(f"the provider {name!r} is there already", fix=fix)
            REGISTRY.added = Added({**REGISTRY.added.servers, name: server})
    except PromptError as error:
        raise error.located(author()) from None
    registration = ExitStack()
    registration.callback(_remove, server)
    return registration


def _remove(server: Server) -> None:
    with _CHANGING:
        others = {
            name: known for name, known in REGISTRY.added.servers.items() if known is not server
        }
        REGISTRY.added = Added(others)
