"""What goes to a model behind LiteLLM: its own things, each once, in the place that LiteLLM has."""

import asyncio
import warnings
from contextlib import nullcontext
from typing import Any

import pytest

from promptdsl import *
from promptdsl.integrations.litellm import from_litellm, to_litellm
from tests.providers.conversations import PNG
from tests.renders import reported

Item = dict[str, Any]
CLAUDE, GEMINI = "claude-opus-4-5", "gemini-3.1-pro"
ASKED, MORE = User("q"), User("w")
WAVE = b"RIFF$\x00\x00\x00WAVEfmt "
PDF = b"%PDF-1.7"
SIGNED = {"thought_signature": "c2ln"}


def answer(*blocks: Block, role: Any = "assistant") -> History:
    """Return a history of one message."""
    return History((Message(role, blocks),))


def thought(origin: str, text: str = "Hm.") -> ReasoningBlock:
    """Return signed reasoning."""
    return ReasoningBlock(text, origin=origin, signature="c2ln")


def sent(prompt: Node, model: Any = None, **options: Any) -> tuple[list[Item], list[str]]:
    """Return LiteLLM's messages between the first and the last, and the name of each loss."""
    bridged = to_litellm(render(prompt, model=model, **options))
    return bridged.messages[1:-1], [loss.name or loss.kind for loss in reported(bridged)]


@pytest.mark.parametrize(
    ("target", "origin", "keys"),
    [
        (CLAUDE, "anthropic", {"thinking_blocks"}),
        (CLAUDE, "litellm", {"thinking_blocks"}),
        (CLAUDE, "bedrock", set()),
        (CLAUDE, "gemini", set()),
        (CLAUDE, "openai_compatible", set()),
        (GEMINI, "gemini", {"reasoning_content"}),
        (GEMINI, "anthropic", set()),
        ("gpt-5", "openai_responses", set()),
        ({"provider": "deepseek"}, "deepseek", {"thinking_blocks"}),
        ({"provider": "deepseek"}, "anthropic", set()),
    ],
)
def test_reasoning_goes_back_to_its_model(target: Any, origin: str, keys: set[str]) -> None:
    """A server of Chat that nobody named is not the model behind LiteLLM."""
    prompt = Timeline(ASKED, answer(thought(origin), TextBlock("a")), MORE)
    options = target if isinstance(target, dict) else {"model": target}
    (message,), losses = sent(prompt, **options)
    assert keys == message.keys() - {"role", "content"}
    assert (losses == []) is (keys == {"thinking_blocks"})


@pytest.mark.parametrize("origin", ["anthropic", None, "gemini"])
def test_further_keys_go_back_to_their_model(origin: str | None) -> None:
    """Those of an answer and of a call are of the given origin, and of no model without one."""
    fields = {"provider_specific_fields": {"own": 1}}
    function = {"name": "find", "arguments": "{}"}
    call = {"id": "a", "type": "function", "function": function, **fields}
    item = {"role": "assistant", "content": "a", "tool_calls": [call], **fields}
    result = {"role": "tool", "tool_call_id": "a", "content": "r"}
    prompt = Timeline(
        Tool(name="find", description="Find.", input_schema={"type": "object"}),
        *(ASKED, History(from_litellm([item, result], origin=origin).messages), MORE),
    )
    (message, _), losses = sent(prompt, CLAUDE)
    is_own = origin == "anthropic"
    assert is_own is ("provider_specific_fields" in message)
    assert is_own is ("provider_specific_fields" in message["tool_calls"][0])
    assert is_own is (losses == [])


def test_a_transcript_of_replies() -> None:
    """A reply that was appended as a reply of LiteLLM is sent back completely."""
    transcript = Transcript()
    transcript.append(Message("user", "q"))
    thinking = [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]
    reply = {"role": "assistant", "content": "a", "thinking_blocks": thinking}
    choice = {"index": 0, "finish_reason": "stop", "message": reply}
    transcript.append({"object": "chat.completion", "choices": [choice]}, provider="litellm")
    (message,), losses = sent(Timeline(History(transcript), MORE), CLAUDE)
    assert (thinking, []) == (message["thinking_blocks"], losses)


@pytest.mark.parametrize("model", [CLAUDE, GEMINI])
def test_what_one_provider_has(model: str) -> None:
    """A block and a tool that only one provider has are losses for LiteLLM."""
    search = UnknownBlock({"type": "server_tool_use", "id": "x", "name": "s"}, origin="anthropic")
    (message,), losses = sent(Timeline(ASKED, answer(search, TextBlock("a")), MORE), model)
    assert {"role": "assistant", "content": "a"} == message
    assert ["content"] == losses


