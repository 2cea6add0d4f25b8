"""Parts as OpenAI takes them: neighbouring texts as one, with the marks that stay among them."""

from typing import Any

import pytest

from promptdsl import *
from tests.providers.conversations import call, media, say
from tests.renders import reported
from tests.wire.sent import lost, sent

MARKING, PLAIN = "gpt-5.6-sol", "openai"
MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}
IMAGE = ImageBlock(media("url", "https://example.org/a.png"))
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
NEWS = {"type": "news", "text": "x"}
NONE = ("hint", "cache mark", "the target takes no cache mark here")


def text(content: str, cache: Any = "default") -> TextBlock:
    """Return a text with a mark behind it."""
    return TextBlock(content, cache)


def part(content: str, **mark: Any) -> dict[str, Any]:
    """Return the part of a text."""
    return {"type": "text", "text": content, **mark}


def content(target: str, *blocks: Any, role: Any = "user") -> Any:
    """Return the content of the only message of these blocks."""
    (message,) = sent(target, say(role, *blocks))["messages"]
    return message["content"]


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
    ("target", "type", "keys"),
    [("openai", "text", {}), ("openai_responses", "output_text", {"annotations": []})],
)
def test_parts_of_an_answer(target: str, type: str, keys: dict[str, Any]) -> None:
    """Texts of an answer are joined, too, but never with a refusal."""
    refusal = TextBlock("no", extra={"refusal": True})
    messages = say("user", "u"), say("assistant", "a", refusal, "b", "c"), say("user", "v")
    payload = sent(target, *messages)
    assert [
        {"type": type, "text": "a", **keys},
        {"type": "refusal", "refusal": "no"},
        {"type": type, "text": "b\n\nc", **keys},
    ] == (payload.get("messages") or payload["input"])[1]["content"]


def text_of(content: Any) -> str:
    """Return what a content says."""
    return (
        content if isinstance(content, str) else "".join(part.get("text", "+") for part in content)
    )


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
    assert text_of(content(PLAIN, *blocks)) == text_of(content(MARKING, *blocks))


@pytest.mark.parametrize(
    ("target", "messages", "losses"),
    [
        (MARKING, [say("user", text("a", "5m"))], []),
        (
            MARKING,
            [say("user", text("a", "1h"))],
            [("hint", "an hour to live", "the request sets how long cache marks live")],
        ),
        (MARKING, [say("user", text(""), "b")], [NONE]),
        (MARKING, [say("user", "u"), say("assistant", text("a")), say("user", "v")], [NONE]),
        (MARKING, [say("system", text("s")), say("user", "u")], []),
        (
            MARKING,
            [say("user", text(messages)) for messages in "abcdef"],
            [("hint", "cache mark", "a request carries 4")] * 2,
        ),
        (
            MARKING,
            [say("user", "r", kind="request"), say("user", text("a"))],
            [
                (
                    "hint",
                    "cache mark",
                    "it is after grounding, which the next request does not have",
                )
            ],
        ),
        (PLAIN, [say("user", text("a"), text("b", "1h"))], [NONE, NONE]),
        ("openai_responses", [say("user", text("a"), text("b", "1h"))], [NONE, NONE]),
    ],
)
def test_lost_marks(target: str, messages: Any, losses: object) -> None:
    """A mark that cannot stay is a hint, and so is an hour, where a mark has no length."""
    assert losses == lost(target, *messages)


def call_and_result(*content: Any, **result: Any) -> tuple[Message, ...]:
    """Return a call and its result."""
    blocks = tuple(TextBlock(block) if isinstance(block, str) else block for block in content)
    call_messages = (say("user", "u"), say("assistant", call("c")))
    return (*call_messages, say("tool", ToolResultBlock("c", blocks, **result)))


HOUR = ("hint", "an hour to live", "the request sets how long cache marks live")


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
    messages = call_and_result(*inner, cache=outer)
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
    messages = call_and_result(*inner, is_error=True, error_type=type)
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
        sent("openai_responses", *call_and_result(*inner, is_error=True))["input"][-1]["output"]
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


RECORDED_PARTS = [
    part("\n\na"),
    part("b", **MARK),
    part("\n\nc"),
    part("d"),
    PICTURE,
    part("e"),
    {"type": "text", "text": "f", **MARK},
]


def test_recorded_texts_stay_parts() -> None:
    """Texts that were recorded as several parts come back to the byte, with marks and without."""
    parts_without_marks = [
        {key: part[key] for key in part if key not in MARK} for part in RECORDED_PARTS
    ]
    for parts in (RECORDED_PARTS, parts_without_marks):
        payload = {"messages": [{"role": "user", "content": parts}]}
        rendered = render(read_payload(payload, "openai"), model="gpt-6-sol")
        assert (payload, ()) == (rendered.payload(), reported(rendered))


LISTS: dict[str, tuple[str, Any]] = {
    "a system message": ("openai", {"role": "system", "content": [part("a"), part("b")]}),
    "an answer": ("openai", {"role": "assistant", "content": [part("a"), part("b")]}),
    "an item": (
        "openai_responses",
        {"role": "user", "content": [{"type": "input_text", "text": text} for text in "ab"]},
    ),
    "an answer of Responses": (
        "openai_responses",
        {"role": "assistant", "content": [{"type": "output_text", "text": text} for text in "ab"]},
    ),
}


@pytest.mark.parametrize("what", LISTS)
def test_lists_of_texts(what: str) -> None:
    """A recorded list of texts is sent as a list."""
    target, message = LISTS[what]
    before = {"role": "assistant" if message["role"] == "user" else "user", "content": "q"}
    history = getattr(History, f"from_{target}")([before, message])
    payload = render(Timeline(history), provider=target).payload()
    parts = next(iter(payload.values()))[-1]["content"]
    assert ["a", "b"] == [part["text"] for part in parts]


def test_texts_of_merged_turns() -> None:
    """Turns that are merged are one text where the target wants a string, as before."""
    turns = [{"role": "user", "content": [part("a"), part("b")]}, {"role": "user", "content": "c"}]
    payload = render(Timeline(History.from_openai(turns)), provider="openai").payload()
    assert {"messages": [{"role": "user", "content": "a\n\nb\n\nc"}]} == payload


def test_texts_of_other_providers() -> None:
    """What was recorded as several texts elsewhere is several parts, too."""
    turn = {"role": "user", "content": [{"type": "text", "text": text} for text in "ab"]}
    payload = render(History.from_anthropic([turn]), provider="openai").payload()
    assert {"messages": [turn]} == payload


def test_join_texts() -> None:
    """Written texts are joined, or with the setting stay parts; one alone is a string."""
    prompt = Timeline(User(Text("a"), Text("b")), Assistant("c"))
    joined = render(prompt, provider="openai").payload()["messages"]
    apart = render(prompt, provider="openai", transformation={"join_texts": False})
    assert [{"role": "user", "content": "a\n\nb"}, {"role": "assistant", "content": "c"}] == joined
    assert [
        {"role": "user", "content": [part("a"), part("b")]},
        {"role": "assistant", "content": "c"},
    ] == apart.payload()["messages"]
    assert ["a", "b"] == [
        apart.payload()["messages"][location.entry or 0]["content"][location.address[3]]["text"]
        for location in apart.locations()[:2]
    ]
