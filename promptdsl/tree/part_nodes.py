"""The nodes inside turns: texts, attachments, calls, results and event blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptdsl.foundation.frozen import EMPTY
from promptdsl.foundation.json import JsonObject
from promptdsl.foundation.labelled import Labelled
from promptdsl.messages import Block, EventBlock, ReasoningBlock, ToolUseBlock
from promptdsl.messages.field_checks import Cache
from promptdsl.tree.node import Node, node_class


@node_class
class SectionNode(Node):
    """A named part of a turn; its id is ``options.id``."""

    title: str | ValueNode | None
    """A field, not a child: :func:`walk` does not visit a value in it."""


@node_class
class TextNode(Node):
    """One text: author strings and values."""


@node_class
class TextBlockNode(TextNode):
    """The text of a block that has a cache mark, in its options, or keys of its own."""

    extra: JsonObject

    def _name(self) -> str:
        return "Text"


@node_class
class ValueNode(Node):
    """A value: text from outside the prompt's code. ``label`` is its name, if any."""

    text: str
    label: str | None = None


@node_class
class VolatileNode(ValueNode):
    """A value that differs from one rendering to the next, such as the time.

    ``number`` is the value where it is a number or a boolean.
    """

    number: float | None = None

    @property
    def plain(self) -> str | float:
        """The value as data."""
        return self.text if self.number is None else self.number


@node_class
class TrustedTextNode(Node):
    """Author text, inside a turn in which plain strings are values."""

    text: str

    def _name(self) -> str:
        return "Trusted"


@node_class
class HeadingNode(Node):
    """A heading of one line: strings and values."""

    level: int


@node_class
class ParagraphNode(Node):
    """One paragraph of strings and values."""


@node_class
class ListNode(Node):
    """A list; each child that is not an item becomes an item."""

    ordered: bool


@node_class
class ChecklistNode(Node):
    """A list of tasks that are done or not."""


@node_class
class ItemNode(Node):
    """An item of a list or a checklist; ``done`` is ``None`` if it was not set."""

    done: bool | None


@node_class
class QuoteNode(Node):
    """A quotation."""


@node_class
class ExampleNode(Node):
    """An example: two sides, the input and the output."""


@node_class
class ExampleSideNode(Node):
    """One side of an example; ``name`` is ``input`` or ``output``."""

    name: str

    def _name(self) -> str:
        return "Side"


@node_class
class TableNode(Node):
    """A table of plain data; with ``format=None`` in the format of the text around it."""

    columns: tuple[str, ...] | None
    rows: tuple[tuple[object, ...], ...]
    format: str | None


@node_class
class CodeNode(Node):
    """Source code: strings and values that are joined without a space."""

    language: str | None


@node_class
class JsonNode(Node):
    """A value as JSON ``text``, in which ``<``, ``>`` and ``&`` are escaped.

    ``pieces`` are its parts where some are volatile values, which have a label.
    """

    text: str
    pieces: tuple[Labelled, ...] = ()


@node_class
class UntrustedNode(Node):
    """Text from an untrusted source, always between delimiters. ``origin`` names the source."""

    text: str
    origin: str | None


@node_class
class TemplateNode(Node):
    """A template, rendered with its variables when the prompt is rendered.

    ``overrides`` are the overridden sections of libraries at the place where it was written: it may
    include them.
    """

    _beside = ("keywords", "compiled")
    template: Any  # Any: only the renderer of templates reads it
    variables: Mapping[str, object]
    overrides: Any = ()  # Any: of ``components``, a floor above this room
    keywords: tuple[str, ...]
    """The variables that were given as keywords. Not a field, like ``compiled``: for a hint."""
    compiled: Any  # Any: of ``templates``, whose classes come with Jinja
    """The template as it was compiled when it was rendered, ``None`` if other text replaces it."""


@node_class
class VerbatimNode(Node):
    """Finished text, sent unchanged but guarded: it cannot close the fence around it.

    ``pieces`` are its parts, the values among them :class:`Labelled`; recorded text has none.
    """

    text: str
    cache: Cache | None = None
    pieces: tuple[str, ...] = ()
    raw_values: tuple[str, ...] = ()
    """The values in it, before they were encoded."""
    starts_block: bool = False
    """Whether the text before it is another block."""


@node_class
class FenceNode(Node):
    """Content between two delimiters that nothing inside can close.

    ``names`` are the tag names of delimiters that are tags, ``literals`` the other delimiters. With
    ``values`` all strings in it are values.
    """

    open: str
    close: str
    names: tuple[str, ...]
    literals: tuple[str, ...]
    values: bool
    raw_values: tuple[str, ...]
    """The values in its opening delimiter, before they were encoded."""


@node_class
class MediaNode(Node):
    """A block that is sent unchanged: an attachment, or a block of a recorded system message."""

    block: Block

    def _name(self) -> str:
        if type(self) is not MediaNode:
            return Node._name(self)
        return type(self.block).__name__.removesuffix("Block")


@node_class
class ToolUseNode(Node):
    """A tool call of an assistant turn."""

    block: ToolUseBlock


@node_class
class ToolResultNode(Node):
    """The answer to a tool call, inside a user or tool turn."""

    tool_use_id: str
    is_error: bool
    error_type: str | None


@node_class
class ReasoningNode(Node):
    """The reasoning of a model."""

    block: ReasoningBlock


@node_class
class EventBlockNode(Node):
    """An event block of an event turn; ``trusted`` names its fields that hold author text.

    ``labels`` are those of the volatile values in its fields, by their paths.
    """

    block: EventBlock
    trusted: frozenset[str]
    labels: Mapping[Any, str] = EMPTY  # Any: a path, a tuple of names and indexes

    def _name(self) -> str:
        if type(self) is not EventBlockNode:
            return Node._name(self)
        return type(self.block).__name__.removesuffix("Block")
