"""The parts of lazies: their functions are called or awaited, and each result becomes a part."""

from collections.abc import Iterable, Sequence
from typing import cast

from promptdsl.budget.lazy_shares import share
from promptdsl.components.lazy import LazyContext, acall, call, part_of
from promptdsl.components.lazy_results import check_placement
from promptdsl.rendering.passes.fill import Ask, Waiting
from promptdsl.rendering.passes.select import select
from promptdsl.rendering.request import RenderRequest, facts_of
from promptdsl.tree.group_nodes import LimitNode
from promptdsl.tree.masks import OPAQUE, TURN
from promptdsl.tree.node import Node, make
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import RootNode


class Unanswered(Exception):
    """Raised for lazies that must be awaited before the render continues."""

    def __init__(self, waiting: Sequence[Waiting]) -> None:
        self.waiting = waiting


def call_lazies(request: RenderRequest, waiting: Sequence[Waiting]) -> list[Node | None]:
    """Return the part of each lazy; their functions are called in document order."""
    return [_part(lazy, call(lazy.lazy, _context(lazy, request)), request) for lazy in waiting]


async def await_lazies(waiting: Sequence[Waiting], request: RenderRequest) -> list[Node | None]:
    """Return the part of each lazy; their functions are called concurrently.

    After all are done, raises the error of the first lazy in the document that failed.
    """
    from asyncio import gather

    async def part(lazy: Waiting) -> Node | None:
        return _part(lazy, await acall(lazy.lazy, _context(lazy, request)), request)

    parts = await gather(*map(part, waiting), return_exceptions=True)
    for error in parts:
        if isinstance(error, BaseException):
            raise error
    return cast("list[Node | None]", parts)


def replay(answers: Iterable[list[Node | None]]) -> Ask:
    """Return a function that returns the results of lazies that were awaited, round by round."""
    rounds = iter(tuple(answers))

    def ask(waiting: Sequence[Waiting]) -> Sequence[Node | None]:
        answer = next(rounds, None)
        if answer is None:
            raise Unanswered(waiting)
        return answer

    return ask


def _context(waiting: Waiting, request: RenderRequest) -> LazyContext:
    return LazyContext(request.model, facts_of(request).provider, _token_share(waiting, request))


def _token_share(waiting: Waiting, request: RenderRequest) -> int | None:
    tokens_per_weight = request.tokens_per_weight
    if tokens_per_weight is None:
        return None
    facts, budget = facts_of(request), request.budget
    total = 0 if budget is None else budget.of(facts.window, facts.model) or 0
    return share(tokens_per_weight, waiting.lazy.weight, total)


def _part(waiting: Waiting, result: object, request: RenderRequest) -> Node | None:
    """Return the result of a lazy as a part, without the parts for another audience."""
    part = part_of(result, waiting.lazy)
    if part is None:
        return None
    checked = check_placement(part, waiting.containers, waiting.lazy)
    alone = make(RootNode, mask=OPAQUE, transformation=None, equipment=())
    selected = select(with_content(alone, (checked,)), audience=request.audience).content
    if not selected:
        return None
    tokens = _token_share(waiting, request)
    if tokens is None or selected[0]._mask & TURN:  # turns are never cut
        return selected[0]
    limit = make(LimitNode, mask=OPAQUE, at=waiting.lazy, most=tokens)
    return with_content(limit, selected)
