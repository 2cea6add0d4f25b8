"""AWS Bedrock Converse, written and read."""

import base64
import json
from functools import partial
from typing import Any

import attrs
import pytest

from promptdsl import *
from tests.errors import raised
from tests.folding import failures, unequal
from tests.internals import facts_for
from tests.internals import read_bedrock as read
from tests.internals import read_response_bedrock as read_response
from tests.internals import write_bedrock as write
from tests.providers.bedrock_check import check_bedrock, check_model
from tests.providers.conversations import (
    PDF,
    PNG,
    PROMPTS,
    answer,
    call,
    heard,
    marked,
    media,
    say,
    whole,
)
from tests.providers.every_target import MADE_FACTS, lost_of
from tests.providers.laws import verdict

ABLE = MADE_FACTS["bedrock able"]
CLAUDE = MADE_FACTS["bedrock able claude"]
BINDING = MADE_FACTS["bedrock binding"]
UNWRITTEN = facts_for(None, "bedrock")

typed = pytest.mark.sdk("boto3")
POINT = {"cachePoint": {"type": "default"}}
HOUR = {"cachePoint": {"type": "default", "ttl": "1h"}}
ASSESSED = {"guardContent": {"text": {"text": "x"}}}


def payload_turns(*messages: Message, facts: ModelFacts = ABLE) -> list[Any]:
    """Return the turns on the wire as (role, blocks), losses aside."""
    turns: Any = write(whole(messages), facts)[0]["messages"]
    return [(turn["role"], turn["content"]) for turn in turns]


lost = partial(lost_of, facts=ABLE)


def with_base64(payload: object) -> str:
    """Return a payload as text, with bytes as boto3 sends them."""
    return json.dumps(payload, default=lambda data: base64.b64encode(data).decode())


def text(part: str) -> dict[str, Any]:
    """Return a text block on the wire."""
    return {"text": part}


def use(id: str, name: str = "look_up", **input: Any) -> dict[str, Any]:
    """Return a call on the wire."""
    return {"toolUse": {"toolUseId": id, "name": name, "input": input or {"q": "x"}}}


def result(id: str, *parts: str, **keys: Any) -> dict[str, Any]:
    """Return a result on the wire."""
    return {"toolResult": {"toolUseId": id, "content": [text(part) for part in parts], **keys}}


# Every conversation.


def misread() -> list[str]:
    """Return where the body of a request is not read as the payload is."""

    def wrong(name: str) -> str:
        payload, _ = write(PROMPTS[name], ABLE)
        return unequal(read(payload), read(json.loads(with_base64(payload))))

    return failures(PROMPTS, wrong)


def test_read_as_it_is_sent() -> None:
    """The body of any request, whose bytes are base64 text, is read as the payload is."""
    assert [] == misread()


@pytest.mark.parametrize(("depth", "outcome"), [(190, "read"), (201, "refused")])
def test_deep_data_is_kept_or_refused(depth: int, outcome: str) -> None:
    """Deep data is read; what is nested deeper than 200 levels is refused."""
    deep: Any = {}
    for _ in range(depth):
        deep = {"a": deep}
    data = [{"role": "user", "content": [{"guardContent": deep}]}]
    assert outcome == verdict(read, data)


# Turns.

HELLO = say("user", "Hello.")
REQUEST = say("developer", "<context>\nx\n</context>", kind="request")
RULE = say("developer", "Use feet.")
FENCED = text("<developer>\nUse feet.\n</developer>")


def test_never_a_system_role() -> None:
    """The role system is not sent, whatever the model takes elsewhere: the service refuses it."""
    native = attrs.evolve(CLAUDE, instructions=True)
    assert ("user", [text("Hello."), FENCED]) == payload_turns(HELLO, RULE, facts=native)[0]


# Calls and results.


CALLED = say("assistant", call("a"))
PICTURE = ImageBlock(media("base64", PNG, "image/png"))
PICTURED = {"image": {"format": "png", "source": {"bytes": base64.b64decode(PNG)}}}
NUMBERS = TextBlock('{"n": 1}', extra={"json": True})


NO_TOOL = {
    "toolSpec": {
        "name": "no_tool",
        "description": "Not a tool: nothing can be called.",
        "inputSchema": {"json": {"type": "object", "properties": {}}},
    }
}


def test_a_server_tool_without_tools() -> None:
    """So it is for calls the service has made itself, which are sent as they came."""
    call = {"toolUse": {"toolUseId": "a", "name": "f", "input": {}, "type": "server_tool_use"}}
    data = [{"role": "user", "content": [text("x")]}, {"role": "assistant", "content": [call]}]
    payload: Any = write(read(data), ABLE)[0]
    assert ([call], [NO_TOOL]) == (
        payload["messages"][1]["content"],
        payload["toolConfig"]["tools"],
    )


# Tools and settings.

FIND = ToolDefinition("find", "Find it.", {"type": "object", "properties": {"q": {}}})
FOUND = {
    "toolSpec": {
        "name": "find",
        "description": "Find it.",
        "inputSchema": {"json": {"type": "object", "properties": {"q": {}}}},
    }
}


FORM = OutputSchema({"type": "object", "title": "Ort: é"}, "place", "A place.")


