"""Each thing that a library cannot express is a loss."""

import pickle
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import pytest

from promptdsl import *
from tests.integrations.crossings import rendered
from tests.internals import Conversion
from tests.renders import named_losses, reported

NEEDED = {"langchain": "langchain_core", "mcp": "mcp", "pydantic_ai": "pydantic_ai"}
"""By the name of an integration, the module it needs; the others need none."""

FIND = ToolDefinition("find")
SEARCH = ToolDefinition("search", raw={"type": "web_search"}, origin="openai_responses")
SETTLED = render(
    Prompt(
        (Message("user", "Hi"),), (FIND,), "none", OutputSchema({"type": "object"}, strict=False)
    )
)
"""A prompt that asks something of the call it is sent with."""


def needing(library: str, *values: Any) -> Any:
    """Return the values of one case behind their library, marked with the module it needs."""
    marks = [pytest.mark.sdk(NEEDED[library])] if library in NEEDED else []
    return pytest.param(library, *values, marks=marks)


def test_the_place_of_each_of_two_blocks() -> None:
    """A loss tells which block it is of, also of two in one result."""
    call = Message("assistant", [ToolUseBlock("a", "f", "{}")])
    result = Message("tool", [ToolResultBlock("a", (TextBlock("x"), TextBlock("y")))])
    given = rendered([Message("user", "Hi"), call, result])
    crossing = Conversion.of("elsewhere", given)
    crossing.index, crossing.message = 2, given.messages[2]
    (block,) = given.messages[2].content
    assert isinstance(block, ToolResultBlock)
    assert (None, None, None) == (
        crossing.hint("unsent_key", "a result", block=block),
        crossing.hint("unsent_key", "a text", block=block.content[0]),
        crossing.hint("unsent_key", "another text", block=block.content[1]),
    )
    assert [(2, 0), (2, 0, 0), (2, 0, 1)] == [loss.at for loss in crossing.losses]


def test_the_places_of_two_messages() -> None:
    """A loss of the second message names its block."""
    first = Message("user", [TextBlock("a"), TextBlock("b")])
    second = Message("user", [TextBlock("c"), TextBlock("d"), TextBlock("e")])
    given = rendered([first, Message("assistant", "f"), second])
    crossing = Conversion.of("elsewhere", given)
    crossing.index, crossing.message = 0, first
    crossing.lose("content", "b", block=first.content[1])
    crossing.index, crossing.message = 2, second
    crossing.lose("content", "e", block=second.content[2])
    crossing.hint("unsent_key", "a message")
    crossing.lose("role", "c", block=second.content[0])
    crossing.lose("role", "of another message", block=first.content[0])
    crossing.lose_settings(given)
    crossing.hint("unsent_setting", "tools")
    assert [(0, 1), (2, 2), (2,), (2, 0), (2,), ()] == [loss.at for loss in crossing.losses]


def crossed(library: str, given: Rendered) -> list[tuple[str, str]]:
    """Return the losses of a render on its way to a library."""
    integration = import_module(f"promptdsl.integrations.{library}")
    return named_losses(reported(getattr(integration, f"to_{library}")(given)))


def written(library: str, *answer: Block, tools: tuple[ToolDefinition, ...] = ()) -> list[Any]:
    """Return the losses of a conversation with this answer on its way to a library."""
    messages = (Message("user", "Hi"), Message("assistant", answer), Message("user", "Go on"))
    return crossed(library, render(Prompt(messages, tools)))


def read(library: str, *messages: Any) -> list[Any]:
    """Return the losses of messages of a library on their way back."""
    integration = import_module(f"promptdsl.integrations.{library}")
    return named_losses(reported(getattr(integration, f"from_{library}")(messages)))


both_libraries = pytest.mark.parametrize("library", [needing("langchain"), needing("pydantic_ai")])


@both_libraries
def test_tools_of_a_provider(library: str) -> None:
    """A tool that only one provider has does not come along."""
    assert [("content", "the tool 'search'")] == written(library, TextBlock("Yes"), tools=(SEARCH,))


@both_libraries
def test_keys_beside_a_signature(library: str) -> None:
    """A text with a signature of Gemini's has no further keys there."""
    text = TextBlock("Yes", extra={"thought_signature": "c2ln", "own": 1})
    assert [("hint", "further keys of a block")] == written(library, text)


def media(made: Any, kind: Any, value: str, media_type: str, **more: Any) -> Block:
    """Return an attachment."""
    return made(MediaSource(kind, value, media_type), **more)  # type: ignore[no-any-return]


OWN = {"own": 1}
KEYS = ("hint", "further keys of a block")
MARK = ("hint", "a cache mark")
PNG, PDF = "iVBORw0KGgo=", "JVBERi0xLjQ="
WEB = "https://example.com/a.png"


