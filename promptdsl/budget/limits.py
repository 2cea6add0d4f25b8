"""Limits: texts that are always cut to a size, after a sentence or a word if possible."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from promptdsl.budget.cut_text import Leaves
from promptdsl.budget.dropped import Dropped, in_tokens
from promptdsl.budget.measure_protocol import Measure
from promptdsl.tree.group_nodes import FragmentNode, LimitNode
from promptdsl.tree.masks import OPAQUE, SYSTEM, TURN, bits
from promptdsl.tree.node import Child, Node, make
from promptdsl.tree.rewrite import edits_results, opaque, rewrite, with_content
from promptdsl.tree.turn_nodes import RootNode, TurnNode

LimitCuts: TypeAlias = Sequence[tuple[Node | None, Dropped]]
"""For each text that was cut, the node that is left of it and the report of the cut."""

CHARACTERS_PER_TOKEN = 4
"""The first guess of the characters in a token."""


def limited(root: RootNode, measuring: Callable[[], Measure]) -> tuple[RootNode, LimitCuts]:
    """Return the tree with the raw text of each ``Limit`` cut to its size, and the cuts.

    The results of histories are cut and cleared, too. Only the cleared ones are among the cuts.
    """
    nodes = opaque(root)
    cuts: list[tuple[Node | None, Dropped]] = []
    if any(map(edits_results, nodes)):
        from promptdsl.budget.recorded_results import capped_histories, cleared_histories

        root, cuts = cleared_histories(capped_histories(root, measuring()), measuring())
    if not any(isinstance(node, LimitNode) for node in nodes):
        return root, tuple(cuts)
    turns: set[int] = set()
    waiting: list[Child] = [*root.content]
    while waiting:
        part = waiting.pop()
        if isinstance(part, FragmentNode) and not isinstance(part, LimitNode):
            waiting += part.content
        else:
            turns.add(id(part))

    def limit_turn(node: Node) -> Node | None:
        return _limited_turn(node, measuring(), cuts) if id(node) in turns else node

    # A section may be a turn of its own and a part of another turn: turns are not walked into.
    return rewrite(root, limit_turn, within=OPAQUE, kept=turns), tuple(cuts)


def still_cut(cuts: LimitCuts, root: Node) -> tuple[Dropped, ...]:
    """Return the cuts whose text is still in a tree: a budget may have dropped some."""
    if not cuts:
        return ()
    ids = {id(node) for node in opaque(root)}
    return tuple(dropped for left, dropped in cuts if left is None or id(left) in ids)


def _limited_turn(
    turn: Node, measure: Measure, cuts: list[tuple[Node | None, Dropped]]
) -> Node | None:
    """Return a turn, or text outside of turns, with its limits applied; ``None`` for nothing."""

    def change(node: Node) -> Node | None:
        if not isinstance(node, LimitNode):
            return node
        unit, reason = measure, f"its limit is {in_tokens(node.most)}"
        if node.unit != "tokens":
            unit, reason = measure.in_characters, f"its limit is {node.most:,} characters"
        cutter, counter = _LimitCutter(node, turn, unit), _LimitCutter(node, turn, measure)
        if cutter.size(node) <= node.most:
            return _fragment_of(node)
        kept, fragment, saved = cutter.cut(), None, counter.size(node)
        if kept is not None:
            fragment, saved = _fragment_of(kept), saved - counter.size(kept)
        dropped = Dropped("text", "", saved, None, reason, node.source, gone=(node,))
        cuts.append((fragment, dropped))
        return fragment

    # In a fragment, so that text outside of turns may be replaced, too.
    outer = with_content(make(FragmentNode, mask=OPAQUE), (turn,))
    content = rewrite(outer, change, within=OPAQUE).content
    return next((child for child in content if not isinstance(child, str)), None)


def _fragment_of(limit: Node) -> Node:
    """Return a fragment with the content of a limit; a limit in a limit adds no level."""
    first = limit.content[0] if len(limit.content) == 1 else None
    if isinstance(first, FragmentNode) and first._node is FragmentNode:
        return first
    return with_content(make(FragmentNode, mask=OPAQUE, at=limit._at), limit.content)


class _LimitCutter:
    """Cuts the text of a limit, measured inside the turn that the limit is in."""

    def __init__(self, limit: LimitNode, turn: Node, measure: Measure) -> None:
        self.limit = limit
        self.measure = measure
        self.leaves = Leaves.of(limit)
        if isinstance(turn, FragmentNode):  # text outside of turns is system text
            turn = make(TurnNode, mask=bits(TURN | SYSTEM), role="system", kind="written")
        self.turn = turn

    def size(self, node: Node) -> int:
        """Return the tokens or characters of a node in place of the limit."""
        alone = with_content(self.turn, (node,))
        return self.measure.turn(alone, {id(node)})[1].get(id(node), 0)

    def cut(self) -> Node | None:
        """Return the limit with as much of its text as fits, ``None`` for nothing."""
        leaves, most, keep = self.leaves, self.limit.most, self.limit.keep
        head = tail = 0
        if keep != "tail":
            room = most if keep == "head" else most // 2
            size = self._longest(lambda size: (size, 0), leaves.size, room)
            ends = (end for end in leaves.ends_before(size) if self._fits(end, 0, room))
            head = next(ends, size)
        if keep != "head":
            size = self._longest(lambda size: (head, size), leaves.size - head, most)
            tails = (leaves.size - start for start in leaves.starts_after(leaves.size - size))
            tail = next((count for count in tails if self._fits(head, count, most)), size)
        cut = leaves.kept(head, tail)
        return None if self.size(cut) > most else cut

    def _fits(self, head: int, tail: int, most: int) -> bool:
        return self.size(self.leaves.kept(head, tail)) <= most

    def _longest(self, ends: Callable[[int], tuple[int, int]], length: int, most: int) -> int:
        """Return how many of ``length`` characters fit at most, found by doubling and bisection.

        ``ends`` returns the sizes of head and tail for a number of characters.
        """
        fits, size = 0, min(length, most * CHARACTERS_PER_TOKEN)
        while size < length and self._fits(*ends(size), most):
            fits, size = size, min(length, size * 2)
        over = size
        while over - fits > 1:
            size = (fits + over) // 2
            if self._fits(*ends(size), most):
                fits = size
            else:
                over = size
        return fits
