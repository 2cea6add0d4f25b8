"""OpenAI Chat Completions, written and read."""

from functools import partial
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import raised
from tests.folding import failures, unequal
from tests.internals import Kind, Role, facts_for
from tests.internals import read_openai_chat as read
from tests.internals import read_response_openai_chat as read_response
from tests.internals import write_openai_chat as write
from tests.providers.conversations import (
    ASK,
    LOOK_UP,
    PDF,
    PNG,
    WAV,
    answer,
    call,
    heard,
    marked,
    media,
    say,
    unopened,
    whole,
)
from tests.providers.every_target import lost_of
from tests.providers.strategies import messages_of

OPENAI = attrs.evolve(facts_for(None, "openai"), cache_marks=True)
COMPATIBLE = facts_for(None, "openai_compatible")

typed = pytest.mark.sdk("openai")
MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}
OPENED = {"role": "user", "content": "."}
"""The user's message before a model that speaks first."""


def payload_messages(*messages: Message, facts: ModelFacts = OPENAI) -> list[Any]:
    """Return the wire form of messages, losses and what opens a conversation aside."""
    return unopened(write(whole(messages), facts)[0]["messages"], OPENED)


lost = partial(lost_of, facts=OPENAI)


def text(part: str, **keys: Any) -> dict[str, Any]:
    """Return a text part."""
    return {"type": "text", "text": part, **keys}


def function(id: str, name: str = "look_up", arguments: str = '{"q": "x"}') -> dict[str, Any]:
    """Return a call in wire form."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


# Every conversation.


def changed(recorded: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return where a conversation that comes back is another, or has a loss."""

    def wrong(name: str) -> str:
        messages = recorded[name]
        messages_again = (
            payload_messages(*read(messages).messages),
            write(read(messages), OPENAI)[1],
        )
        return unequal((messages, ()), messages_again)

    return failures(recorded, wrong)


def test_recorded(recorded: dict[str, list[dict[str, Any]]]) -> None:
    """A recorded conversation comes back as it was, with the names of tools on results."""
    assert [] == changed(recorded)


# What is written.


@pytest.mark.parametrize(
    ("role", "kind", "role_in_payload"),
    [
        ("system", "event", "system"),
        ("system", "request", "system"),
        ("developer", "recorded_system", "system"),
        ("developer", "recorded", "developer"),
        ("developer", "event", "developer"),
        ("developer", "request", "developer"),
        ("user", "recorded_system", "user"),
    ],
)
@pytest.mark.parametrize("name", [None, "boss"])
def test_role_in_the_middle(role: Role, kind: Kind, role_in_payload: str, name: str | None) -> None:
    """In mid-conversation only what was asked or recorded as a system message is sent as one."""
    wire = payload_messages(say("user", "a"), say(role, "b", kind=kind, name=name))
    entry = {"role": role_in_payload, "content": "b"} | ({"name": name} if name else {})
    assert [{"role": "user", "content": "a"}, entry] == wire


@given(messages=st.lists(messages_of("openai"), max_size=8))
def test_any_developer_is_system_where_there_is_none(messages: list[Message]) -> None:
    """For any messages, a target without the role gets as system what others get as developer."""
    with_role = ModelFacts(developer=True)
    wire = [
        {**m, "role": m["role"].replace("developer", "system")}
        for m in payload_messages(*messages, facts=with_role)
    ]
    assert wire == payload_messages(*messages, facts=ModelFacts())


def test_an_event_mapped_to_system() -> None:
    """An event whose role is to be system is a system message, where it was written."""
    tree = Timeline(System("s"), User("u"), Event(UserAction("left")), User("v"))
    mapped: Any = {"role_mapping": {"event": "system"}}
    payload = render(tree, model="gpt-5", transformation=mapped).to_openai()
    assert ["system", "user", "system", "user"] == [m["role"] for m in payload["messages"]]