@pytest.mark.parametrize(
    ("library", "role", "block", "expected"),
    [
        needing("langchain", "user", TextBlock("Hi", "5m"), MARK),
        needing("langchain", "user", media(ImageBlock, "url", WEB, "image/png", cache="5m"), MARK),
        needing("langchain", "assistant", ToolUseBlock("a", "find", "{}", extra=OWN), KEYS),
        needing("langchain", "assistant", ReasoningBlock("Hm.", extra=OWN), KEYS),
        needing(
            "langchain",
            "assistant",
            UnknownBlock({"type": "chart"}, "gemini"),
            ("content", "a block of type 'chart'"),
        ),
        needing(
            "langchain",
            "tool",
            ToolResultBlock("a", "No.", is_error=True, error_type="timeout"),
            ("hint", "the type of an error"),
        ),
        needing("mcp", "user", TextBlock("Hi", "5m"), MARK),
        needing("mcp", "user", media(ImageBlock, "url", WEB, "image/png", cache="5m"), MARK),
        needing("mcp", "user", media(ImageBlock, "base64", PNG, "image/png", cache="5m"), MARK),
        needing(
            "mcp", "user", media(DocumentBlock, "base64", PDF, "application/pdf", extra=OWN), KEYS
        ),
        needing("pydantic_ai", "system", TextBlock("Be kind.", "5m"), MARK),
        needing("pydantic_ai", "user", TextBlock("Hi", extra=OWN), KEYS),
        needing("pydantic_ai", "user", media(ImageBlock, "url", WEB, "image/png", extra=OWN), KEYS),
        needing("pydantic_ai", "assistant", TextBlock("Yes", extra=OWN), KEYS),
        needing(
            "pydantic_ai",
            "assistant",
            TextBlock("Yes", "5m", {"thought_signature": "c2ln"}),
            MARK,
        ),
        needing("pydantic_ai", "assistant", ToolUseBlock("a", "find", "{}", extra=OWN), KEYS),
        needing("pydantic_ai", "assistant", ReasoningBlock("Hm.", extra=OWN), KEYS),
        needing(
            "pydantic_ai",
            "assistant",
            media(ImageBlock, "base64", PNG, "image/png", extra=OWN),
            KEYS,
        ),
        needing(
            "pydantic_ai",
            "assistant",
            media(ImageBlock, "base64", PNG, "image/png", cache="5m"),
            MARK,
        ),
        needing(
            "pydantic_ai",
            "tool",
            ToolResultBlock("a", "No.", is_error=True, error_type="timeout"),
            ("hint", "the type of an error"),
        ),
    ],
)
def test_beside_a_block(library: str, role: Any, block: Block, expected: Any) -> None:
    """A field of a block that a library cannot express is a loss."""
    assert [expected] == crossed(library, rendered([Message(role, (block,))]))


@pytest.mark.parametrize(
    ("library", "block", "what"),
    [
        needing("langchain", TextBlock("a\ud800"), "a text"),
        needing("langchain", ToolUseBlock("a", "find", '{"q": "\ud800"}'), "arguments"),
        needing("langchain", ToolUseBlock("a", "find", r'{"q": "\ud800"}'), "arguments"),
        needing("mcp", TextBlock("a\ud800"), "a text"),
        needing("pydantic_ai", TextBlock("a\ud800"), "a text"),
        needing("pydantic_ai", ToolUseBlock("a", "find", r'{"q": "\ud800"}'), "arguments"),
    ],
)
def test_lone_surrogates(library: str, block: Block, what: str) -> None:
    """A lone surrogate, which no library can send, is a loss."""
    expected = [("hint", f"a lone surrogate in {what}")]
    assert expected == crossed(library, rendered([Message("assistant", (block,))]))


@pytest.mark.parametrize(
    ("library", "more"),
    [
        needing("langchain", []),
        needing("mcp", [("hint", "tools")]),
        needing("pydantic_ai", []),
        needing("litellm", []),
        needing("openai_agents", [("hint", "tools")]),
    ],
)
def test_settings(library: str, more: list[Any]) -> None:
    """What a prompt asks of the call it is sent with is a hint: no message says it."""
    expected = [("hint", "tool_choice"), ("hint", "output"), *more]
    assert expected == crossed(library, SETTLED)


# Crossing itself, which needs no library.

NOTHING: list[tuple[str, str]] = []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ab", ("ab", NOTHING)),
        ("a\ud800", ("a\ufffd", [("hint", "a lone surrogate in a text")])),
    ],
)
def test_a_text(text: str, expected: Any) -> None:
    """A lone surrogate in a text is U+FFFD, and a hint."""
    crossing = Conversion("a library")
    assert expected == (crossing.clean(text, "a text"), named_losses(crossing.losses))


LONE = [("hint", "a lone surrogate in arguments")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'"\ud83d\ude00"', (r'"\ud83d\ude00"', NOTHING)),
        (r'"\\ud800"', (r'"\\ud800"', NOTHING)),
        (r'"\ud800"', ('"\ufffd"', LONE)),
        ('"\ud800"', ('"\ufffd"', LONE)),
        ('"\ud800\\ud800"', ('"\ufffd\ufffd"', LONE)),
    ],
    ids=["a pair", "an escaped backslash", "an escape", "bare", "both"],
)
def test_arguments(text: str, expected: Any) -> None:
    """A lone surrogate in JSON text, escaped or bare, is U+FFFD, and one hint."""
    crossing = Conversion("a library")
    assert expected == (crossing.clean_json(text), named_losses(crossing.losses))


