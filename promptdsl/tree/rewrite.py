"""Trees made from trees. A node in which nothing changed stays the same object."""

from collections.abc import Callable, Iterable, Iterator
from operator import is_
from typing import Any, cast

from promptdsl.foundation.errors import PlacementError
from promptdsl.tree.group_nodes import (
    FirstFitNode,
    FragmentNode,
    LazyNode,
    LimitNode,
    NoteNode,
    ReserveNode,
)
from promptdsl.tree.masks import (
    AUDIENCE,
    DEEP,
    HOLLOW,
    LIFTED,
    NAMED,
    RESULT,
    SHIFT,
    SURFACE,
    TEXT,
)
from promptdsl.tree.node import DEFAULTS, Child, N, Node, implied, label, make
from promptdsl.tree.part_nodes import (
    EventBlockNode,
    MediaNode,
    ReasoningNode,
    TableNode,
    TemplateNode,
    ToolResultNode,
    ToolUseNode,
)
from promptdsl.tree.turn_nodes import ToolTurnNode

_set = object.__setattr__


def replace(node: N, **changes: Any) -> N:
    """Return a copy of a node with some fields changed."""
    cls = node._node  # pyright: ignore[reportPrivateUsage]
    names = ("mask", "at", "options", *cls._fields)  # pyright: ignore[reportPrivateUsage]
    fields = {name: getattr(node, name) for name in names}
    content = changes.pop("content", node.content)
    return cast("N", make(cls, content, **{**fields, **changes}))


def copied(node: N, content: tuple[Child, ...], mask: int) -> N:
    """Return a copy of a node with another content and mask; faster than :func:`replace`."""
    cls = node._node  # pyright: ignore[reportPrivateUsage]
    copy = cast("N", object.__new__(cls))
    _set(copy, "content", content)
    _set(copy, "mask", mask)
    _set(copy, "code", node.code)
    _set(copy, "offset", node.offset)
    _set(copy, "options", node.options)
    for name in cls._fields:  # pyright: ignore[reportPrivateUsage]
        _set(copy, name, getattr(node, name))
    return copy


def covering(content: Iterable[Child]) -> int:
    """Return the deep bits of all nodes in a content."""
    mask = 0
    for child in content:
        if not isinstance(child, str):
            mask |= child.mask
    return mask & DEEP


def with_content(node: N, content: tuple[Child, ...]) -> N:
    """Return a node with another content and the mask for it; the same node if unchanged."""
    old = node.content
    if len(old) == len(content) and all(map(is_, old, content)):
        return node
    surface = node.mask & SURFACE
    own = surface | (surface & LIFTED) << SHIFT
    if isinstance(node, NoteNode):
        own = HOLLOW | AUDIENCE
    elif isinstance(node, FragmentNode):
        own = HOLLOW | _shown(content)
    elif node.options is not DEFAULTS:
        own |= implied(node.options)
    if isinstance(node, ToolTurnNode):
        own |= RESULT << SHIFT  # the turn itself is the result
    below = covering(content) if content else HOLLOW
    return copied(node, content, node.mask & ~(DEEP | SURFACE) | own | below)


def _shown(content: tuple[Child, ...]) -> int:
    """Return the surface bits of the parts of a fragment, which are also its own."""
    surface = 0
    for child in content:
        surface |= TEXT if isinstance(child, str) else child.mask & SURFACE
    return surface


def says_something(turn: Node) -> bool:
    """Return whether a turn holds anything besides tool results and empty parts."""
    return any_said(turn.content)


def any_said(content: Iterable[Child]) -> bool:
    """Return whether a content holds anything besides tool results and empty parts."""
    waiting: list[Child] = list(content)
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            if part:
                return True
        elif part.content:
            if not isinstance(part, ToolResultNode):
                waiting.extend(part.content)
        elif _speaks(part):
            return True
    return False


