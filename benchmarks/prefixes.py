"""How much of a request the one before it had in front: what a provider's cache can serve again."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import nan
from statistics import fmean
from typing import Any

Count = Callable[[str], int]
"""Counts a text, in tokens."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a growing conversation.

    ``pieces`` are what is sent, serialised entry by entry; ``tokens`` is what it takes of the
    budget; ``cut`` says whether something was left out of it.
    """

    pieces: Sequence[str]
    tokens: int
    cut: bool


def pieces_of(payload: Mapping[str, Any]) -> list[str]:
    """Return a payload in the order its provider reads it: tools, system, messages."""
    entries: list[object] = []
    for key in ("tools", "system", "messages"):
        entries += payload.get(key) or ()
    return [json.dumps(entry, ensure_ascii=False) for entry in entries]


def reuse(requests: Sequence[Request], count: Count) -> float:
    """Return the mean share of a request's tokens that is an unchanged prefix of the one before.

    Requests before the first one that was cut do not count: nothing was trimmed yet.
    """
    return _mean([_shared(*pair, count) for pair in pairwise(requests) if pair[1].cut])


def fill(requests: Sequence[Request], budget: int) -> float:
    """Return the mean share of the budget that is used, from the first request that was cut."""
    return _mean([request.tokens / budget for request in requests if request.cut])


def least_fill(requests: Sequence[Request], budget: int) -> float:
    """Return the least share of the budget that is used, from the first request that was cut."""
    return min((request.tokens / budget for request in requests if request.cut), default=nan)


def _mean(shares: Sequence[float]) -> float:
    return fmean(shares) if shares else nan


def _shared(before: Request, after: Request, count: Count) -> float:
    same = sum(count(piece) for piece in _same(before.pieces, after.pieces))
    return same / sum(map(count, after.pieces))


def _same(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    for one, other in zip(before, after, strict=False):
        if one != other:
            differs = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
            yield one[: next(differs, min(len(one), len(other)))]
            return
        yield one
