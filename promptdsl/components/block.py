"""How a component is written: its arguments, its options, its block, and how it is frozen.

A component has the slots of its node. Its life, in order:

1. *begin*: a call makes its options and content of the arguments; components among these, which
   had joined the open block a moment ago, are moved in (``adopt``; ``retract`` where it fails);
2. *join*: it is appended to the open block (``place`` for one without a block, ``put`` for a node);
3. *enter*, for ``with``: its content becomes a list, and it the open block, which others join;
4. *leave*: the block closes and is sealed; one that raised *fails*, and is taken out again;
5. *seal*: its children are checked and frozen: they get the frozen class of their component, which
   refuses every change. A component without a parent is frozen by ``finish``.

What ``@component`` makes begins in ``ComponentFunction.__call__`` (``custom.py``); *enter* is
``scope.enter``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Never, Self

from promptdsl.components.arguments import TEXT_BITS, check_finished, gather, volatile_in
from promptdsl.components.options import id_problem, options_of, refuse_options
from promptdsl.components.scope import (
    Component,
    enter,
    fail,
    getframe,
    innermost,
    is_unused,
    leave,
    misplaced,
    place,
    retract,
    set_innermost,
    start,
)
from promptdsl.foundation.errors import OptionError, PlacementError, PromptError, shown
from promptdsl.foundation.json import ABSENT
from promptdsl.foundation.signatures import LEFT_OUT
from promptdsl.foundation.source import Position, Source, end_traceback
from promptdsl.tree import masks
from promptdsl.tree.group_nodes import ConversationNode, FragmentNode, LimitNode
from promptdsl.tree.masks import BARE, CLOSED, DEEP, HOLLOW, OPEN, SURFACE
from promptdsl.tree.node import DEFAULTS, Child, Node, label, make, named_label, nodes_in
from promptdsl.tree.part_nodes import TextNode
from promptdsl.tree.rewrite import unique_ids
from promptdsl.tree.turn_nodes import OutputNode, ToolNode

ROOTED = masks.ROOT | masks.TURN | masks.REQUEST | masks.RECORDED | masks.TOOL
"""Children of a timeline only: never inside a turn or a part of one."""

BESIDE = "write it beside the turns, directly in the Timeline"
"""The advice for a tool or an output that is written inside a turn."""

PART_FORBIDS = ROOTED | masks.ITEM | masks.CALL | masks.RESULT | masks.EVENT_BLOCK
"""Never inside a part of a turn: children of one kind of turn, and items outside of lists."""

TEXT_FORBIDS = PART_FORBIDS | masks.SECTION | masks.MEDIA | masks.MEDIA << masks.SHIFT | masks.CACHE
"""Never inside a part that is one text."""

UNFINISHED = OPEN | BARE
FINISHED = ~UNFINISHED


class Container(Component):
    """A component that has children: as arguments, or written in its ``with`` block."""

    __slots__ = ()
    _forbids: ClassVar[int] = 0
    """The bits that are refused in a child: those of itself (surface) or inside it (deep)."""
    _inspects: ClassVar[int] = masks.NAMED
    """The bits of children that ``_inspect`` is called for; ids have to be unique."""
    _shows: ClassVar[int] = DEEP
    """The bits it takes over from its children: all but their states in a fragment."""
    _stops: ClassVar[int] = 0
    """All bits for which its children are looked at when it is sealed."""

    _gather = staticmethod(gather)
    """The function that makes content of its arguments."""

    if TYPE_CHECKING:
        # A type checker is told that a block has the class of the component.
        def __enter__(self) -> Self: ...

    else:
        __enter__ = enter

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._shows = SURFACE | DEEP if issubclass(cls, FragmentNode) else DEEP
        cls._stops = cls._forbids | cls._inspects | BARE | OPEN

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Close the block: its children become nodes. An error in it takes the block out again."""
        top = innermost()
        # The block may have been left in a copied context and used since: then it stays.
        if kind is not None or top is None or top.component is not self or not is_unused(self):
            try:
                fail(self, leave(self, raised=kind is not None))
            except PromptError as problem:
                end_traceback(problem)
                raise
            return
        set_innermost(top.around)
        # The same as seal(), without the call: a block takes 5 % less.
        content = tuple(self.content)
        own = self._mask & FINISHED | CLOSED
        if not content:
            # Arguments that are nothing, such as None, make it hollow; a fragment always is.
            had_arguments = self._mask & HOLLOW and not self._mask & BARE
            own |= HOLLOW if had_arguments else HOLLOW | BARE
        mask = 0
        try:
            for child in content:
                mask |= child._mask
                child.__class__ = child._frozen
        except AttributeError:
            mask = _freeze(content)
        if mask & self._stops:
            try:
                content = _checked_children(self, content, mask)
            except PromptError as problem:
                fail(self, top.around)
                end_traceback(problem)
                raise
        self.content = content
        self._mask = own | mask & self._shows

    def _inspect(self, content: tuple[Child, ...], mask: int) -> tuple[Child, ...]:
        """Check the children where their mask has a bit of ``_inspects``, and return them."""
        return content


