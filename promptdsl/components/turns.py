"""The root and the turns: what becomes a message."""

import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar

from promptdsl import tree
from promptdsl.blocks import ERROR_TYPES
from promptdsl.components.writing import (
    Block,
    Content,
    begin,
    retract,
    unknown_option,
)
from promptdsl.config import as_layer
from promptdsl.errors import (
    ContentError,
    OptionError,
    PlacementError,
    PromptError,
    ScopeError,
    nearest,
)
from promptdsl.messages import Role
from promptdsl.scope import OPENED, join, open_block
from promptdsl.sources import Source, author
from promptdsl.tree import (
    BARE,
    CALL,
    DEFAULTS,
    DEVELOPER,
    FRAGMENT,
    HAPPENING,
    MEDIA,
    NOTE,
    RECORDED,
    REQUEST,
    RESULT,
    ROOT,
    SECTION,
    SHIFT,
    SPOKEN,
    SYSTEM,
    TEXT,
    TURN,
    Node,
    Root,
    ToolTurn,
    bits,
    label,
)

if TYPE_CHECKING:
    from promptdsl.config import Transformation

TURN_OPTIONS = frozenset({"id", "metadata", "tags", "audience", "cache"})
ROOTED = TURN | REQUEST | RECORDED
"""What stands directly in a timeline only, so never inside a turn or a part of one."""

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class Timeline(Block, Root):
    """A whole prompt: turns, recorded history and loose sections, in the order they are said.

    ``transformation`` is the configuration that belongs to this prompt: a
    :class:`MessageTransformationConfig`, a mapping of its fields, or a function
    ``(model, provider) -> config``.

    Raises :class:`ScopeError` when written while another block is open.
    """

    __slots__ = ()
    _node = Root
    _own = ROOT
    _forbids = TEXT | MEDIA | CALL | RESULT | HAPPENING

    if TYPE_CHECKING:

        def __init__(
            self, *content: Content, transformation: Transformation | None = None
        ) -> None: ...

    else:

        def __init__(self, *content, **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            self.transformation = None
            self.content, self.mask, self.options = (), self._own, DEFAULTS
            for name in options:
                if name != "transformation":
                    retract(content)
                    raise unknown_option(self, name, {"transformation"}, self.source)
            around = open_block()
            if around is not None:
                retract(content)
                raise ScopeError(
                    "a Timeline cannot be written while a block is open",
                    fix="write it under `with detached():`, or in a function called outside",
                    at=(self.source, around.source),
                )
            if options:
                self.transformation = as_layer(options["transformation"], at=self.source)
            begin(self, content, {})

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        super().__exit__(kind, error, trace)
        if kind is None:
            self.__class__ = Root  # type: ignore[assignment]

    def _inspect(self, content: tuple[Any, ...], mask: int) -> None:
        """Refuse media in a loose section, which is system content."""
        if not (mask & SECTION and mask & MEDIA << SHIFT):
            return
        waiting = list(reversed(content))
        while waiting:
            child = waiting.pop()
            if child.mask & FRAGMENT:
                waiting.extend(reversed(child.content))
            elif child.mask & SECTION and child.mask & MEDIA << SHIFT:
                media = next(node for node, _ in tree.walk(child) if isinstance(node, tree.Media))
                raise PlacementError(
                    f"a {label(media)} cannot stand in a Section outside of a turn: "
                    "it is system content",
                    fix="put it in a User turn",
                    at=(media.source, child.source),
                )

    def _advice(self, node: Node) -> str:
        name = label(node)
        if node.mask & tree.CALL:
            return f"put it in an Assistant: Assistant({name}(...))"
        if node.mask & tree.RESULT:
            return "write ToolMessage(tool_use_id, ...), or put it in a User"
        if node.mask & tree.HAPPENING:
            return f"put it in an Event: Event({name}(...))"
        return "put it in a System for instructions, or in a User"


class TurnBlock(Block, tree.Turn):
    """What the turns share. Not a component of its own."""

    __slots__ = ()
    _node = tree.Turn
    _accepts = TURN_OPTIONS
    _role: ClassVar[Role] = "user"
    _refuses = ROOTED

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not TYPE_CHECKING:
            cls.__init__ = _writes(cls._role, cls._own)


def _writes(role: Role, own: int) -> Callable[..., None]:
    """Return the ``__init__`` of a turn: what its class fixes is bound here, once."""
    bare_mask = own | BARE

    def __init__(self: Any, *content: Any, **options: Any) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.role = role
        self.kind = "written"
        if options or (content and (len(content) > 1 or type(content[0]) is not str)):
            begin(self, content, options)
            return
        # The fast path: one string or nothing, so nothing to scan and nothing to check.
        self.content = content
        self.options = DEFAULTS
        mask = own if content else bare_mask
        top = OPENED.get()
        if top is None:
            self.mask = mask
        else:
            join(self, top, mask)

    return __init__


class System(TurnBlock):
    """Instructions. All system content of a prompt becomes one message, first of all."""

    __slots__ = ()
    _node = tree.Turn
    _role = "system"
    _own = bits(TURN | SYSTEM)
    _forbids = ROOTED | CALL | RESULT | HAPPENING | MEDIA | MEDIA << SHIFT

    if TYPE_CHECKING:

        def __init__(
            self,
            *content: Content,
            id: str | None = None,
            metadata: Mapping[str, Any] | None = None,
            tags: tuple[str, ...] = (),
            audience: str = "all",
            cache: bool = False,
        ) -> None: ...

    def _advice(self, node: Node) -> str:
        return _advice_for(node, "system content is text only: put it in a User turn")


class Developer(TurnBlock):
    """An instruction in the middle of a conversation; it stays where it is written."""

    __slots__ = ()
    _node = tree.Turn
    _role = "developer"
    _own = bits(TURN | DEVELOPER)
    _forbids = ROOTED | CALL | RESULT | HAPPENING

    if TYPE_CHECKING:

        def __init__(
            self,
            *content: Content,
            id: str | None = None,
            metadata: Mapping[str, Any] | None = None,
            tags: tuple[str, ...] = (),
            audience: str = "all",
            cache: bool = False,
        ) -> None: ...

    def _advice(self, node: Node) -> str:
        return _advice_for(node, "put it in a User turn")


class User(TurnBlock):
    """What a user said. ``merge=False`` keeps it apart from its neighbours."""

    __slots__ = ()
    _node = tree.Turn
    _role = "user"
    _own = bits(TURN | SPOKEN)
    _forbids = ROOTED | CALL | HAPPENING
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
            cache: bool = False,
        ) -> None: ...

    def _advice(self, node: Node) -> str:
        return _advice_for(node, "write it outside of the User turn")


