"""The facts about a model at a provider, from ``models.toml`` and from users' registrations.

:func:`register_provider`, for a user's server, comes last.
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
    AddedServers,
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

# The facts about a model at a provider, from ``models.toml`` and from users' registrations.
#
# :func:`facts_for` finds them, :func:`register_model` adds some.


def facts_for(model: str | None, provider: str | None) -> ModelFacts:
    """Return the facts about a model at a provider; both may be ``None``.

    If a provider is named, a model of another provider keeps only the facts that are true there.
    Without a provider, the name of the model decides. An unknown model gets careful defaults.
    """
    if provider is not None:
        check_provider(provider)
    return _look_up(model, provider, _added, REGISTRY.added)


@lru_cache(maxsize=64)
def facts_with(
    facts: ModelFacts,
    changes: tuple[tuple[str, Any], ...],  # Any: each fact has its own type
) -> ModelFacts:
    """Return facts with changes; the same object for the same facts and changes."""
    return attrs.evolve(facts, **dict(changes))


@attrs.frozen(eq=False, repr=False)
class ModelEntry:
    """The facts of the models with one name; ``on`` has facts that are true at one provider."""

    name: str
    provider: str
    facts: Facts
    on: Mapping[str, Facts] = EMPTY


@lru_cache(maxsize=1024)
def _look_up(
    model: str | None, provider: str | None, added: "_Added", _servers: AddedServers
) -> ModelFacts:
    # The target: the provider that was named, else the provider of the model.
    name = model or ""
    entries = _entries(name, added)
    target = provider or _default_provider(name, entries)
    if target is None and not model:
        return _facts(Facts(), model=model)
    if target is None:
        return _facts(_counting(name, entries, OPEN), model=model)
    # The layers: the facts of the provider, of the server, of model families, then of the model.
    families = [*_provider_layers(target, name)]
    models = [*_model_layers(target, entries)]
    stated, role_layers = Facts(), list[tuple[str, Roles]]()
    for layer, facts in (*families, *models):
        stated.update(facts)
        if settings := facts.get("transformation"):
            stated["transformation"] = (layer, settings)
        if roles := _roles_in(facts):
            role_layers.append((layer, roles))
    # Tokens are counted by an encoding, or else by factors.
    stated["token_factors"] = None
    if stated.get("encoding") is None:
        stated.update(_counting(name, entries, target))
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
    """Return the roles of events and groundings in these facts."""
    roles: list[tuple[str, MappedRole]] = []
    if "event_role" in facts:
        roles.append(("event", facts["event_role"]))
    if "ephemeral_role" in facts:
        roles.append(("ephemeral", facts["ephemeral_role"]))
    return tuple(roles)


def _provider_layers(target: str, model: str) -> Iterator[tuple[str, Facts]]:
    """Yield the facts of a provider with their names; for a server, those of its adapter first.

    After the facts of each come the facts of the model families that this model belongs to.
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
    """Yield the facts of a provider of the data file, and of families of models there."""
    yield f"provider {provider}", facts_in(tables()["providers"][provider])
    for table in tables()["vendors"]:
        if table["provider"] == provider and _has_word(model, table["words"]):
            yield f"models of {table['words'][0]}", facts_in(table)


def _model_layers(target: str, entries: tuple[ModelEntry, ...]) -> Iterator[tuple[str, Facts]]:
    """Yield the facts of a model that are true at a target, with their names."""
    for entry in entries:
        facts = _facts_on(entry, target)
        if facts is not None:
            yield f"model {entry.name}", facts


def _default_provider(model: str, entries: tuple[ModelEntry, ...]) -> str | None:
    """Return the provider of a model if none is named: that of its facts, or of its family."""
    if not entries:
        return family_provider(model)
    owner, facts = entries[-1].provider, Facts()
    if owner not in tables()["providers"] and server_of(owner) is None:
        return None  # the registration of this server ended
    for entry in entries:
        facts.update(entry.facts)
    if owner == "openai" and not facts.get("chat", True):
        return "openai_responses"
    return owner


def _facts(stated: Facts, **target: object) -> ModelFacts:
    # Any: each fact was checked, and a fact of the data file has the type of its field
    return ModelFacts(**cast("dict[str, Any]", {**stated, **target}))


def _facts_on(entry: ModelEntry, target: str) -> Facts | None:
    """Return the facts of an entry that are true at a target; ``None`` if there are none."""
    adapter = wire_of(target).adapter
    if entry.provider in (target, adapter):
        return entry.facts
    table = tables()["providers"][adapter]
    if entry.provider not in table.get("takes_from", (entry.provider,)):
        return None
    taken = {key: value for key, value in entry.facts.items() if key in table.get("takes", ())}
    facts = cast("Facts", taken)
    if "media" in facts:
        facts["media"] = tuple(kind for kind in facts["media"] if kind in table["media"])
    facts.update(entry.on.get(target, Facts()))
    return facts or None


