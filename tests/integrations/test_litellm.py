"""LiteLLM, there and back."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given

from promptdsl import *
from promptdsl.integrations.litellm import from_litellm, to_litellm
from tests.integrations.crossings import are_joined, plain_messages, rendered
from tests.renders import named_losses, reported
from tests.searching import examples


class Reply:
    """A message as LiteLLM returns it: an object that can be dumped to a dictionary."""

    def model_dump(self, *, exclude_none: bool) -> dict[str, str]:
        """Return the message as a dictionary."""
        return {"role": "assistant", "content": "Hi."}


def test_a_conversation() -> None:
    """Messages are those of Chat with names; a developer speaks as the system."""
    prompt = Timeline(System("Be brief."), User("Hi.", name="ada"), Developer("Go."))
    bridged = to_litellm(render(prompt))
    assert bridged.messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi.", "name": "ada"},
        {"role": "system", "content": "Go."},
    ]
    assert () == bridged.losses == bridged.hints


@pytest.mark.parametrize(
    ("model", "turns", "roles"),
    [
        ("claude-sonnet-4-5", [User("Hi."), Developer("Go."), User("Well?")], "uuu"),
        ("claude-opus-5-5", [User("Hi."), Developer("Go."), User("Well?")], "uuu"),
        ("claude-opus-5-5", [User("Hi."), Developer("Go."), Assistant("Well."), User("?")], "usau"),
        ("claude-opus-5-5", [User("Hi."), Assistant("Well."), User("?"), Developer("Go.")], "uaus"),
        ("claude-opus-5-5", [User("Hi."), Assistant("Well."), Developer("Go."), User("?")], "uauu"),
        ("gpt-5", [User("Hi."), Developer("Go."), User("Well?")], "usu"),
    ],
)
def test_a_later_instruction(model: str, turns: list[Any], roles: str) -> None:
    """It has the role that the model behind takes in its place; elsewhere it is fenced text."""
    messages = to_litellm(render(Timeline(*turns), model=model)).messages
    assert roles == "".join(message["role"][0] for message in messages)
    fenced = [
        text for text in (message["content"] for message in messages) if "<developer>" in text
    ]
    assert len(fenced) == (0 if "s" in roles else 1)


SIGNED = "call_1__thought__" + "c2ln" * 60
"""An id of a call of Gemini, with its signature, as LiteLLM makes it."""
PHOTO = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}


def shot(id: str = "a") -> list[dict[str, Any]]:
    """Return a conversation in which a tool gives a picture, in LiteLLM's form."""
    call = {"id": id, "type": "function", "function": {"name": "shoot", "arguments": "{}"}}
    said = {"type": "text", "text": "Here."}
    return [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": [said, PHOTO]},
    ]


@pytest.mark.parametrize("id", ["a", SIGNED])
@pytest.mark.parametrize("provider", [None, "anthropic", "gemini", "openai_compatible"])
def test_what_came_in_goes_out(id: str, provider: str | None) -> None:
    """A picture stays in its result, and an id with a signature is complete (litellm#37849)."""
    history = History(from_litellm(shot(id)).messages)
    bridged = to_litellm(render(Timeline(history), provider=provider, hints=False), strict=True)
    assert (shot(id), ()) == (list(bridged.messages), reported(bridged))


@pytest.mark.parametrize("target", [{"model": "gpt-5"}, {"provider": "openai_responses"}])
def test_the_limit_of_ids_is_that_of_openai(target: Any) -> None:
    """A model of OpenAI's gets ids of 40 characters, alike in call and result."""
    history = History(from_litellm(shot(SIGNED)).messages)
    _, asked, answered = to_litellm(render(Timeline(history), **target)).messages
    ids = {asked["tool_calls"][0]["id"], answered["tool_call_id"]}
    assert [40] == [len(id) for id in ids]