class Assistant(TurnBlock):
    """What the model said, with the calls it made. ``merge=False`` keeps it apart."""

    __slots__ = ()
    _node = tree.Turn
    _role = "assistant"
    _own = bits(TURN | SPOKEN)
    _forbids = ROOTED | RESULT | HAPPENING
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
            cache: bool = False,
        ) -> None: ...

    def _advice(self, node: Node) -> str:
        return _advice_for(node, "write it outside of the Assistant turn")


class Event(TurnBlock):
    """Something that happened in the application. Its role is the configuration's to choose."""

    __slots__ = ()
    _node = tree.Turn
    _role = "event"
    _own = bits(TURN | tree.EVENT)
    _forbids = ROOTED | CALL | RESULT

    if TYPE_CHECKING:

        def __init__(
            self,
            *content: Content,
            id: str | None = None,
            metadata: Mapping[str, Any] | None = None,
            tags: tuple[str, ...] = (),
            audience: str = "all",
            cache: bool = False,
        ) -> None: ...

    def _advice(self, node: Node) -> str:
        return _advice_for(node, "write it outside of the Event")


class ToolResults(TurnBlock):
    """A tool turn written as ``Turn("tool", ToolResult(...), ...)``: results and nothing else."""

    __slots__ = ()
    _node = tree.Turn
    _role = "tool"
    _own = bits(TURN)
    _forbids = ROOTED | CALL | HAPPENING | TEXT | MEDIA | SECTION | NOTE

    def _advice(self, node: Node) -> str:
        return "a tool turn holds tool results only: ToolResult(tool_use_id, ...)"


