"""Lazies: calling or awaiting their functions, and what each returned as a part."""

from collections.abc import Iterable, Sequence
from typing import cast

from promptdsl.budget.lazy_shares import held, share
from promptdsl.components.lazy import LazyContext, acall, call, part_of
from promptdsl.components.lazy_results import check_place
from promptdsl.rendering.passes.fill import Ask, Waiting
from promptdsl.rendering.passes.select import select
from promptdsl.rendering.request import RenderRequest, facts_of
from promptdsl.tree.group_nodes import FragmentNode
from promptdsl.tree.masks import HOLLOW
from promptdsl.tree.node import Node, make
from promptdsl.tree.rewrite import with_content


class Unanswered(Exception):
    """Lazies that have to be awaited before rendering goes on."""

    def __init__(self, waiting: Sequence[Waiting]) -> None:
        self.waiting = waiting


def call_lazies(request: RenderRequest, waiting: Sequence[Waiting]) -> list[Node | None]:
    """Return the part each lazy wrote, called one after the other."""
    return [_part(one, call(one.lazy, _context(one, request)), request) for one in waiting]


def _context(waiting: Waiting, request: RenderRequest) -> LazyContext:
    """Return the context that is handed to a lazy."""
    return LazyContext(request.model, facts_of(request).provider, _share(waiting, request))


def _share(waiting: Waiting, request: RenderRequest) -> int | None:
    """Return how many tokens a lazy may fill, ``None`` without a budget."""
    room = request.tokens_per_weight
    if room is None:
        return None
    facts, budget = facts_of(request), request.budget
    total = 0 if budget is None else budget.of(facts.window, facts.model) or 0
    return share(room, waiting.lazy.weight, total)


def replay(answers: Iterable[list[Node | None]]) -> Ask:
    """Return a resolver that replays the recorded results of lazies, round by round."""
    rounds = iter(tuple(answers))

    def ask(waiting: Sequence[Waiting]) -> Sequence[Node | None]:
        answer = next(rounds, None)
        if answer is None:
            raise Unanswered(waiting)
        return answer

    return ask


async def await_lazies(waiting: Sequence[Waiting], request: RenderRequest) -> list[Node | None]:
    """Return the part each lazy wrote, called concurrently; the first error in order is raised."""
    from asyncio import gather

    asked = (_answer(one, request) for one in waiting)
    answers = await gather(*asked, return_exceptions=True)
    for error in answers:
        if isinstance(error, BaseException):
            raise error
    return cast("list[Node | None]", answers)


async def _answer(waiting: Waiting, request: RenderRequest) -> Node | None:
    return _part(waiting, await acall(waiting.lazy, _context(waiting, request)), request)


def _part(waiting: Waiting, returned: object, request: RenderRequest) -> Node | None:
    """Return the part a lazy wrote, without what another audience reads.

    Lazies in what is left out are not called, and a note goes before it is dissolved.
    """
    part = part_of(returned, waiting.lazy)
    if part is None:
        return None
    checked = check_place(part, waiting.holders, waiting.lazy)
    whole = with_content(make(FragmentNode, mask=HOLLOW), (checked,))
    said = next(iter(select(whole, audience=request.audience).content), None)
    return said if said is None else held(said, _share(waiting, request), waiting.lazy)


def skip_lazies(waiting: Sequence[Waiting]) -> Sequence[Node | None]:
    """Return no part for any lazy."""
    return [None for _ in waiting]
