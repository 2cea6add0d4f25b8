"""The classes of token counters, which count the tokens of a text and say how certain this is.

A user who counts in another way writes a class like :class:`TokenCounter`, or a plain function.
The counters of promptdsl are subclasses of :class:`Tokens`; they are in ``counters.py``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

import attrs

from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.source import author, public_api
from promptdsl.foundation.unicode import exact

EXACT = "exact"
"""The label of a count that is not an estimate."""


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


class TextCounter(Protocol):
    """A counter for messages and payloads, which need only this method of :class:`Tokens`."""

    def of(self, text: str, /) -> int:
        """Return the tokens of a text."""
        ...


class Tokens(ABC):
    """The base class of promptdsl's counters.

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
        """Return the tokens of a text, and how certain this count is.

        Raises :class:`ContentError` for an argument that is not a text.
        """

    @abstractmethod
    def of(self, text: str, /) -> int:
        """Return the tokens to reserve for a text: the same number as ``count(text).tokens``."""

    def typical(self, text: str, /) -> int:
        """Return the usual number of tokens of a text; an exact count equals :meth:`of`."""
        count = self.count(text)
        return count.tokens if count.typical is None else count.typical

    def measured(self, text: str, /) -> int:
        """Return the same number as :meth:`of`, for a text that is counted only once.

        A counter with a cache overrides this method, so that such a text is not cached.
        """
        return self.of(text)

    def joined(self, texts: Iterable[str], /) -> int:
        """Return the tokens of texts that are joined into one text.

        This may be more or less than the sum of their tokens. This class counts the joined text. A
        counter with an encoding overrides this method: if the texts were counted before, it counts
        only the text around their borders.
        """
        return self.of("".join(texts))


# Each counter calls this function for its user, so a traceback ends at the user's call.
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
