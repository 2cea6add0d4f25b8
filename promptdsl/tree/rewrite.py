"""Functions that copy nodes, make a tree from a tree, compare ids, and look for nodes.

Begin with :func:`rewrite`. No function changes a node that is in a tree: an unchanged node stays
the same object.

In this order: copies of a node, and new turns; :func:`rewrite`; ids of siblings, and numbers of
turns with the same id; functions that look for nodes; questions about content, turns and histories.
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


# Copies of a node, and new turns.


def replace(node: N, **changes: Any) -> N:  # Any: the fields of any class
    """Return a copy of a node with changed fields; also ``content``, ``mask`` and ``options``.

    The copy of a component is a node of its node class. Other content does not change the mask.
    """
    node_type = node._node
    fields = {name: getattr(node, name) for name in node_type._field_names}
    fields |= {"mask": node._mask, "at": node._at, "options": node.options}
    content = changes.pop("content", node.content)
    return cast("N", make(node_type, content, **{**fields, **changes}))


def copied(node: N, content: tuple[Child, ...], mask: int) -> N:
    """Return a copy of a node with other content and another mask; slots without a field are unset.

    It is faster than :func:`replace`.
    """
    node_type = node._node
    copy = cast("N", object.__new__(node_type))
    _set(copy, "content", content)
    _set(copy, "_mask", mask)
    _set(copy, "_code", node._code)
    _set(copy, "_offset", node._offset)
    _set(copy, "options", node.options)
    for name in node_type._field_names:
        _set(copy, name, getattr(node, name))
    return copy


def deep_bits(content: Iterable[Child]) -> int:
    """Return the deep bits of all nodes in the content."""
    mask = 0
    for child in content:
        if not isinstance(child, str):
            mask |= child._mask
    return mask & masks.DEEP


def with_content(node: N, content: tuple[Child, ...]) -> N:
    """Return a node with other content and the mask for it, or the same node if nothing changes.

    The new mask has the bits of the node itself, the deep bits of the new content, and the state of
    a component that is not frozen. The bits of the node itself are:

    - of a note: always the same two;
    - of a fragment: ``OPAQUE``, and the surface bits of its new children;
    - of any other node: its surface bits with their deep bits, and the bits of its options. (Notes
      and fragments have no option with a bit: no id, no audience and no cache mark.)

    ``OPAQUE`` is the bit of a node that the passes have to look at. For example, they put the
    children of a fragment in its position, and leave out empty turns.
    """
    old = node.content
    if len(old) == len(content) and all(map(is_, old, content)):
        return node
    if isinstance(node, NoteNode):
        node_bits = masks.OPAQUE | masks.AUDIENCE  # a note is for people only
    elif isinstance(node, FragmentNode):
        # The children of a fragment are sent as if they were in its position. So whether a fragment
        # is allowed depends on their surface bits.
        node_bits = masks.OPAQUE
        for child in content:
            if isinstance(child, str):
                node_bits |= masks.TEXT
            else:
                node_bits |= child._mask & masks.SURFACE
    else:
        surface = node._mask & masks.SURFACE
        node_bits = surface | (surface & masks.LIFTED) << masks.SHIFT | implied(node.options)
    if isinstance(node, ToolTurnNode):
        # The turn is a turn and a tool result. As a turn it has no surface bit for the result.
        node_bits |= masks.RESULT << masks.SHIFT
    # The passes look at a node without content, because they leave it out or report it.
    content_bits = deep_bits(content) if content else masks.OPAQUE
    state = node._mask & ~(masks.DEEP | masks.SURFACE)
    copy = copied(node, content, state | node_bits | content_bits)
    if isinstance(node, ComponentNode):
        _set(copy, "running", getattr(node, "running", None))  # a slot without a field
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
    mask = masks.bits(masks.TURN | surface, deep_bits(content)) | implied(options)
    return make(cls, content, mask=mask, at=at, options=options, role=role, kind=kind)


# A tree from a tree.


def rewrite(
    root: N, change: Callable[[Node], Node | None], *, within: int, unchanged: Container[int] = ()
) -> N:
    """Return the tree with ``change`` applied bottom-up to the root and to nodes below it.

    These are the nodes that have a bit of ``within`` in their mask; a node without one is not
    visited, and neither is its content. ``change`` gets the node with its new content. It returns
    this node, another node, or ``None`` to leave the node out. For the root it returns a node of
    the same class; with ``None`` the root is returned unchanged. A node stays the same object if
    nothing in it changed.

    ``unchanged`` has the ``id()`` of nodes whose content is not visited. ``change`` gets them, too.
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
            no_children_to_visit: Iterator[Child] = iter(())
            open_nodes.append((child, [*child.content], no_children_to_visit))
        else:
            open_nodes.append((child, [], iter(child.content)))


