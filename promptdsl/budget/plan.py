"""The plan of a budget: the tokens of a prompt, and the tree that is left within a limit."""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from operator import attrgetter

from promptdsl.budget.choose import Choice, Order
from promptdsl.budget.dropped import Needed, needed_by
from promptdsl.budget.edited_history import uncleared
from promptdsl.budget.histories import cut_points, default_step, measure_history
from promptdsl.budget.measure_protocol import Measure
from promptdsl.budget.pairs import last_question, link_calls, turns_in
from promptdsl.budget.scan import Scan
from promptdsl.budget.slots import Slot, changed, first_alternatives
from promptdsl.budget.units import ConversationUnit, Entry
from promptdsl.messages.message import spoken
from promptdsl.tokens.frames import PER_MESSAGE, REPLY
from promptdsl.tokens.tools import TOOLS_TEXT, tools_frame
from promptdsl.tree.group_nodes import GroupNode
from promptdsl.tree.masks import RECORDED
from promptdsl.tree.node import Node, make
from promptdsl.tree.rewrite import is_compacted
from promptdsl.tree.turn_nodes import RecordedNode, RootNode, ToolNode, among_turns

CUT_LINE = "Earlier messages were left out."
"""The user message that is sent in place of what a cut of a history drops."""


class Plan:
    """The units of a prompt and the order in which they are dropped, made once for all limits.

    ``total`` is the sum of the tokens of the entries, ``droppable`` the number of them that may be
    dropped, ``frames`` the most that entries save when they merge with their neighbours.
    ``budget`` and ``limit`` are used to find the step of a history without one.
    """

    def __init__(self, root: RootNode, measure: Measure, budget: int, limit: int) -> None:
        scan = Scan(root, measure)
        self.entries = scan.entries
        self._scanned_root = scan.root
        links = link_calls(self.entries)
        question = last_question(self.entries)
        self.measure, self.budget, self.limit = measure, budget, limit
        room = limit - sum(entry.tokens for entry in self.entries)
        for number, entry in enumerate(self.entries):
            unit = entry.unit
            after_question = 0 <= question <= number
            if isinstance(unit, ConversationUnit):
                # The answer to the last question has to stay, or the calls that are answered later.
                required = after_question or number in links.answered_later
                answers = number in links.answering
                _set_cut_points(
                    unit, measure, budget, room + entry.tokens, required=required, answers=answers
                )
            elif after_question and unit and isinstance(unit.slot.node, GroupNode):
                # The last question, and what is after it, is dropped only by a priority of its own
                # or of its group, not by the priority of a part.
                unit.required = unit.required or unit.slot.node.priority is None
        has_tools = any(isinstance(node, ToolNode) for node in among_turns(root))
        self._tools_frame = tools_frame(measure.facts) if has_tools else 0
        self.total = sum(entry.tokens for entry in self.entries)
        self.frames = (PER_MESSAGE + 1) * sum(map(_message_count, self.entries))
        self.order = Order(scan.units)
        self.droppable = self.order.saved[-1]
        self.earlier_excess = self.order.earlier_excess

    def need(self, limit: int) -> int:
        """Return the number of tokens that have to be saved to be within a limit."""
        return self.total + REPLY + self._tools_frame - limit

    def choose(self, need: int) -> Choice:
        """Return the choice that saves at least ``need`` tokens, or all that may be dropped."""
        return self.order.choose(min(need, self.droppable))

    def tree_of(self, choice: Choice) -> RootNode:
        """Return the tree that a choice leaves."""
        changes: dict[Slot, Node | None] = {}
        for unit, number in choice.shrunk.items():
            changes[unit.slot] = unit.node.content[unit.sizes[number][0]]
        for conversation, point in choice.cuts.items():
            if point:
                changes[conversation.slot] = conversation.cuts.kept(point)
        for lead in choice.dropped:
            changes |= dict.fromkeys((lead.slot, *(unit.slot for unit in lead.linked_units)))
        return first_alternatives(changed(self._scanned_root, changes))

    def needed(self) -> list[Needed]:
        """Return the parts that have to stay, the largest first."""
        needed = needed_by(self.entries, self.order.droppable_in(), self.measure)
        if self._tools_frame:
            needed.append(Needed(TOOLS_TEXT, self._tools_frame, None))
        return sorted(needed, key=attrgetter("tokens"), reverse=True)


def _message_count(entry: Entry) -> int:
    if isinstance(entry.unit, ConversationUnit):
        return entry.unit.cuts.size
    return sum(1 for _ in turns_in(entry.slot.node))


def _set_cut_points(
    unit: ConversationUnit,
    measure: Measure,
    budget: int,
    room: int,
    *,
    required: bool,
    answers: bool,
) -> None:
    """Set the points where a history may be cut.

    ``room`` is the number of tokens that the limit of the prompt leaves for the history.
    ``required`` and ``answers`` are those of ``cut_points``.
    """
    node = unit.node
    tokens, structure = measure_history(node, measure)
    step = node.step
    if step is None:
        written = measure_history(uncleared(node), measure)[0]
        step = default_step([0, *accumulate(written)], structure.rounds, budget, room)
    clearing = None
    pinned: Sequence[tuple[int, int]] = ()
    if node.pin is not None:
        from promptdsl.budget.pins import pinned_ranges

        pinned = pinned_ranges(node, structure.exchanges, structure.rounds, len(tokens))
    if is_compacted(node):
        from promptdsl.budget.compaction import with_compaction

        unpinned = pinned
        pinned = with_compaction(node, structure, pinned, measure.facts.provider)
        # If a compaction replaces the last question, the rounds after it are still its answer.
        required = required or (pinned is not unpinned and not structure.exchanges)
    if node.clear_results is not None:
        from promptdsl.budget.recorded_results import planned_clearing

        clearing = planned_clearing(node, measure, step=step, pinned=pinned)
    cut_line = None
    if node.cut_line and structure.leading == structure.system:  # a summary says it already
        items = (spoken("user", CUT_LINE, kind="summary"),)
        start = (structure.rounds or structure.exchanges or (0,))[-1]
        run = make(
            RecordedNode,
            mask=RECORDED,
            at=node,
            items=items,
            provider_format="messages",
            start=start,
        )
        cut_line = run, measure.messages(run)[0]
    unit.cuts_at = partial(
        cut_points,
        node=node,
        tokens=tokens,
        structure=structure,
        answers=answers,
        step=step,
        clearing=clearing,
        pinned=pinned,
        cut_line=cut_line,
    )
    unit.cuts = unit.cuts_at(len(tokens), required)
