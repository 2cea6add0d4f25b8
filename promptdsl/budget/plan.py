"""The plan of a budget: the tokens of a prompt, and the tree that is left within a limit.

The scan comes first: it finds the entries of a timeline and their units. The plan adds them up.
"""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import accumulate, count
from operator import attrgetter

import attrs

from promptdsl.budget.budget import Measure
from promptdsl.budget.dropped import Choice, Needed, Order, needed_by
from promptdsl.budget.edited_history import pinned_ranges, uncleared
from promptdsl.budget.histories import cut_points, default_step, measure_history
from promptdsl.budget.units import (
    LAST,
    Alternatives,
    ConversationUnit,
    Entry,
    SendOrder,
    Slot,
    Unit,
    changed,
    first_alternatives,
    group_priority,
    interchangeable,
    last_question,
    link_calls,
    sends_anything,
    smaller_ones,
    turns_in,
    without_nested_choices,
)
from promptdsl.messages.message import spoken
from promptdsl.tokens.payloads import PER_MESSAGE, REPLY, TOOLS_TEXT, tools_frame
from promptdsl.tree.masks import CALL, RECORDED, RESULT, SECTION, SHIFT, SYSTEM
from promptdsl.tree.node import Node, make, mark_of, walk
from promptdsl.tree.part_nodes import EventBlockNode, ToolResultNode
from promptdsl.tree.rewrite import is_compacted
from promptdsl.tree.turn_nodes import (
    CacheBreakpointNode,
    ConversationNode,
    FirstFitNode,
    FragmentNode,
    GroupNode,
    RecordedNode,
    ReserveNode,
    RootNode,
    ToolNode,
    ToolTurnNode,
    among_turns,
)

# The scan of a budget: it finds the entries of a timeline and their units in the tree.
#
# Read ``units.py`` first: it says what a slot, an entry and a unit are.

INDIVISIBLE = (GroupNode, FirstFitNode)
"""The fragments that are kept or dropped completely: they have no units inside."""
CHOICES = (*INDIVISIBLE, ConversationNode)
"""The fragments of a timeline that are an entry. Other fragments contain entries."""
TEXTLESS = (ReserveNode, CacheBreakpointNode)
PAIRED = (CALL | RESULT) << SHIFT


@attrs.define(eq=False)
class _Container:
    """A container while its children are scanned: a turn, or a part of a turn."""

    slot: Slot
    unit: Unit | None
    """The unit that contains its parts."""
    siblings: list[Unit]
    """The list that the units in it are added to."""
    parent: "_Container | None" = None
    next: int = 0
    """The index of the child that is scanned next."""
    droppable: "list[Unit | _Container]" = attrs.field(factory=list["Unit | _Container"])
    """The units directly in it, and the containers directly in it that may become empty."""
    alternatives: list[Alternatives] = attrs.field(factory=list[Alternatives])
    unsent: int = 0
    """The tokens of all alternatives in it but the first. They are measured with the others."""