# Ids of siblings, and numbers of turns with the same id.


def check_unique_ids(component: Node, content: tuple[Child, ...]) -> None:
    """Raise :class:`PlacementError` if two siblings have the same id.

    The children of a fragment are siblings of the fragment's neighbours. So the component around
    the outermost fragment compares all of them, and a fragment only its direct children. The
    alternatives of a ``FirstFit`` may have equal ids, because only one of them is sent. Groundings
    may have equal ids, because these are data: see :func:`numbered`.
    """
    if isinstance(component, FirstFitNode):
        return
    opens_fragments = not isinstance(component, FragmentNode)
    # A level is a group of siblings that are compared with each other. The alternatives of a
    # FirstFit are one level, and the nodes of each alternative are a level, too.
    levels = [_Siblings(with_bits(content, masks.NAMED))]
    while True:
        level = levels[-1]
        if not level.unvisited:
            levels.pop()
            if not levels:
                return
            _add_ids(level, levels[-1], component)
            continue
        child = level.unvisited.pop()
        if isinstance(child, RequestOnlyNode) and child.grounding:
            continue
        if level.are_alternatives:
            levels.append(_Siblings([child]))
        elif not isinstance(child, FragmentNode):
            id = child.options.id
            if id in level.ids:
                raise repeated_id_error(id, level.ids[id], child, component)
            level.ids[id] = child
        elif opens_fragments:
            nodes = with_bits(child.content, masks.NAMED)
            if isinstance(child, FirstFitNode):  # a subclass of FragmentNode
                levels.append(_Siblings(nodes, are_alternatives=True))
            else:
                level.unvisited += reversed(nodes)


class _Siblings:
    """Siblings that are compared, and their ids so far; alternatives may have equal ids."""

    __slots__ = ("are_alternatives", "ids", "unvisited")

    def __init__(self, nodes: list[Node], *, are_alternatives: bool = False) -> None:
        self.unvisited = nodes[::-1]
        """The nodes that were not compared yet, the next one last."""
        self.ids: dict[str | None, Node] = {}
        self.are_alternatives = are_alternatives


def _add_ids(inner: _Siblings, enclosing: _Siblings, component: Node) -> None:
    """Add the ids of a level to the level around it.

    Raises :class:`PlacementError` for an id that both have, unless the levels are alternatives.
    """
    earlier, later = enclosing.ids, inner.ids
    if not enclosing.are_alternatives and not earlier.keys().isdisjoint(later.keys()):
        id = next(id for id in later if id in earlier)
        raise repeated_id_error(id, earlier[id], later[id], component)
    # Alternatives may have many levels. So the smaller table is added to the larger one.
    smaller, larger = sorted((earlier, later), key=len)
    larger.update(smaller)
    enclosing.ids = larger


def repeated_id_error(id: str | None, first: Node, second: Node, component: Node) -> PlacementError:
    """Return the error for two siblings with the same id in a component."""
    fix = "give one of them a different id"
    first_source, second_source = first.source, second.source
    if first is second:
        fix = "it is the same part twice: include it once, or write two parts with two ids"
    elif isinstance(first._at, tuple) and first._at == second._at:
        # A tuple is the position of an instruction, not only a line.
        fix = f'this line runs twice: make the id an argument, or number it: f"{id}-{{number}}"'
    elif first_source == second_source is not None:  # equal, and not both unknown
        fix = "two parts on this line have this id: rename one of them"
    return PlacementError(
        f"the id {id!r} is used twice in one {label(component)}",
        fix=fix,
        at=(second_source, first_source),
    )


def numbered(content: tuple[Child, ...]) -> tuple[Child, ...]:
    """Return the children of a timeline, with different numbers if they have the same id.

    The number makes the address of a turn unique: ``page`` is the first turn with this id,
    ``"page"#2`` the second one.

    A section of the system message and a turn in the prompt's code get the first numbers. Then come
    groundings and recorded turns, in the order in which they are written. A turn that has a number
    keeps it, or gets a higher number.

    Only one alternative of a ``FirstFit`` is sent, so turns in different alternatives may have the
    same number. But if an alternative contains a second ``FirstFit``, all groundings and recorded
    turns of this alternative that have the same id get different numbers.
    """
    nodes = [*_nodes_with_id(content)]
    all_options = [node.options for node in nodes]
    ids = {options.id for options in all_options}
    if len(ids) == len(all_options) and all(options.number == 1 for options in all_options):
        return content
    section_numbers = {node.options.id: 1 for node in nodes if node._mask & masks.SECTION}
    code_numbers = {
        node.options.id: 1 + (node.options.id in section_numbers)
        for node in nodes
        if _is_in_code(node)
    }
    # The highest number of each id before the groundings and recorded turns.
    highest = {**section_numbers, **code_numbers}
    numbers = _numbers(content, highest, code_numbers)

    # ``rewrite`` changes the turns in document order, because no turn is inside another one.
    # ``_numbers`` yields the numbers in the same order. So the next number is that of this turn.
    def change(node: Node) -> Node:
        if not isinstance(node, TurnNode | RequestOnlyNode):
            return node
        number = next(numbers)
        if number == node.options.number:
            return node
        return replace(node, options=attrs.evolve(node.options, number=number))

    return rewrite(make(FragmentNode, content), change, within=masks.NAMED).content


