"""Counting in an encoding: exactly, or as an estimate for models that have another one."""

from collections.abc import Iterable
from typing import Literal

from promptdsl.models import ModelFacts, TokenFactors
from promptdsl.tokens.counting import EXACT, Count, Tokens, plain_text
from promptdsl.tokens.encoders import ESTIMATING, Encoded, Encoder, encoder


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


def assumed(facts: ModelFacts) -> str:
    """Return the label of a count in the newest encoding, where nothing says that it is this."""
    if facts.provider is None:
        return f"estimate ({ESTIMATING}, without a model; up to 36% too few for some)"
    who = f"no model of {facts.provider}" if facts.model is None else repr(facts.model)
    return f"estimate ({ESTIMATING}, assumed for {who})"
