"""The token counter of a model, and the counter that wraps a user's own."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from sys import maxsize
from threading import Lock
from types import MethodType
from typing import Literal, cast

from promptdsl.config.model_facts import ModelFacts, TokenFactors
from promptdsl.config.models import facts_for
from promptdsl.foundation.errors import OptionError, PromptError, shown
from promptdsl.foundation.source import author, end_traceback, note_caller, public_api
from promptdsl.tokens.count import EXACT, Count, Tokens, UserCounter, plain_text
from promptdsl.tokens.encoder import ESTIMATING, REMEMBERED, Encoded, Encoder, Remembered, encoder


class EncodedTokens(Tokens):
    """A counter with an encoding; ``factors`` are for ASCII tokens and for all other tokens."""

    __slots__ = ("_encoder", "_exact", "_label", "_name", "_other", "_plain")

    def __init__(self, name: str, label: str, factors: TokenFactors | None = None) -> None:
        factors = factors or TokenFactors(1, 1, 1, 1)
        self._name = name
        self._label = label
        self._exact = label == EXACT
        self._encoder: Encoder | None = None
        # In thousandths and rounded here once, so sums of parts are always the same.
        self._plain = round(factors.must_fit * 1000), round(factors.typical * 1000)
        self._other = round(factors.other_must_fit * 1000), round(factors.other_typical * 1000)

    @property
    def label(self) -> str:
        """How certain the counts are."""
        return self._label

    @property
    def method(self) -> str:
        """The encoding, and its factor if it has one: ``"o200k_base x 1.35"``."""
        factor = self._plain[_MUST_FIT] / 1000
        return self._name if factor == 1 else f"{self._name} x {factor:g}"

    def count(self, text: str, /) -> Count:
        """Return the tokens of a text; an estimate if cuts of the text may change the count."""
        encoded = self._encoded(text)
        tokens = self._charged(encoded, _MUST_FIT)
        if self._label != EXACT:
            return Count(tokens, self._label, self._charged(encoded, _TYPICAL))
        return Count(tokens, EXACT if encoded.certain else f"estimate ({self._name}, in pieces)")

    def of(self, text: str, /) -> int:
        """Return the tokens to reserve for a text."""
        # This is called for each text of a request, and most texts were counted before.
        encoder = self._encoder
        encoded = None
        if encoder is not None and type(text) is str:
            encoded = encoder.cached.younger.get(text)
        if encoded is None:
            encoded = self._encoded(text)
        return encoded[0] if self._exact else self._charged(encoded, _MUST_FIT)

    def measured(self, text: str, /) -> int:
        """Return the same as :meth:`of`, without caching it."""
        return self._charged(self._loaded().measured(text), _MUST_FIT)

    def joined(self, texts: Iterable[str], /) -> int:
        """Return the tokens of texts that are joined into one."""
        return self._charged(self._loaded().joined(texts), _MUST_FIT)

    def _encoded(self, text: str) -> Encoded:
        try:
            encoder = self._encoder or self._loaded()
            return encoder.of(text if type(text) is str else plain_text(text))
        except PromptError as error:
            end_traceback(error)
            raise

    def _loaded(self) -> Encoder:
        """Return the encoder. It is loaded when the first text is counted."""
        if self._encoder is None:
            self._encoder = encoder(self._name)
        return self._encoder

    def _charged(self, encoded: Encoded, factor: Literal[0, 1]) -> int:
        plain = (encoded.tokens - encoded.other) * self._plain[factor]
        return -(-(plain + encoded.other * self._other[factor]) // 1000)


_MUST_FIT: Literal[0] = 0
_TYPICAL: Literal[1] = 1


class UserTokens(Tokens):
    """A counter that calls a user's counter, checks its results and caches them."""

    __slots__ = ("_counter", "_counts")

    def __init__(self, user_counter: UserCounter) -> None:
        self._counter = user_counter
        self._counts: Remembered[Count] = Remembered(REMEMBERED)

    @property
    def label(self) -> str:
        """The label that the counter has for an empty text; an estimate for a plain function."""
        return self.count("").label

    def count(self, text: str, /) -> Count:
        """Return the count of a text. The user's counter is called once for each text."""
        text = text if type(text) is str else plain_text(text)
        count = self._counts.get(text)
        if count is None:
            count = self._called(text)
            self._counts.put(text, count)
        return count

    def of(self, text: str, /) -> int:
        """Return the tokens to reserve for a text."""
        return self.count(text).tokens

    def measured(self, text: str, /) -> int:
        """Return the same as :meth:`of`, without caching it."""
        return self._called(text).tokens

    def _called(self, text: str) -> Count:
        count = getattr(self._counter, "count", self._counter)
        try:
            result = cast("Callable[[str], object]", count)(text)
        except Exception as error:
            note_caller(error, author(), "the counter given")
            raise
        if not isinstance(result, Count):
            return Count(self._checked(result), "estimate (by the counter given)")
        self._checked(result.tokens)
        self._checked(0 if result.typical is None else result.typical)
        return result

    def _checked(self, tokens: object) -> int:
        if type(tokens) is int and 0 <= tokens <= maxsize:
            return tokens
        is_number = isinstance(tokens, int | float | None)
        result = shown(tokens) if is_number else f"a {type(tokens).__name__}"
        name = getattr(self._counter, "__qualname__", type(self._counter).__qualname__)
        raise OptionError(
            f"the counter {name} returned {result} for a text",
            fix="return the number of its tokens, a whole number, 0 or more",
            at=(author(),),
        )


