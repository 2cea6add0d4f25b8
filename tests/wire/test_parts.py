"""Parts as OpenAI takes them: neighbouring texts as one, with the marks that stay among them."""

from typing import Any

import pytest

from promptdsl import ImageBlock, Message, Prompt, TextBlock, ToolResultBlock, UnknownBlock
from tests.internals import TARGETS
from tests.providers.conversations import call, media, say
from tests.wire.sent import lost, sent

MARKING, PLAIN = "gpt-5.6-sol", "openai"
MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}
IMAGE = ImageBlock(media("url", "https://example.org/a.png"))
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
NEWS = {"type": "news", "text": "x"}
NONE = ("hint", "cache mark", "the target takes no cache mark at this place")


def text(said: str, cache: Any = "default") -> TextBlock:
    """Return a text with a mark behind it."""
    return TextBlock(said, cache)


def part(said: str, **mark: Any) -> dict[str, Any]:
    """Return the part of a text."""
    return {"type": "text", "text": said, **mark}


def content(target: str, *blocks: Any, role: Any = "user") -> Any:
    """Return the content of the only message of these blocks."""
    (said,) = sent(target, say(role, *blocks))["messages"]
    return said["content"]


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (("a",), "a"),
        (("a", "b"), "a\n\nb"),
        (("a", IMAGE), [part("a"), PICTURE]),
        ((IMAGE,), [PICTURE]),
        (("a", UnknownBlock(NEWS, "openai"), "b"), [part("a"), NEWS, part("b")]),
        ((UnknownBlock(NEWS, "openai"), UnknownBlock(NEWS, "openai")), [NEWS, NEWS]),
        ((IMAGE, IMAGE, "a"), [PICTURE, PICTURE, part("a")]),
        (("a", "b", IMAGE, "c", "d"), [part("a\n\nb"), PICTURE, part("c\n\nd")]),
        ((text("a"), "b"), [part("a", **MARK), part("\n\nb")]),
        ((text("a"),), [part("a", **MARK)]),
        (("a", text("b")), [part("a\n\nb", **MARK)]),
        (
            (text("a"), "b", "c", text("d"), "e"),
            [part("a", **MARK), part("\n\nb\n\nc\n\nd", **MARK), part("\n\ne")],
        ),
        ((text("a"), IMAGE, "b"), [part("a", **MARK), PICTURE, part("b")]),
        (
            ("a", ImageBlock(IMAGE.source, cache="5m"), "b"),
            [part("a"), {**PICTURE, **MARK}, part("b")],
        ),
        (
            tuple(map(text, "abcde")),
            [
                part("a\n\nb", **MARK),
                part("\n\nc", **MARK),
                part("\n\nd", **MARK),
                part("\n\ne", **MARK),
            ],
        ),
    ],
)
def test_parts(blocks: Any, expected: object) -> None:
    """Neighbouring texts are one, and a mark comes or goes without changing what is said."""
    assert expected == content(MARKING, *blocks)


@pytest.mark.parametrize(
    ("target", "type", "more"),
    [("openai", "text", {}), ("openai_responses", "output_text", {"annotations": []})],
)
def test_parts_of_an_answer(target: str, type: str, more: dict[str, Any]) -> None:
    """Texts of an answer are joined, too, but never with a refusal."""
    refusal = TextBlock("no", extra={"refusal": True})
    said = say("user", "u"), say("assistant", "a", refusal, "b", "c"), say("user", "v")
    payload = sent(target, *said)
    assert [
        {"type": type, "text": "a", **more},
        {"type": "refusal", "refusal": "no"},
        {"type": type, "text": "b\n\nc", **more},
    ] == (payload.get("messages") or payload["input"])[1]["content"]


def spoken(found: Any) -> str:
    """Return what a content says."""
    return found if isinstance(found, str) else "".join(each.get("text", "+") for each in found)


@pytest.mark.parametrize(
    "blocks",
    [
        (text("a"), "b", "c", text("d"), "e"),
        tuple(map(text, "abcdefg")),
        ("a", text("b"), IMAGE, text("c"), "d"),
    ],
)
def test_a_mark_says_nothing(blocks: Any) -> None:
    """With its marks and without them a content says the same."""
    assert spoken(content(PLAIN, *blocks)) == spoken(content(MARKING, *blocks))


@pytest.mark.parametrize(
    ("target", "said", "losses"),
    [
        (MARKING, [say("user", text("a", "5m"))], []),
        (
            MARKING,
            [say("user", text("a", "1h"))],
            [("hint", "an hour to live", "a mark lives as long as the request says")],
        ),
        (MARKING, [say("user", text(""), "b")], [NONE]),
        (MARKING, [say("user", "u"), say("assistant", text("a")), say("user", "v")], [NONE]),
        (MARKING, [say("system", text("s")), say("user", "u")], []),
        (
            MARKING,
            [say("user", text(said)) for said in "abcdef"],
            [("hint", "cache mark", "a request carries 4")] * 2,
        ),
        (
            MARKING,
            [say("user", "r", kind="request"), say("user", text("a"))],
            [
                (
                    "hint",
                    "cache mark",
                    "after request-only content, which is gone in the next request",
                )
            ],
        ),
        (PLAIN, [say("user", text("a"), text("b", "1h"))], [NONE, NONE]),
        ("openai_responses", [say("user", text("a"), text("b", "1h"))], [NONE, NONE]),
    ],
)
def test_lost_marks(target: str, said: Any, losses: object) -> None:
    """A mark that cannot stay is a hint, and so is an hour, where a mark has no length."""
    assert losses == lost(target, *said)