def test_output_of_a_model_without() -> None:
    """A model that takes no schema is a content loss."""
    payload, losses = write(Prompt((HELLO,), output=FORM), UNWRITTEN)
    assert ({"messages"}, [("content", "output schema")]) == (
        set(payload),
        [(loss.kind, loss.what) for loss in losses],
    )


# Media.


def attached(block: Any, facts: ModelFacts = ABLE) -> Any:
    """Return what an attachment beside a text is on the wire."""
    return payload_turns(say("user", "x", block), facts=facts)[0][1][1:]


OFFICE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    ("block", "wire"),
    [
        (ImageBlock(media("base64", "AAAA", "image/jpeg")), {"format": "jpeg"}),
        (ImageBlock(media("url", "data:image/webp;base64,AAAA")), {"format": "webp"}),
        (AudioBlock(media("base64", "AAAA", "audio/mpeg")), {"format": "mp3"}),
        (AudioBlock(media("base64", "AAAA", "audio/wav")), {"format": "wav"}),
        (VideoBlock(media("base64", "AAAA", "video/quicktime")), {"format": "mov"}),
        (VideoBlock(media("base64", "AAAA", "video/3gpp")), {"format": "three_gp"}),
    ],
)
def test_media(block: Any, wire: dict[str, Any]) -> None:
    """Attachments have a format and raw bytes."""
    assert [{block.type: {**wire, "source": {"bytes": b"\0\0\0"}}}] == attached(block)


@pytest.mark.parametrize(
    ("source", "format"),
    [
        (media("base64", PDF, "application/pdf"), "pdf"),
        (media("base64", "AAAA", OFFICE), "docx"),
        (media("base64", "YSxi", "text/csv"), "csv"),
        (media("base64", "YSxi", "text/markdown"), "md"),
        (media("base64", "YSxi", "text/x-python"), "txt"),
    ],
)
def test_documents(source: MediaSource, format: str) -> None:
    """Documents have a format of nine; a text of another type is a plain one."""
    held = {"bytes": base64.b64decode(source.value)}
    wire = [{"document": {"name": "Document", "format": format, "source": held}}]
    assert wire == attached(DocumentBlock(source))


@pytest.mark.parametrize(
    ("block", "value"),
    [
        (
            DocumentBlock(media("s3", "s3://bucket/a.PDF"), extra={"bucketOwner": "012345678901"}),
            {
                "name": "Document",
                "format": "pdf",
                "source": {
                    "s3Location": {"uri": "s3://bucket/a.PDF", "bucketOwner": "012345678901"}
                },
            },
        ),
        (
            ImageBlock(media("s3", "s3://bucket/a.jpg")),
            {"format": "jpeg", "source": {"s3Location": {"uri": "s3://bucket/a.jpg"}}},
        ),
        (
            ImageBlock(media("s3", "S3://bucket/A.jpg")),
            {"format": "jpeg", "source": {"s3Location": {"uri": "s3://bucket/A.jpg"}}},
        ),
        (
            VideoBlock(media("s3", "s3://bucket/a", "video/mp4")),
            {"format": "mp4", "source": {"s3Location": {"uri": "s3://bucket/a"}}},
        ),
    ],
)
def test_objects_in_s3(block: Any, value: object) -> None:
    """An object in S3 is sent as its address; its ending tells the format if nothing else does."""
    assert [{block.type: value}] == attached(block)


WIDE = base64.b64encode(
    base64.b64decode(PNG)[:16] + (8001).to_bytes(4, "big") + base64.b64decode(PNG)[20:]
).decode()


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (
            ImageBlock(media("url", "https://e.org/a.png")),
            "Converse takes only bytes and objects in S3; "
            "a media_loader can give it the bytes: render(..., media_loader=...)",
        ),
        (ImageBlock(media("file_id", "f")), "Converse takes only bytes and objects in S3"),
        (
            ImageBlock(media("base64", "AAAA", "image/bmp")),
            "not one of the formats png, jpeg, gif, webp",
        ),
        (
            ImageBlock(media("s3", "s3://bucket/a.zip")),
            "not one of the formats png, jpeg, gif, webp",
        ),
        (ImageBlock(media("s3", "s3://B/a", "image/png")), "not an address in S3"),
        (
            ImageBlock(media("s3", "s3://bucket/" + "a" * 1024, "image/png")),
            "not an address in S3",
        ),
        (
            ImageBlock(media("base64", "é", "image/png")),
            "it has no bytes, or its text is not base64",
        ),
        (
            ImageBlock(media("base64", "", "image/png")),
            "it has no bytes, or its text is not base64",
        ),
        (ImageBlock(media("base64", WIDE, "image/png")), "over the limit of 8,000 pixels a side"),
        (
            ImageBlock(media("base64", "AAAA" * 1_310_721, "image/png")),
            "over the limit of 3,932,160 bytes",
        ),
        (
            DocumentBlock(media("base64", "AAAA" * 1_572_865, "application/pdf")),
            "over the limit of 4,718,592 bytes",
        ),
        (
            VideoBlock(media("base64", "AAAA" * 6_553_601, "video/mp4")),
            "over the limit of 19,660,800 bytes",
        ),
    ],
)
def test_media_that_are_not_taken(block: Any, reason: str) -> None:
    """What has no form, or is over a limit, is a content loss that says why."""
    (loss,) = write(whole([say("user", "x", block)]), ABLE)[1]
    reported_loss = loss.kind, loss.what.partition(" ")[0], loss.why
    assert ([], ("content", block.type, reason)) == (attached(block), reported_loss)