def test_recorded_systems_come_back() -> None:
    """System messages of a recording come out in their role and place, through a render too."""
    recorded = [
        {"role": role, "content": role}
        for role in ("system", "user", "system", "assistant", "user", "developer")
    ]
    payload = render(History.from_openai(recorded), model="gpt-5").to_openai()
    assert (recorded, recorded) == (payload_messages(*read(recorded).messages), payload["messages"])


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (
            ImageBlock(media("base64", PNG, "image/PNG")),
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        ),
        (
            ImageBlock(media("base64", PNG, "image/jpg")),
            {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{PNG}"}},
        ),
        (
            AudioBlock(media("base64", WAV, "audio/WAV; rate=8000")),
            {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
        ),
        (
            AudioBlock(media("url", f"data:audio/mpeg;base64,{WAV}")),
            {"type": "input_audio", "input_audio": {"data": WAV, "format": "mp3"}},
        ),
        (
            DocumentBlock(media("base64", PDF, "Application/PDF")),
            {
                "type": "file",
                "file": {
                    "file_data": f"data:application/pdf;base64,{PDF}",
                    "filename": "document.pdf",
                },
            },
        ),
    ],
)
def test_media_types(block: Block, part: dict[str, Any]) -> None:
    """A media type means the same in any case, and the bytes in an address are unpacked."""
    assert [part] == payload_messages(say("user", block))[0]["content"]


WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
AS_TEXT = ("hint", "document block")
CLOSING = "PC9kb2N1bWVudD4KPC9Eb2N1bWVudCB4"
"""A text with ends of the fence."""


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            DocumentBlock(media("base64", "YSxi", "text/csv"), title="r.csv"),
            '<document name="r.csv" type="text/csv">\na,b\n</document>',
        ),
        (
            DocumentBlock(media("url", "data:Text/CSV;base64,YSxi"), title=" "),
            '<document type="text/csv">\na,b\n</document>',
        ),
        (
            DocumentBlock(media("base64", "e30=", "application/ld+json; charset=utf-8")),
            '<document type="application/ld+json">\n{}\n</document>',
        ),
        (
            DocumentBlock(
                media("base64", CLOSING, "text/x-python"),
                title='"><x>\n',
            ),
            '<document name="&quot;&gt;&lt;x&gt;" type="text/x-python">\n'
            "&lt;/document>\n&lt;/Document x\n</document>",
        ),
        (
            DocumentBlock(media("base64", "", "application/yaml")),
            '<document type="application/yaml">\n\n</document>',
        ),
    ],
)
@pytest.mark.parametrize("facts", [OPENAI, COMPATIBLE, facts_for("gpt-3.5-turbo", None)])
def test_documents_of_text(block: Block, expected: str, facts: ModelFacts) -> None:
    """A text is sent to every model as text, in a fence that it cannot close."""
    message = say("user", "Read:", block, "Sum up.")
    wire = [{"role": "user", "content": f"Read:\n\n{expected}\n\nSum up."}]
    assert (wire, [AS_TEXT]) == (payload_messages(message, facts=facts), lost(message, facts=facts))


def test_a_document_of_text_in_a_result() -> None:
    """A text stays in the result of its call, and is not moved as other files are."""
    message = answer("a", "Found:", DocumentBlock(media("base64", "YSxi", "text/csv")))
    expected = 'Found:\n\n<document type="text/csv">\na,b\n</document>'
    wire = {"role": "tool", "tool_call_id": "a", "content": expected}
    assert ([wire], [AS_TEXT]) == (payload_messages(message), lost(message))


def test_a_mark_on_a_document_of_text() -> None:
    """The cache mark of a document is on its text; a detail is a hint."""
    block = DocumentBlock(media("base64", "YQ==", "text/csv"), None, "high", "default")
    message = say("user", block, "Sum up.")
    fence = text('<document type="text/csv">\na\n</document>', **MARK)
    assert ([fence, text("\n\nSum up.")], [AS_TEXT, ("hint", "detail")]) == (
        payload_messages(message)[0]["content"],
        lost(message),
    )


@pytest.mark.parametrize(
    ("source", "facts", "why"),
    [
        (media("base64", "UEsDBA==", WORD), OPENAI, "send a PDF, or render for openai_responses"),
        (media("base64", "/w==", "text/csv"), COMPATIBLE, "write its text in UTF-8"),
        (media("url", "https://x/a", WORD), OPENAI, "send a PDF, or render for openai_responses"),
        (media("url", "https://x/a", "text/csv"), OPENAI, "a media_loader can give it the bytes"),
        (media("url", "https://x/a"), OPENAI, "a media_loader can give it the bytes"),
        (
            media("base64", "UEsDBA==", WORD),
            facts_for("gpt-3.5-turbo", None),
            "this model takes no document",
        ),
    ],
)
@pytest.mark.parametrize("in_result", [False, True])
def test_documents_that_are_lost(
    source: MediaSource, facts: ModelFacts, why: str, in_result: bool
) -> None:
    """A document that is neither a PDF nor a text is a loss of content, with advice."""
    block = DocumentBlock(source)
    message = answer("a", block) if in_result else say("user", block)
    losses = [loss for loss in write(whole([message]), facts)[1] if loss.kind == "content"]
    assert [("document block", True)] == [(loss.what, why in loss.why) for loss in losses]