def called(*content: Any, **result: Any) -> tuple[Message, ...]:
    """Return a call and its result."""
    said = tuple(TextBlock(each) if isinstance(each, str) else each for each in content)
    asked = (say("user", "u"), say("assistant", call("c")))
    return (*asked, say("tool", ToolResultBlock("c", said, **result)))


HOUR = ("hint", "an hour to live", "a mark lives as long as the request says")


@pytest.mark.parametrize(
    ("inner", "outer", "expected", "losses"),
    [
        ((text("x"), "y"), None, [part("x", **MARK), part("\n\ny")], []),
        (("x", "y"), "default", [part("x\n\ny", **MARK)], []),
        (("x", text("y")), "default", [part("x\n\ny", **MARK)], []),
        (("x", text("y", "1h")), "default", [part("x\n\ny", **MARK)], [HOUR]),
        (("x", text("y")), "1h", [part("x\n\ny", **MARK)], [HOUR]),
        ((), "default", "", [NONE]),
    ],
)
def test_marks_in_a_result(inner: Any, outer: Any, expected: object, losses: object) -> None:
    """A mark behind a result stands behind its last part, where there is one."""
    messages = called(*inner, cache=outer)
    assert expected == sent(MARKING, *messages)["messages"][-1]["content"]
    assert losses == lost(MARKING, *messages)


ERRORS: list[tuple[tuple[Any, ...], str | None, str]] = [
    (("boom",), None, "Error: boom"),
    (("ERROR: boom",), None, "ERROR: boom"),
    (("error", "x"), None, "Error: error\n\nx"),
    (("x", "error: y"), None, "Error: x\n\nerror: y"),
    ((), None, "Error: unknown"),
    ((), "interrupted", "Error: interrupted"),
    (("",), "interrupted", "Error: interrupted"),
]


FLAGS = {
    "openai": ("hint", "the error flag of a result", "Chat has no such flag, so the text says it"),
    "openai_responses": ("hint", "error flag", "the target has no such flag, so the text says it"),
}


@pytest.mark.parametrize("target", FLAGS)
@pytest.mark.parametrize(("inner", "type", "expected"), ERRORS)
def test_an_error(target: str, inner: Any, type: Any, expected: str) -> None:
    """Where a result has no error flag its first text says that it is one, which is a hint."""
    messages = called(*inner, is_error=True, error_type=type)
    payload = sent(target, *messages)
    result = payload["messages"][-1] if "messages" in payload else payload["input"][-1]
    assert expected == result.get("content", result.get("output"))
    assert [FLAGS[target]] == lost(target, *messages)


def test_an_error_with_a_picture() -> None:
    """An error is told by its first text, behind a picture too, or by one of its own before it."""
    picture = {
        "type": "input_image",
        "image_url": "https://example.org/a.png",
        "detail": "auto",
    }
    outputs = [
        sent("openai_responses", *called(*inner, is_error=True))["input"][-1]["output"]
        for inner in ((IMAGE, "x"), (IMAGE,))
    ]
    assert [
        [picture, {"type": "input_text", "text": "Error: x"}],
        [{"type": "input_text", "text": "Error: unknown"}, picture],
    ] == outputs


@pytest.mark.parametrize("target", ["openai", "openai_responses"])
def test_further_keys(target: str) -> None:
    """A further key of a block is a hint, unless it says nothing or holds recorded ids."""
    extra = {"k": 1, "empty": "", "item": {"id": "i"}, "refusal": True, "j": [2]}
    assert [
        ("hint", "key 'k'", "the target takes no such key on a block of type text"),
        ("hint", "key 'j'", "the target takes no such key on a block of type text"),
    ] == lost(target, say("user", TextBlock("x", extra=extra)))


def read_texts(*parts: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return texts and marks of a content that is read."""
    prompt: Prompt = TARGETS["openai"].read([{"role": "user", "content": [*parts]}])
    found: list[Any] = [*prompt.messages[0].content]
    return [(block.text, block.cache) for block in found if block.type == "text"]


def test_texts_that_were_joined() -> None:
    """A text behind a marked one is read without the blank line that was put before it."""
    given = [
        part("\n\na"),
        part("\n\nb", **MARK),
        part("\n\nc", **MARK),
        part("\n\n\n\nd"),
        part("\n\ne"),
        part("f", **MARK),
        part("g"),
        part("h", **MARK),
        part("\n\n"),
        part("i", **MARK),
        PICTURE,
        part("\n\nj"),
        {**PICTURE, **MARK},
        part("\n\nk"),
    ]
    assert [
        ("\n\na", None),
        ("\n\nb", "default"),
        ("c", "default"),
        ("\n\nd", None),
        ("\n\ne", None),
        ("f", "default"),
        ("g", None),
        ("h", "default"),
        ("\n\n", None),
        ("i", "default"),
        ("\n\nj", None),
        ("\n\nk", None),
    ] == read_texts(*given)


def test_the_first_text() -> None:
    """The first text is read as it came, whatever stands at the end."""
    assert [("\n\na", None), ("b", "default")] == read_texts(part("\n\na"), part("b", **MARK))


def test_a_refusal_is_not_joined() -> None:
    """A refusal is no text: neither is it read without a blank line, nor is what follows it."""
    said = [
        {"type": "text", "text": "a", **MARK},
        {"type": "refusal", "refusal": "\n\nb", **MARK},
        {"type": "text", "text": "\n\nc"},
    ]
    prompt = TARGETS["openai"].read(
        [{"role": "user", "content": "u"}, {"role": "assistant", "content": said}]
    )
    found: list[Any] = [*prompt.messages[1].content]
    assert ["a", "\n\nb", "\n\nc"] == [block.text for block in found]
