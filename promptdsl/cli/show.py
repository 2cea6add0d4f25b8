"""What the commands print: messages, configurations and JSON as text that a terminal can show."""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from promptdsl import Block, Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock

INDENT = "  "


def as_text(messages: Sequence[Message]) -> str:
    """Return what is said, under a line with the role of who says it."""
    calls: dict[str, str] = {}
    return "\n\n".join(_said(message, calls) for message in messages)


def _said(message: Message, calls: dict[str, str]) -> str:
    heading, parts = [message.role, *_name(message)], list[str]()
    for block in message.content:
        if isinstance(block, ToolUseBlock):
            calls[block.id] = block.name
        if isinstance(block, ToolResultBlock):
            heading += [block.name or calls.get(block.tool_use_id, block.tool_use_id)]
            heading += ["failed"] if block.is_error else []
            parts += map(_short, block.content)
        else:
            parts.append(_short(block))
    return "\n".join([f"[{' '.join(heading)}]", *(["\n\n".join(parts)] if parts else [])])


def _name(message: Message) -> list[str]:
    return [] if message.name is None or message.role == "tool" else [message.name]


def _short(block: Block) -> str:
    match block:
        case TextBlock():
            return block.text
        case ToolUseBlock():
            return f"-> {block.name}({block.arguments})"
        case ReasoningBlock():
            return f"({block.type}: {block.text})"
        case _:
            return f"({_what(block)})"


def as_messages(messages: Sequence[Message]) -> str:
    """Return messages with every block they are made of; what is indented is what is in it."""
    return "\n\n".join(
        "\n".join(_message_lines(index, message)) for index, message in enumerate(messages)
    )


def _message_lines(index: int, message: Message) -> Iterator[str]:
    said = [f"{index} {message.role}", *_name(message)]
    yield " ".join(said + ([f"({message.id})"] if message.id else []))
    for block in message.content:
        yield from _indented(_block_lines(block))


def _block_lines(block: Block) -> Iterator[str]:
    yield _what(block)
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


def _indented(lines: Any) -> Iterator[str]:
    return (f"{INDENT}{line}" if line else line for line in lines)


def _what(block: Block) -> str:
    """Return the type of a block and what tells it from others, its content aside."""
    data = block.to_dict()
    said = [str(data.get("type", block.type))]
    match block:
        case ToolUseBlock():
            said += [block.name, f"({block.id})"]
        case ToolResultBlock():
            said += [block.tool_use_id, *([block.error_type or "error"] if block.is_error else [])]
        case _ if isinstance(data.get("source"), dict):
            said += [_source(data["source"])]
        case _:
            pass
    return " ".join([*said, *(["cached"] if data.get("cache") else [])])


def _source(source: Mapping[str, Any]) -> str:
    if source["type"] == "base64":
        size = len(source["data"]) * 3 // 4
        return f"{source.get('media_type') or 'base64'}, about {size:,} bytes"
    return str(next(value for key, value in source.items() if key not in ("type", "media_type")))


def as_explanation(explained: Mapping[str, tuple[Any, str]]) -> str:
    """Return every configuration value with the layer that set it, a line each."""
    rows = [(key, _value(value), layer) for key, (value, layer) in explained.items()]
    first, second = (max((len(row[n]) for row in rows), default=0) for n in (0, 1))
    return "\n".join(f"{key:<{first}}  {value:<{second}}  {layer}" for key, value, layer in rows)


def _value(value: object) -> str:
    """Return a configuration value as an author writes it: no addresses of functions in it."""
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    kind = getattr(value, "kind", None)
    if kind is None:
        return value if isinstance(value, str) else str(value)
    ends = [repr(end)[1:-1] for end in (getattr(value, "open", ""), getattr(value, "close", ""))]
    return " ... ".join(end for end in ends if end) or "None"


def as_json(value: object) -> str:
    """Return strict JSON: bytes as base64, what else it has no word for (metadata) as its text.

    Raises :class:`ValueError` for numbers that are none, ``TypeError`` for keys that are no text.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2, default=_plain)
    return _ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return dict(cast("Any", value)) if isinstance(value, Mapping) else str(value)


# What may stand raw in JSON, but not in UTF-8 or not on a terminal.
_ODD = re.compile("[\x7f-\x9f\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def visible(text: str) -> str:
    """Return text whose control characters, newline and tab aside, are escapes that can be seen."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def on_one_line(text: str) -> str:
    """Return text in which all that cannot be printed, line ends too, are escapes.

    The package has the same inside, but no door to it: a tool imports what a user may import.
    """
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() else repr(mark)[1:-1] for mark in text)