def test_documents_that_a_server_takes() -> None:
    """A server gets as files the types that are registered for its model."""
    document = DocumentBlock(media("base64", "YSxi", "text/csv"))
    types = ["application/pdf", "text/csv"]
    with register_model("able-1", provider="openai_compatible", document_types=types):
        facts = facts_for("able-1", "openai_compatible")
    file = {"file_data": "data:text/csv;base64,YSxi", "filename": "document.csv"}
    part = {"type": "file", "file": file}
    assert [part] == payload_messages(say("user", document), facts=facts)[0]["content"]
    anything = attrs.evolve(facts, document_types=None)
    assert [part] == payload_messages(say("user", document), facts=anything)[0]["content"]


def test_a_document_of_text_is_counted_as_text() -> None:
    """The tokens of a text are those of the same text that is written out."""
    prices = "tea,3\n" * 50
    document = Document.from_bytes(prices.encode(), "text/csv")
    fence = f'\n\n<document type="text/csv">\n{prices}\n</document>'
    counts = [
        render(User("Sum up.", content), model="gpt-5").tokens.total
        for content in (document, fence)
    ]
    assert counts[0] == counts[1]


# What is spoken.


SPEECH = {"id": "audio_abc", "data": "QQ==", "expires_at": 7, "transcript": "Rain."}
SPOKEN = {"role": "assistant", "content": None, "audio": {"id": "audio_abc"}}
GPT_5 = facts_for("gpt-5", None)


def test_recording_sent() -> None:
    """A spoken answer goes back by its id, and is read again."""
    recorded = [{"role": "assistant", "audio": {"id": "audio_abc"}}]
    assert ([SPOKEN], [SPOKEN]) == (
        payload_messages(*read(recorded).messages),
        payload_messages(*read([SPOKEN]).messages),
    )


def answered(**keys: Any) -> Message:
    """Return the message of a response with such an answer."""
    answer = {"role": "assistant", "content": None, **keys}
    return read_response({"choices": [{"message": answer, "finish_reason": "stop"}]})


def test_a_reply_whose_calls_have_empty_ids() -> None:
    """Some servers of open models send them: each call of the reply gets an id of its own."""
    calls = answered(tool_calls=[function(""), function("")]).calls
    assert ["call_0", "call_1"] == [call.id for call in calls]


def test_recording_of_a_response() -> None:
    """The recording of a response goes back by its id, without its bytes."""
    assert ([SPOKEN], []) == (
        payload_messages(answered(audio=SPEECH)),
        lost(answered(audio=SPEECH)),
    )


@pytest.mark.parametrize("facts", [COMPATIBLE, GPT_5])
def test_transcript(facts: ModelFacts) -> None:
    """Where no recording can be sent its transcript is, with a hint."""
    message = answered(audio=SPEECH)
    assert ([{"role": "assistant", "content": "Rain."}], [("hint", "key 'audio'")]) == (
        payload_messages(message, facts=facts),
        lost(message, facts=facts),
    )


@pytest.mark.parametrize("facts", [COMPATIBLE, GPT_5])
def test_recording_lost(facts: ModelFacts) -> None:
    """A recording without a transcript is lost where it cannot be sent."""
    message = answered(audio={"id": "audio_abc"})
    expected = [("content", "chat_audio block")]
    assert ([], expected) == (payload_messages(message, facts=facts), lost(message, facts=facts))


def test_one_recording_in_a_message() -> None:
    """Of two spoken answers in one message the second is its transcript."""
    message = say("assistant", *answered(audio=SPEECH).content * 2)
    assert [{**SPOKEN, "content": "Rain."}] == payload_messages(message)


# Tools and forms.


def test_tools_lost() -> None:
    """A model that takes tools in Responses only gets none, a loss of content."""
    payload, losses = write(Prompt((ASK,), (LOOK_UP,)), facts_for("gpt-6-astra", None))
    assert (False, [("content", "tool 'look_up'")]) == (
        "tools" in payload,
        [(loss.kind, loss.what) for loss in losses],
    )


