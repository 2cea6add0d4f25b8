"""Bound reasoning that is sent although a budget clears or cuts: what was written since then.

Some models bind reasoning to the messages before it: they take it only while these messages are
the same as when it was written. So up to each turn of the model, what is sent of a history must
depend on the history alone.

What follows the history, such as a question that is recorded later, is different in each request.
Its size is rounded up to halves of a step, so the cut leaves room for it.
"""

from collections.abc import Sequence
from itertools import accumulate, starmap

import attrs

from promptdsl.budget.choose import Choice
from promptdsl.budget.edited_history import Trimmed
from promptdsl.budget.histories import State, exchanges_of
from promptdsl.budget.plan import Plan
from promptdsl.budget.units import ConversationUnit
from promptdsl.config.wires import wire_of
from promptdsl.messages.message import Message
from promptdsl.messages.pairing import asks
from promptdsl.tree.group_nodes import ConversationNode
from promptdsl.tree.masks import CALL, REQUEST, SECTION, SHIFT, SYSTEM, TURN
from promptdsl.tree.node import Node
from promptdsl.tree.recorded import remember
from promptdsl.tree.turn_nodes import RecordedNode

MARGIN = 64
"""The share of a budget by which the sum of the parts may differ from the tokens of the prompt."""


def reasoning_run(node: Node, provider: str | None) -> RecordedNode | None:
    """Return the run of a history, if the history has reasoning that a provider takes.

    ``None`` for another node, or for a history that is not one run.
    """
    if not isinstance(node, ConversationNode) or len(node.content) != 1:
        return None
    run = node.content[0]
    if not isinstance(run, RecordedNode) or not run._mask & CALL << SHIFT:
        return None
    origins = wire_of(provider).origins
    for message in run.items:
        if message._plain is None and any(
            block.type == "reasoning" and block.origin in origins for block in message.content
        ):
            return run
    return None


@attrs.define(eq=False)
class _Requests:
    """The requests of one history: the current one, and one before each turn of the model."""

    items: Sequence[Message]
    unit: ConversationUnit
    before: Sequence[int]
    """By message, the tokens of those before it."""
    rest: int
    """The tokens that have to be saved because of all that is before the history."""
    budget: int

    def before_question(self, stop: int) -> int:
        """Return the end of the messages before ``stop``, without the questions at their end."""
        while stop and _asks_or_instructs(self.items[stop - 1]):
            stop -= 1
        return stop

    def need(self, stop: int, end: int, behind: int) -> int:
        """Return the tokens that a request with the messages before ``stop`` has to save.

        The question from ``end`` to ``stop`` was in the history or after it: it counts as
        ``behind``, the tokens after the history.
        """
        half = max(min(self.unit.cuts.step // 2, self.budget // 4), 1)
        behind += self.before[stop] - self.before[end] + self.budget // MARGIN
        return self.rest + self.before[end] + -(-behind // half) * half

    def had_state(self, state: State, start: int, fleeting: int) -> bool:
        """Return whether the request before the turn at ``start`` certainly had a state.

        ``fleeting`` are the tokens of groundings, which are in one request only.
        """
        # The last user turns before it may have been after the history.
        end = self.before_question(start)
        need = self.need(start, end, fleeting)
        cuts = self.unit.cuts
        if state == (cuts.lead, False, 0) and need + cuts.step <= 0:
            return True
        ends = range(end, max(start, end + 1))
        possible = starmap(self.unit.cuts_at, ((start, True), *((stop, False) for stop in ends)))
        return all(cuts.state(cuts.point(need)) == state for cuts in possible)


def bound_choice(plan: Plan) -> tuple[Choice, Trimmed | None] | None:
    """Return the choice for a prompt with bound reasoning, and what it does to the reasoning.

    The second value is ``None`` if all reasoning is sent. The result is ``None`` if the first
    action is not on the only history: it is unknown when that was done.
    """
    behind = fleeting = 0
    units: list[ConversationUnit] = []
    for entry in plan.entries:
        mask = entry.slot.node._mask
        if isinstance(entry.unit, ConversationUnit):
            units.append(entry.unit)
        elif mask & REQUEST:
            fleeting += entry.tokens
        elif units and mask & TURN and not mask & (SYSTEM | SECTION):
            behind += entry.tokens
    run = reasoning_run(units[0].node, plan.measure.facts.provider) if len(units) == 1 else None
    if run is None or any(action.unit is not units[0] for action in plan.order.actions[:1]):
        return None
    unit = units[0]
    before = [0, *accumulate(plan.measure.messages(run))]
    rest = plan.need(plan.limit) - before[-1] - behind - fleeting
    requests = _Requests(run.items, unit, before, rest, plan.budget)
    size = len(run.items)
    need = requests.need(size, requests.before_question(size), behind + fleeting)
    point = unit.cuts.point(need)
    choice = Choice()
    if point:
        choice.cut(unit, point)
    state, fresh = unit.cuts.state(point), None
    rounds = remember(run, exchanges_of, exchanges_of).rounds
    for start in reversed(rounds):
        if start < state[0] or not requests.had_state(state, start, fleeting):
            break
        fresh = start
    if fresh is None:
        return choice, Trimmed() if rounds else None
    if not point and fresh == rounds[0] and not state[2]:
        return choice, None
    return choice, Trimmed(run.items[fresh])


def _asks_or_instructs(message: Message) -> bool:
    return asks(message) or message.role not in ("user", "assistant", "tool")
