"""Token counters: objects that count the tokens of a text and say how certain the count is.

To count in another way, write a class like :class:`TokenCounter`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

import attrs

from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.source import author, public_api
from promptdsl.foundation.unicode import exact

EXACT = "exact"


@attrs.frozen
class Count:
    """The number of tokens of a text; ``label`` says how certain the number is.

    The label is ``"exact"``, or begins with ``"estimate"``. The ``tokens`` of an estimate are
    enough for nearly all texts; budgets use them. ``typical`` is the usual number.

    >>> from promptdsl.tokens import Count, counter
    >>> counter("gpt-4o").count("Hello, world!")
    Count(tokens=4, label='exact', typical=None)
    >>> counter("claude-opus-5-5").count("Hello, world!").typical
    6
    """

    tokens: int
    label: str
    typical: int | None = None


class TokenCounter(Protocol):
    """The counter that you may pass as ``counter=``: an object with a method ``count``.

    You may also pass a plain function from a text to an ``int``.

    >>> from promptdsl import split_text
    >>> from promptdsl.tokens import Count
    >>> class Words:
    ...     def count(self, text: str) -> Count:
    ...         return Count(len(text.split()), "estimate (words)")
    >>> split_text("one two three", max_tokens=2, counter=Words())
    ['one two ', 'three']
    """

    def count(self, text: str, /) -> Count:
        """Return the count of a text. The same text must always have the same count."""
        ...


UserCounter: TypeAlias = TokenCounter | Callable[[str], int]
"""A counter that a user passes: an object with ``count``, or a plain function."""


class TextTokens(Protocol):
    """The only method of :class:`Tokens` that is needed to count messages and payloads."""

    def of(self, text: str, /) -> int:
        """Return the tokens of a text."""
        ...


class Tokens(ABC):
    """A counter that caches the count of each text while the process runs.

    >>> from promptdsl.tokens import counter
    >>> tokens = counter("gpt-4o")
    >>> tokens.of("on"), tokens.of("ly"), tokens.joined(["on", "ly"])
    (1, 1, 1)
    """

    __slots__ = ()

    @property
    @abstractmethod
    def label(self) -> str:
        """How certain the counts are: ``"exact"``, or an estimate with its method and error."""

    @property
    def method(self) -> str:
        """A short name of the method: an encoding and its factor, or the label."""
        return self.label

    @abstractmethod
    def count(self, text: str, /) -> Count:
        """Return the tokens of a text, and how certain this count is."""

    @abstractmethod
    def of(self, text: str, /) -> int:
        """Return the tokens to reserve for a text; an estimate is rounded up."""

    def typical(self, text: str, /) -> int:
        """Return the usual number of tokens of a text, which equals :meth:`of` if that is exact."""
        count = self.count(text)
        return count.tokens if count.typical is None else count.typical

    def measured(self, text: str, /) -> int:
        """Return the same as :meth:`of` without a cache, for texts that are counted only once."""
        return self.of(text)

    def joined(self, texts: Iterable[str], /) -> int:
        """Return the tokens of texts that are joined into one text.

        This may be more or less than the sum of their tokens. If the texts were counted before, an
        encoding counts only the text around their borders.
        """
        return self.of("".join(texts))


@public_api
def plain_text(text: object) -> str:
    """Return a text as a plain string; :class:`ContentError` for anything else."""
    if isinstance(text, str):
        return exact(text)
    raise ContentError(
        f"a token counter takes a text, not {type(text).__name__}",
        fix="pass a str",
        at=(author(),),
    )
