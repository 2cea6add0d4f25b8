"""The plan of a budget: the tokens of a prompt, and the tree that is left within a limit.

Read ``units.py`` first: it says what a slot and a unit are. In this file, the scan comes first: it
finds the children of a timeline and their units. Then the plan adds up their tokens.
"""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import accumulate, count
from operator import attrgetter

import attrs

from promptdsl.budget.budget import Measure
from promptdsl.budget.dropped import Choice, Needed, Order, needed_by
from promptdsl.budget.edited_history import pinned_ranges, uncleared
from promptdsl.budget.histories import Exchanges, cut_points, default_step, measure_history
from promptdsl.budget.units import (
    LAST,
    Alternatives,
    ConversationUnit,
    SendOrder,
    Slot,
    TimelineChild,
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

# The scan of a budget: it finds the children of a timeline and their units in the tree.

INDIVISIBLE = (GroupNode, FirstFitNode)
"""The fragments that are kept or dropped completely: they have no units inside."""
SINGLE_CHILDREN = (*INDIVISIBLE, ConversationNode)
"""The fragments that a budget treats as one child of a timeline. It goes into other fragments."""
TEXTLESS = (ReserveNode, CacheBreakpointNode)
"""The nodes that send no text."""
PAIRED = (CALL | RESULT) << SHIFT
"""The mask of nodes with a call or a result in them."""


@attrs.define(eq=False)
class _Container:
    """A container while its children are scanned: a turn, or a part of a turn."""

    slot: Slot
    unit: Unit | None
    """The unit that contains its parts."""
    siblings: list[Unit]
    """The list that the units in it are added to."""
    parent: "_Container | None" = None
    next_index: int = 0
    """The index of the child that is scanned next."""
    droppable: "list[Unit | _Container]" = attrs.field(factory=list["Unit | _Container"])
    """The units directly inside it, and the containers directly inside that may become empty."""
    alternatives: list[Alternatives] = attrs.field(factory=list[Alternatives])
    unsent: int = 0
    """The tokens of its alternatives that are not the first: they are measured but not sent."""


class Scan:
    """The children of a timeline and its units; templates and conversations are already read."""

    def __init__(self, root: RootNode, measure: Measure) -> None:
        self.root, self._group_priorities = without_nested_choices(root)
        self.children: list[TimelineChild] = []
        self.units: list[Unit] = []
        self._measure = measure
        self._positions = count()
        self._last_cache_mark = SendOrder(False, -1)
        # Children of the timeline may also be in fragments and components.
        slots = [Slot(self.root)]
        while slots:
            slot = slots.pop()
            node = slot.node
            is_single_child = isinstance(node, SINGLE_CHILDREN)
            if slot.parent is None or (isinstance(node, FragmentNode) and not is_single_child):
                slots_below = [
                    slot.below(child, index, in_turn=False)
                    for index, child in enumerate(node.content)
                    if not isinstance(child, str)
                ]
                slots += reversed(slots_below)
            else:
                self.children.append(
                    self._fragment_child(slot) if is_single_child else self._turn_child(slot)
                )
        # A cache mark of the author covers all that is sent before it.
        units = [*self.units]
        while units:
            unit = units.pop()
            unit.covered = unit.sent_at <= self._last_cache_mark
            units += unit.inner

    def _fragment_child(self, slot: Slot) -> TimelineChild:
        """Return the child of the timeline for a group, alternatives or a conversation."""
        node = slot.node
        slot.fixed = True
        unit: Unit | None = None
        if isinstance(node, FirstFitNode):
            sizes = [self._tokens_of(alternative) for alternative in node.content]
            unit = _with_sizes(Alternatives(slot, LAST, self._next_order(node), node=node), sizes)
            tokens = unit.tokens
        elif isinstance(node, ConversationNode):
            tokens = self._tokens_of(node)
            order = self._next_order(node)
            unit = ConversationUnit(slot, node.priority, order, tokens=tokens, node=node)
        else:
            tokens, priority = self._tokens_of(node), self._group_priority(node)
            if priority is not None:
                unit = Unit(slot, priority, self._next_order(node), tokens=tokens)
        if unit is not None:
            self.units.append(unit)
        if _has_cache_mark(node):
            children = (child for child in node.content if not isinstance(child, str))
            self._note_cache_mark(next(children, node))
        return TimelineChild(slot, tokens, unit)

    def _turn_child(self, slot: Slot) -> TimelineChild:
        """Return the child of the timeline for a turn, or for another node."""
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
            # A cache breakpoint marks the child before it.
            self._note_cache_mark(self.children[-1].slot.node if self.children else node)
        return TimelineChild(slot, tokens, unit)

    def _scan_turn(self, slot: Slot, turn_unit: Unit | None) -> int:
        """Find the units in a turn, and return the tokens of the turn.

        ``turn_unit`` is the unit of the turn itself, ``None`` if the turn has no priority.
        """
        turn = slot.node
        siblings = self.units if turn_unit is None else turn_unit.inner
        open_containers = [_Container(slot, turn_unit, siblings)]
        closed: list[_Container] = []
        units: list[Unit] = []
        while open_containers:
            container = open_containers[-1]
            children = container.slot.node.content
            if container.next_index < len(children):
                child = children[container.next_index]
                if isinstance(child, str):
                    container.slot.fixed = container.slot.fixed or bool(child)
                else:
                    unit, child_container = self._scan_part(container, child, turn)
                    if unit is not None:
                        unit.turn = slot
                        units.append(unit)
                    if child_container is not None:
                        open_containers.append(child_container)
                container.next_index += 1
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
        slot = container.slot.below(child, container.next_index, in_turn=True)
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
        unit.dropped_with = container.unit
        container.siblings.append(unit)
        container.droppable.append(unit)
        if unit.priority == LAST:
            container.slot.fixed = True
        else:
            container.slot.droppable_parts += 1
        if child.content and not isinstance(child, INDIVISIBLE):
            return unit, _Container(slot, unit, unit.inner, container)
        slot.fixed = True
        if _has_cache_mark(child):
            self._note_cache_mark(turn)
        return unit, None

    def _tokens_of(self, node: Node) -> int:
        """Return the tokens of a node; of alternatives inside it, only the first counts."""
        total = 0
        for turn in turns_in(node):
            if isinstance(turn, RecordedNode):
                total += sum(self._measure.messages(turn))
            else:
                total += self._measure.turn(turn)[0]
        return total

    def _group_priority(self, group: Node) -> float | None:
        """Return the priority of a group before its alternatives were removed."""
        priorities = self._group_priorities
        return priorities[id(group)] if id(group) in priorities else group_priority(group)

    def _next_order(self, node: Node) -> SendOrder:
        return SendOrder(not node._mask & (SYSTEM | SECTION), next(self._positions))

    def _note_cache_mark(self, node: Node) -> None:
        self._last_cache_mark = max(self._last_cache_mark, self._next_order(node))


def _with_sizes(unit: Alternatives, tokens: Collection[int]) -> Alternatives:
    """Set the tokens and the priority of a unit of alternatives, and return the unit.

    An alternative is sent only if it is smaller than all alternatives before it. Calls and results
    in a turn are dropped only with the turn.
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
    """Note in the parent whether a container always stays or may become empty."""
    slot, parent = container.slot, container.parent
    if not container.droppable:
        slot.fixed = True
    if parent is None or (container.unit is not None and container.unit is not parent.unit):
        return  # the container is a turn, or a unit that is already counted
    if slot.fixed:
        parent.slot.fixed = True
    else:
        parent.slot.droppable_parts += 1
        parent.droppable.append(container)


def _weigh_turn(closed: list[_Container], units: list[Unit], measure: Measure) -> int:
    """Set the tokens of the units and containers in a turn, and return the tokens of the turn."""
    turn = closed[-1]
    ids = {id(container.slot.node) for container in closed} | {id(unit.slot.node) for unit in units}
    for unit in units:
        if isinstance(unit, Alternatives):
            ids.update(map(id, unit.node.content))
    total, counts = measure.turn(turn.slot.node, ids)
    tokens = {**counts, id(turn.slot.node): total}
    # All alternatives were measured, but only the first is sent and counts.
    for container in closed:
        for first_fit in container.alternatives:
            sizes = [tokens[id(alternative)] for alternative in first_fit.node.content]
            _with_sizes(first_fit, sizes)
            container.unsent += sum(sizes[1:])
        if container.parent is not None:
            container.parent.unsent += container.unsent
    # A container is closed after its inner containers, so their tokens are set first.
    for container in closed:
        slot = container.slot
        all_tokens = tokens[id(slot.node)] - container.unsent
        if container.unit is not None and container.unit.slot is slot:
            container.unit.tokens = all_tokens
        droppable_tokens = 0
        for part in container.droppable:
            count = tokens[id(part.slot.node)]
            droppable_tokens += (
                (part.tokens or count) if isinstance(part, Unit) else count - part.unsent
            )
        # A node that occurs several times was measured at its last position.
        slot.container_tokens = 0 if slot.fixed else max(all_tokens - droppable_tokens, 0)
    for unit in units:
        if not unit.tokens and not isinstance(unit, Alternatives):
            unit.tokens = tokens[id(unit.slot.node)]
    return total - turn.unsent


def _has_cache_mark(node: Node) -> bool:
    """Return whether a node or a part of it has a cache mark of the author."""
    nodes = (descendant for descendant, _ in walk(node))
    return any(
        isinstance(descendant, CacheBreakpointNode) or mark_of(descendant.options)
        for descendant in nodes
    )


# The plan of a budget: the tokens of a prompt, and the tree that is left within a limit.

CUT_LINE = "Earlier messages were left out."
"""The text of the user message that is sent in place of what a cut of a history drops."""


class Plan:
    """The units of a prompt and the order in which they are dropped, made once for all limits.

    - ``total`` is the number of tokens of all children of the timeline.
    - ``droppable`` is the number of tokens that may be dropped.
    - ``frames`` is the maximum number of tokens that children save when they merge with their
      neighbours.
    - ``budget`` and ``limit`` give the step of a history whose author wrote none.
    """

    def __init__(self, root: RootNode, measure: Measure, budget: int, limit: int) -> None:
        scan = Scan(root, measure)
        self.children = scan.children
        self._scanned_root = scan.root
        links = link_calls(self.children)
        question_index = last_question(self.children)
        self.measure, self.budget, self.limit = measure, budget, limit
        free_tokens = limit - sum(child.tokens for child in self.children)
        for index, child in enumerate(self.children):
            unit = child.unit
            after_question = 0 <= question_index <= index
            if isinstance(unit, ConversationUnit):
                # The answer to the last question has to stay. So do calls that are answered later.
                required = after_question or index in links.answered_later
                answers = index in links.answering
                _set_cut_points(
                    unit,
                    measure,
                    budget,
                    free_tokens + child.tokens,
                    required=required,
                    answers=answers,
                )
            elif after_question and unit and isinstance(unit.slot.node, GroupNode):
                # From the last question on, a budget drops a group only if the author gave the
                # group a priority. The priorities of its parts do not count.
                unit.required = unit.required or unit.slot.node.priority is None
        has_tools = any(isinstance(node, ToolNode) for node in among_turns(root))
        self._tools_frame = tools_frame(measure.facts) if has_tools else 0
        self.total = sum(child.tokens for child in self.children)
        self.frames = (PER_MESSAGE + 1) * sum(map(_message_count, self.children))
        self.order = Order(scan.units)
        self.droppable = self.order.total_savings[-1]
        self.earlier_excess = self.order.earlier_excess

    def need(self, limit: int) -> int:
        """Return the number of tokens that must be saved to be within a limit."""
        return self.total + REPLY + self._tools_frame - limit

    def choose(self, need: int) -> Choice:
        """Return the choice that saves at least ``need`` tokens, or all that may be dropped."""
        return self.order.choose(min(need, self.droppable))

    def tree_of(self, choice: Choice) -> RootNode:
        """Return the tree that a choice leaves."""
        changes: dict[Slot, Node | None] = {}
        for unit, index in choice.shrunk.items():
            changes[unit.slot] = unit.node.content[unit.sizes[index][0]]
        for conversation, point in choice.cuts.items():
            if point:
                changes[conversation.slot] = conversation.cuts.history_cut_at(point)
        for lead in choice.dropped:
            changes |= dict.fromkeys((lead.slot, *(unit.slot for unit in lead.linked_units)))
        return first_alternatives(changed(self._scanned_root, changes))

    def needed(self) -> list[Needed]:
        """Return the parts that have to stay, the largest first."""
        needed = needed_by(self.children, self.order.droppable_in(), self.measure)
        if self._tools_frame:
            needed.append(Needed(TOOLS_TEXT, self._tools_frame, None))
        return sorted(needed, key=attrgetter("tokens"), reverse=True)


def _message_count(child: TimelineChild) -> int:
    if isinstance(child.unit, ConversationUnit):
        return child.unit.cuts.size
    return sum(1 for _ in turns_in(child.slot.node))


def _set_cut_points(
    unit: ConversationUnit,
    measure: Measure,
    budget: int,
    free_tokens: int,
    *,
    required: bool,
    answers: bool,
) -> None:
    """Set the points where a history may be cut.

    ``free_tokens`` is the number of tokens that the limit of the prompt leaves for the history.
    ``cut_points`` explains ``required`` and ``answers``.
    """
    node = unit.node
    tokens, structure = measure_history(node, measure)
    step = node.step
    if step is None:
        uncleared_tokens = measure_history(uncleared(node), measure)[0]
        step = default_step(
            [0, *accumulate(uncleared_tokens)], structure.rounds, budget, free_tokens
        )
    clearing = None
    pinned: Sequence[tuple[int, int]] = ()
    if node.pin is not None:
        pinned = pinned_ranges(node, structure.exchanges, structure.rounds, len(tokens))
    if is_compacted(node):
        from promptdsl.budget.recorded import pinned_with_compaction

        unpinned = pinned
        pinned = pinned_with_compaction(node, structure, pinned, measure.facts.provider)
        # If a compaction replaces the last question, the rounds after it are still its answer.
        required = required or (pinned is not unpinned and not structure.exchanges)
    if node.clear_results is not None:
        from promptdsl.budget.recorded import planned_clearing

        clearing = planned_clearing(node, measure, step=step, pinned=pinned)
    unit.cuts_at = partial(
        cut_points,
        node=node,
        tokens=tokens,
        structure=structure,
        answers=answers,
        step=step,
        clearing=clearing,
        pinned=pinned,
        cut_line=_cut_line_of(node, structure, measure),
    )
    unit.cuts = unit.cuts_at(len(tokens), required)


def _cut_line_of(
    node: ConversationNode, structure: Exchanges, measure: Measure
) -> tuple[RecordedNode, int] | None:
    """Return the message that is sent in place of what a cut drops, and its tokens.

    ``None`` if the author wants no such message, or if a summary already says it.
    """
    if not node.cut_line or structure.leading != structure.system:
        return None
    items = (spoken("user", CUT_LINE, kind="summary"),)
    start = (structure.rounds or structure.exchanges or (0,))[-1]
    run = make(
        RecordedNode, mask=RECORDED, at=node, items=items, provider_format="messages", start=start
    )
    return run, measure.messages(run)[0]
