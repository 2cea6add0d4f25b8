"""Functions that make a tree from a tree; an unchanged node stays the same object.

Begin with :func:`rewrite`. Before it are functions that copy a node; after it, the ids of siblings
and functions that look for nodes.
"""

from collections import ChainMap
from collections.abc import Callable, Container, Iterable, Iterator, MutableMapping
from operator import is_
from typing import Any, TypeAlias, TypeVar, cast

import attrs

from promptdsl.foundation.errors import PlacementError
from promptdsl.foundation.source import Position, Source
from promptdsl.messages.details import Kind, Role
from promptdsl.tree import masks
from promptdsl.tree.node import DEFAULTS, Child, N, Node, Options, implied, label, make
from promptdsl.tree.part_nodes import (
    EventBlockNode,
    MediaNode,
    ReasoningNode,
    SectionNode,
    TemplateNode,
    TextBlockNode,
    ToolResultNode,
    ToolUseNode,
)
from promptdsl.tree.turn_nodes import (
    ComponentNode,
    ConversationNode,
    FirstFitNode,
    FragmentNode,
    LazyNode,
    LimitNode,
    NoteNode,
    RequestOnlyNode,
    ReserveNode,
    ToolTurnNode,
    TurnNode,
)

T = TypeVar("T", bound=TurnNode)
_set = object.__setattr__


def replace(node: N, **changes: Any) -> N:  # Any: the fields of any class
    """Return a copy of a node with changed fields; also ``content``, ``mask`` and ``options``."""
    cls = node._node
    fields = {name: getattr(node, name) for name in cls._field_names}
    fields |= {"mask": node._mask, "at": node._at, "options": node.options}
    content = changes.pop("content", node.content)
    return cast("N", make(cls, content, **{**fields, **changes}))


def copied(node: N, content: tuple[Child, ...], mask: int) -> N:
    """Return a copy of a node with other content and another mask.

    It is faster than :func:`replace`.
    """
    cls = node._node
    copy = cast("N", object.__new__(cls))
    _set(copy, "content", content)
    _set(copy, "_mask", mask)
    _set(copy, "_code", node._code)
    _set(copy, "_offset", node._offset)
    _set(copy, "options", node.options)
    for name in cls._field_names:
        _set(copy, name, getattr(node, name))
    return copy


def covering(content: Iterable[Child]) -> int:
    """Return the deep bits of all nodes in the content."""
    mask = 0
    for child in content:
        if not isinstance(child, str):
            mask |= child._mask
    return mask & masks.DEEP


def with_content(node: N, content: tuple[Child, ...]) -> N:
    """Return a node with other content and the mask for it, or the same node if nothing changes."""
    old = node.content
    if len(old) == len(content) and all(map(is_, old, content)):
        return node
    surface = node._mask & masks.SURFACE
    bits = surface | (surface & masks.LIFTED) << masks.SHIFT
    if isinstance(node, NoteNode):
        bits = masks.OPAQUE | masks.AUDIENCE
    elif isinstance(node, FragmentNode):
        # A fragment has the surface bits of its children.
        bits = masks.OPAQUE
        for child in content:
            if isinstance(child, str):
                bits |= masks.TEXT
            else:
                bits |= child._mask & masks.SURFACE
    else:
        bits |= implied(node.options)
    if isinstance(node, ToolTurnNode):
        bits |= masks.RESULT << masks.SHIFT  # the turn itself is the result
    below = covering(content) if content else masks.OPAQUE
    copy = copied(node, content, node._mask & ~(masks.DEEP | masks.SURFACE) | bits | below)
    if isinstance(node, ComponentNode):
        _set(copy, "running", getattr(node, "running", None))
    return copy


def make_turn(
    cls: type[T],
    content: tuple[Child, ...],
    surface: int = 0,
    *,
    at: Position | Source | Node | None,
    role: Role,
    kind: Kind,
    options: Options = DEFAULTS,
) -> T:
    """Return a turn with the mask of its content; ``surface`` are its bits besides ``TURN``."""
    mask = masks.bits(masks.TURN | surface, covering(content)) | implied(options)
    return make(cls, content, mask=mask, at=at, options=options, role=role, kind=kind)


def mapped_role(turn: Node, role: Role) -> Role:
    """Return the role of an event or a grounding, for which the configuration says ``role``.

    With an attachment it is ``user``, because an instruction cannot hold an attachment.
    """
    return "user" if turn._mask & masks.MEDIA << masks.SHIFT else role


def has_content(content: Iterable[Child]) -> bool:
    """Return whether the content has a node or text besides tool results and empty nodes."""
    child_stack: list[Child] = list(content)
    while child_stack:
        child = child_stack.pop()
        if isinstance(child, _ALWAYS_CONTENT):
            if child != "":
                return True
        elif not child.content:
            if getattr(child, "text", "") or getattr(child, "rows", ()):
                return True
        elif not isinstance(child, ToolResultNode):
            child_stack.extend(child.content)
    return False


