"""Units: the parts that a budget keeps or drops completely.

The file has, in this order, the positions of nodes in a tree (slots), the units, and the links
between calls and results, which are dropped together.
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
from promptdsl.tree.rewrite import has_content, opaque_nodes, rewrite, with_content
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
    """A node and its position: it is the child with this index of the node of ``parent``."""

    node: Node
    parent: "Slot | None" = None
    index: int = 0
    depth: int = 0
    in_turn: bool = False
    """Whether it is a turn or inside a turn. Empty containers are dropped only in turns."""
    fixed: bool = False
    """Whether a part of it always stays: it never becomes empty, and is dropped only as a unit."""
    droppable_parts: int = 0
    """The count of its parts that may be dropped."""
    container_tokens: int = 0
    """The tokens around its parts (a title, a frame). They are dropped with the last part."""
    _outermost: "Slot | None" = None
    """For a node inside a child of a turn, the slot of that child."""

    def below(self, child: Node, index: int, *, in_turn: bool) -> "Slot":
        """Return the slot of a child."""
        slot = Slot(child, self, index, self.depth + 1, in_turn)
        if self.in_turn and self.parent is not None and self.parent.in_turn:
            slot._outermost = self.turn_child
        return slot

    @property
    def turn_child(self) -> "Slot":
        """The slot of the child of a turn that contains this slot, else the slot itself."""
        return self if self._outermost is None else self._outermost

    @property
    def containers(self) -> "Iterator[Slot]":
        """The containers of a part of a turn, the innermost first, the turn last."""
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

    A container that becomes empty is removed, except a node of ``ALWAYS_SENT``.
    """
    rebuilt: dict[int, dict[Slot, dict[int, Node | None]]] = {}

    def put(slot: Slot, node: Node | None) -> None:
        """Note that the parent of a slot is rebuilt with this child."""
        parent = slot.parent
        if parent is not None:
            rebuilt.setdefault(parent.depth, {}).setdefault(parent, {})[slot.index] = node

    for slot, node in changes.items():
        put(slot, node)
    for depth in range(max(rebuilt, default=0), 0, -1):
        for slot, new_children in rebuilt[depth].items():
            if slot not in changes:
                content = _with_parts(slot.node, new_children)
                stays = any(content) or isinstance(slot.node, ALWAYS_SENT)
                put(slot, with_content(slot.node, content) if stays else None)
    # The root is the only slot of depth 0.
    root_children = rebuilt.get(0, {}).values()
    return with_content(root, _with_parts(root, *root_children)) if root_children else root


