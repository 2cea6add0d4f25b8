"""Counting with what a user gives: a function, or an object with a method ``count``."""

from collections.abc import Sequence
from threading import Lock
from types import MethodType
from typing import Any, NoReturn, cast

from promptdsl.errors import OptionError
from promptdsl.sources import author
from promptdsl.tokens.counting import Count, GivenCounter, Tokens, plain_text
from promptdsl.tokens.encoders import REMEMBERED
from promptdsl.tokens.remembering import Remembered


class GivenTokens(Tokens):
    """Counts with what a user gave, and checks what it returns."""

    __slots__ = ("_counted", "_given")

    def __init__(self, given: GivenCounter) -> None:
        self._given = given
        self._counted: Remembered[Count] = Remembered(REMEMBERED)

    @property
    def label(self) -> str:
        """What the counter says of an empty text; of a function, that it is an estimate."""
        return self.count("").label

    def count(self, text: str, /) -> Count:
        """Return what the counter says of a text, asked once."""
        text = text if type(text) is str else plain_text(text)
        counted = self._counted.get(text)
        if counted is None:
            counted = self._asked(text)
            self._counted.put(text, counted)
        return counted

    def of(self, text: str, /) -> int:
        """Return the tokens that a text needs room for."""
        return self.count(text).tokens

    def typical(self, text: str, /) -> int:
        """Return the tokens that a text usually comes to."""
        count = self.count(text)
        return count.tokens if count.typical is None else count.typical

    def measured(self, text: str, /) -> int:
        """Return what :meth:`of` does, and remember nothing."""
        return self._asked(text).tokens

    def _asked(self, text: str) -> Count:
        count: Any = getattr(self._given, "count", self._given)
        said: object = count(text)
        if isinstance(said, Count):
            _check(self._given, said.tokens)
            _check(self._given, 0 if said.typical is None else said.typical)
            return said
        _check(self._given, said)
        return Count(cast("int", said), OWN)


OWN = "estimate (by the counter given)"


def _check(given: object, tokens: object) -> None:
    if type(tokens) is int and tokens >= 0:
        return
    said = repr(tokens) if isinstance(tokens, int | float | None) else f"a {type(tokens).__name__}"
    raise OptionError(
        f"the counter {_called(given)} returned {said} for a text",
        fix="return how many tokens it is, a whole number from 0 on",
        at=(author(),),
    )


def _called(given: object) -> str:
    return str(getattr(given, "__qualname__", type(given).__qualname__))


def given_tokens(given: GivenCounter) -> Tokens:
    """Return what counts with a given counter, the same one as long as it is asked for again."""
    # A string or a list has a method of that name, too, which counts something else.
    counts = callable(given) or callable(getattr(given, "count", None))
    if not counts or isinstance(given, Sequence):
        _refuse(cast("object", given))
    with _LOOKING:
        found = next((entry for entry in _recent if _is_same(entry[0], given)), None)
        entry = found or (given, GivenTokens(given))
        _recent[:] = [entry, *(other for other in _recent if other is not entry)][:_MOST]
    return entry[1]


_recent: list[tuple[GivenCounter, Tokens]] = []
_MOST = 8
"""How many given counters are remembered, with what they counted."""
_LOOKING = Lock()


def _is_same(one: object, other: object) -> bool:
    # The method of an object is another object each time it is asked for.
    both = isinstance(one, MethodType) and isinstance(other, MethodType)
    return one is other or (both and one == other)


def _refuse(given: object) -> NoReturn:
    raise OptionError(
        f"counter={given!r} cannot count",
        fix="give a function from a text to how many tokens it is, or counter('a-model')",
        at=(author(),),
    )
