"""Request-only turns: sent with this request, not part of the conversation."""

import sys
from collections.abc import Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any

from promptdsl.components.arguments import Content, adopt, retract
from promptdsl.components.block import BESIDE, PART_FORBIDS, ROOTED, Block, begin, named
from promptdsl.components.options import TURN_OPTIONS
from promptdsl.foundation.errors import ContentError, OptionError, PromptError, nearest
from promptdsl.foundation.escaping import text_of
from promptdsl.tree.masks import BARE, BUSY, CACHE, REQUEST, bits
from promptdsl.tree.node import DEFAULTS, Node
from promptdsl.tree.part_nodes import ValueNode
from promptdsl.tree.turn_nodes import CacheBreakpointNode, OutputNode, RequestOnlyNode, ToolNode

POSITIONS = ("flow", "after_system", "start", "before_user", "end")

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class RequestBlock(Block, RequestOnlyNode):
    """What the request-only turns share. Not a component of its own."""

    __slots__ = ()
    _own = bits(REQUEST)
    _forbids = PART_FORBIDS | CACHE
    _forbids_at_once = ROOTED

    def _advice(self, node: Node) -> str:
        if node.mask & CACHE:
            mark = "the breakpoint" if isinstance(node, CacheBreakpointNode) else "cache=True"
            return f"what is sent once cannot be cached: leave {mark} out"
        if isinstance(node, ToolNode | OutputNode):
            return BESIDE
        return "a turn never stands inside a request-only turn: write it beside it"


class Ephemeral(RequestBlock):
    """Context for this request only, fenced. Where it stands is the configuration's to choose.

    ``type`` and ``title`` stand in the fence; ``position`` is ``flow``, ``after_system``,
    ``start``, ``before_user`` or ``end``; within a position the lower ``order`` comes first.
    """

    __slots__ = ()
    _accepts = (TURN_OPTIONS - {"cache"}) | {"type", "title", "position", "order"}

    if TYPE_CHECKING:

        def __init__(
            self,
            *content: Content,
            type: str | None = None,
            title: str | ValueNode | None = None,
            position: str | None = None,
            order: float = 0,
            id: str | None = None,
            metadata: Mapping[str, Any] | None = None,
            tags: tuple[str, ...] = (),
            audience: str = "all",
            priority: float | None = None,
        ) -> None: ...

    else:

        def __init__(self, *content, **options):
            frame = _getframe(1)
            settle(self, content, options, frame)
            self.grounding = False
            begin(self, content, options)


class Grounding(RequestBlock):
    """Facts for this request only. Every string in it is a value, whoever wrote it.

    It stands directly before the last turn a user wrote, unless ``position`` says otherwise.
    """

    __slots__ = ()
    _accepts = (TURN_OPTIONS - {"cache"}) | {"title", "position", "order"}

    if TYPE_CHECKING:

        def __init__(
            self,
            id: str,
            /,
            *content: Content,
            title: str | ValueNode | None = None,
            position: str | None = None,
            order: float = 0,
            metadata: Mapping[str, Any] | None = None,
            tags: tuple[str, ...] = (),
            audience: str = "all",
            priority: float | None = None,
        ) -> None: ...

    else:

        def __init__(self, id, /, *content, **options):
            frame = _getframe(1)
            settle(self, content, options, frame)
            self.grounding = True
            begin(self, content, named(self, id, content, options))

    def _keywords(self) -> frozenset[str]:
        return self._accepts - {"id"}


def settle(
    component: Any, content: tuple[Any, ...], options: dict[str, Any], frame: FrameType
) -> None:
    """Take the options that only request-only turns have out of the given ones."""
    component.code = frame.f_code
    component.offset = frame.f_lasti
    component.options = DEFAULTS
    component.mask = component._own | BARE
    component.content = ()
    type = options.pop("type", None) if "type" in component._accepts else None
    said = (type, options.pop("title", None))
    component.position = options.pop("position", None)
    component.order = options.pop("order", 0)
    try:
        adopt(
            component,
            [value for value in said if isinstance(value, ValueNode) and value.mask & BUSY],
        )
        component.type, component.title = [one_line(component, value) for value in said]
        _check_place(component)
    except PromptError:
        retract((*content, *said))
        raise


def _check_place(component: Any) -> None:
    if component.position is not None and component.position not in POSITIONS:
        raise OptionError(
            f"position={component.position!r}",
            fix=nearest(str(component.position), POSITIONS),
            at=(component.source,),
        )
    if isinstance(component.order, bool) or not (
        isinstance(component.order, int | float) and component.order == component.order
    ):
        raise OptionError(
            f"order={component.order!r}", fix="write a number", at=(component.source,)
        )


def one_line(component: Any, value: Any) -> str | None:
    """Return the text of a title or type, which is a value."""
    if value is None:
        return None
    try:
        return value.text if isinstance(value, ValueNode) else text_of(value)
    except ContentError as error:
        raise error.located(component.source) from None