def _with_parts(node: Node, new_children: Mapping[int, Node | None]) -> tuple[Child, ...]:
    """Return the content of a node with some of its children replaced."""
    children = [new_children.get(index, child) for index, child in enumerate(node.content)]
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

    A budget keeps or drops these completely, so it chooses nothing inside them. The second result
    has the priorities of the changed groups, by the id of the group. They are the priorities
    before alternatives were removed.
    """
    outermost: set[int] = set()
    node_stack: list[Node] = [root]
    while node_stack:
        node = node_stack.pop()
        if not isinstance(node, GroupNode | FirstFitNode | ConversationNode):
            node_stack += [
                child
                for child in node.content
                if not isinstance(child, str) and child._mask & OPAQUE
            ]
        elif any(isinstance(inner, FirstFitNode) and inner is not node for inner, _ in walk(node)):
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
    """Return the priority of a group: its own, else the lowest of its parts, else ``None``."""
    priority = _priority(group)
    if priority is not None:
        return priority
    priorities = [_priority(node) for node, _ in walk(group)]
    return min((priority for priority in priorities if priority is not None), default=None)


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
    return sum(node.tokens for node in opaque_nodes(root) if isinstance(node, ReserveNode))


# Units: the parts that a budget keeps or drops completely, and the actions that make room.

LAST = float("inf")
"""The priority of alternatives without a priority: they shrink after all parts that have one."""


class SendOrder(NamedTuple):
    """A position in the request: system content is sent before everything else."""

    after_system: bool
    position: int
    """The position in the document."""


@attrs.define(eq=False)
class Unit:
    """A part of a prompt that is dropped completely, the lowest ``priority`` first."""

    slot: Slot
    priority: float
    sent_at: SendOrder
    tokens: int = 0
    covered: bool = False
    """Whether a cache mark follows it. Then it may be cached, and of equal priorities goes last."""
    dropped_with: "Unit | None" = None
    """The unit that it is dropped with: this unit contains it, or is linked to it."""
    turn: Slot | None = None
    """The slot of the turn that contains it, ``None`` for a child of the timeline."""
    inner: "list[Unit]" = attrs.field(factory=new_list)
    """The units inside it. They are dropped before it."""
    linked_units: "list[Unit]" = attrs.field(factory=new_list)
    """The linked units: calls and results in other turns that are dropped with it."""
    is_linked: bool = False
    """Whether it is dropped with a unit that it is linked to."""
    required: bool = False
    """Whether it has to stay, although it has a priority, because other parts depend on it."""

    @property
    def rank(self) -> tuple[float, bool, int]:
        """The rank among neighbouring units: the lowest is dropped first."""
        return self.priority, self.covered, self.sent_at.position

    @property
    def timeline_slot(self) -> Slot:
        """The slot of its turn; for a child of the timeline, its own slot."""
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
    """A function that returns the cut points of a request with the first messages of the history.

    Its arguments are the number of messages, and whether their last exchange has to stay.
    """


@attrs.define(eq=False)
class TimelineChild:
    """A child of a timeline (a turn, a group, a history...): its tokens and its unit, if any."""

    slot: Slot
    tokens: int
    unit: Unit | None = None


@attrs.define(eq=False)
class Shrink:
    """The action that sends a smaller alternative: ``index`` is its index in ``unit.sizes``."""

    unit: Alternatives
    index: int
    saves: int


@attrs.define(eq=False)
class Cut:
    """The action that cuts a conversation at its last cut point."""

    unit: ConversationUnit
    saves: int


@attrs.define(eq=False)
class Drop:
    """The action that drops the rest of a unit and the units linked to it."""

    unit: Unit
    saves: int = 0
    """The tokens that it saves, without those of containers that become empty.

    ``Order`` sets it, because it depends on the actions inside the unit.
    """


Action: TypeAlias = Shrink | Cut | Drop


# Calls and their results: they are dropped together, or stay together.


def turns_in(top_node: Node) -> Iterator[Node]:
    """Yield the turns and runs in a child of a timeline; of alternatives, only the first."""
    node_stack = [top_node]
    while node_stack:
        node = node_stack.pop()
        if isinstance(node, FragmentNode):
            children = node.content[:1] if isinstance(node, FirstFitNode) else node.content
            node_stack += [child for child in reversed(children) if not isinstance(child, str)]
        else:
            yield node


def last_question(children: Sequence[TimelineChild]) -> int:
    """Return the index of the last child in which a user asks something, -1 for none."""
    for index in range(len(children) - 1, -1, -1):
        if any(map(_asks_in, turns_in(children[index].slot.node))):
            return index
    return -1


def _asks_in(turn: Node) -> bool:
    """Return whether a user asks something in a turn or a run.

    Tool results and the summary of a transcript are not questions.
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
    """Return the sizes of the alternatives with the same calls and results as the first.

    Another alternative would leave a call without its result.
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
    """The children of a timeline that are linked by calls and their results."""

    children: Sequence[TimelineChild]
    open: dict[str, int] = attrs.field(factory=dict[str, int])
    """By the id of each open call, the index of the child that makes it."""
    parent: dict[int, int] = attrs.field(factory=dict[int, int])
    """By the index of a child, that of an earlier child linked to it (a union-find forest)."""
    answered_later: set[int] = attrs.field(factory=set[int])
    """The indices of conversations with calls that later children answer: their end stays."""
    answering: set[int] = attrs.field(factory=set[int])
    """The indices of conversations with results for earlier calls: their beginning stays."""

    def add(self, index: int, alternative: Node) -> None:
        """Link a child, or one of its alternatives, to the children whose calls it answers."""
        for turn in turns_in(alternative):
            for id in answered_by(turn):
                caller = self.open.pop(id, None)
                if caller is None or caller == index:
                    continue
                if isinstance(self.children[caller].unit, ConversationUnit):
                    self.answered_later.add(caller)
                if isinstance(self.children[index].unit, ConversationUnit):
                    self.answering.add(index)
                later, earlier = self._root(index), self._root(caller)
                if later != earlier:
                    self.parent[later] = earlier
            self.open.update(dict.fromkeys(left_open_by(turn), index))

    def groups(self) -> list[list[int]]:
        """Return the indices of the children that are linked to each other."""
        members: dict[int, list[int]] = {}
        for index in self.parent:
            root = self._root(index)
            members.setdefault(root, [root]).append(index)
        return [sorted(indices) for indices in members.values()]

    def _root(self, index: int) -> int:
        while index in self.parent:
            linked_to = self.parent[index]
            if linked_to in self.parent:
                self.parent[index] = self.parent[linked_to]  # a shorter path for the next search
            index = linked_to
        return index


def link_calls(children: Sequence[TimelineChild]) -> CallLinks:
    """Join units whose children are linked by calls into one unit, and return the links."""
    links = CallLinks(children)
    for index, child in enumerate(children):
        node = child.slot.node
        if not node._mask & (CALL | RESULT) << SHIFT:
            continue
        if not isinstance(node, FirstFitNode):
            links.add(index, node)
            continue
        # Each alternative may answer the earlier calls. After it, the calls of all alternatives are
        # open.
        open_before, unanswered, calls = links.open, dict(links.open), dict[str, int]()
        for alternative in node.content:
            links.open = dict(open_before)
            links.add(index, alternative)
            unanswered = {id: caller for id, caller in unanswered.items() if id in links.open}
            calls |= {id: caller for id, caller in links.open.items() if caller == index}
        links.open = unanswered | calls
    for indices in links.groups():
        _join([children[index] for index in indices])
    return links


def _join(children: Sequence[TimelineChild]) -> None:
    """Join the units of linked children into one unit; if one of them has to stay, all stay."""
    all_units = [child.unit for child in children]
    units = [
        unit for unit in all_units if unit is not None and not isinstance(unit, ConversationUnit)
    ]
    for unit in units:
        if isinstance(unit, Alternatives):
            alike = interchangeable(unit.node.content, unit.all_sizes)
            unit.sizes = smaller_ones(alike) or unit.sizes
    if len(units) < len(children) or any(unit.priority == LAST for unit in units):
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
            unit.is_linked, unit.dropped_with = True, lead
            lead.linked_units.append(unit)
            if isinstance(unit, Alternatives):
                lead.inner.append(unit)  # they shrink before the joined unit is dropped
    lead.priority, lead.covered, lead.sent_at = lowest.priority, lowest.covered, lowest.sent_at
