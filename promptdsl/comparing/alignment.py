"""Alignment: which items of two sequences belong together.

Read :func:`in_order` first; :func:`aligned` uses all other functions. No step compares all items
with all others, so the time grows only in proportion to the length of the sequences. Items that
occur once are paired first, then the items between them. If no item occurs once, the first
occurrence is paired with the first, the second with the second. Only groups with at most
``MAX_COMPARED_PAIRS`` possible pairs are compared pair by pair.
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


MAX_COMPARED_PAIRS = 400
"""The maximum number of possible pairs in a group that is compared pair by pair."""
MAX_DEPTH = 8
"""How often the items between two anchors are searched for more anchors.

At this depth the anchors are pairs by number of occurrence. Deeper gaps are not searched, so the
time cannot grow with the square of the length.
"""


class Hunk(NamedTuple):
    """Items that are equal in two sequences, then those only in the first and in the second."""

    equal: Sequence[str]
    removed: Sequence[str]
    added: Sequence[str]


def in_order(before: Sequence[Hashable], after: Sequence[Hashable]) -> Pairs:
    """Return pairs of equal items whose order is the same in both sequences."""
    item_numbers: dict[Hashable, int] = {}
    old_numbers = [item_numbers.setdefault(item, len(item_numbers)) for item in before]
    new_numbers = [item_numbers.setdefault(item, len(item_numbers)) for item in after]
    pairs: Pairs = []
    # A gap is a range of each sequence without pairs so far: its two ranges, and its depth.
    gaps = [(0, len(old_numbers), 0, len(new_numbers), 0)]
    while gaps:
        old_start, old_end, new_start, new_end, depth = gaps.pop()
        while (
            old_start < old_end
            and new_start < new_end
            and old_numbers[old_start] == new_numbers[new_start]
        ):
            pairs.append((old_start, new_start))
            old_start, new_start = old_start + 1, new_start + 1
        while (
            old_start < old_end
            and new_start < new_end
            and old_numbers[old_end - 1] == new_numbers[new_end - 1]
        ):
            old_end, new_end = old_end - 1, new_end - 1
            pairs.append((old_end, new_end))
        # What remains begins with different items and ends with different items.
        if old_start == old_end or new_start == new_end or depth > MAX_DEPTH:
            continue
        anchors = _anchors(
            old_numbers[old_start:old_end], new_numbers[new_start:new_end], once=depth < MAX_DEPTH
        )
        for old_index, new_index in [
            (old_start + old_index, new_start + new_index) for old_index, new_index in anchors
        ]:
            pairs.append((old_index, new_index))
            gaps.append((old_start, old_index, new_start, new_index, depth + 1))
            old_start, new_start = old_index + 1, new_index + 1
        if anchors:  # the gap after the last anchor
            gaps.append((old_start, old_end, new_start, new_end, depth + 1))
    return sorted(pairs)


def _anchors(old_numbers: Sequence[int], new_numbers: Sequence[int], *, once: bool) -> Pairs:
    """Return pairs in order: of items that occur once, or of all items by number of occurrence.

    The second is for sequences without items that occur once in both, or if ``once`` is false.
    """
    old_counts, new_counts = Counter(old_numbers), Counter(new_numbers)
    new_indices = {item: index for index, item in enumerate(new_numbers) if new_counts[item] == 1}
    pairs = [
        (index, new_indices[item])
        for index, item in enumerate(old_numbers)
        if old_counts[item] == 1 and item in new_indices
    ]
    return increasing(pairs if pairs and once else by_occurrence(old_numbers, new_numbers))


def hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[Hunk]:
    """Yield hunks: equal items, with the items that are removed and added after them."""
    old_start = new_start = 0
    equal: list[str] = []
    # The last pair has the ends of both sequences, so the loop also yields the last hunk.
    for old_index, new_index in [*in_order(before, after), (len(before), len(after))]:
        if (old_start, new_start) != (old_index, new_index):
            yield Hunk(equal, before[old_start:old_index], after[new_start:new_index])
            equal = []
        equal.extend(before[old_index : old_index + 1])  # nothing at the end of the sequence
        old_start, new_start = old_index + 1, new_index + 1
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
    """Return as many of the pairs as possible that are in the same order in both sequences.

    ``pairs`` must be in the order of the first sequence.
    """
    ends: list[int] = []
    """For each length, the smallest index in the second sequence that ends an increasing row."""
    last_pairs: list[int] = []
    """For each length, the index of the pair that ends this row."""
    previous_pairs: list[int] = []
    """For each pair, the index of the pair before it in its row, or -1."""
    for index, (_, new_index) in enumerate(pairs):
        length = bisect_left(ends, new_index)
        previous_pairs.append(last_pairs[length - 1] if length else -1)
        ends[length : length + 1] = [new_index]
        last_pairs[length : length + 1] = [index]
    longest: Pairs = []
    index = last_pairs[-1] if last_pairs else -1
    while index >= 0:
        longest.append(pairs[index])
        index = previous_pairs[index]
    return longest[::-1]


def likeness(text: str, other: str) -> float:
    """Return the share of words that two texts have in common, from 0 to 1.

    Only the first 2,000 characters of each text are compared.
    """
    words, other_words = (Counter(re.findall(r"\w+", piece[:2000])) for piece in (text, other))
    total = words.total() + other_words.total()
    return 2 * (words & other_words).total() / total if total else 0.0


def most_alike(before: Sequence[str], after: Sequence[str], *, minimum: float = 0.0) -> Pairs:
    """Return pairs of the most similar texts, with a likeness of at least ``minimum``.

    More than ``MAX_COMPARED_PAIRS`` possible pairs are not compared: texts with the same index are
    paired, and ``minimum`` is not checked.
    """
    if len(before) * len(after) > MAX_COMPARED_PAIRS:
        return list(zip(range(len(before)), range(len(after)), strict=False))
    scores = sorted(
        (-likeness(text, other), abs(old_index - new_index), old_index, new_index)
        for old_index, text in enumerate(before)
        for new_index, other in enumerate(after)
    )
    pairs: dict[int, int] = {}
    for score, _, old_index, new_index in scores:
        if -score >= minimum and old_index not in pairs and new_index not in pairs.values():
            pairs[old_index] = new_index
    return sorted(pairs.items())


@attrs.frozen
class KeptItem:
    """An item that is in both sequences, by its index in each.

    ``is_moved`` is whether its order among the other items has changed.
    """

    before: int
    after: int
    is_moved: bool = False


@attrs.frozen
class RemovedItem:
    """An item that is only in the first sequence."""

    before: int


@attrs.frozen
class AddedItem:
    """An item that is only in the second sequence."""

    after: int


Step: TypeAlias = KeptItem | RemovedItem | AddedItem
"""One row of an alignment."""


def aligned(
    before: Sequence[Item],
    after: Sequence[Item],
    keys: Sequence[Callable[[Item], Hashable]],
    *,
    group: Callable[[Item], Hashable],
    text: Callable[[Item], str],
    near_minimum: float = 0.0,
    far_minimum: float = 0.5,
) -> list[Step]:
    """Return which items belong together, in the order of ``after``.

    First, items with an equal first key are paired, then the other items by the next key, and so
    on. A key ``None`` is equal to no key. Then the most similar items of a ``group`` are paired.
    Between the same neighbours they must have a likeness of ``near_minimum``, elsewhere of
    ``far_minimum``.
    """
    pairs: dict[int, int] = {}

    def unpaired() -> tuple[list[int], list[int]]:
        used = {*pairs.values()}
        new_indices = [index for index in range(len(after)) if index not in used]
        return [index for index in range(len(before)) if index not in pairs], new_indices

    for key in keys:
        # First pairs in the same order. Items that moved are paired by the second function.
        for pairs_of in (in_order, by_occurrence):
            old_indices, new_indices = unpaired()
            old_keys = [key(before[index]) for index in old_indices]
            new_keys = [key(after[index]) for index in new_indices]
            for old_index, new_index in pairs_of(old_keys, new_keys):
                if old_keys[old_index] is not None:
                    pairs[old_indices[old_index]] = new_indices[new_index]
    pairs_in_order = increasing(sorted(pairs.items()))
    neighbours = (
        [old_index for old_index, _ in pairs_in_order],
        [new_index for _, new_index in pairs_in_order],
    )
    # First items between the same neighbours. Then, without borders, items anywhere: a group of
    # these with too many possible pairs is left out, because equal indices say nothing there.
    for borders, minimum, limit in (
        (neighbours, near_minimum, maxsize),
        (((), ()), far_minimum, MAX_COMPARED_PAIRS),
    ):
        groups: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        sequences = zip((before, after), unpaired(), strict=True)
        for side, (sequence, indices) in enumerate(sequences):  # 0 is before, 1 is after
            for index in indices:
                gap = bisect_left(borders[side], index)
                groups[group(sequence[index]), gap][side].append(index)
        for old_indices, new_indices in groups.values():
            texts = [text(before[i]) for i in old_indices], [text(after[i]) for i in new_indices]
            if len(old_indices) * len(new_indices) <= limit:
                matches = most_alike(*texts, minimum=minimum)
                pairs.update(
                    (old_indices[old_index], new_indices[new_index])
                    for old_index, new_index in matches
                )
    return _steps(sorted(pairs.items()), len(before), len(after))


def _steps(pairs: Pairs, before_count: int, after_count: int) -> list[Step]:
    """Return the steps for pairs; a removed item follows the item that was before it."""
    pairs_in_order, partners = dict(increasing(pairs)), dict(pairs)
    # A row has two numbers for the order, and its step. A removed item has the index of the item
    # before it, and a second number above 0, so it follows that item.
    rows: list[tuple[int, int, Step]] = []
    last_index = -1
    for index in range(before_count):
        if index in partners:
            last_index = pairs_in_order.get(index, last_index)
            is_moved = index not in pairs_in_order
            rows.append((partners[index], 0, KeptItem(index, partners[index], is_moved)))
        else:
            rows.append((last_index, index + 1, RemovedItem(index)))
    added_indices = {*range(after_count)} - {*partners.values()}
    rows += [(index, 0, AddedItem(index)) for index in added_indices]
    return [step for _, _, step in sorted(rows, key=lambda row: row[:2])]