SIGNATURES: dict[str, tuple[list[Block], str, Item | None]] = {
    "one text": ([TextBlock("a", extra=SIGNED)], "assistant", {"thought_signatures": ["c2ln"]}),
    "two texts": ([TextBlock("a", extra=SIGNED), TextBlock("b")], "assistant", None),
    "two signatures": ([TextBlock("a", extra=SIGNED)] * 2, "assistant", None),
    "a blank text": ([TextBlock(" ", extra=SIGNED)], "assistant", None),
    "a text of a user": ([TextBlock("a", extra=SIGNED)], "user", None),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_of_texts(name: str) -> None:
    """A signature is kept if its answer is one text; else it is lost, with a loss."""
    blocks, role, fields = SIGNATURES[name]
    prompt = Timeline(ASKED, answer(*blocks, role=role), Assistant("z"), MORE)
    messages, losses = sent(prompt, GEMINI, transformation=AS_WRITTEN)
    sent_fields = [it["provider_specific_fields"] for it in messages if len(it) > 2]
    assert ([fields] if fields else []) == sent_fields
    assert (losses == []) is (fields is not None)


MARK = {"type": "ephemeral"}


@pytest.mark.parametrize(
    ("more", "settings", "place"),
    [
        ([], AS_WRITTEN, "message"),
        ([], {**AS_WRITTEN, "lone_text": "list"}, "part"),
        ([{"role": "user", "content": "More."}], {}, "part"),
        ([{"role": "user", "content": "More."}], AS_WRITTEN, "message"),
    ],
)
def test_the_mark_of_a_message(more: list[Item], settings: Any, place: str) -> None:
    """It is on the message whose content is its text alone, and else on the text."""
    marked = {"role": "user", "content": "Long.", "cache_control": MARK}
    messages = from_litellm([marked, *more], origin="anthropic").messages
    prompt = Timeline(ASKED, Assistant("a"), History(messages), Assistant("b"), MORE)
    items, losses = sent(prompt, CLAUDE, transformation=settings)
    item = items[1]
    part = item if place == "message" else item["content"][0]
    assert (MARK, []) == (part["cache_control"], losses)
    assert 1 == str(items).count("cache_control")


def test_a_mark_goes_to_its_message_alone() -> None:
    """A message that is not sent leaves its mark to nobody."""
    blank = from_litellm([{"role": "user", "content": " ", "cache_control": MARK}]).messages
    prompt = Timeline(ASKED, History(blank), Assistant("a"), MORE)
    items, losses = sent(prompt, CLAUDE, transformation=AS_WRITTEN)
    assert [{"role": "assistant", "content": "a"}] == items
    assert {"white_space", "cache_mark"} == {*losses}


def test_reasoning_behind_a_text() -> None:
    """It is sent before the text, as LiteLLM has it, with a hint."""
    blocks = [TextBlock("a"), thought("anthropic", "1"), TextBlock("b"), thought("anthropic", "2")]
    (message,), losses = sent(Timeline(ASKED, answer(*blocks), MORE), CLAUDE)
    assert ["1", "2"] == [it["thinking"] for it in message["thinking_blocks"]]
    assert {"moved_reasoning"} == {*losses}


def test_two_answers_with_reasoning() -> None:
    """Joined answers keep the text of both in addition to their blocks."""
    block = {"type": "thinking", "signature": "c2ln"}
    items = [
        {
            **{"role": "assistant", "content": text, "reasoning_content": text},
            "thinking_blocks": [{**block, "thinking": text}],
        }
        for text in "ab"
    ]
    messages = from_litellm(items, origin="anthropic").messages
    (message,), _ = sent(Timeline(ASKED, History(messages), MORE), CLAUDE)
    assert ("a\n\nb", 2) == (message["reasoning_content"], len(message["thinking_blocks"]))


NEW = "claude-opus-5-5"
CALLS = (
    Tool(name="find", description="Find.", input_schema={"type": "object"}),
    *(ASKED, Assistant(ToolUse("find", {}, id="a")), ToolMessage("a", "r")),
)
INSTRUCTED: dict[str, list[Node]] = {
    "at an answer": [ASKED, Developer("d"), Assistant("a"), MORE],
    "at the end": [ASKED, Assistant("a"), ASKED, Developer("d")],
    "between questions": [ASKED, Developer("d"), MORE],
    "behind an answer": [ASKED, Assistant("a"), Developer("d"), MORE],
    "behind results": [*CALLS, Developer("d"), Assistant("a"), MORE],
    "behind an event": [Event("e"), Developer("d"), Assistant("a"), MORE],
    "behind an event, first": [Event("e"), Developer("d"), ASKED],
    "behind what is for this request": [Ephemeral("x", position="flow"), Developer("d"), ASKED],
    "two": [ASKED, Developer("d"), Developer("e"), Assistant("a"), MORE, Developer("f")],
    "a blank message between": [ASKED, Developer("d"), User(" "), Assistant("a"), MORE],
    "a blank answer between": [ASKED, Developer("d"), Assistant(" "), MORE],
}


@pytest.mark.parametrize("model", [NEW, CLAUDE])
@pytest.mark.parametrize("name", INSTRUCTED)
def test_instructions_are_where_claude_takes_them(name: str, model: str) -> None:
    """An instruction is a system message where it is one for Anthropic, else fenced text."""
    rendered = render(Timeline(*INSTRUCTED[name]), model=model)
    payload: Any = rendered.to_anthropic()
    turns = [{"role": "system", "content": payload.get("system", [])}, *payload["messages"]]
    items = to_litellm(rendered).messages
    assert spoken_texts(turns) == spoken_texts(items)


def spoken_texts(items: list[Item]) -> list[tuple[str, str]]:
    """Return the texts of messages in their order, each with the side that says it."""
    sides = {"tool": "user", "developer": "system"}
    texts: list[tuple[str, str]] = []
    for item in items:
        role, content = sides.get(item["role"], item["role"]), item["content"] or []
        parts = [{"text": content}] if isinstance(content, str) else content
        texts += [(role, part["text"]) for part in parts if "text" in part]
    return [(role, text) for role, text in texts if text not in ("r", ".")]


def test_long_conversations_with_instructions() -> None:
    """One that has grown is written as a new one is, whichever instructions have a place now."""
    turns: list[Message] = []
    for number in range(130):
        turns += [Message("user", f"q{number}"), Message("developer", f"d{number}")]
        turns += [Message("assistant", f"a{number}")] if number % 3 else []
        if number > 90 and number % 5 == 0:
            kept = render(Timeline(History(tuple(turns))), model=NEW)
            fresh = tuple(Message(it.role, it.text) for it in turns)
            anew = render(Timeline(History(fresh)), model=NEW)
            assert to_litellm(kept).messages == to_litellm(anew).messages


def test_the_row_of_litellm_is_a_server() -> None:
    """A prompt for the provider ``litellm`` itself keeps the careful rules of a server."""
    items = [{"role": "user", "content": "q"}, {"role": "developer", "content": "d"}]
    prompt = Timeline(History.from_openai(items), Assistant("a"), MORE)
    roles = [it["role"] for it in render(prompt, provider="litellm").to_openai()["messages"]]
    assert ["user", "user", "assistant", "user"] == roles
    (instruction, _), _ = sent(prompt, NEW)
    assert "developer" == instruction["role"]


def test_refusals() -> None:
    """A refusal of an answer is text for the models whose refusals LiteLLM leaves out."""
    refused = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    prompt = Timeline(ASKED, History.from_openai([refused]), MORE)
    (claude,), _ = sent(prompt, CLAUDE)
    (openai,), _ = sent(prompt, "gpt-5")
    assert "No." == claude["content"]
    assert [{"type": "refusal", "refusal": "No."}] == openai["content"]


CUSTOM = {"type": "custom", "custom": {"name": "code"}}
OWN: dict[str, tuple[Node, str]] = {
    "a block": (answer(UnknownBlock({"type": "x"}, origin="openai"), TextBlock("a")), "'x'"),
    "a block of Chat": (
        answer(UnknownBlock({"type": "x"}, origin="openai_compatible"), TextBlock("a")),
        "'x'",
    ),
    "a tool": (Tool(ToolDefinition("code", raw=CUSTOM, origin="openai")), "'custom'"),
}


@pytest.mark.parametrize("model", [CLAUDE, GEMINI])
@pytest.mark.parametrize("name", OWN)
def test_what_openai_has(name: str, model: str) -> None:
    """What has the form of Chat goes to no other model either: it is a loss, as in its own API."""
    part, sign = OWN[name]
    warns = pytest.warns(LostContentWarning) if name == "a tool" else nullcontext()
    with warns:
        bridged = to_litellm(render(Timeline(ASKED, part, MORE), model=model))
    assert sign not in str((bridged.messages, bridged.tools))
    assert ["content"] == [loss.kind for loss in bridged.losses]


def test_a_custom_call() -> None:
    """A call with a text as its input is a call of a function for other models than OpenAI's."""
    call = {"id": "a", "type": "custom", "custom": {"name": "find", "input": "x"}}
    items: list[Item] = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "r"},
    ]
    prompt = Timeline(CALLS[0], ASKED, History.from_openai(items), MORE)
    assert ["function", "custom"] == [
        sent(prompt, model)[0][0]["tool_calls"][0]["type"] for model in (CLAUDE, "gpt-5")
    ]