# Cache marks.


def test_marks_at_most_four() -> None:
    """Of more than four marks the last stay; losing one joins texts again."""
    messages = [
        say("user", marked("a"), "b"),
        say("user", marked("c"), "d"),
        say("user", marked("e")),
        say("user", marked("f"), marked("g", "5m")),
    ]
    assert [
        "a\n\nb",
        [text("c", **MARK), text("\n\nd")],
        [text("e", **MARK)],
        [text("f", **MARK), text("\n\ng", **MARK)],
    ] == [message["content"] for message in payload_messages(*messages)]


@pytest.mark.parametrize(
    ("after", "contents"),
    [
        ((), [[text("a", **MARK)], "b", "c"]),
        (("d",), [[text("a", **MARK)], "b", [text("c", **MARK)], "d"]),
    ],
)
def test_mark_behind_request(after: tuple[str, ...], contents: list[Any]) -> None:
    """A mark behind request-only content stands once an answer follows that content."""
    messages = [
        say("user", marked("a")),
        say("user", "b", kind="request"),
        say("user", marked("c")),
    ]
    answers = [say("assistant", part) for part in after]
    assert contents == [message["content"] for message in payload_messages(*messages, *answers)]


# What is read.


FLAT = {"id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}"}


@pytest.mark.parametrize(
    ("wire", "messages"),
    [
        ([], []),
        ({"messages": [{"role": "user", "content": "a"}], "model": "x"}, [say("user", "a")]),
        (({"role": "user", "content": None, "id": 7},), [say("user")]),
        ([{"role": "user", "content": "a", "name": "ada"}], [say("user", "a", name="ada")]),
        (
            [
                {"role": "system", "content": "a"},
                {"role": "system", "content": "b"},
                {"role": "developer", "content": "c"},
                {"role": "system", "content": "d", "name": "boss"},
            ],
            [
                say("system", "a"),
                say("system", "b"),
                say("developer", "c"),
                say("developer", "d", kind="recorded_system", name="boss"),
            ],
        ),
        (
            [
                {"role": "assistant", "tool_calls": [function("a")], "function_call": None},
                {"role": "tool", "tool_call_id": "a", "content": "b", "name": "look_up"},
            ],
            [
                say("assistant", call("a")),
                say("tool", ToolResultBlock("a", (TextBlock("b"),), "look_up"), name="look_up"),
            ],
        ),
        (
            [
                {
                    "role": "assistant",
                    "content": [text("a", **MARK), {"type": "refusal", "refusal": "b"}],
                    "refusal": "c",
                    "audio": {"id": "audio-1"},
                    "tool_calls": None,
                },
            ],
            [
                say(
                    "assistant",
                    marked("a"),
                    TextBlock("b", extra={"refusal": True}),
                    TextBlock("c", extra={"refusal": True}),
                    UnknownBlock({"type": "chat_audio", "audio": {"id": "audio-1"}}, "openai"),
                )
            ],
        ),
        (
            [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
                    ],
                }
            ],
            [say("assistant", ToolUseBlock("a", "sh", "ls", extra={"custom": True}))],
        ),
        (
            [{"role": "assistant", "tool_calls": [FLAT, {**FLAT, "call_id": None}]}],
            [
                say(
                    "assistant",
                    ToolUseBlock("a", "f", "{}", extra={"item": {"id": "fc_1"}}),
                    ToolUseBlock("fc_1", "f", "{}"),
                )
            ],
        ),
        (
            [
                {"role": "user", "content": "a"},
                {
                    "role": "assistant",
                    "content": None,
                    "function_call": {"name": "look_up", "arguments": "{}"},
                },
                {"role": "function", "name": "look_up", "content": "b"},
                {"role": "function", "name": "look_up", "content": "c"},
            ],
            [
                say("user", "a"),
                say("assistant", call("function_call_1", arguments="{}")),
                say(
                    "tool",
                    ToolResultBlock("function_call_1", (TextBlock("b"),), "look_up"),
                    name="look_up",
                ),
                say(
                    "tool",
                    ToolResultBlock("function_call", (TextBlock("c"),), "look_up"),
                    name="look_up",
                ),
            ],
        ),
        (
            [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "image_url",
                            "image_url": {"url": "data:image/png;base64,QQ==", "detail": "low"},
                        },
                        {"type": "image_url", "image_url": {"url": "data:image/bmp;base64,QQ=="}},
                        {"type": "image_url", "image_url": {"url": "https://x"}, **MARK},
                        {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "mp3"}},
                        {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "ogg"}},
                        {
                            "type": "input_audio",
                            "input_audio": {"data": "data:;base64,QQ==", "format": "wav"},
                        },
                        {
                            "type": "input_audio",
                            "input_audio": {"data": "data:audio/wav;base64,QQ==", "format": "wav"},
                        },
                        {"type": "file", "file": {"file_id": "file-1"}},
                        {
                            "type": "file",
                            "file": {
                                "file_data": "data:application/pdf;base64,QQ==",
                                "filename": "a",
                            },
                        },
                        {"type": "file", "file": {"file_data": "QQ=="}},
                        {"type": "hologram", "data": 1},
                    ],
                }
            ],
            [
                say(
                    "user",
                    ImageBlock(media("base64", "QQ==", "image/png"), detail="low"),
                    ImageBlock(media("url", "data:image/bmp;base64,QQ==")),
                    ImageBlock(media("url", "https://x"), cache="default"),
                    AudioBlock(media("base64", "QQ==", "audio/mpeg")),
                    AudioBlock(media("base64", "QQ==", "audio/ogg")),
                    AudioBlock(media("base64", "data:;base64,QQ==", "audio/wav")),
                    AudioBlock(media("base64", "QQ==", "audio/wav")),
                    DocumentBlock(media("file_id", "file-1")),
                    DocumentBlock(media("base64", "QQ==", "application/pdf"), title="a"),
                    DocumentBlock(media("base64", "QQ==")),
                    UnknownBlock({"type": "hologram", "data": 1}, "openai"),
                )
            ],
        ),
    ],
)
def test_read(wire: object, messages: list[Message]) -> None:
    """Every part has its block, and what later systems were is remembered."""
    messages_read = read(wire).messages
    plain = [say(m.role, *m.content, name=m.name, kind=m.kind) for m in messages_read]
    expected = [
        say(
            m.role,
            *m.content,
            name=m.name,
            kind="recorded" if m.kind == "written" else m.kind,
        )
        for m in messages
    ]
    assert expected == plain


