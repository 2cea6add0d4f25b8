"""Facts about models and providers, found by name in ``models.toml`` and in what users add."""

import os
from collections.abc import Mapping
from functools import cache, lru_cache
from threading import Lock
from typing import Any

import attrs

from promptdsl.config.model_facts import FACT_CHECKS, ModelFacts, Roles, TokenFactors
from promptdsl.config.model_names import bare_name, is_called, is_family, is_named
from promptdsl.foundation.errors import TargetError, nearest
from promptdsl.foundation.frozen import EMPTY


def facts_for(model: str | None, provider: str | None) -> ModelFacts:
    """Return the facts about a model and a provider; either may be ``None``.

    The provider given wins; of a model that belongs to another one it takes the facts that hold
    there too. With only a model, its name tells the provider. An unknown model gets the careful
    defaults.
    Raises :class:`TargetError` for a provider that has no adapter.
    """
    if provider is not None:
        check_provider(provider)
    return _look_up(model, provider, _added)


@attrs.frozen(eq=False, repr=False)
class ModelEntry:
    """The facts of the models of one name; ``on`` are those that hold on another provider only."""

    name: str
    provider: str
    facts: Mapping[str, Any]
    on: Mapping[str, Mapping[str, Any]] = EMPTY


@lru_cache(maxsize=1024)
def _look_up(model: str | None, provider: str | None, added: "_Added") -> ModelFacts:
    entries = _entries(model or "", added)
    target = provider or _owner(bare_name(model or ""), entries)
    if target is None:
        unknown = _counting(model, entries, _OPEN) if model else {}
        return ModelFacts(model=model, **unknown)
    held = [(f"model {entry.name}", _holding(entry, target)) for entry in entries]
    models = [(layer, facts) for layer, facts in held if facts is not None]
    layers = [(f"provider {target}", _stated(_providers()[target])), *models]
    roles = [(layer, _roles(facts)) for layer, facts in layers]
    stated: dict[str, Any] = {key: value for _, facts in layers for key, value in facts.items()}
    stated["token_factors"] = None
    if stated.get("encoding") is None:
        stated |= _counting(model or "", entries, target)
    return ModelFacts(
        **stated,
        provider=target,
        model=model,
        known=bool(models),
        role_layers=tuple(layer for layer in roles if layer[1]),
    )


def _holding(entry: ModelEntry, target: str) -> Mapping[str, Any] | None:
    """Return the facts of an entry that hold on a target, ``None`` when none do."""
    if entry.provider == target:
        return entry.facts
    table = _providers()[target]
    takes = table.get("takes", ())
    if entry.provider not in table.get("takes_from", (entry.provider,)):
        return None
    taken = {key: value for key, value in entry.facts.items() if key in takes}
    if "media" in taken:
        taken["media"] = tuple(kind for kind in taken["media"] if kind in table["media"])
    return {**taken, **entry.on.get(target, {})} or None


_OPEN = "openai_compatible"
"""The provider that counts for an unknown model without a target."""


def _counting(model: str, entries: tuple[ModelEntry, ...], target: str) -> dict[str, Any]:
    """Return the token factors of a model without a stated encoding, or the encoding of its words.

    They go with its name rather than with the target: the facts of the model come first, then a
    word of its name, then the target.
    """
    name = model.lower()
    words = (table for table in _tables()["vocabularies"] if is_named(name, table["words"]))
    said = (*(entry.facts for entry in reversed(entries)), *words, _providers()[target])
    found: Mapping[str, Any] = next(
        (facts for facts in said if "token_factors" in facts or "words" in facts), EMPTY
    )
    factors = found.get("token_factors")
    counting = {"token_factors": None if factors is None else TokenFactors(*factors)}
    # An entry's encoding holds where the model is taken for known, a vocabulary's wherever.
    return {**counting, "encoding": found["encoding"]} if found.keys() >= _WITH else counting


_WITH = {"words", "encoding"}


def _roles(facts: Mapping[str, Any]) -> Roles:
    return tuple((key, facts[f"{key}_role"]) for key in _MAPPED if f"{key}_role" in facts)


_MAPPED = ("event", "ephemeral")


# The data file.


