"""Scanning: the units of a prompt, found in its tree as it was written."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import attrs

from promptdsl.budget.call_ids import alike
from promptdsl.budget.measure_protocol import Measure
from promptdsl.budget.places import TreePlace, group_priority, says, whole_units
from promptdsl.budget.units import LAST, Forms, Past, Spot, Unit
from promptdsl.tree.group_nodes import (
    ConversationNode,
    FirstFitNode,
    FragmentNode,
    GroupNode,
    ReserveNode,
)
from promptdsl.tree.masks import CALL, RESULT, SECTION, SHIFT, SYSTEM
from promptdsl.tree.node import Node, mark_of, walk
from promptdsl.tree.part_nodes import (
    ChecklistNode,
    ExampleNode,
    ExampleSideNode,
    ItemNode,
    ListNode,
    QuoteNode,
    SectionNode,
    ToolResultNode,
)
from promptdsl.tree.turn_nodes import (
    CacheBreakpointNode,
    OutputNode,
    RecordedNode,
    ToolNode,
    ToolTurnNode,
)

HOLDERS = (
    SectionNode,
    FragmentNode,
    ToolResultNode,
    ListNode,
    ChecklistNode,
    ItemNode,
    QuoteNode,
    ExampleNode,
    ExampleSideNode,
)
"""The parts of a turn that may hold units."""
NOTHING = (ReserveNode, CacheBreakpointNode)
"""The nodes without any text."""
BESIDE = (ToolNode, OutputNode, *NOTHING)
"""The nodes among turns that are no turns."""
PAIRED = (CALL | RESULT) << SHIFT
"""The mask bits of a node that holds calls or results."""


@attrs.define(eq=False)
class Entry:
    """An entry of a timeline (a turn, a group, a history...), all its tokens, its unit if any."""

    place: TreePlace
    tokens: int
    unit: Unit | None = None


@attrs.define(eq=False)
class Scan:
    """The entries of a timeline, its units, and the last cache mark of its author."""

    root: TreePlace
    measure: Measure
    priorities: Mapping[int, float | None]
    entries: list[Entry] = attrs.field(factory=list[Entry])
    units: list[Unit] = attrs.field(factory=list[Unit])
    last_mark: tuple[bool, int] = (False, -1)
    numbers: Iterator[int] = attrs.field(factory=count)

    def group_priority(self, group: GroupNode) -> float | None:
        """Return the priority of a group, also of one that was reduced to its first forms."""
        known = self.priorities.get(id(group), group)
        return group_priority(group) if known is group else known  # type: ignore[return-value]

    def next_spot(self, node: Node) -> Spot:
        """Return the spot of what is found next in a node of the timeline: it takes a number."""
        return Spot(next(self.numbers), not node.mask & (SYSTEM | SECTION))

    def marked(self, node: Node) -> None:
        """Note a mark of the author in a node of the timeline: it takes a number, too."""
        self.last_mark = max(self.last_mark, self.next_spot(node).sent)


def scan(root: Node, measure: Measure) -> Scan:
    """Return the entries and units of a tree in which templates and recordings were read."""
    whole, priorities = whole_units(root)
    found = Scan(TreePlace(whole), measure, priorities)
    for place in _entries(found.root):
        found.entries.append(_scanned(place, found))
    for unit in _all_units(found.units):
        unit.covered = unit.order.sent <= found.last_mark
    return found


def _entries(root: TreePlace) -> Iterator[TreePlace]:
    """Yield the places of the entries of a timeline, also those in fragments and components."""
    waiting = [root.below(n, holds=False) for n in range(len(root.node.content) - 1, -1, -1)]
    while waiting:
        place = waiting.pop()
        node = place.node
        if isinstance(node, FragmentNode) and not isinstance(
            node, GroupNode | FirstFitNode | ConversationNode
        ):
            waiting += [place.below(n, holds=False) for n in range(len(node.content) - 1, -1, -1)]
        else:
            yield place


def _scanned(place: TreePlace, found: Scan) -> Entry:
    node, measure = place.node, found.measure
    unit: Unit | None = None
    if isinstance(node, GroupNode):
        tokens, priority = weight(node, measure), found.group_priority(node)
        if priority is not None:
            unit = Unit(place, priority, found.next_spot(node), tokens=tokens)
    elif isinstance(node, FirstFitNode):
        sizes = [weight(form, measure) for form in node.content]
        unit = _forms(place, found.next_spot(node), sizes)
        tokens = unit.tokens
    elif isinstance(node, ConversationNode):
        tokens = weight(node, measure)
        unit = Past(place, node.priority, found.next_spot(node), tokens=tokens)
    else:
        return _turn(place, found)
    place.fixed = True
    if unit is not None:
        found.units.append(unit)
    if not isinstance(node, ConversationNode) and _is_marked(node):
        found.marked(next((one for one in node.content if not isinstance(one, str)), node))
    return Entry(place, tokens, unit)


def _forms(place: TreePlace, order: Spot, tokens: list[int]) -> Forms:
    """Return the unit of a FirstFit, whose forms have these tokens; only smaller ones count.

    In a turn, forms that call or answer go only with it.
    """
    paired = place.holds and place.node.mask & PAIRED
    priority = None if paired else place.node.priority
    sizes: list[tuple[int, int]] = []
    for number, size in enumerate(tokens):
        smaller = not sizes or size < sizes[-1][1]
        if smaller and says(place.node.content[number]):
            sizes.append((number, size))
    if paired:
        sizes = alike(place.node.content, sizes, in_turn=True)
    rank = LAST if priority is None else priority
    first = sizes[0][1] if sizes else 0
    return Forms(place, rank, order, tokens=first, sizes=sizes or [(0, 0)])


def weight(node: Any, measure: Measure) -> int:
    """Return the tokens of one entry of a timeline, in its first forms."""
    total, waiting = 0, [node]
    while waiting:
        one: Any = waiting.pop()
        if isinstance(one, FirstFitNode):
            waiting += one.content[:1]
        elif isinstance(one, FragmentNode):
            waiting += one.content
        elif isinstance(one, RecordedNode):
            total += sum(measure.messages(one))
        elif not isinstance(one, str):
            total += measure.turn(one)[0]
    return total


# Inside a turn.


@attrs.define(eq=False)
class _Level:
    """A part of a turn while it is looked through, and the unit around what is found in it."""

    place: TreePlace
    unit: Unit | None
    scope: list[Unit]
    around: "_Level | None" = None
    next: int = 0
    direct: list[Any] = attrs.field(factory=list[Any])
    """The units, and the holders that may become empty, directly in it."""
    forms: list[Forms] = attrs.field(factory=list[Forms])
    spare: int = 0
    """The tokens of forms in it that are not the first: all of them are measured."""


def _turn(place: TreePlace, found: Scan) -> Entry:
    node = place.node
    priority = node.options.priority
    unit = None if priority is None else Unit(place, priority, found.next_spot(node))
    place.holds, place.fixed = True, isinstance(node, ToolTurnNode)
    if unit is not None:
        found.units.append(unit)
    plain = len(node.content) == 1 and type(node.content[0]) is str
    if plain or isinstance(node, BESIDE):
        place.fixed = True
        tokens = found.measure.turn(node)[0]
    else:
        tokens = _looked_through(place, unit, found)
    if unit is not None:
        unit.tokens = tokens
    if mark_of(node.options):
        found.marked(node)
    elif isinstance(node, CacheBreakpointNode):
        # It marks the entry before it.
        found.marked(found.entries[-1].place.node if found.entries else node)
    return Entry(place, tokens, unit)


def _looked_through(place: TreePlace, own: Unit | None, found: Scan) -> int:
    """Find the units in a turn; return the tokens of all of it."""
    levels = [_Level(place, own, found.units if own is None else own.inner)]
    closed, units = list[_Level](), list[Unit]()
    while levels:
        level = levels[-1]
        if level.next == len(level.place.node.content):
            closed.append(levels.pop())
            _close(level, levels[-1] if levels else None)
            if levels and mark_of(level.place.node.options):
                found.marked(place.node)
            continue
        child = level.place.node.content[level.next]
        level.next += 1
        if isinstance(child, str):
            level.place.fixed = level.place.fixed or bool(child)
            continue
        unit, inside = _part(level, child, found, place.node)
        if unit is not None:
            unit.turn = place
            units.append(unit)
        levels += [] if inside is None else [inside]
    if not units:
        place.fixed = True
        return found.measure.turn(place.node)[0]
    return _weighed(closed, units, found.measure)


def _part(level: _Level, child: Any, found: Scan, turn: Node) -> tuple[Unit | None, _Level | None]:
    """Return the unit that a part of a turn is, and what has to be looked through in it."""
    holder = level.place
    priority = _priority_in(child, found)
    whole = isinstance(child, GroupNode | FirstFitNode)
    if priority is None and not isinstance(child, FirstFitNode):
        if isinstance(child, HOLDERS) and not whole:
            place = holder.below(level.next - 1, holds=True)
            place.fixed = isinstance(
                child, ToolResultNode
            )  # without a word in it, it is still an answer
            return None, _Level(place, level.unit, level.scope, level)
        holder.fixed = holder.fixed or not isinstance(child, NOTHING)
        if isinstance(child, CacheBreakpointNode):
            found.marked(turn)
        return None, None
    place = holder.below(level.next - 1, holds=True)
    order = found.next_spot(turn)
    unit = _forms(place, order, []) if priority is None else Unit(place, priority, order)
    if isinstance(child, FirstFitNode):
        unit = _forms(place, order, [])
        level.forms.append(unit)
    unit.around = level.unit
    level.scope.append(unit)
    level.direct.append(unit)
    if unit.priority == LAST:
        holder.fixed = True
    else:
        holder.live += 1
    if whole or not child.content:
        place.fixed = True
        if _is_marked(child):
            found.marked(turn)
        return unit, None
    return unit, _Level(place, unit, unit.inner, level)


def _priority_in(child: Any, found: Scan) -> float | None:
    """Return the priority of a part of a turn; calls and answers go only with their turn."""
    if child.mask & PAIRED:
        return None
    return found.group_priority(child) if isinstance(child, GroupNode) else child.options.priority


def _close(level: _Level, around: _Level | None) -> None:
    """Note in the level around whether this one stays, or goes when nothing is left in it."""
    place = level.place
    if not level.direct:
        place.fixed = True
    if around is None or (level.unit is not None and level.unit is not around.unit):
        return  # a unit of its own, which is counted already
    if place.fixed:
        around.place.fixed = True
        around.direct += level.direct
    else:
        around.place.live += 1
        around.direct.append(level)


def _weighed(closed: list[_Level], units: list[Unit], measure: Measure) -> int:
    """Give the units of a turn and what holds them their tokens; return those of all of it."""
    top = closed[-1]
    wanted = {id(node) for unit in units for node in (unit.node, *_form_nodes(unit))}
    wanted |= {id(level.place.node) for level in closed}
    total, found = measure.turn(top.place.node, wanted)
    tokens = {**found, id(top.place.node): total}
    for level in closed:
        for forms in level.forms:
            level.spare += _weigh_forms(forms, tokens)
        if level.around is not None:
            level.around.spare += level.spare
    # A level is closed after those in it, so these are weighed by now.
    for level in closed:
        whole = tokens.get(id(level.place.node), 0) - level.spare
        if level.unit is not None and level.unit.place is level.place:
            level.unit.tokens = whole
        # A node that is in several places was measured in the last of them.
        level.place.shell = 0 if level.place.fixed else max(whole - _direct(level, tokens), 0)
    for unit in units:
        if not unit.tokens and not isinstance(unit, Forms):
            unit.tokens = tokens.get(id(unit.node), 0)
    return total - top.spare


def _form_nodes(unit: Unit) -> tuple[Any, ...]:
    return tuple(unit.node.content) if isinstance(unit, Forms) else ()


def _weigh_forms(unit: Forms, tokens: Mapping[int, int]) -> int:
    """Give forms their tokens; return those of all but the first, which were written, too."""
    sizes = [tokens.get(id(form), 0) for form in unit.node.content]
    weighed = _forms(unit.place, unit.order, sizes)
    unit.sizes, unit.tokens = weighed.sizes, weighed.tokens
    return sum(sizes[1:])


def _direct(level: _Level, tokens: Mapping[int, int]) -> int:
    """Return the tokens of what may go directly in a level, in its first forms."""
    return sum(
        one.tokens or tokens.get(id(one.node), 0)
        if isinstance(one, Unit)
        else tokens.get(id(one.place.node), 0) - one.spare
        for one in level.direct
    )


# Marks.


def _is_marked(node: Any) -> bool:
    parts = (part for part, _ in walk(node))
    return any(isinstance(part, CacheBreakpointNode) or mark_of(part.options) for part in parts)


def _all_units(units: list[Unit]) -> Iterator[Unit]:
    waiting = [*units]
    while waiting:
        unit = waiting.pop()
        yield unit
        waiting += unit.inner