class Scan:
    """The entries of a timeline and its units. Templates and conversations are read before."""

    def __init__(self, root: RootNode, measure: Measure) -> None:
        self.root, self._group_priorities = without_nested_choices(root)
        self.entries: list[Entry] = []
        self.units: list[Unit] = []
        self._measure = measure
        self._numbers = count()
        self._last_cache_mark = SendOrder(False, -1)
        # Entries may also be in fragments and components.
        slots = [Slot(self.root)]
        while slots:
            slot = slots.pop()
            node = slot.node
            is_entry = isinstance(node, CHOICES)
            if slot.parent is None or (isinstance(node, FragmentNode) and not is_entry):
                parts = [
                    slot.below(child, index, in_turn=False)
                    for index, child in enumerate(node.content)
                    if not isinstance(child, str)
                ]
                slots += reversed(parts)
            else:
                self.entries.append(
                    self._choice_entry(slot) if is_entry else self._turn_entry(slot)
                )
        # A cache mark of the author covers all that is sent before it.
        units = [*self.units]
        while units:
            unit = units.pop()
            unit.covered = unit.sent_at <= self._last_cache_mark
            units += unit.inner

    def _choice_entry(self, slot: Slot) -> Entry:
        """Return the entry of a group, alternatives or a conversation."""
        node = slot.node
        slot.fixed = True
        unit: Unit | None = None
        if isinstance(node, FirstFitNode):
            sizes = [self._entry_tokens(alternative) for alternative in node.content]
            unit = _with_sizes(Alternatives(slot, LAST, self._next_order(node), node=node), sizes)
            tokens = unit.tokens
        elif isinstance(node, ConversationNode):
            tokens = self._entry_tokens(node)
            order = self._next_order(node)
            unit = ConversationUnit(slot, node.priority, order, tokens=tokens, node=node)
        else:
            tokens, priority = self._entry_tokens(node), self._group_priority(node)
            if priority is not None:
                unit = Unit(slot, priority, self._next_order(node), tokens=tokens)
        if unit is not None:
            self.units.append(unit)
        if _has_cache_mark(node):
            parts = (child for child in node.content if not isinstance(child, str))
            self._note_cache_mark(next(parts, node))
        return Entry(slot, tokens, unit)

    def _turn_entry(self, slot: Slot) -> Entry:
        """Return the entry of a turn, or of another node of the timeline."""
        node = slot.node
        priority = node.options.priority
        unit = None if priority is None else Unit(slot, priority, self._next_order(node))
        if unit is not None:
            self.units.append(unit)
        slot.in_turn, slot.fixed = True, isinstance(node, ToolTurnNode)
        if len(node.content) == 1 and type(node.content[0]) is str:
            slot.fixed = True
            tokens = self._measure.turn(node)[0]
        else:
            tokens = self._scan_turn(slot, unit)
        if unit is not None:
            unit.tokens = tokens
        if mark_of(node.options):
            self._note_cache_mark(node)
        elif isinstance(node, CacheBreakpointNode):
            # A cache breakpoint marks the entry before it.
            self._note_cache_mark(self.entries[-1].slot.node if self.entries else node)
        return Entry(slot, tokens, unit)

    def _scan_turn(self, slot: Slot, turn_unit: Unit | None) -> int:
        """Find the units in a turn, and return the tokens of the turn.

        ``turn_unit`` is the unit of the turn itself, ``None`` if it always stays.
        """
        turn = slot.node
        siblings = self.units if turn_unit is None else turn_unit.inner
        open_containers = [_Container(slot, turn_unit, siblings)]
        closed: list[_Container] = []
        units: list[Unit] = []
        while open_containers:
            container = open_containers[-1]
            children = container.slot.node.content
            if container.next < len(children):
                child = children[container.next]
                if isinstance(child, str):
                    container.slot.fixed = container.slot.fixed or bool(child)
                else:
                    unit, inside = self._scan_part(container, child, turn)
                    if unit is not None:
                        unit.turn = slot
                        units.append(unit)
                    if inside is not None:
                        open_containers.append(inside)
                container.next += 1
                continue
            closed.append(open_containers.pop())
            _close_container(container)
            if open_containers and mark_of(container.slot.node.options):
                self._note_cache_mark(turn)
        if not units:
            slot.fixed = True
            return self._measure.turn(turn)[0]
        return _weigh_turn(closed, units, self._measure)

    def _scan_part(
        self, container: _Container, child: Node, turn: Node
    ) -> tuple[Unit | None, _Container | None]:
        """Return the unit of a part of a turn, and its container if its children are scanned."""
        priority = None
        if not child._mask & PAIRED:  # calls and results are dropped only with their turn
            is_group = isinstance(child, GroupNode)
            priority = self._group_priority(child) if is_group else child.options.priority
        is_container = child._holds_parts and not isinstance(child, GroupNode)
        if priority is None and not is_container:
            container.slot.fixed = container.slot.fixed or not isinstance(child, TEXTLESS)
            if isinstance(child, CacheBreakpointNode):
                self._note_cache_mark(turn)
            return None, None
        slot = container.slot.below(child, container.next, in_turn=True)
        unit: Unit
        if isinstance(child, FirstFitNode):
            first_fit = Alternatives(slot, LAST, self._next_order(turn), node=child)
            container.alternatives.append(first_fit)
            unit = _with_sizes(first_fit, [])
        elif priority is not None:
            unit = Unit(slot, priority, self._next_order(turn))
        else:
            # A result without content is still a result, and an event has its fields.
            slot.fixed = isinstance(child, ToolResultNode | EventBlockNode)
            return None, _Container(slot, container.unit, container.siblings, container)
        unit.around = container.unit
        container.siblings.append(unit)
        container.droppable.append(unit)
        if unit.priority == LAST:
            container.slot.fixed = True
        else:
            container.slot.live += 1
        if child.content and not isinstance(child, INDIVISIBLE):
            return unit, _Container(slot, unit, unit.inner, container)
        slot.fixed = True
        if _has_cache_mark(child):
            self._note_cache_mark(turn)
        return unit, None

    def _entry_tokens(self, entry: Node) -> int:
        """Return the tokens of an entry, only with the first of alternatives in it."""
        total = 0
        for node in turns_in(entry):
            if isinstance(node, RecordedNode):
                total += sum(self._measure.messages(node))
            else:
                total += self._measure.turn(node)[0]
        return total

    def _group_priority(self, group: Node) -> float | None:
        """Return the priority of a group, found before its alternatives were left out."""
        priorities = self._group_priorities
        return priorities[id(group)] if id(group) in priorities else group_priority(group)

    def _next_order(self, entry: Node) -> SendOrder:
        return SendOrder(not entry._mask & (SYSTEM | SECTION), next(self._numbers))

    def _note_cache_mark(self, entry: Node) -> None:
        self._last_cache_mark = max(self._last_cache_mark, self._next_order(entry))


