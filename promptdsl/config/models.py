"""The facts about a model at a provider, from ``models.toml`` and from users' registrations.

:func:`facts_for` finds the facts, in layers. Then come the functions that find a model by its name,
:func:`register_model`, and :func:`register_provider` for a user's server.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache, lru_cache
from threading import Lock
from typing import Any, Unpack, cast

import attrs

from promptdsl.config.model_facts import (
    Facts,
    MappedRole,
    ModelFacts,
    Roles,
    TokenFactors,
    checked_facts,
    facts_in,
    settings_in,
)
from promptdsl.config.transformation import as_layer
from promptdsl.config.wires import (
    REGISTRY,
    RegisteredServers,
    Server,
    provider_names,
    server_of,
    servers,
    tables,
    wire_of,
    wires,
)
from promptdsl.foundation.errors import OptionError, PromptError, TargetError, nearest, shown
from promptdsl.foundation.frozen import EMPTY
from promptdsl.foundation.source import author, public_api
from promptdsl.messages.names import AdapterName, ProviderName

# The facts about a model at a provider.


def facts_for(model: str | None, provider: str | None) -> ModelFacts:
    """Return the facts about a model at a provider; both may be ``None``.

    Without a provider, the name of the model decides which provider it is. If the provider is not
    that of the model, only those facts of the model are used that are true there too. An unknown
    model gets the careful defaults of the provider.

    Raises :class:`TargetError` for an unknown provider.
    """
    if provider is not None:
        check_provider(provider)
    return _look_up(model, provider, _registered, REGISTRY.registered)


@lru_cache(maxsize=64)
def facts_with(
    facts: ModelFacts,
    changes: tuple[tuple[str, Any], ...],  # Any: each fact has its own type
) -> ModelFacts:
    """Return facts with changes, the same object for equal facts and changes."""
    return attrs.evolve(facts, **dict(changes))


@attrs.frozen(eq=False, repr=False)
class ModelEntry:
    """The facts about the models of one name.

    ``on`` has facts that are true only at one provider, by the name of the provider.
    """

    name: str
    provider: str
    facts: Facts
    on: Mapping[str, Facts] = EMPTY


@lru_cache(maxsize=1024)
def _look_up(
    model: str | None,
    provider: str | None,
    registered: "_RegisteredModels",
    _servers: RegisteredServers,
) -> ModelFacts:
    """Return the facts of :func:`facts_for`.

    ``_servers`` is only a part of the key of the cache: with other servers, the facts may differ.
    """
    # The target is the provider that was named, or else the provider of the model.
    name = model or ""
    model_entries = _model_entries(name, registered)
    target = provider or _default_provider(name, model_entries)
    if target is None and not model:
        return _facts(Facts(), model=model)
    if target is None:
        return _facts(_counting(name, model_entries, OPEN), model=model)
    # The layers, in this order: the facts of the provider and of model families there, of the
    # server and of model families there, and of the model.
    families = [*_provider_layers(target, name)]
    models = [*_model_layers(target, model_entries)]
    stated, role_layers = Facts(), list[tuple[str, Roles]]()
    for layer, facts in (*families, *models):
        stated.update(facts)
        if settings := facts.get("transformation"):
            stated["transformation"] = (layer, settings)
        if roles := _roles_in(facts):
            role_layers.append((layer, roles))
    # Tokens are counted by an encoding, if it is known, or else by factors.
    stated["token_factors"] = None
    if stated.get("encoding") is None:
        stated.update(_counting(name, model_entries, target))
    has_media = any("media" in facts for layer, facts in families if layer.startswith("models "))
    return _facts(
        stated,
        provider=target,
        model=model,
        known=bool(models),
        guesses_media=bool(model) and not (models or has_media),
        role_layers=tuple(role_layers),
    )


def _roles_in(facts: Facts) -> Roles:
    """Return the roles of events and groundings that these facts set."""
    roles: list[tuple[str, MappedRole]] = []
    if "event_role" in facts:
        roles.append(("event", facts["event_role"]))
    if "ephemeral_role" in facts:
        roles.append(("ephemeral", facts["ephemeral_role"]))
    return tuple(roles)


def _provider_layers(target: str, model: str) -> Iterator[tuple[str, Facts]]:
    """Yield the facts of a provider with the names of the layers.

    For a server, those of its adapter come first. The facts of the model families to which this
    model belongs follow the facts of the provider and of the server. Raises :class:`TargetError`
    for an unknown provider.
    """
    server = server_of(target)
    if server is None:
        check_provider(target)  # another thread may have ended a registration
        yield from _adapter_layers(target, model)
        return
    yield from _adapter_layers(server.adapter, model)
    yield f"provider {server.name}", facts_in(server.facts)
    for family in server.families:
        if _has_word(model, family.words):
            yield f"models of {family.words[0]} at {server.name}", facts_in(family.facts)


def _adapter_layers(provider: str, model: str) -> Iterator[tuple[str, Facts]]:
    """Yield the facts of a provider in ``models.toml``, and those of model families there."""
    yield f"provider {provider}", facts_in(tables()["providers"][provider])
    for table in tables()["vendors"]:
        if table["provider"] == provider and _has_word(model, table["words"]):
            yield f"models of {table['words'][0]}", facts_in(table)


def _model_layers(
    target: str, model_entries: tuple[ModelEntry, ...]
) -> Iterator[tuple[str, Facts]]:
    """Yield the facts of a model that are true at a target, with the names of the layers."""
    for model_entry in model_entries:
        facts = _facts_on(model_entry, target)
        if facts is not None:
            yield f"model {model_entry.name}", facts


def _default_provider(model: str, model_entries: tuple[ModelEntry, ...]) -> str | None:
    """Return the provider of a model if no provider is named.

    It is the provider of its facts, or else that of its family; ``None`` if it has neither.
    """
    if not model_entries:
        return family_provider(model)
    owner, facts = model_entries[-1].provider, Facts()
    if owner not in tables()["providers"] and server_of(owner) is None:
        return None  # the registration of this server ended
    for model_entry in model_entries:
        facts.update(model_entry.facts)
    if owner == "openai" and not facts.get("chat", True):
        return "openai_responses"
    return owner


def _facts(stated: Facts, **target: object) -> ModelFacts:
    # Any: each fact was checked, and a fact of the data file has the type of its field
    return ModelFacts(**cast("dict[str, Any]", {**stated, **target}))


def _facts_on(model_entry: ModelEntry, target: str) -> Facts | None:
    """Return the facts of a model that are true at a target; ``None`` if there are none."""
    adapter = wire_of(target).adapter
    if model_entry.provider in (target, adapter):
        return model_entry.facts
    table = tables()["providers"][adapter]
    if model_entry.provider not in table.get("takes_from", (model_entry.provider,)):
        return None
    true_there = {
        key: value for key, value in model_entry.facts.items() if key in table.get("takes", ())
    }
    facts = cast("Facts", true_there)
    if "media" in facts:
        facts["media"] = tuple(kind for kind in facts["media"] if kind in table["media"])
    facts.update(model_entry.on.get(target, Facts()))
    return facts or None


OPEN = "openai_compatible"
"""The provider for servers that are not named. Its facts count the tokens of an unknown model."""
USUAL = "openai"
"""The provider whose format is used to compare a prompt that has no target."""


def _counting(model: str, model_entries: tuple[ModelEntry, ...], target: str) -> Facts:
    """Return how to count the tokens of a model whose facts have no encoding.

    The result is an encoding or token factors. The name of the model matters more than the target:
    first come the facts of the model, then a word of its name, then the facts of the target.
    """
    by_word = [table for table in tables()["vocabularies"] if _has_word(model, table["words"])]
    models = [model_entry.facts for model_entry in reversed(model_entries)]
    for facts in (*models, *by_word, tables()["providers"][wire_of(target).adapter]):
        if "token_factors" in facts:
            factors = facts["token_factors"]
            if factors is not None:
                factors = TokenFactors(*factors)
            return {"token_factors": factors}
        # The encoding of a word is true everywhere. The encoding of a model is true only at some
        # providers, and _facts_on() has decided about it.
        if "words" in facts:
            return {"encoding": facts["encoding"]}
    return {}


def _has_word(model: str, words: Iterable[str]) -> bool:
    """Return whether the name of a model contains a word, without a letter next to the word."""
    name = model.lower()
    return any(re.search(rf"(?<![a-z]){re.escape(word)}{_end(word)}", name) for word in words)


def _end(word: str) -> str:
    """Return a pattern for the end of a word: ``4.5`` is not a word of ``4.51``."""
    return "(?![a-z0-9])" if word[-1].isdigit() else "(?![a-z])"


@cache
def _built_in() -> Mapping[str, ModelEntry]:
    by_pattern: dict[str, ModelEntry] = {}
    for name, table in tables()["models"].items():
        model_entry = ModelEntry(name, table["provider"], facts_in(table), table.get("on", EMPTY))
        by_pattern.update(dict.fromkeys(table["patterns"], model_entry))
    return by_pattern


_PREFIX = re.compile(
    r"(?:.*/)?(?:(?:[a-z-]+\.)?(?:(?:anthropic|openai)\.|(?=amazon\.)))?", re.DOTALL
)
"""The prefixes of gateways and clouds: ``openrouter/anthropic/``, ``us.anthropic.``.

