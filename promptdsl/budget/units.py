"""Units: the parts that a budget keeps or drops completely.

In this order: the positions of nodes in a tree (slots), the units, and the pairs of calls and
results, which are dropped together.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import attrs

from promptdsl.budget.histories import CutPoints
from promptdsl.foundation.frozen import new_list
from promptdsl.messages.message import open_calls
from promptdsl.messages.pairing import OpenCalls, answers_before_assistant, asks
from promptdsl.tree.masks import CALL, OPAQUE, RESULT, SHIFT
from promptdsl.tree.node import Child, N, Node, walk
from promptdsl.tree.part_nodes import EventBlockNode, ToolResultNode
from promptdsl.tree.recorded import answers_of, calls_of
from promptdsl.tree.rewrite import has_content, opaque, rewrite, with_content
from promptdsl.tree.turn_nodes import (
    ConversationNode,
    FirstFitNode,
    FragmentNode,
    GroupNode,
    RecordedNode,
    ReserveNode,
    RootNode,
    ToolTurnNode,
    TurnNode,
)

# Slots: the positions of nodes in a tree, and the tree with some of its nodes replaced.

ALWAYS_SENT = (ToolTurnNode, ToolResultNode, EventBlockNode)
"""The nodes that are sent even without content."""


@attrs.define(eq=False)
class Slot:
    """A node and its position: it is child number ``index`` of the node of ``parent``."""

    node: Node
    parent: "Slot | None" = None
    index: int = 0
    depth: int = 0
    in_turn: bool = False
    """Whether it is a turn or inside one. Empty containers are dropped only in turns."""
    fixed: bool = False
    """Whether some part of it always stays: it is dropped as a unit, never by becoming empty."""
    live: int = 0
    """The count of its parts that may be dropped."""
    container_tokens: int = 0
    """The tokens around its parts (a title, a frame). They are dropped with the last part."""
    _outermost: "Slot | None" = None
    """For a node inside a part of a turn, the slot of that part."""

    def below(self, child: Node, index: int, *, in_turn: bool) -> "Slot":
        """Return the slot of a child."""
        slot = Slot(child, self, index, self.depth + 1, in_turn)
        if self.in_turn and self.parent is not None and self.parent.in_turn:
            slot._outermost = self.part
        return slot

    @property
    def part(self) -> "Slot":
        """The slot of the part of a turn that contains this slot, else the slot itself."""
        return self if self._outermost is None else self._outermost

    @property
    def containers(self) -> "Iterator[Slot]":
        """The containers around a part of a turn, the innermost first, the turn last."""
        container = self.parent
        while container is not None and container.in_turn:
            yield container
            container = container.parent

    @property
    def ancestry(self) -> "list[Slot]":
        """The slots from the root of the tree to this one."""
        slots: list[Slot] = [self]
        while slots[-1].parent is not None:
            slots.append(slots[-1].parent)
        return slots[::-1]


def changed(root: RootNode, changes: Mapping[Slot, Node | None]) -> RootNode:
    """Return the tree with other nodes in some slots; ``None`` removes the node.

    A container without parts is dropped, but a tool result stays.
    """
    rebuilt: dict[int, dict[Slot, dict[int, Node | None]]] = {}

    def put(slot: Slot, node: Node | None) -> None:
        """Note that the parent of a slot is built again, with this child."""
        parent = slot.parent
        if parent is not None:
            rebuilt.setdefault(parent.depth, {}).setdefault(parent, {})[slot.index] = node

    for slot, node in changes.items():
        put(slot, node)
    for depth in range(max(rebuilt, default=0), 0, -1):
        for slot, parts in rebuilt[depth].items():
            if slot not in changes:
                content = _with_parts(slot.node, parts)
                stays = any(content) or isinstance(slot.node, ALWAYS_SENT)
                put(slot, with_content(slot.node, content) if stays else None)
    tops = rebuilt.get(0, {}).values()
    return with_content(root, _with_parts(root, *tops)) if tops else root


def _with_parts(node: Node, parts: Mapping[int, Node | None]) -> tuple[Child, ...]:
    """Return the content of a node with some of its children replaced."""
    children = [parts.get(index, child) for index, child in enumerate(node.content)]
    return tuple([child for child in children if child is not None])


def first_alternatives(root: N) -> N:
    """Return a tree with only the first alternative of each ``FirstFit``, and without reserves."""
    if not root._mask & OPAQUE:
        return root

    def change(node: Node) -> Node | None:
        if isinstance(node, FirstFitNode):
            return next(filter(sends_anything, node.content), None)
        return None if isinstance(node, ReserveNode) else node

    return rewrite(root, change, within=OPAQUE)


def without_nested_choices(root: RootNode) -> tuple[RootNode, dict[int, float | None]]:
    """Return a tree without a ``FirstFit`` in a ``Group``, a history or another ``FirstFit``.

    These are kept or dropped completely, so nothing inside them is chosen separately. The second
    result has the priorities of the changed groups by id. They were found before alternatives were
    left out.
    """
    outermost: set[int] = set()
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, GroupNode | FirstFitNode | ConversationNode):
            waiting += [c for c in node.content if not isinstance(c, str) and c._mask & OPAQUE]
        elif any(isinstance(part, FirstFitNode) and part is not node for part, _ in walk(node)):
            outermost.add(id(node))
    priorities: dict[int, float | None] = {}
    if not outermost:
        return root, priorities

    def change(node: Node) -> Node:
        if id(node) not in outermost:
            return node
        if isinstance(node, FirstFitNode):
            return with_content(node, tuple(map(first_alternatives, node.content)))
        group = first_alternatives(node)
        priorities[id(group)] = group_priority(node)
        return group

    return rewrite(root, change, within=OPAQUE), priorities


def group_priority(group: Node) -> float | None:
    """Return the priority of a group: its own, else the lowest inside, ``None`` without one."""
    priority = _priority(group)
    if priority is not None:
        return priority
    inside = [_priority(node) for node, _ in walk(group)]
    return min((priority for priority in inside if priority is not None), default=None)


def _priority(node: Node) -> float | None:
    if isinstance(node, GroupNode | FirstFitNode | ConversationNode):
        return node.priority
    return node.options.priority


def sends_anything(alternative: Node) -> bool:
    """Return whether an alternative sends anything. An empty alternative is never chosen."""
    if has_content((alternative,)):
        return True
    results = RecordedNode | ToolTurnNode | ToolResultNode
    return any(isinstance(node, results) for node, _ in walk(alternative))


def reserved(root: Node) -> int:
    """Return the sum of the tokens of all reserves in a tree."""
    return sum(node.tokens for node in opaque(root) if isinstance(node, ReserveNode))


# Units: the parts that a budget keeps or drops completely, and the actions that make room.

LAST = float("inf")
"""The priority of alternatives without one: they shrink after everything that has a priority."""


class SendOrder(NamedTuple):
    """A position in the order of sending: system content is sent before everything else."""

    after_system: bool
    number: int
    """The position in the document."""


@attrs.define(eq=False)
class Unit:
    """A part of a prompt that is dropped completely, the lowest ``priority`` first."""

    slot: Slot
    priority: float
    sent_at: SendOrder
    tokens: int = 0
    covered: bool = False
    """Whether a cache mark follows it. Of equal priorities it then goes last: it may be cached."""
    around: "Unit | None" = None
    """The unit that it is dropped with: the one that contains it, or that it is linked to."""
    turn: Slot | None = None
    """The slot of the turn that contains it, ``None`` for an entry of the timeline."""
    inner: "list[Unit]" = attrs.field(factory=new_list)
    """The units inside it. They are dropped before it."""
    linked_units: "list[Unit]" = attrs.field(factory=new_list)
    """The linked units: calls and results in other entries that are dropped with it."""
    is_linked: bool = False
    """Whether it is linked to the unit ``around`` and dropped with it."""
    required: bool = False
    """Whether it has to stay, although it has a priority, because other parts depend on it."""

    @property
    def rank(self) -> tuple[float, bool, int]:
        """The rank among the units next to it: the lowest is dropped first."""
        return self.priority, self.covered, self.sent_at.number

    @property
    def entry(self) -> Slot:
        """The slot in the timeline: of its turn, or its own."""
        return self.turn or self.slot


@attrs.define(eq=False)
class Alternatives(Unit):
    """The unit of a ``FirstFit``, which may send a smaller alternative before it is dropped."""

    node: FirstFitNode = attrs.field(kw_only=True)
    all_sizes: list[tuple[int, int]] = attrs.field(factory=new_list)
    """The index and the tokens of each alternative that sends anything."""
    sizes: list[tuple[int, int]] = attrs.field(factory=new_list)
    """The index and the tokens of each alternative that is smaller than all before it."""


@attrs.define(eq=False)
class ConversationUnit(Unit):
    """The unit of a ``History``, which a budget cuts; its last cut may leave nothing."""

    node: ConversationNode = attrs.field(kw_only=True)
    cuts: CutPoints = attrs.field(init=False)
    """Set by ``Plan``, which knows the calls and the last question of all entries."""
    cuts_at: Callable[[int, bool], CutPoints] = attrs.field(init=False)
    """The cut points of a request with the first messages of the history.

    The arguments are their number, and whether their last exchange has to stay.
    """


@attrs.define(eq=False)
class Entry:
    """An entry of a timeline (a turn, a group, a history...): its tokens and its unit, if any."""

    slot: Slot
    tokens: int
    unit: Unit | None = None


@attrs.define(eq=False)
class Shrink:
    """The action that sends a smaller alternative: ``number`` is its index in ``unit.sizes``."""

    unit: Alternatives
    number: int
    saves: int


@attrs.define(eq=False)
class Cut:
    """The action that cuts a conversation, as far as it may be cut."""

    unit: ConversationUnit
    saves: int


@attrs.define(eq=False)
class Drop:
    """The action that drops the rest of a unit and the units linked to it."""

    unit: Unit
    saves: int = 0
    """The tokens it saves, without the containers that become empty.

    ``Order`` sets it, after the actions inside the unit.
    """


Action: TypeAlias = Shrink | Cut | Drop


# Calls and their results: they are dropped together, or stay together.


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
    return answers_before_assistant(turn.items)


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
