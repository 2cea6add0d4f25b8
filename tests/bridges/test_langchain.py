"""LangChain, there and back."""

from typing import Any

import pytest
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
    DataError,
    Developer,
    DocumentBlock,
    ImageBlock,
    MediaSource,
    Message,
    ReasoningBlock,
    System,
    TextBlock,
    Timeline,
    Tool,
    ToolResultBlock,
    ToolUse,
    ToolUseBlock,
    UnknownBlock,
    User,
    render,
)
from promptdsl import (
    ToolMessage as Answer,
)
from promptdsl.bridges.langchain import from_langchain, to_langchain
from tests.adapters.conversations import PNG, answer, call, media, say
from tests.bridges.crossings import rendered, said


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


def test_refusals() -> None:
    """A refusal stands where LangChain keeps it, and comes back as one."""
    refusal = TextBlock("No.", extra={"refusal": True})
    message = written(say("assistant", refusal))
    assert ("No.", (refusal,)) == (message.additional_kwargs["refusal"], read(message).content)


def test_usage_and_finish() -> None:
    """What a model counted, and why it stopped, crosses both ways."""
    counts = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    reply = AIMessage("Hi.", usage_metadata=counts, response_metadata={"finish_reason": "stop"})
    message = read(reply)
    assert (counts, "stop", reply) == (
        message.token_usage,
        message.finish_reason,
        written(message),
    )


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
        say("tool", "beside"),
        say("user", call("a"), TextBlock("x", "1h", {"y": 1})),
        say("assistant", ToolResultBlock("a", (), error_type="timeout_error")),
        answer("a", call("b")),
    ]
    assert said(to_langchain(rendered(messages)).losses) == [
        ("content", "a block of type 'text'"),
        ("content", "a block of type 'tool_use'"),
        ("hint", "a cache mark"),
        ("hint", "further keys of a block"),
        ("content", "a block of type 'tool_result'"),
        ("content", "a block of type 'tool_use'"),
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
        ({"type": "hologram"}, UnknownBlock({"type": "hologram"})),
        (
            {"type": "server_tool_call", "id": "a", "name": "n", "args": {}},
            UnknownBlock({"type": "server_tool_call", "id": "a", "name": "n", "args": {}}),
        ),
        ({"type": "reasoning"}, ReasoningBlock("")),
    ],
)
def test_parts(part: Any, block: Any) -> None:
    """Parts are read in LangChain's form and in those of the providers it reads."""
    assert (block,) == read(HumanMessage([part])).content


def test_calls_are_read_once() -> None:
    """A call that stands among the contents too, as Anthropic's do, is one call."""
    part = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    calls = [{"name": "f", "args": {}, "id": "a"}]
    reply = AIMessage([{"type": "text", "text": "Hm."}, part], tool_calls=calls)
    assert (TextBlock("Hm."), ToolUseBlock("a", "f", "{}")) == read(reply).content


@pytest.mark.parametrize("given", [RemoveMessage(id="a"), {"role": "user"}])
def test_no_message(given: Any) -> None:
    """What is no message of a conversation is refused by its number."""
    with pytest.raises(DataError, match=r"messages\[1\]: .* is no message of a conversation"):
        from_langchain([HumanMessage("Hi."), given])
