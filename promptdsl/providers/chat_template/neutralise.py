"""Break the control tokens in all strings of a payload, at any depth."""

from collections.abc import Iterator
from functools import partial

from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.json import ABSENT, JsonValue, read_json, write_json
from promptdsl.messages import Block, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.providers.chat_template.names import rewrite
from promptdsl.providers.chat_template.request import Templated
from promptdsl.providers.shared.request import Location, Param


def break_tokens(request: Templated, messages: list[Param], tools: list[Param]) -> None:
    """Break the control tokens in messages and tools, in place; a hint for each with tokens."""
    # A program fetches or decodes the bytes of media: they have no tokens.
    media = set[int]()
    for sent in messages:
        content: str | list[Param] = sent["content"]
        if isinstance(content, list):
            media.update(id(part) for part in content if part["type"] != "text")
    rewrite([*messages, *tools], request.harmless, partial(_broken_value, request), media)
    if request.notes is not None:
        return  # this write is not for its losses
    reason = "it is a token of the template: a backslash is put into it"
    for tool in request.prompt.tools:
        data = thawed({"schema": tool.input_schema, "more": tool.extra, "raw": tool.raw})
        if any(map(request.tokens.search, (tool.name, tool.description or "", *_strings(data)))):
            request.hint(tool, "control_token", "control token", reason)
    for index, message in enumerate(request.messages):
        if message._plain is None:
            texts = [_block_texts(block) for block in message.content]
        else:
            texts = [[message._plain]]
        affected = (n for n, some in enumerate(texts) if any(map(request.tokens.search, some)))
        block = next(affected, None)
        if block is not None or request.tokens.search(message.name or ""):
            location, at = Location(index, message, message.role), () if block is None else (block,)
            request.hint(location, "control_token", "control token", reason, at=at)


def _broken_value(request: Templated, key: str, value: JsonValue) -> JsonValue:
    """Return a string with broken tokens, and any other value unchanged."""
    if not isinstance(value, str):
        return value
    is_json = key == "arguments" and not request.abilities.mapping
    # JSON has no escape of a backslash before any letter: the tokens are broken in the data.
    data = read_json(value) if is_json and request.tokens.search(value) else ABSENT
    if data is ABSENT:
        return request.harmless(value)
    root = [data]
    rewrite([root], request.harmless, partial(_broken_value, request))
    return write_json(root[0])


def _strings(data: JsonValue) -> Iterator[str]:
    """Yield the strings and keys in data of any depth."""
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value


def _block_texts(block: Block) -> list[str]:
    match block:
        case TextBlock() | ReasoningBlock():
            return [block.text]
        case ToolUseBlock():
            return [block.id, block.name, block.arguments]
        case ToolResultBlock():
            return [text for inner in block.content for text in _block_texts(inner)]
        case _:
            return []
