"""The life of a component with children: arguments, options, ``with`` block, and freezing.

Read the comment "The life of a component" first, then :class:`Container` and the functions after
it. The types before them are only for type checkers.
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
    join_open_block,
    leave,
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
from promptdsl.tree.rewrite import check_unique_ids, with_bits
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
# The ``_placement`` of a node says where it may be in a prompt. Each type below lists the
# placements that a component takes. A plain :class:`Node`, a ``Fragment`` and a component of an
# author may be anywhere for a type checker. They are checked when they are written, by ``_forbids``
# of the component around them.

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
"""The content of a list: items, and text that becomes an item."""

ItemContent: TypeAlias = "_Words | Placed[Literal['value', 'text']] | _Data"
"""The content of an item, and of a side of an example: text and parts of text, not ``None``."""

TextContent: TypeAlias = "_Words | Placed[Literal['value', 'text']] | _Data | _Nothing"
"""The content of a quote, a limit and an event block: text and parts of text."""

SystemContent: TypeAlias = "_Words | Placed[Literal['value', 'text', 'section']] | _Data | _Nothing"
"""The content of a system turn: text and sections."""

PartContent: TypeAlias = (
    "_Words | Placed[Literal['value', 'text', 'section', 'media']] | _Data | _Nothing"
)
"""The content of a section, a tool result and a grounding: text, sections and media."""

UserContent: TypeAlias = (
    "_Words | Placed[Literal['value', 'text', 'section', 'media', 'result']] | _Data | _Nothing"
)
"""The content of a user turn: also tool results."""

AssistantContent: TypeAlias = (
    "_Words | Placed[Literal['value', 'text', 'section', 'media', 'call']] | _Data | _Nothing"
)
"""The content of an assistant turn: also tool calls and reasoning."""

EventContent: TypeAlias = (
    "_Words | Placed[Literal['value', 'text', 'section', 'media', 'event']] | _Data | _Nothing"
)
"""The content of an event: also event blocks."""

TimelineContent: TypeAlias = "Placed[Literal['turn', 'section']] | _Nothing"
"""The content of a prompt: turns, tools, histories and sections, no text outside of them."""

Content: TypeAlias = "_Words | Placed[str] | _Data | _Nothing"
"""The content of a fragment, a group or a format: anything that the component around it holds."""


# The life of a component with children: arguments, options, ``with`` block, and freezing.
#
# A component has the slots of its node. It lives in five steps:
#
# 1. *begin*: the call of its class makes its options and its content from the arguments. Components
#    among the arguments joined the open block when they were written. ``adopt`` moves them into the
#    content. If the call fails, ``retract`` removes them.
# 2. *join*: the component is appended to the open block. ``put`` does this for a finished node.
# 3. *enter*: ``with`` makes its content a list. Now it is the open block, and new components join
#    it.
# 4. *leave*: the block closes, and the component is sealed. If an error ended the block, the
#    component *fails* instead: it is removed from its parent.
# 5. *seal*: its children are checked and frozen. A frozen component has another class, which
#    refuses every change. ``finish`` freezes a component that has no parent.
#
# The functions below are in this order: ``begin``, ``seal``, ``finish``, and the advice of errors.
# ``scope.py`` has *join*, *enter* and the cases of *leave* that end in an error. A component of an
# author begins in ``ComponentFunction.__call__`` (``custom.py``).

ROOTED = masks.ROOT | masks.TURN | masks.REQUEST | masks.RECORDED | masks.TOOL
"""The bits of nodes that may be children of a timeline, but never be inside a turn."""

NEXT_TO_TURNS = "write it next to the turns, directly in the Timeline"
"""The advice for a tool or an output that is written inside a turn."""

PART_FORBIDS = ROOTED | masks.ITEM | masks.CALL | masks.RESULT | masks.EVENT_BLOCK
"""The bits of nodes that may never be inside a part of a turn, such as a section."""

TEXT_FORBIDS = PART_FORBIDS | masks.SECTION | masks.MEDIA | masks.MEDIA << masks.SHIFT | masks.CACHE
"""The bits of nodes that may never be inside a part that is one text, such as a list."""

UNFINISHED = OPEN | UNWRITTEN
"""The bits of a component that may not be used: its block is open, or it has no content."""
FINISHED = ~UNFINISHED
"""All other bits."""


class Container(Component):
    """A component whose children are its arguments, and what is written in its ``with`` block."""

    __slots__ = ()
    _forbids: ClassVar[int] = 0
    """The bits that no child may have in its mask."""
    _inspected_bits: ClassVar[int] = masks.NAMED
    """The bits of children for which ``_finished_content`` is called; ids are always compared."""
    _inherited_bits: ClassVar[int] = DEEP
    """The bits that its mask gets from its children. A fragment gets their surface bits, too."""
    _checked_bits: ClassVar[int] = 0
    """The bits of children that need a check when it is sealed; without them, none is checked."""

    _gather = staticmethod(gather)
    """The function that makes its content from its arguments."""

    if TYPE_CHECKING:
        # This says to type checkers that ``with`` returns the component itself.
        def __enter__(self) -> Self: ...

    else:
        __enter__ = enter

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._inherited_bits = SURFACE | DEEP if issubclass(cls, FragmentNode) else DEEP
        cls._checked_bits = cls._forbids | cls._inspected_bits | UNWRITTEN | OPEN

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Close the block: its children become nodes. After an error, the component is removed."""
        top = innermost()
        # In a copied context the block may be closed already, and its component frozen.
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
        set_innermost(top.enclosing)
        own_bits = self._mask & FINISHED | CLOSED
        if not self.content:
            own_bits |= OPAQUE
            # With OPAQUE alone it had arguments, but all were skipped, such as None. Otherwise
            # nothing was written in it: UNWRITTEN and CLOSED are the bits for a hint.
            if self._mask & (OPAQUE | UNWRITTEN) != OPAQUE:
                own_bits |= UNWRITTEN
        try:
            seal(self, tuple(self.content), own_bits)
        except PromptError as problem:
            fail(self, top.enclosing)
            end_traceback(problem)
            raise

    def _finished_content(self, content: tuple[Child, ...], mask: int) -> tuple[Child, ...]:
        """Check the children and return the content: the children, or what replaces them.

        ``mask`` has the bits of all children.

        It is called if a child has a bit of ``_checked_bits``.
        """
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

    The caller has set its fields. ``id`` is the first argument of a component that takes an id
    first. ``at`` is its line, by default the line of the author, two calls up.

    Raises a :class:`PromptError` for a bad argument or option. Then the components among the
    arguments are removed from the open block, too.
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
        join_open_block(component)
    except PromptError as error:
        retract((*args, *volatile_in(args), *_nodes_of(component, id, *options.values())))
        end_traceback(error)
        raise


