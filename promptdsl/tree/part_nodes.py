"""The node classes inside turns: texts, attachments, tool calls, results, events and data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from promptdsl.foundation.author_text import Trusted
from promptdsl.foundation.escaping import Labelled, json_text
from promptdsl.foundation.frozen import EMPTY
from promptdsl.foundation.json import JsonObject
from promptdsl.foundation.source import Position, Source
from promptdsl.messages import (
    Block,
    CodeBlock,
    DataBlock,
    EventBlock,
    JsonBlock,
    ReasoningBlock,
    ToolUseBlock,
)
from promptdsl.messages.blocks import described
from promptdsl.messages.field_checks import Cache
from promptdsl.tree.masks import TEXT
from promptdsl.tree.node import Child, Node, make, node_class, size

# The nodes inside turns: texts, attachments, tool calls, tool results and event blocks.


@node_class
class SectionNode(Node):
    """A named part of a turn; its id is ``options.id``."""

    _placement: Literal["section"]

    _holds_parts = True
    _volatile_fields = ("title",)

    title: str | ValueNode | None
    """It is a field, not a child: :func:`walk` does not visit a value in it."""

    def _authored(self) -> Iterable[str]:
        """Return the title, unless it is a value."""
        return (self.title,) if isinstance(self.title, str) else ()


@node_class
class TextNode(Node):
    """One text: strings of the author, and values."""

    _placement: Literal["text"]

    _is_prose = True


@node_class
class TextBlockNode(TextNode):
    """The text of a block that has a cache mark (in its options), or more keys, in ``extra``."""

    extra: JsonObject

    def _name(self) -> str:
        return "Text"


@node_class
class ValueNode(Node):
    """A value: text that is data. ``label`` is its name, if any."""

    _placement: Literal["value"]

    _is_prose = True

    text: str
    label: str | None = None

    def _summary(self) -> str:
        name = f" {self.label}" if self.label else ""
        return f"{self._name().lower()}{name}, {size(self.text)}"


@node_class
class VolatileNode(ValueNode):
    """A value that differs from one rendering to the next, such as the time.

    ``number`` is the value if it is a number or a boolean, otherwise ``None``.
    """

    number: float | None = None

    @property
    def plain(self) -> str | float:
        """The value as plain data."""
        return self.text if self.number is None else self.number


@node_class
class TrustedTextNode(Node):
    """Author text of ``trusted()``, for example in a grounding, whose strings are values."""

    _placement: Literal["text"]

    _is_prose = True
    _may_quote = True

    text: str

    def _name(self) -> str:
        return "Trusted"

    def _summary(self) -> str:
        return f"trusted, {size(self.text)}"

    def _authored(self) -> Iterable[str]:
        """Return the text."""
        return (self.text,)


@node_class
class HeadingNode(Node):
    """A heading on one line: strings and values."""

    _placement: Literal["text"]

    level: int


@node_class
class ParagraphNode(Node):
    """One paragraph of strings and values."""

    _placement: Literal["text"]

    _is_prose = True


@node_class
class ListNode(Node):
    """A list; each child that is not an item becomes an item."""

    _placement: Literal["text"]

    _holds_parts = True

    ordered: bool


@node_class
class ChecklistNode(Node):
    """A list of tasks, which are done or not."""

    _placement: Literal["text"]

    _holds_parts = True


@node_class
class ItemNode(Node):
    """An item of a list or a checklist; ``done`` is ``None`` if it was not set."""

    _placement: Literal["item"]

    _holds_parts = True

    done: bool | None


@node_class
class QuoteNode(Node):
    """A quotation."""

    _placement: Literal["text"]

    _holds_parts = True


@node_class
class ExampleNode(Node):
    """An example: two sides, the input and the output."""

    _placement: Literal["text"]

    _holds_parts = True


@node_class
class ExampleSideNode(Node):
    """One of the two sides of an example; ``name`` is ``input`` or ``output``."""

    _holds_parts = True

    name: str

    def _name(self) -> str:
        return "Side"

    def _summary(self) -> str:
        return self.name


@node_class
class TableNode(Node):
    """A table of plain data; with ``format=None`` it has the format of the text around it."""

    _placement: Literal["text"]

    _volatile_fields = ("rows",)

    columns: tuple[str, ...] | None
    rows: tuple[tuple[object, ...], ...]
    format: str | None

    def _summary(self) -> str:
        return f"table of {len(self.rows):,} rows"

    def _authored(self) -> Iterable[str]:
        """Return the cells that are author text."""
        return (cell for row in self.rows for cell in row if type(cell) is Trusted)


@node_class
class CodeNode(Node):
    """Source code: strings and values, joined without spaces."""

    _placement: Literal["text"]

    _may_quote = True

    language: str | None


@node_class
class JsonNode(Node):
    """A value as JSON ``text``, in which ``<``, ``>`` and ``&`` are escaped.

    ``pieces`` are the pieces of the text, if it has volatile values: these pieces have a label.
    """

    _placement: Literal["text"]

    _is_prose = True
    _volatile_fields = ("pieces",)

    text: str
    pieces: tuple[Labelled, ...] = ()

    def _summary(self) -> str:
        return f"json, {size(self.text)}"


@node_class
class UntrustedNode(Node):
    """Text from an untrusted source, always between tags. ``origin`` names the source."""

    _placement: Literal["text"]

    _volatile_fields = ("text", "origin")

    text: str
    origin: str | None

    def _summary(self) -> str:
        origin = "" if self.origin is None else f" from {self.origin!r}"
        return f"untrusted{origin}, {size(self.text)}"


@node_class
class TemplateNode(Node):
    """A template, which is rendered with its variables when the prompt is rendered.

    ``overrides`` are the replacements of library sections that were in force where it was written,
    because the template may include such a section.
    """

    _placement: Literal["text"]

    _volatile_fields = ("variables",)

    _extra_slots = ("keywords", "compiled")
    _hidden_fields = ("template", "overrides")
    template: Any  # Any: only the renderer of templates reads it
    variables: Mapping[str, object]
    overrides: Any = ()  # Any: a type of ``components``, a higher layer
    keywords: tuple[str, ...]
    """The names of the variables that were passed as keywords, for a hint. Not a field."""
    compiled: Any  # Any: a type of ``templates``, whose classes come with Jinja
    """The compiled template after it was rendered, ``None`` if another text replaced it.

    Not a field."""


@node_class
class VerbatimNode(Node):
    """Finished text, which is sent unchanged, but cannot close the delimiters around it.

    ``pieces`` are the pieces of the text, in which values are :class:`Labelled`. Recorded text has
    no pieces.
    """

    text: str
    cache: Cache | None = None
    pieces: tuple[str, ...] = ()
    raw_values: tuple[str, ...] = ()
    """The values in it, before they were encoded."""
    starts_block: bool = False
    """Whether a new block begins here. Then the text before it is another block."""

    def _summary(self) -> str:
        return size(self.text)


@node_class
class FenceNode(Node):
    """Content between two delimiters; no text in it can forge the closing delimiter.

    ``names`` are the names of tags, if the delimiters are tags; ``literals`` are other delimiters.
    ``values`` is whether all strings in it are values.
    """

    open: str
    close: str
    names: tuple[str, ...]
    literals: tuple[str, ...]
    values: bool
    raw_values: tuple[str, ...]
    """The values in its opening delimiter, before they were encoded."""

    def _summary(self) -> str:
        return self.open.strip() or "unfenced"


@node_class
class MediaNode(Node):
    """A block that is sent unchanged: an attachment, or a block of a recorded system message."""

    _placement: Literal["media"]

    block: Block

    def _name(self) -> str:
        if type(self) is not MediaNode:
            return Node._name(self)
        return type(self.block).__name__.removesuffix("Block")

    def _summary(self) -> str:
        return described(self.block)


@node_class
class ToolUseNode(Node):
    """A tool call of an assistant turn."""

    _placement: Literal["call"]

    block: ToolUseBlock

    def _summary(self) -> str:
        return f"{described(self.block)}, {size(self.block.arguments)}"


@node_class
class ToolResultNode(Node):
    """The result of a tool call, inside a user or tool turn."""

    _placement: Literal["result"]

    _holds_parts = True

    tool_use_id: str
    is_error: bool
    error_type: str | None

    def _summary(self) -> str:
        return f"result {self.tool_use_id}"


@node_class
class ReasoningNode(Node):
    """The reasoning of a model."""

    _placement: Literal["call"]

    block: ReasoningBlock


@node_class
class EventBlockNode(Node):
    """An event block of an event turn.

    ``trusted`` has the names of its fields that are author text. ``labels`` has the labels of the
    volatile values in its fields, by the path of the value.
    """

    _placement: Literal["event"]

    _holds_parts = True
    _volatile_fields = ("labels",)

    block: EventBlock
    trusted: frozenset[str]
    labels: Mapping[Any, str] = EMPTY  # Any: a path, a tuple of names and indexes

    def _name(self) -> str:
        if type(self) is not EventBlockNode:
            return Node._name(self)
        return type(self.block).__name__.removesuffix("Block")

    def _authored(self) -> Iterable[str]:
        """Return the texts of the fields that are author text."""
        for path in sorted(self.trusted):
            name, _, key = path.partition(".")
            value = getattr(self.block, name)
            if key:
                value = value[key]
            yield str(value)


# The nodes of JSON and code blocks, which become text before they are sent.


def data_node(
    block: DataBlock, at: Position | Source | Node | None, *, is_value: bool
) -> JsonNode | CodeNode:
    """Return the node of a data block; ``is_value`` is whether its code is encoded as a value."""
    match block:
        case JsonBlock(value):
            return make(JsonNode, mask=TEXT, at=at, text=json_text(value))
        case CodeBlock(text, language):
            child: Child = make(ValueNode, mask=TEXT, at=at, text=text) if is_value else text
            return make(CodeNode, (child,), mask=TEXT, at=at, language=language)
