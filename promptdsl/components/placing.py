"""Whether a part that is written late may stand where it goes."""

from collections.abc import Mapping
from typing import Any

from promptdsl import nodes
from promptdsl.components.any_turn import TURNS
from promptdsl.components.lists import Checklist, Example, Item, List, Quote, SideBlock
from promptdsl.components.requests import RequestBlock
from promptdsl.components.sections import Note, Section
from promptdsl.components.timeline import Timeline
from promptdsl.components.tools import ToolMessage, ToolResult
from promptdsl.components.writing import Block, culprit
from promptdsl.errors import PlacementError
from promptdsl.tree import Node, named_label

_HOLDERS: Mapping[type[Node], type[Block]] = {
    nodes.Root: Timeline,
    nodes.ToolTurn: ToolMessage,
    nodes.Request: RequestBlock,
    nodes.Section: Section,
    nodes.Note: Note,
    nodes.Result: ToolResult,
    nodes.List: List,
    nodes.Checklist: Checklist,
    nodes.Item: Item,
    nodes.Quote: Quote,
    nodes.Example: Example,
    nodes.Side: SideBlock,
}


def check_place(part: Node, holder: Node, lazy: nodes.Lazy) -> Node:
    """Return a part that a lazy came to.

    Raises :class:`PlacementError` when it may not stand in what holds the lazy.
    """
    kind = TURNS[holder.role] if type(holder) is nodes.Turn else _HOLDERS.get(type(holder))
    if kind is None or not part.mask & kind._forbids:  # pyright: ignore[reportPrivateUsage]
        return part
    wrong = culprit(part, kind._forbids)  # pyright: ignore[reportPrivateUsage]
    advice: Any = kind._advice  # pyright: ignore[reportPrivateUsage]
    raise PlacementError(
        f"this Lazy returned {named_label(wrong)}, which cannot stand in {named_label(holder)}",
        fix=advice(holder, wrong),
        at=(lazy.source, wrong.source, holder.source),
    )
