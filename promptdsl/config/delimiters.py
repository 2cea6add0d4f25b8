"""Delimiters: the two ends of the fence around an event or a request-only turn."""

import functools
import re
from typing import Literal, cast

import attrs


@attrs.frozen(cache_hash=True)
class Delimiter:
    """The two ends of a fence.

    ``default`` is a tag that takes attributes, ``open`` being its form without any; ``pair`` is two
    texts, ``prefix`` is ``open`` alone, ``none`` is nothing.
    """

    kind: Literal["default", "pair", "prefix", "none"]
    open: str = ""
    close: str = ""

    @property
    def tag_name(self) -> str | None:
        """The name of the tag that ``open`` reads as, or ``None``."""
        return _tag_name(self.open)

    @property
    def is_tag(self) -> bool:
        """Whether both ends read as one tag, so that guarding its name guards the whole fence."""
        tag = _CLOSING_TAG.fullmatch(self.close)
        return tag is not None and tag[1] == self.tag_name

    @property
    def literals(self) -> tuple[str, ...]:
        """The ends that are not tags; text inside is guarded against them as they are written."""
        # Without the blanks around them, as the line ends beside a text could complete one.
        return (
            () if self.is_tag else tuple(text.strip() for text in (self.open, self.close) if text)
        )


_NAME = "[A-Za-z_][A-Za-z0-9_.-]*"
_TAG = re.compile(rf"\s*<({_NAME})(?:\s[^<>]*)?>\s*")
_CLOSING_TAG = re.compile(rf"\s*</({_NAME})\s*>\s*")


@functools.lru_cache(maxsize=128)
def _tag_name(text: str) -> str | None:
    tag = _TAG.fullmatch(text)
    return tag[1] if tag else None


NO_DELIMITER = Delimiter("none")
EVENT_DELIMITER = Delimiter("default", "<event>", "</event>")
EPHEMERAL_DELIMITER = Delimiter("default", "<context>", "</context>")


@attrs.frozen(cache_hash=True)
class Delimiters:
    """The delimiter of every type of event, and of request-only turns."""

    user_action: Delimiter = EVENT_DELIMITER
    state_change: Delimiter = EVENT_DELIMITER
    system_event: Delimiter = EVENT_DELIMITER
    text: Delimiter = EVENT_DELIMITER
    ephemeral: Delimiter = EPHEMERAL_DELIMITER

    @property
    def all(self) -> tuple[Delimiter, ...]:
        """Every delimiter, those of events first."""
        return (*(self.for_event(type) for type in EVENT_TYPES), self.ephemeral)

    def for_event(self, type: str) -> Delimiter:
        """Return the delimiter of a type of event block; any other type counts as text."""
        return cast("Delimiter", getattr(self, type if type in EVENT_TYPES else "text"))


EVENT_TYPES = ("user_action", "state_change", "system_event", "text")


# Fences.

_ALWAYS = frozenset({"developer", "event", "context", "untrusted", "grounding"})
"""Tags the library itself writes, guarded also where a configuration sets other delimiters."""


@functools.lru_cache(maxsize=128)
def fence_names(delimiters: Delimiters) -> frozenset[str]:
    """Return the tag names of all delimiters, and those the library itself writes."""
    names = (delimiter.tag_name for delimiter in delimiters.all)
    return _ALWAYS.union(name for name in names if name is not None)


@functools.lru_cache(maxsize=128)
def fence_literals(delimiters: Delimiters) -> frozenset[str]:
    """Return the ends of all delimiters that are not tags, as they are written."""
    return frozenset(text for delimiter in delimiters.all for text in delimiter.literals)
