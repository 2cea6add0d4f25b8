"""Limits: text that is cut to a number of tokens, always, where something in it ends."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from promptdsl.budget.cut_text import Leaves, leaves_of
from promptdsl.budget.dropped import Dropped, in_tokens
from promptdsl.budget.measure_protocol import Measure
from promptdsl.tree.group_nodes import FragmentNode, LimitNode
from promptdsl.tree.masks import HOLLOW, SYSTEM, TURN, bits
from promptdsl.tree.node import Node, make
from promptdsl.tree.rewrite import hollow, rewrite, with_content
from promptdsl.tree.turn_nodes import TurnNode

Cut: TypeAlias = Sequence[tuple[Node | None, Dropped]]
"""For each text that was cut, the node that is left of it and the report of the cut."""

FIRST = 4
"""How many characters a token is taken to be at first."""


def limited(root: Node, measure: Measure) -> tuple[Node, Cut]:
    """Return the tree with the text in every ``Limit`` cut to its tokens, and what was cut.

    The text is cut as it was given, before anything is encoded, and a mark takes the place of the
    missing part.
    """
    if not any(isinstance(node, LimitNode) for node in hollow(root)):
        return root, ()
    dropped: list[tuple[Node | None, Dropped]] = []
    content: list[Any] = []
    for entry in root.content:
        if isinstance(entry, str) or not entry.mask & HOLLOW:
            content.append(entry)
        else:
            content += _cut_in(entry, measure, dropped)
    return with_content(root, tuple(content)), tuple(dropped)


def still_cut(cut: Cut, root: Node) -> tuple[Dropped, ...]:
    """Return the cuts whose text is still in a tree: a budget may have taken another form."""
    if not cut:
        return ()
    there = {id(node) for node in hollow(root)}
    return tuple(dropped for left, dropped in cut if left is None or id(left) in there)


def _cut_in(
    entry: Node, measure: Measure, dropped: list[tuple[Node | None, Dropped]]
) -> list[Node]:
    """Return the nodes in place of a timeline's entry, with its limits kept; none if empty."""
    around = [entry]

    def change(node: Node) -> Node | None:
        if not isinstance(node, LimitNode):
            return node
        held = _Held(node, _context(around[0], node), measure)
        tokens = held.tokens(node)
        if tokens <= node.max_tokens:
            return _opened(node)
        cut = held.cut()
        left = 0 if cut is None else held.tokens(cut)
        why = f"its limit is {in_tokens(node.max_tokens)}"
        opened = None if cut is None else _opened(cut)
        dropped.append((opened, Dropped("text", "", tokens - left, None, why, node.source)))
        return opened

    # A fragment around it, so that the entry itself may be changed, too.
    outer = with_content(make(FragmentNode, mask=HOLLOW), (entry,))
    changed: Any = rewrite(outer, change, within=HOLLOW)
    return [*changed.content]


def _opened(node: Node) -> Node:
    """Return a fragment of what a limit holds."""
    empty = make(FragmentNode, mask=HOLLOW, at=node.at)
    return with_content(empty, node.content)


def _context(entry: Node, limit: LimitNode) -> Node:
    """Return the turn in whose words a limit is measured: its own, or the system text."""
    turn: Any = entry
    while isinstance(turn, FragmentNode) and turn is not limit and turn.content:
        turn = next((part for part in turn.content if not isinstance(part, str)), limit)
    if isinstance(turn, FragmentNode):
        return make(TurnNode, mask=bits(TURN | SYSTEM), role="system", kind="written")
    return turn  # type: ignore[no-any-return]


class _Held:
    """A limit that is too long, and the turn it stands in."""

    def __init__(self, limit: LimitNode, turn: Node, measure: Measure) -> None:
        self.limit = limit
        self.turn = turn
        self.measure = measure
        self.leaves: Leaves = leaves_of(limit)

    def tokens(self, node: Node) -> int:
        """Return the tokens of a node in the place of the limit."""
        alone = with_content(self.turn, (node,))
        return self.measure.turn(alone, {id(node)})[1].get(id(node), 0)

    def cut(self) -> Node | None:
        """Return the limit with as much of its text as fits, ``None`` for nothing."""
        most, keep = self.limit.max_tokens, self.limit.keep
        head = tail = 0
        if keep != "tail":
            head = self._head(most if keep == "head" else most // 2)
        if keep != "head":
            tail = self._tail(head, most)
        cut = self.leaves.kept(head, tail)
        return cut if cut is not None and self.tokens(cut) <= most else None

    def _head(self, most: int) -> int:
        size = self._longest(lambda size: (size, 0), self.leaves.size, most)
        for place in self.leaves.ends_before(size):
            if self._fits((place, 0), most):
                return place
        return size

    def _tail(self, head: int, most: int) -> int:
        left = self.leaves.size - head
        size = self._longest(lambda size: (head, size), left, most)
        for place in self.leaves.starts_after(self.leaves.size - size):
            if self._fits((head, self.leaves.size - place), most):
                return self.leaves.size - place
        return size

    def _fits(self, ends: tuple[int, int], most: int) -> bool:
        cut = self.leaves.kept(*ends)
        return cut is None or self.tokens(cut) <= most

    def _longest(self, ends: Callable[[int], tuple[int, int]], whole: int, most: int) -> int:
        """Return the most characters that are found to fit."""
        fits, size = 0, min(whole, most * FIRST)
        while size < whole and self._fits(ends(size), most):
            fits, size = size, min(whole, size * 2)
        over = size
        while over - fits > 1:
            size = (fits + over) // 2
            if self._fits(ends(size), most):
                fits = size
            else:
                over = size
        return fits