OPEN = "openai_compatible"
"""The provider of servers without a name; its facts are used to count for an unknown model."""
USUAL = "openai"
"""The provider in whose format a prompt without a target is compared."""


def _counting(model: str, entries: tuple[ModelEntry, ...], target: str) -> Facts:
    """Return how to count the tokens of a model whose facts have no encoding.

    The result is an encoding or token factors. They depend more on the model's name than on the
    target: the facts of the model come first, then a word of its name, then the target.
    """
    by_word = [table for table in tables()["vocabularies"] if _has_word(model, table["words"])]
    models = [entry.facts for entry in reversed(entries)]
    for facts in (*models, *by_word, tables()["providers"][wire_of(target).adapter]):
        if "token_factors" in facts:
            factors = facts["token_factors"]
            if factors is not None:
                factors = TokenFactors(*factors)
            return {"token_factors": factors}
        # The encoding of a word is always true; that of an entry only where the model is known.
        if "words" in facts:
            return {"encoding": facts["encoding"]}
    return {}


def _has_word(model: str, words: Iterable[str]) -> bool:
    """Return whether the name of a model contains one of these words, with no letter next to it."""
    name = model.lower()
    return any(re.search(rf"(?<![a-z]){re.escape(word)}{_end(word)}", name) for word in words)


def _end(word: str) -> str:
    """Return a pattern for the end of a word: 4.5 is not a word of 4.51."""
    return "(?![a-z0-9])" if word[-1].isdigit() else "(?![a-z])"


@cache
def _built_in() -> Mapping[str, ModelEntry]:
    entries: dict[str, ModelEntry] = {}
    for name, table in tables()["models"].items():
        entry = ModelEntry(name, table["provider"], facts_in(table), table.get("on", EMPTY))
        entries.update(dict.fromkeys(table["patterns"], entry))
    return entries


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


def _bare_name(model: str) -> str:
    name = _PREFIX.sub("", model, count=1)
    tuned = _TUNED.fullmatch(name)
    return tuned[1] if tuned else name


def _entries(model: str, added: "_Added") -> tuple[ModelEntry, ...]:
    """Return the entries of the longest matching pattern: the built-in one, then the user's."""
    bare = _bare_name(model)
    names = [model, bare]
    if "/" in model:
        # OpenRouter writes ``anthropic/claude-sonnet-4.5``.
        names.append(bare.replace(".", "-"))
    for pattern in _patterns(added):
        if any(
            name.startswith(pattern) and _SUFFIX.fullmatch(name, len(pattern)) for name in names
        ):
            known = (_built_in(), added.entries)
            return tuple(entries[pattern] for entries in known if pattern in entries)
    return ()


@lru_cache(maxsize=2)
def _patterns(added: "_Added") -> tuple[str, ...]:
    return tuple(sorted({**_built_in(), **added.entries}, key=len, reverse=True))


