"""Which adapter a target is, and what responses and payloads come back as."""

from typing import Any

import pytest
from hypothesis import strategies as st
from pydantic import BaseModel

from promptdsl import *
from tests.errors import lines_of, raised
from tests.internals import RENDER_DEFAULTS, TARGETS, wire_of
from tests.providers.recorder import (
    CHAT_REPLY,
    CONVERSE_REPLY,
    GEMINI_REPLY,
    MESSAGES_REPLY,
    RESPONSES_REPLY,
)
from tests.searching import outcomes

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "x"}'}}
CHAT_USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 64},
    "completion_tokens_details": {"reasoning_tokens": 5},
}


def chat(finish: str = "stop", **message: Any) -> dict[str, Any]:
    """Return the body of a response of OpenAI Chat."""
    said = {"role": "assistant", "content": "Rain.", "refusal": None, **message}
    choice = {"index": 0, "finish_reason": finish, "logprobs": None, "message": said}
    return {**CHAT_REPLY, "choices": [choice], "usage": CHAT_USAGE}


THOUGHT = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "ZW5j"}
FUNCTION = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "c1",
    "name": "find",
    "arguments": '{"q": "x"}',
    "status": "completed",
}
CLAUDE_SAID = [
    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    {"type": "text", "text": "Look."},
    {"type": "tool_use", "id": "c1", "name": "find", "input": {"q": "x"}},
]
CLAUDE_USAGE = {
    "input_tokens": 30,
    "output_tokens": 20,
    "cache_read_input_tokens": 64,
    "cache_creation_input_tokens": 6,
}
GEMINI_CALL = {
    "functionCall": {"name": "find", "args": {"q": "x"}, "id": "c1"},
    "thoughtSignature": "c2ln",
}
GEMINI_USAGE = {
    "promptTokenCount": 100,
    "candidatesTokenCount": 15,
    "thoughtsTokenCount": 5,
    "cachedContentTokenCount": 64,
    "totalTokenCount": 120,
}
CONVERSE_CALL = {"toolUse": {"toolUseId": "c1", "name": "find", "input": {"q": "x"}}}
CONVERSE_USAGE = {
    "inputTokens": 30,
    "outputTokens": 20,
    "totalTokens": 120,
    "cacheReadInputTokens": 64,
    "cacheWriteInputTokens": 6,
}


REPLIES: dict[str, dict[str, Any]] = {
    "openai": chat("tool_calls", content=None, tool_calls=[CALL]),
    "openai_responses": {**RESPONSES_REPLY, "output": [THOUGHT, FUNCTION], "status": "completed"},
    "anthropic": {
        **MESSAGES_REPLY,
        "content": CLAUDE_SAID,
        "stop_reason": "tool_use",
        "usage": CLAUDE_USAGE,
    },
    "gemini": {
        "candidates": [
            {"content": {"role": "model", "parts": [GEMINI_CALL]}, "finishReason": "STOP"}
        ],
        "usageMetadata": GEMINI_USAGE,
    },
    "bedrock": {
        **CONVERSE_REPLY,
        "output": {"message": {"role": "assistant", "content": [CONVERSE_CALL]}},
        "stopReason": "tool_use",
        "usage": CONVERSE_USAGE,
    },
}


def as_it_is(_: str, body: dict[str, Any]) -> Any:
    """Return the body of a response."""
    return body


def as_object(provider: str, body: dict[str, Any]) -> Any:
    """Return what the client of a provider returns; boto3 returns the body."""
    if provider == "anthropic":
        from anthropic.types import Message as Reply

        return Reply.model_validate(body)
    if provider == "gemini":
        from google.genai.types import GenerateContentResponse

        return GenerateContentResponse.model_validate(body)
    if provider == "openai":
        from openai.types.chat import ChatCompletion

        return ChatCompletion.model_validate(body)
    from openai.types.responses import Response

    return Response.model_validate(body)


