"""Dissolving what only holds others: its parts take its place, and keep what it said of them."""

from typing import NamedTuple

import attrs

from promptdsl.tree.masks import EVENT, FRAGMENT, SPOKEN, bits
from promptdsl.tree.node import Child, Node, make
from promptdsl.tree.nodes import (
    CacheBreakpoint,
    Component,
    Format,
    Fragment,
    Happening,
    Media,
    Note,
    Output,
    Recorded,
    Section,
    Tool,
)
from promptdsl.tree.rewrite import replace, with_content


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
        if isinstance(child, Fragment):
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
        dissolves = isinstance(child, Fragment | Note) and (
            everything or not isinstance(child, Component | Format)
        )
        if dissolves:
            inside = _inside(child, around)
            waiting += [(part, inside) for part in reversed(child.content)]
        else:
            found.append(_formatted(child, around.format))
    return tuple(found)


def _inside(node: Node, around: _Around) -> _Around:
    if isinstance(node, Component):
        name = f"{node.name} (overridden by {node.by})" if node.by else node.name
        return _Around((*around.names, name), around.format)
    if isinstance(node, Format):
        return _Around(around.names, node.format)
    return around


def _as_written(child: Child, around: _Around) -> Child:
    """Return a turn or section that knows what stood around it."""
    if around.names:
        options = attrs.evolve(child.options, within=around.names)
        child = replace(child, options=options, mask=child.mask & ~SPOKEN)
    if around.format is None or isinstance(child, _UNFORMATTED):
        return child
    if isinstance(child, Section):
        return _formatted(child, around.format)
    turn = with_content(child, (_grouped(child.content, child, around.format),))
    return replace(turn, mask=turn.mask & ~SPOKEN)


_UNFORMATTED = (Recorded, Tool, Output, CacheBreakpoint)
"""What stands among turns and has no text that is written."""


def _formatted(child: Child, format: str | None) -> Child:
    if format is None or isinstance(child, Happening | Media):
        return child
    return _grouped((child,), child, format)


def _grouped(content: tuple[Child, ...], child: Child, format: str) -> Format:
    at = None if isinstance(child, str) else child.at
    empty = make(Format, mask=bits(FRAGMENT), at=at, format=format)
    return with_content(empty, content)
