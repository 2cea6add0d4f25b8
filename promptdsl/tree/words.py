"""Words that several nodes write in an outline: sizes, cache marks and priorities."""

import re

from promptdsl.messages.field_checks import Cache


def in_words(name: str) -> str:
    """Return the name of a component in words: ``user action``."""
    return re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower()


def size(text: str) -> str:
    """Return the number of characters of a text."""
    return "1 character" if len(text) == 1 else f"{len(text):,} characters"


def cached(mark: Cache) -> str:
    """Return the words for a cache mark."""
    return "cached" if mark == "default" else f"cached for {mark}"


def prioritised(priority: float | None) -> str:
    """Return a priority as an option, nothing without one."""
    return "" if priority is None else f" priority={priority:,}"