_ALWAYS_CONTENT = (
    *(str, MediaNode, ToolUseNode, ReasoningNode, EventBlockNode, TextBlockNode),
    *(LazyNode, TemplateNode),
)
"""The classes of children that are always content, except an empty string."""


def rewrite(
    root: N, change: Callable[[Node], Node | None], *, within: int, unchanged: Container[int] = ()
) -> N:
    """Return the tree with ``change`` applied bottom-up to the nodes that have a bit of ``within``.

    ``change`` returns the node itself, another node, or ``None`` to leave the node out. For the
    root it returns a node of the same class; with ``None`` the root is returned unchanged. A node
    stays the same object if nothing below it changed. The content of a node whose ``id()`` is in
    ``unchanged`` does not change.
    """
    open_nodes: list[tuple[Node, list[Child], Iterator[Child]]] = [(root, [], iter(root.content))]
    while True:
        node, children, rest = open_nodes[-1]
        child = next(rest, None)
        if child is None:
            open_nodes.pop()
            changed = change(with_content(node, tuple(children)))
            if not open_nodes:
                return root if changed is None else cast("N", changed)
            if changed is not None:
                open_nodes[-1][1].append(changed)
        elif isinstance(child, str) or not child._mask & within:
            children.append(child)
        elif id(child) in unchanged:
            open_nodes.append((child, [*child.content], iter(())))
        else:
            open_nodes.append((child, [], iter(child.content)))


def unique_ids(component: Node, content: tuple[Child, ...]) -> None:
    """Raise :class:`PlacementError` if two siblings have the same id.

    The children of a fragment are siblings of the fragment's neighbours. So they are compared in
    the component around the outermost fragment. The alternatives of a ``FirstFit`` may have equal
    ids, because only one of them is sent. Groundings may have equal ids, because these are data:
    see :func:`numbered`.
    """
    if isinstance(component, FirstFitNode):
        return
    opens_fragments = not isinstance(component, FragmentNode)
    levels = [_Siblings(with_bits(content, masks.NAMED))]
    while True:
        level = levels[-1]
        if not level.unvisited:
            levels.pop()
            if not levels:
                return
            # Join the ids of the alternatives and the ids around them. The smaller table is added
            # to the larger one, because alternatives may have many levels.
            enclosing = levels[-1]
            earlier, later = enclosing.ids, level.ids
            if not enclosing.alternatives and not earlier.keys().isdisjoint(later.keys()):
                id = next(id for id in later if id in earlier)
                raise repeated_id(id, earlier[id], later[id], component)
            few, enclosing.ids = sorted((earlier, later), key=len)
            enclosing.ids.update(few)
            continue
        child = level.unvisited.pop()
        if isinstance(child, RequestOnlyNode) and child.grounding:
            continue
        if level.alternatives:
            levels.append(_Siblings([child]))
        elif not isinstance(child, FragmentNode):
            id = child.options.id
            if id in level.ids:
                raise repeated_id(id, level.ids[id], child, component)
            level.ids[id] = child
        elif opens_fragments:
            nodes = with_bits(child.content, masks.NAMED)
            if isinstance(child, FirstFitNode):
                levels.append(_Siblings(nodes, alternatives=True))
            else:
                level.unvisited += reversed(nodes)


class _Siblings:
    """Siblings that are compared, and their ids so far; alternatives may have equal ids."""

    __slots__ = ("alternatives", "ids", "unvisited")

    def __init__(self, nodes: list[Node], *, alternatives: bool = False) -> None:
        self.unvisited = nodes[::-1]
        self.ids: dict[str | None, Node] = {}
        self.alternatives = alternatives


def repeated_id(id: str | None, first: Node, second: Node, enclosing: Node) -> PlacementError:
    """Return the error for two siblings with the same id in the component ``enclosing``."""
    fix = "give one of them a different id"
    if first is second:
        fix = "it is the same part twice: include it once, or write two parts with two ids"
    elif isinstance(first._at, tuple) and first._at == second._at:
        fix = f'this line runs twice: make the id an argument, or number it: f"{id}-{{number}}"'
    elif first.source == second.source is not None:
        fix = "two parts on this line have this id: rename one of them"
    return PlacementError(
        f"the id {id!r} is used twice in one {label(enclosing)}",
        fix=fix,
        at=(second.source, first.source),
    )