@pytest.mark.parametrize(
    ("prompt", "target"),
    [
        (Timeline(User("u", Image.from_base64(PNG, "image/png"))), {"provider": "deepseek"}),
        (Timeline(User("u", Audio.from_bytes(WAVE, media_type="audio/wav"))), {"model": "gpt-5"}),
        (Timeline(ASKED, Assistant("z"), MORE, Developer("d"), MORE), {"provider": "deepseek"}),
        (Timeline(*CALLS, MORE), {"provider": "mistral"}),
    ],
)
def test_a_server_of_chat(prompt: Node, target: Any) -> None:
    """LiteLLM sends Chat messages unchanged, so a server gets the same as without it."""
    rendered = render(prompt, **target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LostContentWarning)
        payload: Any = rendered.to_openai()
        bridged = to_litellm(rendered)
    assert payload["messages"] == bridged.messages
    kinds = [[loss.kind for loss in losses] for losses in (reported(rendered), reported(bridged))]
    assert kinds[0] == kinds[1]


def test_reasoning_of_a_server_of_responses() -> None:
    """It goes back to its server, and that of OpenAI does not go there."""
    for origin, keys in (("openai", set[str]()), ("deepseek_responses", {"reasoning_content"})):
        prompt = Timeline(ASKED, answer(ReasoningBlock("Hm.", origin=origin), TextBlock("a")), MORE)
        (message,), _ = sent(prompt, provider="deepseek_responses")
        assert keys == message.keys() - {"role", "content"}