UNREADABLE: list[tuple[object, str]] = [
    (None, "'messages' must be a list, not NoneType"),
    ("hello", "'messages' must be a list, not str"),
    ({"model": "x"}, "'messages' must be a list, not NoneType"),
    ([7], "messages[0]: a dictionary is needed, not int"),
    ([{}], "messages[0]: unknown role None"),
    ([{"role": "usr", "content": "a"}], "messages[0]: unknown role 'usr'"),
    ([{"role": ["user"], "content": "a"}], "messages[0]: unknown role ['user']"),
    ([{"role": "user"}], "messages[0]: 'content' is needed"),
    ([{"role": "user", "content": 7}], "messages[0]: 'content' must be a list, not int"),
    (
        [{"role": "user", "content": "a", "name": 7}],
        "messages[0]: 'name' must be a string, not int",
    ),
    (
        [{"role": "user", "content": ["a"]}],
        "messages[0]: content[0]: a dictionary is needed, not str",
    ),
    ([{"role": "user", "content": [{}]}], "messages[0]: content[0]: 'type' is needed"),
    (
        [{"role": "user", "content": [{"type": "text"}]}],
        "messages[0]: content[0]: 'text' is needed",
    ),
    (
        [{"role": "user", "content": [text("a"), {"type": "image_url", "image_url": 7}]}],
        "messages[0]: content[1]: image_url: a dictionary is needed, not int",
    ),
    (
        [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}],
        "messages[0]: content[0]: image_url: 'url' is needed",
    ),
    (
        [{"role": "user", "content": [{"type": "file", "file": {"filename": "a"}}]}],
        "messages[0]: content[0]: file: 'file_data' is needed",
    ),
    (
        [{"role": "user", "content": "a"}, {"role": "tool", "content": "b"}],
        "messages[1]: 'tool_call_id' is needed",
    ),
    (
        [{"role": "assistant", "tool_calls": {"id": "a"}}],
        "messages[0]: 'tool_calls' must be a list, not dict",
    ),
    (
        [{"role": "assistant", "tool_calls": [{"id": "a"}]}],
        "messages[0]: tool_calls[0]: function: a dictionary is needed, not NoneType",
    ),
    (
        [{"role": "assistant", "tool_calls": [{"id": "a", "function": {"arguments": "{}"}}]}],
        "messages[0]: tool_calls[0]: function: 'name' is needed",
    ),
    (
        [{"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": 1}}]}],
        "messages[0]: tool_calls[0]: function: 'arguments' must be a string, not int",
    ),
    (
        [{"role": "assistant", "refusal": 7}],
        "messages[0]: 'refusal' must be a string, not int",
    ),
    (
        [{"role": "assistant", "audio": 7}],
        "messages[0]: audio: a dictionary is needed, not int",
    ),
    ([{"role": "tool", "content": "a", 7: "b"}], "messages[0]: 'tool_call_id' is needed"),
]


