"""Calls and their results: they are dropped together, or stay together."""

from collections.abc import Iterable, Iterator, Sequence

import attrs

from promptdsl.budget.units import LAST, Alternatives, ConversationUnit, Entry
from promptdsl.messages.message import open_calls
from promptdsl.messages.pairing import OpenCalls, asks, first_answers
from promptdsl.tree.calls import answers_of, calls_of
from promptdsl.tree.group_nodes import FirstFitNode, FragmentNode
from promptdsl.tree.masks import CALL, RESULT, SHIFT
from promptdsl.tree.node import Node
from promptdsl.tree.rewrite import has_content
from promptdsl.tree.turn_nodes import RecordedNode, TurnNode


def turns_in(entry: Node) -> Iterator[Node]:
    """Yield the turns and runs in an entry of a timeline, only the first of alternatives."""
    waiting = [entry]
    while waiting:
        node = waiting.pop()
        if isinstance(node, FragmentNode):
            children = node.content[:1] if isinstance(node, FirstFitNode) else node.content
            waiting += [child for child in reversed(children) if not isinstance(child, str)]
        else:
            yield node


def last_question(entries: Sequence[Entry]) -> int:
    """Return the number of the last entry in which a user asks something, -1 for none."""
    for number in range(len(entries) - 1, -1, -1):
        if any(map(_asks_in, turns_in(entries[number].slot.node))):
            return number
    return -1


def _asks_in(turn: Node) -> bool:
    """Return whether a user asks something in a turn or a run.

    Tool results and the summary of a transcript are no questions.
    """
    if isinstance(turn, RecordedNode):
        return any(asks(message) and message.kind != "summary" for message in turn.items)
    if not isinstance(turn, TurnNode) or turn.role != "user" or turn.kind != "written":
        return False
    return not turn._mask & RESULT << SHIFT and has_content(turn.content)


def answered_by(turn: Node) -> Sequence[str]:
    """Return the ids of the calls that a turn answers.

    For a run, these are the calls answered before its first assistant message.
    """
    if not isinstance(turn, RecordedNode):
        return answers_of(turn)
    return first_answers(turn.items)


def left_open_by(turn: Node) -> Sequence[str]:
    """Return the ids of the calls in a turn.

    For a run, these are the calls of its last assistant message without a result in the run.
    """
    if not isinstance(turn, RecordedNode):
        return calls_of(turn)
    return [call.id for call in open_calls(turn.items)]


def interchangeable(
    alternatives: Sequence[Node], sizes: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the sizes of the alternatives with the same calls and results as the first of them.

    Any other alternative would leave a call without its result.
    """
    ids = [_linking_ids(alternatives[index]) for index, _ in sizes]
    return [size for size, linking in zip(sizes, ids, strict=True) if linking == ids[0]]


def smaller_ones(sizes: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the sizes of the alternatives that are smaller than all before them."""
    smaller: list[tuple[int, int]] = []
    for index, size in sizes:
        if not smaller or size < smaller[-1][1]:
            smaller.append((index, size))
    return smaller


def _linking_ids(alternative: Node) -> tuple[list[str], list[str]]:
    """Return the ids of calls without a result in an alternative, and of results without a call."""
    calls = OpenCalls[str]()
    results: list[str] = []
    for turn in turns_in(alternative):
        results += [id for id in answered_by(turn) if calls.answer(id) is None]
        for id in left_open_by(turn):
            calls.add(id, id)
    return sorted(calls.close()), sorted(results)


@attrs.define(eq=False)
class CallLinks:
    """The entries of a timeline that are linked by calls and their results."""

    entries: Sequence[Entry]
    open: dict[str, int] = attrs.field(factory=dict[str, int])
    """By the id of each open call, the number of the entry that makes it."""
    parent: dict[int, int] = attrs.field(factory=dict[int, int])
    """By the number of an entry, an earlier one that it is linked to (a union-find forest)."""
    answered_later: set[int] = attrs.field(factory=set[int])
    """The numbers of conversations with calls that later entries answer: their end stays."""
    answering: set[int] = attrs.field(factory=set[int])
    """The numbers of conversations with results for earlier entries: their beginning stays."""

    def add(self, number: int, alternative: Node) -> None:
        """Link an entry, or one of its alternatives, to the entries with the calls it answers."""
        for turn in turns_in(alternative):
            for id in answered_by(turn):
                caller = self.open.pop(id, None)
                if caller is None or caller == number:
                    continue
                if isinstance(self.entries[caller].unit, ConversationUnit):
                    self.answered_later.add(caller)
                if isinstance(self.entries[number].unit, ConversationUnit):
                    self.answering.add(number)
                later, earlier = self._root(number), self._root(caller)
                if later != earlier:
                    self.parent[later] = earlier
            self.open.update(dict.fromkeys(left_open_by(turn), number))

    def groups(self) -> list[list[int]]:
        """Return the numbers of the entries that are linked to each other."""
        members: dict[int, list[int]] = {}
        for number in self.parent:
            root = self._root(number)
            members.setdefault(root, [root]).append(number)
        return [sorted(numbers) for numbers in members.values()]

    def _root(self, number: int) -> int:
        while number in self.parent:
            above = self.parent[number]
            if above in self.parent:
                self.parent[number] = self.parent[above]  # a shorter path for the next search
            number = above
        return number


def link_calls(entries: Sequence[Entry]) -> CallLinks:
    """Join the units whose entries are linked by calls into one unit, and return the links."""
    links = CallLinks(entries)
    for number, entry in enumerate(entries):
        node = entry.slot.node
        if not node._mask & (CALL | RESULT) << SHIFT:
            continue
        if not isinstance(node, FirstFitNode):
            links.add(number, node)
            continue
        # Each alternative may answer the calls before it. Afterwards, the calls of all are open.
        before, unanswered, calls = links.open, dict(links.open), dict[str, int]()
        for alternative in node.content:
            links.open = dict(before)
            links.add(number, alternative)
            unanswered = {id: n for id, n in unanswered.items() if id in links.open}
            calls |= {id: n for id, n in links.open.items() if n == number}
        links.open = unanswered | calls
    for numbers in links.groups():
        _join([entries[number] for number in numbers])
    return links


def _join(entries: Sequence[Entry]) -> None:
    """Join the units of linked entries into one unit; if one of them has to stay, all stay."""
    all_units = [entry.unit for entry in entries]
    units = [u for u in all_units if u is not None and not isinstance(u, ConversationUnit)]
    for unit in units:
        if isinstance(unit, Alternatives):
            alike = interchangeable(unit.node.content, unit.all_sizes)
            unit.sizes = smaller_ones(alike) or unit.sizes
    if len(units) < len(entries) or any(unit.priority == LAST for unit in units):
        for unit in units:
            unit.required = True
        return
    # The unit with the lowest rank leads. Alternatives lead only if there is no other unit.
    lead = min(units, key=lambda unit: (isinstance(unit, Alternatives), unit.rank))
    lowest = min(units, key=lambda unit: unit.rank)
    for unit in units:
        unit.inner.clear()
    for unit in units:
        unit.slot.fixed = True
        if unit is not lead:
            unit.is_linked, unit.around = True, lead
            lead.linked_units.append(unit)
            if isinstance(unit, Alternatives):
                lead.inner.append(unit)  # they shrink before the joined unit is dropped
    lead.priority, lead.covered, lead.sent_at = lowest.priority, lowest.covered, lowest.sent_at
