"""The turns: what becomes a message."""

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from promptdsl.components.arguments import Content
from promptdsl.components.block import (
    BESIDE,
    PART_FORBIDS,
    ROOTED,
    Block,
    advice_for,
    begin,
    with_own_code,
)
from promptdsl.components.options import TURN_OPTIONS, at_priority
from promptdsl.components.scope import OPENED, join
from promptdsl.messages.roles import Role
from promptdsl.tree.masks import (
    BARE,
    CALL,
    DEVELOPER,
    EVENT,
    EVENT_BLOCK,
    HOLLOW,
    ITEM,
    MEDIA,
    RESULT,
    SECTION,
    SHIFT,
    SPOKEN,
    SYSTEM,
    TEXT,
    TURN,
    bits,
)
from promptdsl.tree.node import DEFAULTS, Node
from promptdsl.tree.turn_nodes import OutputNode, ToolNode, TurnNode

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class TurnBlock(Block, TurnNode):
    """What the turns share. Not a component of its own."""

    __slots__ = ()
    _accepts = TURN_OPTIONS
    _role: ClassVar[Role] = "user"
    _forbids_at_once = ROOTED

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not TYPE_CHECKING:
            cls.__init__ = with_own_code(_writes(cls._role, cls._own))


def _writes(role: Role, own: int) -> Callable[..., None]:
    """Return the ``__init__`` of a turn: what its class fixes is bound here, once."""
    bare_mask = own | BARE
    hollow_mask = own | HOLLOW
    own_join = with_own_code(join)

    def __init__(self: Any, *content: Any, **options: Any) -> None:  # noqa: N807
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.role = role
        self.kind = "written"
        several = content and (len(content) > 1 or type(content[0]) is not str)  # pyright: ignore[reportGeneralTypeIssues]
        if several or (options and not (len(options) == 1 and "priority" in options)):
            begin(self, content, options)
            return
        # The fast path: one string or nothing, so nothing to scan and nothing to check.
        self.content = content
        self.options = at_priority(self, options["priority"]) if options else DEFAULTS
        mask = (own if content[0] else hollow_mask) if content else bare_mask
        top = OPENED.get()
        if top is None:
            self.mask = mask
        else:
            own_join(self, top, mask)

    return __init__


class System(TurnBlock):
    """Instructions. All system content of a prompt becomes one message, first of all."""

    __slots__ = ()
    _role = "system"
    _own = bits(TURN | SYSTEM)
    _forbids = PART_FORBIDS | MEDIA | MEDIA << SHIFT

    if TYPE_CHECKING:

        def __init__(
            self,
            *content: Content,
            id: str | None = None,
            metadata: Mapping[str, Any] | None = None,
            tags: tuple[str, ...] = (),
            audience: str = "all",
            priority: float | None = None,
            cache: bool = False,
        ) -> None: ...

    def _advice(self, node: Node) -> str:
        return advice_for(node, "system content is text only: put it in a User turn")


class Developer(TurnBlock):
    """An instruction in the middle of a conversation; it stays where it is written."""

    __slots__ = ()
    _role = "developer"
    _own = bits(TURN | DEVELOPER)
    _forbids = PART_FORBIDS

    if TYPE_CHECKING:

        def __init__(
            self,
            *content: Content,
            id: str | None = None,
            metadata: Mapping[str, Any] | None = None,
            tags: tuple[str, ...] = (),
            audience: str = "all",
            priority: float | None = None,
            cache: bool = False,
        ) -> None: ...

    def _advice(self, node: Node) -> str:
        return advice_for(node, "put it in a User turn")


class User(TurnBlock):
    """What a user said. ``merge=False`` keeps it apart from its neighbours."""

    __slots__ = ()
    _role = "user"
    _own = bits(TURN | SPOKEN)
    _forbids = ROOTED | ITEM | CALL | EVENT_BLOCK
    _accepts = TURN_OPTIONS | {"name", "merge"}

    if TYPE_CHECKING:

        def __init__(
            self,
            *content: Content,
            name: str | None = None,
            merge: bool = True,
            id: str | None = None,
            metadata: Mapping[str, Any] | None = None,
            tags: tuple[str, ...] = (),
            audience: str = "all",
            priority: float | None = None,
            cache: bool = False,
        ) -> None: ...

    def _advice(self, node: Node) -> str:
        return advice_for(node, "write it outside of the User turn")


class Assistant(TurnBlock):
    """What the model said, with the calls it made. ``merge=False`` keeps it apart."""

    __slots__ = ()
    _role = "assistant"
    _own = bits(TURN | SPOKEN)
    _forbids = ROOTED | ITEM | RESULT | EVENT_BLOCK
    _accepts = TURN_OPTIONS | {"name", "merge"}

    if TYPE_CHECKING:

        def __init__(
            self,
            *content: Content,
            name: str | None = None,
            merge: bool = True,
            id: str | None = None,
            metadata: Mapping[str, Any] | None = None,
            tags: tuple[str, ...] = (),
            audience: str = "all",
            priority: float | None = None,
            cache: bool = False,
        ) -> None: ...

    def _advice(self, node: Node) -> str:
        return advice_for(node, "write it outside of the Assistant turn")


class Event(TurnBlock):
    """Something that happened in the application. Its role is the configuration's to choose."""

    __slots__ = ()
    _role = "event"
    _own = bits(TURN | EVENT)
    _forbids = ROOTED | ITEM | CALL | RESULT

    if TYPE_CHECKING:

        def __init__(
            self,
            *content: Content,
            id: str | None = None,
            metadata: Mapping[str, Any] | None = None,
            tags: tuple[str, ...] = (),
            audience: str = "all",
            priority: float | None = None,
            cache: bool = False,
        ) -> None: ...

    def _advice(self, node: Node) -> str:
        return advice_for(node, "write it outside of the Event")


class ToolResults(TurnBlock):
    """A tool turn written as ``Turn("tool", ToolResult(...), ...)``: results and nothing else."""

    __slots__ = ()
    _role = "tool"
    _own = bits(TURN)
    _forbids = ROOTED | ITEM | CALL | EVENT_BLOCK | TEXT | MEDIA | SECTION

    def _advice(self, node: Node) -> str:
        results = "a tool turn holds tool results only: ToolResult(tool_use_id, ...)"
        return BESIDE if isinstance(node, ToolNode | OutputNode) else results
