"""How a component is written: its arguments, its options, its block, and its turning into a node.

A component has the slots of its node. Its life, in order:

1. *begin*: a call makes its options and content of the arguments; components among these, which
   had joined the open block a moment ago, are moved in (``adopt``; ``retract`` where it fails);
2. *join*: it is appended to the open block (``place`` for one without a block, ``put`` for a node);
3. *enter*, for ``with``: its content becomes a list, and it the open block, which others join;
4. *leave*: the block closes and is sealed; one that raised *fails*, and is taken out again;
5. *seal*: its children are checked and frozen: their class is swapped to that of the node, which
   refuses every change. What has no parent is frozen by ``finish``.
"""

from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from promptdsl.components.arguments import TEXT_BITS, bare, check_finished, gather, retract
from promptdsl.components.options import check_id, options_of, unknown_option
from promptdsl.components.scope import NOT_BARE, OPENED, enter, fail, join, leave, misplaced
from promptdsl.foundation.errors import OptionError, PlacementError, PromptError, ScopeError
from promptdsl.tree.group_nodes import FragmentNode, LimitNode
from promptdsl.tree.masks import (
    BARE,
    BUSY,
    CACHE,
    CALL,
    CLOSED,
    DEEP,
    EVENT_BLOCK,
    HOLLOW,
    ITEM,
    MEDIA,
    NAMED,
    OPEN,
    RECORDED,
    REQUEST,
    RESULT,
    ROOT,
    SECTION,
    SHIFT,
    SURFACE,
    TEXT,
    TOOL,
    TURN,
)
from promptdsl.tree.node import DEFAULTS, Node, label, make, named_label
from promptdsl.tree.part_nodes import TextNode
from promptdsl.tree.rewrite import unique_ids

ROOTED = ROOT | TURN | REQUEST | RECORDED | TOOL
"""What stands directly in a timeline only, so never inside a turn or a part of one."""

BESIDE = "write it beside the turns, directly in the Timeline"
"""What to do with a tool or an output that is written inside of one."""

PART_FORBIDS = ROOTED | ITEM | CALL | RESULT | EVENT_BLOCK
"""What stands in no part of a turn: what belongs to one kind of turn, items outside of lists."""

TEXT_FORBIDS = PART_FORBIDS | SECTION | MEDIA | MEDIA << SHIFT | CACHE
"""What stands in no part that is one text."""

NOT_OPEN = ~OPEN
UNFINISHED = OPEN | BARE
UNSETTLED = BUSY | BARE | TEXT


class Written(Node):
    """What all components share: being mutable until they are nodes."""

    __slots__ = ()
    _accepts: ClassVar[frozenset[str]] = frozenset()
    """The names of the options that may be said as keywords."""
    _own: ClassVar[int] = 0
    """The bits of its mask that do not depend on what is in it."""

    def __init_subclass__(cls) -> None:
        nodes = (base for base in cls.__mro__ if issubclass(base, Node))
        cls._node = next(node for node in nodes if not issubclass(node, Written))

    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__

    def _keywords(self) -> frozenset[str]:
        """Return the names of the keywords this component takes."""
        return self._accepts


