"""The parts that a budget dropped, cut or cleared, at the locations where they were written.

Reports call ``placed_parts`` and ``with_dropped``. Views call ``uncounted_dropped`` or
``located_dropped``.
"""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from types import CodeType

import attrs

from promptdsl.budget.dropped import Dropped
from promptdsl.messages.message import Message
from promptdsl.rendering.reports.cards import DroppedCard
from promptdsl.rendering.reports.report_input import ReportInput, dropped_by_pairing
from promptdsl.rendering.reports.token_parts import Ledger, TokenPart
from promptdsl.tokens import Count, Tokens
from promptdsl.tokens.count import EXACT
from promptdsl.tree.node import Node, walk
from promptdsl.tree.turn_nodes import ConversationNode, RecordedNode, RootNode, ToolNode

# The written locations of dropped parts: where they were among the parts of the request.
#
# A dropped part is in the tree that its author wrote, but not in the tree that is sent. Nodes that
# did not change are the same objects in both trees. A node with other content is a copy with the
# same line and the same options. A run of a history has some of the same messages.


def nested(depths: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return, for each item of a tree, the index of its parent (-1 for none), and of its end.

    ``depths`` are the depths of the items in document order. The end is the index after the last
    item of a subtree.
    """
    parents: list[int] = []
    ends = [len(depths)] * len(depths)
    open_items: list[int] = []
    for index, depth in enumerate(depths):
        while open_items and depths[open_items[-1]] >= depth:
            ends[open_items.pop()] = index
        parents.append(open_items[-1] if open_items else -1)
        open_items.append(index)
    return parents, ends


class WrittenTree:
    """The nodes of a tree in written order, each with the index of its parent and of its end."""

    def __init__(self, root: RootNode) -> None:
        self.nodes, depths = map(list, zip(*walk(root), strict=True))
        self.parents, self.ends = nested(depths)
        self.indices = {id(node): index for index, node in enumerate(self.nodes)}

    @cached_property
    def _copies(self) -> dict[Hashable, int]:
        """The index of the first node with each key."""
        backwards = range(len(self.nodes) - 1, -1, -1)
        return {key_of(self.nodes[index]): index for index in backwards}

    def find(self, part: Dropped) -> int | None:
        """Return the index of the node that was dropped or cut, ``None`` if none is like it."""
        nodes = [node for node in part.gone if isinstance(node, Node)]
        for node in nodes:
            if id(node) in self.indices:
                return self.indices[id(node)]
        for node in nodes:
            if key_of(node) in self._copies:
                return self._copies[key_of(node)]
        if part.what != "history":
            return None
        histories = (n for n, node in enumerate(self.nodes) if isinstance(node, ConversationNode))
        return next((n for n in histories if self.nodes[n].source == part.source), None)

    def messages(self, index: int) -> list[tuple[int, Message]]:
        """Return the messages of a history, each with its position in it."""
        runs = self.nodes[index : self.ends[index]]
        return [
            (position, message)
            for run in runs
            if isinstance(run, RecordedNode)
            for position, message in enumerate(run.items, run.start)
        ]


def key_of(node: Node) -> Hashable:
    """Return a key that a node and its copies have in common: line and options.

    After pickling, the trees of a result have equal lines, and still share their options.
    """
    code = node._code
    code_key = id(code) if isinstance(code, CodeType) else code
    return code_key, node._offset, id(node.options)


def in_written_order(dropped: tuple[Dropped, ...], written_tree: RootNode) -> tuple[Dropped, ...]:
    """Return dropped parts in the order in which they were written.

    Parts without a known location are last.
    """
    if len(dropped) < 2:
        return dropped
    tree = WrittenTree(written_tree)
    indices = {id(part): tree.find(part) for part in dropped}
    count = len(tree.nodes)

    def order(part: Dropped) -> int:
        index = indices[id(part)]
        return count if index is None else index

    return tuple(sorted(dropped, key=order))


@attrs.frozen
class PlacedPart:
    """A dropped part, and where it was among the parts that are sent.

    ``index`` is the number of parts before it, ``depth`` its depth. ``at`` is the index of the
    message in which or before which it was written, ``None`` if that is not known. If it is of a
    history, ``range`` are the positions of the first and last message that are not sent, or not
    sent unchanged.
    """

    dropped: Dropped
    index: int
    depth: int
    at: int | None
    range: tuple[int, int] | None


def placed_parts(
    dropped: Sequence[Dropped],
    parts: Sequence[TokenPart],
    nodes: Sequence[tuple[object, int]],
    *,
    written_tree: RootNode,
    fitted_tree: RootNode,
) -> list[PlacedPart]:
    """Return where dropped parts were among the parts of a request.

    ``nodes`` are the nodes that wrote the parts, each with the index of its part. ``written_tree``
    is the tree before parts were dropped, ``fitted_tree`` the tree after it.
    """
    if not dropped:
        return []
    tree = WrittenTree(written_tree)
    indices = [tree.find(part) for part in dropped]
    sent_nodes = _SentNodes(tree, parts, nodes)
    part_by_node = _parts_of(tree, sent_nodes, {index for index in indices if index is not None})
    locator = _Locator(tree, parts, part_by_node)
    sent_ids = {
        id(message)
        for run, _ in walk(fitted_tree)
        if isinstance(run, RecordedNode)
        for message in run.items
    }
    located: list[PlacedPart] = []
    for part, index in zip(dropped, indices, strict=True):
        if index is None:
            located.append(PlacedPart(part, len(parts), 0, None, None))
            continue
        after, depth = locator.location(index)
        positions = _unsent_positions(part, tree, index, sent_ids) if part.what == "history" else []
        span = (min(positions), max(positions)) if positions else None
        located.append(PlacedPart(part, after, depth, locator.message(after, depth), span))
    return located


def with_dropped(parts: Sequence[TokenPart], located: Iterable[PlacedPart]) -> Iterator[TokenPart]:
    """Yield the parts, and among them each dropped part where it was written."""
    before: dict[int, list[TokenPart]] = defaultdict(list)
    for location in located:
        part = location.dropped
        rest = (part.source, None, part.why)
        before[location.index].append(
            TokenPart(location.depth, part.what, part.path, part.tokens, *rest)
        )
    for index in range(len(parts) + 1):
        # A deeper part comes first, because it was in the part before this location.
        yield from sorted(before[index], key=lambda part: -part.depth)
        yield from parts[index : index + 1]


def _unsent_positions(
    dropped: Dropped, tree: WrittenTree, index: int, sent_ids: set[int]
) -> list[int]:
    """Return the positions of the messages of a history that are not sent."""
    dropped_ids = {id(item) for item in dropped.gone if isinstance(item, Message)}
    messages = tree.messages(index)
    if dropped_ids:
        return [position for position, message in messages if id(message) in dropped_ids]
    return [position for position, message in messages if id(message) not in sent_ids]


def first_messages(parts: Sequence[TokenPart]) -> list[int]:
    """Return, for each part, the index of the first message from there on.

    The last item is the number of messages.
    """
    firsts = [max((part.message[1] + 1 for part in parts if part.message), default=0)]
    for part in reversed(parts):
        firsts.append(firsts[-1] if part.message is None else part.message[0])
    return firsts[::-1]


class _SentNodes:
    """The nodes that are sent: those that were written, and copies of them."""

    def __init__(
        self, tree: WrittenTree, parts: Sequence[TokenPart], nodes: Sequence[tuple[object, int]]
    ) -> None:
        self.part_by_id = {id(node): part for node, part in nodes}
        self.messages: dict[int, int] = {}
        self.copies: dict[Hashable, deque[int]] = defaultdict(deque)
        _, ends = nested([part.depth for part in parts])
        for node, part in nodes:
            if isinstance(node, RecordedNode):
                self.messages |= {id(message): part for message in node.items}
            elif isinstance(node, Node) and id(node) not in tree.indices:
                copies = self.copies[key_of(node)]
                # Nested nodes may have the line of one written node: then the outer is its copy.
                if not copies or not copies[-1] < part < ends[copies[-1]]:
                    copies.append(part)

    def part_of(self, node: Node) -> int | None:
        """Return the index of the part of a written node, ``None`` if it is not sent."""
        if isinstance(node, RecordedNode):
            indices = (self.messages.get(id(message)) for message in node.items)
            return next((index for index in indices if index is not None), None)
        if isinstance(node, ToolNode):
            return self.part_by_id.get(id(node.definition))
        if id(node) in self.part_by_id or isinstance(node, ConversationNode):
            return self.part_by_id.get(id(node))
        copies = self.copies.get(key_of(node))
        return copies.popleft() if copies else None


def _parts_of(tree: WrittenTree, sent_nodes: _SentNodes, dropped: set[int]) -> dict[int, int]:
    """Return the indices of parts by the indices of the written nodes that they belong to."""
    parts: dict[int, int] = {}
    end = 0
    for index, node in enumerate(tree.nodes):
        if index in dropped and not isinstance(node, ConversationNode):
            end = max(end, tree.ends[index])
        # In a dropped node, only the same objects can be sent: the rest of a text that was cut.
        part = sent_nodes.part_of(node) if index >= end else sent_nodes.part_by_id.get(id(node))
        if part is not None:
            parts[index] = part
    return parts


class _Locator:
    """The locations of written nodes among the parts that are sent.

    ``part_by_node`` has the index of a part by the index of its written node.
    """

    def __init__(
        self, tree: WrittenTree, parts: Sequence[TokenPart], part_by_node: dict[int, int]
    ) -> None:
        self.tree, self.parts, self.part_by_node = tree, parts, part_by_node
        self.outer, self.ends = nested([part.depth for part in parts])
        # For each index of a node: the last node before it with a part, and the first from it on.
        count = len(tree.nodes)
        self.before = [-1]
        for index in range(count):
            self.before.append(index if index in part_by_node else self.before[-1])
        self.after = [count]
        for index in range(count - 1, -1, -1):
            self.after.append(index if index in part_by_node else self.after[-1])
        self.after.reverse()
        self.firsts = first_messages(parts)
        in_messages = (part_index for part_index, part in enumerate(parts, 1) if part.message)
        self.last_in_message = max(in_messages, default=0)

    def location(self, index: int) -> tuple[int, int]:
        """Return the number of parts before a node, and its depth."""
        inner_node = self.after[index]
        if inner_node < self.tree.ends[index]:
            # The rest of the node is sent. A part that was cut out of a history belongs in it.
            part_index = self.part_by_node[inner_node]
            is_history = self.parts[part_index].what == "history"  # true counts as 1
            return part_index + is_history, self.parts[part_index].depth + is_history
        parent = self.tree.parents[index]
        before = self.before[index]
        if before > parent:  # a sibling before the node is sent: the node was after it
            outer = self._outermost(before, parent)
            return self.ends[outer], self.parts[outer].depth
        if parent in self.part_by_node:  # the node was the first in its parent
            enclosing = self.part_by_node[parent]
            return enclosing + 1, self.parts[enclosing].depth + 1
        after = self.after[self.tree.ends[index]]
        if after < self.tree.ends[max(parent, 0)]:  # a sibling after the node is sent
            return self.part_by_node[after], self.parts[self.part_by_node[after]].depth
        return self.location(parent) if parent > 0 else (self.last_in_message, 0)

    def message(self, index: int, depth: int) -> int:
        """Return the index of the message in which or before which a location is."""
        enclosing = index - 1
        while enclosing >= 0 and self.parts[enclosing].depth >= depth:
            enclosing = self.outer[enclosing]
        span = self.parts[enclosing].message if enclosing >= 0 else None
        return span[0] if span and span[0] == span[1] else self.firsts[index]

    def _outermost(self, index: int, parent: int) -> int:
        """Return the part of the outermost node around a node, below a parent."""
        outer = self.part_by_node[index]
        while index != parent:
            outer = self.part_by_node.get(index, outer)
            index = self.tree.parents[index]
        return outer


# Dropped parts for views: in or before the message where their author wrote them.


class _NoTokens(Tokens):
    """A counter that counts nothing, if only the order of the parts is needed."""

    @property
    def label(self) -> str:
        return EXACT

    def count(self, text: str, /) -> Count:
        return Count(0, EXACT)

    def of(self, text: str, /) -> int:
        return 0


def uncounted_dropped(
    report_input: ReportInput, dropped: Sequence[Dropped]
) -> tuple[DroppedCard, ...]:
    """Return what a budget dropped and pairing removed, with locations; nothing is counted."""
    report_input = attrs.evolve(report_input, tokens=_NoTokens())
    stages, count = report_input.stages, len(dropped)
    if stages["place"] is not stages["pair"]:
        dropped = (*dropped, *dropped_by_pairing(stages["place"], report_input))
    ledger = Ledger(report_input, [0] * len(report_input.messages))
    ledger.add_messages()
    trees = {"written_tree": stages["read"], "fitted_tree": stages["fit"]}
    located = placed_parts(dropped, ledger.parts, ledger.nodes, **trees)
    cards = located_dropped(dropped, [""] * len(dropped), [*with_dropped(ledger.parts, located)])
    # Only what the budget dropped has been counted.
    return (*cards[:count], *(attrs.evolve(card, tokens=None) for card in cards[count:]))


def located_dropped(
    dropped: Iterable[Dropped], texts: Iterable[str], parts: Sequence[TokenPart]
) -> list[DroppedCard]:
    """Return dropped parts with their texts, each with its location among the messages.

    A part without a known location is after all messages.
    """
    locations: dict[object, deque[tuple[int, bool]]] = defaultdict(deque)
    for row, message, is_inside in _locations(parts):
        key = row.what, row.path, row.tokens, row.dropped, row.source
        locations[key].append((message, is_inside))
    message_count = first_messages(parts)[-1]
    cards: list[DroppedCard] = []
    for part, text in zip(dropped, texts, strict=True):
        part_locations = locations[part.what, part.path, part.tokens, part.why, part.source]
        message, is_inside = part_locations.popleft() if part_locations else (message_count, False)
        cards.append(DroppedCard(part, text, part.tokens, message, is_inside=is_inside))
    return cards


def _locations(parts: Sequence[TokenPart]) -> Iterator[tuple[TokenPart, int, bool]]:
    """Yield each dropped part, the index of its message, and whether the part was in it.

    If it was not in the message, it was before it.
    """
    following = first_messages(parts)
    enclosing: list[TokenPart] = []
    for index, part in enumerate(parts):
        while enclosing and enclosing[-1].depth >= part.depth:
            enclosing.pop()
        if part.dropped is None:
            enclosing.append(part)
            continue
        message = enclosing[0].message if enclosing else None
        if message is None or enclosing[0].what == "history":
            yield part, following[index], False
        else:
            yield part, message[0], True