def _with_sizes(unit: Alternatives, tokens: Collection[int]) -> Alternatives:
    """Set the tokens and the priority of a unit of alternatives, and return the unit.

    An alternative is sent only if it is smaller than all before it. Calls and results in a turn are
    dropped only with the turn.
    """
    node = unit.node
    unit.all_sizes = [
        (index, size) for index, size in enumerate(tokens) if sends_anything(node.content[index])
    ]
    is_paired = unit.slot.in_turn and node._mask & PAIRED
    if is_paired:
        unit.all_sizes = interchangeable(node.content, unit.all_sizes)
    unit.sizes = smaller_ones(unit.all_sizes) or [(0, 0)]
    unit.priority = LAST if is_paired or node.priority is None else node.priority
    unit.tokens = unit.sizes[0][1]
    return unit


def _close_container(container: _Container) -> None:
    """Note in the parent of a container whether the container always stays or may become empty."""
    slot, parent = container.slot, container.parent
    if not container.droppable:
        slot.fixed = True
    if parent is None or (container.unit is not None and container.unit is not parent.unit):
        return  # it is a unit, which is counted already
    if slot.fixed:
        parent.slot.fixed = True
    else:
        parent.slot.live += 1
        parent.droppable.append(container)


def _weigh_turn(closed: list[_Container], units: list[Unit], measure: Measure) -> int:
    """Set the tokens of the units and containers in a turn, and return the tokens of the turn."""
    turn = closed[-1]
    wanted = {id(container.slot.node) for container in closed} | {
        id(unit.slot.node) for unit in units
    }
    for unit in units:
        if isinstance(unit, Alternatives):
            wanted.update(map(id, unit.node.content))
    total, counts = measure.turn(turn.slot.node, wanted)
    tokens = {**counts, id(turn.slot.node): total}
    # All alternatives were measured. Those that are not sent are not counted.
    for container in closed:
        for first_fit in container.alternatives:
            sizes = [tokens[id(alternative)] for alternative in first_fit.node.content]
            _with_sizes(first_fit, sizes)
            container.unsent += sum(sizes[1:])
        if container.parent is not None:
            container.parent.unsent += container.unsent
    # A container is closed after the containers in it, so theirs are set before its own.
    for container in closed:
        slot = container.slot
        all_tokens = tokens[id(slot.node)] - container.unsent
        if container.unit is not None and container.unit.slot is slot:
            container.unit.tokens = all_tokens
        inside = 0
        for part in container.droppable:
            count = tokens[id(part.slot.node)]
            inside += (part.tokens or count) if isinstance(part, Unit) else count - part.unsent
        # A node that occurs several times was measured at its last position.
        slot.container_tokens = 0 if slot.fixed else max(all_tokens - inside, 0)
    for unit in units:
        if not unit.tokens and not isinstance(unit, Alternatives):
            unit.tokens = tokens[id(unit.slot.node)]
    return total - turn.unsent


def _has_cache_mark(node: Node) -> bool:
    """Return whether a node or a part of it has a cache mark of the author."""
    parts = (part for part, _ in walk(node))
    return any(isinstance(part, CacheBreakpointNode) or mark_of(part.options) for part in parts)


# The plan of a budget: the tokens of a prompt, and the tree that is left within a limit.

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
        pinned = pinned_ranges(node, structure.exchanges, structure.rounds, len(tokens))
    if is_compacted(node):
        from promptdsl.budget.recorded import with_compaction

        unpinned = pinned
        pinned = with_compaction(node, structure, pinned, measure.facts.provider)
        # If a compaction replaces the last question, the rounds after it are still its answer.
        required = required or (pinned is not unpinned and not structure.exchanges)
    if node.clear_results is not None:
        from promptdsl.budget.recorded import planned_clearing

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
