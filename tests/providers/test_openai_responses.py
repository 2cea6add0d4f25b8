"""OpenAI Responses, written and read."""

from functools import partial
from typing import Any

import pytest
from pydantic import ValidationError

from promptdsl import *
from tests.errors import raised
from tests.internals import EMPTY, Role, facts_for
from tests.internals import read_openai_responses as read
from tests.internals import read_response_openai_responses as read_response
from tests.internals import write_openai_responses as write
from tests.providers.conversations import (
    ASK,
    LOOK_UP,
    PNG,
    SEARCH,
    answer,
    call,
    marked,
    media,
    say,
    unopened,
    whole,
)
from tests.providers.every_target import lost_of
from tests.providers.openai_responses_check import check_openai_responses
from tests.renders import named_losses

ABLE = facts_for("gpt-5.6-sol", "openai_responses")

typed = pytest.mark.sdk("openai")
MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}
OPENED = {"role": "user", "content": "."}
"""The user's message before a model that speaks first."""


def payload_items(*messages: Message, facts: ModelFacts = ABLE) -> list[Any]:
    """Return the items of messages, losses and what opens a conversation aside."""
    return unopened(write(whole(messages), facts)[0]["input"], OPENED)


lost = partial(lost_of, facts=ABLE)


def text(part: str, **keys: Any) -> dict[str, Any]:
    """Return a text part."""
    return {"type": "input_text", "text": part, **keys}


def text_part(part: str, **keys: Any) -> dict[str, Any]:
    """Return a text part of an answer."""
    return {"type": "output_text", "text": part, "annotations": [], **keys}


def turn(role: str, content: Any, **keys: Any) -> dict[str, Any]:
    """Return a message."""
    return {"role": role, "content": content, **keys}


def use(call_id: str, **keys: Any) -> dict[str, Any]:
    """Return a call."""
    fields = {"name": "look_up", "arguments": '{"q": "x"}'}
    return {"type": "function_call", "call_id": call_id, **fields, **keys}


def result(id: str, output: Any) -> dict[str, Any]:
    """Return a result."""
    return {"type": "function_call_output", "call_id": id, "output": output}


def reasoning_item(id: str, *texts: str, **keys: Any) -> dict[str, Any]:
    """Return a reasoning item."""
    summary = [{"type": "summary_text", "text": text} for text in texts]
    return {"type": "reasoning", "id": id, "summary": summary, **keys}


def reply(id: str, *parts: Any, **keys: Any) -> dict[str, Any]:
    """Return a message that the service made."""
    message_keys = {"type": "message", "status": "completed", "id": id, **keys}
    return {**message_keys, "role": "assistant", "content": [*parts]}


# What is written.


def recorded(*items: Any) -> tuple[Message, ...]:
    """Return the messages of recorded items."""
    return read(items).messages


@pytest.mark.parametrize("media_type", ["image/PNG", " image/png;x=y"])
def test_media_type(media_type: str) -> None:
    """A media type means the same in any case, and with parameters."""
    [item] = payload_items(say("user", ImageBlock(media("base64", PNG, media_type))))
    assert f"data:image/png;base64,{PNG}" == item["content"][0]["image_url"]


# What nobody knows.

HOLOGRAM = {"type": "hologram", "id": "holo_1", "data": [1]}


def test_unknown_item_read() -> None:
    """An item nobody knows comes back as it was read."""
    assert [HOLOGRAM] == payload_items(*recorded(HOLOGRAM))


@pytest.mark.parametrize("role", ["user", "developer", "system"])
def test_unknown_part(role: Role) -> None:
    """A part nobody knows is sent in the message it stands in."""
    message = say(role, "a", UnknownBlock({"type": "input_audio"}, "openai_responses"))
    assert [turn(role, [text("a"), {"type": "input_audio"}])] == payload_items(message)


def test_unknown_part_of_a_result() -> None:
    """A part nobody knows is sent in the result it stands in."""
    assert [result("a", [{"type": "hologram"}])] == payload_items(
        answer("a", UnknownBlock({"type": "hologram"}, "openai_responses"))
    )


