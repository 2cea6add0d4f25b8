"""Expand: replaces fragments and groups by their parts, and removes empty turns."""

from typing import NamedTuple

import attrs

from promptdsl.foundation.source import LibrarySection
from promptdsl.tree.masks import DEVELOPER, EVENT, EVENT_BLOCK, OPAQUE, RESULT, SHIFT, SPOKEN
from promptdsl.tree.node import Child, Node, make, walk
from promptdsl.tree.part_nodes import EventBlockNode, MediaNode, SectionNode
from promptdsl.tree.rewrite import has_content, make_turn, replace, with_content
from promptdsl.tree.turn_nodes import (
    CacheBreakpointNode,
    ComponentNode,
    FormatNode,
    FragmentNode,
    LimitNode,
    NoteNode,
    OutputNode,
    RecordedNode,
    RootNode,
    ToolNode,
    TurnNode,
)


def expand(root: RootNode) -> RootNode:
    """Return the tree with the parts of fragments in their place, and without empty turns.

    An empty turn with a title or a cache breakpoint stays, so that a hint reports it.
    """
    content: list[Node] = []
    for child in dissolved(root.content):
        if isinstance(child, NoteNode):
            # The kind is not ``written``, because ``place`` refuses written ``Developer`` turns
            # between a call and its result, but moves a note.
            content.append(
                make_turn(
                    TurnNode,
                    child.content,
                    DEVELOPER,
                    at=child,
                    role="developer",
                    kind="recorded",
                    options=child.options,
                )
            )
        elif not child._mask & OPAQUE or isinstance(child, RecordedNode):
            content.append(child)
        else:
            turn = with_content(child, dissolved_in_turn(child))
            is_dropped = (
                isinstance(turn, TurnNode)
                and turn.role != "system"
                and not turn._mask & RESULT << SHIFT
                and not has_content(turn.content)
                and not any(
                    isinstance(part, CacheBreakpointNode)
                    or getattr(part, "title", None) is not None
                    for part, _ in walk(turn)
                )
            )
            if not is_dropped:
                content.append(turn)
    return with_content(root, tuple(content))


class _Around(NamedTuple):
    """The fragments around a part: names of components, the outermost first, and a text format.

    ``libraries`` are the sections of libraries among these components, ``None`` for a section that
    is overridden.
    """

    names: tuple[str, ...] = ()
    format: str | None = None
    libraries: tuple[LibrarySection | None, ...] = ()


_NOTHING = _Around()


def dissolved(content: tuple[Node, ...]) -> list[Node]:
    """Return the children of a timeline, with the parts of fragments, groups and components.

    Each child keeps the names of the components that wrote it, and the format set for it.
    """
    children: list[Node] = []
    waiting: list[tuple[Node, _Around]] = [(child, _NOTHING) for child in reversed(content)]
    while waiting:
        child, around = waiting.pop()
        if isinstance(child, FragmentNode):
            inside = _inside(child, around)
            waiting += [
                (part, inside) for part in reversed(child.content) if not isinstance(part, str)
            ]
            continue
        if around.names:
            options = attrs.evolve(child.options, within=around.names, libraries=around.libraries)
            child = replace(child, options=options, mask=child._mask & ~SPOKEN)
        if around.format is not None and not isinstance(child, _UNFORMATTED):
            if isinstance(child, SectionNode):
                child = _formatted((child,), child, around.format)
            else:
                turn = with_content(child, (_formatted(child.content, child, around.format),))
                child = replace(turn, mask=turn._mask & ~SPOKEN)
        children.append(child)
    return children


_UNFORMATTED = (RecordedNode, ToolNode, OutputNode, CacheBreakpointNode)
"""Children of a timeline that have no text to format."""


_EVENT_BLOCKS = EVENT_BLOCK | EVENT_BLOCK << SHIFT


def dissolved_in_turn(turn: Node) -> tuple[Child, ...]:
    """Return the content of a turn without the fragments, groups and notes directly in it.

    Event blocks must be direct children of their turn. So an event turn loses its formats, too, and
    the components that write event blocks. A limit contains no event blocks, so it stays: it is
    measured before it is applied.
    """
    is_event = bool(turn._mask & EVENT)
    kept = (LimitNode, ComponentNode) if is_event else (ComponentNode, FormatNode)
    content: list[Child] = []
    waiting: list[tuple[Child, _Around]] = [(child, _NOTHING) for child in reversed(turn.content)]
    while waiting:
        child, around = waiting.pop()
        stays = isinstance(child, kept) and not (is_event and child._mask & _EVENT_BLOCKS)
        if isinstance(child, FragmentNode | NoteNode) and not stays:
            inside = _inside(child, around)
            waiting += [(part, inside) for part in reversed(child.content)]
        elif around.format is None or isinstance(child, EventBlockNode | MediaNode):
            content.append(child)
        else:
            content.append(_formatted((child,), child, around.format))
    return tuple(content)


def _inside(node: Node, around: _Around) -> _Around:
    if isinstance(node, ComponentNode):
        name = f"{node.name} (overridden by {node.by})" if node.by else node.name
        libraries = around.libraries
        if node.section or node.by:
            libraries = (*libraries, node.section)
        return _Around((*around.names, name), around.format, libraries)
    if isinstance(node, FormatNode):
        return around._replace(format=node.format)
    return around


def _formatted(content: tuple[Child, ...], child: Child, format: str) -> FormatNode:
    """Return a content in its own format, with the source line of a child."""
    at = None if isinstance(child, str) else child._at
    return with_content(make(FormatNode, mask=OPAQUE, at=at, format=format), content)
