"""LangChain, there and back."""

from typing import Any

import attrs
import pytest

pytest.importorskip("langchain_core", reason="needs langchain-core")

from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
)

from promptdsl import (
    Assistant,
    AudioBlock,
    DataError,
    Developer,
    DocumentBlock,
    History,
    ImageBlock,
    MediaSource,
    Message,
    ReasoningBlock,
    System,
    TextBlock,
    Timeline,
    Tool,
    ToolDefinition,
    ToolResultBlock,
    ToolUse,
    ToolUseBlock,
    UnknownBlock,
    User,
    render,
)
from promptdsl import ToolMessage as Answer
from promptdsl.integrations.langchain import from_langchain, to_langchain
from tests.integrations.crossings import rendered
from tests.providers.conversations import PNG, answer, call, media, say
from tests.renders import named_losses, reported

pytestmark = pytest.mark.sdk("langchain_core")


def written(*messages: Message) -> Any:
    """Return LangChain's form of one message."""
    (message,) = to_langchain(rendered(messages)).messages
    return message


def read(*messages: Any) -> Any:
    """Return our form of one message."""
    return from_langchain(messages).messages[-1]


def test_a_conversation() -> None:
    """Each role has its class, and each result a message of its own."""
    prompt = Timeline(
        System("Be brief."),
        User("Hi."),
        Assistant("Let me see.", ToolUse("find", {"n": 1}, id="a")),
        Answer("a", "broken", is_error=True),
    )
    assert to_langchain(render(prompt)).messages == (
        SystemMessage("Be brief."),
        HumanMessage("Hi."),
        AIMessage("Let me see.", tool_calls=[{"name": "find", "args": {"n": 1}, "id": "a"}]),
        ToolMessage("broken", tool_call_id="a", status="error"),
    )


def test_developer() -> None:
    """LangChain's own converter gives a developer's message its role."""
    messages = to_langchain(render(Timeline(User("Hi."), Developer("Be brief.")))).messages
    assert convert_to_openai_messages(messages)[1] == {"role": "developer", "content": "Be brief."}


def test_media_for_openai() -> None:
    """LangChain's own converter takes the attachments."""
    picture = ImageBlock(media("base64", PNG, "image/png"))
    report = DocumentBlock(media("base64", "QQ==", "application/pdf"), title="a.pdf")
    assert convert_to_openai_messages([written(say("user", picture, report))]) == [
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                {
                    "type": "file",
                    "file": {
                        "file_data": "data:application/pdf;base64,QQ==",
                        "filename": "a.pdf",
                    },
                },
            ],
        }
    ]


def test_invalid_arguments() -> None:
    """Arguments that are no JSON object are an invalid call, to the byte."""
    assert [
        {"type": "invalid_tool_call", "name": "look_up", "args": "{", "id": "a", "error": None}
    ] == written(say("assistant", call("a", arguments="{"))).invalid_tool_calls


def test_calls_without_ids() -> None:
    """Calls without an id get their number, through valid and invalid ones."""
    valid: Any = [{"name": "f", "args": {}, "id": id} for id in (None, "a", None)]
    invalid: Any = [{"name": "f", "args": "{", "id": id, "error": None} for id in (None, "b")]
    message = read(AIMessage("", tool_calls=valid, invalid_tool_calls=invalid))
    assert ["call_0", "a", "call_2", "call_3", "b"] == [block.id for block in message.content]


def test_blank_arguments() -> None:
    """A blank text of arguments is an empty object, with a hint."""
    bridged = to_langchain(rendered([say("assistant", call("a", arguments=" "))]))
    assert [{}] == [made["args"] for made in bridged.messages[0].tool_calls]
    assert [("hint", "arguments of a call")] == named_losses(bridged.hints)


def test_refusals() -> None:
    """A refusal is where LangChain keeps it, and is read as a refusal again."""
    refusal = TextBlock("No.", extra={"refusal": True})
    message = written(say("assistant", refusal))
    assert ("No.", (refusal,)) == (message.additional_kwargs["refusal"], read(message).content)


