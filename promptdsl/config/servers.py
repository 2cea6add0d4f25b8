"""The registration of a user's server."""

import re
from contextlib import ExitStack
from threading import Lock
from typing import Unpack

from promptdsl.config.data_file import tables
from promptdsl.config.model_facts import Facts, checked_facts
from promptdsl.config.server_rows import REGISTRY, Added, Server, provider_names
from promptdsl.config.transformation import as_layer
from promptdsl.foundation.errors import (
    ConfigError,
    OptionError,
    PromptError,
    TargetError,
    nearest,
    shown,
)
from promptdsl.foundation.source import author, door
from promptdsl.messages.provider_names import ProviderName

_CHANGING = Lock()
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