typed = pytest.mark.sdk("anthropic", "google.genai", "openai")
every_form = pytest.mark.parametrize(
    "form",
    [pytest.param(as_it_is, id="body"), pytest.param(as_object, id="object", marks=typed)],
)
every_typed_reply = pytest.mark.parametrize("provider", [n for n in REPLIES if n != "bedrock"])
every_reply = pytest.mark.parametrize(
    ("provider", "form"),
    [
        *(pytest.param(name, as_it_is, id=name) for name in REPLIES),
        *(
            pytest.param(name, as_object, id=f"{name} object", marks=typed)
            for name in REPLIES
            if name != "bedrock"
        ),
    ],
)


def block(message: Message, kind: type) -> Any:
    """Return the one block of a type."""
    (found,) = [block for block in message.content if isinstance(block, kind)]
    return found


@every_reply
def test_a_call(provider: str, form: Any) -> None:
    """A call comes back with its name, its input and its id, whoever's object it is in."""
    said = read_response(form(provider, REPLIES[provider]))
    call = block(said, ToolUseBlock)
    assert ("assistant", "recorded", "find", {"q": "x"}) == (
        said.role,
        said.kind,
        call.name,
        call.input,
    )
    assert "tool_use" == said.finish_reason


@typed
@every_typed_reply
def test_the_dictionary_form(provider: str) -> None:
    """The dictionary of a response, and its body, say the same as the object."""
    reply = as_object(provider, REPLIES[provider])
    said = read_response(reply)
    data = reply.model_dump(mode="json", exclude_none=True)
    assert [said, said] == [*map(read_response, (data, REPLIES[provider]))]


@every_reply
def test_it_goes_back(provider: str, form: Any) -> None:
    """A reply goes back into the conversation in one call, with its reasoning."""
    said = read_response(form(provider, REPLIES[provider]))
    call = block(said, ToolUseBlock)
    prompt = Timeline(
        Tool(name="find"), User("Hi."), History([said]), ToolMessage(call.id, "r"), User("So?")
    )
    rendered = render(prompt, provider=provider)
    assert () == rendered.losses
    assert rendered.payload() == render(prompt, provider=provider).payload()


COUNTS = {
    "openai": {"input": 100, "output": 20, "cache_read": 64, "reasoning": 5, "total": 120},
    "anthropic": {"input": 100, "output": 20, "cache_read": 64, "cache_write": 6, "total": 120},
    "gemini": {"input": 100, "output": 20, "cache_read": 64, "reasoning": 5, "total": 120},
    "bedrock": {"input": 100, "output": 20, "cache_read": 64, "cache_write": 6, "total": 120},
}


@pytest.mark.parametrize("provider", COUNTS)
def test_what_was_counted(provider: str) -> None:
    """The counts have the same names everywhere, and input is all that was read."""
    usage = read_response(REPLIES[provider]).token_usage
    assert COUNTS[provider] == dict(usage or {})


@every_form
@pytest.mark.parametrize(
    ("provider", "reply", "reason"),
    [
        ("openai", chat("stop"), "stop"),
        ("openai", chat("length"), "length"),
        ("openai", chat("content_filter"), "filtered"),
        ("openai", chat(refusal="No.", content=None), "refused"),
        ("anthropic", {**MESSAGES_REPLY, "stop_reason": "max_tokens"}, "length"),
        ("anthropic", {**MESSAGES_REPLY, "stop_reason": "refusal"}, "refused"),
        ("anthropic", {**MESSAGES_REPLY, "stop_reason": "pause_turn"}, "paused"),
    ],
)
def test_why_a_model_stopped(provider: str, reply: Any, reason: str, form: Any) -> None:
    """The reasons have the same names everywhere."""
    assert reason == read_response(form(provider, reply)).finish_reason


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({**MESSAGES_REPLY, "stop_reason": "bored"}, "bored"),
        (RESPONSES_REPLY, "stop"),
        (GEMINI_REPLY, "stop"),
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "filtered"),
        (CONVERSE_REPLY, "stop"),
    ],
)
def test_why_a_model_stopped_elsewhere(reply: object, reason: str) -> None:
    """So have those of other bodies; an unknown reason is the provider's own."""
    assert reason == read_response(reply).finish_reason


def test_reasoning_comes_back_signed() -> None:
    """Reasoning keeps its signature and whose it is."""
    thought = block(read_response(REPLIES["anthropic"]), ReasoningBlock)
    assert ("Hm.", "c2ln", "anthropic") == (thought.text, thought.signature, thought.origin)


