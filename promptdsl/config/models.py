"""Facts about models and providers, found by name in ``models.toml`` and in what users add."""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from threading import Lock
from typing import Any

import attrs

from promptdsl.config.model_facts import FACT_CHECKS, ModelFacts, Roles, TokenFactors
from promptdsl.foundation.errors import TargetError, nearest
from promptdsl.foundation.json import EMPTY


def facts_for(model: str | None, provider: str | None) -> ModelFacts:
    """Return what is known of a model and a provider; either may be ``None``.

    The provider given wins; of a model that belongs to another one it takes what holds there too.
    With only a model, its name tells the provider. What nobody knows gets the careful defaults.
    Raises :class:`TargetError` for a provider that has no adapter.
    """
    if provider is not None:
        check_provider(provider)
    return _look_up(model, provider, _added)


@attrs.frozen(eq=False)
class ModelEntry:
    """What is said of the models of one name. ``on`` are facts that hold on another provider."""

    name: str
    provider: str
    facts: Mapping[str, Any]
    on: Mapping[str, Mapping[str, Any]] = EMPTY


@attrs.frozen(eq=False)
class _Added:
    """What users have added, by pattern. Never changed: the next one takes its place."""

    entries: Mapping[str, ModelEntry] = EMPTY


_CHANGING = Lock()
_added = _Added()


@lru_cache(maxsize=1024)
def _look_up(model: str | None, provider: str | None, added: _Added) -> ModelFacts:
    entries = _entries(model or "", added)
    target = provider or _owner(_bare(model or ""), entries)
    if target is None:
        unknown = _counting(model, entries, _OPEN) if model else {}
        return ModelFacts(model=model, **unknown)
    said = [(f"model {entry.name}", _holding(entry, target)) for entry in entries]
    models = [(layer, facts) for layer, facts in said if facts is not None]
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
    """Return what an entry says of a target, ``None`` when nothing of it holds there."""
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
"""Whose models a name that nobody knows is counted like."""


def _counting(model: str, entries: tuple[ModelEntry, ...], target: str) -> dict[str, Any]:
    """Return how a model counts, if no encoding is stated: that goes with its name, not the target.

    What is said of the model goes first, then a word of its name, then the target.
    """
    name = model.lower()
    words = (table for table in _tables()["vocabularies"] if _is_named(name, table["words"]))
    said = (*(entry.facts for entry in reversed(entries)), *words, _providers()[target])
    found: Mapping[str, Any] = next(
        (facts for facts in said if "token_factors" in facts or "words" in facts), EMPTY
    )
    factors = found.get("token_factors")
    counting = {"token_factors": None if factors is None else TokenFactors(*factors)}
    # An entry's encoding holds where the model is taken for known, a vocabulary's wherever.
    return {**counting, "encoding": found["encoding"]} if found.keys() >= _WITH else counting


_WITH = {"words", "encoding"}


def _is_named(name: str, words: Sequence[str]) -> bool:
    """Return whether one of some words stands in a name, not as a part of a longer word."""
    return any(re.search(rf"(?<![a-z]){re.escape(word)}(?![a-z])", name) for word in words)


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


# Names.

_PREFIX = re.compile(
    r"(?:.*/)?(?:(?:[a-z-]+\.)?(?:(?:anthropic|openai)\.|(?=amazon\.)))?", re.DOTALL
)
"""What gateways and clouds write before a name: ``openrouter/anthropic/``, ``us.anthropic.``. The
name of a model of Amazon begins with ``amazon.``: without it, others have models called so."""

_TUNED = re.compile(r"ft:([^:]+):.*", re.DOTALL)
"""A fine-tuned model names the one it was made of: ``ft:gpt-4o-2024-08-06:organisation::id``."""

_SUFFIX = re.compile(
    r"(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{3,4}|latest|default|v\d+"
    r"|(?:preview|exp)(?:-\d{2}-\d{2}(?:\d{2})?)?))*(?::\w+)*",
    re.ASCII,
)
"""A date or a version: ``-20261001``, ``@20261001``, ``-2026-10-01``, ``-0613``, ``-001``,
``-latest``, ``-preview``, ``-preview-09-2025``, ``-v1:0``. One or two digits are not: they are
another model."""


def _bare(model: str) -> str:
    name = _PREFIX.sub("", model, count=1)
    tuned = _TUNED.fullmatch(name)
    return tuned[1] if tuned else name


def _entries(model: str, added: _Added) -> tuple[ModelEntry, ...]:
    """Return what the longest pattern that matches says: what comes with promptdsl goes first."""
    names = (model, _bare(model))
    for pattern in _patterns(added):
        if any(_is_called(name, pattern) for name in names):
            return tuple(
                entries[pattern] for entries in (_built_in(), added.entries) if pattern in entries
            )
    return ()


def _is_called(name: str, pattern: str) -> bool:
    return name.startswith(pattern) and _SUFFIX.fullmatch(name, len(pattern)) is not None


@lru_cache(maxsize=2)
def _patterns(added: _Added) -> tuple[str, ...]:
    """Return every pattern, the longest first."""
    return tuple(sorted({**_built_in(), **added.entries}, key=len, reverse=True))


def _owner(name: str, entries: tuple[ModelEntry, ...]) -> str | None:
    """Return the provider of the last entry, or of the family a name without one belongs to."""
    if entries:
        return entries[-1].provider
    families = (family for family in _tables()["families"] if _is_family(name, family))
    return next((family["provider"] for family in families), None)


def _is_family(name: str, family: Mapping[str, Any]) -> bool:
    if family["name"].endswith("."):
        return name.startswith(family["name"])
    head, _, rest = name.partition("-")
    generation = _GENERATION.match(rest)
    number = int(generation[0]) if generation else 0
    oldest: int = family.get("from", 0)
    return head == str(family["name"]) and number >= oldest


_GENERATION = re.compile(r"[0-9]{1,3}(?![0-9])")


_registered: dict[str, tuple[ModelEntry, ...]] = {}
"""By pattern, what was registered and not taken back; the last one holds."""


def add_entry(pattern: str, entry: ModelEntry) -> None:
    """Register what is stated of the models of a name; the last entry of a pattern holds."""
    with _CHANGING:
        _put(pattern, (*_registered.get(pattern, ()), entry))


def take_back(pattern: str, entry: ModelEntry) -> None:
    """Take one registration back, in whatever order they are left."""
    with _CHANGING:
        _put(pattern, tuple(one for one in _registered.get(pattern, ()) if one is not entry))


def _put(pattern: str, entries: tuple[ModelEntry, ...]) -> None:
    global _added  # noqa: PLW0603
    _registered[pattern] = entries
    others = {name: other for name, other in _added.entries.items() if name != pattern}
    _added = _Added({**others, pattern: entries[-1]} if entries else others)


def check_provider(provider: object) -> None:
    """Raise :class:`TargetError` for a provider that has no adapter."""
    if not isinstance(provider, str) or provider not in _providers():
        meant = _ALSO_CALLED.get(str(provider).lower().replace("-", "_"))
        fix = f"did you mean {meant!r}?" if meant else nearest(str(provider), _providers())
        raise TargetError(f"unknown provider {provider!r}", fix=fix)


_ALSO_CALLED = {
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
"""What providers are called elsewhere, or who serves as one of them."""