def test_limits_of_a_message() -> None:
    """A turn holds twenty pictures and five documents, those in results counted; a new one anew."""
    page = DocumentBlock(media("base64", PDF, "application/pdf"))
    messages = (
        say("user", "x", *[PICTURE] * 12),
        say("user", *[PICTURE] * 12, *[page] * 6),
        say("assistant", call("a")),
        answer("a", *[PICTURE] * 21),
    )
    kinds = [[kind for block in blocks for kind in block] for _, blocks in payload_turns(*messages)]
    inner = payload_turns(*messages)[2][1][0]["toolResult"]["content"]
    counts = kinds[0].count("image"), kinds[0].count("document"), len(inner)
    losses = ["image"] * 4 + ["document"] + ["image"]
    lost_kinds = [what.partition(" ")[0] for kind, what in lost(*messages) if kind == "content"]
    assert ((20, 5, 20), losses) == (counts, lost_kinds)


@pytest.mark.parametrize(
    ("titles", "names", "hints"),
    [
        ([None, None], ["Document", "Document 2"], 0),
        (["Report", "Report", "Report 2"], ["Report", "Report 2", "Report 2 2"], 2),
        (["Report 2", "Report", "Report"], ["Report 2", "Report", "Report 3"], 1),
        (["a_b.pdf", " résumé  (1)[2]-x "], ["a b", "r sum (1)[2]-x"], 2),
        (["report.pdf", "Report.PDF", "report.csv"], ["report", "Report", "report csv"], 1),
        (["\ud800", "資料"], ["Document", "Document 2"], 2),
        (["x" * 201, "x" * 200], ["x" * 200, "x" * 198 + " 2"], 2),
    ],
)
def test_document_names(titles: list[str | None], names: list[str], hints: int) -> None:
    """A name has few letters and is unique; the first keeps it, a changed title is a hint."""
    pages = [DocumentBlock(media("base64", PDF, "application/pdf"), title=t) for t in titles]
    page_messages = [say("user", "x", page) for page in pages]
    payload_names = [
        block["document"]["name"]
        for block in payload_turns(*page_messages)[0][1]
        if "document" in block
    ]
    assert (names, [("hint", "title of a document")] * hints) == (
        payload_names,
        lost(*page_messages),
    )


PAGE = DocumentBlock(media("base64", PDF, "application/pdf"))


@pytest.mark.parametrize(
    ("messages", "kinds"),
    [
        ([say("user", PAGE)], ["document", "text"]),
        ([say("user", PAGE), HELLO], ["document", "text", "text"]),
        ([say("user", PAGE, "x")], ["document", "text"]),
        ([HELLO, say("user", PAGE)], ["text", "document"]),
        ([say("user", PAGE, PAGE)], ["document", "document", "text"]),
    ],
)
def test_a_text_beside_documents(messages: list[Message], kinds: list[str]) -> None:
    """A document with no text before it or in its message gets one beside it."""
    assert kinds == [kind for block in payload_turns(*messages)[0][1] for kind in block]


def test_a_text_beside_documents_is_told() -> None:
    """That text is a hint."""
    assert [("hint", "a document without a text")] == lost(say("user", PAGE))


@pytest.mark.parametrize(
    ("model", "block", "losses"),
    [
        ("us.anthropic.claude-opus-5-5", PAGE, ["document next to a tool result"]),
        ("us.anthropic.claude-opus-5-5", PICTURE, []),
        ("us.meta.llama4-scout-17b-instruct-v1:0", PICTURE, ["image, text next to a tool result"]),
        ("mistral.mistral-large-2407-v1:0", "x", ["text next to a tool result"]),
        ("us.amazon.nova-pro-v1:0", PAGE, []),
    ],
)
def test_beside_results(model: str, block: Any, losses: list[str]) -> None:
    """What a vendor's models refuse beside a result has a turn of its own, behind an answer."""
    facts = facts_for(model, "bedrock")
    messages = (HELLO, CALLED, answer("a", "x"), say("user", "x", block))
    assert losses == [what for _, what in lost(*messages, facts=facts) if "next to" in what]
    turns = [
        [kind for param in content for kind in param]
        for _, content in payload_turns(*messages, facts=facts)
    ]
    kind = next(iter(payload_turns(say("user", block), facts=facts)[0][1][0]))
    results = (
        [["toolResult"], ["text"], ["text", kind]] if losses else [["toolResult", "text", kind]]
    )
    assert results == turns[2:]