def test_usage_and_finish() -> None:
    """What a model counted, and why it stopped, crosses both ways."""
    counts = {"input": 9, "output": 8, "total": 17, "cache_read": 3, "reasoning": 5}
    usage: Any = {
        **{"input_tokens": 9, "output_tokens": 8, "total_tokens": 17},
        **{"input_token_details": {"cache_read": 3}, "output_token_details": {"reasoning": 5}},
    }
    reasons = {"finish_reason": "stop", "raw_finish_reason": "end_turn"}
    reply = AIMessage("Hi.", usage_metadata=usage, response_metadata=reasons)
    message = read(reply)
    assert (counts, "stop", reply) == (
        message.token_usage,
        message.finish_reason,
        written(message),
    )


def test_two_counts_of_a_cache() -> None:
    """Tokens that were read from a cache and written to it are separate, both ways."""
    counts = {"input": 9, "output": 8, "total": 17, "cache_read": 3, "cache_write": 2}
    usage: Any = {"input_tokens": 9, "output_tokens": 8, "total_tokens": 17}
    usage["input_token_details"] = {"cache_read": 3, "cache_creation": 2}
    reply = AIMessage("Hi.", usage_metadata=usage)
    message = read(reply)
    assert (counts, reply) == (message.token_usage, written(message))


def test_a_total_that_was_not_counted() -> None:
    """Without a count of all tokens it is that of input and output: a cache is in the input."""
    counts = {"input": 9, "output": 8, "cache_read": 3, "cache_write": 2}
    message = written(Message("assistant", [TextBlock("Hi.")], token_usage=counts))
    assert 17 == message.usage_metadata["total_tokens"]


def test_usage_without_a_name() -> None:
    """A count that the other side has no name for is a hint; those by time to live are one."""
    details: Any = {"cache_creation": 0, "ephemeral_5m_input_tokens": 2, "flex": 1}
    details["ephemeral_1h_input_tokens"] = 3
    usage: Any = {"input_tokens": 9, "output_tokens": 8, "total_tokens": 17}
    usage["input_token_details"] = details
    bridged = from_langchain([AIMessage("Hi.", usage_metadata=usage)])
    (message,) = bridged.messages
    assert {"input": 9, "output": 8, "total": 17, "cache_write": 5} == message.token_usage
    assert [("hint", "the token count 'input_token_details.flex'")] == named_losses(bridged.hints)
    odd = Message("assistant", "Hi.", token_usage={"output": 1, "images": 2})
    made = to_langchain(rendered([odd]))
    assert [("hint", "the token count 'images'")] == named_losses(made.hints)
    counted = {"input_tokens": 0, "output_tokens": 1, "total_tokens": 1}
    assert counted == made.messages[0].usage_metadata


def test_results_of_users() -> None:
    """Results in a user's message go before what the user says, without the user's name."""
    result = ToolResultBlock("a", (TextBlock("rain"),))
    assert to_langchain(rendered([say("user", "And?", result, name="ada")])).messages == (
        ToolMessage("rain", tool_call_id="a"),
        HumanMessage("And?", name="ada"),
    )


def test_tools() -> None:
    """Tools are in the form ``bind_tools`` takes; one that only a provider has is lost."""
    schema = {"type": "object", "properties": {}}
    prompt = render(
        Timeline(Tool(name="find", description="Finds.", input_schema=schema), User("Hi."))
    )
    function = {"name": "find", "description": "Finds.", "parameters": schema}
    assert to_langchain(prompt).tools == ({"type": "function", "function": function},)


def test_losses() -> None:
    """What LangChain has no word for is named."""
    messages = [
        say("user", call("a"), TextBlock("x", "1h", {"y": 1})),
        say("assistant", ToolResultBlock("a", (), error_type="timeout_error")),
        answer("a", call("b")),
    ]
    assert named_losses(reported(to_langchain(rendered(messages)))) == [
        ("content", "a block of type 'tool_use'"),
        ("content", "a block of type 'tool_result'"),
        ("content", "a block of type 'tool_use'"),
        ("hint", "a cache mark"),
        ("hint", "further keys of a block"),
    ]