class ToolMessage(Block, ToolTurn):
    """The answer of a tool to the call ``tool_use_id``. ``name`` is the tool's.

    ``error_type`` is one of ``unknown_tool``, ``validation_error``, ``execution_error``,
    ``timeout_error``, ``interrupted``.
    """

    __slots__ = ()
    _node = ToolTurn
    _own = bits(TURN | SPOKEN, bits(RESULT))
    _forbids = ROOTED | CALL | RESULT | HAPPENING
    _refuses = ROOTED
    _accepts = TURN_OPTIONS | {"name"}

    if TYPE_CHECKING:

        def __init__(
            self,
            tool_use_id: str,
            /,
            *content: Content,
            name: str | None = None,
            is_error: bool = False,
            error_type: str | None = None,
            id: str | None = None,
            metadata: Mapping[str, Any] | None = None,
            tags: tuple[str, ...] = (),
            audience: str = "all",
            cache: bool = False,
        ) -> None: ...

    else:

        def __init__(self, tool_use_id, /, *content, is_error=False, error_type=None, **options):
            frame = _getframe(1)
            self.role = "tool"
            self.kind = "written"
            self.tool_use_id = tool_use_id
            self.is_error = is_error
            self.error_type = error_type
            if (
                type(tool_use_id) is str
                and not (options or is_error or error_type)
                and (not content or (len(content) == 1 and type(content[0]) is str))
            ):
                # The fast path; a tool may answer with nothing at all.
                self.code = frame.f_code
                self.offset = frame.f_lasti
                self.content = content
                self.options = DEFAULTS
                top = OPENED.get()
                if top is None:
                    self.mask = _TOOL
                else:
                    join(self, top, _TOOL)
                return
            self.code = frame.f_code
            self.offset = frame.f_lasti
            check_result(self, content)
            begin(self, content, options)
            # A tool may answer with nothing at all.
            self.mask &= ~BARE

    def _keywords(self) -> frozenset[str]:
        return self._accepts | RESULT_OPTIONS

    def _advice(self, node: Node) -> str:
        return _advice_for(node, "a tool's answer is text and media")


_TOOL = ToolMessage._own


RESULT_OPTIONS = frozenset({"is_error", "error_type"})


def check_result(component: Any, content: tuple[Any, ...]) -> None:
    """Raise when a tool result's id, flag or error type is not one."""
    try:
        _check_result(component)
    except PromptError:
        retract(content)
        raise


def _check_result(component: Any) -> None:
    if not isinstance(component.tool_use_id, str):
        raise ContentError(
            f"the first argument of a {label(component)} is the id of the call it answers",
            fix=f'{label(component)}("call_1", "...")',
            at=(component.source,),
        )
    if not isinstance(component.is_error, bool):
        raise OptionError(
            f"is_error={component.is_error!r}", fix="write True or False", at=(component.source,)
        )
    if component.error_type is not None and component.error_type not in ERROR_TYPES:
        raise OptionError(
            f"error_type={component.error_type!r}",
            fix=nearest(str(component.error_type), ERROR_TYPES),
            at=(component.source,),
        )


def _advice_for(node: Node, otherwise: str) -> str:
    if node.mask & (TURN | REQUEST | RECORDED):
        return "a turn never stands inside a turn: write it beside it, directly in the Timeline"
    if node.mask & CALL:
        return f"only an Assistant turn holds a {label(node)}"
    if node.mask & RESULT:
        return "only a User or tool turn holds a ToolResult"
    if node.mask & HAPPENING:
        return f"only an Event holds a {label(node)}"
    return otherwise


_TURNS: Mapping[str, type[TurnBlock]] = {
    "system": System,
    "developer": Developer,
    "user": User,
    "assistant": Assistant,
    "event": Event,
    "tool": ToolResults,
}


def write_timeline(content: tuple[Any, ...], at: Source) -> Timeline:
    """Return a timeline of parts that were written without one, for a place."""
    timeline = object.__new__(Timeline)
    timeline.transformation = None
    timeline.code = at
    timeline.offset = -1
    begin(timeline, content, {})
    return timeline


def write_turn(
    role: object, content: tuple[Any, ...], options: dict[str, Any], frame: FrameType
) -> TurnBlock:
    """Return the turn of a role, written at a place; :class:`OptionError` for an unknown role."""
    cls = _TURNS.get(role) if isinstance(role, str) else None
    if cls is None:
        retract(content)
        raise OptionError(
            f"unknown role {role!r}", fix=nearest(str(role), (*_TURNS, "ephemeral")), at=(author(),)
        )
    turn = object.__new__(cls)
    turn.role = cls._role
    turn.kind = "written"
    turn.code = frame.f_code
    turn.offset = frame.f_lasti
    begin(turn, content, options)
    return turn