@pytest.mark.parametrize(
    "refused",
    [
        say("user", "x", PICTURE),
        pytest.param(
            say("user", "x"),
            marks=pytest.mark.xfail(
                reason="a message of one text is written the short way, which notes no beginning",
                strict=True,
            ),
        ),
    ],
)
def test_the_message_of_what_is_refused_beside_results(refused: Message) -> None:
    """The hint about it is of its message."""
    facts = facts_for("us.meta.llama4-scout-17b-instruct-v1:0", "bedrock")
    _, losses = write(whole((HELLO, CALLED, answer("a", "x"), refused)), facts)
    [loss] = [loss for loss in losses if loss.name == "beside_tool_result"]
    assert ((3,), refused) == (loss.at, loss.message)


def test_beside_results_only_from_there_on() -> None:
    """The turn of its own begins with the message that needs it: what was sent before stays."""
    facts = facts_for("us.anthropic.claude-opus-5-5", "bedrock")
    before = (HELLO, CALLED, answer("a", "x"), say("user", "Look."))
    shorter, longer = (
        payload_turns(*before, facts=facts),
        payload_turns(*before, say("user", "Read.", PAGE), facts=facts),
    )
    assert shorter == longer[: len(shorter)]
    assert [("assistant", [{"text": "."}])] == longer[len(shorter) : -1]


def test_an_unknown_file_leaves_its_result() -> None:
    """A recorded block that is read as a file only when it is written leaves its result, too."""
    data = {"document": {"name": "D", "format": "txt", "source": {"bytes": "eA=="}}}
    facts = attrs.evolve(ABLE, result_media=())
    messages = (HELLO, CALLED, answer("a", UnknownBlock(data, "bedrock")))
    kinds = [
        [key for param in turn for key in param]
        for _, turn in payload_turns(*messages, facts=facts)
    ]
    assert ["toolResult", "text", "document"] == kinds[2]


# Reasoning.

SIGNED = ReasoningBlock("Hm.", signature="c2ln", origin="bedrock")
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}


def test_bound_reasoning() -> None:
    """Request-only content drops the reasoning that is bound to bytes it changes."""
    turns = (HELLO, say("assistant", SIGNED, "Rain."), REQUEST, HELLO)
    assert ("assistant", [text("Rain.")]) == payload_turns(*turns, facts=BINDING)[1]
    assert ("assistant", [THOUGHT, text("Rain.")]) == payload_turns(*turns, facts=CLAUDE)[1]


# Cache marks.


def test_marks_of_tools() -> None:
    """A mark behind a tool is a block of its own among the tools, and read back."""
    tool = attrs.evolve(FIND, cache="1h")
    payload, _ = write(Prompt((HELLO,), (tool, FIND)), ABLE)
    tool_config: Any = payload.get("toolConfig")
    assert ([FOUND, HOUR, FOUND], "1h") == (tool_config["tools"], read(payload).tools[0].cache)


@pytest.mark.parametrize(
    ("block", "facts", "kinds"),
    [
        (attrs.evolve(PAGE, cache="5m"), CLAUDE, ["text", "document", "cachePoint"]),
        (attrs.evolve(PAGE, cache="5m"), ABLE, ["text", "document"]),
        (
            DocumentBlock(media("base64", "eA==", "text/plain"), cache="5m"),
            CLAUDE,
            ["text", "document"],
        ),
        (
            VideoBlock(media("base64", "AAAA", "video/mp4"), cache="5m"),
            CLAUDE,
            ["text", "video"],
        ),
        (attrs.evolve(PICTURE, cache="5m"), ABLE, ["text", "image", "cachePoint"]),
    ],
)
def test_marks_behind_media(block: Any, facts: ModelFacts, kinds: list[str]) -> None:
    """Behind documents and videos a mark is refused, a PDF for Claude apart: a hint."""
    message = say("user", "x", block)
    expected = [] if "cachePoint" in kinds else [("hint", "cache mark")]
    kinds_in_payload = [kind for wire in payload_turns(message, facts=facts)[0][1] for kind in wire]
    assert (kinds, expected) == (kinds_in_payload, lost(message, facts=facts))


# Reading.


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        ([], ()),
        (
            {"system": [text("One."), HOUR], "messages": []},
            (heard("system", marked("One.", "1h")),),
        ),
        (
            [{"role": "system", "content": [text("Use feet.")]}],
            (say("developer", "Use feet.", kind="recorded_system"),),
        ),
        ([{"role": "user", "content": []}], (heard("user"),)),
        (
            [{"role": "user", "content": [result("a", "x"), POINT, result("b"), text("And?")]}],
            (
                heard("tool", ToolResultBlock("a", (TextBlock("x"),), cache="default")),
                heard("tool", ToolResultBlock("b")),
                heard("user", "And?"),
            ),
        ),
        (
            [{"role": "user", "content": [result("a", "no", status="error")]}],
            (heard("tool", ToolResultBlock("a", (TextBlock("no"),), is_error=True)),),
        ),
        (
            [
                {
                    "role": "user",
                    "content": [
                        {"toolResult": {"toolUseId": "a", "content": [{"json": {"n": 1}}]}}
                    ],
                }
            ],
            (heard("tool", ToolResultBlock("a", (NUMBERS,))),),
        ),
        (
            [{"role": "assistant", "content": [THOUGHT, use("a", q="é")]}],
            (heard("assistant", SIGNED, call("a", arguments='{"q": "é"}')),),
        ),
        (
            [{"role": "user", "content": [PICTURED]}],
            (heard("user", PICTURE),),
        ),
        (
            [{"role": "user", "content": [ASSESSED, POINT]}],
            (heard("user", UnknownBlock({**ASSESSED, **POINT}, "bedrock")),),
        ),
    ],
)
def test_read(data: object, messages: tuple[Message, ...]) -> None:
    """A payload is read as recorded messages, results as tool messages of their own."""
    assert messages == read(data).messages


