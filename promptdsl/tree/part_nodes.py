"""Part nodes, which turns are made of: texts, attachments, calls, results and event blocks."""

from collections.abc import Mapping
from typing import Any

from promptdsl.messages import Block, EventBlock, ReasoningBlock, ToolUseBlock
from promptdsl.messages.field_checks import Cache
from promptdsl.tree.node import Node


class Section(Node):
    """A named part of a turn; its id is ``options.id``."""

    __slots__ = ("title",)
    _fields = ("title",)
    title: "str | Value | None"
    """A field, not a child: :func:`walk` does not visit a value in it."""


class Text(Node):
    """One text: author strings and values."""

    __slots__ = ()


class Value(Node):
    """Text from elsewhere, as it was when it was written. ``label`` is its name, if it has one."""

    __slots__ = ("label", "text")
    _fields = ("text", "label")
    text: str
    label: str | None


class Volatile(Value):
    """A value that differs from one rendering to the next, such as the time."""

    __slots__ = ()


class TrustedText(Node):
    """Author text in a place where a string would be a value."""

    __slots__ = ("text",)
    _fields = ("text",)
    text: str

    def _name(self) -> str:
        return "Trusted"


class Heading(Node):
    """A heading of one line: strings and values."""

    __slots__ = ("level",)
    _fields = ("level",)
    level: int


class Paragraph(Node):
    """One paragraph of strings and values."""

    __slots__ = ()


class List(Node):
    """A list; each child that is no item becomes one."""

    __slots__ = ("ordered",)
    _fields = ("ordered",)
    ordered: bool


class Checklist(Node):
    """A list of tasks that are done or not."""

    __slots__ = ()


class Item(Node):
    """An item of a list or a checklist; ``done`` is ``None`` where nobody set it."""

    __slots__ = ("done",)
    _fields = ("done",)
    done: bool | None


class Quote(Node):
    """A quotation."""

    __slots__ = ()


class Example(Node):
    """An example: two sides, the input and the output."""

    __slots__ = ()


class Side(Node):
    """One side of an example; ``name`` is ``input`` or ``output``."""

    __slots__ = ("name",)
    _fields = ("name",)
    name: str


class Table(Node):
    """A table of plain data; with ``format=None`` in the format of the text around it."""

    __slots__ = ("columns", "format", "rows")
    _fields = ("columns", "rows", "format")
    columns: tuple[str, ...] | None
    rows: tuple[tuple[Any, ...], ...]
    format: str | None


class Code(Node):
    """Source code: strings and values that are joined without a space."""

    __slots__ = ("language",)
    _fields = ("language",)
    language: str | None


class Json(Node):
    """A value as JSON ``text``, in which ``<``, ``>`` and ``&`` are escaped."""

    __slots__ = ("text",)
    _fields = ("text",)
    text: str


class Untrusted(Node):
    """Text of a stranger, between delimiters everywhere. ``origin`` names where it is from."""

    __slots__ = ("origin", "text")
    _fields = ("text", "origin")
    text: str
    origin: str | None


class Template(Node):
    """Text that ``template`` makes of ``variables`` when the prompt is rendered."""

    __slots__ = ("template", "variables")
    _fields = ("template", "variables")
    template: Any
    variables: Mapping[str, Any]


class Verbatim(Node):
    """Finished text: it is sent as it is, guarded against closing the fence around it."""

    __slots__ = ("cache", "said", "text")
    _fields = ("text", "cache", "said")
    text: str
    cache: Cache | None
    said: tuple[str, ...]
    """The values in it, before they were encoded."""


class Fence(Node):
    """Content between two delimiters that nothing inside can close.

    ``names`` are the tag names of delimiters that are tags, ``literals`` the other delimiters. With
    ``values`` all strings in it are values.
    """

    __slots__ = ("close", "literals", "names", "open", "said", "values")
    _fields = ("open", "close", "names", "literals", "values", "said")
    open: str
    close: str
    names: tuple[str, ...]
    literals: tuple[str, ...]
    values: bool
    said: tuple[str, ...]
    """The values in its opening delimiter, before they were encoded."""


class Media(Node):
    """A block that is sent as it is: an attachment, or another one of a recorded system message."""

    __slots__ = ("block",)
    _fields = ("block",)
    block: Block

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
    """The reasoning of a model."""

    __slots__ = ("block",)
    _fields = ("block",)
    block: ReasoningBlock


class Happening(Node):
    """An event block of an event turn; ``trusted`` names its fields that hold author text."""

    __slots__ = ("block", "trusted")
    _fields = ("block", "trusted")
    block: EventBlock
    trusted: frozenset[str]

    def _name(self) -> str:
        cls = type(self)
        return type(self.block).__name__.removesuffix("Block") if cls is Happening else cls.__name__
