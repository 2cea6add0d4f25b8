"""Expand: replace fragments and groups by their children, and remove empty turns."""

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
    """Return the tree with the children of fragments in their place, and without empty turns.

    An empty turn with a title or a cache breakpoint stays, so that a hint can report it.
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
            content.append(child)  # nothing in it has to be expanded
        else:
            turn = with_content(child, dissolved_in_turn(child))
            is_dropped = (
                isinstance(turn, TurnNode)
                and turn.role != "system"
                and not turn._mask & RESULT << SHIFT
                and not has_content(turn.content)
                and not any(
                    isinstance(node, CacheBreakpointNode)
                    or getattr(node, "title", None) is not None
                    for node, _ in walk(turn)
                )
            )
            if not is_dropped:
                content.append(turn)
    return with_content(root, tuple(content))


class _Enclosing(NamedTuple):
    """What the fragments around a node set: names of components, a text format, libraries.

    ``names`` are those of the components, the outermost first. ``libraries`` are the sections of
    libraries among them, ``None`` for a section that is overridden.
    """

    names: tuple[str, ...] = ()
    format: str | None = None
    libraries: tuple[LibrarySection | None, ...] = ()


_NO_ENCLOSING = _Enclosing()


def dissolved(content: tuple[Node, ...]) -> list[Node]:
    """Return the children of a timeline; fragments, groups and components become their children.

    Each child keeps the names of the components that wrote it, and the format set for it.
    """
    children: list[Node] = []
    pending: list[tuple[Node, _Enclosing]] = [(child, _NO_ENCLOSING) for child in reversed(content)]
    while pending:
        child, enclosing = pending.pop()
        if isinstance(child, FragmentNode):
            inner_enclosing = _enclosing_of(child, enclosing)
            pending += [
                (inner, inner_enclosing)
                for inner in reversed(child.content)
                if not isinstance(inner, str)
            ]
            continue
        if enclosing.names:
            options = attrs.evolve(
                child.options, within=enclosing.names, libraries=enclosing.libraries
            )
            # SPOKEN is the bit of a turn without options, which ``lower`` writes in a shorter way.
            child = replace(child, options=options, mask=child._mask & ~SPOKEN)
        if enclosing.format is not None and not isinstance(child, _UNFORMATTED):
            if isinstance(child, SectionNode):
                child = _formatted((child,), child, enclosing.format)
            else:
                turn = with_content(child, (_formatted(child.content, child, enclosing.format),))
                child = replace(turn, mask=turn._mask & ~SPOKEN)
        children.append(child)
    return children


_UNFORMATTED = (RecordedNode, ToolNode, OutputNode, CacheBreakpointNode)
"""Children of a timeline that have no text to format."""


_EVENT_BLOCKS = EVENT_BLOCK | EVENT_BLOCK << SHIFT


def dissolved_in_turn(turn: Node) -> tuple[Child, ...]:
    """Return the content of a turn without the fragments, groups and notes directly in it.

    Event blocks must be direct children of their turn. So in an event turn formats dissolve, too,
    and components that write event blocks. A limit contains no event blocks and stays, because its
    tokens are counted before it is applied.
    """
    is_event = bool(turn._mask & EVENT)
    kept_classes = (LimitNode, ComponentNode) if is_event else (ComponentNode, FormatNode)
    content: list[Child] = []
    pending: list[tuple[Child, _Enclosing]] = [
        (child, _NO_ENCLOSING) for child in reversed(turn.content)
    ]
    while pending:
        child, enclosing = pending.pop()
        stays = isinstance(child, kept_classes) and not (is_event and child._mask & _EVENT_BLOCKS)
        if isinstance(child, FragmentNode | NoteNode) and not stays:
            inner_enclosing = _enclosing_of(child, enclosing)
            pending += [(inner, inner_enclosing) for inner in reversed(child.content)]
        elif enclosing.format is None or isinstance(child, EventBlockNode | MediaNode):
            content.append(child)
        else:
            content.append(_formatted((child,), child, enclosing.format))
    return tuple(content)


def _enclosing_of(node: Node, enclosing: _Enclosing) -> _Enclosing:
    """Return what a node and the fragments around it set for its children."""
    if isinstance(node, ComponentNode):
        name = f"{node.name} (overridden by {node.by})" if node.by else node.name
        libraries = enclosing.libraries
        if node.section or node.by:
            libraries = (*libraries, node.section)
        return _Enclosing((*enclosing.names, name), enclosing.format, libraries)
    if isinstance(node, FormatNode):
        return enclosing._replace(format=node.format)
    return enclosing


def _formatted(content: tuple[Child, ...], child: Child, format: str) -> FormatNode:
    """Return a content in a text format, with the source line of ``child``."""
    at = None if isinstance(child, str) else child._at
    return with_content(make(FormatNode, mask=OPAQUE, at=at, format=format), content)
