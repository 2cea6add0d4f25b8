"""Facts about models and providers, found by name in ``models.toml``."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import attrs

from promptdsl.errors import TargetError, nearest

MappedRole: TypeAlias = Literal["user", "developer", "system"]
Roles: TypeAlias = tuple[tuple[str, MappedRole], ...]
"""What one layer says of the roles: ``("event", role)`` and ``("ephemeral", role)``."""


@attrs.frozen
class ModelFacts:
    """What a target can take. ``known`` is whether a pattern matched the model's name."""

    provider: str | None = None
    model: str | None = None
    known: bool = False
    event_role: MappedRole = "user"
    ephemeral_role: MappedRole = "user"
    system: bool = True
    """Whether the wire has a system role."""
    developer: bool = False
    """Whether the wire has a developer role."""
    instructions: bool = False
    """Whether an instruction in mid-conversation has a native form."""
    names: bool = False
    """Whether a message may carry a speaker's name."""
    prefill: bool = False
    """Whether the last message may be an assistant turn that the model continues."""
    cache_marks: bool = False
    """Whether the request can carry cache marks."""
    binds_reasoning: bool = False
    """Whether reasoning is bound to the exact bytes before it."""
    window: int | None = None
    """How many tokens of input the model takes; ``None`` where it is not known."""
    output: int | None = None
    """How many tokens the model answers with at most; ``None`` where it is not known."""
    role_layers: tuple[tuple[str, Roles], ...] = ()
    """Which layer said which role: the provider's default, then the model's own."""

    def layers(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """Return the configuration layers of this target, the provider's before the model's.

        Each is a name and a plain configuration, such as ``("provider anthropic",
        {"role_mapping": {"event": "developer", "ephemeral": "developer"}})``. A layer that says
        nothing is left out, so without a provider there is none.
        """
        return tuple((name, {"role_mapping": dict(roles)}) for name, roles in self.role_layers)


@cache
def facts_for(model: str | None, provider: str | None) -> ModelFacts:
    """Return what is known of a model and a provider; either may be ``None``.

    The provider given wins, and a model that belongs to another one then tells nothing. With only a
    model, its name tells the provider. What nobody knows gets the careful defaults. Raises
    :class:`TargetError` for a provider that has no adapter.
    """
    providers: Mapping[str, Any] = _tables()["providers"]
    if provider is not None and provider not in providers:
        raise TargetError(f"unknown provider {provider!r}", fix=nearest(provider, providers))
    name = _bare(model or "")
    entry = _entry(name)
    target = provider or _owner(name, entry)
    if target is None:
        return ModelFacts(model=model)
    own = entry if target == _owner(name, entry) else None
    return _facts(model, target, own)


def _facts(model: str | None, provider: str, entry: str | None) -> ModelFacts:
    tables = _tables()
    layers = [(f"provider {provider}", tables["providers"][provider])]
    if entry is not None:
        layers.append((f"model {entry}", tables["models"][entry]))
    found = {key: value for _, facts in layers for key, value in facts.items() if key in _FACTS}
    roles = [(layer, _roles(facts)) for layer, facts in layers]
    return ModelFacts(
        **found,
        provider=provider,
        model=model,
        known=entry is not None,
        role_layers=tuple(layer for layer in roles if layer[1]),
    )


def _roles(facts: Mapping[str, Any]) -> Roles:
    return tuple((key, facts[f"{key}_role"]) for key in _MAPPED if f"{key}_role" in facts)


_MAPPED = ("event", "ephemeral")
_FACTS = frozenset(field.name for field in attrs.fields(ModelFacts)) - {"provider"}


@cache
def _tables() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("models.toml").read_text("utf-8"))


# Names.

_PREFIX = re.compile(r"(?:.*/)?(?:(?:[a-z-]+\.)?(?:anthropic|openai)\.)?", re.DOTALL)
"""What gateways and clouds write before a name: ``openrouter/anthropic/``, ``us.anthropic.``."""

_TUNED = re.compile(r"ft:([^:]+):.*", re.DOTALL)
"""A fine-tuned model names the one it was made of: ``ft:gpt-4o-2024-08-06:organisation::id``."""

_SUFFIX = re.compile(
    r"(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{4}|latest|default|preview|v\d+))*(?::\w+)*", re.ASCII
)
"""A date or a version: ``-20261001``, ``@20261001``, ``-2026-10-01``, ``-0613``, ``-latest``,
``-preview``, ``-v1:0``. One or two digits are not: they are another model."""


def _bare(model: str) -> str:
    name = _PREFIX.sub("", model, count=1)
    tuned = _TUNED.fullmatch(name)
    return tuned[1] if tuned else name


def _entry(name: str) -> str | None:
    return next(
        (
            entry
            for pattern, entry in _patterns()
            if name.startswith(pattern) and _SUFFIX.fullmatch(name, len(pattern))
        ),
        None,
    )


@cache
def _patterns() -> tuple[tuple[str, str], ...]:
    """Return every pattern and its entry, the longest pattern first."""
    models: Mapping[str, Any] = _tables()["models"]
    found = [(pattern, entry) for entry, facts in models.items() for pattern in facts["patterns"]]
    return tuple(sorted(found, key=lambda pair: -len(pair[0])))


def _owner(name: str, entry: str | None) -> str | None:
    """Return the provider of an entry, or of the family a name without one belongs to."""
    tables = _tables()
    found = [tables["models"][entry]] if entry is not None else tables["families"]
    return next((item["provider"] for item in found if entry or _is_family(name, item)), None)


def _is_family(name: str, family: Mapping[str, Any]) -> bool:
    head, _, rest = name.partition("-")
    generation = _GENERATION.match(rest)
    number = int(generation[0]) if generation else 0
    oldest: int = family.get("from", 0)
    return head == str(family["name"]) and number >= oldest


_GENERATION = re.compile(r"[0-9]{1,3}(?![0-9])")
