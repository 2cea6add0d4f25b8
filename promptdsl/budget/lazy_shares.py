"""The share of a budget that each lazy part may fill."""

from promptdsl.budget.budget import Budget
from promptdsl.budget.limits import limited
from promptdsl.budget.measure_protocol import Measure
from promptdsl.budget.plan import Plan
from promptdsl.budget.slots import reserved
from promptdsl.tree.group_nodes import LazyNode
from promptdsl.tree.masks import OPAQUE, TEXT, bits
from promptdsl.tree.node import Node, make
from promptdsl.tree.part_nodes import TextNode
from promptdsl.tree.rewrite import opaque, rewrite
from promptdsl.tree.turn_nodes import RootNode, among_turns

SHARES = 64
"""The number of equal shares of a budget. A lazy gets a whole number of them."""


def room_for(tree: RootNode, budget: Budget, measure: Measure) -> float:
    """Return the tokens for a lazy with a weight of one, before any of them has run."""
    total = budget.of(measure.facts.window, measure.facts.model) or 0
    in_timeline = {id(node) for node in among_turns(tree)}

    def without_lazy(node: Node) -> Node | None:
        if not isinstance(node, LazyNode):
            return node
        # A node around the lazy is sent as soon as the lazy writes anything: a text replaces it.
        return None if id(node) in in_timeline else _TEXT

    without, _ = limited(rewrite(tree, without_lazy, within=OPAQUE), lambda: measure)
    plan = Plan(without, measure, total, total)
    required = plan.need(0) - plan.droppable
    room = total - budget.reserve - reserved(without) - required
    weights = sum(node.weight for node in opaque(tree) if isinstance(node, LazyNode))
    return max(room, 0) / (weights + (1 if plan.droppable else 0))


_TEXT = make(TextNode, (".",), mask=bits(TEXT))
"""The text in place of a lazy inside a turn."""


def share(tokens_per_weight: float, weight: float, total: int) -> int:
    """Return the tokens of a lazy, rounded down to whole shares of a budget of ``total`` tokens."""
    size = max(total // SHARES, 1)
    return int(tokens_per_weight * weight) // size * size