def test_item_sent_once() -> None:
    """An item that is given twice is sent once, a hint."""
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    assert ([search], [("hint", "web_search_call block")]) == (
        payload_items(*recorded(search) * 2),
        lost(*recorded(search) * 2),
    )


def test_reasoning_keys() -> None:
    """Of reasoning only what the service knows is sent."""
    block = ReasoningBlock("", origin="openai_responses", extra={"id": "rs_1", "x": 1})
    message = say("assistant", block, call("a"))
    assert ([reasoning_item("rs_1"), use("a")], [("hint", "key 'x'")]) == (
        payload_items(message),
        lost(message),
    )


# What came from the service.


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([reply("msg_1", text_part("a"), text_part("b"))], id="parts"),
        pytest.param(
            [reply("msg_1", text_part("a")), reply("msg_2", text_part("b"))], id="messages"
        ),
        pytest.param(
            [
                reply("msg_1", text_part("a"), phase="commentary"),
                use("b", id="fc_1", status="completed"),
            ],
            id="a call behind a text",
        ),
        pytest.param([turn("assistant", "a", phase="final_answer")], id="a phase without an id"),
        pytest.param([reply("msg_1", {"type": "refusal", "refusal": "No."})], id="a refusal"),
        pytest.param(
            [
                reply(
                    "msg_1",
                    {
                        **text_part("a"),
                        "annotations": [{"type": "file_path", "file_id": "file-1", "index": 0}],
                    },
                )
            ],
            id="annotations",
        ),
        pytest.param(
            [
                reasoning_item("rs_1", "Hm.", "So.", encrypted_content="ZW5j", status="completed"),
                use("a", id="fc_1", status="completed", namespace="n"),
                use("b", id="fc_2", status="completed", caller={"type": "direct"}),
                result("a", "x"),
                {**result("b", "y"), "caller": {"type": "direct"}},
                reasoning_item("rs_2"),
                reply("msg_1", text_part("c")),
            ],
            id="reasoning",
        ),
        pytest.param(
            [reasoning_item("rs_1"), reasoning_item("rs_2"), use("a")], id="reasoning twice"
        ),
        pytest.param(
            [
                reasoning_item("rs_1"),
                {
                    "type": "web_search_call",
                    "id": "ws_1",
                    "status": "completed",
                    "action": {"type": "search", "query": "x"},
                },
                reply("msg_1", text_part("a")),
            ],
            id="a search",
        ),
        pytest.param([{"type": "item_reference", "id": "msg_1"}], id="a reference"),
        pytest.param(
            [
                {
                    "type": "custom_tool_call",
                    "id": "ctc_1",
                    "call_id": "a",
                    "name": "b",
                    "input": "c",
                }
            ],
            id="a call of free text",
        ),
    ],
)
def test_recorded_items(items: list[Any]) -> None:
    """What the service made is sent back as it came, whatever there is no block of ours for."""
    wire = payload_items(*recorded(*items))
    assert (items, []) == (wire, lost(*recorded(*items)))


@pytest.mark.parametrize(
    ("messages", "wire"),
    [
        pytest.param(
            [
                say(
                    "assistant",
                    *recorded(reasoning_item("rs_1"), use("a", id="fc_1"))[0].content[1:],
                )
            ],
            [use("a")],
            id="its reasoning was taken out",
        ),
        pytest.param(
            recorded(reply("msg_1", text_part("a"))) * 2,
            [reply("msg_1", text_part("a")), turn("assistant", "a")],
            id="it was sent before",
        ),
        pytest.param(
            recorded({**reply("other-1", text_part("a")), "phase": "commentary"}),
            [turn("assistant", "a", phase="commentary")],
            id="another service made it",
        ),
        pytest.param(
            recorded(reply("msg_1", text_part("a")), turn("user", "b", id="msg_2", type="message")),
            [reply("msg_1", text_part("a")), turn("user", "b")],
            id="a user's has none",
        ),
    ],
)
def test_item_ids(messages: list[Message], wire: list[Any]) -> None:
    """An item's id is sent once, only with the reasoning it came with, and never made up."""
    assert wire == payload_items(*messages)