``amazon.`` is kept: other providers have models with the same name without it."""

_TUNED = re.compile(r"ft:([^:]+):.*", re.DOTALL)
"""A fine-tuned model with the name of its base: ``ft:gpt-4o-2024-08-06:organisation::id``."""

_SUFFIX = re.compile(
    r"(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{3,4}|latest|default|v\d+"
    r"|(?:preview|exp)(?:-\d{2}-\d{2}(?:\d{2})?)?))*(?::\w+)*",
    re.ASCII,
)
"""A date or a version: ``-20261001``, ``@20261001``, ``-2026-10-01``, ``-0613``, ``-001``,
``-latest``, ``-preview``, ``-preview-09-2025``, ``-v1:0``.

One or two digits are not a version: they name another model."""


def _short_name(model: str) -> str:
    """Return the name of a model without the prefix of a gateway.

    For a fine-tuned model it is the name of its base.
    """
    name = _PREFIX.sub("", model, count=1)
    tuned = _TUNED.fullmatch(name)
    return tuned[1] if tuned else name


def _model_entries(model: str, registered: "_RegisteredModels") -> tuple[ModelEntry, ...]:
    """Return the facts about a model by its name: those of ``models.toml``, then the user's.

    They are the entries of the longest pattern that matches the name.
    """
    short_name = _short_name(model)
    names = [model, short_name]
    if "/" in model:
        # OpenRouter writes ``anthropic/claude-sonnet-4.5``.
        names.append(short_name.replace(".", "-"))
    for pattern in _patterns(registered):
        if any(
            name.startswith(pattern) and _SUFFIX.fullmatch(name, len(pattern)) for name in names
        ):
            sources = (_built_in(), registered.by_pattern)
            return tuple(by_pattern[pattern] for by_pattern in sources if pattern in by_pattern)
    return ()


@lru_cache(maxsize=2)
def _patterns(registered: "_RegisteredModels") -> tuple[str, ...]:
    return tuple(sorted({**_built_in(), **registered.by_pattern}, key=len, reverse=True))


def family_provider(model: str) -> str | None:
    """Return the provider of the family of a model by its name, ``None`` for an unknown family."""
    name = _short_name(model)
    head, _, rest = name.partition("-")
    digits = re.match(r"[0-9]{1,3}(?![0-9])", rest)
    generation = int(digits[0]) if digits else 0
    for family in tables()["families"]:
        is_member = head == family["name"] and generation >= family.get("from", 0)
        if family["name"].endswith("."):
            is_member = name.startswith(family["name"])
        if is_member and ("words" not in family or {*family["words"]} & {*rest.split("-")}):
            return str(family["provider"])
    return None


def near_name(model: str, provider: str | None) -> str | None:
    """Return the advice for an unknown model name, ``None`` if the name may be right.

    ``provider`` is the provider that was named, or ``None``. The advice suggests a known name if at
    most two characters differ. The digits have to be equal, because another number is another
    model. Upper case, the order of words and the signs between words do not matter.
    """
    return _advice(model, provider, _registered, REGISTRY.registered)


@lru_cache(maxsize=256)
def _advice(
    model: str, provider: str | None, registered: "_RegisteredModels", _servers: RegisteredServers
) -> str | None:
    """Return the advice of :func:`near_name`.

    ``_servers`` is only a part of the key of the cache: with other servers, the advice may differ.
    """
    wire = wire_of(provider)
    if not model or wire.any_model or _model_entries(model, registered):
        return None
    patterns, short_name = _patterns(registered), _short_name(model)
    # The shortest beginning of the name after which there is only a date or a version.
    without_version = (
        short_name[:n] for n in range(1, len(short_name) + 2) if _SUFFIX.fullmatch(short_name, n)
    )
    name = next(without_version).lower()
    if name in provider_names():
        return f"it is a provider: write provider={name!r}"
    is_deployment = wire.deploys and any(name.startswith(f"{pattern}-") for pattern in patterns)
    digits = _NO_DIGIT.sub("", name)
    with_same_digits = [pattern for pattern in patterns if _NO_DIGIT.sub("", pattern) == digits]
    alike = [(_likeness(name, pattern), pattern) for pattern in with_same_digits]
    likeness, nearest_pattern = max(alike, default=(0, ""))
    # The name of a deployment begins with the name of a model, so it is always like a known name.
    min_likeness = 0.9 if is_deployment else 0.8
    if likeness >= min_likeness:
        return f"did you mean {nearest_pattern!r}?"
    if is_deployment or family_provider(model) is None:
        return None
    return "register_model() adds its facts"


_NO_DIGIT = re.compile(r"\D")
_MAX_EDITS = 2
"""The maximum number of characters that may differ in a misspelt name."""


def _likeness(name: str, pattern: str) -> float:
    """Return how similar two names are, from 0 to 1; the order of their words does not matter.

    It is 0 if more than two characters differ.
    """
    from difflib import SequenceMatcher

    in_order = ["-".join(sorted(re.split(r"[-._ ]", text))) for text in (name, pattern)]
    pairs = ([name, pattern], in_order)
    similar = [
        (first, second)
        for first, second in pairs
        if abs(len(first) - len(second)) <= _MAX_EDITS and _edits(first, second) <= _MAX_EDITS
    ]
    return max(
        (SequenceMatcher(None, first, second).ratio() for first, second in similar), default=0
    )


def _edits(text: str, other: str) -> int:
    """Return the number of characters to add, remove or change to make a text of the other."""
    row = list(range(len(other) + 1))
    for count, char in enumerate(text, 1):
        above, row = row, [count]
        for index, other_char in enumerate(other):
            change_cost = above[index] + (char != other_char)
            row.append(min(change_cost, above[index + 1] + 1, row[index] + 1))
    return row[-1]


@attrs.frozen(eq=False, repr=False)
class _RegisteredModels:
    """The facts that users registered, by pattern.

    A registration makes a new object, because the object is a key of caches.
    """

    by_pattern: Mapping[str, ModelEntry] = EMPTY


_CHANGING = Lock()
"""Held while a registration of a model or a server changes."""
_registered = _RegisteredModels()
_registrations: dict[str, tuple[ModelEntry, ...]] = {}
"""The registrations of each pattern that have not ended; the last one is used."""


@public_api
def register_model(pattern: str, /, *, provider: ProviderName, **facts: Unpack[Facts]) -> ExitStack:
    """Register facts about the models of one name, for the whole process.

    ``pattern`` is a model name without a date or version. The facts are used for this name, with
    any date or version. If several patterns match a name, the longest one is used. ``provider`` is
    the target of the model if no provider is named.

    ``facts`` are fields of :class:`ModelFacts`. Other facts keep the values that promptdsl has for
    the same pattern. A new registration of a pattern replaces the earlier one. ``window``,
    ``output`` and ``cache_minimum`` are in tokens. ``template`` is the text of a chat template, or
    a Hugging Face tokenizer. ``transformation`` is a configuration or a mapping; its settings
    override those of the provider.

    The result is a context manager: its end removes the registration.

    >>> from promptdsl import Timeline, User, register_model, render
    >>> with register_model("my-model", provider="anthropic", window=32_000):
    ...     render(Timeline(User("Hi.")), model="my-model-2026-01-01").facts.window
    32000

    Raises :class:`TargetError` for an unknown provider, :class:`OptionError` for a fact that is
    unknown or has a wrong value, :class:`ContentError` for a wrong template, :class:`ConfigError`
    for a wrong transformation or a function.
    """
    try:
        if not isinstance(pattern, str) or not pattern:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise OptionError(
                f"a pattern must be the name of a model, not {shown(pattern)}",
                fix="write the name of a model: register_model('my-model', ...)",
            )
        check_provider(provider)
        model_entry = ModelEntry(pattern, provider, checked_facts(facts))
        settings = settings_in(facts, "model")
        if settings is not None:
            model_entry.facts["transformation"] = as_layer(settings, at=author())
    except PromptError as error:
        raise error.located(author()) from None
    _change_registrations(pattern, add=model_entry)
    registration = ExitStack()
    registration.callback(_change_registrations, pattern, remove=model_entry)
    return registration


def _change_registrations(
    pattern: str, *, add: ModelEntry | None = None, remove: ModelEntry | None = None
) -> None:
    """Add or remove a registration of a pattern; the last one that remains is used."""
    global _registered  # noqa: PLW0603
    with _CHANGING:
        model_entries = [
            model_entry
            for model_entry in _registrations.get(pattern, ())
            if model_entry is not remove
        ]
        if add is not None:
            model_entries.append(add)
        _registrations[pattern] = tuple(model_entries)
        in_force = dict(_registered.by_pattern)
        in_force.pop(pattern, None)
        if model_entries:
            in_force[pattern] = model_entries[-1]
        _registered = _RegisteredModels(in_force)


def check_provider(provider: object) -> None:
    """Raise :class:`TargetError` if a value is not the name of a provider or a server."""
    if isinstance(provider, str) and (provider in tables()["providers"] or server_of(provider)):
        return
    name = provider if isinstance(provider, str) else shown(provider)
    raise TargetError(f"unknown provider {shown(provider)}", fix=_advice_about_provider(name))


def _advice_about_provider(name: str) -> str:
    """Return the advice for an unknown provider name."""
    if _model_entries(name, _registered):
        return f"it is a model: write model={name!r}"
    lower_name = name.lower().replace("-", "_")
    names = {server.name: server.other_names for server in servers()}
    names |= {wire.name: wire.other_names for wire in wires()}
    for registered_name, other_names in names.items():
        if lower_name in (registered_name, *other_names):
            return f"did you mean {registered_name!r}?"
    fix = nearest(name, provider_names())
    if fix.startswith("did"):
        return fix
    return f"{fix}; register_provider() adds a server"


def named_origin(origin: str | None, provider_format: str) -> str:
    """Return the origin of a conversation: ``origin``, or else its ``provider_format``.

    Raises :class:`TargetError` for an unknown server, and for a server with another format.
    """
    if origin is None:
        return provider_format
    check_provider(origin)
    actual_format = wire_of(origin).provider_format
    if actual_format != provider_format:
        problem = f"the conversations of {origin} are in the format of {actual_format}"
        raise TargetError(problem, fix=f"write from_{actual_format}(..., origin={origin!r})")
    return origin


# The registration of a user's server: :func:`register_provider`.

_PLAIN_FORMATS = ("messages", "text")
"""The names of formats without a provider, for the command line and for batches."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@public_api
def register_provider(name: str, /, *, adapter: AdapterName, **facts: Unpack[Facts]) -> ExitStack:
    """Register a server with the API of a provider, for the whole process.

    Use the ``name`` wherever you name a provider. ``adapter`` is the provider with this API:
    ``openai_compatible`` for a server with OpenAI's Chat, ``openai_responses`` or ``anthropic``.
    ``facts`` are the fields of :class:`ModelFacts` that differ from the defaults of the adapter.

    Read replies with ``read_response(reply, provider=name)``. Then their reasoning, and keys that
    only this server has, are sent back only to this server.

    The result is a context manager: its end removes the registration.

    >>> from promptdsl import Timeline, User, register_provider, render
    >>> with register_provider("house", adapter="openai_compatible", schema_output=True):
    ...     rendered = render(Timeline(User("Hi.")), provider="house", model="house-1")
    >>> rendered.facts.provider, rendered.to_openai()["messages"]
    ('house', [{'role': 'user', 'content': 'Hi.'}])

    Raises :class:`TargetError` for an unknown adapter. Raises :class:`OptionError` for a name that
    another provider has, or that has other characters than letters, digits, ``_`` and ``-``, and
    for a fact that is unknown or has a wrong value. Raises :class:`ConfigError` for a wrong
    transformation, and for one that is a function.
    """
    try:
        if not isinstance(name, str) or name in _PLAIN_FORMATS or not _NAME.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
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
            REGISTRY.registered = RegisteredServers({**REGISTRY.registered.servers, name: server})
    except PromptError as error:
        raise error.located(author()) from None
    registration = ExitStack()
    registration.callback(_remove, server)
    return registration