class City(BaseModel):
    """A form of an answer."""

    name: str


@typed
def test_what_the_sdk_parsed() -> None:
    """What an SDK parsed the answer to is plain data."""
    from openai.types.chat import ParsedChatCompletion

    data = chat(content='{"name": "Oslo"}', parsed=City(name="Oslo"))
    said = read_response(ParsedChatCompletion[City].model_validate(data))
    assert {"name": "Oslo"} == said.structured_output


@every_form
def test_an_answer_of_a_client_in_a_form(form: Any) -> None:
    """Where the SDK parsed no answer, its text is read as JSON."""
    reply = form("openai", chat(content='{"name": "Oslo"}'))
    assert {"name": "Oslo"} == read_response(reply, structured=True).structured_output


@pytest.mark.parametrize(
    "reply",
    [
        {**MESSAGES_REPLY, "content": [{"type": "text", "text": '{"name": "Oslo"}'}]},
        {
            **CONVERSE_REPLY,
            "output": {"message": {"role": "assistant", "content": [{"text": '{"name": "Oslo"}'}]}},
        },
    ],
)
def test_an_answer_in_a_form(reply: object) -> None:
    """Where no SDK parsed an answer, its text is read as JSON."""
    said = read_response(reply, structured=True)
    assert {"name": "Oslo"} == said.structured_output


@every_form
def test_no_answer_yet(form: Any) -> None:
    """A message that only calls tools has no answer to read."""
    said = read_response(form("openai", REPLIES["openai"]), structured=True)
    assert (None, 1) == (said.structured_output, len(said.calls))


@every_form
def test_an_answer_in_no_form(form: Any) -> None:
    """An answer that is no JSON is refused, with why the model stopped."""
    reply = form("openai", chat("length", content='{"name'))
    with pytest.raises(DataError, match=r"not JSON \(finish_reason 'length'\): '\{\"name'"):
        read_response(reply, structured=True)


@pytest.mark.parametrize("reply", [chat(content="Rain."), {"id": "x"}, None])
def test_a_refused_reply_names_the_line(reply: object) -> None:
    """An answer that is no JSON, and what is no response, are refused with the author's line."""

    def read() -> Message:
        return read_response(reply, structured=True)

    assert lines_of(read, 1) == raised(DataError, read).at


def test_only_the_first_choice() -> None:
    """Of several choices it is the first."""
    data = chat()
    other = {"role": "assistant", "content": "Sun."}
    data["choices"].append({**data["choices"][0], "index": 1, "message": other})
    assert (TextBlock("Rain."),) == read_response(data).content


@pytest.mark.parametrize(
    "data",
    [{}, {"id": "x"}, {"choices": []}, {"choices": [{}]}, {"candidates": "x"}, {"content": None}],
)
def test_no_response(data: dict[str, Any]) -> None:
    """What is no response is refused by name."""
    with pytest.raises(DataError):
        read_response(data)


@pytest.mark.parametrize("value", [None, "x", 1, ["x"], object()])
def test_no_object(value: object) -> None:
    """What is no mapping, nor an object of an SDK, is refused by name."""
    with pytest.raises(DataError, match="dictionary"):
        read_response(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "choices",
        "candidates",
        "stopReason",
        "output",
        "content",
        "usage",
        "message",
        "role",
        "parts",
    ]
)


@pytest.mark.hypothesis
def test_any_data_is_read_or_refused() -> None:
    """Any data is a response, or refused by name."""
    data = st.dictionaries(KEYS, JSON | st.dictionaries(KEYS, JSON | st.lists(JSON)))
    assert {"assistant", "refused"} == outcomes(_read, MESSAGES_REPLY, data)


def _read(data: object) -> str:
    try:
        return read_response(data).role
    except DataError:
        return "refused"


# Payloads.