def with_own_code(function: Any) -> FunctionType:
    """Return a copy of a function that shares no code object with it.

    The interpreter remembers in a code object which class it saw last. Shared by all components
    that memory never fits; with a copy for each class a block costs a twentieth less.
    """
    copy = FunctionType(
        function.__code__.replace(),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__doc__ = function.__doc__
    return copy


class Block(Written):
    """A component that holds others: as arguments, or written in its ``with`` block."""

    __slots__ = ()
    _forbids: ClassVar[int] = 0
    """What no child may be (surface bits) or hold (deep bits)."""
    _forbids_at_once: ClassVar[int] = 0
    """What of it is refused the moment it is written in the block; the rest when the block closes,
    as until then it may still become an argument of another component."""
    _inspects: ClassVar[int] = NAMED
    """The bits of children that ``_inspect`` is called for; ids have to be unique."""
    _shows: ClassVar[int] = DEEP
    """The bits it takes over from its children: all but their states in a fragment."""
    _stops: ClassVar[int] = 0
    """All bits for which its children are looked at when it is sealed."""

    _gather = staticmethod(gather)
    """How its arguments become its content."""

    content: Any

    if TYPE_CHECKING:

        def __enter__(self) -> Self: ...

    else:
        __enter__ = enter

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._shows = SURFACE | DEEP if issubclass(cls, FragmentNode) else DEEP
        cls._stops = cls._forbids | cls._inspects | BARE | OPEN
        for name in ("__enter__", "__exit__"):
            setattr(cls, name, with_own_code(getattr(cls, name)))

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        top = OPENED.get()
        if kind is not None or top is None or top[0] is not self:
            fail(self, leave(self, raised=kind is not None))
            return
        OPENED.set(top[1])
        # What seal() does, without the call: it is a twentieth of what a block costs.
        content = tuple(self.content)
        own = self.mask & NOT_OPEN | (CLOSED if content else CLOSED | HOLLOW)
        mask = 0
        try:
            for child in content:
                mask |= child.mask
                child.__class__ = child._node
        except AttributeError:
            mask = _freeze(content)
        if mask & self._stops:
            try:
                _check(self, content, mask)
            except PromptError:
                fail(self, top[1])
                raise
        self.content = content
        self.mask = own | mask & self._shows

    def _advice(self, node: Node) -> str:
        return "write it outside of this block"

    def _inspect(self, content: tuple[Any, ...], mask: int) -> None:
        """Check what a mask cannot say, where it tells that there is something to look at."""


def begin(component: Any, args: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    """Fill a new block component from its arguments and options, and place it."""
    component.content = ()
    component.options = DEFAULTS
    component.mask = component._own | BARE
    if args or options:
        try:
            if options:
                component.options = options_of(component, options)
            if args:
                content = args if _are_finished(args) else tuple(component._gather(component, args))
                seal(component, content, component.mask & NOT_BARE)
        except PromptError:
            retract(args)
            raise
    if args and not component.content:
        component.mask |= HOLLOW
    top = OPENED.get()
    if top is not None:
        join(component, top, component.mask)


def _are_finished(args: tuple[Any, ...]) -> bool:
    """Whether the arguments are components that need nothing done: no text, none placed or open."""
    mask = 0
    for arg in args:
        if not isinstance(arg, Node):
            return False
        mask |= arg.mask
    return not mask & UNSETTLED


def seal(component: Any, content: tuple[Any, ...], own: int) -> None:
    """Freeze the children of a component and set its content and mask, of which ``own`` is a part.

    Raises :class:`PlacementError` for a child that may not stand here.
    """
    mask = 0
    try:
        for child in content:
            mask |= child.mask
            child.__class__ = child._node
    except AttributeError:
        # A string has no mask, and a part that is frozen already refuses to be frozen again.
        mask = _freeze(content)
    if mask & component._stops:
        _check(component, content, mask)
    component.content = content
    component.mask = own | mask & component._shows


def _freeze(content: tuple[Any, ...]) -> int:
    """Turn the components of a content into nodes, and return what they are and hold."""
    mask = 0
    for child in content:
        if type(child) is str:
            mask |= TEXT_BITS if child else TEXT_BITS | HOLLOW
        else:
            mask |= child.mask
            if type(child) is not child._node:
                child.__class__ = child._node
    return mask


def _check(component: Any, content: tuple[Any, ...], mask: int) -> None:
    if mask & (component._forbids | BARE | OPEN):
        raise _offence(component, content)
    unique_ids(component, content)
    component._inspect(content, mask)


def _offence(component: Any, content: tuple[Any, ...]) -> PromptError:
    for child in content:
        mask = _mask(child)
        if mask & BARE:
            return bare(child)
        if mask & OPEN:
            return ScopeError(
                f"the {label(child)} in this {label(component)} is still open",
                fix="close its block first",
                at=(child.source, component.source),
            )
        if mask & component._forbids:
            return _misplaced(component, child)
    raise AssertionError("no child was at fault")


def _mask(child: Any) -> int:
    return TEXT_BITS if type(child) is str else int(child.mask)


def _misplaced(component: Any, child: Any) -> PlacementError:
    if type(child) is str:
        return PlacementError(
            f"loose text cannot stand in {named_label(component)}: {child[:40]!r}",
            fix=component._advice(make(TextNode)),
            at=(component.source,),
        )
    return misplaced(culprit(child, component._forbids), component)


def culprit(node: Node, forbidden: int) -> Node:
    """Return the node that brings what is forbidden: the node itself, or one inside it."""
    while (passes := _shows_others(node)) or not node.mask & SURFACE & forbidden:
        scope = forbidden if passes else forbidden & DEEP
        inner = next((c for c in node.content if type(c) is not str and c.mask & scope), None)
        if inner is None:
            break
        node = inner
    return node


def _shows_others(node: Node) -> bool:
    """Return whether a node is nothing at its own level but what it holds."""
    return isinstance(node, FragmentNode) and not isinstance(node, LimitNode)


def finish(component: Any) -> Node:
    """Return the node of a component, freezing it at its first use."""
    if component._node is not type(component):
        if component.mask & UNFINISHED:
            check_finished(component, component)
        component.__class__ = component._node
    return cast("Node", component)


def named(
    component: Any, id: Any, content: tuple[Any, ...], options: dict[str, Any]
) -> dict[str, Any]:
    """Return the options with the id a component is given first."""
    if "id" in options:
        retract(content)
        raise unknown_option(component, "id", component._keywords(), component.source)
    problem = check_id(id)
    if problem:
        retract(content)
        raise OptionError(
            f"{id!r} is not the id of {named_label(component)}",
            fix=f'{problem}; it comes first: {label(component)}("rules", "...")',
            at=(component.source,),
        )
    return {**options, "id": str.__str__(id)}


def advice_for(node: Node, otherwise: str) -> str:
    """Return where a node belongs that may not stand in a turn."""
    if node.mask & (ROOT | TURN | REQUEST | RECORDED):
        return "a turn never stands inside a turn: write it beside it, directly in the Timeline"
    if node.mask & TOOL:
        return BESIDE
    if node.mask & ITEM:
        return "an Item stands in a List or a Checklist"
    if node.mask & CALL:
        return f"only an Assistant turn holds {named_label(node)}"
    if node.mask & RESULT:
        return "only a User or tool turn holds a ToolResult"
    if node.mask & EVENT_BLOCK:
        return f"only an Event holds {named_label(node)}"
    return otherwise