def test_system_in_mid_conversation() -> None:
    """A system message behind the leading run is a developer's that remembers what it was."""
    found = from_langchain([SystemMessage("a"), HumanMessage("b"), SystemMessage("c")]).messages
    assert [("system", "recorded"), ("user", "recorded"), ("developer", "recorded_system")] == [
        (message.role, message.kind) for message in found
    ]


@pytest.mark.parametrize(
    ("part", "block"),
    [
        ("Hi.", TextBlock("Hi.")),
        ({"type": "text-plain", "text": "Hi.", "mime_type": "text/plain"}, TextBlock("Hi.")),
        (
            {"type": "image_url", "image_url": {"url": "https://a.b/c", "detail": "low"}},
            ImageBlock(MediaSource("url", "https://a.b/c"), detail="low"),
        ),
        (
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="},
            },
            ImageBlock(MediaSource("base64", "QQ==", "image/png")),
        ),
        ({"type": "file", "url": "s3://b/a"}, DocumentBlock(MediaSource("s3", "s3://b/a"))),
        (
            {"type": "non_standard", "value": {"type": "hologram"}},
            UnknownBlock({"type": "hologram"}),
        ),
        ({"type": "reasoning"}, ReasoningBlock("")),
        (
            {"type": "text-plain", "base64": "QQ=="},
            DocumentBlock(MediaSource("base64", "QQ==", "text/plain")),
        ),
        (
            {"type": "media", "mime_type": "image/png", "data": "QQ=="},
            ImageBlock(MediaSource("base64", "QQ==", "image/png")),
        ),
        (
            {"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
            TextBlock("Hi.", "1h"),
        ),
        (
            {"type": "tool_result", "tool_use_id": "a", "content": "rain", "is_error": True},
            ToolResultBlock("a", (TextBlock("rain"),), is_error=True),
        ),
        (
            {
                "type": "document",
                "source": {"type": "file", "file_id": "f"},
                "title": "a",
                "context": "b",
            },
            DocumentBlock(MediaSource("file_id", "f"), "a", extra={"context": "b"}),
        ),
    ],
)
def test_parts(part: Any, block: Any) -> None:
    """Parts are read in LangChain's form and in those of the providers it reads."""
    assert (block,) == read(HumanMessage([part])).content


def test_calls_are_read_once() -> None:
    """A call that is also among the contents, as Anthropic's are, is one call."""
    part = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    calls = [{"name": "f", "args": {}, "id": "a"}]
    reply = AIMessage([{"type": "text", "text": "Hm."}, part], tool_calls=calls)
    assert (TextBlock("Hm."), ToolUseBlock("a", "f", "{}")) == read(reply).content


def test_two_calls_without_ids() -> None:
    """Calls that have no ids get two, so that each has its own result."""
    calls = [{"name": "f", "args": {"n": n}, "id": None} for n in (1, 2)]
    assert ["call_0", "call_1"] == [call.id for call in read(AIMessage("", tool_calls=calls)).calls]


@pytest.mark.parametrize("given", [RemoveMessage(id="a"), {"role": "user"}])
def test_no_message(given: Any) -> None:
    """What is no message of a conversation is refused by its number."""
    with pytest.raises(DataError, match=r"messages\[1\]: .* is not a message of a conversation"):
        from_langchain([HumanMessage("Hi."), given])


def reply(provider: str, *parts: Any, **more: Any) -> AIMessage:
    """Return what a model of a provider said."""
    return AIMessage([*parts], response_metadata={"model_provider": provider}, **more)


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}, {"type": "summary_text", "text": "So."}],
    "encrypted_content": "ZW5j",
}


