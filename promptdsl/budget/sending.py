"""The order of sending: it makes the line of a prompt from the entries of its timeline."""

from collections.abc import Sequence
from operator import itemgetter
from typing import TypeAlias

import attrs

from promptdsl.budget.histories import exchanges_of
from promptdsl.budget.line import NOTHING, ZONES, Line, Link, Seam, Zone
from promptdsl.budget.measure_protocol import Measure
from promptdsl.budget.pairs import answered_by, left_open_by, questions_in, turns_in
from promptdsl.budget.units import Alternatives, ConversationUnit, Entry
from promptdsl.tree.masks import CALL, DEVELOPER, EVENT, REQUEST, RESULT, SHIFT
from promptdsl.tree.node import Node
from promptdsl.tree.turn_nodes import RecordedNode, RequestOnlyNode

MOVED = EVENT | DEVELOPER | REQUEST
"""The mask bits of turns that are sent after the results of open calls."""
PAIRED = (CALL | RESULT) << SHIFT

Placed: TypeAlias = tuple[Link, list[int], bool, float]
"""A link, the list that gets its position, whether it is sent, and its order in its zone."""


def line_of(entries: Sequence[Entry], measure: Measure) -> Line:
    """Return the line of a prompt, and set the positions of the links of each entry."""
    sending = _Sending(measure, any(entry.slot.node._mask & REQUEST for entry in entries))
    for entry in entries:
        slot, unit = entry.slot, entry.unit
        slot.positions = positions = list[int]()
        if isinstance(unit, ConversationUnit):
            cuts, link = unit.cuts, unit.cuts.link(0)
            for seam in cuts.seams[: cuts.system]:
                sending.zones["system"].append((Link(seam, seam), [], True, 0))
            placed: list[Placed] = [] if link is None else [(link, positions, True, 0)]
            sending.add(slot.node, placed, "flow")
        elif isinstance(unit, Alternatives) and unit.node.content:
            for number, (index, _) in enumerate(unit.sizes):
                unit.positions[index] = positions = list[int]()
                for turn in turns_in(unit.node.content[index]):
                    sending.add_turn(turn, positions, is_sent=not number)
        else:
            for turn in turns_in(slot.node):
                sending.add_turn(turn, positions)
    return sending.line()


@attrs.define(eq=False)
class _Sending:
    """The links so far, in the order of sending."""

    measure: Measure
    has_requests: bool
    """Whether there is a grounding, which may be sent before the last question."""
    zones: dict[Zone, list[Placed]] = attrs.field(factory=lambda: {zone: [] for zone in ZONES})
    alone: dict[Seam, Link] = attrs.field(factory=dict[Seam, Link])
    """The links of single messages that are no question, by their seam."""
    open: frozenset[str] = frozenset()
    """The calls without a result so far."""
    waiting: list[Placed] = attrs.field(factory=list[Placed])
    """The links of the zone ``flow`` that wait for the results of the open calls."""

    def add_turn(self, turn: Node, positions: list[int], *, is_sent: bool = True) -> None:
        """Add the messages of a turn or a run."""
        zone, asks = self.measure.zone(turn), questions_in(turn) if self.has_requests else ()
        order = turn.order if isinstance(turn, RequestOnlyNode) else 0
        links: list[Placed] = []
        for index, seam in enumerate(self.measure.seams(turn)):
            link = self.alone.get(seam)
            if link is None:
                link = self.alone[seam] = Link(seam, seam)
            if index in asks:
                link = Link(seam, seam, question=seam)
            links.append((link, positions, is_sent, order))
        leading = exchanges_of(turn.items).system if isinstance(turn, RecordedNode) else 0
        self.zones["system"] += links[:leading]
        self.add(turn, links[leading:] if leading else links, zone)

    def add(self, node: Node, links: Sequence[Placed], zone: Zone) -> None:
        """Add the links of a turn, a run or a conversation."""
        if zone != "flow":
            self.zones[zone] += links
            return
        if self.open and node._mask & MOVED:
            self.waiting += links
            return
        paired = node._mask & PAIRED
        if self.open and links:
            answers = answered_by(next(turns_in(node))) if paired else ()
            self.open = self.open.difference(answers) if answers else frozenset()
            if not answers:
                self._add_waiting()
        self.zones["flow"] += links
        if not self.open:
            self._add_waiting()
        if paired:
            *_, last = turns_in(node)
            self.open = self.open.union(left_open_by(last))

    def _add_waiting(self) -> None:
        if self.waiting:
            self.zones["flow"] += self.waiting
            self.waiting = []

    def line(self) -> Line:
        """Return the line of all links."""
        self._add_waiting()
        links, sent = [NOTHING], [0]
        starts: dict[Zone, int] = {}
        for zone, placed in self.zones.items():
            if zone == "after_system":
                sent.append(len(links))
                links.append(Link(last=self.measure.opening))
            if zone == "before_user":
                sent.append(len(links))
                links.append(NOTHING)
            if zone != "flow":
                placed.sort(key=itemgetter(3))
            starts[zone] = len(links)
            for position, (link, positions, is_sent, _) in enumerate(placed, len(links)):
                links.append(link)
                positions.append(position)
                if is_sent:
                    sent.append(position)
        sent.append(len(links))
        links.append(NOTHING)
        gap, start = starts["before_user"] - 1, starts["after_system"] - 1
        return Line.of(links, sent, end=starts["end"], gap=gap, start=start)
