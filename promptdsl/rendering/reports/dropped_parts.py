"""The parts that a budget dropped, cut or cleared, as a report and the views show them."""

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

# The written locations of dropped parts: where they stood in the prompt, among the parts it has.
#
# A part that was dropped is in the tree as its author wrote it, not in the tree that is sent. Nodes
# that did not change are the same objects in both trees. A copy with other content has the same
# line and the same options; a run of a history has some of the same messages.


def nested(depths: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return for each item of a tree the index of its parent, -1 for none, and its end.

    ``depths`` are those of the items in document order.
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
        """The first node with each key, by index."""
        backwards = range(len(self.nodes) - 1, -1, -1)
        return {key_of(self.nodes[index]): index for index in backwards}

    def find(self, part: Dropped) -> int | None:
        """Return the index of the node that was dropped or cut, ``None`` if it is not known."""
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
        """Return the messages of a history with their numbers in it."""
        runs = self.nodes[index : self.ends[index]]
        return [
            (position, message)
            for run in runs
            if isinstance(run, RecordedNode)
            for position, message in enumerate(run.items, run.start)
        ]


def key_of(node: Node) -> Hashable:
    """Return what a node has in common with its copies: its line and its options.

    The trees of a result that was pickled have equal sources, and still the same options.
    """
    code = node._code
    code_key = id(code) if isinstance(code, CodeType) else code
    return code_key, node._offset, id(node.options)


def in_written_order(dropped: tuple[Dropped, ...], written_tree: RootNode) -> tuple[Dropped, ...]:
    """Return dropped parts in the order in which they were written, those not known last."""
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
    """A dropped part among the parts: after how many of them, at which depth.

    ``at`` is the message before which it stood, or in which; ``None`` if that is not known.
    ``range`` are the numbers of the first and the last message of a history that are not sent, or
    not as they were.
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
    """Return where dropped parts stood among the parts of a request, which ``nodes`` wrote.

    ``nodes`` have the index of the part of each. ``written`` is the tree before parts were dropped,
    ``fitted`` the one after.
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
    """Yield the parts, and each dropped part where it stood."""
    before: dict[int, list[TokenPart]] = defaultdict(list)
    for location in located:
        part = location.dropped
        rest = (part.source, None, part.why)
        before[location.index].append(
            TokenPart(location.depth, part.what, part.path, part.tokens, *rest)
        )
    for index in range(len(parts) + 1):
        # A deeper part comes first: it was in a part before it, not in a dropped part.
        yield from sorted(before[index], key=lambda part: -part.depth)
        yield from parts[index : index + 1]


def _unsent_positions(
    dropped: Dropped, tree: WrittenTree, index: int, sent_ids: set[int]
) -> list[int]:
    """Return the numbers of the messages of a history that are gone."""
    dropped_ids = {id(item) for item in dropped.gone if isinstance(item, Message)}
    messages = tree.messages(index)
    if dropped_ids:
        return [position for position, message in messages if id(message) in dropped_ids]
    return [position for position, message in messages if id(message) not in sent_ids]


def first_messages(parts: Sequence[TokenPart]) -> list[int]:
    """Return the first message from each part on, and at last the number of messages."""
    firsts = [max((part.message[1] + 1 for part in parts if part.message), default=0)]
    for part in reversed(parts):
        firsts.append(firsts[-1] if part.message is None else part.message[0])
    return firsts[::-1]


class _SentNodes:
    """The nodes that are sent, by what they have in common with the written ones."""

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
                # If nodes in each other have the line of one written node, the outer is its copy.
                if not copies or not copies[-1] < part < ends[copies[-1]]:
                    copies.append(part)

    def part_of(self, node: Node) -> int | None:
        """Return the index of the part of a written node, ``None`` if it has none."""
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
    """Return the part of each written node that has one, by index."""
    parts: dict[int, int] = {}
    end = 0
    for index, node in enumerate(tree.nodes):
        if index in dropped and not isinstance(node, ConversationNode):
            end = max(end, tree.ends[index])
        # In a dropped node, only what is the same object is sent: the rest of a text that was cut.
        part = sent_nodes.part_of(node) if index >= end else sent_nodes.part_by_id.get(id(node))
        if part is not None:
            parts[index] = part
    return parts


class _Locator:
    """The locations of written nodes among parts; ``known`` has the part of a node by index."""

    def __init__(
        self, tree: WrittenTree, parts: Sequence[TokenPart], part_by_node: dict[int, int]
    ) -> None:
        self.tree, self.parts, self.part_by_node = tree, parts, part_by_node
        self.outer, self.ends = nested([part.depth for part in parts])
        # By the index of a node: the last node before it that has a part, and the first from it on.
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
        """Return after how many parts a node stood, and at which depth."""
        inner_node = self.after[index]
        if inner_node < self.tree.ends[index]:
            # The rest of it is sent. What is cut of a history stands in it.
            part_index = self.part_by_node[inner_node]
            is_history = self.parts[part_index].what == "history"
            return part_index + is_history, self.parts[part_index].depth + is_history
        parent = self.tree.parents[index]
        before = self.before[index]
        if before > parent:
            outer = self._outermost(before, parent)
            return self.ends[outer], self.parts[outer].depth
        if parent in self.part_by_node:
            enclosing = self.part_by_node[parent]
            return enclosing + 1, self.parts[enclosing].depth + 1
        after = self.after[self.tree.ends[index]]
        if after < self.tree.ends[max(parent, 0)]:
            return self.part_by_node[after], self.parts[self.part_by_node[after]].depth
        return self.location(parent) if parent > 0 else (self.last_in_message, 0)

    def message(self, index: int, depth: int) -> int:
        """Return the message in which or before which a location is."""
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


# Dropped parts as views show them: in or before the message where their author wrote them.


class _NoTokens(Tokens):
    """A counter that counts nothing, for the order of parts alone."""

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
    """Return what a budget dropped and pairing removed, at its location; nothing is counted."""
    report_input = attrs.evolve(report_input, tokens=_NoTokens())
    stages, count = report_input.stages, len(dropped)
    if stages["place"] is not stages["pair"]:
        dropped = (*dropped, *dropped_by_pairing(stages["place"], report_input))
    ledger = Ledger(report_input, [0] * len(report_input.messages))
    ledger.add_messages()
    trees = {"written_tree": stages["read"], "fitted_tree": stages["fit"]}
    located = placed_parts(dropped, ledger.parts, ledger.nodes, **trees)
    cards = located_dropped(dropped, [""] * len(dropped), [*with_dropped(ledger.parts, located)])
    # The budget has counted what it dropped.
    return (*cards[:count], *(attrs.evolve(card, tokens=None) for card in cards[count:]))


def located_dropped(
    dropped: Iterable[Dropped], texts: Iterable[str], parts: Sequence[TokenPart]
) -> list[DroppedCard]:
    """Return dropped parts with their texts, each at its location among the parts of a request.

    Those that stand in no part are the last ones, after all messages.
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
    """Yield each dropped part with the message that it stood in or before, and whether in it."""
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