_OF_CHAT = ("reasoning_key", "missing_reasoning", "thinking_tags", "kept_keys")
"""The facts that only a server with OpenAI's Chat can have."""


def _check_together(adapter: str, facts: Facts) -> None:
    """Raise :class:`OptionError` for facts that have no effect without other facts."""
    key = facts.get("reasoning_key")
    for name in _OF_CHAT:
        if facts.get(name) and wire_of(adapter).folder != wire_of(OPEN).folder:
            problem = f"only a server with OpenAI's Chat can have {name}"
            raise OptionError(problem, fix=f"write adapter={OPEN!r}, or leave {name} out")
    if facts.get("missing_reasoning") is not None and key in (None, "content"):
        problem = "missing_reasoning needs a reasoning_key that is not 'content'"
        raise OptionError(problem, fix="add reasoning_key='reasoning_content'")
    if key is not None and key in facts.get("kept_keys", ()):
        raise OptionError("kept_keys contains the reasoning_key", fix="leave it out of kept_keys")
    if key == "content" and facts.get("thinking_tags") is None:
        problem = "reasoning_key='content' needs the tags around the reasoning"
        raise OptionError(problem, fix="add thinking_tags=('<think>', '</think>')")
    if key is not None and facts.get("reasoning_back") is None:
        raise OptionError(
            "reasoning_key needs reasoning_back",
            fix="write when reasoning is sent back: reasoning_back='always', 'turn' or 'never'",
        )


def _remove(server: Server) -> None:
    """Remove a registered server."""
    with _CHANGING:
        remaining = {
            name: other
            for name, other in REGISTRY.registered.servers.items()
            if other is not server
        }
        REGISTRY.registered = RegisteredServers(remaining)
