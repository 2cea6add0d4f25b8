"""What was written since a budget last moved a frontier or a cut.

Models that bind their reasoning accept it as long as all before it is as it was. So the state of a
history is compared with that of its beginnings, which the same plan says: what was written after
the first beginning of the same state stood where it stands now.
"""

from bisect import bisect_left

from promptdsl.budget.choose import Choice
from promptdsl.budget.histories import exchanges_of
from promptdsl.budget.plan import Plan
from promptdsl.budget.slots import Slot, changed
from promptdsl.budget.units import ConversationUnit
from promptdsl.messages.message import Message
from promptdsl.tree.masks import REQUEST, SYSTEM, TURN
from promptdsl.tree.node import Node
from promptdsl.tree.recorded import cut, remember
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import RecordedNode

MARGIN = 64
"""A request may have needed more room than its plan by this share of the budget, or less."""


def first_since(plan: Plan, choice: Choice, need: int) -> Message | None:
    """Return the first recorded turn of the model that was written since the last move.

    ``None`` if there is none, or if something else than one recording was cut or dropped: when that
    happened is not known. ``choice`` saves ``need`` tokens.
    """
    moved = [unit for unit, point in choice.cuts.items() if point]
    members = moved[0].node.content if len(moved) == 1 else ()
    if choice.dropped or any(choice.shrunk.values()) or len(members) != 1:
        return None
    unit, run = moved[0], members[0]
    words = unit.node.clear_results
    if not isinstance(run, RecordedNode) or (words is not None and words.at_least is not None):
        return None
    number = next(n for n, entry in enumerate(plan.entries) if entry.unit is unit)
    # What stands after the history was recorded later, but for what is sent with each request.
    later: dict[Slot, Node | None] = {
        entry.slot: None
        for entry in plan.entries[number + 1 :]
        if entry.slot.node.mask & TURN and not entry.slot.node.mask & (SYSTEM | REQUEST)
    }
    state = unit.cuts.state(choice.cuts[unit])
    more = need - plan.need(plan.limit) - plan.budget // MARGIN

    def is_same(start: int) -> bool:
        """Return whether the request before a round had the same state, and for certain."""
        node = with_content(unit.node, (cut(run, 0, start),))
        tree = changed(plan.root, {**later, unit.slot: node})
        earlier = Plan(tree, plan.measure, plan.budget, plan.limit)
        then = earlier.entries[number].unit
        chosen = earlier.choose(earlier.need(plan.limit) + more)
        return isinstance(then, ConversationUnit) and state == then.cuts.state(
            chosen.cuts.get(then, 0)
        )

    rounds = [start for start in remember(run, exchanges_of, exchanges_of).rounds if start]
    first = bisect_left(rounds, True, key=is_same)
    return run.items[rounds[first]] if first < len(rounds) else None