def _nodes_with_id(content: Iterable[Child]) -> Iterator[Node]:
    """Yield the children of a timeline that have an id, and the sections in system turns."""
    node_stack = with_bits(content, masks.NAMED | masks.SYSTEM)
    while node_stack:
        node = node_stack.pop()
        if isinstance(node, FragmentNode) or node._mask & masks.SYSTEM:
            node_stack += with_bits(node.content, masks.NAMED | masks.SYSTEM)
        if node.options.id is not None:
            yield node


def _is_in_code(node: Node) -> bool:
    """Return whether a node is a turn in the prompt's code.

    Its id is unique among the turns in code, except those in other alternatives of a ``FirstFit``.
    """
    return isinstance(node, TurnNode) and node.kind == "written"


_Numbers: TypeAlias = MutableMapping[str | None, int]
"""Numbers of turns and sections, by id."""


def _numbers(
    content: Iterable[Child], highest: _Numbers, code_numbers: _Numbers, *, is_choice: bool = False
) -> Iterator[int]:
    """Yield the number of each turn with an id, in document order.

    ``highest`` has the highest number of each id so far, and is updated. ``code_numbers`` has the
    number of each turn in the prompt's code.

    For a ``FirstFit``, the function calls itself for each alternative, with ``is_choice=True``.
    With ``is_choice`` another ``FirstFit`` is numbered like a fragment. So the calls are only one
    level deep, whatever the depth of the tree is.
    """
    node_stack = with_bits(content, masks.NAMED)[::-1]
    while node_stack:
        node = node_stack.pop()
        if isinstance(node, SectionNode):
            continue
        id = node.options.id
        if isinstance(node, FirstFitNode) and not is_choice:
            # Each alternative begins with the numbers before the FirstFit. A ChainMap writes new
            # numbers to its first table, so ``highest`` does not change for the next alternative.
            highest_in_each = [ChainMap[str | None, int]({}, highest) for _ in node.content]
            for alternative, highest_in_it in zip(node.content, highest_in_each, strict=True):
                yield from _numbers((alternative,), highest_in_it, code_numbers, is_choice=True)
            # After the FirstFit, the highest number of all alternatives counts.
            for highest_in_it in highest_in_each:
                for id, number in highest_in_it.maps[0].items():
                    highest[id] = max(number, highest.get(id, 0))
        elif isinstance(node, FragmentNode):
            node_stack += reversed(with_bits(node.content, masks.NAMED))
        elif _is_in_code(node):
            yield code_numbers[id]
        else:
            highest[id] = max(node.options.number, highest.get(id, 0) + 1)
            yield highest[id]


# Functions that look for nodes.


def opaque_nodes(root: Node) -> list[Node]:
    """Return ``root`` and all nodes below it that passes have to look at (``OPAQUE``)."""
    return below(root, masks.OPAQUE)


def below(root: Node, bits: int) -> list[Node]:
    """Return ``root``, and the nodes below it that have one of these bits in their mask.

    ``root`` is the first node, whatever its bits are. Each node is before its children, and the
    last child of a node is before the others. The content of a node without the bits is not
    visited: a deep bit is in the mask of each node around the node that has it.
    """
    nodes: list[Node] = []
    node_stack = [root]
    while node_stack:
        node = node_stack.pop()
        nodes.append(node)
        node_stack += with_bits(node.content, bits)
    return nodes


def with_bits(content: Iterable[Child], bits: int) -> list[Node]:
    """Return the nodes among children that have one of these bits in their mask."""
    return [child for child in content if not isinstance(child, str) and child._mask & bits]


# Questions about content, turns and histories.


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


def mapped_role(turn: Node, role: Role) -> Role:
    """Return the role of an event or a grounding, for which the configuration says ``role``.

    With an attachment it is ``user``, because an instruction cannot hold an attachment.
    """
    return "user" if turn._mask & masks.MEDIA << masks.SHIFT else role


_CHOICES: frozenset[type[Node]] = frozenset({FirstFitNode, LimitNode, ReserveNode})
"""The nodes that are always a choice of the budget."""


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
    # COMPACTED is two bits, RECORDED and ITEM. A history without a compaction may have one of them.
    return isinstance(node, ConversationNode) and node._mask & masks.COMPACTED == masks.COMPACTED