@cache
def _tables() -> Mapping[str, Any]:
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "models.toml"), "rb") as file:
        return tomllib.load(file)


def _providers() -> Mapping[str, Any]:
    providers: Mapping[str, Any] = _tables()["providers"]
    return providers


@cache
def _built_in() -> Mapping[str, ModelEntry]:
    """Return the entry of every pattern that comes with promptdsl."""
    models: Mapping[str, Any] = _tables()["models"]
    return {
        pattern: ModelEntry(name, table["provider"], _stated(table), table.get("on", EMPTY))
        for name, table in models.items()
        for pattern in table["patterns"]
    }


def _stated(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a table, lists as tuples."""
    return {
        key: tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType]
        for key, value in table.items()
        if key in FACT_CHECKS
    }


# The entries of a name.


def _entries(model: str, added: "_Added") -> tuple[ModelEntry, ...]:
    """Return the entries of the longest pattern that matches: first ours, then the user's."""
    names = (model, bare_name(model))
    for pattern in _patterns(added):
        if any(is_called(name, pattern) for name in names):
            return tuple(
                entries[pattern] for entries in (_built_in(), added.entries) if pattern in entries
            )
    return ()


@lru_cache(maxsize=2)
def _patterns(added: "_Added") -> tuple[str, ...]:
    """Return every pattern, the longest first."""
    return tuple(sorted({**_built_in(), **added.entries}, key=len, reverse=True))


def _owner(name: str, entries: tuple[ModelEntry, ...]) -> str | None:
    """Return the provider of the last entry, or of the family a name without one belongs to."""
    if entries:
        return entries[-1].provider
    families = (family for family in _tables()["families"] if is_family(name, family))
    return next((family["provider"] for family in families), None)


# What users registered.


@attrs.frozen(eq=False, repr=False)
class _Added:
    """The entries that users have added, by pattern. A change puts another one in its place."""

    entries: Mapping[str, ModelEntry] = EMPTY


_CHANGING = Lock()
_added = _Added()
_registered: dict[str, tuple[ModelEntry, ...]] = {}
"""By pattern, the entries that were not taken back; the last one holds."""


def add_entry(pattern: str, entry: ModelEntry) -> None:
    """Register an entry; the last one of a pattern holds."""
    with _CHANGING:
        _put(pattern, (*_registered.get(pattern, ()), entry))


def take_back(pattern: str, entry: ModelEntry) -> None:
    """Take one registration back; the order does not matter."""
    with _CHANGING:
        _put(pattern, tuple(kept for kept in _registered.get(pattern, ()) if kept is not entry))


def _put(pattern: str, entries: tuple[ModelEntry, ...]) -> None:
    global _added  # noqa: PLW0603
    _registered[pattern] = entries
    others = {name: other for name, other in _added.entries.items() if name != pattern}
    _added = _Added({**others, pattern: entries[-1]} if entries else others)


# Providers: those of the data file, which are those of ``providers.registry`` (a test holds it).


def check_provider(provider: object) -> None:
    """Raise :class:`TargetError` for a provider that has no adapter."""
    if not isinstance(provider, str) or provider not in _providers():
        meant = _SUGGESTED.get(str(provider).lower().replace("-", "_"))
        fix = f"did you mean {meant!r}?" if meant else nearest(str(provider), _providers())
        raise TargetError(f"unknown provider {provider!r}", fix=fix)


_SUGGESTED = {
    **dict.fromkeys(("google", "google_genai", "vertex", "vertexai", "vertex_ai"), "gemini"),
    **dict.fromkeys(("aws", "amazon", "bedrock_converse", "converse"), "bedrock"),
    **dict.fromkeys(("azure", "azure_openai", "openai_chat", "chat", "openai"), "openai"),
    **dict.fromkeys(("responses", "openai_response"), "openai_responses"),
    **dict.fromkeys(("claude", "anthropic"), "anthropic"),
    **dict.fromkeys(("huggingface", "hf", "transformers"), "chat_template"),
    **dict.fromkeys(
        ("mistral", "cohere", "litellm", "vllm", "ollama", "deepseek", "groq", "openrouter"),
        "openai_compatible",
    ),
}
"""The provider an error suggests for another name of it, or of a service reached like it."""
