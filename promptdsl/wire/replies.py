"""What a response counts beside its message, in tokens."""

from collections.abc import Mapping


def usage(**counts: object) -> Mapping[str, int] | None:
    """Return the counts that a response tells, in tokens, ``None`` when it tells none.

    ``input`` is all that was read, cached or not; ``cache_read`` and ``cache_write`` are the parts
    of it that came from a cache and went into one; ``output`` is all that was written,
    ``reasoning`` the part of it that was thought.
    """
    found = {name: count for name, count in counts.items() if type(count) is int}
    return found or None


def total(*counts: object) -> int | None:
    """Return the sum of the counts that are told, ``None`` when none is."""
    told = [count for count in counts if type(count) is int]
    return sum(told) if told else None
