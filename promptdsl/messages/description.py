"""Short descriptions of blocks for outlines and views of a request, and the text of data."""

from collections.abc import Mapping

from promptdsl.foundation.escaping import code_fences, json_text
from promptdsl.foundation.json import write_json
from promptdsl.messages.blocks import (
    Block,
    CodeBlock,
    DataBlock,
    JsonBlock,
    MediaBlock,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from promptdsl.messages.media.image_size import size_of

LONGEST = 60
"""The most characters of a title or a type in a description."""


def described(block: Block, *, tools: Mapping[str, str] | None = None) -> str:
    """Return a block in words, such as ``call look (call_1)``.

    With ``tools``, the names of tools by the ids of their calls, the description has no ids. The
    blocks in a result are not described.
    """
    match block:
        case ToolUseBlock():
            return f"call {block.name}" + (f" ({block.id})" if tools is None else "")
        case ToolResultBlock():
            id = block.tool_use_id
            name = id if tools is None else block.name or tools.get(id, id)
            return f"result {name} failed" if block.is_error else f"result {name}"
        case UnknownBlock():
            return _shortened(block.kind)
        case _ if isinstance(block, MediaBlock):
            source, size = block.source, size_of(block.source)
            title = f" {_shortened(block.title)!r}" if block.title else ""
            words = [f"{block.type}{title} ({source.kind})"]
            words += [source.media_type] if source.media_type else []
            words += [f"{size[0]}x{size[1]}"] if size else []
            return " ".join(words)
        case _:
            return block.type


def shown_text(block: Block) -> str:
    """Return the text that a view shows of a block: of an attachment its address or its size."""
    match block:
        case TextBlock() | ReasoningBlock():
            return block.text
        case ToolUseBlock():
            return block.arguments
        case ToolResultBlock():
            return ""
        case _ if isinstance(block, MediaBlock):
            location = block.source.value
            is_data = block.source.kind == "base64"
            return (
                f"{len(location) * 3 // 4 - location[-2:].count('='):,} bytes"
                if is_data
                else location
            )
        case _:
            return write_json(block.to_dict())


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def default_text(block: DataBlock) -> str:
    """Return the text of a block that becomes text, the same in every format of a prompt."""
    match block:
        case JsonBlock(value):
            return json_text(value)
        case CodeBlock(text, language):
            return text.join(code_fences(text, language))
