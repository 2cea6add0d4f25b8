"""The attributes of an OpenTelemetry span for a request, by the GenAI conventions.

Here a "span" of OpenTelemetry is a request; a :class:`Span` is a piece of a message.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import groupby, takewhile
from typing import Any

from promptdsl.budget.dropped import Dropped
from promptdsl.foundation.json import read_json, write_json
from promptdsl.messages import (
    Block,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from promptdsl.messages.blocks import MediaBlock
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import ToolDefinition
from promptdsl.rendering.reports.report_input import ReportInput
from promptdsl.rendering.spans import Span
from promptdsl.tree.node import Node, walk
from promptdsl.tree.turn_nodes import ConversationNode, RecordedNode, TurnNode

CONVENTIONS = "0.1.0"
"""The version of the GenAI conventions that the attributes follow."""


def otel_attributes(
    report_input: ReportInput,
    *,
    stages: Mapping[str, Node],
    spans: Iterable[Span],
    has_output: bool,
) -> dict[str, str | bool]:
    """Return the attributes that have no text of the prompt.

    ``spans`` are those of the prompt as it was written, before a budget dropped parts.
    """
    facts = report_input.facts
    provider, operation = facts.wire.telemetry
    recorded = [_recorded(stages[name]) for name in ("read", "fit")]
    is_compacted = recorded[0] != recorded[1]
    is_compacted |= _written_turns(stages["read"]) != _written_turns(stages["fit"])
    # Look before the pass ``merge``, which may join a summary to the turn after it.
    is_compacted |= any(message.kind == "summary" for message in recorded[1])
    attributes: dict[str, str | bool | None] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": facts.model,
        "gen_ai.output.type": "json" if has_output else None,
        "gen_ai.prompt.version": _version(spans),
        "gen_ai.conversation.compacted": is_compacted,
    }
    return {key: value for key, value in attributes.items() if value}


def lacks_author_text(dropped: Iterable[Dropped]) -> bool:
    """Return whether author's text was dropped, not only recorded messages."""
    return not all(_is_recorded(item) for dropped_part in dropped for item in dropped_part.gone)


def _is_recorded(item: object) -> bool:
    if isinstance(item, ConversationNode):
        return all(isinstance(child, RecordedNode) for child in item.content)
    return isinstance(item, Message | RecordedNode)


def otel_content(report_input: ReportInput, tools: Sequence[ToolDefinition]) -> dict[str, str]:
    """Return the attributes with the content that is sent.

    They are JSON texts, because an attribute of a span cannot be a structure.
    """
    messages = report_input.messages
    is_apart = report_input.facts.wire.system
    system_messages = takewhile(lambda message: is_apart and message.role == "system", messages)
    count = len([*system_messages])
    content: dict[str, list[Any]] = {  # Any: JSON
        "gen_ai.system_instructions": [
            part for message in messages[:count] for part in _parts(message.content)
        ],
        "gen_ai.input.messages": [_message(message) for message in messages[count:]],
        "gen_ai.tool.definitions": [_tool(tool) for tool in tools],
    }
    return {key: write_json(value, outer_levels=6) for key, value in content.items() if value}


def _version(spans: Iterable[Span]) -> str:
    """Return a digest of the author's text without values: it is equal for all values."""
    author_spans = (span for span in spans if span.kind == "author")
    # Join the texts of one address, because an empty value leaves no span between two texts.
    texts_by_address = groupby(author_spans, lambda span: (span.role, span.address))
    text = [
        [*address, "".join([span.text for span in pieces])] for address, pieces in texts_by_address
    ]
    return sha256(write_json(text).encode()).hexdigest()[:16]


def _recorded(tree: Node) -> list[Message]:
    return [
        message
        for node, _ in walk(tree)
        if isinstance(node, RecordedNode)
        for message in node.items
    ]


def _written_turns(tree: Node) -> int:
    """Return the number of turns, such as events, in the histories of a tree."""
    histories = (node for node, _ in walk(tree) if isinstance(node, ConversationNode))
    return sum(isinstance(child, TurnNode) for history in histories for child in history.content)


def _message(message: Message) -> dict[str, Any]:  # Any: JSON
    data = {"role": message.role, "parts": _parts(message.content)}
    return data if message.name is None else {**data, "name": message.name}


def _parts(blocks: Sequence[Block]) -> list[Any]:  # Any: JSON
    return [part for block in blocks for part in _part(block)]


def _part(block: Block) -> list[dict[str, Any]]:  # Any: JSON
    """Return a block in the format of the conventions, without its signature."""
    match block:
        case TextBlock():
            return [{"type": "text", "content": block.text}]
        case ReasoningBlock():
            return [{"type": "reasoning", "content": block.text}] if block.text else []
        case ToolUseBlock():
            input = read_json(block.arguments)
            arguments = input if isinstance(input, Mapping) else block.arguments
            call = {"id": block.id, "name": block.name, "arguments": arguments}
            return [{"type": "tool_call", **call}]
        case ToolResultBlock():
            parts = _parts(block.content)
            is_text = len(parts) == 1 and parts[0]["type"] == "text"
            response = parts[0]["content"] if is_text else parts
            return [{"type": "tool_call_response", "id": block.tool_use_id, "response": response}]
        case UnknownBlock():
            return [{"type": "generic", "generic_type": str(block.data.get("type", block.type))}]
        case _ if isinstance(block, MediaBlock):
            source = block.source
            kinds_and_keys = {"base64": ("blob", "content"), "file_id": ("file", "file_id")}
            kind, key = kinds_and_keys.get(source.kind, ("uri", "uri"))
            data = {"type": kind, "modality": block.type, key: source.value}
            return [data if source.media_type is None else {**data, "mime_type": source.media_type}]
        case _:
            return [{"type": "generic", "generic_type": block.type}]


def _tool(tool: ToolDefinition) -> dict[str, Any]:  # Any: JSON
    if tool.raw is not None:
        return {"type": str(tool.raw.get("type") or "provider"), "name": tool.name}
    data = {"type": "function", "name": tool.name, "description": tool.description}
    data = {key: value for key, value in data.items() if value}
    return {**data, "parameters": tool.input_schema} if tool.input_schema else data