@pytest.mark.parametrize(
    ("data", "fix"),
    [
        ({"system": "RULES", "messages": []}, "anthropic: History.from_anthropic"),
        ({"contents": [{"parts": []}]}, "gemini: History.from_gemini"),
        ({"input": [{"role": "user"}]}, "openai_responses: History.from_openai_responses"),
        ([{"role": "user", "parts": [{"text": "a"}]}], "gemini: History.from_gemini"),
        (
            [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "input": {}}]}],
            "anthropic: History.from_anthropic",
        ),
        (
            [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}],
            "anthropic: History.from_anthropic",
        ),
        (
            [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}],
            "openai_responses: History.from_openai_responses",
        ),
    ],
)
def test_foreign_form(data: object, fix: str) -> None:
    """What has the form of another provider is refused, and the error says how to read it."""
    with pytest.raises(DataError) as caught:
        read(data)
    assert f"this looks like {fix}" == caught.value.fix


@typed
def test_sdk_objects() -> None:
    """The messages and calls of a response may be put among recorded ones, as they came."""
    from openai.types.chat import ChatCompletionMessage, ChatCompletionMessageFunctionToolCall

    call = ChatCompletionMessageFunctionToolCall.model_validate(function("a"))
    answer = ChatCompletionMessage(role="assistant", content=None, tool_calls=[call])
    plain = {"role": "assistant", "content": None, "tool_calls": [function("a")]}
    expected = {**plain, "tool_calls": [call]}
    assert [plain] * 2 == payload_messages(*read([answer, expected]).messages)


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_of_other_servers(key: str) -> None:
    """What a server thought is kept, and is a hint when it is sent: Chat has no word for it."""
    recorded = {"role": "assistant", "content": "a", key: "Hm."}
    [message] = read([recorded]).messages
    assert (
        heard("assistant", ReasoningBlock("Hm.", origin="openai_compatible"), "a"),
        [("hint", "reasoning block")],
    ) == (message, lost(message, facts=COMPATIBLE))


def test_annotations() -> None:
    """The annotations of an answer are kept with its text, and are a hint when it is sent."""
    message = answered(content="a", annotations=[{"type": "url_citation"}])
    assert ([{"type": "url_citation"}], [("hint", "key 'annotations'")]) == (
        message.content[0].to_dict()["annotations"],
        lost(message),
    )


@pytest.mark.parametrize(("data", "what"), UNREADABLE)
def test_read_error(data: object, what: str) -> None:
    """What cannot be read is an error that names the message and the key."""
    assert what == raised(DataError, lambda: read(data)).what


def test_models_without_instructions() -> None:
    """Where a model takes neither role, an instruction is a user's, and a loss of its role."""
    rendered = render(Timeline(System("s"), User("q")), model="o1-mini")
    assert [{"role": "user", "content": "s"}, {"role": "user", "content": "q"}] == (
        rendered.payload()["messages"]
    )
    assert ["role"] == [loss.kind for loss in rendered.losses]


def test_a_legacy_call_behind_a_text() -> None:
    """The result of a legacy call answers it, also where the model said something before."""
    function = {"name": "look_up", "arguments": "{}"}
    _, call_message, answered = read(
        [
            {"role": "user", "content": "Q"},
            {"role": "assistant", "content": "Hm.", "function_call": function},
            {"role": "function", "name": "look_up", "content": "rain"},
        ]
    ).messages
    assert [call.id for call in call_message.calls] == [
        block.to_dict()["tool_use_id"] for block in answered.content
    ]