GUARDED = {"format": "png", "source": {"bytes": b"\0"}}
CITED = {"title": "T", "location": {"documentPage": {"documentIndex": 0, "start": 1, "end": 2}}}


@pytest.mark.parametrize(
    ("role", "block"),
    [
        ("assistant", THOUGHT),
        ("assistant", {"reasoningContent": {"redactedContent": b"enc"}}),
        ("assistant", {"citationsContent": {"content": [text("x")], "citations": [CITED]}}),
        (
            "assistant",
            {"toolUse": {"toolUseId": "a", "name": "f", "input": {}, "type": "server_tool_use"}},
        ),
        ("assistant", {"citationsContent": {"citations": [CITED]}}),
        ("assistant", {"citationsContent": {"content": [], "citations": [CITED]}}),
        (
            "assistant",
            {
                "toolUse": {
                    "toolUseId": "a",
                    "name": "f",
                    "input": {"source": {"bytes": "eA=="}},
                    "type": "server_tool_use",
                }
            },
        ),
        (
            "assistant",
            {"toolResult": {"toolUseId": "a", "content": [{"json": {}}], "type": "f_result"}},
        ),
        (
            "assistant",
            {
                "toolResult": {
                    "toolUseId": "a",
                    "content": [{"image": {"format": "png", "source": {"bytes": b"\0"}}}],
                    "type": "f_result",
                }
            },
        ),
        ("user", {"guardContent": {"text": {"text": "x", "qualifiers": ["query"]}}}),
        ("user", {"guardContent": {"image": GUARDED}}),
        ("user", {"searchResult": {"source": "s", "title": "t", "content": [text("x")]}}),
        (
            "user",
            {"document": {"name": "D", "format": "txt", "source": {"text": "x"}}},
        ),
        (
            "user",
            {
                "document": {
                    "name": "D",
                    "format": "md",
                    "source": {"content": [text("x"), text("é")]},
                    "citations": {"enabled": True},
                }
            },
        ),
        (
            "user",
            {
                "document": {
                    "name": "D",
                    "format": "pdf",
                    "source": {"bytes": b"%PDF"},
                    "context": "c",
                    "citations": {"enabled": True},
                }
            },
        ),
        ("user", {"image": {"format": "avif", "source": {"bytes": b"\0"}}}),
        ("user", {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://abc/d"}}}}),
        (
            "user",
            {
                "video": {
                    "format": "mp4",
                    "source": {"s3Location": {"uri": "s3://abc/d", "bucketOwner": "012345678901"}},
                }
            },
        ),
    ],
)
def test_blocks_come_back(role: str, block: dict[str, Any]) -> None:
    """Blocks are read and written as they were, also those this version only partly knows."""
    content = [text("x"), block]
    messages = [{"role": "user", "content": [text("x")]}, {"role": role, "content": content}]
    payload: Any = write(read(messages), ABLE)[0]
    assert content == payload["messages"][-1]["content"][-2:]


SEARCH = {"searchResult": {"source": "s", "title": "t", "content": [text("x")]}}
SERVED = {"toolUse": {"toolUseId": "a", "name": "f", "input": {}, "type": "server_tool_use"}}
GUARD = {"guardContent": {"text": {"text": "x"}}}


@pytest.mark.parametrize("origin", [None, "bedrock"])
@pytest.mark.parametrize(
    ("role", "data"),
    [
        ("user", {"inline_data": {"mime_type": "image/png"}}),
        ("user", SERVED),
        ("user", {"citationsContent": {"citations": []}}),
        ("user", {"json": {}}),
        ("assistant", {"inline_data": {"mime_type": "image/png"}}),
    ],
)
def test_blocks_of_another_place(role: Any, data: dict[str, Any], origin: str | None) -> None:
    """A block that Converse does not have at its location is a content loss."""
    message = say(role, "x", UnknownBlock(data, origin))
    assert [("content", f"{next(iter(data))} block")] == lost(HELLO, message, HELLO)


@pytest.mark.parametrize("data", [SEARCH, SERVED, {"inline_data": {"mime_type": "image/png"}}])
def test_blocks_of_another_place_in_system_text(data: dict[str, Any]) -> None:
    """So is one that the system text may not hold."""
    message = say("system", "x", UnknownBlock(data, "bedrock"))
    assert ([text("x")], [("content", f"{next(iter(data))} block")]) == (
        write(whole([message, HELLO]), ABLE)[0].get("system"),
        lost(message, HELLO),
    )


@pytest.mark.parametrize("data", [GUARD, SERVED, {"audio": {"format": "?"}}])
def test_blocks_of_another_place_in_results(data: dict[str, Any]) -> None:
    """So is one that a result may not hold."""
    block = ToolResultBlock("a", (TextBlock("x"), UnknownBlock(data, "bedrock")))
    losses = [loss for loss in lost(HELLO, CALLED, say("tool", block)) if loss[0] == "content"]
    assert ([result("a", "x")], 1) == (
        payload_turns(HELLO, CALLED, say("tool", block))[2][1],
        len(losses),
    )


def test_guarded_system_comes_back() -> None:
    """What a guardrail is to assess in the system text is read and written as it was."""
    payload = {
        "system": [text("x"), {"guardContent": {"text": {"text": "y"}}}, POINT],
        "messages": [{"role": "user", "content": [text("z")]}],
    }
    assert payload == write(read(payload), ABLE)[0]


@pytest.mark.parametrize(
    ("kind", "format"), [("video", "mpg"), ("audio", "m4a"), ("audio", "mpga")]
)
def test_formats_of_two_names(kind: str, format: str) -> None:
    """A format with two names is read by either."""
    block = {kind: {"format": format, "source": {"bytes": b"\0"}}}
    block_read = read([{"role": "user", "content": [block]}]).messages[0].content[0]
    assert f"{kind}/" in str(block_read.source.media_type)  # type: ignore[union-attr]


def test_a_format_that_cannot_be_sent() -> None:
    """A picture that is called ``jpg`` is known elsewhere, too, and sent as ``jpeg``."""
    block = {"image": {"format": "jpg", "source": {"bytes": b"\0"}}}
    messages = read([{"role": "user", "content": [block]}]).messages
    wire = [("user", [{"image": {"format": "jpeg", "source": {"bytes": b"\0"}}}])]
    assert (ImageBlock(media("base64", "AA==", "image/jpeg")), wire) == (
        messages[0].content[0],
        payload_turns(*messages),
    )


@pytest.mark.parametrize(
    ("recorded_source", "source"),
    [
        ({"source": {"text": "é"}}, media("base64", "w6k=", "text/plain")),
        ({"source": {"text": "x"}, "format": "pdf"}, media("base64", "eA==", "text/plain")),
        ({"source": {"text": "x"}, "format": "csv"}, media("base64", "eA==", "text/csv")),
        (
            {"source": {"content": [text("x"), text("y")]}},
            media("base64", "eAoKeQ==", "text/plain"),
        ),
    ],
)
def test_documents_of_text(recorded_source: dict[str, Any], source: MediaSource) -> None:
    """A document that holds its text is one of bytes, which other providers take, too."""
    data = [{"role": "user", "content": [{"document": {"name": "D", **recorded_source}}]}]
    assert source == read(data).messages[0].content[0].source  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("source", "extra", "format"),
    [
        (media("base64", "eQ==", "text/plain"), {"content": [{"text": "x"}]}, "txt"),
        (media("base64", "/w==", "text/plain"), {"text": True}, "txt"),
        (media("base64", PDF, "application/pdf"), {"text": True}, "pdf"),
    ],
)
def test_documents_of_text_that_were_changed(
    source: MediaSource, extra: dict[str, Any], format: str
) -> None:
    """Where the bytes are not the text that was read, the bytes are sent."""
    held = {"bytes": base64.b64decode(source.value)}
    wire = {"document": {"name": "Document", "format": format, "source": held}}
    assert [wire] == attached(DocumentBlock(source, extra=extra))


@pytest.mark.parametrize("content", [[], [{"text": 7}], [{"text": "x", "a": 1}], "x", 7])
def test_documents_of_no_text(content: object) -> None:
    """A source that is of neither kind is kept as it came."""
    block = {"document": {"name": "D", "source": {"content": content}}}
    blocks = read([{"role": "user", "content": [block]}]).messages[0].content
    assert (UnknownBlock(block, "bedrock"),) == blocks


@pytest.mark.parametrize(
    ("content", "status", "blocks"),
    [
        ([{"json": {}}], {}, ()),
        ([{"json": {}}], {"status": "error"}, (TextBlock("{}", extra={"json": True}),)),
        ([{"json": {}}, text("x")], {}, (TextBlock("{}", extra={"json": True}), TextBlock("x"))),
    ],
)
def test_an_empty_result(content: object, status: dict[str, Any], blocks: object) -> None:
    """What is sent for a result without content is read as one without content."""
    wire = {"toolResult": {"toolUseId": "a", "content": content, **status}}
    (block,) = read([{"role": "user", "content": [wire]}]).messages[0].content
    assert blocks == block.content  # type: ignore[union-attr]


@pytest.mark.parametrize("text_read", ["", " \n"])
def test_citations_without_text(text_read: str) -> None:
    """Citations are sent without a text, where there is none to send."""
    block = TextBlock(text_read, extra={"citationsContent": [CITED]})
    wire = ("assistant", [text("x"), {"citationsContent": {"citations": [CITED]}}])
    assert wire == payload_turns(HELLO, say("assistant", "x", block), HELLO)[1]


def test_citations_are_text_elsewhere() -> None:
    """An answer with citations is text, in one block."""
    content = [text("One. "), text("Two.")]
    data = [{"role": "assistant", "content": [{"citationsContent": {"content": content}}]}]
    assert "One. Two." == read(data).messages[0].content[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ({"system": "x", "messages": []}, "system: 'content' must be a list, not str"),
        ([{"role": "user", "content": "x"}], "messages[0]: 'content' must be a list, not str"),
        (
            [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
            "messages[0]: content[0]: a block has one key, not 'type', 'text'",
        ),
        (
            [{"role": "user", "content": [{}]}],
            "messages[0]: content[0]: a block has one key, not none",
        ),
        (
            [{"role": "user", "content": [{"text": 7}]}],
            "messages[0]: content[0]: 'text' must be a string, not int",
        ),
        (
            [{"role": "user", "content": [POINT, text("x")]}],
            "messages[0]: content[0]: a 'cachePoint' with nothing before it",
        ),
        (
            [{"role": "user", "content": [text("x"), POINT, POINT]}],
            "messages[0]: content[2]: a 'cachePoint' with nothing before it",
        ),
        (
            [{"role": "user", "content": [text("x"), {"cachePoint": {"ttl": "2h"}}]}],
            "messages[0]: unknown 'ttl' '2h'",
        ),
        (
            [{"role": "assistant", "content": [THOUGHT, POINT]}],
            "messages[0]: content[0]: a 'cachePoint' may not follow reasoning",
        ),
        (
            [{"role": "user", "content": [{"toolResult": {"toolUseId": "a"}}]}],
            "messages[0]: content[0]: 'content' is needed",
        ),
        (
            [
                {
                    "role": "user",
                    "content": [{"toolResult": {"toolUseId": "a", "content": [result("b")]}}],
                }
            ],
            "messages[0]: content[0]: content[0]: a 'toolResult' block may not contain another one",
        ),
        (
            [{"role": "assistant", "content": [{"toolUse": {"name": "f", "input": {}}}]}],
            "messages[0]: content[0]: 'toolUseId' is needed",
        ),
        (
            [{"role": "user", "content": [{"image": {"source": {"bytes": 7}}}]}],
            "messages[0]: content[0]: 'bytes' is bytes or their base64 text, not int",
        ),
        (
            {"messages": [], "toolConfig": {"tools": [POINT]}},
            "tools[0]: a 'cachePoint' with nothing before it",
        ),
        (
            {"messages": [], "toolConfig": {"tools": [{"toolSpec": {"name": "f"}}]}},
            "tools[0]: 'inputSchema' is needed",
        ),
        (
            {
                "messages": [],
                "outputConfig": {"textFormat": {"structure": {"jsonSchema": {"schema": "[]"}}}},
            },
            "'schema' must be the JSON text of an object",
        ),
    ],
)
def test_read_error(data: object, what: str) -> None:
    """What cannot be read is an error that names the index and the key."""
    assert what == raised(DataError, lambda: read(data)).what


def test_unknown_block_with_an_unknown_mark() -> None:
    """So is a mark behind it that asks for another time."""
    block = UnknownBlock({"guardContent": {}, "cachePoint": {"ttl": "2h"}}, "bedrock")
    with pytest.raises(DataError, match="unknown 'ttl' '2h'"):
        write(whole([say("user", block)]), ABLE)


# Responses.


def response(*content: Any, reason: str = "end_turn", **usage: int) -> dict[str, Any]:
    """Return a response as boto3 returns it."""
    return {
        "ResponseMetadata": {"HTTPStatusCode": 200},
        "output": {"message": {"role": "assistant", "content": [*content]}},
        "stopReason": reason,
        "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15, **usage},
        "metrics": {"latencyMs": 1},
    }


def test_response() -> None:
    """The message of a response is what the model said, and can be sent again."""
    content = [THOUGHT, text("Let me see."), use("a")]
    message = read_response(response(*content, reason="tool_use"))
    expected = heard("assistant", SIGNED, "Let me see.", call("a"))
    assert (expected.content, "tool_use") == (message.content, message.finish_reason)
    assert ("assistant", content) == payload_turns(HELLO, message)[1]


@pytest.mark.parametrize(
    ("fields", "arguments"),
    [
        ({"input": '{"q": '}, '{"q": '),
        ({"input": None}, "{}"),
        ({}, "{}"),
        ({"input": [1]}, "[1]"),
    ],
)
def test_a_malformed_call(fields: dict[str, Any], arguments: str) -> None:
    """A call whose arguments are no object keeps them as text; one without any has an object."""
    use = {"toolUse": {"toolUseId": "a", "name": "look_up", **fields}}
    message = read_response(response(text("x"), use, reason="malformed_tool_use"))
    assert say("assistant", "x", call("a", arguments=arguments)).content == message.content


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_use"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("guardrail_intervened", "filtered"),
        ("content_filtered", "filtered"),
        ("malformed_tool_use", "error"),
        ("malformed_model_output", "error"),
    ],
)
def test_finish_reason(reason: str, word: str) -> None:
    """Why the model stopped is said in our words, where there is one."""
    assert word == read_response(response(text("x"), reason=reason)).finish_reason


