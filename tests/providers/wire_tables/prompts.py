"""The prompts of the wire tables: by file and case, what is written, and for which targets."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from promptdsl import *

FOLDER = Path(__file__).parent

TARGETS: Mapping[str, Mapping[str, Any]] = {
    "openai": {"model": "gpt-5.6-sol"},
    "openai_compatible": {"provider": "openai_compatible"},
    "openai_responses": {"model": "gpt-5.6-sol", "provider": "openai_responses"},
    "anthropic": {"model": "claude-opus-5"},
    "gemini": {"model": "gemini-3.1-pro"},
    "bedrock": {
        "model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "provider": "bedrock",
    },
    "chat_template": {
        "provider": "chat_template",
        "chat_template": (FOLDER / "open.jinja").read_text(encoding="utf-8"),
    },
    "openai, no model": {"provider": "openai"},
    "openai, gpt-4": {"model": "gpt-4"},
    "openai, o1-mini": {"model": "o1-mini"},
    "openai_responses, gpt-4": {"model": "gpt-4", "provider": "openai_responses"},
    "openai_responses, o1-mini": {"model": "o1-mini", "provider": "openai_responses"},
    "anthropic, no model": {"provider": "anthropic"},
    "anthropic, claude-opus-5-5": {"model": "claude-opus-5-5"},
    "anthropic, claude-haiku-5-5": {"model": "claude-haiku-5-5"},
    "anthropic, claude-opus-4-7": {"model": "claude-opus-4-7"},
    "anthropic, claude-opus-4-5": {"model": "claude-opus-4-5"},
    "gemini, gemini-2.5-pro": {"model": "gemini-2.5-pro"},
    "gemini, gemini-3.6-flash": {"model": "gemini-3.6-flash"},
    "bedrock, no model": {"provider": "bedrock"},
    "bedrock, claude-opus-5-5": {
        "model": "us.anthropic.claude-opus-5-5-v1:0",
        "provider": "bedrock",
    },
    "bedrock, amazon.nova-lite": {"model": "amazon.nova-lite-v1:0"},
    "bedrock, pixtral": {"model": "us.mistral.pixtral-large-2502-v1:0", "provider": "bedrock"},
    "bedrock, llama": {"model": "us.meta.llama3-3-70b-instruct-v1:0", "provider": "bedrock"},
    "chat_template, none": {"provider": "chat_template"},
    "chat_template, plain": {
        "provider": "chat_template",
        "chat_template": (FOLDER / "plain.jinja").read_text(encoding="utf-8"),
    },
}
"""By name, which begins with that of the provider, what a prompt is rendered for."""

MAIN = tuple(TARGETS)[:7]
"""One target of every provider: those of most cases."""

CHOSEN = (
    *MAIN,
    *("anthropic, claude-opus-5-5", "bedrock, claude-opus-5-5", "bedrock, amazon.nova-lite"),
)


class Case(NamedTuple):
    """What is written, what it is rendered with, and for which targets.

    ``tools`` tells whether the table shows the tools that are sent beside the messages.
    """

    tree: Callable[[], Any]
    options: Mapping[str, Any] = {}
    targets: tuple[str, ...] = MAIN
    tools: bool = False


def greeted(*messages: Mapping[str, Any] | Message) -> Callable[[], Any]:
    """Return a prompt factory: a greeting, then these messages as they are."""
    return lambda: Prompt((Message("user", "Hi"), *map(_message, messages)))


def _message(data: Any) -> Message:
    return data if isinstance(data, Message) else Message.from_dict(data)


def asked(*blocks: Any) -> Callable[[], Any]:
    """Return a prompt factory: one user turn of these blocks."""
    return lambda: Prompt((Message("user", blocks),))


def answered(*blocks: Any) -> Callable[[], Any]:
    """Return a prompt factory: a model turn of these blocks between two user turns."""
    return greeted(Message("assistant", blocks), Message("user", "Go on"))


def called(
    *results: Any, arguments: str = '{"query": "cats"}', beside: Any = None
) -> Callable[[], Any]:
    """Return a prompt factory: a call of a known tool, its results, and what follows."""
    further = () if beside is None else (Message("user", ("Go on", beside)),)
    call = Message("assistant", (ToolUseBlock("call_1", "find", arguments),))
    return lambda: Prompt(
        (
            Message("user", "Hi"),
            call,
            *(Message("tool", (result,)) for result in results),
            *further,
        ),
        (FIND,),
    )


def offered(*tools: ToolDefinition) -> Callable[[], Any]:
    """Return a prompt factory: a greeting, with these tools."""
    return lambda: Prompt((Message("user", "Hi"),), tools)


def shaped(schema: Mapping[str, Any], **options: Any) -> Callable[[], Any]:
    """Return a prompt factory: a greeting, with this schema for the answer."""
    return lambda: Prompt((Message("user", "Hi"),), output=OutputSchema(schema, **options))


def media(
    kind: type, source: str, value: str, media_type: str | None = None, **options: Any
) -> Any:
    """Return a block of an attachment."""
    return kind(MediaSource(source, value, media_type), **options)  # type: ignore[arg-type]


CLOSED = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
    "additionalProperties": False,
}
OPEN = {"type": "object", "properties": {"query": {"type": "string"}}}
REFERRING = {
    "$defs": {
        "Cat": {
            "type": "object",
            "properties": {"name": {"$ref": "#/$defs/Name"}, "mother": {"$ref": "#/$defs/Cat"}},
        },
        "Name": {"type": "string"},
    },
    "type": "object",
    "properties": {"cat": {"$ref": "#/$defs/Cat", "description": "It."}},
    "title": "find",
}
FIND = ToolDefinition("find")
OWN: Mapping[str, ToolDefinition] = {
    "openai": ToolDefinition(
        "grep", raw={"type": "custom", "custom": {"name": "grep"}}, origin="openai"
    ),
    "openai_responses": ToolDefinition(
        "web_search", raw={"type": "web_search"}, origin="openai_responses"
    ),
    "anthropic": ToolDefinition(
        "web_search", raw={"type": "web_search_20250305", "name": "web_search"}, origin="anthropic"
    ),
    "gemini": ToolDefinition("google_search", raw={"google_search": {}}, origin="gemini"),
    "bedrock": ToolDefinition(
        "nova_grounding", raw={"systemTool": {"name": "nova_grounding"}}, origin="bedrock"
    ),
}
SERVER = ToolDefinition(
    "docs",
    raw={"type": "mcp", "server_label": "docs", "server_url": "https://example.com/mcp"},
    origin="openai_responses",
)

PNG, GIF, PDF = "iVBORw0KGgo=", "R0lGODlhAQABAAAAACw=", "JVBERi0xLjQ="
WAV, MP4, TEXT = "UklGRgAAAABXQVZF", "AAAAGGZ0eXBtcDQy", "Q2F0cyBwdXJyLg=="
DOT = media(ImageBlock, "base64", PNG, "image/png")
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
DOCUMENT = media(DocumentBlock, "base64", PDF, "application/pdf")

TOOLS = {
    "a function": Case(offered(ToolDefinition("find", "Searches.", OPEN))),
    "a function that takes nothing": Case(
        offered(ToolDefinition("now", None, {**OPEN, "properties": {}}))
    ),
    "a cache mark behind a tool": Case(
        offered(ToolDefinition("find", None, OPEN, "default"), ToolDefinition("read", cache="1h"))
    ),
    "a schema with definitions": Case(
        offered(ToolDefinition("find", None, REFERRING)),
        targets=("bedrock", "bedrock, amazon.nova-lite"),
    ),
    "strict, the schema is closed": Case(
        offered(ToolDefinition("find", None, CLOSED, extra={"strict": True}, origin="openai")),
        targets=(*MAIN, "bedrock, amazon.nova-lite"),
    ),
    "strict, the schema is open": Case(
        offered(ToolDefinition("find", None, OPEN, extra={"strict": True}, origin="anthropic"))
    ),
    "strict as OpenAI said, the schema is open": Case(
        offered(ToolDefinition("find", None, OPEN, extra={"strict": True}, origin="openai")),
        targets=("openai", "anthropic", "bedrock"),
    ),
    "a key of another provider": Case(
        offered(ToolDefinition("find", None, OPEN, extra={"defer_loading": True}, origin="other"))
    ),
    "a key of no provider": Case(offered(ToolDefinition("find", None, OPEN, extra={"note": "n"}))),
    "a name with other letters": Case(
        offered(ToolDefinition("web find"), ToolDefinition("web_find"), ToolDefinition("1.find"))
    ),
    "a description of white space": Case(offered(ToolDefinition("find", " ", OPEN))),
    "a lone surrogate": Case(offered(ToolDefinition("find", "a\ud800b", OPEN))),
    "a tool of OpenAI": Case(offered(OWN["openai"])),
    "a tool of Responses": Case(offered(OWN["openai_responses"], SERVER)),
    "a tool of Anthropic": Case(offered(OWN["anthropic"])),
    "a tool of Gemini": Case(offered(OWN["gemini"])),
    "a tool of Bedrock": Case(offered(OWN["bedrock"])),
    "a tool a model does not show": Case(
        offered(FIND), targets=("chat_template, plain", "chat_template, none")
    ),
    "a call, and no tools": Case(
        lambda: Prompt(called(ToolResultBlock("call_1", "Cats purr."))().messages),
    ),
    "a call, and only a tool that cannot be sent": Case(
        lambda: Prompt(
            called(ToolResultBlock("call_1", "Cats purr."))().messages,
            (ToolDefinition("elsewhere", raw={"type": "elsewhere"}, origin="elsewhere"),),
        ),
    ),
}

TOOL_CHOICE = {
    **{
        word: Case(offered(FIND), {"tool_choice": word}, CHOSEN)
        for word in ("auto", "none", "required", "find")
    },
    "the tool's name is mended": Case(
        offered(ToolDefinition("web find")), {"tool_choice": "web find"}
    ),
    "a tool of OpenAI": Case(offered(OWN["openai"]), {"tool_choice": "grep"}),
    "a tool of Responses": Case(offered(OWN["openai_responses"]), {"tool_choice": "web_search"}),
    "a server of Responses": Case(offered(SERVER), {"tool_choice": "docs"}, ("openai_responses",)),
    "a tool of Anthropic": Case(offered(OWN["anthropic"]), {"tool_choice": "web_search"}),
    "a tool of Gemini": Case(offered(OWN["gemini"]), {"tool_choice": "google_search"}),
    "a tool of Bedrock": Case(offered(OWN["bedrock"]), {"tool_choice": "nova_grounding"}),
    "auto, and no tools": Case(lambda: Timeline(User("Hi")), {"tool_choice": "auto"}),
    "none, and no tools": Case(lambda: Timeline(User("Hi")), {"tool_choice": "none"}),
    "required, and no tool that can be sent": Case(
        offered(ToolDefinition("elsewhere", raw={"type": "elsewhere"}, origin="elsewhere")),
        {"tool_choice": "required"},
    ),
}

_ANSWER = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 0}},
    "required": ["age"],
    "additionalProperties": False,
}
_NO_SCHEMA = (
    *("openai, gpt-4", "openai_responses, gpt-4", "anthropic, no model"),
    *("bedrock, no model", "chat_template, plain"),
)

OUTPUT = {
    "a closed schema": Case(shaped(CLOSED), targets=(*MAIN, *_NO_SCHEMA)),
    "an open schema": Case(shaped(OPEN)),
    "not strict": Case(shaped(CLOSED, strict=False)),
    "a name and a description": Case(shaped(CLOSED, name="query", description="What to find.")),
    "a name with other letters": Case(shaped(CLOSED, name="my query")),
    "a keyword that Anthropic refuses": Case(shaped(_ANSWER)),
    "written with Output": Case(
        lambda: Timeline(Output(CLOSED, name="query", strict=False), User("Hi"))
    ),
}

_AUDIBLE = (*MAIN, "openai, no model", "openai, gpt-4")

MEDIA = {
    "an image in base64": Case(asked("Look", DOT), targets=(*MAIN, "openai, gpt-4")),
    "an image at an address": Case(
        asked("Look", media(ImageBlock, "url", "https://example.com/a.png"))
    ),
    "an image in a data address": Case(
        asked("Look", media(ImageBlock, "url", f"data:image/png;base64,{PNG}"))
    ),
    "an image by its file id": Case(asked("Look", media(ImageBlock, "file_id", "file_1"))),
    "an image in S3": Case(
        asked("Look", media(ImageBlock, "s3", "s3://cats/a.png")),
        targets=(*MAIN, "bedrock, amazon.nova-lite"),
    ),
    "an image in a bucket of Google": Case(
        asked("Look", media(ImageBlock, "gcs", "gs://cats/a.png"))
    ),
    "an image of a type that few take": Case(
        asked("Look", media(ImageBlock, "base64", "AAAAGGZ0eXBoZWlj", "image/heic"))
    ),
    "an image with a title and a detail": Case(
        lambda: Timeline(User("Look", Image.from_base64(PNG, title="A dot", detail="low")))
    ),
    "an image with a cache mark": Case(
        asked("Look", media(ImageBlock, "base64", PNG, "image/png", cache="default"), "Go on")
    ),
    "an image with a key of its own": Case(
        asked(
            "Look",
            media(ImageBlock, "base64", PNG, "image/png", extra={"min_pixels": 9, "own": "x"}),
        )
    ),
    "an image of a model": Case(answered("Here:", DOT)),
    "an image in system text": Case(
        lambda: Prompt((Message("system", ("Be kind.", DOT)), Message("user", "Hi")))
    ),
    "a recording": Case(
        asked("Listen", media(AudioBlock, "base64", WAV, "audio/wav")),
        targets=_AUDIBLE,
    ),
    "a recording at an address": Case(
        asked("Listen", media(AudioBlock, "url", "https://example.com/a.mp3"))
    ),
    "a document in base64": Case(
        asked("Read", DOCUMENT),
        targets=(*MAIN, "openai, gpt-4", "bedrock, amazon.nova-lite"),
    ),
    "a document with a title": Case(
        lambda: Timeline(User("Read", Document.from_base64(PDF, title="all_cats.pdf")))
    ),
    "a document of text": Case(asked("Read", media(DocumentBlock, "base64", TEXT, "text/plain"))),
    "a document of a word processor": Case(
        asked("Read", media(DocumentBlock, "base64", "UEsDBA==", DOCX))
    ),
    "a document at an address": Case(
        asked("Read", media(DocumentBlock, "url", "https://example.com/a.pdf"))
    ),
    "a document by its file id": Case(asked("Read", media(DocumentBlock, "file_id", "file_1"))),
    "a document in S3": Case(
        asked("Read", media(DocumentBlock, "s3", "s3://cats/a.pdf")),
        targets=(*MAIN, "bedrock, amazon.nova-lite"),
    ),
    "a document with a cache mark and a detail": Case(
        asked(
            "Read",
            media(
                DocumentBlock, "base64", PDF, "application/pdf", detail="original", cache="default"
            ),
        ),
        targets=(*MAIN, "bedrock, amazon.nova-lite"),
    ),
    "a document alone": Case(asked(DOCUMENT)),
    "a film": Case(
        asked("Watch", media(VideoBlock, "base64", MP4, "video/mp4")),
        targets=(*MAIN, "bedrock, amazon.nova-lite"),
    ),
    "a film on YouTube": Case(asked("Watch", media(VideoBlock, "url", "https://youtu.be/abc"))),
}

_MARKED = TextBlock("One", "default")
_CITED = {
    "type": "char_location",
    "cited_text": "Cats meow.",
    "document_index": 0,
    "document_title": "Cats",
    "start_char_index": 0,
    "end_char_index": 10,
}
_NOTED = {
    "type": "url_citation",
    "url": "https://example.com",
    "title": "Cats",
    "start_index": 0,
    "end_index": 5,
}
BLOCKS = {
    "text": Case(asked("Hi")),
    "several texts": Case(asked("One", "Two")),
    "text of white space": Case(greeted(Message("assistant", " "), Message("user", ("", "Go on")))),
    "a lone surrogate in text": Case(asked("a\ud800b")),
    "JSON and code": Case(
        lambda: Timeline(User("Look:", Json({"a": [1, None]}), Code("x = 1", language="python")))
    ),
    "a call": Case(called(ToolResultBlock("call_1", "Cats purr."))),
    "a call written in a tree": Case(
        lambda: Timeline(
            Tool(name="find", description="Find."),
            User("Hi"),
            Assistant("I look.", ToolUse("find", {"query": "cats"}, id="call_1")),
            ToolMessage("call_1", "Cats purr."),
        )
    ),
    "arguments as text": Case(
        called(ToolResultBlock("call_1", "Cats purr."), arguments='{ "query":"cats" }')
    ),
    "arguments that are no JSON": Case(
        called(ToolResultBlock("call_1", "Cats purr."), arguments='{"query": ')
    ),
    "arguments with a lone surrogate": Case(
        called(ToolResultBlock("call_1", "Cats purr."), arguments='{"query": "\\ud800"}')
    ),
    "two calls at once": Case(
        lambda: Prompt(
            (
                Message("user", "Hi"),
                Message(
                    "assistant",
                    (ToolUseBlock("a", "find", "{}"), ToolUseBlock("b", "read", "{}")),
                ),
                Message("tool", (ToolResultBlock("b", "Two"),)),
                Message("tool", (ToolResultBlock("a", "One"),)),
                Message("user", "Go on"),
            ),
            (FIND, ToolDefinition("read")),
        )
    ),
    "an id with other letters": Case(
        lambda: Prompt(
            (
                Message("user", "Hi"),
                Message("assistant", (ToolUseBlock("call 1/" + "x" * 70, "find", "{}"),)),
                Message("tool", (ToolResultBlock("call 1/" + "x" * 70, "One"),)),
            ),
            (FIND,),
        )
    ),
    "a result without text": Case(called(ToolResultBlock("call_1"))),
    "a result that is an error": Case(
        called(ToolResultBlock("call_1", "No such thing.", is_error=True))
    ),
    "an error without text": Case(
        called(ToolResultBlock("call_1", is_error=True, error_type="timeout"))
    ),
    "an image in a result": Case(
        called(ToolResultBlock("call_1", (TextBlock("A dot:"), DOT))),
        targets=(*MAIN, "gemini, gemini-2.5-pro", "openai_responses, gpt-4", "bedrock, pixtral"),
    ),
    "an image in the result of an error": Case(
        called(ToolResultBlock("call_1", (TextBlock("No."), DOT), is_error=True)),
        targets=(*MAIN, "bedrock, llama"),
    ),
    "an image with a mark in a result": Case(
        called(
            ToolResultBlock(
                "call_1",
                (media(ImageBlock, "base64", PNG, "image/png", cache="default", title="A dot"),),
            )
        ),
    ),
    "a document in a result": Case(
        called(
            ToolResultBlock(
                "call_1", (media(DocumentBlock, "base64", PDF, "application/pdf", title="cats"),)
            )
        ),
        targets=(*MAIN, "bedrock, amazon.nova-lite", "bedrock, pixtral"),
    ),
    "a document of text in a result": Case(
        called(ToolResultBlock("call_1", (media(DocumentBlock, "base64", TEXT, "text/csv"),)))
    ),
    "a film in a result": Case(
        called(ToolResultBlock("call_1", (media(VideoBlock, "base64", MP4, "video/mp4"),))),
    ),
    "a result that is an object": Case(
        called(ToolResultBlock("call_1", (TextBlock('{"age": 3}', extra={"json": True}),)))
    ),
    "an object that names what is not there": Case(
        called(ToolResultBlock("call_1", (TextBlock('{"$ref": "a"}', extra={"json": True}),)))
    ),
    "marks in and on a result": Case(
        called(ToolResultBlock("call_1", (TextBlock("One", "1h"),), cache="default")),
    ),
    "reasoning of nobody": Case(
        lambda: Timeline(User("Hi"), Assistant(Reasoning("Hm."), "Yes"), User("Go on"))
    ),
    "reasoning of Anthropic": Case(
        answered(ReasoningBlock("Hm.", "c2ln", origin="anthropic"), "Yes")
    ),
    "encrypted reasoning of Anthropic": Case(
        answered(ReasoningBlock("", encrypted="c2Vj", origin="anthropic"), "Yes")
    ),
    "unsigned reasoning of Anthropic": Case(
        answered(ReasoningBlock("Hm.", origin="anthropic"), "Yes"), targets=("anthropic",)
    ),
    "reasoning of Responses": Case(
        answered(
            ReasoningBlock(
                "Hm.", encrypted="c2Vj", origin="openai_responses", extra={"id": "rs_1"}
            ),
            TextBlock("Yes", extra={"item": {"id": "msg_1", "reasoning": "rs_1"}}),
        )
    ),
    "reasoning of Gemini": Case(answered(ReasoningBlock("Hm.", "c2ln", origin="gemini"), "Yes")),
    "reasoning of Bedrock": Case(
        answered(ReasoningBlock("Hm.", "c2ln", origin="bedrock"), "Yes"),
        targets=(*MAIN, "bedrock, amazon.nova-lite", "bedrock, llama"),
    ),
    "encrypted reasoning of Bedrock": Case(
        answered(ReasoningBlock("", encrypted="c2Vj", origin="bedrock"), "Yes")
    ),
    "reasoning of an open model": Case(
        answered(ReasoningBlock("Hm.", origin="chat_template"), "Yes")
    ),
    "reasoning behind request-only text": Case(
        lambda: Prompt(
            (
                Message("user", "Hi"),
                Message("assistant", (ReasoningBlock("Hm.", "c2ln", origin="anthropic"), "Yes")),
                Message("user", "Only now.", kind="request"),
            )
        ),
        targets=("anthropic", "anthropic, claude-opus-5-5"),
    ),
    "reasoning with a lone surrogate": Case(
        answered(
            ReasoningBlock("a\ud800b", "c2ln", origin="anthropic"),
            ReasoningBlock("a\ud800b", "c2ln", origin="gemini"),
            ReasoningBlock("a\ud800b", "c2ln", origin="bedrock"),
            ReasoningBlock("a\ud800b", origin="openai_responses", extra={"id": "rs_1"}),
            "Yes",
        )
    ),
    "a cache mark": Case(asked(_MARKED, "Two"), targets=(*MAIN, "openai, no model")),
    "a cache mark for an hour": Case(asked(TextBlock("One", "1h"), "Two")),
    "a cache mark on a system text": Case(
        lambda: Timeline(System("Be kind."), CacheBreakpoint("1h"), User("Hi"))
    ),
    "a cache mark on an answer": Case(answered(TextBlock("Yes", "default"))),
    "a cache mark on nothing": Case(asked("Hi", TextBlock("", "default"))),
    "a cache mark on a call": Case(
        lambda: Prompt(
            (
                Message("user", "Hi"),
                Message("assistant", (ToolUseBlock("call_1", "find", "{}", "default"),)),
                Message("tool", (ToolResultBlock("call_1", "One"),)),
            ),
            (FIND,),
        )
    ),
    "five marks, an hour behind five minutes": Case(
        asked(*(TextBlock(word, "default") for word in "abcd"), TextBlock("e", "1h"), _MARKED)
    ),
    "a cache mark behind request-only text": Case(
        lambda: Timeline(User("Hi"), Ephemeral("Now."), CacheBreakpoint())
    ),
    "a name": Case(lambda: Timeline(User("Hi", name="Ann"))),
    "a name with other letters": Case(lambda: Timeline(User("Hi", name="Ann Lee"))),
    "a key that nobody knows": Case(
        lambda: Prompt(
            (
                Message("user", (TextBlock("Hi", extra={"own": 1}),)),
                Message("assistant", (TextBlock("Yes", extra={"own": 1}),)),
                Message("user", "Go on"),
            )
        )
    ),
    "an unknown block": Case(asked("Hi", UnknownBlock({"type": "sticker", "name": "cat"}))),
    "a block of OpenAI": Case(asked("Hi", UnknownBlock({"type": "sticker"}, "openai"))),
    "a block of Responses": Case(
        answered(
            UnknownBlock(
                {
                    "type": "web_search_call",
                    "id": "ws_1",
                    "status": "completed",
                    "action": {"type": "search", "query": "cats"},
                },
                "openai_responses",
            )
        )
    ),
    "a block of Anthropic": Case(
        answered(
            UnknownBlock(
                {
                    "type": "server_tool_use",
                    "id": "srvtoolu_1",
                    "name": "web_search",
                    "input": {"query": "cats"},
                },
                "anthropic",
            ),
            "Yes",
        )
    ),
    "a block of Gemini": Case(
        answered(
            UnknownBlock({"executable_code": {"language": "PYTHON", "code": "1"}}, "gemini"), "Yes"
        )
    ),
    "a block of Bedrock": Case(
        asked("Hi", UnknownBlock({"guardContent": {"text": {"text": "Hm."}}}, "bedrock"))
    ),
    "a refusal": Case(answered(TextBlock("I cannot.", extra={"refusal": True}))),
    "a call of a tool that takes text": Case(
        lambda: Prompt(
            (
                Message("user", "Hi"),
                Message("assistant", (ToolUseBlock("c", "grep", "cats", extra={"custom": True}),)),
                Message("tool", (ToolResultBlock("c", "One"),)),
            ),
            (OWN["openai"],),
        )
    ),
    "reasoning of Responses, and nothing behind it": Case(
        answered(
            ReasoningBlock("Hm.", origin="openai_responses", extra={"id": "rs_1"}),
        ),
        targets=("openai_responses",),
    ),
    "an item of Responses twice": Case(
        answered(*[UnknownBlock({"type": "item_reference", "id": "ws_1"}, "openai_responses")] * 2),
        targets=("openai_responses",),
    ),
    "a search result of Anthropic in an answer": Case(
        answered(
            UnknownBlock(
                {
                    "type": "search_result",
                    "source": "https://example.com",
                    "title": "Cats",
                    "content": [{"type": "text", "text": "Cats purr."}],
                },
                "anthropic",
            ),
            "Yes",
        ),
        targets=("anthropic",),
    ),
    "a document beside a result": Case(
        called(ToolResultBlock("call_1", "One"), beside=DOCUMENT),
        targets=("bedrock", "bedrock, llama", "anthropic"),
    ),
    "a spoken answer": Case(
        answered(TextBlock("Meow.", extra={"audio": {"id": "audio_1"}})),
        targets=(*MAIN, "openai, no model"),
    ),
    "an answer with citations of Anthropic": Case(
        answered(TextBlock("Meow.", extra={"citations": [_CITED]}))
    ),
    "an answer with citations of Bedrock": Case(
        answered(TextBlock("Meow.", extra={"citationsContent": [{"title": "Cats"}]}))
    ),
    "an answer with annotations of Responses": Case(
        answered(TextBlock("Meow.", extra={"annotations": [_NOTED]}))
    ),
    "an answer with the id of Responses": Case(
        answered(
            TextBlock("Meow.", extra={"annotations": [_NOTED], "item": {"id": "msg_1"}}),
        )
    ),
    "a document to be cited": Case(
        asked(
            "Read",
            media(
                DocumentBlock,
                *("base64", PDF, "application/pdf"),
                extra={"context": "Of cats.", "citations": {"enabled": True}},
            ),
        )
    ),
    "a call of a user": Case(asked("Hi", ToolUseBlock("call_1", "find", "{}"))),
    "a result beside what a user says": Case(
        lambda: Prompt(
            (
                Message("user", "Hi"),
                Message("assistant", (ToolUseBlock("call_1", "find", "{}"),)),
                Message("user", (ToolResultBlock("call_1", "One"), "Go on")),
            ),
            (FIND,),
        )
    ),
    "reasoning of a user": Case(asked("Hi", ReasoningBlock("Hm.", "c2ln", origin="anthropic"))),
    "a call signed by Gemini": Case(
        lambda: Prompt(
            (
                Message("user", "Hi"),
                Message(
                    "assistant",
                    (ToolUseBlock("c", "find", "{}", extra={"thought_signature": "c2ln"}),),
                ),
                Message("tool", (ToolResultBlock("c", "One"),)),
            ),
            (FIND,),
        ),
    ),
}

_TURNS = (
    *MAIN,
    *("openai, o1-mini", "openai_responses, o1-mini", "anthropic, claude-opus-4-7"),
    *("chat_template, none", "chat_template, plain"),
)
_ENDS = (*MAIN, "anthropic, claude-opus-4-5", "gemini, gemini-3.6-flash", "chat_template, plain")

TURNS = {
    "system and developer": Case(
        lambda: Timeline(System("Be kind."), Developer("Be brief."), User("Hi")), targets=_TURNS
    ),
    "a developer's instruction later": Case(
        lambda: Timeline(User("Hi"), Assistant("Hello"), User("Go on"), Developer("Be brief.")),
        targets=_TURNS,
    ),
    "a developer's instruction where it is not legal": Case(
        lambda: Timeline(User("Hi"), Assistant("Hello"), Developer("Be brief."), User("Go on")),
    ),
    "a system message later, recorded": Case(
        lambda: Timeline(
            History.from_openai(
                [
                    {"role": "user", "content": "Hi"},
                    {"role": "system", "content": "Be brief."},
                    {"role": "assistant", "content": "Hello"},
                    {"role": "user", "content": "Go on"},
                ]
            )
        )
    ),
    "an instruction behind a result": Case(
        lambda: Timeline(
            Tool(name="find", description="Find."),
            User("Hi"),
            Assistant(ToolUse("find", {}, id="call_1")),
            ToolMessage("call_1", "Cats purr."),
            Developer("Be brief."),
        ),
        targets=("anthropic", "anthropic, claude-haiku-5-5"),
    ),
    "an event": Case(
        lambda: Timeline(
            User("Hi"), Assistant("Hello"), Event(UserAction("click", target="buy")), User("Go on")
        ),
        targets=_TURNS,
    ),
    "events of the application, last": Case(
        lambda: Timeline(
            User("Hi"),
            Event(StateChange("cart", old=1, new=2), SystemEvent("timeout", source="shop")),
        ),
    ),
    "request-only text": Case(
        lambda: Timeline(User("Hi"), Ephemeral("It is noon.")), targets=_TURNS
    ),
    "grounding": Case(lambda: Timeline(Grounding("doc_1", "Cats purr."), User("Do cats purr?"))),
    "neighbours": Case(
        lambda: Timeline(User("One"), User("Two"), Assistant("Three"), Assistant("Four"), User("5"))
    ),
    "the model speaks first": Case(
        lambda: Timeline(System("Be kind."), Assistant("Hello"), User("Hi")),
        targets=(*MAIN, "chat_template, plain"),
    ),
    "the model speaks last": Case(
        lambda: Timeline(User("Hi"), Assistant("Once upon ")), targets=_ENDS
    ),
    "a system text alone": Case(lambda: Timeline(System("Be kind."))),
    "nothing": Case(Prompt),
}


def _showing_tools(cases: Mapping[str, Case]) -> dict[str, Case]:
    return {name: case._replace(tools=True) for name, case in cases.items()}


FILES: Mapping[str, Mapping[str, Case]] = {
    "tools": _showing_tools(TOOLS),
    "tool_choice": _showing_tools(TOOL_CHOICE),
    "output": OUTPUT,
    "media": MEDIA,
    "blocks": BLOCKS,
    "turns": TURNS,
}
"""By the name of a file, its cases."""