def test_tools_of_a_server() -> None:
    """What a provider's own tools left behind goes back to it as it came."""
    message = read(HumanMessage("Hi."), reply("anthropic", SEARCH, FOUND))
    assert [UnknownBlock(SEARCH, "anthropic"), UnknownBlock(FOUND, "anthropic")] == [
        *message.content
    ]
    sent = render(Timeline(User("Hi."), History([message])), provider="anthropic").payload()
    assert [SEARCH, FOUND] == sent["messages"][-1]["content"]


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage([{"type": "hologram"}]),
        HumanMessage([{"type": "server_tool_call", "id": "a", "name": "n", "args": {}}]),
        reply("google_genai", {"type": "executable_code", "executable_code": "1"}),
        reply("elsewhere", {"type": "hologram"}),
    ],
)
def test_what_no_provider_knows(message: Any) -> None:
    """A block that only LangChain knows is lost instead of sent."""
    bridged = from_langchain([message])
    assert ((), ["content"]) == (
        bridged.messages[0].content,
        [loss.kind for loss in reported(bridged)],
    )


@pytest.mark.parametrize(
    ("message", "thought"),
    [
        (
            reply("anthropic", {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}),
            ReasoningBlock("Hm.", "c2ln", origin="anthropic"),
        ),
        (
            reply("anthropic", {"type": "redacted_thinking", "data": "ZW5j"}),
            ReasoningBlock("", encrypted="ZW5j", origin="anthropic"),
        ),
        (
            reply(
                "bedrock_converse",
                {
                    "type": "reasoning_content",
                    "reasoning_content": {"text": "Hm.", "signature": "c2ln"},
                },
            ),
            ReasoningBlock("Hm.", "c2ln", origin="bedrock"),
        ),
        (
            reply("google_genai", {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}),
            ReasoningBlock("Hm.", "c2ln", origin="gemini"),
        ),
        (
            reply("openai", THOUGHT),
            ReasoningBlock(
                "Hm.\n\nSo.",
                encrypted="ZW5j",
                origin="openai_responses",
                extra={"id": "rs_1", "summary": THOUGHT["summary"]},
            ),
        ),
        (
            AIMessage("", additional_kwargs={"reasoning_content": "Hm."}),
            ReasoningBlock("Hm."),
        ),
    ],
)
def test_reasoning(message: Any, thought: ReasoningBlock) -> None:
    """What a model thought is its provider's, by our name, and is read again as it was written."""
    assert ((thought,), (thought,)) == (read(message).content, read(written(read(message))).content)


def test_reasoning_of_responses_is_sent() -> None:
    """Reasoning of OpenAI's that went to LangChain and back is the item it was."""
    said = reply("openai", THOUGHT, tool_calls=[{"name": "f", "args": {}, "id": "a"}])
    again = read(HumanMessage("Hi."), written(read(said)))
    answered = Timeline(History([again]), Answer("a", "Rain."))
    payload = render(answered, provider="openai_responses").payload()
    assert THOUGHT == payload["input"][1]  # after the turn that opens the conversation


def test_signatures_of_gemini() -> None:
    """The signatures of Gemini's texts and calls cross both ways."""
    said = reply(
        "google_genai",
        {"type": "text", "text": "Hm.", "extras": {"signature": "dGV4dA=="}},
        tool_calls=[{"name": "f", "args": {}, "id": "a"}],
        additional_kwargs={"__gemini_function_call_thought_signatures__": {"a": "Y2FsbA=="}},
    )
    blocks = (
        TextBlock("Hm.", extra={"thought_signature": "dGV4dA=="}),
        ToolUseBlock("a", "f", "{}", extra={"thought_signature": "Y2FsbA=="}),
    )
    assert (blocks, blocks) == (read(said).content, read(written(read(said))).content)


def test_signatures_of_two_calls() -> None:
    """Each call has its own signature, a valid one and an invalid one, and one has none."""
    calls: Any = [{"name": "f", "args": {}, "id": id} for id in ("a", "b")]
    invalid: Any = [{"name": "f", "args": "{", "id": "c", "error": None}]
    beside = {"__gemini_function_call_thought_signatures__": {"c": "Yw==", "a": "YQ=="}}
    message = read(
        AIMessage("", tool_calls=calls, invalid_tool_calls=invalid, additional_kwargs=beside)
    )
    assert [{"thought_signature": "YQ=="}, {}, {"thought_signature": "Yw=="}] == [
        block.extra for block in message.content
    ]


