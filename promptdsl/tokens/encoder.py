"""The counter of one of tiktoken's encodings. It counts each text once per process."""

from collections.abc import Iterable
from functools import cached_property
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from promptdsl.tokens.encodings import SERVED_BY, SHIPPED, encoding, vocabulary
from promptdsl.tokens.safe_cuts import AT_ONCE, FORCED, adds_up, first_cut, last_cut, pieces

T = TypeVar("T")

OVERHEAD = 64
"""The characters that each value counts in addition to its text, so many short texts are bounded.
"""


class Remembered(Generic[T]):
    """A cache of the values of the latest texts, bounded by a number of characters.

    It has two generations. When the younger one has half of the characters, it replaces the older
    one. A text that is found in the older one moves to the younger one. So a lookup is nearly as
    fast as that of a dictionary, and texts in use stay in the cache.
    """

    __slots__ = ("_changing", "_half", "_older", "_size", "younger")

    def __init__(self, characters: int) -> None:
        self._half = characters // 2
        # Other modules read it directly, because that is faster. Only this class changes it.
        self.younger: dict[str, T] = {}
        self._older: dict[str, T] = {}
        self._size = 0
        self._changing = Lock()

    def get(self, text: str) -> T | None:
        """Return the value of a text, or ``None``."""
        value = self.younger.get(text)
        if value is None:
            value = self._older.get(text)
            if value is not None:
                self.put(text, value)
        return value

    def put(self, text: str, value: T) -> None:
        """Store the value of a text, unless the text is longer than half of the bound."""
        size = len(text) + OVERHEAD
        if size > self._half:
            return
        with self._changing:
            if self._size + size > self._half:
                self._older, self.younger, self._size = self.younger, {}, 0
            if text not in self.younger:
                self._size += size
            self.younger[text] = value

    def __len__(self) -> int:
        return len(self.younger) + len(self._older)


REMEMBERED = 32 * 1024 * 1024
"""The characters of the texts whose counts are cached, for each encoding."""

ESTIMATING = "o200k_base"
"""The encoding of all estimates. Its tokens that are not ASCII are also counted separately."""


class Encoded(NamedTuple):
    """The tokens of a text, and how many of them are not ASCII (only counted for ``ESTIMATING``).

    ``certain`` is false if the text was cut at a position that may have changed the count.
    """

    tokens: int
    other: int
    certain: bool = True


class Joint(NamedTuple):
    """A text that is joined to others, so that only its ends have to be counted again.

    ``head`` ends at its first certain cut, ``tail`` begins at its last one, and ``between`` has the
    tokens of the text between them. The head of a text without a cut is the complete text, and its
    tail is ``None``.
    """

    head: str
    between: Encoded
    tail: str | None


def encoder(name: str) -> "Encoder":
    """Return the encoder of an encoding, always the same object in a process."""
    name = SERVED_BY.get(name, name)
    with _MAKING:
        if name not in _encoders:
            _encoders[name] = Encoder(name)
        return _encoders[name]


_encoders: "dict[str, Encoder]" = {}
_MAKING = Lock()


class Encoder:
    """A counter of texts in one encoding, with a cache of the counts."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._encoding = encoding(name)
        self._has_cuts = name in SHIPPED
        self.cached: Remembered[Encoded] = Remembered(REMEMBERED)
        self._joints: Remembered[Joint] = Remembered(REMEMBERED)

    def of(self, text: str) -> Encoded:
        """Return the tokens of a text, from the cache if it was counted before."""
        encoded = self.cached.get(text)
        if encoded is None:
            encoded = self.measured(text)
            self.cached.put(text, encoded)
        return encoded

    def measured(self, text: str) -> Encoded:
        """Return the tokens of a text, without caching them."""
        if len(text) <= (AT_ONCE if self._has_cuts else FORCED):
            return self._piece(text)
        parts = [(self._piece(piece), certain) for piece, certain in pieces(text)]
        certain = self._has_cuts and all(certain for _, certain in parts)
        return _total([part for part, _ in parts])._replace(certain=certain)

    def joined(self, texts: Iterable[str]) -> Encoded:
        """Return the exact tokens of texts joined into one.

        If the texts were counted before, little more than the places where they meet is counted.
        """
        if not self._has_cuts:
            return self.of("".join(texts))
        # The tokens of two runs certainly add up. Those of two texts in a run may not.
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
            # The tail of a text is counted with all that follows it, up to the next certain cut.
            pending: list[str] = []
            for text in run:
                joint = self._joint(text)
                pending.append(joint.head)
                if joint.tail is not None:
                    counts += (self.of("".join(pending)), joint.between)
                    pending = [joint.tail]
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

    def _joint(self, text: str) -> Joint:
        joint = self._joints.get(text)
        if joint is not None:
            return joint
        first, last = first_cut(text), last_cut(text)
        if first is None or last is None:
            joint = Joint(text, Encoded(0, 0), None)
        else:
            head, tail = text[:first], text[last:]
            total, ends = self.of(text), _total([self.of(head), self.of(tail)])
            between = Encoded(total.tokens - ends.tokens, total.other - ends.other, total.certain)
            joint = Joint(head, between, tail)
        self._joints.put(text, joint)
        return joint


def _total(parts: list[Encoded]) -> Encoded:
    return Encoded(
        sum(part.tokens for part in parts),
        sum(part.other for part in parts),
        all(part.certain for part in parts),
    )
