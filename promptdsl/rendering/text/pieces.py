"""Pieces of text: the layout of a prompt has them, and each is split into runs when it is asked."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from promptdsl.foundation.labelled import Labelled
from promptdsl.messages import Block
from promptdsl.tree.node import Node
from promptdsl.tree.part_nodes import ValueNode, VolatileNode

SpanKind: TypeAlias = Literal["section", "value", "volatile", "author", "conversation"]
"""The kind of a piece of output: text of the library around parts, or a kind of text in them."""


class TextRun(NamedTuple):
    """Characters of a text that are one thing: their number, what they are, and their label.

    A run begins where the one before it ends. ``node`` is its value, if that has a line of its own.
    """

    length: int
    kind: SpanKind
    label: str | None = None
    node: ValueNode | None = None


PieceKind: TypeAlias = "SpanKind | Literal['gap'] | Callable[[], Sequence[TextRun]]"
"""What a piece is: one kind, a gap between two parts, or a function that returns its runs."""


NotedTurn: TypeAlias = "tuple[int, Node, str, int, tuple[Block, ...] | None, int, int]"
"""A turn that was written: the number of its entry in the timeline, its node, the head and the
number of its address, its blocks, and the number of blocks and of nodes before it. The blocks are
``None`` for those of its message."""


class Layout(NamedTuple):
    """What was written of a prompt, in order.

    A piece is a text, or a block other than text, which has an empty one. ``texts``, ``kinds`` and
    ``writers`` have one item for each piece: the number of the node that wrote it, -1 for its turn.
    ``nodes``, ``around`` and ``starts`` have one item for each node in a turn: the number of the
    node around it (-1 for its turn), and the number of pieces before it.
    """

    texts: list[str]
    kinds: list[PieceKind]
    writers: list[int]
    nodes: list[Node]
    around: list[int]
    starts: list[int]
    ends: list[int]
    """The number of pieces up to the end of each block."""
    marks: dict[int, int]
    """The node that put a cache mark after a block, by the number of the block."""
    results: dict[int, int]
    """The number of blocks before the first one in a tool result, by the number of the result."""
    turns: list[NotedTurn]
    """The turns, but for those of one string or one call."""
    alone: dict[int, Node]
    """The only node of such a turn, by the number of its entry in the timeline."""
    entries: list[int]
    """The number of messages up to the end of each entry of the timeline."""


def runs_of(text: str, kind: PieceKind) -> Sequence[TextRun]:
    """Return the runs of a piece, of which a gap is text of the library."""
    if callable(kind):
        runs = [run for run in kind() if run.length or run.kind == "volatile"]
        return runs or [TextRun(len(text), "author")]
    return [TextRun(len(text), "section" if kind == "gap" else kind)]


def value_run(text: str, value: object) -> TextRun:
    """Return the run of a value, encoded as ``text``, which may have a label."""
    node = value if isinstance(value, ValueNode) else None
    label = node.label if node else value.label if isinstance(value, Labelled) else None
    is_volatile = isinstance(value, VolatileNode) or (label is not None and node is None)
    return TextRun(len(text), "volatile" if is_volatile else "value", label, node)


def inserted(text: str, values: Iterable[tuple[str, object]], after: str = "") -> list[TextRun]:
    """Return the runs of a text with encoded values in it, each directly after ``after``.

    A value that is not there is left out.
    """
    runs: list[TextRun] = []
    end = 0
    for encoded, value in values:
        start = text.find(after + encoded, end)
        if start >= 0:
            start += len(after)
            runs += (TextRun(start - end, "section"), value_run(encoded, value))
            end = start + len(encoded)
    return [*runs, TextRun(len(text) - end, "section")]


def guarded(runs: Iterable[TextRun], before: str, after: str) -> list[TextRun]:
    """Return the runs of a text, ``before``, in which references were put, ``after``."""
    if before == after:
        return [*runs]
    changed: list[TextRun] = []
    start = end = 0
    for run in runs:
        first = end
        for mark in before[start : start + run.length]:
            end = end + 1 if after[end] == mark else after.index(";", end) + 1
        start += run.length
        changed.append(run._replace(length=end - first))
    return changed