def begin_leaf(component: Component, unknown: Mapping[str, Never]) -> None:
    """Check the fields of a new component without children, and put it into the open block.

    Raises :class:`OptionError` for a keyword in ``unknown``, and the errors of its fields.
    """
    start(component, 3)
    try:
        if unknown:
            refuse_options(component, unknown)
        component._check_fields()
        join_open_block(component)
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
        what = f"{shown(id)} cannot be the id of {named_label(component)}"
        if id is LEFT_OUT:
            what = f"{named_label(component)} needs an id"
            problem = f'the id comes first: {label(component)}("rules", "...")'
        raise OptionError(what, fix=problem, at=(component.source,))
    return str.__str__(id)


def seal(component: Container, content: tuple[Any, ...], own_bits: int) -> None:
    """Freeze and check the children of a component, and set its content and its mask.

    The mask is ``own_bits``, and the bits that it gets from the children.
    """
    mask = 0
    try:
        for child in content:
            mask |= child._mask
            child.__class__ = child._frozen
    except AttributeError:
        # A child is a string, which has no mask, or it is frozen already, and refuses the change.
        mask = _freeze(content)
    if mask & component._checked_bits:
        content = _checked_children(component, content, mask)
    component.content = content
    component._mask = own_bits | mask & component._inherited_bits


def _freeze(content: tuple[Child, ...]) -> int:
    """Freeze the components in the content, and return the bits of all children."""
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
    """Check the children and return them.

    Raises the errors of ``check_finished``, and :class:`PlacementError` for a child that may not be
    there, and for a repeated id.
    """
    if mask & (component._forbids | UNWRITTEN | OPEN):
        for child in content:
            _check_child(component, child)
    check_unique_ids(component, content)
    return component._finished_content(content, mask)


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
        raise misplaced(forbidden_node(child, component._forbids), component)


def forbidden_node(node: Node, forbidden: int) -> Node:
    """Return the node that has one of the forbidden bits: the node itself, or a node inside it."""
    with_own_bits = LimitNode | ConversationNode
    while True:
        # The surface bits of a fragment are those of its children. Limits and histories are
        # fragments, too, but have surface bits that are not from a child.
        is_transparent = isinstance(node, FragmentNode) and not isinstance(node, with_own_bits)
        bits = forbidden
        if not is_transparent:
            if node._mask & SURFACE & forbidden:
                return node
            bits = forbidden & DEEP
        inner = with_bits(node.content, bits)
        if not inner:
            return node
        node = inner[0]


def finish(component: Node) -> Node:
    """Freeze a component and return it; a node is returned unchanged.

    Raises the errors of ``check_finished`` if it is not finished.
    """
    if component._mask & UNFINISHED:
        check_finished(component, component)
    if type(component) is not component._frozen:
        component.__class__ = component._frozen
    return component


def turn_advice(node: Node, otherwise: str) -> str:
    """Return where to write a node that may not be in a turn; ``otherwise`` is the usual advice."""
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
"""The advice for a node in a turn: the first row decides of whose bits the node has one."""


def part_advice(node: Node, otherwise: str) -> str:
    """Return where to write a node that may not be in a part; ``otherwise`` is the usual advice."""
    return NEXT_TO_TURNS if isinstance(node, ToolNode | OutputNode) else otherwise
