"""The order of sending: the line of a prompt, made of the entries of its timeline."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import attrs

from promptdsl.budget.histories import exchanges_of
from promptdsl.budget.line import NOTHING, ZONES, Line, Link, Links, Owner, Zone
from promptdsl.budget.measure_protocol import Measure
from promptdsl.budget.pairs import answered_by, left_open_by, questions_in, turns_in
from promptdsl.budget.units import Alternatives, ConversationUnit, Entry
from promptdsl.tree.masks import CALL, DEVELOPER, EVENT, REQUEST, RESULT, SHIFT
from promptdsl.tree.node import Node
from promptdsl.tree.turn_nodes import RecordedNode, RequestOnlyNode

MOVED = EVENT | DEVELOPER | REQUEST
"""The mask bits of turns that are sent after the results of open calls."""
PAIRED = (CALL | RESULT) << SHIFT


class Placed(NamedTuple):
    """A link, its owner, its zone and its order in that, and whether it is sent."""

    owner: Owner
    link: Link
    zone: Zone = "flow"
    order: float = 0
    is_sent: bool = True


def line_of(entries: Iterable[Entry], measure: Measure) -> tuple[Line, Links]:
    """Return the line of a prompt, and the positions of the links of each entry."""
    sending = _Sending(measure)
    for entry in entries:
        slot, unit, node = entry.slot, entry.unit, entry.slot.node
        if isinstance(unit, ConversationUnit):
            cuts, link = unit.cuts, unit.cuts.link(0)
            leading = [Link(joint, joint) for joint in cuts.joints[: cuts.system]]
            links = [Placed((slot, -1), one, "system") for one in leading]
            links += [] if link is None else [Placed((slot, 0), link)]
            sending.add(node, links)
        elif isinstance(unit, Alternatives):
            for number, (index, _) in enumerate(unit.sizes):
                for turn in turns_in(node.content[index]):
                    sending.add_turn(turn, (slot, index), is_sent=not number)
        else:
            for turn in turns_in(node):
                sending.add_turn(turn, (slot, 0))
    return _in_order([*sending.placed, *sending.waiting])


@attrs.define(eq=False)
class _Sending:
    """The links in the order of sending so far, zones apart."""

    measure: Measure
    placed: list[Placed] = attrs.field(factory=list[Placed])
    open: frozenset[str] = frozenset()
    """The calls without a result so far."""
    waiting: list[Placed] = attrs.field(factory=list[Placed])
    """The links that follow the results of the open calls."""

    def add_turn(self, turn: Node, owner: Owner, *, is_sent: bool = True) -> None:
        """Add the messages of a turn or a run."""
        zone, asks = self.measure.zone(turn), questions_in(turn)
        order = turn.order if isinstance(turn, RequestOnlyNode) and zone != "flow" else 0
        leading = exchanges_of(turn.items).system if isinstance(turn, RecordedNode) else 0
        links: list[Placed] = []
        for index, joint in enumerate(self.measure.joints(turn)):
            link = Link(joint, joint, 0, joint if index in asks else None)
            links.append(Placed(owner, link, "system" if index < leading else zone, order, is_sent))
        self.add(turn, links)

    def add(self, node: Node, links: Sequence[Placed]) -> None:
        """Add the links of a turn, a run or a conversation."""
        if self.open and links and links[-1].zone == "flow":
            if node.mask & MOVED:
                self.waiting += links
                return
            turns = [*turns_in(node)]
            answers = answered_by(turns[0])
            self.open = self.open.difference(answers) if answers else frozenset()
            if not answers:
                self._settle()
        self.placed += links
        if not self.open:
            self._settle()
        if node.mask & PAIRED:
            calls = [left_open_by(turn) for turn in turns_in(node)]
            self.open = self.open.union(calls[-1])

    def _settle(self) -> None:
        self.placed += self.waiting
        self.waiting = []


def _in_order(placed: Sequence[Placed]) -> tuple[Line, Links]:
    """Return links in a line, and the positions of each owner."""
    zones = [ZONES.index(one.zone) for one in placed]
    order = sorted(range(len(placed)), key=lambda n: (zones[n], placed[n].order, n))
    gap = 1 + sum(zone < ZONES.index("before_user") for zone in zones)
    end = 1 + sum(zone < ZONES.index("end") for zone in zones)
    links = [NOTHING, *(placed[number].link for number in order), NOTHING]
    links.insert(gap, NOTHING)
    sent, owned = [0], dict[Owner, list[int]]()
    for position, number in enumerate(order, 1):
        if position >= gap:
            position += 1
        owned.setdefault(placed[number].owner, []).append(position)
        if placed[number].is_sent:
            sent.append(position)
    sent = sorted([*sent, gap, len(links) - 1])
    return Line.of(links, sent, end=end, gap=gap), owned
