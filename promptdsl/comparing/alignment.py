"""Alignment: which items of two sequences belong together.

The time grows with the length of the sequences, as no step compares all items with all others.
Items that occur once are paired first, then the items between them. If no item occurs once, the
first occurrence is paired with the first, the second with the second. Only small groups, of up to
``SMALL`` possible pairs, are compared pair by pair.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from sys import maxsize
from typing import NamedTuple, TypeAlias, TypeVar

import attrs

Pairs: TypeAlias = list[tuple[int, int]]
"""The indices of items that belong together: in the first sequence, and in the second."""

Item = TypeVar("Item")


SMALL = 400
"""The most pairs of items that are compared pair by pair."""
DEEPEST = 8
"""How deep the items between two anchors are searched for more anchors."""


class Hunk(NamedTuple):
    """Items that are equal in two sequences, then those only in the first and in the second."""

    equal: Sequence[str]
    removed: Sequence[str]
    added: Sequence[str]


def in_order(before: Sequence[Hashable], after: Sequence[Hashable]) -> Pairs:
    """Return pairs of equal items whose order is the same in both sequences."""
    numbers: dict[Hashable, int] = {}
    first = [numbers.setdefault(item, len(numbers)) for item in before]
    second = [numbers.setdefault(item, len(numbers)) for item in after]
    pairs: Pairs = []
    gaps = [(0, len(first), 0, len(second), 0)]
    while gaps:
        start, end, other, other_end, depth = gaps.pop()
        while start < end and other < other_end and first[start] == second[other]:
            pairs.append((start, other))
            start, other = start + 1, other + 1
        while start < end and other < other_end and first[end - 1] == second[other_end - 1]:
            end, other_end = end - 1, other_end - 1
            pairs.append((end, other_end))
        if start == end or other == other_end or depth > DEEPEST:
            continue
        anchors = _anchors(first[start:end], second[other:other_end], once=depth < DEEPEST)
        for left, right in [(start + left, other + right) for left, right in anchors]:
            pairs.append((left, right))
            gaps.append((start, left, other, right, depth + 1))
            start, other = left + 1, right + 1
        if anchors:
            gaps.append((start, end, other, other_end, depth + 1))
    return sorted(pairs)


def _anchors(before: Sequence[int], after: Sequence[int], *, once: bool) -> Pairs:
    """Return pairs of items that occur once; without any, the pairs by number of occurrence."""
    counts, other_counts = Counter(before), Counter(after)
    indices = {item: index for index, item in enumerate(after) if other_counts[item] == 1}
    pairs = [
        (index, indices[item])
        for index, item in enumerate(before)
        if counts[item] == 1 and item in indices
    ]
    return increasing(pairs if pairs and once else by_occurrence(before, after))


def hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[Hunk]:
    """Yield hunks: equal items, with the items that are removed and added after them."""
    start = other = 0
    equal: list[str] = []
    for left, right in [*in_order(before, after), (len(before), len(after))]:
        if (start, other) != (left, right):
            yield Hunk(equal, before[start:left], after[other:right])
            equal = []
        equal.extend(before[left : left + 1])
        start, other = left + 1, right + 1
    if equal:
        yield Hunk(equal, (), ())


def by_occurrence(before: Iterable[Hashable], after: Iterable[Hashable]) -> Pairs:
    """Return pairs of equal items in any order: first with first, second with second, and so on."""
    indices_of: dict[Hashable, list[int]] = defaultdict(list)
    for index, item in enumerate(after):
        indices_of[item].append(index)
    unpaired = {item: iter(indices) for item, indices in indices_of.items()}
    pairs = ((index, next(unpaired.get(item, iter(())), -1)) for index, item in enumerate(before))
    return [pair for pair in pairs if pair[1] >= 0]


def increasing(pairs: Pairs) -> Pairs:
    """Return as many pairs as possible that are in the same order in both sequences.

    The pairs that are given are in the order of the first sequence.
    """
    ends: list[int] = []
    """The smallest last index of a row of each length, and the pair that ends it."""
    last: list[int] = []
    earlier: list[int] = []
    for number, (_, right) in enumerate(pairs):
        length = bisect_left(ends, right)
        earlier.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [right]
        last[length : length + 1] = [number]
    row: Pairs = []
    number = last[-1] if last else -1
    while number >= 0:
        row.append(pairs[number])
        number = earlier[number]
    return row[::-1]


def likeness(text: str, other: str) -> float:
    """Return how many of their words two texts share, from 0 to 1."""
    words, others = (Counter(re.findall(r"\w+", side[:2000])) for side in (text, other))
    total = words.total() + others.total()
    return 2 * (words & others).total() / total if total else 0.0


def most_alike(before: Sequence[str], after: Sequence[str], *, least: float = 0.0) -> Pairs:
    """Return pairs of the texts that share the most words; many texts are paired by their index."""
    if len(before) * len(after) > SMALL:
        return list(zip(range(len(before)), range(len(after)), strict=False))
    scores = sorted(
        (-likeness(text, other), abs(left - right), left, right)
        for left, text in enumerate(before)
        for right, other in enumerate(after)
    )
    pairs: dict[int, int] = {}
    for score, _, left, right in scores:
        if -score >= least and left not in pairs and right not in pairs.values():
            pairs[left] = right
    return sorted(pairs.items())


@attrs.frozen
class Kept:
    """An item that is in both sequences, by its index in each; ``moved`` is to another order."""

    before: int
    after: int
    moved: bool = False


@attrs.frozen
class Removed:
    """An item that is only in the first sequence."""

    before: int


@attrs.frozen
class Added:
    """An item that is only in the second sequence."""

    after: int


Step: TypeAlias = Kept | Removed | Added
"""One row of an alignment."""


def aligned(
    before: Sequence[Item],
    after: Sequence[Item],
    keys: Sequence[Callable[[Item], Hashable]],
    *,
    group: Callable[[Item], Hashable],
    text: Callable[[Item], str],
    near: float = 0.0,
    far: float = 0.5,
) -> list[Step]:
    """Return which items belong together, in the order of ``after``.

    First, items that have an equal first key are paired, then the others by their next key; a key
    ``None`` equals nothing. Then the most similar items of a ``group`` are paired: between the same
    neighbours if they share ``near`` of their words, anywhere else if they share ``far``.
    """
    pairs: dict[int, int] = {}

    def unpaired() -> tuple[list[int], list[int]]:
        used = {*pairs.values()}
        rights = [index for index in range(len(after)) if index not in used]
        return [index for index in range(len(before)) if index not in pairs], rights

    for key in keys:
        for pair in (in_order, by_occurrence):
            lefts, rights = unpaired()
            left_keys = [key(before[index]) for index in lefts]
            right_keys = [key(after[index]) for index in rights]
            for left, right in pair(left_keys, right_keys):
                if left_keys[left] is not None:
                    pairs[lefts[left]] = rights[right]
    kept = increasing(sorted(pairs.items()))
    neighbours = [left for left, _ in kept], [right for _, right in kept]
    for borders, least, most in ((neighbours, near, maxsize), (((), ()), far, SMALL)):
        groups: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for side, (items, indices) in enumerate(zip((before, after), unpaired(), strict=True)):
            for index in indices:
                gap = bisect_left(borders[side], index)
                groups[group(items[index]), gap][side].append(index)
        for lefts, rights in groups.values():
            texts = [text(before[i]) for i in lefts], [text(after[i]) for i in rights]
            if len(lefts) * len(rights) <= most:
                matches = most_alike(*texts, least=least)
                pairs.update((lefts[left], rights[right]) for left, right in matches)
    return _steps(sorted(pairs.items()), len(before), len(after))


def _steps(pairs: Pairs, count: int, other_count: int) -> list[Step]:
    """Return the rows of pairs; an item that is only in the first follows its neighbour there."""
    kept, partners = dict(increasing(pairs)), dict(pairs)
    rows: list[tuple[int, int, Step]] = []
    last = -1
    for index in range(count):
        if index in partners:
            last = kept.get(index, last)
            moved = index not in kept
            rows.append((partners[index], 0, Kept(index, partners[index], moved)))
        else:
            rows.append((last, index + 1, Removed(index)))
    added = {*range(other_count)} - {*partners.values()}
    rows += [(index, 0, Added(index)) for index in added]
    return [step for _, _, step in sorted(rows, key=lambda row: row[:2])]