def test_provider_and_version() -> None:
    """What a provider has of its own says whose it is, in the form that LangChain reads it in."""
    message = written(say("assistant", ReasoningBlock("Hm.", "c2ln", origin="gemini"), call("a")))
    assert (
        {"model_provider": "google_genai", "output_version": "v1"},
        ["reasoning", "tool_call"],
    ) == (message.response_metadata, [part["type"] for part in message.content_blocks])


@pytest.mark.parametrize(
    ("message", "loss"),
    [
        (
            HumanMessage([{"type": "text", "text": "x", "cache_control": {"type": "y"}}]),
            ("hint", "a cache mark"),
        ),
        (
            AIMessage([{"type": "text", "text": "x", "annotations": [{"type": "citation"}]}]),
            ("hint", "annotations of a text"),
        ),
        (
            AIMessage("", additional_kwargs={"audio": {"id": "a"}}),
            ("content", "a spoken answer"),
        ),
        (
            AIMessage(
                "", invalid_tool_calls=[{"name": "f", "args": "{", "id": "a", "error": "bad"}]
            ),
            ("hint", "the error of a call"),
        ),
        (ToolMessage("x", tool_call_id="a", artifact=[1]), ("hint", "the artifact of a result")),
        (
            HumanMessage([{"type": "text-plain", "text": "x", "title": "a"}]),
            ("hint", "the title of an attachment"),
        ),
        (
            HumanMessage([{"type": "text-plain", "text": "x", "context": "a"}]),
            ("content", "the context of an attachment"),
        ),
        (HumanMessage(["x", {"cachePoint": {"type": "default"}}]), ("hint", "a cache point")),
    ],
)
def test_losses_of_reading(message: Any, loss: Any) -> None:
    """What has no form here is named with the message it stood in."""
    losses = reported(from_langchain([message]))
    assert ([loss], ["messages[0]"]) == (named_losses(losses), [found.path for found in losses])


def test_spoken_bytes() -> None:
    """A spoken answer that came as bytes is a recording."""
    spoken = AIMessage("", additional_kwargs={"audio": b"A"})
    assert (AudioBlock(MediaSource("base64", "QQ==", "audio/wav")),) == read(spoken).content


def test_stop_reason() -> None:
    """Why a model stopped is read under the name that its provider gives it."""
    assert (
        "end_turn"
        == read(AIMessage("x", response_metadata={"stop_reason": "end_turn"})).finish_reason
    )


def test_the_name_of_a_tool_message() -> None:
    """The name of a tool message is that of its result, there and back."""
    shown_text = Message("tool", [ToolResultBlock("a", "rain")], name="look_up")
    there = to_langchain(rendered([say("user", "Hi."), say("assistant", call("a")), shown_text]))
    assert ["look_up"] == [message.name for message in there.messages[2:]]
    assert [ToolResultBlock("a", "rain", name="look_up")] == [
        *from_langchain(there.messages).messages[2].content
    ]


def test_what_tools_say_beside() -> None:
    """The cache mark of a tool, and what one provider knows of it, are hints."""
    tool = ToolDefinition("f", cache="1h", extra={"strict": True})
    some = rendered([])
    given = attrs.evolve(some, prompt=attrs.evolve(some._prompt, tools=(tool,)))
    assert [
        ("hint", "the cache mark of the tool 'f'"),
        ("hint", "further keys of the tool 'f'"),
    ] == named_losses(reported(to_langchain(given)))


def test_broken_calls_come_last() -> None:
    """A call whose arguments are not JSON comes after all others, both ways."""
    thought = ReasoningBlock("Hm.", signature="c2ln", origin="anthropic")
    calls = [ToolUseBlock("a", "f", "{"), ToolUseBlock("b", "f", "{}")]
    there = to_langchain(rendered([Message("assistant", [thought, *calls])]))
    back = from_langchain(there.messages).messages
    assert ["b", "a"] == [call.id for call in back[-1].calls]
    assert there.messages == to_langchain(rendered(back)).messages
