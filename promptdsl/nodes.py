"""The types of nodes a tree is made of: what each holds beside its content."""

from typing import Any, ClassVar

from promptdsl.blocks import Cache, EventBlock, MediaBlock, ReasoningBlock, ToolUseBlock
from promptdsl.messages import Kind, Role
from promptdsl.tree import Node


class Root(Node):
    """A whole prompt. ``transformation`` is the configuration its author gave it."""

    __slots__ = ("transformation",)
    _fields = ("transformation",)
    transformation: Any

    def _name(self) -> str:
        return "Timeline"


class Turn(Node):
    """What becomes a message. ``kind`` tells what it was before roles were mapped."""

    __slots__ = ("kind", "role")
    _fields: ClassVar[tuple[str, ...]] = ("role", "kind")
    role: Role
    kind: Kind

    def _name(self) -> str:
        role = getattr(self, "role", None)
        return role.capitalize() if isinstance(role, str) else type(self).__name__


class ToolTurn(Turn):
    """A tool's answer as a turn of its own; its content is the content of the result."""

    __slots__ = ("error_type", "is_error", "tool_use_id")
    _fields = ("role", "kind", "tool_use_id", "is_error", "error_type")
    tool_use_id: str
    is_error: bool
    error_type: str | None

    def _name(self) -> str:
        return "ToolMessage"


class Request(Node):
    """A request-only turn.

    ``type`` and ``title`` stand in its fence, ``position`` says where it goes, ``grounding`` is
    whether every string in it is a value.
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
    """Neighbouring turns of one role that become one message; its content are the turns."""

    __slots__ = ()


class Consolidated(Turn):
    """The one system message; its content are the system turns and loose sections it is made of."""

    __slots__ = ()


class Recorded(Node):
    """Recorded messages. ``items`` is what was given, ``form`` the wire form it is in.

    Once read, ``items`` is a tuple of messages and ``form`` is ``"messages"``.
    """

    __slots__ = ("form", "items", "start")
    _fields = ("items", "form", "start")
    head = "history"
    items: Any
    form: str
    start: int
    """Which message of its history the first one is."""

    def _name(self) -> str:
        return "History"


class Section(Node):
    """A named part of a turn; its id is ``options.id``."""

    __slots__ = ("title",)
    _fields = ("title",)
    title: "str | Value | None"


class Fragment(Node):
    """Several parts that stand for themselves."""

    __slots__ = ()


class Note(Node):
    """What only people read."""

    __slots__ = ()


class Text(Node):
    """One text of author strings and values."""

    __slots__ = ()


class Value(Node):
    """Text from elsewhere, as it was when written. ``label`` says what it is, if that is known."""

    __slots__ = ("label", "text")
    _fields = ("text", "label")
    text: str
    label: str | None


class Verbatim(Node):
    """Finished text: nothing works on it any more, but that it cannot leave its fence."""

    __slots__ = ("cache", "said", "text")
    _fields = ("text", "cache", "said")
    text: str
    cache: Cache | None
    said: tuple[str, ...]
    """The values it was made of, before they were encoded."""


class Fence(Node):
    """Content between two delimiters that nothing inside can close.

    ``names`` are the tags the delimiters are, ``literals`` the delimiters that are no tags;
    ``values`` is whether all strings in it are values.
    """

    __slots__ = ("close", "literals", "names", "open", "said", "values")
    _fields = ("open", "close", "names", "literals", "values", "said")
    open: str
    close: str
    names: tuple[str, ...]
    literals: tuple[str, ...]
    values: bool
    said: tuple[str, ...]
    """The values in its opening, before they were encoded."""


class Media(Node):
    """An attachment."""

    __slots__ = ("block",)
    _fields = ("block",)
    block: MediaBlock

    def _name(self) -> str:
        cls = type(self)
        return type(self.block).__name__.removesuffix("Block") if cls is Media else cls.__name__


class Call(Node):
    """A tool call of an assistant turn."""

    __slots__ = ("block",)
    _fields = ("block",)
    block: ToolUseBlock

    def _name(self) -> str:
        return "ToolUse"


class Result(Node):
    """The answer to a tool call, inside a user or tool turn."""

    __slots__ = ("error_type", "is_error", "tool_use_id")
    _fields = ("tool_use_id", "is_error", "error_type")
    tool_use_id: str
    is_error: bool
    error_type: str | None

    def _name(self) -> str:
        return "ToolResult"


class Reasoning(Node):
    """What a model thought."""

    __slots__ = ("block",)
    _fields = ("block",)
    block: ReasoningBlock


class Happening(Node):
    """One event block of an event turn."""

    __slots__ = ("block",)
    _fields = ("block",)
    block: EventBlock

    def _name(self) -> str:
        cls = type(self)
        return type(self.block).__name__.removesuffix("Block") if cls is Happening else cls.__name__
