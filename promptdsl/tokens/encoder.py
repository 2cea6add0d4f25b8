"""Texts counted with one of tiktoken's encodings, each once per process."""

from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from promptdsl.tokens.encodings import SERVED_BY, SHIPPED, encoding, vocabulary
from promptdsl.tokens.safe_cuts import FORCED, WHOLE, adds_up, first_cut, last_cut, pieces

T = TypeVar("T")

OVERHEAD = 64
"""What an entry is taken to need beside its text, so that short ones are bounded, too."""


class Remembered(Generic[T]):
    """What is known of texts: of those asked for last, up to a number of characters.

    There are two generations. When the younger one has half of the characters it becomes the older
    one, and the older one is forgotten; what is asked for again moves to the younger one. So asking
    is a look into a dictionary, and what is in use stays.
    """

    __slots__ = ("_changing", "_half", "_older", "_size", "younger")

    def __init__(self, characters: int) -> None:
        self._half = characters // 2
        # Read where every call counts, and changed only here.
        self.younger: dict[str, T] = {}
        self._older: dict[str, T] = {}
        self._size = 0
        self._changing = Lock()

    def get(self, text: str) -> T | None:
        """Return what is known of a text, ``None`` for nothing."""
        found = self.younger.get(text)
        if found is None:
            found = self._older.get(text)
            if found is not None:
                self.put(text, found)
        return found

    def put(self, text: str, known: T) -> None:
        """Remember what is known of a text; one that is longer than half of all is not kept."""
        size = len(text) + OVERHEAD
        if size > self._half:
            return
        with self._changing:
            if self._size + size > self._half:
                self._older, self.younger, self._size = self.younger, {}, 0
            if text not in self.younger:
                self._size += size
            self.younger[text] = known

    def __len__(self) -> int:
        return len(self.younger) + len(self._older)


REMEMBERED = 32 * 1024 * 1024
"""How many characters of texts are remembered with their counts, in each encoding."""

ESTIMATING = "o200k_base"
"""The encoding that estimates are made with: of its tokens those that are not ASCII are counted."""


class Encoded(NamedTuple):
    """How many tokens a text is, and how many of them are not ASCII (in ``ESTIMATING`` alone).

    ``certain`` is false where it had to be cut at a place that may have changed the count.
    """

    tokens: int
    other: int
    certain: bool = True


class Joint(NamedTuple):
    """A text as it is joined to others: only its ends have to be counted again.

    ``head`` goes to its first certain cut, ``tail`` is behind its last one; a text without a cut is
    all head, and its tail is ``None``.
    """

    head: str
    between: Encoded
    tail: str | None


NOTHING = Encoded(0, 0)


def encoder(name: str) -> "Encoder":
    """Return what counts in an encoding, the same for the whole process.

    Raises :class:`TokenizerError` for one that is unknown, or whose file is not here.
    """
    with _MAKING:
        return _encoder(SERVED_BY.get(name, name))


_MAKING = Lock()


@cache
def _encoder(name: str) -> "Encoder":
    return Encoder(name)


class Encoder:
    """Counts texts in one encoding, and remembers how many tokens they are."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._encoding = encoding(name)
        self.known: Remembered[Encoded] = Remembered(REMEMBERED)
        self._joints: Remembered[Joint] = Remembered(REMEMBERED)

    def of(self, text: str) -> Encoded:
        """Return what a text is in tokens, remembered."""
        known = self.known.get(text)
        if known is None:
            known = self.measured(text)
            self.known.put(text, known)
        return known

    def measured(self, text: str) -> Encoded:
        """Return what a text is in tokens, and remember nothing."""
        if len(text) <= (WHOLE if self._has_cuts else FORCED):
            return self._piece(text)
        parts = [(self._piece(piece), certain) for piece, certain in pieces(text)]
        certain = self._has_cuts and all(certain for _, certain in parts)
        return _total([part for part, _ in parts])._replace(certain=certain)

    def joined(self, texts: Iterable[str]) -> Encoded:
        """Return what texts are in tokens one behind the other, exactly.

        Of texts that were counted before, little but their joints is counted.
        """
        kept = [text for text in texts if text]
        if not self._has_cuts:
            return self.of("".join(kept))
        parts: list[Encoded] = []
        for run in _runs(kept):
            parts += (self.of(run[0]),) if len(run) == 1 else self._run(run)
        return _total(parts)

    @property
    def _has_cuts(self) -> bool:
        """Whether the certain cuts hold in this encoding."""
        return self._name in SHIPPED

    def _piece(self, text: str) -> Encoded:
        # By default tiktoken refuses a text that holds <|endoftext|>.
        ids = self._encoding.encode(text, disallowed_special=())
        counts_other = self._name == ESTIMATING and not text.isascii()
        other = sum(map(self._is_other.__getitem__, ids)) if counts_other else 0
        return Encoded(len(ids), other)

    @cached_property
    def _is_other(self) -> bytes:
        """By rank, 1 for a token that is not ASCII."""
        return bytes(not token.isascii() for token in vocabulary(self._name))

    def _run(self, texts: list[str]) -> Iterator[Encoded]:
        pending: list[str] = []
        for text in texts:
            joint = self._joint(text)
            pending.append(joint.head)
            if joint.tail is not None:
                yield self.of("".join(pending))
                yield joint.between
                pending = [joint.tail]
        yield self.of("".join(pending))

    def _joint(self, text: str) -> Joint:
        joint = self._joints.get(text)
        if joint is None:
            joint = self._parted(text)
            self._joints.put(text, joint)
        return joint

    def _parted(self, text: str) -> Joint:
        first, last = first_cut(text), last_cut(text)
        if first is None or last is None:
            return Joint(text, NOTHING, None)
        head, tail = text[:first], text[last:]
        whole, ends = self.of(text), _total([self.of(head), self.of(tail)])
        between = Encoded(whole.tokens - ends.tokens, whole.other - ends.other, whole.certain)
        return Joint(head, between, tail)


def _total(parts: list[Encoded]) -> Encoded:
    return Encoded(
        sum(part.tokens for part in parts),
        sum(part.other for part in parts),
        all(part.certain for part in parts),
    )


def _runs(texts: list[str]) -> Iterator[list[str]]:
    """Yield runs of texts whose tokens surely add up to those of all of them."""
    run: list[str] = []
    for text in texts:
        if run and adds_up(run[-1], text):
            yield run
            run = []
        run.append(text)
    yield run
