"""Pydantic AI, there and back."""

from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs pydantic-ai")

from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    DocumentUrl,
    FilePart,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    RetryFeedbackPart,
    RetryInfo,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
    UserPromptPart,
    VideoUrl,
)

from promptdsl import *
from promptdsl.integrations.pydantic_ai import from_pydantic_ai, to_pydantic_ai
from tests.integrations.crossings import rendered
from tests.providers.conversations import answer, call, media, say
from tests.renders import named_losses, reported

pytestmark = pytest.mark.sdk("pydantic_ai")

TIME: Any = {"timestamp": datetime(1970, 1, 1, tzinfo=UTC)}


def parts(*messages: Message, provider: str | None = None) -> list[Any]:
    """Return the parts of all that was written."""
    history = to_pydantic_ai(rendered(messages, provider)).messages
    return [part for message in history for part in message.parts]


def read(*given: Any) -> list[Any]:
    """Return role and content of every message of one request."""
    found = from_pydantic_ai([ModelRequest(list(given))]).messages
    return [(message.role, *message.content) for message in found]


JSON = TextBlock('{"a":1}', extra={"json": True})


def outcome(name: str) -> Any:
    """Return the further keys of a result with an outcome of Pydantic AI's own."""
    return {"item": {"outcome": name}}


def test_a_conversation() -> None:
    """Requests and responses take turns; results and instructions are parts of requests."""
    prompt = Timeline(
        System("Be brief."),
        User("Hi."),
        Assistant(ToolUse("find", {"n": 1}, id="a")),
        ToolMessage("a", "broken", is_error=True),
        Developer("Go on."),
    )
    developer = SystemPromptPart("Go on.", metadata={"role": "developer"}, **TIME)
    assert to_pydantic_ai(render(prompt)).messages == (
        ModelRequest([SystemPromptPart("Be brief.", **TIME), UserPromptPart("Hi.", **TIME)]),
        ModelResponse([ToolCallPart("find", '{"n": 1}', "a")], **TIME),
        ModelRequest([ToolReturnPart("find", "broken", "a", outcome="failed", **TIME), developer]),
    )


def test_user_content() -> None:
    """Attachments, marks and details have their places in a prompt."""
    picture = ImageBlock(media("url", "https://a.b/c.png"), detail="low", cache="1h")
    assert parts(say("user", "Look:", picture)) == [
        UserPromptPart(
            [
                "Look:",
                ImageUrl("https://a.b/c.png", vendor_metadata={"detail": "low"}),
                CachePoint(ttl="1h"),
            ],
            **TIME,
        )
    ]


@pytest.mark.parametrize(
    ("source", "holder"),
    [
        (media("file_id", "f", "image/png"), "openai"),
        (media("s3", "s3://b/a", "image/png"), "bedrock"),
        (media("gcs", "gs://b/a", "image/png"), "google-cloud"),
    ],
)
def test_files_have_a_holder(source: Any, holder: Any) -> None:
    """A file is held by the provider that is rendered for, one in a bucket by the bucket's."""
    (prompt,) = parts(say("user", ImageBlock(source)), provider="openai")
    assert [UploadedFile(source.value, holder, media_type="image/png")] == prompt.content


def test_losses() -> None:
    """What Pydantic AI has no word for is named."""
    messages = [
        say("system", ImageBlock(media("url", "https://a.b")), name="boss"),
        say("user", call("a"), TextBlock("", "1h"), ImageBlock(media("file_id", "f"))),
        say("user", VideoBlock(media("base64", "?"), title="x")),
        say("assistant", "Hi.", VideoBlock(media("url", "https://a.b")), name="robot"),
        say("assistant", ReasoningBlock("", "a", "b", "anthropic"), ToolResultBlock("a", ())),
        say("tool", ToolResultBlock("a", (TextBlock("x", "5m"),), error_type="timeout_error")),
    ]
    assert named_losses(reported(to_pydantic_ai(rendered(messages)))) == [
        ("content", "a block of type 'image'"),
        ("content", "a block of type 'tool_use'"),
        ("content", "image 'f'"),
        ("content", "a block of type 'video'"),
        ("content", "a block of type 'video'"),
        ("content", "a block of type 'tool_result'"),
        ("hint", "name of a speaker"),
        ("hint", "a cache mark"),
        ("hint", "the title of an attachment"),
        ("hint", "the signature of reasoning"),
        ("hint", "the type of an error"),
        ("hint", "a cache mark"),
    ]