def begin(
    component: Container,
    args: tuple[object, ...],
    options: Mapping[str, object],
    *,
    id: object = ABSENT,
    at: Position | Source | None = None,
) -> None:
    """Fill a new component from its arguments and options, and put it into the open block.

    Its fields are set already. ``id`` is the first argument of a component that is written with
    one. Its line is ``at``, or that of the author, two calls up.
    """
    if at is None:
        frame = getframe(2)
        at = (frame.f_code, frame.f_lasti)
    component._code, component._offset = at if isinstance(at, tuple) else (at, -1)
    component.content = ()
    component.options = DEFAULTS
    component._mask = component._own | BARE
    try:
        component._check_fields()
        if id is not ABSENT:
            component.options = options_of(component, options, _checked_id(component, id))
        elif options:
            component.options = options_of(component, options)
        if args:
            content = tuple(component._gather(component, args))
            seal(component, content, component._mask & ~BARE)
            if not component.content:
                component._mask |= HOLLOW
        place(component)
    except PromptError as error:
        fields = [getattr(component, name, None) for name in type(component)._field_names]
        retract((*args, *volatile_in(args), *nodes_in(id, *options.values(), *fields)))
        end_traceback(error)
        raise


def begin_leaf(component: Component, unknown: Mapping[str, Never]) -> None:
    """Check the fields of a new component that has no children, and put it into the open block."""
    start(component, 3)
    try:
        if unknown:
            refuse_options(component, unknown)
        component._check_fields()
        place(component)
    except PromptError as error:
        fields = [getattr(component, name, None) for name in type(component)._field_names]
        retract(nodes_in(*unknown.values(), *fields))
        end_traceback(error)
        raise


def _checked_id(component: Component, id: object) -> str:
    problem = id_problem(component, id)
    if problem or not isinstance(id, str):
        what = f"{shown(id)} is not the id of {named_label(component)}"
        if id is LEFT_OUT:
            what = f"{named_label(component)} needs an id"
            problem = f'it comes first: {label(component)}("rules", "...")'
        raise OptionError(what, fix=problem, at=(component.source,))
    return str.__str__(id)


def seal(component: Container, content: tuple[Any, ...], own: int) -> None:
    """Freeze and check the children of a component; ``own`` is the part of its mask that stays."""
    mask = 0
    try:
        for child in content:
            mask |= child._mask
            child.__class__ = child._frozen
    except AttributeError:
        # A string has no mask, and a part that is frozen already refuses to be frozen again.
        mask = _freeze(content)
    if mask & component._stops:
        content = _checked_children(component, content, mask)
    component.content = content
    component._mask = own | mask & component._shows


def _freeze(content: tuple[Child, ...]) -> int:
    """Turn the components of a content into nodes, and return their masks, joined."""
    mask = 0
    for child in content:
        if isinstance(child, str):
            mask |= TEXT_BITS if child else TEXT_BITS | HOLLOW
        else:
            mask |= child._mask
            if type(child) is not child._frozen:
                child.__class__ = child._frozen
    return mask


def _checked_children(
    component: Container, content: tuple[Child, ...], mask: int
) -> tuple[Child, ...]:
    """Return the children, or raise for one that is unfinished, misplaced, or has a used id."""
    if mask & (component._forbids | BARE | OPEN):
        for child in content:
            _check_child(component, child)
    unique_ids(component, content)
    return component._inspect(content, mask)


def _check_child(component: Container, child: Child) -> None:
    if isinstance(child, str):
        if TEXT_BITS & component._forbids:
            raise PlacementError(
                f"loose text cannot be in {named_label(component)}: {child[:40]!r}",
                fix=component._advice(make(TextNode)),
                at=(component.source,),
            )
        return
    check_finished(child, component)
    if child._mask & component._forbids:
        raise misplaced(culprit(child, component._forbids), component)


def culprit(node: Node, forbidden: int) -> Node:
    """Return the node that brings in the forbidden bits: the node itself, or one inside it."""
    whole = LimitNode | ConversationNode
    while True:
        # A fragment has the bits of its children, a limit those of a text; a history is one thing.
        passes = isinstance(node, FragmentNode) and not isinstance(node, whole)
        if node._mask & SURFACE & forbidden and not passes:
            return node
        bits = forbidden if passes else forbidden & DEEP
        inner = [
            child for child in node.content if not isinstance(child, str) and child._mask & bits
        ]
        if not inner:
            return node
        node = inner[0]


def finish(component: Node) -> Node:
    """Return a component, frozen at its first use."""
    if component._mask & UNFINISHED:
        check_finished(component, component)
    if type(component) is not component._frozen:
        component.__class__ = component._frozen
    return component


def turn_advice(node: Node, otherwise: str) -> str:
    """Return where a node belongs that may not be in a turn."""
    if node._mask & (masks.ROOT | masks.TURN | masks.REQUEST | masks.RECORDED):
        return "a turn is never inside a turn: write it beside it, directly in the Timeline"
    if node._mask & masks.TOOL:
        return BESIDE
    if node._mask & masks.ITEM:
        return "an Item belongs in a List or a Checklist"
    if node._mask & masks.CALL:
        return f"only an Assistant turn holds {named_label(node)}: Assistant({label(node)}(...))"
    if node._mask & masks.RESULT:
        return "only a User or tool turn holds a ToolResult"
    if node._mask & masks.EVENT_BLOCK:
        return f"only an Event holds {named_label(node)}"
    return otherwise


def part_advice(node: Node, otherwise: str) -> str:
    """Return where a node belongs that may not be in a part of a turn."""
    return BESIDE if isinstance(node, ToolNode | OutputNode) else otherwise
