"""The batch services of providers: what a line of their files looks like, and their limits.

``services.toml`` has their data; :func:`service_of` returns one service.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import attrs

from promptdsl import ModelFacts, ProviderId, provider_names
from promptdsl.foundation.errors import DataError, OptionError, nearest, shown
from promptdsl.foundation.frozen import is_mapping

MESSAGES = "messages"
"""The format for your own programs: each row has its messages as a JSON text."""

LONGEST_ID = 64
"""The maximum number of characters of an id: the smallest limit of all services."""


@attrs.frozen
class Service:
    """The batch service of a provider; ``services.toml`` explains its fields.

    >>> from promptdsl.batch import service_of
    >>> openai = service_of("openai")
    >>> openai.requests, openai.most_bytes
    (50000, 200000000)
    """

    name: str
    id: str = "id"
    body: str = "messages"
    line: Mapping[str, str] = attrs.field(factory=dict[str, str])
    model: bool = False
    required: Sequence[str] = ()
    numbers: Sequence[str] = ()
    refused: Mapping[str, str] = attrs.field(factory=dict[str, str])
    lifted: Sequence[str] = ()
    options: str = ""
    requests: int = 0
    fewest: int = 0
    most_bytes: int = 0
    answer: Sequence[str] = ()
    errors: Sequence[Sequence[str]] = ()
    ending: Sequence[str] = ()
    source: str = ""

    def check_keys(self, keys: Mapping[str, object]) -> None:
        """Raise :class:`OptionError` if a required key is missing, or a number is written as text.

        ``keys`` are the keys of a body that the caller sets, as no prompt writes them.
        """
        for key in self.required:
            if key not in keys:
                what = f"{self.name} requires {key}, which is not part of a prompt"
                fix = f"give its value: --set {key}:=..., or extra={{{key!r}: ...}}"
                raise OptionError(what, fix=fix)
        for key in self.numbers:
            if isinstance(keys.get(key), str):
                what = f"{key} of {self.name} must be a number, not {shown(keys[key])}"
                fix = f"write a number: --set {key}=1, or extra={{{key!r}: 1}}"
                raise OptionError(what, fix=fix)

    def line_of(self, id: str, body: str) -> bytes:
        """Return a line of a request file; ``body`` is the JSON text of the body."""
        constant_keys = "".join(f'"{key}":"{constant}",' for key, constant in self.line.items())
        # Messages are one JSON text. As objects, Arrow would give each the keys of all, with null.
        body = json.dumps(body, ensure_ascii=False) if self.name == MESSAGES else body
        return f'{{"{self.id}":"{id}",{constant_keys}"{self.body}":{body}}}\n'.encode()

    def body_of(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the body of a request: the payload, with its keys where the service needs them.

        The payload may be changed.
        Raises :class:`DataError` for a payload that the service refuses.
        """
        for key in self.refused.keys() & payload.keys():
            raise DataError(
                f"the batch service of {self.name} does not accept {self.refused[key]} ({key})",
                fix="leave them out of the prompt, or send it without a batch",
            )
        if not self.options:
            return payload
        config = payload.pop("config", {})
        lifted = {key: config.pop(key) for key in self.lifted if key in config}
        return {**payload, **lifted, **({self.options: config} if config else {})}

    def is_full(self, requests: int, size: int) -> bool:
        """Return whether a file with this number of requests and bytes is above a limit."""
        return bool(self.requests and requests > self.requests) or bool(
            self.most_bytes and size > self.most_bytes
        )


@cache
def services() -> Mapping[str, Service]:
    """Return the batch services by provider, and the format ``messages``."""
    path = Path(__file__).with_name("services.toml")
    tables = cast("dict[str, dict[str, Any]]", tomllib.loads(path.read_text("utf-8")))
    providers = {
        name: Service(name, most_bytes=table.pop("megabytes") * 1_000_000, **table)
        for name, table in tables.items()
    }
    return {**providers, MESSAGES: Service(MESSAGES)}


def service_of(format: str) -> Service:
    """Return the batch service of a provider; a server has the batch service of its adapter.

    Raises :class:`OptionError` for a provider without a batch service.
    """
    if format in services():
        return services()[format]
    adapter = ModelFacts(ProviderId(format)).wire.adapter
    if adapter not in services():
        problem = f"{format!r} has no batch service"
        names = dict.fromkeys((*services(), *provider_names()))
        raise OptionError(problem, fix=nearest(format, names))
    return attrs.evolve(services()[adapter], name=format)


class TakenKey(OptionError):
    """The error for an extra key of a body that the prompt also writes."""


def merged(body: dict[str, Any], extra: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Return a body with extra keys; objects are merged. The body itself is changed.

    ``path`` is the path to ``body`` in the complete body, for the error. Raises :class:`TakenKey`
    for a key that the prompt also writes, with another value.
    """
    for key, extra_value in extra.items():
        body_value = body.get(key)
        if key not in body:
            body[key] = extra_value
        elif is_mapping(body_value) and is_mapping(extra_value):
            body[key] = merged({**body_value}, extra_value, f"{path}{key}.")
        elif body_value != extra_value:
            raise TakenKey(
                f"the prompt already writes {path}{key}",
                fix="do not set it, or change the prompt",
            )
    return body
