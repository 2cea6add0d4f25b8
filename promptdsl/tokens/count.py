"""The counting of texts: how many tokens one is, and how sure that is.

To count in another way, implement :class:`TokenCounter`; the rest is ours.
"""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

import attrs

from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.source import author
from promptdsl.foundation.unicode import exact

EXACT = "exact"


@attrs.frozen
class Count:
    """How many tokens a text is. ``label`` says how sure that is: ``"exact"``, or an estimate.

    Of an estimate ``tokens`` are enough for nearly every text (what a budget counts in), and
    ``typical`` is what it usually comes to.
    """

    tokens: int
    label: str
    typical: int | None = None


class TokenCounter(Protocol):
    """What counts the tokens of texts: an object with this method.

    Wherever one is taken, a plain function from a text to an ``int`` is, too.
    """

    def count(self, text: str, /) -> Count:
        """Return how many tokens a text is. The same text is the same count, every time."""
        ...


GivenCounter: TypeAlias = TokenCounter | Callable[[str], int]


class TextTokens(Protocol):
    """The one method of :class:`Tokens` that messages and payloads are counted with."""

    def of(self, text: str, /) -> int:
        """Return how many tokens a text is."""
        ...


class Tokens:
    """A counter of texts that remembers for the whole process how many tokens each one is."""

    __slots__ = ()

    @property
    def label(self) -> str:
        """How sure the counts are: ``"exact"``, or an estimate with its method and usual error."""
        raise NotImplementedError

    def count(self, text: str, /) -> Count:
        """Return how many tokens a text is, and how sure that is."""
        raise NotImplementedError

    def of(self, text: str, /) -> int:
        """Return the tokens that a text needs room for: where it is an estimate, rounded up."""
        raise NotImplementedError

    def typical(self, text: str, /) -> int:
        """Return the tokens that a text usually comes to; :meth:`of` where that is exact."""
        raise NotImplementedError

    def measured(self, text: str, /) -> int:
        """Return what :meth:`of` does, and remember nothing: for what is tried once."""
        raise NotImplementedError

    def joined(self, texts: Iterable[str], /) -> int:
        """Return the tokens of texts one behind the other, as one text.

        That is neither their sum nor bounded by it. Of texts that were counted before, an encoding
        counts only what stands at their joints.
        """
        return self.of("".join(texts))


def plain_text(text: object) -> str:
    """Return a text as a plain string. Raises :class:`ContentError` for what is none."""
    if isinstance(text, str):
        plain: str = exact(text)
        return plain
    raise ContentError(
        f"only a text is counted, not {type(text).__name__}", fix="give it a str", at=(author(),)
    )