def test_results() -> None:
    """Texts of a result are one, with files they are a list; the tool's name is the call's."""
    picture = ImageBlock(media("base64", "QQ==", "image/png"))
    result = answer("a", "One.", picture, TextBlock('{"b": 2}', extra={"json": True}))
    made = parts(say("assistant", call("a")), result, answer("a", "One.", "Two."))
    held = BinaryContent.narrow_type(BinaryContent(b"A", media_type="image/png"))
    assert [
        ToolReturnPart("look_up", ["One.", held, {"b": 2}], "a", **TIME),
        ToolReturnPart("look_up", "One.\n\nTwo.", "a", **TIME),
    ] == made[1:]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"id": 1}, {"id": 2}], '[{"id":1},{"id":2}]'),
        (["a\n\nb", "c"], '["a\\n\\nb","c"]'),
        (["a"], '["a"]'),
        ([], "[]"),
        ({"x": 1}, '{"x":1}'),
        (2.5, "2.5"),
        (None, "null"),
        ("[1]", "[1]"),
        ("", None),
        (["a", ImageUrl("https://a.b"), {"b": [1]}], None),
    ],
)
def test_values_of_results(content: Any, text: str | None) -> None:
    """A value is one JSON text, as Pydantic AI's models see it, and the same value again."""
    history = [
        ModelResponse([ToolCallPart("f", "{}", "a")], **TIME),
        ModelRequest([ToolReturnPart("f", content, "a", **TIME)]),
    ]
    bridged = from_pydantic_ai(history)
    again = to_pydantic_ai(rendered(bridged.messages))
    assert (tuple(history), (), ()) == (again.messages, reported(again), reported(bridged))
    if text is not None:
        tree = Timeline(User("Go."), History(bridged.messages))
        chat = render(tree, provider="openai")
        assert (text, ()) == (chat.payload()["messages"][2]["content"], reported(chat))


def test_a_time_is_a_text() -> None:
    """A value whose JSON is a string is that string, as Pydantic AI's models see it."""
    ((_, result),) = read(ToolReturnPart("f", TIME["timestamp"], "a"))
    assert (TextBlock("1970-01-01T00:00:00Z"),) == result.content


@pytest.mark.parametrize("outcome", ["success", "failed", "denied", "interrupted", "retried"])
def test_outcomes(outcome: Any) -> None:
    """An outcome stays what it is; only what failed or has to be made again is an error."""
    history = [
        ModelResponse([ToolCallPart("f", "{}", "a")], **TIME),
        ModelRequest([ToolReturnPart("f", "No.", "a", outcome=outcome, **TIME)]),
    ]
    bridged = from_pydantic_ai(history)
    again = to_pydantic_ai(rendered(bridged.messages))
    assert (tuple(history), ()) == (again.messages, reported(again))
    tree = Timeline(User("Go."), History(bridged.messages))
    shown_text = render(tree, provider="anthropic").payload()["messages"][2]["content"][0]
    assert (outcome in ("failed", "retried")) == shown_text.get("is_error", False)
    chat = render(tree, provider="openai").payload()["messages"][2]["content"]
    assert ("Error: No." if outcome in ("failed", "retried") else "No.") == chat


def test_a_changed_outcome() -> None:
    """A result whose error flag was changed has the outcome that the flag says."""
    item = {"item": {"outcome": "denied", "caller": "x"}}
    result = ToolResultBlock("a", "No.", is_error=True, extra=item)
    bridged = to_pydantic_ai(rendered([say("assistant", call("a")), say("tool", result)]))
    assert "failed" == bridged.messages[1].parts[0].outcome
    assert [("hint", "further keys of a block")] == named_losses(bridged.hints)


def test_what_a_model_made() -> None:
    """Encrypted reasoning is where Pydantic AI keeps it, and a file is one."""
    thought = ReasoningBlock("", encrypted="ZW5j", origin="anthropic")
    picture = ImageBlock(media("base64", "QQ==", "image/png"))
    held = BinaryContent.narrow_type(BinaryContent(b"A", media_type="image/png"))
    redacted = ThinkingPart("", id="redacted_thinking", signature="ZW5j", provider_name="anthropic")
    assert [redacted, FilePart(held)] == parts(say("assistant", thought, picture))


