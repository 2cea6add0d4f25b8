"""The token counter of a model: with one of tiktoken's encodings, or from the user.

Read ``EncodedTokens`` first, then the ``Encoder`` that it counts with. ``tokens_for`` chooses the
counter.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from sys import maxsize
from threading import Lock
from types import MethodType
from typing import Generic, Literal, NamedTuple, TypeVar, cast

from promptdsl.config.model_facts import ModelFacts, TokenFactors
from promptdsl.config.models import facts_for
from promptdsl.foundation.errors import OptionError, PromptError, shown
from promptdsl.foundation.source import author, end_traceback, note_caller, public_api
from promptdsl.tokens.count import EXACT, Count, Tokens, UserCounter, plain_text
from promptdsl.tokens.encodings import (
    FORCED_CUT,
    MAXIMUM_AT_ONCE,
    SERVED_BY,
    SHIPPED,
    adds_up,
    encoding,
    first_cut,
    last_cut,
    pieces,
    vocabulary,
)

# The counter of one of tiktoken's encodings, with a cache of the counts of the latest texts.

T = TypeVar("T")

OVERHEAD = 64
"""The characters that a cached value counts in addition to its text.

Without them, a cache could keep any number of very short texts.
"""


class TextCache(Generic[T]):
    """A cache of the values of the latest texts, limited by a number of characters.

    The cache has two generations. When the younger generation has half of the characters, it
    replaces the older one. A text that is found in the older generation moves to the younger. So a
    lookup is nearly as fast as in a dictionary, and texts in use stay in the cache.
    """

    __slots__ = ("_half", "_lock", "_older", "_size", "younger")

    def __init__(self, characters: int) -> None:
        self._half = characters // 2
        # Other modules read this dictionary directly, because that is faster. Only this class
        # changes it.
        self.younger: dict[str, T] = {}
        self._older: dict[str, T] = {}
        self._size = 0
        self._lock = Lock()

    def get(self, text: str) -> T | None:
        """Return the value of a text, or ``None``."""
        value = self.younger.get(text)
        if value is None:
            value = self._older.get(text)
            if value is not None:
                self.put(text, value)
        return value

    def put(self, text: str, value: T) -> None:
        """Store the value of a text, unless the text is longer than half of the limit."""
        size = len(text) + OVERHEAD
        if size > self._half:
            return
        with self._lock:
            if self._size + size > self._half:
                self._older, self.younger, self._size = self.younger, {}, 0
            if text not in self.younger:
                self._size += size
            self.younger[text] = value

    def __len__(self) -> int:
        return len(self.younger) + len(self._older)


CACHED_CHARACTERS = 32 * 1024 * 1024
"""The characters of the texts whose counts are cached, for each encoding."""

ESTIMATING = "o200k_base"
"""The encoding of all estimates. Its tokens that are not ASCII are also counted separately."""


class Encoded(NamedTuple):
    """The tokens of a text; ``other`` is how many of them are not ASCII.

    ``other`` is counted only in the encoding ``ESTIMATING``, and 0 in any other.

    ``certain`` is false if the text was cut at a position that may have changed the count.
    """

    tokens: int
    other: int
    certain: bool = True


class TextEnds(NamedTuple):
    """The ends of a text that is joined to other texts: only these have to be counted again.

    ``head`` ends at the first certain cut of the text, and ``tail`` begins at the last. ``between``
    has the tokens of the text between these. Without a cut, the head is the complete text, and the
    tail is ``None``.
    """

    head: str
    between: Encoded
    tail: str | None


def encoder(name: str) -> "Encoder":
    """Return the encoder of an encoding; it is always the same object in a process."""
    name = SERVED_BY.get(name, name)
    with _ENCODERS_LOCK:
        if name not in _encoders:
            _encoders[name] = Encoder(name)
        return _encoders[name]


_encoders: "dict[str, Encoder]" = {}
_ENCODERS_LOCK = Lock()


class Encoder:
    """A counter of texts in one encoding, with a cache of the counts."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._encoding = encoding(name)
        self._has_cuts = name in SHIPPED
        self.cached: TextCache[Encoded] = TextCache(CACHED_CHARACTERS)
        self._ends: TextCache[TextEnds] = TextCache(CACHED_CHARACTERS)

    def of(self, text: str) -> Encoded:
        """Return the tokens of a text, from the cache if it was counted before."""
        encoded = self.cached.get(text)
        if encoded is None:
            encoded = self.measured(text)
            self.cached.put(text, encoded)
        return encoded

    def measured(self, text: str) -> Encoded:
        """Return the tokens of a text, without the cache."""
        if len(text) <= (MAXIMUM_AT_ONCE if self._has_cuts else FORCED_CUT):
            return self._piece(text)
        counted_pieces = [(self._piece(piece), certain) for piece, certain in pieces(text)]
        certain = self._has_cuts and all(certain for _, certain in counted_pieces)
        return _total([encoded for encoded, _ in counted_pieces])._replace(certain=certain)

    def joined(self, texts: Iterable[str]) -> Encoded:
        """Return the exact tokens of texts that are joined into one text.

        If the texts were counted before, only the text around their borders is counted.
        """
        if not self._has_cuts:
            return self.of("".join(texts))
        # The tokens of two runs certainly add up. The tokens of two texts in a run may not.
        runs: list[list[str]] = []
        for text in filter(None, texts):
            if runs and not adds_up(runs[-1][-1], text):
                runs[-1].append(text)
            else:
                runs.append([text])
        counts: list[Encoded] = []
        for run in runs:
            if len(run) == 1:
                counts.append(self.of(run[0]))
                continue
            # The tail of a text is counted with the text after it, up to the next certain cut.
            pending: list[str] = []
            for text in run:
                text_ends = self._ends_of(text)
                pending.append(text_ends.head)
                if text_ends.tail is not None:
                    counts += (self.of("".join(pending)), text_ends.between)
                    pending = [text_ends.tail]
            counts.append(self.of("".join(pending)))
        return _total(counts)

    def _piece(self, text: str) -> Encoded:
        # By default tiktoken refuses a text that contains <|endoftext|>.
        ids = self._encoding.encode(text, disallowed_special=())
        counts_other = self._name == ESTIMATING and not text.isascii()
        other = sum(map(self._is_other.__getitem__, ids)) if counts_other else 0
        return Encoded(len(ids), other)

    @cached_property
    def _is_other(self) -> bytes:
        """By rank of a token, 1 if it is not ASCII, else 0."""
        return bytes(not token.isascii() for token in vocabulary(self._name))

    def _ends_of(self, text: str) -> TextEnds:
        text_ends = self._ends.get(text)
        if text_ends is not None:
            return text_ends
        first, last = first_cut(text), last_cut(text)
        if first is None or last is None:
            text_ends = TextEnds(text, Encoded(0, 0), None)
        else:
            head, tail = text[:first], text[last:]
            total, ends = self.of(text), _total([self.of(head), self.of(tail)])
            between = Encoded(total.tokens - ends.tokens, total.other - ends.other, total.certain)
            text_ends = TextEnds(head, between, tail)
        self._ends.put(text, text_ends)
        return text_ends


