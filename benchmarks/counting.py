"""The two counters a conversation is trimmed by, and how others come to them.

``FREE`` costs nothing, so what is left is the trimming. ``O200K`` is tiktoken with o200k_base.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tiktoken import Encoding, registry

from promptdsl.tokens import encodings


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts a text, in tokens: what it is called, and its function."""

    name: str
    of: Callable[[str], int]
    given: Callable[[str], int] | None
    """What ``render`` is given as its counter: ``None`` for the one it has for the model."""


@cache
def encoding() -> Encoding:
    """Return o200k_base, made of the table that promptdsl brings.

    From then on tiktoken has it as well: it would fetch its file, and here is no network.
    """
    return registry.ENCODINGS.setdefault("o200k_base", encodings.encoding("o200k_base"))


def _free(text: str) -> int:
    return len(text) // 4


def _counted(text: str) -> int:
    return len(encoding().encode(text, disallowed_special=()))


FREE = Counter("len // 4", _free, _free)
O200K = Counter("o200k_base", _counted, None)
COUNTERS = (FREE, O200K)
