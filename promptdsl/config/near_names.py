"""The known models that an unknown name is near to."""

import re
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache

from promptdsl.config import models
from promptdsl.config.wires import wire_of


def near_name(model: str, provider: str | None) -> str | None:
    """Return advice on an unknown name of a model, ``None`` for a name that may be any.

    A name is near a known one if it differs by a few letters and by no digit: another number is
    another model. An unknown name of a known family gets the nearest name of all. ``provider`` is
    the provider that was given.
    """
    return _advice(model, provider, models.patterns())


@lru_cache(maxsize=256)
def _advice(model: str, provider: str | None, known: tuple[str, ...]) -> str | None:
    wire = wire_of(provider)
    if not model or wire.any_model or models.is_known(model):
        return None
    name = models.name_without_version(model).lower()
    if name in models.providers():
        return f"it is a provider: write provider={name!r}"
    beginning = next((pattern for pattern in known if name.startswith(f"{pattern}-")), None)
    is_deployment = beginning is not None and wire.deploys
    digits = _NO_DIGIT.sub("", name)
    alike = [
        (_likeness(name, pattern), pattern)
        for pattern in known
        if _NO_DIGIT.sub("", pattern) == digits
    ]
    likeness, near = max(alike, default=(0, ""))
    if likeness >= (0.9 if is_deployment else 0.8):
        return f"did you mean {near!r}?"
    if is_deployment or models.family_provider(model) is None:
        return None
    close = [beginning] if beginning else get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else "register_model() adds its facts"


_NO_DIGIT = re.compile(r"\D")


def _likeness(name: str, pattern: str) -> float:
    """Return how alike two names are, from 0 to 1; the order of their words does not matter."""
    pairs = [(name, pattern), (_sorted_words(name), _sorted_words(pattern))]
    return max(SequenceMatcher(None, *pair).ratio() for pair in pairs)


def _sorted_words(name: str) -> str:
    return "-".join(sorted(re.split(r"[-._ ]", name)))
