"""Lazies and budgets: call the functions of lazies, and fit the tree into its budget.

``render.py`` imports this file only for prompts that need it.
"""

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
from promptdsl.tree.rewrite import is_compacted, opaque_nodes, with_content
from promptdsl.tree.turn_nodes import ConversationNode, LazyNode, LimitNode, RootNode

# The functions of lazies are called or awaited, and each result becomes a node.


class Unanswered(Exception):
    """Raised for lazies that must be awaited before the render can continue."""

    def __init__(self, lazies: Sequence[PendingLazy]) -> None:
        self.lazies = lazies


def call_lazies(request: RenderRequest, lazies: Sequence[PendingLazy]) -> list[Node | None]:
    """Return the node of each lazy; their functions are called in document order."""
    return [
        _result_node(pending, call(pending.lazy, _context(pending, request)), request)
        for pending in lazies
    ]


async def await_lazies(lazies: Sequence[PendingLazy], request: RenderRequest) -> list[Node | None]:
    """Return the node of each lazy; their functions are called concurrently.

    If functions fail, all are awaited first. Then the error of the first failed lazy in the
    document is raised.
    """
    from asyncio import gather

    async def result_node(pending: PendingLazy) -> Node | None:
        return _result_node(pending, await acall(pending.lazy, _context(pending, request)), request)

    nodes = await gather(*map(result_node, lazies), return_exceptions=True)
    for error in nodes:
        if isinstance(error, BaseException):
            raise error
    return cast("list[Node | None]", nodes)


def replay(answers: Iterable[list[Node | None]]) -> Ask:
    """Return a function that returns the nodes of lazies that were awaited, round by round.

    It raises :class:`Unanswered` for the first round without nodes.
    """
    rounds = iter(tuple(answers))

    def ask(lazies: Sequence[PendingLazy]) -> Sequence[Node | None]:
        answer = next(rounds, None)
        if answer is None:
            raise Unanswered(lazies)
        return answer

    return ask


def _context(pending: PendingLazy, request: RenderRequest) -> LazyContext:
    return LazyContext(request.model, facts_of(request).provider, _token_share(pending, request))


def _token_share(pending: PendingLazy, request: RenderRequest) -> int | None:
    tokens_per_weight = request.tokens_per_weight
    if tokens_per_weight is None:
        return None
    facts, budget = facts_of(request), request.budget
    total = 0 if budget is None else budget.of(facts.window, facts.model) or 0
    return share(tokens_per_weight, pending.lazy.weight, total)


def _result_node(pending: PendingLazy, result: object, request: RenderRequest) -> Node | None:
    """Return the result of a lazy as a node, without the nodes for another audience."""
    node = part_of(result, pending.lazy)
    if node is None:
        return None
    checked_node = check_placement(node, pending.containers, pending.lazy)
    root = make(RootNode, mask=OPAQUE, transformation=None, equipment=())
    selected = select(with_content(root, (checked_node,)), audience=request.audience).content
    if not selected:
        return None
    tokens = _token_share(pending, request)
    if tokens is None or selected[0]._mask & TURN:  # turns are never cut
        return selected[0]
    limit = make(LimitNode, mask=OPAQUE, at=pending.lazy, most=tokens)
    return with_content(limit, selected)


# The fitting of a tree into the budget of a render, and the share of each lazy.


def fit_tree(
    tree: RootNode,
    request: RenderRequest,
    settings: Settings,
    prepare: Callable[[RootNode, Trimmed | None], Outgoing],
) -> tuple[Callable[[], tuple[Dropped, ...]], Outgoing]:
    """Return a function that returns the dropped parts, and what is left, ready to be sent.

    Without a budget, only the limits and alternatives in the tree are applied. ``prepare`` makes a
    tree ready to be sent. Raises an error at the line of the budget if the tree does not fit.
    """
    facts = settings.facts
    budget = request.budget or Budget()
    tokens = tokens_for(facts, budget.counter)

    def count(outgoing: Outgoing) -> int:
        """Return the tokens of the payload; without a target, the tokens of the messages."""
        if outgoing.payload is not None:
            return outgoing.payload.tally(tokens).total
        return messages_total(outgoing.prompt, outgoing.stages[-1][1], tokens, facts)

    measuring = partial(_measuring, tree, request, settings, tokens)
    nodes = opaque_nodes(tree)
    replaced: Callable[[], Iterable[Dropped]] = tuple
    if any(map(is_compacted, nodes)):
        from promptdsl.budget.recorded import compaction_reports, without_compacted

        tree, edits = without_compacted(tree, facts.provider)
        replaced = partial(compaction_reports, edits, measuring)
    try:
        dropped, outgoing = fit(
            tree, budget, facts, measuring=measuring, prepare=prepare, tokens=count
        )
    except PromptError as error:
        raise error.located(budget.at or author()) from None
    edited: tuple[Dropped, ...] = ()
    if any(isinstance(node, ConversationNode) and node.max_result_tokens for node in nodes):
        from promptdsl.budget.recorded import cut_result_reports

        edited = tuple(cut_result_reports(outgoing.stages[0][1], measuring()))
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
    """Set the tokens for a lazy of weight 1 in the request, before the first lazy runs."""
    budget = request.budget
    if budget is None or budget.tokens is None or request.tokens_per_weight is not None:
        return
    if not any(isinstance(node, LazyNode) for node in opaque_nodes(tree)):
        return
    settings = settings_of(request, tree)
    tree = with_reserved_tags(tree, settings.config)
    read_pass = reading(partial(sendable, media_roots=request.media_roots, lost=[]))
    try:
        tree = read_pass(tree)
        measure = _measuring(tree, request, settings, tokens_for(settings.facts, budget.counter))
        free_tokens = room_for(tree, budget, measure)
    except PromptError as error:
        raise error.located(budget.at or author()) from None
    if request.loading is not None:
        request.loading.check_awaited({})
    request.tokens_per_weight = free_tokens


def _measuring(
    tree: RootNode, request: RenderRequest, settings: Settings, tokens: Tokens
) -> Measuring:
    """Return the counter of the nodes of a tree, which loads the bytes of its attachments."""
    facts, config = settings
    with_bytes = None
    if request.loading is not None and facts.provider is not None:
        with_bytes = partial(request.loading.with_bytes, facts=facts, tree=tree)
    return Measuring(facts, config, tokens, request.media_roots, with_bytes=with_bytes)
