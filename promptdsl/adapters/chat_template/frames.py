"""What a template prints around what is said: short conversations, without their words."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from promptdsl.adapters.chat_template.engine import render
from promptdsl.chat_templates import ChatTemplate
from promptdsl.errors import TemplateError
from promptdsl.wire.request import Param


class Frame(NamedTuple):
    """A text before, ``between`` or behind words; what is between holds no words of tools."""

    text: str
    between: bool


def frames(template: ChatTemplate) -> Iterator[Frame]:
    """Yield what a template prints around the words of short conversations."""
    for shape in _SHAPES:
        yield from _split(template, shape, tools=None)
    with_tools = template.with_tools()
    for shape in (*_SHAPES[:1], *_CALLS):
        yield from _split(with_tools, shape, tools=_TOOLS)


def _split(
    template: ChatTemplate, shape: list[Param], *, tools: list[Param] | None
) -> Iterator[Frame]:
    # Some take nothing but lists of parts, and some walk through tools that are none.
    for messages in (shape, [_listed(entry) for entry in shape]):
        for given in (tools, tools or []):
            try:
                text = render(template, messages, given)
            except TemplateError:
                continue
            found = _WORD.split(text)
            if len(found) > 1:
                yield from (Frame(one, bool(n) and not tools) for n, one in enumerate(found))
                return


def _listed(entry: Param) -> Param:
    return {**entry, "content": [{"type": "text", "text": entry["content"]}]}


_WORD = re.compile("promptdsl[a-z]", re.IGNORECASE)


def _turn(role: str, word: str, **more: Any) -> Param:
    return {"role": role, "content": word, **more}


def _called(arguments: Any) -> list[Param]:
    function = {"name": "promptdslf", "arguments": arguments}
    call = {"id": "promptdsl", "type": "function", "function": function}
    result = {"tool_call_id": "promptdsl", "name": "promptdslf"}
    return [
        _turn("user", "promptdsla"),
        _turn("assistant", "", tool_calls=[call], reasoning_content="promptdslt"),
        _turn("tool", "promptdslr", **result),
    ]


_SHAPES: list[list[Param]] = [
    [_turn("user", "promptdsla")],
    [
        _turn("user", "promptdsla"),
        _turn("assistant", "promptdslb"),
        _turn("user", "promptdslc"),
    ],
    [
        _turn("user", "promptdsla"),
        _turn("assistant", "promptdslb", reasoning_content="promptdslt"),
    ],
    [_turn("system", "promptdsla"), _turn("user", "promptdslb")],
    [_turn("user", "promptdsla"), _turn("system", "promptdslb")],
    [_turn("user", "promptdsla"), _turn("developer", "promptdslb")],
    [_turn("user", "promptdsla"), _turn("tool", "promptdslb", tool_call_id="promptdsl")],
]
_CALLS = [
    [*_called(arguments), *more]
    for arguments in ({"promptdslk": "promptdslv"}, '{"promptdslk": "promptdslv"}')
    for more in ([], [_turn("assistant", "promptdslb"), _turn("user", "promptdslc")])
]
_TOOLS: list[Param] = [
    {
        "type": "function",
        "function": {
            "name": "promptdslf",
            "description": "promptdsld",
            "parameters": {
                "type": "object",
                "properties": {"promptdslk": {"type": "string", "description": "promptdsle"}},
                "required": ["promptdslk"],
            },
        },
    }
]
