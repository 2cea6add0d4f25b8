"""Breaking control tokens in all that a payload says, however deep it is."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.json import ABSENT, read_json, write_json
from promptdsl.messages import TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import ToolDefinition
from promptdsl.providers.chat_template.names import unlike
from promptdsl.providers.chat_template.request import Templated
from promptdsl.providers.shared.request import Param, Subject

_WHY = "a token of the template: a backslash breaks it"


def break_tokens(request: Templated, messages: list[Param], tools: list[Param]) -> None:
    """Break the control tokens in messages and tools, in place; a hint for each that held any."""
    # What a program fetches or decodes was written for it, and holds no token.
    media = {id(part) for part in _parts(messages) if part["type"] != "text"}
    _break_all(request, [messages, tools], media)
    subjects: list[Subject] = [*request.prompt.tools, *request.messages]
    for subject in subjects:
        if any(map(request.tokens.search, _texts(subject))):
            request.lose(subject, "hint", "control token", _WHY)


def _parts(messages: list[Param]) -> Iterator[Param]:
    for entry in messages:
        if isinstance(entry["content"], list):
            yield from entry["content"]


def _break_all(request: Templated, waiting: list[Any], kept: set[int]) -> None:
    while waiting:
        found = _broken(request, waiting.pop())
        waiting += [value for value in found if id(value) not in kept]


def _broken(request: Templated, container: dict[Any, Any] | list[Any]) -> list[Any]:
    """Break the tokens in the strings of a container; return the containers in it."""
    items: list[tuple[Any, Any]]
    if isinstance(container, list):
        items = [*enumerate(container)]
        container[:] = [_held(request, "", value) for value in container]
    else:
        items = [*container.items()]
        container.clear()
        counts = Counter[str]()
        for key, value in items:
            fresh = unlike(request.harmless(key), container, counts)
            container[fresh] = _held(request, key, value)
    return [value for _, value in items if isinstance(value, dict | list)]


def _held(request: Templated, key: object, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = key == "arguments" and not request.abilities.mapping
    if not text or not request.tokens.search(value):
        return request.harmless(value)
    # JSON text has no word for a backslash before a letter: what it says is broken in its place.
    said = read_json(value)
    if said is ABSENT:
        return request.harmless(value)
    held = [said]
    _break_all(request, [held], set())
    return write_json(held[0])


def _texts(subject: Subject) -> Sequence[str]:
    if isinstance(subject, ToolDefinition):
        said = {"schema": subject.input_schema, "more": subject.extra, "raw": subject.raw}
        return [subject.name, subject.description or "", *_strings(thawed(said))]
    if not isinstance(subject, Message):
        return []
    if subject.plain is not None:
        return [subject.plain, subject.name or ""]
    return [subject.name or "", *(text for block in subject.content for text in _said(block))]


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings and keys in a value."""
    waiting: list[Any] = [value]
    while waiting:
        one: Any = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
        elif isinstance(one, list):
            waiting += one


def _said(block: Any) -> list[str]:
    match block:
        case TextBlock():
            return [block.text]
        case ToolUseBlock():
            return [block.id, block.name, block.arguments]
        case ToolResultBlock():
            return [text for inner in block.content for text in _said(inner)]
        case _:
            return [block.text] if block.type == "reasoning" else []
