"""The nodes of data blocks, JSON and code, which become text before they are sent."""

from promptdsl.foundation.escaping import json_text
from promptdsl.foundation.source import Position, Source
from promptdsl.messages import CodeBlock, DataBlock, JsonBlock
from promptdsl.tree.masks import TEXT
from promptdsl.tree.node import Child, Node, make
from promptdsl.tree.part_nodes import CodeNode, JsonNode, ValueNode


def data_node(
    block: DataBlock, at: Position | Source | Node | None, *, is_value: bool
) -> JsonNode | CodeNode:
    """Return the node of a block; ``is_value`` is whether its text is encoded as a value."""
    match block:
        case JsonBlock(value):
            return make(JsonNode, mask=TEXT, at=at, text=json_text(value))
        case CodeBlock(text, language):
            part: Child = make(ValueNode, mask=TEXT, at=at, text=text) if is_value else text
            return make(CodeNode, (part,), mask=TEXT, at=at, language=language)
