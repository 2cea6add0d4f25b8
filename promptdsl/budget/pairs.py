"""Units that belong together, by their calls and results, and the last question of a prompt.

A call and its results go together or stay together. The last user turn stays, and all after it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import attrs

from promptdsl.budget.call_ids import alike, answered_by, left_open_by, turns_in
from promptdsl.budget.scan import Entry
from promptdsl.budget.units import LAST, Forms, Past, Unit
from promptdsl.messages.message import Message
from promptdsl.tree.group_nodes import ConversationNode, FirstFitNode
from promptdsl.tree.masks import CALL, RESULT, SHIFT
from promptdsl.tree.node import Node
from promptdsl.tree.rewrite import has_content
from promptdsl.tree.turn_nodes import RecordedNode, TurnNode


class Tied(NamedTuple):
    """The numbers of the conversations that share calls with the entries around them.

    The end of ``calling`` ones has to stay, because later turns answer it; the beginning of
    ``answering`` ones, which answers earlier turns.
    """

    calling: frozenset[int]
    answering: frozenset[int]


def pair_units(entries: Sequence[Entry]) -> Tied:
    """Tie units together that hold calls and results of each other."""
    bound = _Bound(entries)
    for number, entry in enumerate(entries):
        bound.add(number, entry)
    for members in bound.groups():
        _tie([entries[number] for number in members])
    return Tied(frozenset(bound.calling), frozenset(bound.answering))


def last_question(entries: Sequence[Entry]) -> int:
    """Return the number of the entry in which the last user turn stands, -1 for none."""
    for number in range(len(entries) - 1, -1, -1):
        if _asks(entries[number].place.node):
            return number
    return -1


def _asks(node: Any) -> bool:
    return any(_is_question(one) for one in turns_in(node))


def _is_question(node: Any) -> bool:
    if isinstance(node, RecordedNode):
        return any(_is_asked(said) for said in node.items)
    if not isinstance(node, TurnNode) or node.role != "user" or node.kind != "written":
        return False
    return not node.mask & RESULT << SHIFT and has_content(node.content)


def _is_asked(said: Message) -> bool:
    if said.role != "user":
        return False
    return said.plain is not None or all(block.type != "tool_result" for block in said.content)


@attrs.define(eq=False)
class _Bound:
    """The entries that answer each other's calls. ``open`` is the entry of each open call, by id.

    ``parent`` is another entry that an entry belongs to, by number.
    """

    entries: Sequence[Entry]
    open: dict[str, int] = attrs.field(factory=dict[str, int])
    parent: dict[int, int] = attrs.field(factory=dict[int, int])
    calling: set[int] = attrs.field(factory=set[int])
    answering: set[int] = attrs.field(factory=set[int])

    def add(self, number: int, entry: Entry) -> None:
        node = entry.place.node
        if not node.mask & (CALL | RESULT) << SHIFT:
            return
        if isinstance(node, ConversationNode):
            self._conversation(number, node)
            return
        if not isinstance(node, FirstFitNode):
            for turn in turns_in(node):
                self._answer(number, answered_by(turn))
                self._ask(number, turn)
            return
        # Each form answers what is open before; what any of them asks is open after it.
        before, left, asked = dict(self.open), dict(self.open), dict[str, int]()
        for form in node.content:
            self.open = dict(before)
            for turn in turns_in(form):
                self._answer(number, answered_by(turn))
                self._ask(number, turn)
            left = {id: at for id, at in left.items() if id in self.open}
            asked |= {id: at for id, at in self.open.items() if at == number}
        self.open = left | asked

    def _conversation(self, number: int, node: ConversationNode) -> None:
        """Add a recorded conversation: only what reaches beyond it counts."""
        for run in node.content:
            if isinstance(run, RecordedNode):
                self._answer(number, answered_by(run))
                self._ask(number, run)

    def _ask(self, number: int, turn: Node) -> None:
        self.open.update(dict.fromkeys(left_open_by(turn), number))

    def _answer(self, number: int, ids: Iterable[str]) -> None:
        for id in ids:
            caller = self.open.pop(id, None)
            if caller is None or caller == number:
                continue
            if isinstance(self.entries[caller].unit, Past):
                self.calling.add(caller)
            if isinstance(self.entries[number].unit, Past):
                self.answering.add(number)
            if (root := self._root(number)) != (first := self._root(caller)):
                self.parent[root] = first

    def _root(self, number: int) -> int:
        while number in self.parent:
            above = self.parent[number]
            if above in self.parent:
                # Half the way for whoever asks next.
                self.parent[number] = self.parent[above]
            number = above
        return number

    def groups(self) -> Iterator[list[int]]:
        """Yield the numbers of the entries that belong together."""
        found: dict[int, list[int]] = {}
        for number in self.parent:
            found.setdefault(self._root(number), []).append(number)
        for root, others in found.items():
            yield sorted([root, *others])


def _tie(entries: list[Entry]) -> None:
    """Make one unit of those that belong together; none, when one of them has to stay."""
    units = [entry.unit for entry in entries]
    known = [unit for unit in units if unit is not None and not isinstance(unit, Past)]
    for unit in known:
        if isinstance(unit, Forms):
            unit.sizes = alike(unit.node.content, unit.sizes, in_turn=False)
    required = any(unit is None or _is_required(unit) for unit in units)
    if required or not known:
        for unit in known:
            unit.stays = True
        return
    lead = min(known, key=lambda unit: (not _is_whole(unit), unit.rank))
    for unit in known:
        unit.inner.clear()
    for unit in known:
        unit.place.fixed = True
        if unit is not lead:
            unit.follows, unit.around = True, lead
            lead.beside.append(unit)
            # Its forms step down before all of it goes.
            lead.inner += [unit] if isinstance(unit, Forms) else []
    first = min(known, key=lambda unit: unit.rank)
    lead.priority, lead.covered, lead.order = first.priority, first.covered, first.order


def _is_required(unit: Unit) -> bool:
    return isinstance(unit, Past) or unit.priority == LAST


def _is_whole(unit: Unit) -> bool:
    return not isinstance(unit, Forms)