def test_a_payload_comes_back() -> None:
    """A payload is read with its tools, and which of them is chosen."""
    tool = Tool(name="find", input_schema={"type": "object"})
    prompt = Timeline(tool, User("Hi."), Assistant("Hello."))
    payload = render(prompt, provider="bedrock", tool_choice="required").to_bedrock()
    found = read_payload(payload, "bedrock")
    assert [ToolDefinition("find", input_schema={"type": "object"}, origin="bedrock")] == [
        ToolDefinition(tool.name, tool.description, tool.input_schema, origin=tool.origin)
        for tool in found.tools
    ]
    assert ("required", ["user", "assistant"]) == (
        found.tool_choice,
        [message.role for message in found.messages],
    )


def test_an_unknown_provider() -> None:
    """A provider without an adapter gets the nearest name, and the author's line."""
    with pytest.raises(TargetError, match="did you mean 'gemini'"):
        read_payload([], "gemin")


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_its_method(target: str) -> None:
    """A prompt rendered for a target has its payload by the target's own method."""
    rendered = render(Timeline(User("Hi.")), provider=target)
    method = getattr(Rendered, f"to_{wire_of(target).provider_format}")
    assert rendered.payload() == method(rendered)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("other", TARGETS)
def test_no_target_has_the_method_of_another(target: str, other: str) -> None:
    """Another adapter's method is an error that says how to render for it."""
    rendered = render(Timeline(User("Hi.")), provider=target)
    found = {
        name: getattr(_outcome(rendered, f"to_{wire_of(name).provider_format}"), "__name__", None)
        for name in (target, other)
    }
    same = wire_of(target).provider_format == wire_of(other).provider_format
    assert {target: None, other: None if same else "TargetError"} == found


def _outcome(rendered: Rendered, method: str) -> type[Exception] | None:
    try:
        getattr(rendered, method)()
    except TargetError as error:
        return type(error)
    return None


@pytest.mark.parametrize("target", [name for name in TARGETS if name != "openai_compatible"])
def test_every_target_has_a_history(target: str) -> None:
    """A recording is read by the name of its target."""
    payload = render(Timeline(User("Hi."), Assistant("Hello."), User("Bye.")), provider=target)
    read = getattr(History, f"from_{target}")
    again = render(Timeline(read(payload.payload())), provider=target)
    assert payload.payload() == again.payload()


@pytest.mark.parametrize(
    ("other", "provider"),
    [
        ("Google", "gemini"),
        ("google-genai", "gemini"),
        ("vertex", "gemini"),
        ("vertexai", "gemini"),
        ("vertex_ai", "gemini"),
        ("aws", "bedrock"),
        ("amazon", "bedrock"),
        ("bedrock_converse", "bedrock"),
        ("converse", "bedrock"),
        ("OpenAI", "openai"),
        ("Anthropic", "anthropic"),
        ("azure", "openai"),
        ("azure_openai", "openai"),
        ("openai_chat", "openai"),
        ("chat", "openai"),
        ("responses", "openai_responses"),
        ("openai_response", "openai_responses"),
        ("claude", "anthropic"),
        ("hf", "chat_template"),
        ("transformers", "chat_template"),
        ("cohere", "openai_compatible"),
        ("Mistral", "mistral"),
        ("kimi", "moonshotai"),
        ("dashscope", "alibaba"),
    ],
)
def test_another_name_of_a_provider(other: str, provider: str) -> None:
    """The name of a service or of its library suggests the provider that has its API."""
    with pytest.raises(TargetError, match=f"did you mean '{provider}'"):
        render(User("a"), provider=other)


def test_a_template_and_another_target() -> None:
    """A chat template goes on to its own target alone."""
    source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    rendered = render(Timeline(User("Hi.")), chat_template=source)
    said = {"messages": [{"role": "user", "content": "Hi."}]}
    assert said == rendered.for_target("openai").payload()
    assert "<user>Hi." == rendered.for_target("chat_template").payload()["prompt"]
    with pytest.raises(TargetError, match="unknown provider"):
        rendered.for_target(["openai"])  # type: ignore[arg-type]


def test_the_order_of_options() -> None:
    """``checked_request`` takes the values of the options in this order."""
    assert list(RENDER_DEFAULTS) == [
        *("model", "provider", "budget", "reserve", "counter", "transformation", "audience"),
        *("strict", "cache", "tool_choice", "media_roots", "chat_template", "hints"),
        "media_loader",
    ]