def given_tokens(user_counter: UserCounter) -> Tokens:
    """Return the counter that wraps a user's counter.

    It is the same object as before if the counter is one of the last few.
    """
    # The method ``count`` of a string or a list does not count tokens.
    counts = callable(user_counter) or callable(getattr(user_counter, "count", None))
    if not counts or isinstance(user_counter, Sequence):
        raise OptionError(
            f"counter={shown(user_counter)} cannot count",  # pyright: ignore[reportUnknownArgumentType]
            fix="give a function that returns the number of tokens of a text, or the counter of a "
            'model: promptdsl.tokens.counter("gpt-5")',
            at=(author(),),
        )
    key = (id(user_counter), 0)
    if isinstance(user_counter, MethodType):  # another object each time it is read
        key = (id(user_counter.__self__), id(user_counter.__func__))
    with _LOOKING:
        tokens = _recent.pop(key, None) or UserTokens(user_counter)
        _recent[key] = tokens
        if len(_recent) > 8:
            del _recent[next(iter(_recent))]
    return tokens


_recent: dict[tuple[int, int], UserTokens] = {}
"""The last eight counters of users by identity, each with its counts, the latest last."""
_LOOKING = Lock()


@public_api
def counter(model: str | None = None) -> Tokens:
    """Return the counter of a model, by its name; without a name, a general estimate.

    Counts are exact if the model's encoding is public. Otherwise they are estimates, and their
    label says how they are made. The encoding is loaded when the first text is counted; no file is
    fetched.

    >>> from promptdsl.tokens import counter
    >>> counter("gpt-4o").of("How many tokens is this?")
    6
    >>> counter("claude-opus-5-5").label
    'estimate (o200k_base x 1.6, usually 7% too much; other scripts x 2.2, 26%)'

    Raises :class:`OptionError` for a model that is not a string. Counting raises
    :class:`TokenizerError` if the files of the encoding are missing.
    """
    if not (model is None or isinstance(model, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(f"model={shown(model)}", fix="give the name of a model", at=(author(),))
    return tokens_for(facts_for(model, None))


def tokens_for(facts: ModelFacts, given: UserCounter | None = None) -> Tokens:
    """Return the counter of a target model: the ``given`` one, else that of the model.

    Raises :class:`OptionError` for a counter that cannot count.

    >>> from promptdsl import Timeline, User, render
    >>> from promptdsl.tokens import tokens_for
    >>> tokens_for(render(Timeline(User("Hi.")), model="gpt-4o").facts).label
    'exact'
    """
    if isinstance(given, Tokens):
        return given
    if given is not None:
        return given_tokens(given)
    return _model_tokens(facts.encoding, facts.token_factors, facts.provider, facts.model)


@lru_cache(maxsize=1024)
def _model_tokens(
    encoding: str | None, factors: TokenFactors | None, provider: str | None, model: str | None
) -> Tokens:
    if encoding is not None:
        return EncodedTokens(encoding, EXACT)
    if factors is not None:
        typical, must_fit, other_typical, other_must_fit = factors
        method = f"{ESTIMATING} x {must_fit:g}, usually {must_fit / typical - 1:.0%} too much"
        if (typical, must_fit) != (other_typical, other_must_fit):
            excess = other_must_fit / other_typical - 1
            method += f"; other scripts x {other_must_fit:g}, {excess:.0%}"
    elif provider is None:
        method = f"{ESTIMATING}, without a model; up to 36% too few for some"
    else:
        name = f"no model of {provider}" if model is None else repr(model)
        method = f"{ESTIMATING}, assumed for {name}"
    return EncodedTokens(ESTIMATING, f"estimate ({method})", factors)
