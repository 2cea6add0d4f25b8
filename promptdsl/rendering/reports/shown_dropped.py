"""Dropped parts as views show them: in or before the message where their author wrote them."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

import attrs

from promptdsl.budget.dropped import Dropped
from promptdsl.rendering.reports.cards import DroppedCard
from promptdsl.rendering.reports.dropped_parts import first_messages, placed_parts, with_dropped
from promptdsl.rendering.reports.report_input import ReportInput
from promptdsl.rendering.reports.token_parts import Ledger, TokenPart
from promptdsl.rendering.reports.unpaired import dropped_by_pairing
from promptdsl.tokens import Count, Tokens
from promptdsl.tokens.count import EXACT


class _NoTokens(Tokens):
    """A counter that counts nothing, for the order of parts alone."""

    @property
    def label(self) -> str:
        return EXACT

    def count(self, text: str, /) -> Count:
        return Count(0, EXACT)

    def of(self, text: str, /) -> int:
        return 0


def uncounted_dropped(
    report_input: ReportInput, dropped: Sequence[Dropped]
) -> tuple[DroppedCard, ...]:
    """Return what a budget dropped and pairing removed, at its location; nothing is counted."""
    report_input = attrs.evolve(report_input, tokens=_NoTokens())
    stages, count = report_input.stages, len(dropped)
    if stages["place"] is not stages["pair"]:
        dropped = (*dropped, *dropped_by_pairing(stages["place"], report_input))
    ledger = Ledger(report_input, [0] * len(report_input.messages))
    ledger.add_messages()
    trees = {"written": stages["read"], "fitted": stages["fit"]}
    placed = placed_parts(dropped, ledger.parts, ledger.nodes, **trees)
    cards = located_dropped(dropped, [""] * len(dropped), [*with_dropped(ledger.parts, placed)])
    # The budget has counted what it dropped.
    return (*cards[:count], *(attrs.evolve(card, tokens=None) for card in cards[count:]))


def located_dropped(
    dropped: Iterable[Dropped], texts: Iterable[str], parts: Sequence[TokenPart]
) -> list[DroppedCard]:
    """Return dropped parts with their texts, each at its location among the parts of a request.

    Those that stand in no part are the last ones, after all messages.
    """
    locations: dict[object, deque[tuple[int, bool]]] = defaultdict(deque)
    for row, message, is_inside in _locations(parts):
        key = row.what, row.path, row.tokens, row.dropped, row.source
        locations[key].append((message, is_inside))
    last = first_messages(parts)[-1]
    cards: list[DroppedCard] = []
    for part, text in zip(dropped, texts, strict=True):
        known = locations[part.what, part.path, part.tokens, part.why, part.source]
        message, is_inside = known.popleft() if known else (last, False)
        cards.append(DroppedCard(part, text, part.tokens, message, is_inside=is_inside))
    return cards


def _locations(parts: Sequence[TokenPart]) -> Iterator[tuple[TokenPart, int, bool]]:
    """Yield each dropped part with the message that it stood in or before, and whether in it."""
    following = first_messages(parts)
    around: list[TokenPart] = []
    for index, part in enumerate(parts):
        while around and around[-1].depth >= part.depth:
            around.pop()
        if part.dropped is None:
            around.append(part)
            continue
        message = around[0].message if around else None
        if message is None or around[0].what == "history":
            yield part, following[index], False
        else:
            yield part, message[0], True