@pytest.mark.parametrize(
    ("data", "expected"),
    [({}, ([], [("content", "unknown block")])), ({"id": "msg_1"}, ([{"id": "msg_1"}], []))],
)
def test_an_unknown_item_without_a_type(data: Any, expected: Any) -> None:
    """An item without a type refers to another by its id; without an id it is none, and lost."""
    message = say("assistant", UnknownBlock(data, "openai_responses"))
    assert expected == (payload_items(message), lost(message))


def test_a_blank_text_of_an_item_that_was_begun() -> None:
    """A blank text whose id another text of its message has is left out, as any without an id."""
    item = {"id": "msg_1", "phase": "commentary"}
    blocks = [TextBlock("a", None, {"item": {"id": "msg_1"}}), TextBlock(" ", None, {"item": item})]
    assert [reply("msg_1", text_part("a"))] == payload_items(say("assistant", *blocks))


OWN: dict[str, Any] = {"encrypted": "ZW5j", "origin": "openai_responses", "extra": {"id": "rs_1"}}
NAMELESS: dict[str, Any] = {**OWN, "extra": EMPTY}
FOREIGN: dict[str, Any] = {**OWN, "origin": "anthropic"}


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([say("assistant", ReasoningBlock("Hm.", **OWN))], id="nothing follows"),
        pytest.param(
            [say("assistant", ReasoningBlock("Hm.", **OWN), ""), say("assistant", "a")],
            id="what follows is another turn",
        ),
        pytest.param(
            [say("assistant", ReasoningBlock("Hm.", **FOREIGN), "a")],
            id="of another provider",
        ),
        pytest.param(
            [say("assistant", ReasoningBlock("Hm.", **NAMELESS), "a")],
            id="without an id",
        ),
        pytest.param([say("assistant", ReasoningBlock("\ud800", **OWN), "a")], id="a surrogate"),
        pytest.param([say("user", ReasoningBlock("Hm.", **OWN), "a")], id="a user's"),
    ],
)
def test_reasoning_lost(messages: list[Message]) -> None:
    """Reasoning goes only before the item it produced, to the byte; else it is a hint."""
    kinds = [item.get("type") for item in payload_items(ASK, *messages)]
    assert (False, [("hint", "reasoning")]) == ("reasoning" in kinds, lost(ASK, *messages))


def test_written_reasoning() -> None:
    """Reasoning that has no summary of its own gets its text as one."""
    message = say("assistant", "a", ReasoningBlock("Hm.", **OWN), call("b"))
    item = reasoning_item("rs_1", "Hm.", encrypted_content="ZW5j")
    assert [turn("assistant", "a"), item] == payload_items(message)[:2]


def test_reasoning_before_a_text_without_id() -> None:
    """Reasoning is sent only before a text that has its id: the service refuses it otherwise."""
    recorded = {"item": {"id": "msg_1", "reasoning": "rs_1"}}
    texts = [TextBlock("b", extra=recorded), TextBlock("b")]
    messages = [say("assistant", ReasoningBlock("Hm.", **OWN), text) for text in texts]
    assert [["rs_1", "msg_1"], [None]] == [
        [item.get("id") for item in payload_items(message)] for message in messages
    ]
    assert [[], [("hint", "reasoning")]] == [lost(message) for message in messages]


def test_annotations_lost() -> None:
    """Annotations stay with the message they came in: without its id they are a hint."""
    message = say("assistant", TextBlock("a", extra={"annotations": [{"type": "file_path"}]}))
    assert ([turn("assistant", "a")], [("hint", "annotations")]) == (
        payload_items(message),
        lost(message),
    )


# Cache marks.


def test_mark_of_system_text() -> None:
    """System text is the first item, with a mark and without one."""
    assert [
        [turn("system", "a"), turn("user", "b")],
        [turn("system", [text("a", **MARK)]), turn("user", "b")],
    ] == [payload_items(say("system", block), say("user", "b")) for block in ("a", marked("a"))]


