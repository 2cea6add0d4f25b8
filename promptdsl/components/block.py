"""The life of a component with children: arguments, options, ``with`` block, and freezing.

The types of a component's content, for type checkers, come first.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Never, Protocol, Self, TypeAlias, TypeVar

from promptdsl.components.arguments import TEXT_BITS, check_finished, gather, volatile_in
from promptdsl.components.options import id_problem, options_of, refuse_options
from promptdsl.components.scope import (
    Component,
    enter,
    fail,
    freeze,
    getframe,
    innermost,
    leave,
    location,
    misplaced,
    retract,
    set_innermost,
    start,
)
from promptdsl.foundation.errors import OptionError, PlacementError, PromptError, shown
from promptdsl.foundation.json import ABSENT
from promptdsl.foundation.source import LEFT_OUT, Position, Source, end_traceback
from promptdsl.messages.blocks import Block
from promptdsl.tree import masks
from promptdsl.tree.masks import CLOSED, DEEP, OPAQUE, OPEN, SURFACE, UNWRITTEN
from promptdsl.tree.node import DEFAULTS, Child, Node, label, make, named_label, nodes_in
from promptdsl.tree.part_nodes import TextNode
from promptdsl.tree.rewrite import unique_ids, with_bits
from promptdsl.tree.turn_nodes import (
    ConversationNode,
    FragmentNode,
    LimitNode,
    OutputNode,
    ToolNode,
)

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction

    from promptdsl.components.arguments import TString


# The types of a component's content, for type checkers: they find errors before the code runs.
#
# The ``_placement`` of a node is where it may be in a prompt. Each type below lists the placements
# that a component takes. A plain :class:`Node` may have any placement, and so may a ``Fragment`` or
# a component of an author. Such a part is checked when it is written, by ``_forbids`` of a class.

P_co = TypeVar("P_co", bound=str, covariant=True)


class Placed(Protocol[P_co]):
    """A node whose placement is one of ``P_co``, or a node of any placement."""

    @property
    def _placement(self) -> P_co: ...


_Words: TypeAlias = "str | int | float | Decimal | Fraction | TString"
_Data: TypeAlias = Block | Mapping[str, Any]
_Nothing: TypeAlias = bool | None
"""``None`` and ``False`` are skipped. ``True`` is an error, and so is a mapping in ``_Data`` that
does not describe a block."""

InlineContent: TypeAlias = "_Words | Placed[Literal['value']]"
"""A piece of a text."""

ListContent: TypeAlias = "_Words | Placed[Literal['value', 'text', 'item']] | _Nothing"
"""A list holds items, and text that becomes an item."""

ItemContent: TypeAlias = "_Words | Placed[Literal['value', 'text']] | _Data"
"""An item and a side of an example hold text and parts of text, and not ``None``."""

TextContent: TypeAlias = "_Words | Placed[Literal['value', 'text']] | _Data | _Nothing"
"""A quote, a limit and an event block hold text and parts of text."""

SystemContent: TypeAlias = "_Words | Placed[Literal['value', 'text', 'section']] | _Data | _Nothing"
"""A system turn holds text and sections."""

PartContent: TypeAlias = (
    "_Words | Placed[Literal['value', 'text', 'section', 'media']] | _Data | _Nothing"
)
"""A section, a result and grounding hold text, sections and media."""

UserContent: TypeAlias = (
    "_Words | Placed[Literal['value', 'text', 'section', 'media', 'result']] | _Data | _Nothing"
)
"""A turn of the user holds tool results, too."""

AssistantContent: TypeAlias = (
    "_Words | Placed[Literal['value', 'text', 'section', 'media', 'call']] | _Data | _Nothing"
)
"""A turn of the model holds tool calls and reasoning, too."""

EventContent: TypeAlias = (
    "_Words | Placed[Literal['value', 'text', 'section', 'media', 'event']] | _Data | _Nothing"
)
"""An event holds event blocks, too."""

TimelineContent: TypeAlias = "Placed[Literal['turn', 'section']] | _Nothing"
"""A prompt holds turns, tools, histories and sections, and no loose text."""

Content: TypeAlias = "_Words | Placed[str] | _Data | _Nothing"
"""A fragment, a group or a format holds anything that the component around it may hold."""


# The life of a component with children: arguments, options, ``with`` block, and freezing.
#
# A component has the slots of its node. Its life, in order:
#
# 1. *begin*: a call makes its options and its content from the arguments. Components among the
#    arguments joined the open block when they were written; ``adopt`` moves them into the content,
#    and ``retract`` removes them if the call fails.
# 2. *join*: the component is appended to the open block. ``put`` does the same for a finished node.
# 3. *enter*: ``with`` makes its content a list. Now it is the open block, and others join it.
# 4. *leave*: the block closes, and the component is sealed. If an error ended the block, the
#    component *fails*: it is removed from its parent.
# 5. *seal*: its children are checked and frozen. A frozen component has another class, which
#    refuses every change. ``finish`` freezes a component without a parent.
#
# The functions below are in this order: ``begin``, ``seal``, ``finish``, and the advice of errors.
# A component of an author begins in ``ComponentFunction.__call__`` (``custom.py``). *enter* is
# ``scope.enter``.

ROOTED = masks.ROOT | masks.TURN | masks.REQUEST | masks.RECORDED | masks.TOOL
"""The bits of nodes that are only children of a timeline, never inside a turn."""

NEXT_TO_TURNS = "write it next to the turns, directly in the Timeline"
"""The advice for a tool or an output that is written inside a turn."""

PART_FORBIDS = ROOTED | masks.ITEM | masks.CALL | masks.RESULT | masks.EVENT_BLOCK
"""The bits of nodes that are never inside a part of a turn, such as a section."""

TEXT_FORBIDS = PART_FORBIDS | masks.SECTION | masks.MEDIA | masks.MEDIA << masks.SHIFT | masks.CACHE
"""The bits of nodes that are never inside a part that is one text."""

UNFINISHED = OPEN | UNWRITTEN
FINISHED = ~UNFINISHED


class Container(Component):
    """A component with children, which are arguments or are written in its ``with`` block."""

    __slots__ = ()
    _forbids: ClassVar[int] = 0
    """The bits that no child may have: surface bits of the child, or deep bits inside it."""
    _inspects: ClassVar[int] = masks.NAMED
    """The bits of children for which ``_inspect`` is called; ids have to be unique."""
    _shows: ClassVar[int] = DEEP
    """The bits that it gets from its children: a fragment gets their surface bits, too."""
    _stops: ClassVar[int] = 0
    """All bits for which its children are checked when it is sealed."""

    _gather = staticmethod(gather)
    """The function that makes content of its arguments."""

    if TYPE_CHECKING:
        # For type checkers: ``with`` returns the component itself.
        def __enter__(self) -> Self: ...

    else:
        __enter__ = enter

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._shows = SURFACE | DEEP if issubclass(cls, FragmentNode) else DEEP
        cls._stops = cls._forbids | cls._inspects | UNWRITTEN | OPEN

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Close the block: its children become nodes. After an error, the component is removed."""
        top = innermost()
        # In a copied context the block may have been closed and used before: then it stays.
        if (
            kind is not None
            or top is None
            or top.component is not self
            or type(self) is self._frozen
        ):
            try:
                fail(self, leave(self, raised=kind is not None))
            except PromptError as problem:
                end_traceback(problem)
                raise
            return
        set_innermost(top.around)
        kept = self._mask & FINISHED | CLOSED
        if not self.content:
            # OPAQUE without UNWRITTEN: all its arguments were nothing, such as None.
            kept |= OPAQUE
            if self._mask & (OPAQUE | UNWRITTEN) != OPAQUE:
                kept |= UNWRITTEN
        try:
            seal(self, tuple(self.content), kept)
        except PromptError as problem:
            fail(self, top.around)
            end_traceback(problem)
            raise

    def _inspect(self, content: tuple[Child, ...], mask: int) -> tuple[Child, ...]:
        """Return the children, checked; called if their mask has a bit of ``_inspects``."""
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

    Its fields are set before. ``id`` is the first argument of a component that begins with an id.
    Its line is ``at``; by default the author's line, two calls up.
    """
    if at is None:
        frame = getframe(2)
        at = (frame.f_code, frame.f_lasti)
    component._code, component._offset = at if isinstance(at, tuple) else (at, -1)
    component.content = ()
    component.options = DEFAULTS
    component._mask = component._initial_mask | UNWRITTEN
    try:
        component._check_fields()
        if id is not ABSENT:
            component.options = options_of(component, options, _checked_id(component, id))
        elif options:
            component.options = options_of(component, options)
        if args:
            content = tuple(component._gather(component, args))
            seal(component, content, component._mask & ~UNWRITTEN)
            if not component.content:
                component._mask |= OPAQUE
        location(component)
    except PromptError as error:
        retract((*args, *volatile_in(args), *_nodes_of(component, id, *options.values())))
        end_traceback(error)
        raise


def begin_leaf(component: Component, unknown: Mapping[str, Never]) -> None:
    """Check the fields of a new component without children, and put it into the open block."""
    start(component, 3)
    try:
        if unknown:
            refuse_options(component, unknown)
        component._check_fields()
        location(component)
    except PromptError as error:
        retract(_nodes_of(component, *unknown.values()))
        end_traceback(error)
        raise


def _nodes_of(component: Component, *arguments: object) -> list[Node]:
    """Return the nodes in the fields of a component, and in its other arguments."""
    fields = [getattr(component, name, None) for name in type(component)._field_names]
    return nodes_in(*arguments, *fields)


def _checked_id(component: Component, id: object) -> str:
    problem = id_problem(component, id)
    if problem or not isinstance(id, str):
        what = f"{shown(id)} is not the id of {named_label(component)}"
        if id is LEFT_OUT:
            what = f"{named_label(component)} needs an id"
            problem = f'it comes first: {label(component)}("rules", "...")'
        raise OptionError(what, fix=problem, at=(component.source,))
    return str.__str__(id)


def seal(component: Container, content: tuple[Any, ...], kept: int) -> None:
    """Freeze and check the children of a component; ``kept`` are the bits of its mask that stay."""
    mask = 0
    try:
        for child in content:
            mask |= child._mask
            child.__class__ = child._frozen
    except AttributeError:
        # A string has no mask, and a frozen part cannot be frozen again.
        mask = _freeze(content)
    if mask & component._stops:
        content = _checked_children(component, content, mask)
    component.content = content
    component._mask = kept | mask & component._shows


def _freeze(content: tuple[Child, ...]) -> int:
    """Freeze the components in the content, and return their masks, joined."""
    mask = 0
    for child in content:
        if isinstance(child, str):
            mask |= TEXT_BITS
            if not child:
                mask |= OPAQUE
        else:
            mask |= freeze(child)._mask
    return mask


def _checked_children(
    component: Container, content: tuple[Child, ...], mask: int
) -> tuple[Child, ...]:
    """Return the children; raise an error for one that is unfinished or misplaced, or its id."""
    if mask & (component._forbids | UNWRITTEN | OPEN):
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
    """Return the node that has the forbidden bits: the node itself, or a node inside it."""
    opaque = LimitNode | ConversationNode
    while True:
        # The bits of a fragment are those of its children; a limit and a history have their own.
        passes = isinstance(node, FragmentNode) and not isinstance(node, opaque)
        bits = forbidden
        if not passes:
            if node._mask & SURFACE & forbidden:
                return node
            bits = forbidden & DEEP
        inner = with_bits(node.content, bits)
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
    """Return the advice for a node that may not be in a turn: where it belongs."""
    for bits, advice in _TURN_ADVICE:
        if node._mask & bits:
            return advice.format(part=named_label(node), name=label(node))
    return otherwise


_TURN_ADVICE = (
    (
        masks.ROOT | masks.TURN | masks.REQUEST | masks.RECORDED,
        "a turn cannot be in a turn: write it next to the turn, directly in the Timeline",
    ),
    (masks.TOOL, NEXT_TO_TURNS),
    (masks.ITEM, "an Item belongs in a List or a Checklist"),
    (masks.CALL, "only an Assistant turn holds {part}: Assistant({name}(...))"),
    (masks.RESULT, "only a User or tool turn holds a ToolResult"),
    (masks.EVENT_BLOCK, "only an Event holds {part}"),
)
"""The advice for a node in a turn, by the bits of its mask; the first bits that it has decide."""


def part_advice(node: Node, otherwise: str) -> str:
    """Return the advice for a node that may not be in a part of a turn: where it belongs."""
    return NEXT_TO_TURNS if isinstance(node, ToolNode | OutputNode) else otherwise
