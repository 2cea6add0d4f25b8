"""Cache marks: which of those that are asked for a request carries, and why the others are lost."""

from typing import Any

import pytest

from promptdsl import *
from tests.providers.conversations import call, media, say
from tests.wire.sent import lost, written

CLAUDE = "claude-opus-5"
TOOL = ToolDefinition("t", input_schema={"type": "object"}, cache="1h")
PLAIN = ToolDefinition("t", input_schema={"type": "object"})
ANSWER = say("assistant", "ok")
FLEETING = say("user", "now", kind="request")
PASSING = "it is after grounding, which the next request does not have"
EARLY = "it lives for an hour, since five minutes may not come before an hour"
MANY = "a request carries 4"
UNSENT = "the block before it is not sent"


def text(content: str, cache: Any = "default") -> Message:
    """Return a user's text with a mark behind it."""
    return say("user", TextBlock(content, cache))


def marked_messages(*marks: Any) -> tuple[Message, ...]:
    """Return texts ``a``, ``b``, ... with marks that live so long."""
    return tuple(text(content, cache) for content, cache in zip("abcdefg", marks, strict=False))


def marks(*messages: Message, **request: Any) -> list[tuple[str, str | None]]:
    """Return what the marks of a payload stand behind, and how long they live."""
    payload, _ = written(CLAUDE, Prompt(messages, **request))
    params = [*payload.get("tools", []), *payload.get("system", [])]
    params += [block for turn in payload["messages"] for block in turn["content"]]
    return [
        (_name(block), block["cache_control"].get("ttl"))
        for block in params
        if "cache_control" in block
    ]


def _name(block: Any) -> str:
    return str(next(block[key] for key in ("text", "tool_use_id", "id", "name") if key in block))


def losses(*messages: Message, **request: Any) -> list[tuple[str, str]]:
    """Return of every mark that is lost the text of its message, and why."""
    all_losses = written(CLAUDE, Prompt(messages, **request))[1]
    mark_hints = [loss for loss in all_losses if (loss.kind, loss.what) == ("hint", "cache mark")]
    return [(_text(loss.message), loss.why) for loss in mark_hints]


def _text(message: Message | None) -> str:
    blocks = () if message is None else message.content
    return "".join(getattr(block, "text", "") for block in blocks)


@pytest.mark.parametrize(
    ("messages", "sent_marks", "lost_marks"),
    [
        (marked_messages("5m", "default", "1h")[:2], [("a", "5m"), ("b", None)], []),
        (marked_messages(*["default"] * 4), [(said, None) for said in "abcd"], []),
        (
            marked_messages(*["default"] * 6),
            [(said, None) for said in "cdef"],
            [("a", MANY), ("b", MANY)],
        ),
        (
            marked_messages("1h", "1h", "1h", "1h", "1h", "5m"),
            [(said, "1h") for said in "bcde"],
            [("a", MANY), ("f", MANY)],
        ),
        (
            marked_messages("1h", "5m", "default", "5m", "5m", "5m"),
            [("a", "1h"), ("d", "5m"), ("e", "5m"), ("f", "5m")],
            [("b", MANY), ("c", MANY)],
        ),
        (
            marked_messages("5m", "default", "1h", "5m"),
            [("a", "1h"), ("b", "1h"), ("c", "1h"), ("d", "5m")],
            [("a", EARLY), ("b", EARLY)],
        ),
        (
            marked_messages("5m", "1h", "1h", "1h", "1h", "1h"),
            [(said, "1h") for said in "cdef"],
            [("a", MANY), ("b", MANY)],
        ),
        (marked_messages("1h", "5m", "1h"), [(said, "1h") for said in "abc"], [("b", EARLY)]),
        (
            marked_messages("5m", "5m", "1h", "5m", "5m"),
            [("b", "1h"), ("c", "1h"), ("d", "5m"), ("e", "5m")],
            [("a", MANY), ("b", EARLY)],
        ),
    ],
)
def test_how_many(messages: Any, sent_marks: object, lost_marks: object) -> None:
    """Those that live longest are kept, then the last; what is before an hour lives as long."""
    assert (sent_marks, lost_marks) == (marks(*messages), losses(*messages))


@pytest.mark.parametrize(
    ("messages", "marked_texts", "lost_texts"),
    [
        ((text("a"), FLEETING, ANSWER, text("b")), ["a", "b"], []),
        ((text("a"), FLEETING, text("b")), ["a"], ["b"]),
        ((text("a"), FLEETING, ANSWER, text("b"), FLEETING, text("c"), text("d")), "ab", "cd"),
        ((text("a"), ANSWER, text("b"), FLEETING, FLEETING, text("c")), ["a", "b"], ["c"]),
        ((FLEETING, say("system", TextBlock("s", "default")), text("b")), ["s"], ["b"]),
        ((say("user", TextBlock("r", "default"), kind="request"), ANSWER, text("b")), "b", "r"),
        ((say("user", TextBlock("r", "default"), kind="request"), text("b")), [], ["r", "b"]),
        (
            (text("a"), FLEETING, say("developer", TextBlock("d", "default"))),
            ["a"],
            ["d"],
        ),
        ((text("a"), say("user", "e", kind="event"), text("b")), ["a", "b"], []),
        ((text("a"), FLEETING, text("b"), ANSWER), ["a", "b"], []),
        ((text("a"), text("b"), FLEETING), ["a", "b"], []),
        ((text("a"), ANSWER, FLEETING, text("b")), ["a"], ["b"]),
        ((text("a"), ANSWER, ANSWER, FLEETING, text("b")), ["a"], ["b"]),
    ],
)
def test_behind_request_only_content(messages: Any, marked_texts: Any, lost_texts: Any) -> None:
    """Behind what is not there the next time no mark would be found, until an answer follows."""
    assert [(content, None) for content in marked_texts] == marks(*messages)
    assert [(content, PASSING) for content in lost_texts] == losses(*messages)