def test_signatures_at_the_gateway_itself() -> None:
    """For the provider ``litellm`` the name of the model tells that it is one of Gemini."""
    prompt = Timeline(ASKED, answer(TextBlock("a", extra=SIGNED)), MORE)
    (message,), losses = sent(prompt, GEMINI, provider="litellm")
    assert {"thought_signatures": ["c2ln"]} == message["provider_specific_fields"]
    assert [] == losses


def test_calls_without_tools() -> None:
    """Claude needs tools in addition to calls, through LiteLLM, too."""
    _, losses = sent(Timeline(*CALLS[1:], MORE), CLAUDE)
    assert ["no_tools"] == losses


@pytest.mark.parametrize("model", [CLAUDE, "gpt-5", "us.amazon.nova-lite-v1:0"])
def test_schemas_of_tools(model: str) -> None:
    """They are in the words that the model takes, as in its own API."""
    schema = {"type": "object", "properties": {"a": {}}, "oneOf": [{"required": ["a"]}]}
    prompt = Timeline(Tool(name="f", description="d", input_schema=schema), ASKED)
    bridged = to_litellm(render(prompt, model=model))
    assert "'oneOf':" not in str(bridged.tools)
    assert ["tool_schema"] == [hint.name for hint in bridged.hints]


def test_an_asynchronous_loader() -> None:
    """What it has not loaded for the model's own API is a loss, with the advice."""

    async def load(_: str) -> bytes:
        return PDF

    document = Document.from_url("https://a.org/a.pdf")
    rendering = arender(Timeline(User("x", document)), model="gpt-5.5-pro", media_loader=load)
    with pytest.warns(LostContentWarning, match="document block"):
        bridged = to_litellm(asyncio.run(rendering))
    assert ["content"] == [loss.kind for loss in bridged.losses]


@pytest.mark.parametrize(
    ("part", "model", "kind"),
    [
        (Audio.from_url("https://a.org/a.wav"), "gpt-4o-audio-preview", "input_audio"),
        (Document.from_url("https://a.org/a.pdf"), "gpt-5.5-pro", "file"),
        (Document.from_url("https://a.org/a.pdf"), "gpt-5", "file"),
    ],
)
def test_addresses_are_loaded_for_chat(part: Node, model: str, kind: str) -> None:
    """A ``media_loader`` gives the bytes at an address that the model takes, and Chat does not."""
    calls: list[str] = []

    def load(address: str) -> bytes:
        calls.append(address)
        return WAVE if address.endswith("wav") else PDF

    rendered = render(Timeline(User(part)), model=model, media_loader=load)
    bridged = to_litellm(rendered)
    assert kind in str(bridged.messages)
    assert ([], 1) == ([*bridged.losses], len(calls))


def test_a_document_in_a_result() -> None:
    """It stays in the result for Claude, which takes it there."""
    document = Document.from_bytes(PDF)
    prompt = Timeline(*CALLS[:3], ToolMessage("a", document), Assistant("a"), MORE)
    items, losses = sent(prompt, CLAUDE)
    assert ("file", []) == (items[1]["content"][0]["type"], losses)
