"""Expand: what only holds others, fragments and groups among the turns, gives way to its parts."""

from typing import NamedTuple

import attrs

from promptdsl.tree.group_nodes import ComponentNode, FormatNode, FragmentNode, NoteNode
from promptdsl.tree.masks import (
    DEVELOPER,
    EVENT,
    HOLLOW,
    RESULT,
    SHIFT,
    SPOKEN,
    TURN,
    bits,
)
from promptdsl.tree.node import Child, Node, make, walk
from promptdsl.tree.part_nodes import EventBlockNode, MediaNode, SectionNode
from promptdsl.tree.rewrite import replace, says_something, with_content
from promptdsl.tree.turn_nodes import (
    CacheBreakpointNode,
    OutputNode,
    RecordedNode,
    ToolNode,
    TurnNode,
)


def expand(root: Node) -> Node:
    """Return the tree with fragments dissolved, and without turns that say nothing."""
    content: list[Child] = []
    for child in dissolved(root.content):
        if isinstance(child, NoteNode):
            content.append(_spoken(child))
        elif child.mask & HOLLOW and not isinstance(child, RecordedNode):
            content += _emptied(child)
        else:
            content.append(child)
    return with_content(root, tuple(content))


def _emptied(turn: Node) -> list[Node]:
    """Return a turn without the fragments directly in it, or nothing when it says nothing.

    What is empty but has a title or a cache breakpoint stays, so that it is noticed.
    """
    turn = with_content(turn, dissolved_in_turn(turn))
    silent = isinstance(turn, TurnNode) and turn.role != "system"
    if not silent or turn.mask & RESULT << SHIFT or says_something(turn):
        return [turn]
    return [turn] if any(_is_noticed(part) for part, _ in walk(turn)) else []


def _is_noticed(part: Node) -> bool:
    return isinstance(part, CacheBreakpointNode) or getattr(part, "title", None) is not None


def _spoken(note: NoteNode) -> TurnNode:
    """Return the turn of a note that stands among turns.

    Its kind is not ``written``: between a call and its result ``place`` refuses a ``Developer``
    turn that was written there, and moves a note.
    """
    mask = bits(TURN | DEVELOPER, note.mask)
    return make(
        TurnNode,
        note.content,
        mask=mask,
        at=note,
        options=note.options,
        role="developer",
        kind="recorded",
    )


# Dissolving.


class _Around(NamedTuple):
    """What stood around a part: components, the outermost first, and a format."""

    names: tuple[str, ...] = ()
    format: str | None = None


_NOTHING = _Around()


def dissolved(content: tuple[Child, ...]) -> list[Child]:
    """Return the children of a timeline, with the parts of fragments, groups and components.

    They know the components they were written by, and are in the format that was set for them.
    """
    found: list[Child] = []
    waiting = [(child, _NOTHING) for child in reversed(content)]
    while waiting:
        child, around = waiting.pop()
        if isinstance(child, FragmentNode):
            inside = _inside(child, around)
            waiting += [(part, inside) for part in reversed(child.content)]
        else:
            found.append(child if around is _NOTHING else _as_written(child, around))
    return found


def dissolved_in_turn(turn: Node) -> tuple[Child, ...]:
    """Return the content of a turn without the fragments, groups and notes directly in it.

    The blocks of an event stand in nothing else: there components and formats go, too.
    """
    everything = bool(turn.mask & EVENT)
    found: list[Child] = []
    waiting = [(child, _NOTHING) for child in reversed(turn.content)]
    while waiting:
        child, around = waiting.pop()
        dissolves = isinstance(child, FragmentNode | NoteNode) and (
            everything or not isinstance(child, ComponentNode | FormatNode)
        )
        if dissolves:
            inside = _inside(child, around)
            waiting += [(part, inside) for part in reversed(child.content)]
        else:
            found.append(_formatted(child, around.format))
    return tuple(found)


def _inside(node: Node, around: _Around) -> _Around:
    if isinstance(node, ComponentNode):
        name = f"{node.name} (overridden by {node.by})" if node.by else node.name
        return _Around((*around.names, name), around.format)
    if isinstance(node, FormatNode):
        return _Around(around.names, node.format)
    return around


def _as_written(child: Child, around: _Around) -> Child:
    """Return a turn or section that knows what stood around it."""
    if around.names:
        options = attrs.evolve(child.options, within=around.names)
        child = replace(child, options=options, mask=child.mask & ~SPOKEN)
    if around.format is None or isinstance(child, _UNFORMATTED):
        return child
    if isinstance(child, SectionNode):
        return _formatted(child, around.format)
    turn = with_content(child, (_grouped(child.content, child, around.format),))
    return replace(turn, mask=turn.mask & ~SPOKEN)


_UNFORMATTED = (RecordedNode, ToolNode, OutputNode, CacheBreakpointNode)
"""What stands among turns and has no text that is written."""


def _formatted(child: Child, format: str | None) -> Child:
    if format is None or isinstance(child, EventBlockNode | MediaNode):
        return child
    return _grouped((child,), child, format)


def _grouped(content: tuple[Child, ...], child: Child, format: str) -> FormatNode:
    at = None if isinstance(child, str) else child.at
    empty = make(FormatNode, mask=HOLLOW, at=at, format=format)
    return with_content(empty, content)
