"""The tokens of a budget that lazies may fill."""

from collections.abc import Callable

from promptdsl.budget.budget import Budget
from promptdsl.budget.limits import limited
from promptdsl.budget.measure_protocol import Measure, frame_tokens
from promptdsl.budget.places import reserved
from promptdsl.budget.plan import Plan
from promptdsl.tree.group_nodes import LazyNode, LimitNode
from promptdsl.tree.masks import HOLLOW, TEXT, TURN, bits
from promptdsl.tree.node import Node, make
from promptdsl.tree.part_nodes import TextNode
from promptdsl.tree.rewrite import hollow, rewrite, with_content
from promptdsl.tree.turn_nodes import among_turns

SHARES = 64
"""Into how many parts a budget is divided, of which lazies get whole ones."""


def room_for(tree: Node, budget: Budget, measure: Measure, read: Callable[[Node], Node]) -> float:
    """Return how many tokens there are for a weight of one, before any lazy has run.

    ``tree`` is the tree with its lazies, ``read`` reads what is recorded in it.
    """
    total = budget.of(measure.facts.window, measure.facts.model) or 0
    lazies = [node for node in hollow(tree) if isinstance(node, LazyNode)]
    loose = {id(node) for node in among_turns(tree)}

    def without_lazy(node: Node) -> Node | None:
        if not isinstance(node, LazyNode):
            return node
        # What is around it is there as soon as it writes anything.
        return None if id(node) in loose else _WRITTEN

    without, _ = limited(read(rewrite(tree, without_lazy, within=HOLLOW)), measure)
    plan = Plan(without, measure)
    required = plan.total - plan.spare + frame_tokens(without, measure)
    room = total - budget.reserve - reserved(without) - required
    weights = sum(lazy.weight for lazy in lazies)
    return max(room, 0) / (weights + (1 if plan.spare else 0))


_WRITTEN: Node = make(TextNode, (".",), mask=bits(TEXT))


def held(said: Node, tokens: int | None, lazy: LazyNode) -> Node:
    """Return what a lazy wrote, cut to the tokens it has; turns are left as they are."""
    if tokens is None or said.mask & TURN:
        return said
    empty = make(LimitNode, mask=HOLLOW, at=lazy.at, max_tokens=tokens, keep="head")
    return with_content(empty, (said,))


def share(room: float, weight: float, total: int) -> int:
    """Return the tokens of a lazy of a weight, rounded down to a whole part of the budget."""
    part = max(total // SHARES, 1)
    return int(room * weight) // part * part
