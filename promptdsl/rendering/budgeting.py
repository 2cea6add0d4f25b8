"""The fitting of a tree into the budget of a render, and the share of each lazy."""

from collections.abc import Callable, Iterable
from functools import partial

from promptdsl.budget.budget import Budget
from promptdsl.budget.dropped import Dropped
from promptdsl.budget.edited_history import Trimmed
from promptdsl.budget.fit import fit
from promptdsl.budget.lazy_shares import room_for
from promptdsl.foundation.errors import PromptError
from promptdsl.foundation.source import author
from promptdsl.rendering.measure import Measuring, messages_total
from promptdsl.rendering.pipeline import Outgoing, reading
from promptdsl.rendering.request import RenderRequest, Settings, settings_of
from promptdsl.rendering.text.blocks import sendable
from promptdsl.rendering.text.reserved_tags import with_reserved_tags
from promptdsl.tokens import tokens_for
from promptdsl.tokens.count import Tokens
from promptdsl.tree.group_nodes import ConversationNode, LazyNode
from promptdsl.tree.rewrite import is_compacted, opaque
from promptdsl.tree.turn_nodes import RootNode


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
        from promptdsl.budget.compaction import compactions_in, without_compacted

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
        from promptdsl.budget.recorded_results import edits_in

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
