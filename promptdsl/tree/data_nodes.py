"""The nodes of blocks that become text before they are sent."""

from promptdsl.foundation.escaping import json_text
from promptdsl.foundation.source import Position, Source
from promptdsl.messages import DataBlock, JsonBlock
from promptdsl.tree.masks import TEXT
from promptdsl.tree.node import Child, Node, make
from promptdsl.tree.part_nodes import CodeNode, JsonNode, ValueNode


def data_node(
    block: DataBlock, at: Position | Source | Node | None, *, is_value: bool
) -> JsonNode | CodeNode:
    """Return the node of a block; ``is_value`` is whether its text is encoded as a value."""
    if isinstance(block, JsonBlock):
        return make(JsonNode, mask=TEXT, at=at, text=json_text(block.value))
    text: Child = block.text
    if is_value:
        text = make(ValueNode, mask=TEXT, at=at, text=block.text)
    return make(CodeNode, (text,), mask=TEXT, at=at, language=block.language)