def test_tools_and_system_text() -> None:
    """Marks behind tools and system text come first, and stand behind nothing request-only."""
    system = say("system", TextBlock("s", "1h"), TextBlock("t", "default"))
    messages = (system, FLEETING, text("a"))
    assert [("t", "1h"), ("s", "1h"), ("t", None)] == marks(*messages, tools=(TOOL,))
    assert [("a", PASSING)] == losses(*messages, tools=(TOOL,))
    late = say("system", TextBlock("s", "5m"))
    assert [("t", "1h"), ("s", "1h"), ("a", "1h")] == marks(late, text("a", "1h"), tools=(TOOL,))
    assert [("s", EARLY)] == losses(late, text("a", "1h"), tools=(TOOL,))


def test_a_mark_alone() -> None:
    """A mark behind a tool stays in a request without messages."""
    assert [("t", "1h")] == marks(tools=(TOOL,))


def test_whose_mark_it_is() -> None:
    """A mark behind a tool that is lost is told of the tool."""
    prompt = Prompt(marked_messages("1h", "1h", "1h", "1h"), (TOOL,))
    assert [("hint", "cache mark", MANY, "tools/t")] == [
        (loss.kind, loss.what, loss.why, loss.path) for loss in written(CLAUDE, prompt)[1]
    ]


@pytest.mark.parametrize(
    ("block", "sent_marks", "why"),
    [
        (TextBlock(" ", "default"), [], ["it is only white space, so it is left out", UNSENT]),
        (TextBlock("", "default"), [], [UNSENT]),
        (
            ImageBlock(media("gcs", "gs://a/b"), cache="default"),
            [],
            [
                "its source or its media type is not taken; "
                "a media_loader can give it the bytes: render(..., media_loader=...)",
                UNSENT,
            ],
        ),
        (
            ToolUseBlock("c", "t", "{}", "default"),
            [],
            ["the target takes no such block in a user message", UNSENT],
        ),
        (UnknownBlock({"type": "x", "cache": 1}, "gemini"), [], ["only gemini knows it"]),
        (UnknownBlock({"type": 1}, "anthropic"), [], ["'type' must be a string, not int"]),
        (
            UnknownBlock(
                {"type": "x", "id": "i", "cache_control": {"type": "ephemeral"}}, "anthropic"
            ),
            [("i", None)],
            [],
        ),
    ],
)
def test_behind_what_is_not_sent(block: Any, sent_marks: object, why: list[str]) -> None:
    """What may not stand in a place is a loss, and so is the mark behind it."""
    messages = (say("user", "u"), say("user", block))
    assert (sent_marks, why) == (
        marks(*messages),
        [reason for _, _, reason in lost(CLAUDE, *messages)],
    )


@pytest.mark.parametrize(
    ("result", "sent_marks", "why"),
    [
        (ToolResultBlock("c", (TextBlock("x"),), cache="5m"), [("c", "5m")], []),
        (ToolResultBlock("c", (TextBlock("x", "5m"), TextBlock("y"))), [("c", "5m")], []),
        (
            ToolResultBlock("c", (TextBlock("x", "1h"), TextBlock("y", "5m")), cache="default"),
            [("c", "1h")],
            [],
        ),
        (
            ToolResultBlock("c", (TextBlock(" ", "5m"),)),
            [],
            ["it is only white space, so it is left out", UNSENT],
        ),
        (
            ToolResultBlock("c", (ToolUseBlock("d", "t", "{}", "5m"),), cache="5m"),
            [("c", "5m")],
            ["the target takes no such block in a tool result", UNSENT],
        ),
        (
            ToolResultBlock("c", (ImageBlock(media("file_id", "f"), cache="5m"),), is_error=True),
            [("c", "5m")],
            ["the target takes none there, so it is sent in the next user message"],
        ),
    ],
)
def test_in_a_result(result: ToolResultBlock, sent_marks: object, why: list[str]) -> None:
    """A result carries the longest mark in it; one behind what is not sent is lost."""
    messages = (say("user", "u"), say("assistant", call("c", "t")), say("tool", result))
    assert sent_marks == marks(*messages, tools=(PLAIN,))
    assert why == [reason for _, _, reason in lost(CLAUDE, *messages, tools=(PLAIN,))]


def test_no_marks() -> None:
    """A model that takes no marks gets none, and it is told of each."""
    assert [("hint", "cache mark", "this model takes no cache marks")] * 3 == lost(
        "bedrock", text("a"), text("b", "5m"), FLEETING, text("c", "1h")
    )
