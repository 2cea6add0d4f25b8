"""Turn nodes, the children of a timeline: turns, recordings, tools and cache breakpoints."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from promptdsl.messages.prompt import OutputSchema, ToolDefinition
from promptdsl.messages.roles import Kind, Role
from promptdsl.tree.group_nodes import Fragment
from promptdsl.tree.node import Node


class Root(Node):
    """A whole prompt. ``transformation`` is the configuration its author gave it.

    ``equipment`` are nodes that were taken out of its content: tools, the output schema, and cache
    breakpoints without a message to mark.
    """

    __slots__ = ("equipment", "transformation")
    _fields = ("transformation", "equipment")
    transformation: Any
    equipment: tuple[Node, ...]

    def _name(self) -> str:
        return "Timeline"


class Turn(Node):
    """A turn, which becomes a message. ``kind`` is its origin, whatever role it is mapped to."""

    __slots__ = ("kind", "role")
    _fields: ClassVar[tuple[str, ...]] = ("role", "kind")
    role: Role
    kind: Kind

    def _name(self) -> str:
        role = getattr(self, "role", None)
        return role.capitalize() if isinstance(role, str) else type(self).__name__


class ToolTurn(Turn):
    """A tool result as a turn of its own; its content is the content of the result."""

    __slots__ = ("error_type", "is_error", "tool_use_id")
    _fields = ("role", "kind", "tool_use_id", "is_error", "error_type")
    tool_use_id: str
    is_error: bool
    error_type: str | None

    def _name(self) -> str:
        return "ToolMessage"


class Request(Node):
    """A request-only turn.

    ``type`` and ``title`` are written in its fence, ``position`` is its place in the conversation.
    With ``grounding`` every string in it is a value.
    """

    __slots__ = ("grounding", "order", "position", "title", "type")
    _fields = ("type", "title", "position", "order", "grounding")
    type: str | None
    title: str | None
    position: str | None
    order: float
    grounding: bool

    def _name(self) -> str:
        if type(self) is not Request:
            return type(self).__name__
        return "Grounding" if self.grounding else "Ephemeral"


class Merged(Turn):
    """Neighbouring turns of one role, which become one message."""

    __slots__ = ()


class Consolidated(Turn):
    """The system turns and loose sections of a prompt, which become its one system message."""

    __slots__ = ()


class Recorded(Node):
    """Recorded messages: a whole history as it was given, or a run of messages that were read.

    As given, ``items`` are in the wire form that ``form`` names. The pass ``read`` makes a
    :class:`Conversation` of it, in which each run of messages is one of these again: ``items`` is
    a tuple of messages then, and ``form`` is ``"messages"``. What a budget may take of it is said
    as in :class:`Conversation`.
    """

    __slots__ = ("form", "items", "keep", "known", "priority", "start", "step")
    _fields = ("items", "form", "start", "keep", "step", "priority")
    _defaults = MappingProxyType({"keep": 0, "step": None, "priority": 0})
    head = "history"
    items: Any
    form: str
    start: int
    """The index of its first message in the history."""
    known: Any
    """What was found out about its history: a ``Recording``, or ``None``.

    No field of the content, so it may be set after the node is frozen: by the component when its
    messages continue a known conversation, by ``read`` and by ``tree/recorded.py`` for a run.
    """
    keep: int
    step: int | None
    priority: float

    def _name(self) -> str:
        return "History"


class Tool(Node):
    """A tool that a model may call."""

    __slots__ = ("definition",)
    _fields = ("definition",)
    definition: ToolDefinition


class Output(Node):
    """The schema that an answer has to fit."""

    __slots__ = ("schema",)
    _fields = ("schema",)
    schema: OutputSchema


class CacheBreakpoint(Node):
    """The end of a part to cache; ``ttl`` is the lifetime, ``None`` the provider's default."""

    __slots__ = ("ttl",)
    _fields = ("ttl",)
    ttl: Literal["5m", "1h"] | None


def among_turns(root: Node) -> Iterator[Any]:
    """Yield the children of a timeline, those in its fragments too, in document order."""
    waiting = [*reversed(root.content)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Fragment):
            waiting += reversed(part.content)
        else:
            yield part