@pytest.mark.parametrize(
    ("extra", "expected"),
    [({}, NOTHING), ({"x": 1}, [("hint", "further keys of a block")])],
)
def test_a_signature_is_kept(extra: Any, expected: Any) -> None:
    """A signature that a library keeps is no loss, but a further key is a loss."""
    crossing = Conversion("a library")
    signed = ToolUseBlock("a", "f", "{}", extra={"thought_signature": "s", **extra})
    crossing.lose_hints(signed, "thought_signature")
    assert expected == named_losses(crossing.losses)


def test_portable_tools() -> None:
    """Tools cross without what only one provider has, and without what asks for them."""
    marked = ToolDefinition("read", cache="5m", extra=OWN)
    asked = Prompt((Message("user", "Hi"),), (FIND, SEARCH, marked), "none")
    crossing = Conversion("a library")
    kept = [tool.name for tool in crossing.portable_tools(render(asked))]
    assert ["find", "read"] == kept
    assert [
        ("hint", "tool_choice"),
        ("content", "the tool 'search'"),
        ("hint", "the cache mark of the tool 'read'"),
        ("hint", "further keys of the tool 'read'"),
    ] == named_losses(crossing.losses)


@pytest.mark.sdk("pydantic_ai")
@pytest.mark.parametrize(
    ("signature", "extra", "lost"),
    [
        ("c2ln", {}, "the signature of reasoning"),
        (None, {"own": 1}, "further keys of a block"),
        (None, {"content": [{"type": "image"}]}, "further keys of a block"),
    ],
)
def test_reasoning_of_responses(signature: str | None, extra: dict[str, Any], lost: str) -> None:
    """Pydantic AI cannot express the other fields of an item of Responses."""
    block = ReasoningBlock("Hm.", signature, "c2Vj", "openai_responses", {"id": "rs_1", **extra})
    item = {"item": {"id": "msg_1", "reasoning": "rs_1"}}
    assert [("hint", lost)] == written("pydantic_ai", block, TextBlock("Yes", extra=item))


def test_fields_of_a_call() -> None:
    """Of the fields that LiteLLM adds to a function only Gemini's signature is read."""
    fields = {"thought_signature": "c2ln", "own": 1}
    function = {"name": "find", "arguments": "{}", "provider_specific_fields": fields}
    call = {"id": "a", "type": "function", "function": function}
    answer = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert [("hint", "provider_specific_fields of a function")] == read("litellm", answer)


@pytest.mark.sdk("pydantic_ai")
def test_citations() -> None:
    """The citations of a text of Pydantic AI are not read."""
    ai = import_module("pydantic_ai.messages")
    source = ai.WebCitationSource("https://example.com")
    cited = ai.TextPart("Yes", citations=[ai.Citation([source])])
    assert [("hint", "citations of a text")] == read("pydantic_ai", ai.ModelResponse([cited]))


@pytest.mark.sdk("pydantic_ai")
def test_a_part_that_is_not_known() -> None:
    """A part of a request of Pydantic AI that has no form here is lost with its kind."""
    ai = import_module("pydantic_ai.messages")
    later = ai.InstructionDeltaPart(id=None, content="Be brief.")
    request = ai.ModelRequest([ai.UserPromptPart("Hi"), later])
    assert [("content", "a part of kind 'instruction-delta'")] == read("pydantic_ai", request)


@pytest.mark.parametrize(
    "library",
    [needing(name) for name in ("langchain", "litellm", "mcp", "openai_agents", "pydantic_ai")],
)
def test_lines_are_looked_up_when_losses_are_read(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writing messages looks up no line; reading the losses does, once; ``strict`` does at once."""
    image = VideoBlock(MediaSource("file_id", "f"))
    prompt = Timeline(User("Look."), History([Message("user", [image])]), System("Be kind."))
    looked_up: list[int] = []
    located = Rendered.located

    def counted(rendered: Rendered, losses: Iterable[Loss]) -> tuple[Loss, ...]:
        looked_up.append(1)
        return located(rendered, losses)

    monkeypatch.setattr(Rendered, "located", counted)
    write = getattr(import_module(f"promptdsl.integrations.{library}"), f"to_{library}")
    bridged = write(render(prompt))
    assert [] == looked_up
    losses = reported(bridged)
    count = len(looked_up)
    assert count
    assert losses == reported(bridged)
    assert count == len(looked_up)
    assert losses == reported(pickle.loads(pickle.dumps(bridged)))
    if any(loss.kind != "hint" for loss in losses):
        with pytest.raises(LossError):
            write(render(prompt), strict=True)