def test_usage() -> None:
    """What was read from a cache and written into one is part of the input."""
    message = read_response(response(text("x"), cacheReadInputTokens=3, cacheWriteInputTokens=4))
    expected = {"input": 17, "output": 5, "cache_read": 3, "cache_write": 4, "total": 15}
    assert expected == message.token_usage


def test_usage_without_a_cache() -> None:
    """Where nothing is said of a cache, neither is it here; nor of anything, without counts."""
    counts = read_response(response(text("x"))).token_usage
    assert {"input": 10, "output": 5, "total": 15} == counts
    assert None is read_response({"output": {"message": {"content": []}}}).token_usage


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (7, "a dictionary is needed, not int"),
        ({}, "'output' is needed"),
        ({"output": {}}, "'message' is needed"),
        ({"output": {"message": {}}}, "'content' is needed"),
        (
            {"output": {"message": {"content": []}}, "stopReason": 7},
            "'stopReason' must be a string, not int",
        ),
    ],
)
def test_response_error(data: object, what: str) -> None:
    """What is no response is an error that names the key."""
    assert what == raised(DataError, lambda: read_response(data)).what


# The check itself.


def checked(content: list[Any], **further: Any) -> None:
    """Check a payload of one user turn."""
    check_bedrock({"messages": [{"role": "user", "content": content}], **further}, ABLE)


