"""The plan of a budget: the tokens of a prompt, and the tree that is left within a limit."""

from collections.abc import Sequence

import attrs

from promptdsl.budget.choose import Choice, Order
from promptdsl.budget.dropped import Dropped, Needed, dropped_by, needed_by
from promptdsl.budget.histories import cut_points, exchanges_of
from promptdsl.budget.measure_protocol import Measure, tools_frame_of
from promptdsl.budget.pairs import last_question, link_calls
from promptdsl.budget.scan import Scan
from promptdsl.budget.slots import Slot, changed, first_alternatives
from promptdsl.budget.units import ConversationUnit, Entry
from promptdsl.messages.message import Message, spoken
from promptdsl.tree.group_nodes import GroupNode
from promptdsl.tree.masks import SECTION, SYSTEM
from promptdsl.tree.node import Node
from promptdsl.tree.recorded import remember
from promptdsl.tree.turn_nodes import RecordedNode, RootNode


@attrs.frozen(eq=False)
class Fitted:
    """A tree after a choice, and the tokens that were saved."""

    tree: RootNode
    saved: int
    _choice: Choice
    _entries: Sequence[Entry]

    def dropped(self) -> tuple[Dropped, ...]:
        """Return the dropped parts, in the order of the document."""
        return dropped_by(self._choice, self._entries)


class Plan:
    """The units of a prompt and the order in which they are dropped, made once for all limits.

    ``total`` is the count of tokens of the prompt, ``spare`` of those that may be dropped.
    """

    def __init__(self, root: RootNode, measure: Measure) -> None:
        self.root = root
        self.measure = measure
        self._scan = Scan(root, measure)
        self.total = sum(entry.tokens for entry in self._scan.entries)
        links = link_calls(self._scan.entries)
        question = last_question(self._scan.entries)
        for number, entry in enumerate(self._scan.entries):
            unit = entry.unit
            is_last = 0 <= question <= number
            if isinstance(unit, ConversationUnit):
                # After the last question, only the oldest rounds may go.
                required = is_last or number in links.answered_later
                _set_cut_points(unit, measure, required=required, answers=number in links.answering)
            elif is_last and unit is not None and isinstance(unit.slot.node, GroupNode):
                # The last question is dropped only with a group that has a priority of its own.
                unit.required = unit.required or unit.slot.node.priority is None
        self._order = Order(self._scan.units)
        self.spare = self._order.saved[-1]

    def need(self, limit: int) -> int:
        """Return the count of tokens that have to be dropped to be within a limit."""
        measure = self.measure
        frames = measure.reply + tools_frame_of(self.root, measure)
        if any(node.mask & (SYSTEM | SECTION) for node in self.root.content):
            frames += measure.frame("system")  # all system content is one message
        return self.total + frames - limit

    def fit(self, need: int, step: int | None = None) -> Fitted:
        """Return the tree without at least ``need`` tokens, or without all that may be dropped.

        The cut of a conversation without a step of its own moves by ``step`` tokens.
        """
        choice = self._order.choose(min(need, self.spare), step)
        changes: dict[Slot, Node | None] = {}
        for unit, number in choice.shrunk.items():
            changes[unit.slot] = unit.node.content[unit.sizes[number][0]]
        for conversation, point in choice.cuts.items():
            if point:
                changes[conversation.slot] = conversation.cuts.kept(point)
        for lead in choice.dropped:
            changes |= dict.fromkeys((lead.slot, *(unit.slot for unit in lead.companions)))
        tree = first_alternatives(changed(self._scan.root, changes))
        return Fitted(tree, choice.saved, choice, self._scan.entries)

    def saves(self, need: int, step: int | None = None) -> int:
        """Return the count of tokens that :meth:`fit` saves."""
        return self._order.choose(min(need, self.spare), step).saved

    def needed(self) -> list[Needed]:
        """Return the parts that have to stay, the largest first."""
        return needed_by(self._scan.entries, self._order.within)


def _set_cut_points(
    unit: ConversationUnit, measure: Measure, *, required: bool, answers: bool
) -> None:
    """Find the points where a conversation may be cut."""
    members = unit.node.content
    if len(members) == 1 and isinstance(members[0], RecordedNode):
        tokens = measure.messages(members[0])
        known = remember(members[0], exchanges_of, exchanges_of)
    else:
        tokens = list[int]()
        messages: list[Message] = []
        for member in members:
            if isinstance(member, RecordedNode):
                tokens += measure.messages(member)
                messages += member.items
            else:
                tokens.append(measure.turn(member)[0])
                messages.append(_NOBODY)
        known = exchanges_of(messages)
    unit.cuts = cut_points(unit.node, tokens, known, required=required, answers=answers)


_NOBODY = spoken("ephemeral", "")
"""The message in the place of an event or a request-only turn, which starts no exchange."""
