"""Texts counted with one of tiktoken's encodings, each once per process."""

from collections.abc import Iterable
from functools import cached_property
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from promptdsl.tokens.encodings import SERVED_BY, SHIPPED, encoding, vocabulary
from promptdsl.tokens.safe_cuts import FORCED, WHOLE, adds_up, first_cut, last_cut, pieces

T = TypeVar("T")

OVERHEAD = 64
"""The characters that every entry counts in addition to its text: they bound many short texts."""


class Remembered(Generic[T]):
    """The values of the latest texts, bounded by a number of characters.

    There are two generations. When the younger one has half of the characters, it replaces the
    older one; a text of the older one that is asked for moves to the younger one. So a lookup costs
    little more than that of a dictionary, and texts in use stay.
    """

    __slots__ = ("_changing", "_half", "_older", "_size", "younger")

    def __init__(self, characters: int) -> None:
        self._half = characters // 2
        # Other modules read it directly, which is faster; only this class changes it.
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
        """Remember the value of a text, unless the text is longer than half of all characters."""
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
"""The characters of texts that are remembered with their counts, in each encoding."""

ESTIMATING = "o200k_base"
"""The encoding of all estimates; its tokens that are not ASCII are counted apart."""


class Encoded(NamedTuple):
    """The tokens of a text, and how many of them are not ASCII (counted in ``ESTIMATING`` alone).

    ``certain`` is false where the text was cut at a position that may have changed the count.
    """

    tokens: int
    other: int
    certain: bool = True


class Joint(NamedTuple):
    """A text that is joined to others: only its ends have to be counted again.

    ``head`` goes to its first certain cut, ``tail`` begins at its last one, and ``between`` counts
    the text between them. A text without a cut is all head, and its tail is ``None``.
    """

    head: str
    between: Encoded
    tail: str | None


def encoder(name: str) -> "Encoder":
    """Return the encoder of an encoding, the same object for the whole process."""
    name = SERVED_BY.get(name, name)
    with _MAKING:
        if name not in _encoders:
            _encoders[name] = Encoder(name)
        return _encoders[name]


_encoders: "dict[str, Encoder]" = {}
_MAKING = Lock()


class Encoder:
    """Counts texts in one encoding, and remembers the counts."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._encoding = encoding(name)
        self._has_cuts = name in SHIPPED
        self.known: Remembered[Encoded] = Remembered(REMEMBERED)
        self._joints: Remembered[Joint] = Remembered(REMEMBERED)

    def of(self, text: str) -> Encoded:
        """Return the tokens of a text, remembered."""
        known = self.known.get(text)
        if known is None:
            known = self.measured(text)
            self.known.put(text, known)
        return known

    def measured(self, text: str) -> Encoded:
        """Return the tokens of a text, and remember nothing."""
        if len(text) <= (WHOLE if self._has_cuts else FORCED):
            return self._piece(text)
        parts = [(self._piece(piece), certain) for piece, certain in pieces(text)]
        certain = self._has_cuts and all(certain for _, certain in parts)
        return _total([part for part, _ in parts])._replace(certain=certain)

    def joined(self, texts: Iterable[str]) -> Encoded:
        """Return the tokens of texts joined into one, exactly.

        For texts that were counted before, little more than their joints is counted.
        """
        if not self._has_cuts:
            return self.of("".join(texts))
        # The tokens of runs surely add up; within a run they may not.
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
        """The flag of each rank: 1 for a token that is not ASCII."""
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
            whole, ends = self.of(text), _total([self.of(head), self.of(tail)])
            between = Encoded(whole.tokens - ends.tokens, whole.other - ends.other, whole.certain)
            joint = Joint(head, between, tail)
        self._joints.put(text, joint)
        return joint


def _total(parts: list[Encoded]) -> Encoded:
    return Encoded(
        sum(part.tokens for part in parts),
        sum(part.other for part in parts),
        all(part.certain for part in parts),
    )