def test_tools() -> None:
    """Tools are definitions of Pydantic AI's."""
    schema = {"type": "object", "properties": {}}
    prompt = render(
        Timeline(Tool(name="find", description="Finds.", input_schema=schema), User("Hi."))
    )
    (tool,) = to_pydantic_ai(prompt).tools
    assert ("find", "Finds.", schema) == (tool.name, tool.description, tool.parameters_json_schema)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (SystemPromptPart("a"), ("system", TextBlock("a"))),
        (UserPromptPart(["a", CachePoint()]), ("user", TextBlock("a", "5m"))),
        (
            ToolReturnPart("f", {"a": 1}, "i", outcome="retried"),
            ("tool", ToolResultBlock("i", (JSON,), "f", is_error=True, extra=outcome("retried"))),
        ),
        (
            ToolReturnPart("f", "", "i", outcome="interrupted"),
            ("tool", ToolResultBlock("i", (), "f", extra=outcome("interrupted"))),
        ),
        (
            UserPromptPart([DocumentUrl("https://a.b/c.pdf")]),
            ("user", DocumentBlock(MediaSource("url", "https://a.b/c.pdf"))),
        ),
    ],
)
def test_request_parts(part: Any, message: Any) -> None:
    """Each part of a request is a message of its own role."""
    assert [message] == read(part)


def test_feedback() -> None:
    """What Pydantic AI tells a model about its answer is said by a user, as it says it."""
    part = RetryFeedbackPart("Again.", retry=RetryInfo(cause="model_retry"))
    assert [("user", TextBlock(part.model_response()))] == read(part)


@pytest.mark.parametrize("tool", ["find", None])
def test_retry_prompts(tool: str | None) -> None:
    """A deprecated part that asks for a retry is the part that Pydantic AI sends for it."""
    with pytest.warns(match="`RetryPromptPart` is deprecated"):
        part: Any = RetryPromptPart("Again.", tool_name=tool, tool_call_id="a")  # pyright: ignore[reportDeprecated]
    feedback = RetryFeedbackPart("Again.", retry=RetryInfo(cause="model_retry"))
    extra = outcome("retried")
    result = ToolResultBlock("a", "Again.", tool, is_error=True, extra=extra)
    user = ("user", TextBlock(feedback.model_response()))
    assert [("tool", result) if tool else user] == read(part)
    returned = ToolReturnPart("save", "done", "b")
    messages = from_pydantic_ai([ModelRequest([returned, part])]).messages
    assert (["tool"] if tool else ["tool", "user"]) == [message.role for message in messages]


def test_arguments() -> None:
    """Arguments that came as a mapping are its text, none are an empty object."""
    reply = ModelResponse([ToolCallPart("f", {"a": 1}, "i"), ToolCallPart("f", None, "j")])
    (message,) = from_pydantic_ai([reply]).messages
    assert (ToolUseBlock("i", "f", '{"a": 1}'), ToolUseBlock("j", "f", "{}")) == message.content


def test_instructions() -> None:
    """The last instructions are a system message, as they alone count there."""
    history = [ModelRequest([UserPromptPart("Hi.")], instructions=text) for text in ("a", "b")]
    first = from_pydantic_ai(history).messages[0]
    assert ("system", "b") == (first.role, first.text)


def test_system_prompts_before_instructions() -> None:
    """Instructions come after the leading system prompts, as in Pydantic AI's requests."""
    prompts = [SystemPromptPart("S"), UserPromptPart("Hi."), SystemPromptPart("Later.")]
    messages = from_pydantic_ai([ModelRequest(prompts, instructions="I")]).messages
    assert [("system", "S"), ("system", "I"), ("user", "Hi."), ("developer", "Later.")] == [
        (message.role, message.text) for message in messages
    ]


def test_what_cannot_be_read() -> None:
    """Parts that have no form here are named."""
    native = NativeToolCallPart("search", {"q": "x"}, "i")
    stray = UserPromptPart([CachePoint(), "a"])
    history = [ModelResponse([native]), ModelRequest([stray])]
    assert [
        ("content", "a part of kind 'builtin-tool-call'"),
        ("hint", "a cache point"),
    ] == named_losses(reported(from_pydantic_ai(history)))


def test_uploaded_files() -> None:
    """A file that a provider holds is read as one."""
    held = UploadedFile("f", "openai", media_type="image/png")
    picture = ImageBlock(MediaSource("file_id", "f", "image/png"))
    assert [("user", picture)] == read(UserPromptPart([held]))


