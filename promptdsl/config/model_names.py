"""Names of models: what gateways and clouds write around them, and what they tell of a model."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

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


def bare_name(model: str) -> str:
    """Return the name of a model without what a gateway, a cloud or fine-tuning put around it."""
    name = _PREFIX.sub("", model, count=1)
    tuned = _TUNED.fullmatch(name)
    return tuned[1] if tuned else name


def is_called(name: str, pattern: str) -> bool:
    """Return whether a name is a pattern, or a pattern and a date or version."""
    return name.startswith(pattern) and _SUFFIX.fullmatch(name, len(pattern)) is not None


def is_named(name: str, words: Sequence[str]) -> bool:
    """Return whether one of some words stands in a name, not as a part of a longer word."""
    return any(re.search(rf"(?<![a-z]){re.escape(word)}(?![a-z])", name) for word in words)


def is_family(name: str, family: Mapping[str, Any]) -> bool:
    """Return whether a name belongs to a family, from its oldest generation on."""
    if family["name"].endswith("."):
        return name.startswith(family["name"])
    head, _, rest = name.partition("-")
    generation = _GENERATION.match(rest)
    number = int(generation[0]) if generation else 0
    oldest: int = family.get("from", 0)
    return head == str(family["name"]) and number >= oldest


_GENERATION = re.compile(r"[0-9]{1,3}(?![0-9])")