@typed
@pytest.mark.parametrize(
    "content",
    [
        pytest.param([], id="empty"),
        pytest.param([text(" ")], id="blank"),
        pytest.param([{"text": "x", "type": "text"}], id="two keys"),
        pytest.param([{"hologram": {}}], id="an unknown key"),
        pytest.param([use("a")], id="a call of a user"),
        pytest.param([result("a", "x")], id="a result without its call"),
        pytest.param([POINT, text("x")], id="a mark first"),
        pytest.param([text("x"), POINT, HOUR], id="two marks in a row"),
        pytest.param([text("x"), {"cachePoint": {"type": "x"}}], id="an enumeration"),
        pytest.param([{"image": {"format": "jpg", "source": {"bytes": b"x"}}}], id="a format"),
        pytest.param([{"image": {"format": "png", "source": {"bytes": b""}}}], id="no bytes"),
        pytest.param([{"image": {"format": "png", "source": {"bytes": "x"}}}], id="text as bytes"),
        pytest.param([PICTURED] * 21, id="too many pictures"),
        pytest.param(
            [text("x"), {"document": {"name": "a.b", "source": {"text": "x"}}}], id="a name"
        ),
        pytest.param([{"document": {"name": "a", "source": {"text": "x"}}}], id="no text"),
    ],
)
def test_check_refuses_a_turn(content: list[Any]) -> None:
    """What the service refuses, the check refuses."""
    with pytest.raises(AssertionError):
        checked(content)