@pytest.mark.parametrize("provider", ["google", "google-cloud", "google-gla", "google-vertex"])
def test_signatures_of_gemini(provider: str) -> None:
    """Texts and calls keep their signatures; that of a thought is of the part behind it."""
    signed: Any = {"provider_name": provider, "provider_details": {"thought_signature": "YQ=="}}
    reply = ModelResponse(
        [
            ThinkingPart("Hm.", signature="dA==", provider_name=provider),
            TextPart("Hi."),
            ThinkingPart("So.", **signed),
            ToolCallPart("f", "{}", "a", **signed),
        ]
    )
    (message,) = from_pydantic_ai([reply]).messages
    blocks = (
        ReasoningBlock("Hm.", origin="gemini"),
        TextBlock("Hi.", extra={"thought_signature": "dA=="}),
        ReasoningBlock("So.", "YQ==", origin="gemini"),
        ToolUseBlock("a", "f", "{}", extra={"thought_signature": "YQ=="}),
    )
    again = from_pydantic_ai(to_pydantic_ai(rendered([message])).messages).messages
    assert (blocks, blocks) == (message.content, again[0].content)


@pytest.mark.parametrize("provider", ["openai", "azure"])
def test_reasoning_of_responses(provider: str) -> None:
    """Reasoning of OpenAI's that came in summaries is the item it was, there and back."""
    own: Any = {"id": "rs_1", "provider_name": provider}
    details = {"raw_content": ["x"]}
    first = ThinkingPart("Hm.", signature="ZW5j", provider_details=details, **own)
    text = TextPart("Rain.", id="msg_1", provider_name=provider)
    reply = ModelResponse([first, ThinkingPart("So.", **own), text])
    messages = from_pydantic_ai([reply]).messages
    again = from_pydantic_ai(to_pydantic_ai(rendered(messages)).messages).messages
    payload = render(Timeline(History(again)), provider="openai_responses").payload()
    summary = [{"type": "summary_text", "text": text} for text in ("Hm.", "So.")]
    content = [{"type": "reasoning_text", "text": "x"}]
    assert {
        "type": "reasoning",
        "id": "rs_1",
        "summary": summary,
        "encrypted_content": "ZW5j",
        "content": content,
    } == payload["input"][1]  # after the turn that opens the conversation


def test_the_longest_cache_point() -> None:
    """Of several cache points at one place the longest counts, and each other is a hint."""
    part = UserPromptPart(["a", CachePoint(), CachePoint(ttl="1h")])
    bridged = from_pydantic_ai([ModelRequest([part])])
    assert ((TextBlock("a", "1h"),), [("hint", "a cache point")]) == (
        bridged.messages[0].content,
        named_losses(reported(bridged)),
    )


def test_a_shorter_cache_point_behind_a_longer_one() -> None:
    """The longest cache point at one place counts in either order, for its own text alone."""
    content = ["a", CachePoint(ttl="1h"), CachePoint(), "b", CachePoint()]
    assert [("user", TextBlock("a", "1h"), TextBlock("b", "5m"))] == read(UserPromptPart(content))


def test_results_beside_two_prompts() -> None:
    """Results in a row are one message, and each user's prompt is one of its own."""
    results = [ToolReturnPart("f", text, text) for text in ("a", "b")]
    prompts = [UserPromptPart(text) for text in ("c", "d")]
    assert [
        ("tool", ToolResultBlock("a", "a", "f"), ToolResultBlock("b", "b", "f")),
        ("user", TextBlock("c")),
        ("user", TextBlock("d")),
    ] == read(*results, *prompts)


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (
            ModelRequest([UserPromptPart([VideoUrl("https://a", vendor_metadata={"fps": 1})])]),
            "vendor_metadata of an attachment",
        ),
        (
            ModelResponse([TextPart("x", provider_name="o", provider_details={"phase": "y"})]),
            "provider_details of a part of kind 'text'",
        ),
    ],
)
def test_losses_of_reading(message: Any, what: str) -> None:
    """A further field of a content is a hint, with its message."""
    (loss,) = reported(from_pydantic_ai([message]))
    assert ("hint", what, "messages[0]") == (loss.kind, loss.what, loss.path)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (None, "Pydantic AI's messages are needed, not NoneType"),
        (["x"], r"messages\[0\]: a str is not a ModelRequest or ModelResponse"),
        (
            [ModelResponse([ToolCallPart("f", {"q": float("nan")}, "a")])],
            r"messages\[0\]: ",
        ),
    ],
)
def test_no_messages(given: Any, error: str) -> None:
    """What cannot be read is refused by its number."""
    with pytest.raises(DataError, match=error):
        from_pydantic_ai(given)
