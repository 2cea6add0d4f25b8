"""Check that what a Lazy returned may stand where the Lazy was written."""

from collections.abc import Mapping, Sequence
from typing import Any

from promptdsl.components.any_turn import TURNS
from promptdsl.components.block import Block, culprit
from promptdsl.components.budget import Limit, uncut
from promptdsl.components.lists import Checklist, Example, Item, List, Quote, SideBlock
from promptdsl.components.request_only import RequestBlock
from promptdsl.components.sections import Note, Section
from promptdsl.components.timeline import Timeline
from promptdsl.components.tool_calls import ToolMessage, ToolResult
from promptdsl.foundation.errors import PlacementError
from promptdsl.tree.group_nodes import LazyNode, LimitNode, NoteNode
from promptdsl.tree.masks import DEEP
from promptdsl.tree.node import Node, named_label
from promptdsl.tree.part_nodes import (
    ChecklistNode,
    ExampleNode,
    ExampleSideNode,
    ItemNode,
    ListNode,
    QuoteNode,
    SectionNode,
    ToolResultNode,
)
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import RequestOnlyNode, RootNode, ToolTurnNode, TurnNode

_HOLDERS: Mapping[type[Node], type[Block]] = {
    RootNode: Timeline,
    ToolTurnNode: ToolMessage,
    RequestOnlyNode: RequestBlock,
    SectionNode: Section,
    NoteNode: Note,
    ToolResultNode: ToolResult,
    ListNode: List,
    ChecklistNode: Checklist,
    ItemNode: Item,
    QuoteNode: Quote,
    ExampleNode: Example,
    ExampleSideNode: SideBlock,
    LimitNode: Limit,
}


def check_place(part: Node, holders: Sequence[Node], lazy: LazyNode) -> Node:
    """Return a part that a Lazy returned, checked for its place.

    ``holders`` are what the Lazy stands in, the innermost first, one of each kind. Raises
    :class:`PlacementError` when the part may not stand there.
    """
    for holder in holders:
        kind = _kind(holder)
        # What is around the innermost one refuses only what may stand nowhere in it.
        forbidden = kind._forbids if holder is holders[0] else kind._forbids & DEEP  # pyright: ignore[reportPrivateUsage]
        if part.mask & forbidden:
            raise _misplaced(culprit(part, forbidden), holder, lazy)
        if kind is Limit:
            _check_cut(part, holder, lazy)
    if not any(isinstance(one, TurnNode | RequestOnlyNode | NoteNode) for one in holders):
        _check_loose(part, holders, lazy)
    return part


def _kind(holder: Node) -> type[Block]:
    return TURNS[holder.role] if type(holder) is TurnNode else _HOLDERS[type(holder)]


def _misplaced(wrong: Node, holder: Node, lazy: LazyNode) -> PlacementError:
    advice: Any = _kind(holder)._advice  # pyright: ignore[reportPrivateUsage]
    root = isinstance(wrong, RootNode)
    return PlacementError(
        f"this Lazy returned {named_label(wrong)}, which cannot stand in {named_label(holder)}",
        fix="return its turns in a Fragment" if root else advice(holder, wrong),
        at=(lazy.source, wrong.source, holder.source),
    )


def _check_cut(part: Node, limit: Node, lazy: LazyNode) -> None:
    """Refuse what stands in no limit, which a mask does not tell."""
    whole = uncut((part,))
    if whole is not None:
        raise _misplaced(whole, limit, lazy)


def _check_loose(part: Node, holders: Sequence[Node], lazy: LazyNode) -> None:
    """Refuse media in a section outside of any turn, which is system content."""
    holder, root = holders[0], holders[-1]
    whole = part if holder is root else with_content(holder, (part,))
    try:
        Timeline._inspect(root, (whole,), whole.mask)  # type: ignore[arg-type]  # pyright: ignore
    except PlacementError as error:
        raise PlacementError(error.what, fix=error.fix, at=(lazy.source, *error.at)) from None
