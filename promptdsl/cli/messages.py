"""Messages as text for a terminal, with all their blocks."""

from collections.abc import Iterable, Iterator, Sequence

from promptdsl import Block, Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock


def as_messages(messages: Sequence[Message]) -> str:
    """Return messages with all their blocks; the content of a block is indented below it."""
    paragraphs: list[str] = []
    for index, message in enumerate(messages):
        named = message.name is not None and message.role != "tool"
        heading = [str(index), message.role, *([str(message.name)] if named else [])]
        heading += [f"({message.id})"] if message.id else []
        lines = [" ".join(heading)]
        for block in message.content:
            lines += _indented(_block_lines(block))
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def _block_lines(block: Block) -> Iterator[str]:
    yield _block_summary(block)
    match block:
        case TextBlock() | ReasoningBlock():
            yield from _indented(block.text.split("\n"))
        case ToolUseBlock():
            yield from _indented(block.arguments.split("\n"))
        case ToolResultBlock():
            for inner in block.content:
                yield from _indented(_block_lines(inner))
        case _:
            pass


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" if line else line for line in lines)


def _block_summary(block: Block) -> str:
    """Return the type of a block with its id, name or source, and whether it is cached."""
    data = block.to_dict()
    words = [str(data.get("type", block.type))]
    match block:
        case ToolUseBlock():
            words += [block.name, f"({block.id})"]
        case ToolResultBlock():
            words += [block.tool_use_id, *([block.error_type or "error"] if block.is_error else [])]
        case _ if isinstance(data.get("source"), dict):
            source = data["source"]
            if source["type"] == "base64":
                size = len(str(source["data"])) * 3 // 4
                words.append(f"{source.get('media_type') or 'base64'}, about {size:,} bytes")
            else:
                values = (source[key] for key in source if key not in ("type", "media_type"))
                words.append(str(next(values)))
        case _:
            pass
    return " ".join([*words, *(["cached"] if data.get("cache") else [])])
