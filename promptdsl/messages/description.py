"""A block in a few words, as outlines and views of a request name it, and the text of data."""

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
)
from promptdsl.messages.media.image_size import size_of


def described(block: Block, *, tools: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Return a block in words, and its text: ``call look (call_1)`` and its arguments.

    With ``tools``, the names of tools by the ids of their calls, no ids are among the words. The
    blocks in a result are not described with it.
    """
    match block:
        case TextBlock():
            words, text = "text", block.text
        case ReasoningBlock():
            words, text = "reasoning", block.text
        case ToolUseBlock():
            words = f"call {block.name}" + (f" ({block.id})" if tools is None else "")
            text = block.arguments
        case ToolResultBlock():
            id = block.tool_use_id
            name = id if tools is None else block.name or tools.get(id, id)
            words, text = f"result {name} failed" if block.is_error else f"result {name}", ""
        case _ if isinstance(block, MediaBlock):
            words, text = _attachment(block)
        case _:
            data = block.to_dict()
            words, text = str(data.get("type", block.type)), write_json(data)
    return words, text


def default_text(block: DataBlock) -> str:
    """Return the text of a block that becomes text, the same in every format of a prompt."""
    match block:
        case JsonBlock(value):
            return json_text(value)
        case CodeBlock(text, language):
            return text.join(code_fences(text, language))


def _attachment(block: MediaBlock) -> tuple[str, str]:
    """Return an attachment in words: its title, source, media type and size; and where it is."""
    source, title = block.source, f" {block.title!r}" if block.title else ""
    place, size = source.value, size_of(source)
    words = [f"{block.type}{title} ({source.kind})"]
    words += [source.media_type] if source.media_type else []
    words += [f"{size[0]}x{size[1]}"] if size else []
    if source.kind == "base64":
        place = f"{len(place) * 3 // 4 - place[-2:].count('='):,} bytes"
    return " ".join(words), place
