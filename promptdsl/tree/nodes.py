"""The types of nodes a tree is made of: what each holds beside its content."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal, cast

from promptdsl.messages import EventBlock, MediaBlock, ReasoningBlock, ToolUseBlock
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.prompt import OutputSchema, ToolDefinition
from promptdsl.messages.roles import Kind, Role
from promptdsl.tree.node import Node


class Root(Node):
    """A whole prompt. ``transformation`` is the configuration its author gave it.

    ``equipment`` is what was written among the turns and is none: tools, the output, and cache
    breakpoints that found nothing to mark.
    """

    __slots__ = ("equipment", "transformation")
    _fields = ("transformation", "equipment")
    transformation: Any
    equipment: tuple[Node, ...]

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

    Once read, ``items`` is a tuple of messages and ``form`` is ``"messages"``. What a budget may
    take of it is said as in :class:`Conversation`.
    """

    __slots__ = ("form", "items", "keep", "known", "priority", "start", "step")
    _fields = ("items", "form", "start", "keep", "step", "priority")
    _unsaid = MappingProxyType({"keep": 0, "step": None, "priority": 0})
    head = "history"
    items: Any
    form: str
    start: int
    """Which message of its history the first one is."""
    known: Any
    """What is known of its history: a ``Recording``, once read."""
    keep: int
    step: int | None
    priority: float

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


class Group(Fragment):
    """Parts that belong together: they are kept or dropped whole."""

    __slots__ = ("priority",)
    _fields = ("priority",)
    _unsaid = MappingProxyType({"priority": None})
    priority: float | None


class FirstFit(Fragment):
    """Forms of one part, of which the first one is sent that a budget has room for.

    Each form is one node of its content.
    """

    __slots__ = ("priority",)
    _fields = ("priority",)
    _unsaid = MappingProxyType({"priority": None})
    priority: float | None


class Limit(Fragment):
    """Text that is cut to ``max_tokens``; ``keep`` is which end of it stays."""

    __slots__ = ("keep", "max_tokens")
    _fields = ("max_tokens", "keep")
    _unsaid = MappingProxyType({"keep": "head"})
    max_tokens: int
    keep: Literal["head", "tail", "ends"]


class Reserve(Node):
    """Tokens of a budget that are left free."""

    __slots__ = ("tokens",)
    _fields = ("tokens",)
    tokens: int


class Conversation(Fragment):
    """What was read of one recorded conversation: runs of messages, events, request-only turns.

    A budget takes its oldest exchanges, at ``priority``, in steps of ``step`` tokens; the last
    ``keep`` exchanges stay.
    """

    __slots__ = ("keep", "priority", "step")
    _fields = ("keep", "step", "priority")
    _unsaid = MappingProxyType({"keep": 0, "step": None, "priority": 0})
    keep: int
    step: int | None
    priority: float

    def _name(self) -> str:
        return "History"


class Component(Fragment):
    """What a component function wrote.

    ``name`` is the component's, ``by`` the name of the function that stood in for it, if one did.
    """

    __slots__ = ("by", "name", "running")
    _fields = ("name", "by")
    name: str
    by: str | None
    running: Any
    """What has yet to write the rest, while it is being written."""

    def _name(self) -> str:
        return self.name


class Format(Fragment):
    """Parts that are written in a format of their own."""

    __slots__ = ("format",)
    _fields = ("format",)
    format: str


class Lazy(Node):
    """What is written when the prompt is rendered: what ``function`` returns.

    ``overrides`` are the components that others stood in for where this was written.
    """

    __slots__ = ("function", "overrides", "weight")
    _fields = ("function", "weight", "overrides")
    function: Callable[..., Any]
    weight: float
    overrides: Any


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


class Volatile(Value):
    """A value that differs from one rendering to the next; ``label`` says what it is."""

    __slots__ = ()


class Trusted(Node):
    """Author text in a place where a string is a value."""

    __slots__ = ("text",)
    _fields = ("text",)
    text: str


class Heading(Node):
    """A heading of one line: strings and values."""

    __slots__ = ("level",)
    _fields = ("level",)
    level: int


class Paragraph(Node):
    """One paragraph of strings and values."""

    __slots__ = ()


class List(Node):
    """A list; what stands in it and is no item is one of its own."""

    __slots__ = ("ordered",)
    _fields = ("ordered",)
    ordered: bool


class Checklist(Node):
    """A list of what is done and what is not."""

    __slots__ = ()


class Item(Node):
    """An item of a list or a checklist, where ``done`` is said or ``None``."""

    __slots__ = ("done",)
    _fields = ("done",)
    done: bool | None


class Quote(Node):
    """Parts that are quoted."""

    __slots__ = ()


class Example(Node):
    """An example; its content are two sides, what goes in and what comes out."""

    __slots__ = ()


class Side(Node):
    """What goes into an example, or what comes out: ``name`` is ``input`` or ``output``."""

    __slots__ = ("name",)
    _fields = ("name",)
    name: str


class Table(Node):
    """A table of plain data. ``format`` is one of its own, ``None`` that of the text around it."""

    __slots__ = ("columns", "format", "rows")
    _fields = ("columns", "rows", "format")
    columns: tuple[str, ...] | None
    rows: tuple[tuple[Any, ...], ...]
    format: str | None


class Code(Node):
    """Source code: strings and values, with nothing between them."""

    __slots__ = ("language",)
    _fields = ("language",)
    language: str | None


class Json(Node):
    """A value as JSON: ``text``, in which no tag can stand."""

    __slots__ = ("text",)
    _fields = ("text",)
    text: str


class Untrusted(Node):
    """Text of a stranger, fenced wherever it stands. ``origin`` says where it is from."""

    __slots__ = ("origin", "text")
    _fields = ("text", "origin")
    text: str
    origin: str | None


class Template(Node):
    """Text made from a template when the prompt is rendered; ``template`` says which."""

    __slots__ = ("template", "variables")
    _fields = ("template", "variables")
    template: Any
    variables: Mapping[str, Any]


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
    """One event block of an event turn; ``trusted`` are its fields that hold author text."""

    __slots__ = ("block", "trusted")
    _fields = ("block", "trusted")
    block: EventBlock
    trusted: frozenset[str]

    def _name(self) -> str:
        cls = type(self)
        return type(self.block).__name__.removesuffix("Block") if cls is Happening else cls.__name__


class Tool(Node):
    """A tool a model may call. The definition does not know its line, the node does."""

    __slots__ = ("definition",)
    _fields = ("definition",)
    definition: ToolDefinition


class Output(Node):
    """The form an answer has to have. The schema does not know its line, the node does."""

    __slots__ = ("schema",)
    _fields = ("schema",)
    schema: OutputSchema


class CacheBreakpoint(Node):
    """The end of a part that stays the same; ``ttl`` is how long it is kept, if that is said."""

    __slots__ = ("ttl",)
    _fields = ("ttl",)
    ttl: Literal["5m", "1h"] | None


def among_turns(root: Node) -> Iterator[Any]:
    """Yield what stands directly in a timeline, and in its fragments, in document order."""
    waiting = [*reversed(root.content)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Fragment):
            waiting += reversed(part.content)
        else:
            yield part


def found_in(*data: object) -> list[Node]:
    """Return the nodes that stand in plain data, however deep, where none should."""
    found: list[Node] = []
    waiting: list[object] = [*data]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Node):
            found.append(one)
        elif isinstance(one, Mapping):
            waiting += cast("Mapping[object, object]", one).values()
        elif isinstance(one, list | tuple):
            waiting += cast("list[object]", one)
    return found