@typed
@pytest.mark.parametrize(
    "further",
    [
        {"modelId": "x"},
        {"system": [text("")]},
        {"toolConfig": {"tools": []}},
        {"toolConfig": {"tools": [FOUND, FOUND]}},
        {"toolConfig": {"tools": [{"toolSpec": {"name": "a.b", "inputSchema": {"json": {}}}}]}},
        {"toolConfig": {"tools": [FOUND], "toolChoice": {"tool": {"name": "x"}}}},
        {"outputConfig": {"textFormat": {"type": "text", "structure": {}}}},
    ],
)
def test_check_refuses_settings(further: dict[str, Any]) -> None:
    """So it does with settings."""
    with pytest.raises(AssertionError):
        checked([text("x")], **further)


@typed
def test_check_reads_the_model() -> None:
    """Lengths are read from the service model, which boto3 does not hold."""
    spec = {"toolSpec": {"name": "x" * 65, "inputSchema": {"json": {}}}}
    with pytest.raises(AssertionError, match=r"\.toolConfig\.tools\[0\]\.toolSpec\.name: "):
        check_model({"modelId": "x", "toolConfig": {"tools": [spec]}})


def test_an_unknown_key_beside_a_tool() -> None:
    """A tool with a key that is not a mapping is read, and sent as it was."""
    unknown_tool = {"systemTool": {"name": "s"}, "new": 1}
    function = {"toolSpec": {"name": "t", "inputSchema": {"json": {}}}}
    payload = {
        "messages": [{"role": "user", "content": [{"text": "a"}]}],
        "toolConfig": {"tools": [function, unknown_tool]},
    }
    again = render(read_payload(payload, "bedrock"), provider="bedrock").to_bedrock()
    assert unknown_tool == again["toolConfig"]["tools"][1]


def test_a_document_that_leaves_its_text() -> None:
    """A document that cannot stand beside results gets a text where its own stays with them."""
    results = (say("user", "Hi"), say("assistant", call("a")), answer("a", "A"))
    file = DocumentBlock(media("base64", "JVBERi0xLjQ=", "application/pdf"))
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    prompt = Prompt((*results, say("user", "One"), say("user", file)))
    rendered = render(prompt, model=model, provider="bedrock")
    *_, beside, between, separate_turn = rendered.to_bedrock()["messages"]
    assert [["toolResult", "text"], ["text"], ["document", "text"]] == [
        [key for block in message["content"] for key in block]
        for message in (beside, between, separate_turn)
    ]
    assert 1 == [hint.name for hint in rendered.hints].count("inserted_text")
