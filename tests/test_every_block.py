"""Every type of block that no provider has: it becomes text, wherever it stands."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from promptdsl import *
from tests.internals import CLASSES
from tests.renders import reported, timeline_of

SENT = {
    "text", "image", "audio", "document", "video", "tool_use", "tool_result", "reasoning",
    "user_action", "state_change", "system_event",
}  # fmt: skip
"""The types that providers have, and those of events, which have turns of their own."""
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "json": {"type": "json", "value": {"wxyz": 1}},
    "code": {"type": "code", "text": "wxyz", "language": "python"},
}
"""By type, one of the blocks that become text."""

Location = Callable[[Mapping[str, Any]], tuple[Node, ...]]
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}


def answer(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a recorded message with the result of the call."""
    result = {"type": "tool_result", "tool_use_id": "a", "content": [content]}
    return {"role": "tool", "content": [result]}


PLACES: Mapping[str, Location] = {
    "instructions": lambda it: (System(it),),
    "question": lambda it: (User(it),),
    "result": lambda it: (Assistant(ToolUse("f", {}, "a")), User(ToolResult("a", it))),
    "tool": lambda it: (Assistant(ToolUse("f", {}, "a")), ToolMessage("a", it)),
    "fence": lambda it: (Ephemeral(it),),
    **{
        f"recorded {role}": lambda it, role=role: (History([{"role": role, "content": [it]}]),)
        for role in ("system", "user", "assistant", "event", "ephemeral")
    },
    "recorded system among others": lambda it: (
        System("a"),
        History([{"role": "system", "content": [it]}]),
    ),
    "recorded result": lambda it: (History([CALL, answer(it)]),),
}
"""Where a block may stand."""


def test_every_type_has_an_example() -> None:
    """A type is one that providers have, or has an example of what it becomes."""
    assert {*CLASSES} == SENT | {*EXAMPLES}


def texts_of(messages: tuple[Message, ...]) -> list[str]:
    """Return the type and the text of all that is sent, without the content of calls."""
    found: list[Block] = [block for message in messages for block in message.content]
    inner = [part for block in found for part in getattr(block, "content", ())]
    return [getattr(block, "text", block.type) for block in [*found, *inner]]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("type", EXAMPLES)
def test_it_becomes_text(type: str, place: str) -> None:
    """Its text is the same in every place, and nothing else of it is sent."""
    alone = render(User(EXAMPLES[type])).messages[0].text
    rendered = render(timeline_of(*PLACES[place](EXAMPLES[type])))
    found = [text for text in texts_of(rendered.messages) if "wxyz" in text]
    types = {block.type for message in rendered.messages for block in message.content}
    assert (1, True, set[str](), ()) == (
        len(found),
        alone in found[0],
        types - SENT,
        reported(rendered),
    )


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("type", EXAMPLES)
def test_format_block_is_given_the_block(type: str, place: str) -> None:
    """The author's function gets the block that was written or recorded, and its text is sent."""
    given: list[Block] = []

    def shown(block: Block) -> str:
        given.append(block)
        return "<shown>"

    tree = timeline_of(*PLACES[place](EXAMPLES[type]))
    rendered = render(tree, transformation={"format_block": shown})
    assert ({block_from_dict(EXAMPLES[type])}, 1) == (
        {*given},
        json.dumps(texts_of(rendered.messages)).count("shown"),
    )