def numbered(content: tuple[Child, ...]) -> tuple[Child, ...]:
    """Return the children of a timeline, with different numbers if they have the same id.

    A section of the system message and a turn in the prompt's code get the first numbers. Then come
    groundings and recorded turns, in the order in which they are written. A turn that has a number
    keeps it, or gets a higher number. The alternatives of a ``FirstFit`` may have the same numbers.
    """
    nodes = [*_named_parts(content)]
    options_with_id = [with_id.options for with_id in nodes]
    ids = {options.id for options in options_with_id}
    if len(ids) == len(options_with_id) and all(options.number == 1 for options in options_with_id):
        return content
    sections = {with_id.options.id: 1 for with_id in nodes if with_id._mask & masks.SECTION}
    coded = {
        with_id.options.id: 1 + (with_id.options.id in sections)
        for with_id in nodes
        if _is_coded(with_id)
    }
    numbers = _numbers(content, {**sections, **coded}, coded)

    def change(node: Node) -> Node:
        if not isinstance(node, TurnNode | RequestOnlyNode):
            return node
        number = next(numbers)
        if number == node.options.number:
            return node
        return replace(node, options=attrs.evolve(node.options, number=number))

    return rewrite(make(FragmentNode, content), change, within=masks.NAMED).content


def _named_parts(content: Iterable[Child]) -> Iterator[Node]:
    """Yield the children of a timeline that have an id, and the sections in system turns."""
    node_stack = with_bits(content, masks.NAMED | masks.SYSTEM)
    while node_stack:
        node = node_stack.pop()
        if isinstance(node, FragmentNode) or node._mask & masks.SYSTEM:
            node_stack += with_bits(node.content, masks.NAMED | masks.SYSTEM)
        if node.options.id is not None:
            yield node


def _is_coded(node: Node) -> bool:
    """Return whether a node is a turn in the prompt's code, whose id is unique."""
    return isinstance(node, TurnNode) and node.kind == "written"


_Numbers: TypeAlias = MutableMapping[str | None, int]
"""The highest number so far, by id."""


def _numbers(
    content: Iterable[Child], highest: _Numbers, coded: _Numbers, *, is_choice: bool = False
) -> Iterator[int]:
    """Yield the number of each turn with an id, in document order.

    ``highest`` is updated. ``coded`` has the number of each turn in the prompt's code. With
    ``is_choice`` the content is an alternative of a ``FirstFit``.
    """
    node_stack = with_bits(content, masks.NAMED)[::-1]
    while node_stack:
        node = node_stack.pop()
        if isinstance(node, SectionNode):
            continue
        id = node.options.id
        if isinstance(node, FirstFitNode) and not is_choice:
            tries = [ChainMap[str | None, int]({}, highest) for _ in node.content]
            for alternative, numbers in zip(node.content, tries, strict=True):
                yield from _numbers((alternative,), numbers, coded, is_choice=True)
            for numbers in tries:
                for id, number in numbers.maps[0].items():
                    highest[id] = max(number, highest.get(id, 0))
        elif isinstance(node, FragmentNode):
            node_stack += reversed(with_bits(node.content, masks.NAMED))
        elif _is_coded(node):
            yield coded[id]
        else:
            highest[id] = max(node.options.number, highest.get(id, 0) + 1)
            yield highest[id]


def opaque(root: Node) -> list[Node]:
    """Return ``root`` and all nodes below it that passes have to look at (``OPAQUE``)."""
    return below(root, masks.OPAQUE)


def below(root: Node, bit: int) -> list[Node]:
    """Return ``root`` and all nodes below it that have a bit in their mask, the last node first.

    ``root`` itself is the first one in the list.
    """
    nodes: list[Node] = []
    node_stack = [root]
    while node_stack:
        node = node_stack.pop()
        nodes.append(node)
        node_stack += with_bits(node.content, bit)
    return nodes


def with_bits(content: Iterable[Child], bits: int) -> list[Node]:
    """Return the nodes among children that have one of these bits in their mask."""
    return [child for child in content if not isinstance(child, str) and child._mask & bits]


def leaves_no_choice(nodes: Iterable[Node]) -> bool:
    """Return whether a budget has nothing to choose among these nodes of a tree.

    A ``FirstFit``, a ``Limit`` and a ``Reserve`` are choices. A history is a choice, too, if its
    results are shortened or cleared, or if it contains a compaction.
    """
    return not any(
        node._node in _CHOICES or edits_results(node) or is_compacted(node) for node in nodes
    )


def edits_results(node: Node) -> bool:
    """Return whether a node is a history whose recorded results are shortened or cleared."""
    return isinstance(node, ConversationNode) and not (
        node.max_result_tokens is None and node.clear_results is None
    )


def clears_early(history: ConversationNode) -> bool:
    """Return whether the results of a history are cleared without a budget, too."""
    return history.clear_results is not None and history.clear_results.at_least is not None


def is_compacted(node: Node) -> bool:
    """Return whether a node is a history that contains a provider's compaction."""
    return isinstance(node, ConversationNode) and node._mask & masks.COMPACTED == masks.COMPACTED


_CHOICES: frozenset[type[Node]] = frozenset({FirstFitNode, LimitNode, ReserveNode})
