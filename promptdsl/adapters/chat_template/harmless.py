"""Breaking control tokens in all that a payload says, however deep it is."""

from collections.abc import Sequence
from typing import Any

from promptdsl.adapters.chat_template.media import CLASSES
from promptdsl.adapters.chat_template.request import Templated
from promptdsl.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.json_text import ABSENT, read_any_depth, write_json
from promptdsl.messages import Message
from promptdsl.prompts import ToolDefinition
from promptdsl.wire.request import Param, Subject

_MEDIA = frozenset(CLASSES)
_WHY = "a token of the template: a backslash breaks it"


def break_tokens(request: Templated, messages: list[Param], tools: list[Param]) -> None:
    """Break the control tokens in messages and tools, in place; a hint for each that held any."""
    waiting: list[Any] = [messages, tools]
    while waiting:
        waiting += _broken(request, waiting.pop())
    subjects: list[Subject] = [*request.prompt.tools, *request.messages]
    for subject in subjects:
        if any(map(request.tokens.whole.search, _texts(subject))):
            request.lose("hint", "control token", _WHY, subject=subject)


def _broken(request: Templated, container: dict[Any, Any] | list[Any]) -> list[Any]:
    """Break the tokens in the strings of a container; return the containers in it."""
    items: list[tuple[Any, Any]]
    if isinstance(container, list):
        items = [*enumerate(container)]
        container[:] = [_held(request, "", value) for value in container]
    else:
        items = [*container.items()]
        container.clear()
        for key, value in items:
            container[request.harmless(key)] = _held(request, key, value)
    return [value for _, value in items if isinstance(value, dict | list) and not _is_media(value)]


def _is_media(value: Any) -> bool:
    # What a program fetches or decodes; no template prints it.
    return isinstance(value, dict) and value.get("type") in _MEDIA and "role" not in value  # pyright: ignore[reportUnknownMemberType]


def _held(request: Templated, key: object, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = key == "arguments" and not request.abilities.mapping
    if not text or not request.tokens.whole.search(value):
        return request.harmless(value)
    # JSON text has no word for a backslash before a letter: what it says is broken in its place.
    said = read_any_depth(value)
    if said is ABSENT:
        return request.harmless(value)
    waiting: list[Any] = [held := [said]]
    while waiting:
        waiting += _broken(request, waiting.pop())
    return write_json(held[0])


def _texts(subject: Subject) -> Sequence[str]:
    if isinstance(subject, ToolDefinition):
        return [subject.name, subject.description or "", write_json(subject.input_schema)]
    if not isinstance(subject, Message):
        return []
    if subject.plain is not None:
        return [subject.plain]
    return [text for block in subject.content for text in _said(block)]


def _said(block: Any) -> list[str]:
    match block:
        case TextBlock():
            return [block.text]
        case ToolUseBlock():
            return [block.name, block.arguments]
        case ToolResultBlock():
            return [text for inner in block.content for text in _said(inner)]
        case _:
            return [block.text] if block.type == "reasoning" else []