def test_other_files_leave_a_result() -> None:
    """A PDF of a tool is sent after its result; a picture of a failed call stays in it."""
    image = Image.from_url("https://example.org/a.png")
    pdf = Document.from_bytes(b"%PDF-1.7")
    calls = Assistant(ToolUse("f", {}, id="a"), ToolUse("f", {}, id="b"))
    results = ToolMessage("a", pdf), ToolMessage("b", image, is_error=True)
    messages = to_litellm(render(Timeline(User("Q"), calls, *results))).messages
    assert [
        "[document 1 of tool result a: after the tool results]",
        [{"type": "text", "text": "Error: unknown"}, PHOTO],
    ] == [message["content"] for message in messages[2:4]]
    assert ["text", "file"] == [part["type"] for part in messages[4]["content"]]


def test_tools() -> None:
    """Tools are those of Chat; which one has to be called is said with the call."""
    prompt = Timeline(Tool(name="f", description="Find."), User("Hi."))
    bridged = to_litellm(render(prompt, tool_choice="required"))
    assert (["f"], [("hint", "tool_choice")]) == (
        [tool["function"]["name"] for tool in bridged.tools],
        named_losses(bridged.hints),
    )


def test_open_calls() -> None:
    """A request whose calls are not answered cannot be sent."""
    with pytest.raises(PendingToolCalls):
        to_litellm(render(Timeline(User("Hi."), Assistant(ToolUse("f", {}, id="a")))))


def test_objects() -> None:
    """LiteLLM's own messages are read as the dictionaries they are."""
    assert (TextBlock("Hi."),) == from_litellm([Reply()]).messages[0].content


def test_leading_systems_stay_apart() -> None:
    """Reading joins nothing: that is done when a prompt is rendered."""
    recorded = [{"role": "system", "content": text} for text in ("a", "b")]
    assert ["a", "b"] == [message.text for message in from_litellm(recorded).messages]


@pytest.mark.parametrize("origin", [None, "anthropic"])
def test_thinking(origin: str | None) -> None:
    """What a model thought is read from where LiteLLM keeps it; whose it is has to be said."""
    blocks = [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZW5j"},
    ]
    recorded = [
        {"role": "assistant", "content": "Hi.", "thinking_blocks": blocks},
        {"role": "assistant", "content": "Hi.", "reasoning_content": "Hm."},
    ]
    assert [
        (
            ReasoningBlock("Hm.", "c2ln", origin=origin),
            ReasoningBlock("", encrypted="ZW5j", origin=origin),
            TextBlock("Hi."),
        ),
        (ReasoningBlock("Hm.", origin=origin or "openai_compatible"), TextBlock("Hi.")),
    ] == [message.content for message in from_litellm(recorded, origin=origin).messages]


@pytest.mark.parametrize("keys", [{}, {"provider_specific_fields": {"k": 1}}])
def test_two_thinking_blocks_of_one_answer(keys: dict[str, Any]) -> None:
    """Both are read and sent back, with their signatures, also next to further keys."""
    thinking = [
        {"type": "thinking", "thinking": text, "signature": sign}
        for text, sign in (("A.", "YQ=="), ("B.", "Yg=="))
    ]
    answer = {"role": "assistant", "content": "Hi.", "thinking_blocks": thinking, **keys}
    (message,) = from_litellm([answer], origin="anthropic").messages
    assert ["A.", "B.", "Hi."] == [block.to_dict()["text"] for block in message.content]
    prompt = Timeline(User("Q"), History([message]), User("And?"))
    assert answer == to_litellm(render(prompt, provider="anthropic")).messages[1]


