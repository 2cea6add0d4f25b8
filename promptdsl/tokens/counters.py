"""Which counter it is: by the name of a model, by what is known of a target, or a given one."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from threading import Lock
from types import MethodType
from typing import Any, Literal, NoReturn, cast

from promptdsl.config.model_facts import ModelFacts, TokenFactors
from promptdsl.config.models import facts_for
from promptdsl.foundation.errors import OptionError
from promptdsl.foundation.source import author
from promptdsl.tokens.count import EXACT, Count, GivenCounter, Tokens, plain_text
from promptdsl.tokens.encoder import ESTIMATING, REMEMBERED, Encoded, Encoder, Remembered, encoder


class EncodedTokens(Tokens):
    """Counts in an encoding, times ``factors``: of tokens in ASCII, and of all others."""

    __slots__ = ("_encoder", "_exact", "_label", "_name", "_other", "_plain")

    def __init__(self, name: str, label: str, factors: TokenFactors | None = None) -> None:
        given = factors or TokenFactors(1, 1, 1, 1)
        self._name = name
        self._label = label
        self._exact = label == EXACT
        self._encoder: Encoder | None = None
        # In thousandths, as whole numbers: rounded once, so that parts add up the same everywhere.
        self._plain = _thousandths(given.must_fit), _thousandths(given.typical)
        self._other = _thousandths(given.other_must_fit), _thousandths(given.other_typical)

    @property
    def label(self) -> str:
        """How sure the counts are."""
        return self._label

    def count(self, text: str, /) -> Count:
        """Return how many tokens a text is; one that had to be cut to be counted is an estimate."""
        encoded = self._encoded(text)
        tokens = self._charged(encoded, _MUST_FIT)
        if self._label != EXACT:
            return Count(tokens, self._label, self._charged(encoded, _TYPICAL))
        return Count(tokens, EXACT if encoded.certain else f"estimate ({self._name}, in pieces)")

    def of(self, text: str, /) -> int:
        """Return the tokens that a text needs room for."""
        # Most texts were counted before: this is asked for each of a request's.
        encoder = self._encoder
        encoded = None
        if encoder is not None and type(text) is str:
            encoded = encoder.known.younger.get(text)
        if encoded is None:
            encoded = self._encoded(text)
        return encoded[0] if self._exact else self._charged(encoded, _MUST_FIT)

    def typical(self, text: str, /) -> int:
        """Return the tokens that a text usually comes to."""
        return self._charged(self._encoded(text), _TYPICAL)

    def measured(self, text: str, /) -> int:
        """Return what :meth:`of` does, and remember nothing."""
        return self._charged(self._counts().measured(text), _MUST_FIT)

    def joined(self, texts: Iterable[str], /) -> int:
        """Return the tokens of texts one behind the other, as one text."""
        return self._charged(self._counts().joined(texts), _MUST_FIT)

    def _encoded(self, text: str) -> Encoded:
        # Loaded with the first text: who never counts never waits for it.
        encoder = self._encoder or self._counts()
        return encoder.of(text if type(text) is str else plain_text(text))

    def _counts(self) -> Encoder:
        if self._encoder is None:
            self._encoder = encoder(self._name)
        return self._encoder

    def _charged(self, encoded: Encoded, which: Literal[0, 1]) -> int:
        plain = (encoded.tokens - encoded.other) * self._plain[which]
        return -(-(plain + encoded.other * self._other[which]) // 1000)


_MUST_FIT: Literal[0] = 0
_TYPICAL: Literal[1] = 1


def _thousandths(factor: float) -> int:
    return round(factor * 1000)


def estimate(factors: TokenFactors) -> str:
    """Return the label of a count that is multiplied."""
    typical, must_fit, other_typical, other_must_fit = factors
    said = f"{ESTIMATING} x {must_fit:g}, usually {must_fit / typical - 1:.0%} too much"
    if (typical, must_fit) != (other_typical, other_must_fit):
        said += f"; other scripts x {other_must_fit:g}, {other_must_fit / other_typical - 1:.0%}"
    return f"estimate ({said})"


def assumed(provider: str | None, model: str | None) -> str:
    """Return the label of a count in the newest encoding, where nothing says that it is this."""
    if provider is None:
        return f"estimate ({ESTIMATING}, without a model; up to 36% too few for some)"
    who = f"no model of {provider}" if model is None else repr(model)
    return f"estimate ({ESTIMATING}, assumed for {who})"


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


def counter(model: str | None = None) -> Tokens:
    """Return the counter of a model, by its name; without one, of no model in particular.

    It is exact where the model's encoding is public, else an estimate whose label says how it is
    made. Nothing is loaded before the first text is counted, and nothing is ever fetched: a text
    raises :class:`TokenizerError` where the encoding is not here, what is no name
    :class:`OptionError`.
    """
    if not (model is None or isinstance(model, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(f"model={model!r}", fix="give the name of a model", at=(author(),))
    return tokens_for(facts_for(model, None))


def tokens_for(facts: ModelFacts, given: GivenCounter | None = None) -> Tokens:
    """Return what counts for a target: what is given, else what is known of its model.

    Raises :class:`OptionError` for what cannot count.
    """
    if isinstance(given, Tokens):
        return given
    if given is not None:
        return given_tokens(given)
    return _known_tokens(facts.encoding, facts.token_factors, facts.provider, facts.model)


@lru_cache(maxsize=1024)
def _known_tokens(
    encoding: str | None, factors: TokenFactors | None, provider: str | None, model: str | None
) -> Tokens:
    if encoding is not None:
        return EncodedTokens(encoding, EXACT)
    if factors is not None:
        return EncodedTokens(ESTIMATING, estimate(factors), factors)
    return EncodedTokens(ESTIMATING, assumed(provider, model))