# Tools.

MCP = {"type": "mcp", "server_label": "docs", "server_url": "https://example.org"}
GREP = {"type": "custom", "name": "grep", "format": {"type": "text"}}


def payload_of(*tools: ToolDefinition, **options: Any) -> dict[str, Any]:
    """Return the keys of a payload beside its input."""
    payload: Any = write(Prompt((ASK,), tools, **options), ABLE)[0]
    return {key: value for key, value in payload.items() if key != "input"}


@pytest.mark.parametrize(
    ("tool", "name"),
    [({"type": "web_search"}, "web_search"), (MCP, "docs"), (GREP, "grep")],
)
def test_tool_of_the_service(tool: dict[str, Any], name: str) -> None:
    """A tool that only the service has is read by what it is called, and sent as it came."""
    tools_read = read({"input": "a", "tools": [tool]}).tools
    assert ([name], {"tools": [tool]}) == ([t.name for t in tools_read], payload_of(*tools_read))


@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("look_up", {"type": "function", "name": "look_up"}),
        ("web_search", {"type": "web_search"}),
        ("docs", {"type": "mcp", "server_label": "docs"}),
        ("grep", {"type": "custom", "name": "grep"}),
    ],
)
def test_choice(choice: str, wire: Any) -> None:
    """A choice names a tool by what the service calls it, and is read as it was."""
    tools_read = read({"input": "a", "tools": [MCP, GREP]}).tools
    payload = payload_of(LOOK_UP, SEARCH, *tools_read, tool_choice=choice)
    back = read({"input": "a", **payload}).tool_choice
    assert (wire, choice) == (payload["tool_choice"], back)


# What is read.


def with_id(text: str, id: str) -> TextBlock:
    """Return a text of an item with an id."""
    return TextBlock(text, extra={"item": {"id": id}})


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        ([], []),
        ({"input": "a", "model": "x"}, [say("user", "a")]),
        ({"instructions": "a", "input": "b"}, [say("system", "a"), say("user", "b")]),
        ({"instructions": None, "input": "b"}, [say("user", "b")]),
        (
            {"instructions": [turn("developer", "a")], "input": [turn("user", "b")]},
            [say("developer", "a"), say("user", "b")],
        ),
        (
            [turn("system", "a"), turn("system", "b"), turn("user", "c"), turn("system", "d")],
            [
                *(say("system", "a"), say("system", "b"), say("user", "c")),
                say("developer", "d", kind="recorded_system"),
            ],
        ),
        (
            [turn("assistant", "a"), turn("assistant", "b"), use("c"), use("d"), result("c", "e")],
            [say("assistant", "a"), say("assistant", "b", call("c"), call("d")), answer("c", "e")],
        ),
        (
            [turn("assistant", "a", id="m"), turn("assistant", "b", id="m")],
            [say("assistant", with_id("a", "m")), say("assistant", with_id("b", "m"))],
        ),
        (
            [turn("assistant", "a", id="m"), turn("assistant", "b", id="n")],
            [say("assistant", with_id("a", "m"), with_id("b", "n"))],
        ),
        (
            [turn("assistant", [{"type": "output_audio"}], phase="commentary")],
            [say("assistant", UnknownBlock({"type": "output_audio"}, "openai_responses"))],
        ),
        (
            [turn("assistant", ""), {**result("a", [text("b", **MARK)]), "name": "look_up"}],
            [
                say("assistant"),
                say("tool", ToolResultBlock("a", (marked("b"),), "look_up")).replace(
                    extra={"name": "look_up"}
                ),
            ],
        ),
        (
            [
                turn(
                    "user",
                    [
                        {"type": "input_image", "image_url": "data:image/png;base64,QQ=="},
                        {"type": "input_image", "image_url": "data:image/bmp;base64,QQ=="},
                        {"type": "input_image", "file_id": "file-1", "detail": "low"},
                        {"type": "input_image", "file_id": None},
                        {"type": "input_file", "file_data": "QQ==", "filename": "a"},
                        {"type": "input_file", "file_url": "https://x", **MARK},
                        {"type": "input_file"},
                        {"type": "input_video", "input_video": {}},
                    ],
                )
            ],
            [
                say(
                    "user",
                    ImageBlock(media("base64", "QQ==", "image/png")),
                    ImageBlock(media("url", "data:image/bmp;base64,QQ==")),
                    ImageBlock(media("file_id", "file-1"), detail="low"),
                    UnknownBlock({"type": "input_image", "file_id": None}, "openai_responses"),
                    DocumentBlock(media("base64", "QQ=="), title="a"),
                    DocumentBlock(media("url", "https://x"), cache="default"),
                    UnknownBlock({"type": "input_file"}, "openai_responses"),
                    UnknownBlock({"type": "input_video", "input_video": {}}, "openai_responses"),
                )
            ],
        ),
    ],
)
def test_read(data: object, messages: list[Message]) -> None:
    """Every item and part has its message and block; the model's neighbours are one message."""
    expected = [m.replace(kind="recorded") if m.kind == "written" else m for m in messages]
    assert expected == list(read(data).messages)


