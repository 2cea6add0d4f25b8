"""Words that several nodes write in an outline: sizes, cache marks and priorities."""

from promptdsl.messages.field_checks import Cache


def size(text: str) -> str:
    """Return the number of characters of a text."""
    return "1 character" if len(text) == 1 else f"{len(text):,} characters"


def cached(mark: Cache) -> str:
    """Return the words for a cache mark."""
    return "cached" if mark == "default" else f"cached for {mark}"


def prioritised(priority: float | None) -> str:
    """Return a priority as an option, nothing without one."""
    return "" if priority is None else f" priority={priority:,}"
