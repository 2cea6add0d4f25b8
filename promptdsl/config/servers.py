"""The registration of a user's server: :func:`register_provider`."""

import re
from contextlib import ExitStack
from threading import Lock
from typing import Unpack

from promptdsl.config.data_file import tables
from promptdsl.config.model_facts import Facts, checked_facts, settings_in
from promptdsl.config.models import OPEN
from promptdsl.config.server_rows import REGISTRY, Added, Server, provider_names
from promptdsl.config.transformation import as_layer
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import (
    OptionError,
    PromptError,
    TargetError,
    nearest,
    shown,
)
from promptdsl.foundation.source import author, public_api
from promptdsl.messages.provider_names import AdapterName

_CHANGING = Lock()
_FORMS = ("messages", "text")
"""The names that the command line and batches use for formats without a provider."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@public_api
def register_provider(name: str, /, *, adapter: AdapterName, **facts: Unpack[Facts]) -> ExitStack:
    """Register a server with the API of a provider, for the whole process.

    The name can be used wherever a provider is named. ``adapter`` is the provider with this API:
    ``openai_compatible`` for a server with OpenAI's Chat, ``openai_responses`` or ``anthropic``.
    ``facts`` are the fields of :class:`ModelFacts` that differ from the defaults of the adapter.
    Read replies with ``read_response(reply, provider=name)``: then reasoning and further keys are
    sent back to this server only. The result is a context manager: its end removes the
    registration.

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
        if not isinstance(name, str) or name in _FORMS or not _NAME.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
            problem = f"{shown(name)} cannot be the name of a server"
            raise OptionError(problem, fix="write a letter, then letters, digits, _ and -")
        if not isinstance(adapter, str) or adapter not in tables()["providers"]:  # pyright: ignore[reportUnnecessaryIsInstance]
            problem = f"unknown adapter {shown(adapter)}"
            raise TargetError(problem, fix=nearest(adapter, tables()["providers"]))
        checked = checked_facts(facts)
        _check_together(adapter, checked)
        settings = settings_in(facts, "server")
        if settings is not None:
            checked["transformation"] = as_layer(settings, at=author())
        server = Server(name, adapter, checked)
        with _CHANGING:
            if name in provider_names():
                fix = "choose another name, or add facts about its models with register_model()"
                raise OptionError(f"the provider {name!r} exists already", fix=fix)
            REGISTRY.added = Added({**REGISTRY.added.servers, name: server})
    except PromptError as error:
        raise error.located(author()) from None
    registration = ExitStack()
    registration.callback(_remove, server)
    return registration


_OF_CHAT = ("reasoning_key", "missing_reasoning", "thinking_tags", "kept_keys")


def _check_together(adapter: str, facts: Facts) -> None:
    """Raise :class:`OptionError` for facts that have no effect without other facts."""
    key = facts.get("reasoning_key")
    for name in _OF_CHAT:
        if facts.get(name) and wire_of(adapter).folder != wire_of(OPEN).folder:
            raise OptionError(f"only servers with Chat have {name}", fix=f"write adapter={OPEN!r}")
    if facts.get("missing_reasoning") is not None and key in (None, "content"):
        problem = "missing_reasoning needs a reasoning_key that is not 'content'"
        raise OptionError(problem, fix="add reasoning_key='reasoning_content'")
    if key is not None and key in facts.get("kept_keys", ()):
        raise OptionError("kept_keys contains the reasoning_key", fix="leave it out of kept_keys")
    if key == "content" and facts.get("thinking_tags") is None:
        raise OptionError("reasoning_key='content' needs tags", fix="add thinking_tags")
    if key is not None and facts.get("reasoning_back") is None:
        raise OptionError(
            "reasoning_key needs reasoning_back",
            fix="write when reasoning is sent back: reasoning_back='always', 'turn' or 'never'",
        )


def _remove(server: Server) -> None:
    with _CHANGING:
        others = {
            name: known for name, known in REGISTRY.added.servers.items() if known is not server
        }
        REGISTRY.added = Added(others)