UNREADABLE: list[tuple[object, str]] = [
    (None, "'input' must be a list, not NoneType"),
    ("hello", "'input' must be a list, not str"),
    ({"model": "x"}, "'input' is needed"),
    ([7], "input[0]: a dictionary is needed, not int"),
    ([{}], "input[0]: 'type' or 'role' is needed"),
    ([turn("usr", "a")], "input[0]: unknown 'role' 'usr'"),
    ([{"role": "user"}], "input[0]: 'content' is needed"),
    ([turn("user", 7)], "input[0]: 'content' must be a list, not int"),
    ([turn("user", ["a"])], "input[0]: content[0]: a dictionary is needed, not str"),
    ([turn("user", [{}])], "input[0]: content[0]: 'type' is needed"),
    ([turn("user", [{"type": "input_text"}])], "input[0]: content[0]: 'text' is needed"),
    (
        [turn("user", [{"type": "input_image", "image_url": 7}])],
        "input[0]: content[0]: 'image_url' must be a string, not int",
    ),
    ([turn("user", "a"), {"type": "function_call"}], "input[1]: 'call_id' is needed"),
    ([result("a", 7)], "input[0]: 'output' must be a string or a list of parts, not int"),
    (
        [{"type": "reasoning", "summary": [7]}],
        "input[0]: summary[0]: a dictionary is needed, not int",
    ),
    ({"instructions": 7, "input": []}, "'instructions' must be a list, not int"),
    ({"input": [], "tools": [{"type": "function"}]}, "tools[0]: 'name' is needed"),
    (
        {"input": [], "text": {"format": {"type": "json_schema", "name": "a"}}},
        "text.format: 'schema' is needed",
    ),
]


@pytest.mark.parametrize(("data", "what"), UNREADABLE)
def test_read_error(data: object, what: str) -> None:
    """What cannot be read is an error that names the item and the key."""
    assert what == raised(DataError, lambda: read(data)).what


@pytest.mark.parametrize(
    ("data", "owner"),
    [
        ({"messages": []}, "openai"),
        ({"contents": []}, "gemini"),
        ([turn("assistant", "a", tool_calls=[{"id": "a"}])], "openai"),
        ([turn("tool", "a", tool_call_id="a")], "openai"),
        ([turn("user", [{"type": "text", "text": "a"}])], "openai"),
        ([{"role": "user", "parts": [{"text": "a"}]}], "gemini"),
        ([turn("assistant", [{"type": "tool_use", "input": {}}])], "anthropic"),
        ([{"type": "tool_result", "tool_use_id": "a"}], "anthropic"),
    ],
)
def test_foreign_form(data: object, owner: str) -> None:
    """What has the form of another provider is refused, and the error says how to read it."""
    with pytest.raises(DataError) as caught:
        read(data)
    assert f"this looks like {owner}: History.from_{owner}" == caught.value.fix


