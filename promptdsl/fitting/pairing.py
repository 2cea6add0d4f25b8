"""What belongs together across units: calls and their results, and what the end of a prompt needs.

A call and its results go together or stay together. The last user turn stays, and all after it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from promptdsl.calls import answers_of, calls_of
from promptdsl.fitting.scanning import Entry
from promptdsl.fitting.units import Forms, Past, Unit
from promptdsl.messages import Message
from promptdsl.nodes import Conversation, FirstFit, Fragment, Recorded, Turn
from promptdsl.rewriting import says_something
from promptdsl.tree import CALL, RESULT, SHIFT, Node


def pair_units(entries: Sequence[Entry]) -> frozenset[int]:
    """Tie units together that hold calls and results of each other.

    Returns the ids of the conversations whose end has to stay, because later turns answer it.
    """
    bound = _Bound(entries)
    for number, entry in enumerate(entries):
        bound.add(number, entry)
    for members in bound.groups():
        _tie([entries[number] for number in members])
    return frozenset(bound.needed)


def last_question(entries: Sequence[Entry]) -> int:
    """Return the number of the entry in which the last user turn stands, -1 for none."""
    for number in range(len(entries) - 1, -1, -1):
        if _asks(entries[number].place.node):
            return number
    return -1


def _asks(node: Any) -> bool:
    return any(_is_question(one) for one in _flat(node))


def _is_question(node: Any) -> bool:
    if isinstance(node, Recorded):
        return any(_is_asked(said) for said in node.items)
    if not isinstance(node, Turn) or node.role != "user" or node.kind != "written":
        return False
    return not node.mask & RESULT << SHIFT and says_something(node)


def _is_asked(said: Message) -> bool:
    if said.role != "user":
        return False
    return said.plain is not None or all(block.type != "tool_result" for block in said.content)


def _flat(node: Any) -> Iterator[Any]:
    """Yield the turns and recordings in a part of a timeline, of several forms those of the first.

    What is in a recorded conversation stands in its runs.
    """
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, FirstFit):
            waiting += one.content[:1]
        elif isinstance(one, Fragment):
            waiting += reversed(one.content)
        else:
            yield one


@attrs.define(eq=False)
class _Bound:
    """Which entries answer calls of which: ``open`` are the calls by id and the entry they are in.

    ``parent`` is by entry another one it belongs to.
    """

    entries: Sequence[Entry]
    open: dict[str, int] = attrs.field(factory=dict[str, int])
    parent: dict[int, int] = attrs.field(factory=dict[int, int])
    needed: set[int] = attrs.field(factory=set[int])

    def add(self, number: int, entry: Entry) -> None:
        node = entry.place.node
        if not node.mask & (CALL | RESULT) << SHIFT:
            return
        if isinstance(node, Conversation):
            self._conversation(number, node)
            return
        if not isinstance(node, FirstFit):
            for turn in _flat(node):
                self._answer(number, _answers(turn))
                self._ask(number, turn)
            return
        # Each form answers what is open before, and one of them what it asks itself.
        before = dict(self.open)
        after = dict(before)
        for form in node.content:
            self.open = dict(before)
            for turn in _flat(form):
                self._answer(number, _answers(turn))
                self._ask(number, turn)
            after = {id: at for id, at in after.items() if id in self.open} | {
                id: at for id, at in self.open.items() if at == number
            }
        self.open = after

    def _conversation(self, number: int, node: Conversation) -> None:
        """Add a recorded conversation: only what reaches beyond it counts."""
        for run in node.content:
            if isinstance(run, Recorded):
                self._answer(number, _head_answers(run))
                self._ask(number, run)

    def _ask(self, number: int, turn: Node) -> None:
        calls = _tail_calls(turn) if isinstance(turn, Recorded) else calls_of(turn)
        self.open.update(dict.fromkeys(calls, number))

    def _answer(self, number: int, ids: Iterable[str]) -> None:
        for id in ids:
            caller = self.open.pop(id, None)
            if caller is None or caller == number:
                continue
            if isinstance(self.entries[caller].unit, Past):
                self.needed.add(caller)
            elif (root := self._root(number)) != (first := self._root(caller)):
                self.parent[root] = first

    def _root(self, number: int) -> int:
        while number in self.parent:
            number = self.parent[number]
        return number

    def groups(self) -> Iterator[list[int]]:
        """Yield the numbers of the entries that belong together."""
        found: dict[int, list[int]] = {}
        for number in self.parent:
            found.setdefault(self._root(number), []).append(number)
        for root, others in found.items():
            yield sorted([root, *others])


def _answers(turn: Node) -> tuple[str, ...]:
    return _head_answers(turn) if isinstance(turn, Recorded) else answers_of(turn)


def _head_answers(run: Recorded) -> tuple[str, ...]:
    """Return the ids of the results a run begins with."""
    found: list[str] = []
    for said in run.items:
        if said.role == "assistant":
            break
        found += [block.tool_use_id for block in said.content if block.type == "tool_result"]
    return tuple(found)


def _tail_calls(run: Recorded) -> tuple[str, ...]:
    """Return the ids of the calls that a run ends with and does not answer."""
    answered: set[str] = set()
    for said in reversed(run.items):
        if said.plain is None:
            answered |= {b.tool_use_id for b in said.content if b.type == "tool_result"}
        if said.role == "assistant":
            return tuple(call.id for call in said.calls if call.id not in answered)
    return ()


def _tie(entries: list[Entry]) -> None:
    """Make one unit of those that belong together; none, when one of them has to stay."""
    units = [entry.unit for entry in entries]
    known = [unit for unit in units if unit is not None and not isinstance(unit, Past)]
    required = any(unit is None or _is_required(unit) for unit in units)
    if required or not known:
        for unit in known:
            unit.stays = True
        return
    lead = min(known, key=lambda unit: (not _is_whole(unit), unit.rank))
    for unit in known:
        unit.inner.clear()
        unit.place.fixed = True
        if unit is not lead:
            unit.follows = True
            lead.beside.append(unit)
    first = min(known, key=lambda unit: unit.rank)
    lead.priority, lead.covered, lead.order = first.priority, first.covered, first.order


def _is_required(unit: Unit) -> bool:
    return isinstance(unit, Past) or unit.priority == float("inf")


def _is_whole(unit: Unit) -> bool:
    return not isinstance(unit, Forms)
