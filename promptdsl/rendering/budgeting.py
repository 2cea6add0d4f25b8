"""Before the passes of the target: lazies are filled, and the tree is fitted into its budget."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import cast

from promptdsl.budget.budget import Budget
from promptdsl.budget.dropped import Dropped
from promptdsl.budget.edited_history import Trimmed
from promptdsl.budget.fit import fit, room_for, share
from promptdsl.components.lazy import LazyContext, acall, call, check_placement, part_of
from promptdsl.foundation.errors import PromptError
from promptdsl.foundation.source import author
from promptdsl.rendering.measure import Measuring, messages_total
from promptdsl.rendering.passes.fill import Ask, PendingLazy
from promptdsl.rendering.passes.select import select
from promptdsl.rendering.pipeline import Outgoing, reading
from promptdsl.rendering.request import RenderRequest, Settings, facts_of, settings_of
from promptdsl.rendering.text.blocks import sendable
from promptdsl.rendering.text.reserved_tags import with_reserved_tags
from promptdsl.tokens import tokens_for
from promptdsl.tokens.count import Tokens
from promptdsl.tree.masks import OPAQUE, TURN
from promptdsl.tree.node import Node, make
from promptdsl.tree.rewrite import is_compacted, opaque, with_content
from promptdsl.tree.turn_nodes import ConversationNode, LazyNode, LimitNode, RootNode

# The parts of lazies: their functions are called or awaited, and each result becomes a part.


class Unanswered(Exception):
    """Raised for lazies that must be awaited before the render continues."""

    def __init__(self, waiting: Sequence[PendingLazy]) -> None:
        self.waiting = waiting


def call_lazies(request: RenderRequest, waiting: Sequence[PendingLazy]) -> list[Node | None]:
    """Return the part of each lazy; their functions are called in document order."""
    return [_part(lazy, call(lazy.lazy, _context(lazy, request)), request) for lazy in waiting]


async def await_lazies(waiting: Sequence[PendingLazy], request: RenderRequest) -> list[Node | None]:
    """Return the part of each lazy; their functions are called concurrently.

    After all are done, raises the error of the first lazy in the document that failed.
    """
    from asyncio import gather

    async def part(lazy: PendingLazy) -> Node | None:
        return _part(lazy, await acall(lazy.lazy, _context(lazy, request)), request)

    parts = await gather(*map(part, waiting), return_exceptions=True)
    for error in parts:
        if isinstance(error, BaseException):
            raise error
    return cast("list[Node | None]", parts)


def replay(answers: Iterable[list[Node | None]]) -> Ask:
    """Return a function that returns the results of lazies that were awaited, round by round."""
    rounds = iter(tuple(answers))

    def ask(waiting: Sequence[PendingLazy]) -> Sequence[Node | None]:
        answer = next(rounds, None)
        if answer is None:
            raise Unanswered(waiting)
        return answer

    return ask


def _context(waiting: PendingLazy, request: RenderRequest) -> LazyContext:
    return LazyContext(request.model, facts_of(request).provider, _token_share(waiting, request))


def _token_share(waiting: PendingLazy, request: RenderRequest) -> int | None:
    tokens_per_weight = request.tokens_per_weight
    if tokens_per_weight is None:
        return None
    facts, budget = facts_of(request), request.budget
    total = 0 if budget is None else budget.of(facts.window, facts.model) or 0
    return share(tokens_per_weight, waiting.lazy.weight, total)


def _part(waiting: PendingLazy, result: object, request: RenderRequest) -> Node | None:
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


# The fitting of a tree into the budget of a render, and the share of each lazy.


def fit_tree(
    tree: RootNode,
    request: RenderRequest,
    settings: Settings,
    prepare: Callable[[RootNode, Trimmed | None], Outgoing],
) -> tuple[Callable[[], tuple[Dropped, ...]], Outgoing]:
    """Return a function for the dropped parts, and the rest of the tree, ready to be sent.

    Without a budget, only the limits and alternatives in the tree are applied.
    """
    facts = settings.facts
    budget = request.budget or Budget()
    tokens = tokens_for(facts, budget.counter)

    def count(outgoing: Outgoing) -> int:
        """Return the tokens of the payload, or without a target those of the messages."""
        if outgoing.written is not None:
            return outgoing.written.tally(tokens).total
        return messages_total(outgoing.prompt, outgoing.stages[-1][1], tokens, facts)

    measuring = partial(_measuring, tree, request, settings, tokens)
    nodes = opaque(tree)
    replaced: Callable[[], Iterable[Dropped]] = tuple
    if any(map(is_compacted, nodes)):
        from promptdsl.budget.recorded import compactions_in, without_compacted

        tree, edits = without_compacted(tree, facts.provider)
        replaced = partial(compactions_in, edits, measuring)
    try:
        dropped, outgoing = fit(
            tree, budget, facts, measuring=measuring, prepare=prepare, tokens=count
        )
    except PromptError as error:
        raise error.located(budget.at or author()) from None
    edited: tuple[Dropped, ...] = ()
    if any(isinstance(node, ConversationNode) and node.max_result_tokens for node in nodes):
        from promptdsl.budget.recorded import edits_in

        edited = tuple(edits_in(outgoing.stages[0][1], measuring()))
    if edited or replaced is not tuple:
        return partial(_after, replaced, edited, dropped), outgoing
    return dropped, outgoing


def _after(
    replaced: Callable[[], Iterable[Dropped]],
    edited: tuple[Dropped, ...],
    dropped: Callable[[], tuple[Dropped, ...]],
) -> tuple[Dropped, ...]:
    return (*replaced(), *edited, *dropped())


def share_budget(tree: RootNode, request: RenderRequest) -> None:
    """Set the number of tokens that lazies may fill, before the first of them runs."""
    budget = request.budget
    if budget is None or budget.tokens is None or request.tokens_per_weight is not None:
        return
    if not any(isinstance(node, LazyNode) for node in opaque(tree)):
        return
    settings = settings_of(request, tree)
    tree = with_reserved_tags(tree, settings.config)
    read = reading(partial(sendable, media_roots=request.media_roots, lost=[]))
    try:
        tree = read(tree)
        measure = _measuring(tree, request, settings, tokens_for(settings.facts, budget.counter))
        room = room_for(tree, budget, measure)
    except PromptError as error:
        raise error.located(budget.at or author()) from None
    if request.loading is not None:
        request.loading.check_awaited({})
    request.tokens_per_weight = room


def _measuring(
    tree: RootNode, request: RenderRequest, settings: Settings, tokens: Tokens
) -> Measuring:
    """Return the counter of the parts of a tree, with the bytes that its attachments need."""
    facts, config = settings
    with_bytes = None
    if request.loading is not None and facts.provider is not None:
        with_bytes = partial(request.loading.with_bytes, facts=facts, tree=tree)
    return Measuring(facts, config, tokens, request.media_roots, with_bytes=with_bytes)