def test_signatures_that_are_of_no_one_text() -> None:
    """Two signatures of an answer, and one signature for two texts, are sent back unchanged."""
    answers = [
        {"content": "Hi.", "provider_specific_fields": {"thought_signatures": ["YQ==", "Yg=="]}},
        {"content": "Hi.", "provider_specific_fields": {"thought_signatures": ["YQ=="]}},
        {
            "content": "Hi.",
            "refusal": "No.",
            "provider_specific_fields": {"thought_signatures": ["YQ=="]},
        },
    ]
    contents = [content_of(role="assistant", **answer) for answer in answers]
    signed = [
        [block.extra.get("thought_signature") for block in content if block.type == "text"]
        for content in contents
    ]
    assert [[None], ["YQ=="], [None, None]] == signed


def test_no_message() -> None:
    """What is no message is refused by its number."""
    with pytest.raises(DataError, match=r"messages\[0\]"):
        from_litellm([{"role": "robot", "content": "Hi."}])


@pytest.mark.slow
def test_nothing_is_imported() -> None:
    """Neither LiteLLM nor the Agents SDK is loaded: their messages are dictionaries."""
    loads = "import promptdsl.integrations.litellm, promptdsl.integrations.openai_agents, sys"
    code = f"{loads}; print({{'litellm', 'agents', 'openai'}} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert b"set()" == found.stdout.strip()


def content_of(**item: object) -> tuple[Any, ...]:
    """Return the content of one message."""
    return from_litellm([item]).messages[0].content


def test_form_of_the_answer() -> None:
    """The form of the answer is said with the call: a hint, once."""
    prompt = render(Timeline(User("Hi."), Output({"type": "object", "properties": {}})))
    assert [("hint", "output")] == named_losses(to_litellm(prompt, strict=True).hints)


MARK = {"type": "ephemeral"}


@pytest.mark.parametrize(
    ("item", "block"),
    [
        (
            {"role": "user", "content": [{"type": "text", "text": "x", "cache_control": MARK}]},
            TextBlock("x", "default"),
        ),
        (
            {"role": "user", "content": "x", "cache_control": MARK},
            TextBlock("x", "default", {"item": {"mark": "message"}}),
        ),
        (
            {"role": "tool", "tool_call_id": "a", "content": "x", "cache_control": MARK},
            ToolResultBlock("a", (TextBlock("x"),), cache="default"),
        ),
        (
            {"role": "assistant", "images": [{"type": "image_url", "image_url": {"url": "u"}}]},
            ImageBlock(MediaSource("url", "u")),
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": "u"}]},
            ImageBlock(MediaSource("url", "u")),
        ),
        (
            {
                "role": "user",
                "content": [{"type": "file", "file": {"file_id": "f", "format": "text/csv"}}],
            },
            DocumentBlock(MediaSource("file_id", "f", "text/csv")),
        ),
        (
            {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": "a",
                        "type": "function",
                        "function": {"name": "f", "arguments": "{}"},
                        "provider_specific_fields": {"thought_signature": "c2ln"},
                    }
                ],
            },
            ToolUseBlock("a", "f", "{}", extra={"thought_signature": "c2ln"}),
        ),
    ],
)
def test_what_chat_does_not_know(item: dict[str, object], block: object) -> None:
    """Marks, pictures, formats and signatures of LiteLLM's are read."""
    assert (block,) == content_of(**item)


def test_the_signature_beside_a_call_counts() -> None:
    """Of two signatures of a call, that of the call counts, not that of its function."""
    fields = [{"provider_specific_fields": {"thought_signature": it}} for it in ("b3V0", "aW4=")]
    function = {"name": "f", "arguments": "{}", **fields[1]}
    call = {"id": "a", "type": "function", "function": function, **fields[0]}
    (block,) = content_of(role="assistant", tool_calls=[call])
    assert ToolUseBlock("a", "f", "{}", extra={"thought_signature": "b3V0"}) == block


def test_the_mark_of_a_call_is_no_unread_key() -> None:
    """The cache mark of a call is read: nothing tells that nobody knows it."""
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    marked = [{**call, "cache_control": {"type": "ephemeral"}}, {**call, "id": "b"}]
    bridged = from_litellm([{"role": "assistant", "content": None, "tool_calls": marked}])
    (message,) = bridged.messages
    assert ["default", None] == [block.cache for block in message.calls]
    assert ({}, ()) == (message.extra, reported(bridged))