# Responses.


def response(*items: Any, **keys: Any) -> dict[str, Any]:
    """Return the body of a response."""
    fields: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": "x",
        "tools": [],
    }
    fields |= {"parallel_tool_calls": True, "tool_choice": "auto", "status": "completed"}
    return {**fields, "output": [*items], **keys}


def typed_response(body: dict[str, Any]) -> Any:
    """Return a response as the client returns it."""
    from openai.types.responses import Response

    return Response.model_validate(body)


USAGE = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
    "output_tokens": 3,
    "output_tokens_details": {"reasoning_tokens": 1},
    "total_tokens": 12,
}
ANSWERED = (
    reasoning_item("rs_1", "Hm.", encrypted_content="ZW5j"),
    reply("msg_1", text_part("Rain.")),
)


COUNTED = {"input": 9, "output": 3, "cache_read": 4, "cache_write": 2, "reasoning": 1, "total": 12}


def sent_back(reply: object) -> tuple[Any, ...]:
    """Return what a response counted, why it ended, and how it is sent back."""
    message = read_response(reply)
    return (message.token_usage, message.finish_reason, payload_items(message))


def test_response() -> None:
    """A response is one message, with what was counted, that is sent back as it came."""
    assert (COUNTED, "stop", [*ANSWERED]) == sent_back(response(*ANSWERED, usage=USAGE))


@typed
@pytest.mark.parametrize(
    "dumped",
    [lambda reply: reply, lambda reply: reply.to_dict(), lambda reply: reply.model_dump()],
    ids=["object", "to_dict", "model_dump"],
)
def test_response_of_the_sdk(dumped: Any) -> None:
    """So is the SDK's own object, and what it dumps."""
    reply = typed_response(response(*ANSWERED, usage=USAGE))
    assert (COUNTED, "stop", [*ANSWERED]) == sent_back(dumped(reply))