def _speaks(part: Node) -> bool:
    """Return whether a part without content of its own is not empty."""
    if isinstance(part, TableNode):
        return bool(part.rows)
    if isinstance(
        part, MediaNode | ToolUseNode | ReasoningNode | EventBlockNode | LazyNode | TemplateNode
    ):
        return True
    return bool(getattr(part, "text", ""))


def rewrite(root: Node, change: Callable[[Node], Node | None], *, within: int) -> Node:
    """Return the tree with ``change`` applied bottom-up to the nodes that have a bit of ``within``.

    ``change`` returns the node itself, another one, or ``None`` to leave it out. Where nothing
    below a node changed, the node stays the same object.
    """
    open_nodes: list[tuple[Node, list[Child], Iterator[Child]]] = [(root, [], iter(root.content))]
    while True:
        node, done, rest = open_nodes[-1]
        child = next(rest, None)
        if child is None:
            open_nodes.pop()
            changed = change(with_content(node, tuple(done)))
            if not open_nodes:
                return root if changed is None else changed
            if changed is not None:
                open_nodes[-1][1].append(changed)
        elif isinstance(child, str) or not child.mask & within:
            done.append(child)
        else:
            open_nodes.append((child, [], iter(child.content)))


def unique_ids(component: Node, content: tuple[Any, ...]) -> None:
    """Raise :class:`PlacementError` when two siblings have one id.

    The parts of a fragment are siblings of its siblings, so they are compared where the outermost
    fragment is put. The alternatives of a ``FirstFit`` may share ids: only one of them is sent.
    """
    inside = not isinstance(component, FragmentNode)
    levels = [_Ids(content, alternatives=isinstance(component, FirstFitNode))]
    while True:
        level = levels[-1]
        waiting = level.waiting
        if not waiting:
            levels.pop()
            if not levels:
                return
            levels[-1].take(level.found, component)
            continue
        child = waiting.pop()
        if type(child) is str or not child.mask & NAMED:
            continue
        if level.alternatives:
            levels += [_Ids((child,))] if inside else []
        elif not isinstance(child, FragmentNode):
            id = child.options.id
            if id in level.found:
                raise twice(id, level.found[id], child, component)
            level.found[id] = child
        elif inside and isinstance(child, FirstFitNode):
            levels.append(_Ids(child.content, alternatives=True))
        elif inside:
            waiting.extend(reversed(child.content))


class _Ids:
    """The ids of siblings, or of alternatives, which may share them."""

    __slots__ = ("alternatives", "found", "waiting")

    def __init__(self, parts: tuple[Any, ...], *, alternatives: bool = False) -> None:
        self.waiting = list(reversed(parts))
        self.found: dict[str, Node] = {}
        self.alternatives = alternatives

    def take(self, later: dict[str, Node], around: Node) -> None:
        """Add the ids of later siblings, the fewer to the more, because alternatives nest deep."""
        earlier = self.found
        if not self.alternatives and not earlier.keys().isdisjoint(later.keys()):
            id = next(id for id in later if id in earlier)
            raise twice(id, earlier[id], later[id], around)
        few, self.found = sorted((earlier, later), key=len)
        self.found.update(few)


def twice(id: str, first: Node, second: Node, around: Node) -> PlacementError:
    """Return the error for two siblings with one id."""
    return PlacementError(
        f"the id {id!r} is used twice in one {label(around)}",
        fix="ids are unique among siblings: rename one of them",
        at=(second.source, first.source),
    )


def hollow(root: Node) -> list[Node]:
    """Return ``root`` and all hollow nodes below it."""
    found: list[Node] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += [c for c in node.content if not isinstance(c, str) and c.mask & HOLLOW]
    return found


def is_settled(root: Node) -> bool:
    """Return whether a tree has no ``FirstFit``, ``Limit`` or ``Reserve``."""
    return not any(
        isinstance(node, FirstFitNode | LimitNode | ReserveNode) for node in hollow(root)
    )