def family_provider(model: str) -> str | None:
    """Return the provider of the model family that a name belongs to, ``None`` without a family."""
    name = _bare_name(model)
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

    A name is near a known one if one or two letters differ, and no digit: another number is another
    model. Upper case, the order of words and the signs between them do not matter. ``provider`` is
    the provider that was named.
    """
    return _advice(model, provider, _added, REGISTRY.added)


@lru_cache(maxsize=256)
def _advice(
    model: str, provider: str | None, added: "_Added", _servers: AddedServers
) -> str | None:
    wire = wire_of(provider)
    if not model or wire.any_model or _entries(model, added):
        return None
    known, bare = _patterns(added), _bare_name(model)
    without_version = (bare[:n] for n in range(1, len(bare) + 2) if _SUFFIX.fullmatch(bare, n))
    name = next(without_version).lower()
    if name in provider_names():
        return f"it is a provider: write provider={name!r}"
    is_deployment = wire.deploys and any(name.startswith(f"{pattern}-") for pattern in known)
    digits = _NO_DIGIT.sub("", name)
    numbered = [pattern for pattern in known if _NO_DIGIT.sub("", pattern) == digits]
    alike = [(_likeness(name, pattern), pattern) for pattern in numbered]
    likeness, near = max(alike, default=(0, ""))
    least = 0.9 if is_deployment else 0.8
    if likeness >= least:
        return f"did you mean {near!r}?"
    if is_deployment or family_provider(model) is None:
        return None
    return "register_model() adds its facts"


_NO_DIGIT = re.compile(r"\D")
_MOST_EDITS = 2
"""The most letters that may differ in a misspelt name."""


def _likeness(name: str, pattern: str) -> float:
    """Return how similar two names are, from 0 to 1; 0 if more than two letters differ.

    The order of their words does not matter.
    """
    from difflib import SequenceMatcher

    in_order = ["-".join(sorted(re.split(r"[-._ ]", text))) for text in (name, pattern)]
    pairs = ([name, pattern], in_order)
    near = [
        (first, second)
        for first, second in pairs
        if abs(len(first) - len(second)) <= _MOST_EDITS and _edits(first, second) <= _MOST_EDITS
    ]
    return max((SequenceMatcher(None, first, second).ratio() for first, second in near), default=0)


def _edits(text: str, other: str) -> int:
    """Return the number of letters that are added, removed or changed between two texts."""
    row = list(range(len(other) + 1))
    for count, letter in enumerate(text, 1):
        above, row = row, [count]
        for location, its_letter in enumerate(other):
            changed = above[location] + (letter != its_letter)
            row.append(min(changed, above[location + 1] + 1, row[location] + 1))
    return row[-1]


@attrs.frozen(eq=False, repr=False)
class _Added:
    """The entries of users by pattern. A change makes a new object: it is the key of the caches."""

    entries: Mapping[str, ModelEntry] = EMPTY


_CHANGING = Lock()
_added = _Added()
_registered: dict[str, tuple[ModelEntry, ...]] = {}
"""The registrations of each pattern that are in force; the last one is used."""


@public_api
def register_model(pattern: str, /, *, provider: ProviderName, **facts: Unpack[Facts]) -> ExitStack:
    """Register facts about the models of a name, for the whole process.

    ``pattern`` is a model name, without a date or version. The facts are used for this name, with
    or without a date or version. The longest pattern that matches is used. ``provider`` is the
    target of the model when no provider is named.

    ``facts`` are fields of :class:`ModelFacts`. Other facts keep the values that promptdsl has for
    the same pattern. If you register a pattern again, the new registration replaces the earlier
    one. ``window``, ``output`` and ``cache_minimum`` are in tokens. ``template`` is the text of a
    chat template, or a Hugging Face tokenizer. ``transformation`` is a configuration or a mapping;
    its settings override those of the provider.

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
                f"a pattern is the name of a model, not {shown(pattern)}",
                fix="write the name, or its beginning: register_model('my-model', ...)",
            )
        check_provider(provider)
        entry = ModelEntry(pattern, provider, checked_facts(facts))
        settings = settings_in(facts, "model")
        if settings is not None:
            entry.facts["transformation"] = as_layer(settings, at=author())
    except PromptError as error:
        raise error.located(author()) from None
    _change_entries(pattern, add=entry)
    registration = ExitStack()
    registration.callback(_change_entries, pattern, remove=entry)
    return registration


def _change_entries(
    pattern: str, *, add: ModelEntry | None = None, remove: ModelEntry | None = None
) -> None:
    global _added  # noqa: PLW0603
    with _CHANGING:
        entries = [entry for entry in _registered.get(pattern, ()) if entry is not remove]
        if add is not None:
            entries.append(add)
        _registered[pattern] = tuple(entries)
        in_force = dict(_added.entries)
        in_force.pop(pattern, None)
        if entries:
            in_force[pattern] = entries[-1]
        _added = _Added(in_force)


def check_provider(provider: object) -> None:
    """Raise :class:`TargetError` if a value is not the name of a provider or a server."""
    if isinstance(provider, str) and (provider in tables()["providers"] or server_of(provider)):
        return
    name = provider if isinstance(provider, str) else shown(provider)
    raise TargetError(f"unknown provider {shown(provider)}", fix=_advice_about_provider(name))


def _advice_about_provider(name: str) -> str:
    """Return the advice about a name that no provider has."""
    if _entries(name, _added):
        return f"it is a model: write model={name!r}"
    called = name.lower().replace("-", "_")
    names = {server.name: server.other_names for server in servers()}
    names |= {wire.name: wire.other_names for wire in wires()}
    for known, others in names.items():
        if called in (known, *others):
            return f"did you mean {known!r}?"
    fix = nearest(name, provider_names())
    if fix.startswith("did"):
        return fix
    return f"{fix}; register_provider() adds a server"


def named_origin(origin: str | None, provider_format: str) -> str:
    """Return the origin of a conversation in the format ``form``: ``origin``, or else ``form``.

    Raises :class:`TargetError` for an unknown server, and for a server with another format.
    """
    if origin is None:
        return provider_format
    check_provider(origin)
    actual = wire_of(origin).provider_format
    if actual != provider_format:
        problem = f"the conversations of {origin} are in the format of {actual}"
        raise TargetError(problem, fix=f"write from_{actual}(..., origin={origin!r})")
    return origin


# The registration of a user's server: :func:`register_provider`.

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
            REGISTRY.added = AddedServers({**REGISTRY.added.servers, name: server})
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
        REGISTRY.added = AddedServers(others)