ENDED: list[tuple[dict[str, Any], str | None]] = [
    (response(use("a")), "tool_use"),
    (response(reply("msg_1", {"type": "refusal", "refusal": "No."})), "refused"),
    (
        response(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        "length",
    ),
    (
        response(status="incomplete", incomplete_details={"reason": "content_filter"}),
        "filtered",
    ),
    (response(status="incomplete"), "length"),
    (response(status="failed"), "error"),
    (
        response(*ANSWERED, status="failed", error={"code": "server_error", "message": "-"}),
        "error",
    ),
    (response(use("a"), status="cancelled"), "error"),
    (response(status="in_progress"), None),
    (response(status=None), None),
]


@pytest.mark.parametrize(("reply", "reason"), ENDED)
def test_finish_reason(reply: dict[str, Any], reason: str | None) -> None:
    """Why a model stopped is told in words of ours, another word is kept."""
    assert reason == read_response(reply).finish_reason


@typed
@pytest.mark.parametrize(("reply", "reason"), ENDED)
def test_finish_reason_of_the_sdk(reply: dict[str, Any], reason: str | None) -> None:
    """It is told of the SDK's own object, too."""
    assert reason == read_response(typed_response(reply)).finish_reason


@typed
def test_a_failed_response_of_the_sdk() -> None:
    """A response with an error and without output is an error that tells it."""
    error = {"code": "server_error", "message": "The model crashed."}
    with pytest.raises(DataError, match="failed: server_error: The model"):
        read_response(typed_response(response(status="failed", error=error)))


@typed
def test_response_objects_among_items() -> None:
    """The items of a response may be put among recorded ones, as the client returned them."""
    items = [turn("user", "a"), *typed_response(response(*ANSWERED)).output]
    assert [turn("user", "a"), *ANSWERED] == payload_items(*recorded(*items))


@pytest.mark.parametrize(
    "data", [None, {}, {"output": 7}, {"output": [7]}, {"output": [], "usage": 7}]
)
def test_no_response(data: object) -> None:
    """What is no response is refused."""
    with pytest.raises(DataError):
        read_response(data)


# The check itself.


@typed
@pytest.mark.parametrize(
    "items",
    [
        [turn("tool", "a")],
        [turn("assistant", [text("a")])],
        [turn("user", "a", name="ada")],
        [turn("user", [])],
        [turn("user", [{"type": "text", "text": "a"}])],
        [use("a")],
        [result("a", "b")],
        [use("a" * 65), result("a" * 65, "b")],
        [reasoning_item("rs_1"), turn("user", "a")],
        [reply("fc_1", text_part("a"))],
        [reply("msg_1", text_part("a"))] * 2,
        [turn("user", [text("a", **MARK)])] * 5,
    ],
)
def test_refused(items: list[Any]) -> None:
    """The check refuses what the service does."""
    with pytest.raises((AssertionError, ValidationError)):
        check_openai_responses({"input": items}, ABLE)


def test_two_thoughts_of_one_answer() -> None:
    """A call keeps the id of the reasoning directly before it, not of the first of the answer."""
    items = [
        reasoning_item("r1", "A."),
        use("c1", id="f1"),
        reasoning_item("r2", "B."),
        use("c2", id="f2"),
    ]
    (message,) = recorded(*items)
    linked = [block.to_dict()["item"]["reasoning"] for block in message.calls]
    assert ["r1", "r2"] == linked


def test_one_id_in_several_answers() -> None:
    """Results of one id answer its calls in order; a call before the user spoke is not one."""
    messages = [
        say("assistant", call("x", "f")),
        say("user", "Stop"),
        say("assistant", call("x", "f")),
        say("assistant", call("x", "f"), call("y", "f")),
        say("assistant", call("x", "f")),
        answer("x", "1"),
        answer("y", "2"),
        answer("x", "3"),
        answer("x", "4"),
        answer("x", "of no call"),
    ]
    assert ["x", "x_2", "x_3", "y", "x_4", "x_2", "y", "x_3", "x_4", "x"] == [
        item["call_id"] for item in payload_items(*messages) if "call_id" in item
    ]


def test_an_item_reference_without_a_type() -> None:
    """A reference to an item that is sent before it is a hint, also where it has no type."""
    messages = read([reply("msg_1", text_part("a")), {"id": "msg_1"}, turn("user", "b")]).messages
    payload, losses = write(whole(messages), ABLE)
    assert [OPENED, reply("msg_1", text_part("a")), turn("user", "b")] == payload["input"]
    assert ["inserted_text", "repeated_item"] == [loss.name for loss in losses]


def test_a_free_and_a_plain_call_of_one_id() -> None:
    """Of two calls of one id, each result has the type and the id of its own call."""
    items = [
        {"role": "user", "content": "q"},
        {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"},
        {"type": "function_call", "call_id": "c", "name": "g", "arguments": "{}"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "1"},
        {"type": "function_call_output", "call_id": "c", "output": "2"},
        {"role": "user", "content": "r"},
    ]
    tree = Timeline(History.from_openai_responses(items), transformation={"tool_pairing": "keep"})
    entries = render(tree, provider="openai_responses").to_openai_responses()["input"]
    assert [
        ("custom_tool_call", "c"),
        ("function_call", "c_2"),
        ("custom_tool_call_output", "c"),
        ("function_call_output", "c_2"),
    ] == [(item["type"], item["call_id"]) for item in entries if "call_id" in item]


def test_a_reference_to_reasoning_that_waits() -> None:
    """A reference to reasoning that is sent behind it is a repetition, and splits no answer."""
    items = [
        {"role": "user", "content": "q"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "item_reference", "id": "rs_1"},
        {"type": "message", "role": "assistant", "id": "msg_1", "content": "x"},
        {"role": "user", "content": "r"},
    ]
    rendered = render(Timeline(History.from_openai_responses(items)), provider="openai_responses")
    entries = rendered.to_openai_responses()["input"]
    assert ["rs_1", "msg_1"] == [item["id"] for item in entries if "id" in item]
    assert [("hint", "item_reference block")] == named_losses(rendered.hints)