def test_a_signature_in_a_function_beside_other_fields_of_its_call() -> None:
    """A signature of a function that its call has no place for is a hint."""
    function = {
        **{"name": "f", "arguments": "{}"},
        "provider_specific_fields": {"thought_signature": "c2ln"},
    }
    call = {"id": "a", "type": "function", "function": function}
    calls = [{**call, "provider_specific_fields": {"own": 1}}, {**call, "id": "b"}]
    bridged = from_litellm([{"role": "assistant", "content": None, "tool_calls": calls}])
    (message,) = bridged.messages
    assert [None, "c2ln"] == [block.extra.get("thought_signature") for block in message.calls]
    assert [("hint", "provider_specific_fields of a function")] == named_losses(bridged.hints)


def test_two_calls_keep_their_own_signatures() -> None:
    """Each of two calls keeps its further keys, also after a call without such keys."""
    beside = ({}, {"thought_signature": "b25l"}, {"thought_signature": "dHdv"})
    calls = [
        {
            "id": id,
            "type": "function",
            "function": {"name": "f", "arguments": "{}"},
            "provider_specific_fields": fields,
        }
        for id, fields in zip("abc", beside, strict=True)
    ]
    assert [*beside] == [block.extra for block in content_of(role="assistant", tool_calls=calls)]


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"annotations": [{}]}, "annotations of a message"),
        ({"cache_control": {"type": "x"}}, "a cache mark"),
        ({"content": "", "cache_control": MARK}, "a cache mark"),
    ],
)
def test_losses_of_reading(more: dict[str, object], what: str) -> None:
    """What has no form here is a hint."""
    item = {"role": "assistant", "content": "Hi.", **more}
    assert [("hint", what)] == named_losses(from_litellm([item]).hints)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (None, "LiteLLM's messages are needed, not NoneType"),
        (
            [{"role": "assistant", "content": "x", "thinking_blocks": [1]}],
            r"messages\[0\]: a think",
        ),
        (["x"], r"messages\[0\]"),
    ],
)
def test_no_messages(given: Any, error: str) -> None:
    """What cannot be read is refused by its number."""
    with pytest.raises(DataError, match=error):
        from_litellm(given)


LOOKED_UP = Timeline(
    Tool(name="f", description="Find."),
    CacheBreakpoint("1h"),
    System("Be kind.", CacheBreakpoint(), "Be brief."),
    User("Where?"),
    Assistant(ToolUse("f", {}, id="a"), cache=True),
    ToolMessage("a", "Here.", CacheBreakpoint("5m")),
    Assistant("There."),
    User("And?"),
)


@pytest.mark.parametrize("target", ["anthropic", "bedrock"])
def test_marks(target: Any) -> None:
    """Cache marks with a lifetime are on texts, calls, complete results and tools."""
    bridged = to_litellm(render(LOOKED_UP, model="claude-opus-4-5", provider=target))
    system, _, asked, answered, *_ = bridged.messages
    assert [
        {"type": "text", "text": "Be kind.", "cache_control": MARK},
        {"type": "text", "text": "Be brief."},
    ] == system["content"]
    assert ("Here.", {**MARK, "ttl": "5m"}) == (answered["content"], answered["cache_control"])
    assert {**MARK, "ttl": "1h"} == bridged.tools[0]["cache_control"]
    assert (MARK, ()) == (asked["tool_calls"][0]["cache_control"], reported(bridged))


