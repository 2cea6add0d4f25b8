"""Pieces of text, which the layout of a prompt consists of; a report splits them into runs."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

from promptdsl.foundation.labelled import Labelled
from promptdsl.messages import Block
from promptdsl.tree.node import Node, walk
from promptdsl.tree.part_nodes import ValueNode, VolatileNode

SpanKind: TypeAlias = Literal["section", "value", "volatile", "author", "conversation"]
"""The kind of a piece of output: text of the library around parts, or a kind of text in them."""


class TextRun(NamedTuple):
    """Characters of a text that have one kind: their number, the kind, and a label.

    A run begins at the end of the one before it. ``node`` is the value, if it has its own line.
    """

    length: int
    kind: SpanKind
    label: str | None = None
    node: ValueNode | None = None


PieceKind: TypeAlias = "SpanKind | Literal['gap'] | Callable[[], Sequence[TextRun]]"
"""The kind of a piece: one kind, a gap between two parts, or a function that returns its runs."""


NotedTurn: TypeAlias = "tuple[int, Node, str, int, tuple[Block, ...] | None, int, int]"
"""A turn that was written. A plain tuple takes less time than one with names. Its fields are:

``(entry, node, head, index, blocks, first_block, first_node)``

``entry`` is the number of its timeline entry, ``head`` and ``index`` are its address (``user`` and
0, or the complete address and -1). ``blocks`` is ``None`` if they are those of its message.
``first_block`` and ``first_node`` are the numbers of blocks and of nodes before it."""


class Layout(NamedTuple):
    """The pieces, nodes and turns that were written of a prompt, in order.

    A piece is a text, or a block other than text, whose text is empty. ``lengths``, ``kinds`` and
    ``node_numbers`` have one item for each piece: the number of its characters, its kind, and the
    number of the node that wrote it (-1 for its turn).
    ``nodes``, ``around`` and ``starts`` have one item for each node in a turn: the node, the number
    of the node around it (-1 for its turn), and the number of pieces before it.
    """

    lengths: list[int]
    kinds: list[PieceKind]
    node_numbers: list[int]
    nodes: list[Node]
    around: list[int]
    starts: list[int]
    ends: list[int]
    """The number of pieces up to the end of each block."""
    cache_marks: dict[int, int]
    """The node that put a cache mark after a block, by the number of the block."""
    results: dict[int, int]
    """The number of blocks before the first one in a tool result, by the number of the result."""
    turns: list[NotedTurn]
    """The turns, without those of one string or one call."""
    alone: dict[int, Node]
    """The only node of a turn of one text or one call, by the number of its timeline entry."""
    entries: list[int]
    """The number of messages up to the end of each timeline entry."""


def address_of(head: str, index: int) -> str:
    """Return an address of its head and its index, which is -1 for none."""
    return head if index < 0 else f"{head}[{index}]"


def runs_of(length: int, kind: PieceKind) -> Sequence[TextRun]:
    """Return the runs of a piece of ``length`` characters; a gap is text of the library."""
    if callable(kind):
        runs = [run for run in kind() if run.length or run.kind == "volatile"]
        return runs or [TextRun(length, "author")]
    return [TextRun(length, "section" if kind == "gap" else kind)]


def value_run(length: int, value: object) -> TextRun:
    """Return the run of a value that was encoded as ``length`` characters."""
    if isinstance(value, VolatileNode):
        return TextRun(length, "volatile", value.label, value)
    if isinstance(value, ValueNode):
        return TextRun(length, "value", value.label, value)
    if isinstance(value, Labelled) and value.label is not None:
        return TextRun(length, "volatile", value.label)
    return TextRun(length, "value")


def inserted(text: str, values: Iterable[tuple[str, object]], after: str = "") -> list[TextRun]:
    """Return the runs of a text with encoded values in it, each directly after ``after``.

    A value that is not in the text is left out.
    """
    runs: list[TextRun] = []
    end = 0
    for encoded, value in values:
        start = text.find(after + encoded, end)
        if start >= 0:
            start += len(after)
            runs += (TextRun(start - end, "section"), value_run(len(encoded), value))
            end = start + len(encoded)
    return [*runs, TextRun(len(text) - end, "section")]


def guarded(runs: Iterable[TextRun], before: str, after: str) -> list[TextRun]:
    """Return the runs of the text ``after``: ``before`` with references for some characters.

    ``runs`` are those of ``before``.
    """
    if before == after:
        return [*runs]
    changed: list[TextRun] = []
    start = end = 0
    for run in runs:
        first = end
        for character in before[start : start + run.length]:
            end = end + 1 if after[end] == character else after.index(";", end) + 1
        start += run.length
        changed.append(run._replace(length=end - first))
    return changed


# A layout that is pickled or copied: its nodes are those of the tree that is copied with it.


Packed: TypeAlias = tuple[Layout, list[int], list[tuple[Any, ...]], dict[int, int]]  # Any: a turn
"""A layout without nodes; the numbers of its nodes, its turns, and the only nodes of others."""


def packed(layout: Layout, tree: Node) -> Packed:
    """Return a layout with the numbers of nodes in a tree for nodes, and runs for functions."""
    numbers = {id(node): number for number, (node, _) in enumerate(walk(tree))}
    kinds = [_packed_kind(kind) for kind in layout.kinds]
    nodes = [numbers[id(node)] for node in layout.nodes]
    turns = [(entry, numbers[id(node)], *others) for entry, node, *others in layout.turns]
    alone = {entry: numbers[id(node)] for entry, node in layout.alone.items()}
    return layout._replace(kinds=kinds, nodes=[], turns=[], alone={}), nodes, turns, alone


def _packed_kind(kind: PieceKind) -> PieceKind:
    return partial(list[TextRun], kind()) if callable(kind) else kind


def unpacked(parts: Packed, tree: Node) -> Layout:
    """Return the layout that was packed with a tree like this one."""
    layout, numbers, turns, alone = parts
    nodes = [node for node, _ in walk(tree)]
    return layout._replace(
        nodes=[nodes[number] for number in numbers],
        turns=[(turn[0], nodes[turn[1]], *turn[2:]) for turn in turns],
        alone={entry: nodes[number] for entry, number in alone.items()},
    )
