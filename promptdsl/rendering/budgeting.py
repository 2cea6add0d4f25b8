"""The budget of a render: a tree fitted into it, and the share of it that lazies may fill."""

from collections.abc import Callable
from functools import partial
from typing import cast

from promptdsl.budget.budget import Budget
from promptdsl.budget.dropped import Dropped
from promptdsl.budget.fit import fit
from promptdsl.budget.lazy_shares import room_for
from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.transformation import Resolved
from promptdsl.foundation.errors import PromptError
from promptdsl.foundation.source import author
from promptdsl.rendering.lazies import skip_lazies
from promptdsl.rendering.measure import Measuring, total_tokens
from promptdsl.rendering.pipeline import before_target
from promptdsl.rendering.request import RenderRequest, settings_of
from promptdsl.rendering.sent import Sent
from promptdsl.rendering.text.blocks import settle
from promptdsl.tokens import tokens_for
from promptdsl.tree.group_nodes import Lazy
from promptdsl.tree.node import Node
from promptdsl.tree.rewrite import hollow
from promptdsl.tree.turn_nodes import Root


def fit_tree(
    tree: Node,
    request: RenderRequest,
    settings: tuple[Resolved, ModelFacts],
    send: Callable[[Node, bool], Sent],
) -> tuple[Callable[[], tuple[Dropped, ...]], Sent]:
    """Return a function that lists what was dropped, and what of the tree is sent.

    Without a budget only its limits and alternatives are settled. Raises :class:`BudgetError` for
    what has to stay and is too much.
    """
    config, facts = settings
    budget = request.budget or Budget()
    tokens = tokens_for(facts, budget.counter)

    def count(sent: Sent) -> int:
        """Return the tokens of what is sent."""
        if sent.written is not None:
            return sent.written.tally(tokens).total
        tree = sent.stages[-1][1]
        return total_tokens(sent.prompt, sent.written, tree, tokens=tokens, facts=facts)

    measuring = partial(Measuring, config, facts, tokens, request.roots)
    try:
        return fit(tree, budget, facts, measuring=measuring, prepare=send, tokens=count)
    except PromptError as error:
        raise error.located(budget.at or author()) from None


def share_budget(tree: Node, request: RenderRequest) -> None:
    """Note how many tokens lazies have, before the first of them runs."""
    budget = request.budget
    if budget is None or budget.tokens is None or request.rooms:
        return
    if not any(isinstance(node, Lazy) for node in hollow(tree)):
        return
    facts, config = settings_of(request, cast("Root", tree))
    measure = Measuring(config, facts, tokens_for(facts, budget.counter), request.roots)
    ready = partial(settle, roots=request.roots, lost=[])
    read = before_target(audience=request.audience, ask=skip_lazies, settle=ready)[-1].run
    try:
        request.rooms["weight"] = room_for(tree, budget, measure, read)
    except PromptError as error:
        raise error.located(budget.at or author()) from None