@pytest.mark.parametrize("key", ["reasoning_content", "thinking_blocks"])
def test_marks_of_parts_after_reasoning(key: str) -> None:
    """The mark of a part stays on its text: the reasoning before the text has no part."""
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    parts = [
        {"type": "text", "text": "It is"},
        {"type": "text", "text": " so.", "cache_control": {**MARK, "ttl": "1h"}},
    ]
    answer = {"role": "assistant", "content": parts}
    answer |= {key: "Hm." if key == "reasoning_content" else [thinking]}
    [read] = from_litellm([answer], origin="anthropic").messages
    assert [("It is", None), (" so.", "1h")] == [
        (block.text, block.cache) for block in read.content if isinstance(block, TextBlock)
    ]


def test_marks_of_openai() -> None:
    """A model of OpenAI's gets the marks that it gets without LiteLLM."""
    prompt = render(LOOKED_UP, model="gpt-5.6")
    assert to_litellm(prompt).messages == prompt.to_openai()["messages"]


@pytest.mark.parametrize("model", [None, "gpt-5", "gemini-2.5-pro"])
def test_unsent_marks(model: Any) -> None:
    """Where no model takes a mark, or none is known, each mark is a hint."""
    bridged = to_litellm(render(LOOKED_UP, model=model, cache="auto"))
    assert "cache" not in str((bridged.messages, bridged.tools))
    assert [("hint", "cache mark")] * 4 == named_losses(bridged.hints)


def test_a_mark_before_white_space() -> None:
    """The mark of a last answer stays on it when the white space at its end is left out."""
    prompt = render(Timeline(User("Hi."), Assistant("Oh, ", cache=True)), model="claude-opus-4-5")
    content = to_litellm(prompt).messages[-1]["content"]
    assert [{"type": "text", "text": "Oh,", "cache_control": MARK}] == content


def test_an_address_in_the_place_of_data() -> None:
    """Data of a recording that looks like an address is an address; Chat takes no address."""
    sound = {"type": "input_audio", "input_audio": {"data": "s3://b/a", "format": "wav"}}
    content = [{"type": "text", "text": "Hear."}, sound]
    [message] = from_litellm([{"role": "user", "content": content}]).messages
    source = MediaSource("url", "s3://b/a", "audio/wav", from_data=True)
    assert AudioBlock(source) == message.content[1]
    sent = to_litellm(rendered([message], "openai_compatible")).messages
    assert [{"role": "user", "content": "Hear."}] == sent


def test_an_address_where_an_id_of_a_file_stands() -> None:
    """LiteLLM has one key for both: what comes back is an address."""
    document = DocumentBlock(MediaSource("file_id", "https://example.org/a.png"))
    message = Message("user", [TextBlock("Read."), document])
    there = to_litellm(rendered([message], "openai_compatible")).messages
    (back,) = from_litellm(there).messages
    expected = DocumentBlock(MediaSource("url", "https://example.org/a.png", from_data=True))
    assert (TextBlock("Read."), expected) == back.content


def test_a_document_in_a_data_url() -> None:
    """A ``data:`` URL contains the bytes, so it is no ``file_id``."""
    url = "data:application/pdf;base64,JVBERi0="
    prompt = Timeline(User(DocumentBlock(MediaSource("url", url))))
    [message] = to_litellm(render(prompt, model="claude-sonnet-4-5")).messages
    file = {"file_data": url, "filename": "document.pdf"}
    assert [{"type": "file", "file": file}] == message["content"]


@examples(200)
@given(messages=plain_messages)
def test_law_with_marks(messages: list[Message]) -> None:
    """Marks that cross, come back and cross again are the same."""
    messages = [*messages, Message("user", "And?"), Message("assistant", "Done.")]
    able = {"cache_marks": True, "answer_marks": True, "tool_marks": True}
    with register_model("house", provider="openai_compatible", **able):
        there = to_litellm(rendered(messages, "openai_compatible", "house")).messages
        back = from_litellm(there).messages
        if are_joined(back):  # two answers between a call and its result
            there = to_litellm(rendered(back, "openai_compatible", "house")).messages
            back = from_litellm(there).messages
        assert there == to_litellm(rendered(back, "openai_compatible", "house")).messages