def _total(counts: list[Encoded]) -> Encoded:
    return Encoded(
        sum(encoded.tokens for encoded in counts),
        sum(encoded.other for encoded in counts),
        all(encoded.certain for encoded in counts),
    )


# The token counter of a model, and the counter that wraps the counter of a user.


class EncodedTokens(Tokens):
    """A counter with an encoding; ``factors`` are for ASCII tokens and for all other tokens."""

    __slots__ = ("_ascii_factors", "_encoder", "_exact", "_label", "_name", "_other_factors")

    def __init__(self, name: str, label: str, factors: TokenFactors | None = None) -> None:
        factors = factors or TokenFactors(1, 1, 1, 1)
        self._name = name
        self._label = label
        self._exact = label == EXACT
        self._encoder: Encoder | None = None
        # Pairs of factors, which _MUST_FIT and _TYPICAL index. They are whole thousandths, and
        # rounded only here, so that sums of parts are always the same.
        self._ascii_factors = round(factors.must_fit * 1000), round(factors.typical * 1000)
        self._other_factors = (
            round(factors.other_must_fit * 1000),
            round(factors.other_typical * 1000),
        )

    @property
    def label(self) -> str:
        """How certain the counts are."""
        return self._label

    @property
    def method(self) -> str:
        """The encoding, and its factor if it has one: ``"o200k_base x 1.35"``."""
        factor = self._ascii_factors[_MUST_FIT] / 1000
        return self._name if factor == 1 else f"{self._name} x {factor:g}"

    def count(self, text: str, /) -> Count:
        """Return the tokens of a text; an estimate if cuts of the text may change the count.

        Raises :class:`ContentError` for an argument that is not a text, and
        :class:`TokenizerError` if the files of the encoding are missing.
        """
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
        """Return the same as :meth:`of`, without a cache."""
        return self._charged(self._load().measured(text), _MUST_FIT)

    def joined(self, texts: Iterable[str], /) -> int:
        """Return the tokens of texts that are joined into one text."""
        return self._charged(self._load().joined(texts), _MUST_FIT)

    def _encoded(self, text: str) -> Encoded:
        try:
            encoder = self._encoder or self._load()
            return encoder.of(text if type(text) is str else plain_text(text))
        except PromptError as error:
            end_traceback(error)
            raise

    def _load(self) -> Encoder:
        """Return the encoder, which is loaded when the first text is counted."""
        if self._encoder is None:
            self._encoder = encoder(self._name)
        return self._encoder

    def _charged(self, encoded: Encoded, factor_index: Literal[0, 1]) -> int:
        """Return the tokens of a text by the counter's factors, rounded up."""
        ascii_thousandths = (encoded.tokens - encoded.other) * self._ascii_factors[factor_index]
        other_thousandths = encoded.other * self._other_factors[factor_index]
        return -(-(ascii_thousandths + other_thousandths) // 1000)


_MUST_FIT: Literal[0] = 0
_TYPICAL: Literal[1] = 1


class UserTokens(Tokens):
    """A counter that calls a user's counter, checks its results and caches them."""

    __slots__ = ("_counter", "_counts")

    def __init__(self, user_counter: UserCounter) -> None:
        self._counter = user_counter
        self._counts: TextCache[Count] = TextCache(CACHED_CHARACTERS)

    @property
    def label(self) -> str:
        """The label that the counter has for an empty text; an estimate for a plain function."""
        return self.count("").label

    def count(self, text: str, /) -> Count:
        """Return the count of a text, from the cache if the text was counted before.

        Raises :class:`OptionError` if the user's counter returns no number of tokens, and any
        exception that it raises.
        """
        text = text if type(text) is str else plain_text(text)
        count = self._counts.get(text)
        if count is None:
            count = self._call(text)
            self._counts.put(text, count)
        return count

    def of(self, text: str, /) -> int:
        """Return the tokens to reserve for a text."""
        return self.count(text).tokens

    def measured(self, text: str, /) -> int:
        """Return the same as :meth:`of`, without a cache."""
        return self._call(text).tokens

    def _call(self, text: str) -> Count:
        count_function = getattr(self._counter, "count", self._counter)
        try:
            result = cast("Callable[[str], object]", count_function)(text)
        except Exception as error:
            note_caller(error, author(), "the counter given")
            raise
        if not isinstance(result, Count):
            return Count(self._checked(result), "estimate (by the counter given)")
        self._checked(result.tokens)
        self._checked(0 if result.typical is None else result.typical)
        return result

    def _checked(self, tokens: object) -> int:
        """Return a number of tokens; :class:`OptionError` for a value that is none."""
        if type(tokens) is int and 0 <= tokens <= maxsize:
            return tokens
        is_number = isinstance(tokens, int | float | None)
        returned = shown(tokens) if is_number else f"a {type(tokens).__name__}"
        name = getattr(self._counter, "__qualname__", type(self._counter).__qualname__)
        raise OptionError(
            f"the counter {name} returned {returned} for a text",
            fix="return the number of its tokens, a whole number, 0 or more",
            at=(author(),),
        )


def tokens_of_user_counter(user_counter: UserCounter) -> Tokens:
    """Return the counter that wraps a user's counter.

    If the user's counter is among the last eight, the result is the same object as before, with its
    cache. Raises :class:`OptionError` for an object that cannot count.
    """
    # The method ``count`` of a string or a list does not count tokens.
    is_counter = callable(user_counter) or callable(getattr(user_counter, "count", None))
    if not is_counter or isinstance(user_counter, Sequence):
        raise OptionError(
            f"counter={shown(user_counter)} cannot count",  # pyright: ignore[reportUnknownArgumentType]
            fix="pass a function that returns the number of tokens of a text, or the counter of a "
            'model: promptdsl.tokens.counter("gpt-5")',
            at=(author(),),
        )
    key = (id(user_counter), 0)
    if isinstance(user_counter, MethodType):  # each use of a method makes another object
        key = (id(user_counter.__self__), id(user_counter.__func__))
    with _RECENT_LOCK:
        tokens = _recent.pop(key, None) or UserTokens(user_counter)
        _recent[key] = tokens
        if len(_recent) > 8:
            del _recent[next(iter(_recent))]
    return tokens


_recent: dict[tuple[int, int], UserTokens] = {}
"""The last eight counters of users by their ids, each with its counts, the latest last."""
_RECENT_LOCK = Lock()


@public_api
def counter(model: str | None = None) -> Tokens:
    """Return the counter of a model, by its name; without a name, a general estimate.

    Counts are exact if the model's encoding is public. Otherwise they are estimates, and their
    label says how. The encoding is loaded when the first text is counted; no file is fetched.

    >>> from promptdsl.tokens import counter
    >>> counter("gpt-4o").of("How many tokens is this?")
    6
    >>> counter("claude-opus-5-5").label
    'estimate (o200k_base x 1.6, usually 7% too much; other scripts x 2.2, 26%)'

    Raises :class:`OptionError` for a model that is not a string. Counting raises
    :class:`TokenizerError` if the files of the encoding are missing.
    """
    if not (model is None or isinstance(model, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(f"model={shown(model)}", fix="write the name of a model", at=(author(),))
    return tokens_for(facts_for(model, None))


def tokens_for(facts: ModelFacts, given: UserCounter | None = None) -> Tokens:
    """Return the counter of a target model: the counter ``given``, else the counter of the model.

    Raises :class:`OptionError` for a counter that cannot count.

    >>> from promptdsl import Timeline, User, render
    >>> from promptdsl.tokens import tokens_for
    >>> tokens_for(render(Timeline(User("Hi.")), model="gpt-4o").facts).label
    'exact'
    """
    if isinstance(given, Tokens):
        return given
    if given is not None:
        return tokens_of_user_counter(given)
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
