"""Servers near OpenAI, each by its row in ``servers.toml``: replies, histories and prompts."""

import base64
import copy
import json
import pickle
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from promptdsl import *
from tests.internals import ServerName, servers, servers_module
from tests.renders import reported
from tests.wire.servers_page import PAGE, page

Json = Any  # Any: the JSON of a server
ROWS: Mapping[str, Json] = tomllib.loads(
    Path(__file__).with_name("servers.toml").read_text("utf-8")
)
DATA = Path(servers_module.__file__).with_name("servers.toml")
SERVERS = {server.name: server for server in servers()}
PROVIDERS = get_args(AdapterName)
every_row = pytest.mark.parametrize("name", ROWS)
ID = "call_0123456789"
TEXTS = ("content", "reasoning", "reasoning_content", "reasoning_text")
"""The keys of an answer that come in pieces."""
CLAUDE: Json = [
    {"role": "user", "content": "q"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "tool_use", "id": "toolu_01Ab", "name": "find", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_01Ab", "content": "x"}],
    },
]
"""A conversation that Claude began."""


def is_chat(name: str) -> bool:
    """Return whether a server has the interface of Chat."""
    return SERVERS[name].adapter == "openai_compatible"


def answer_of(row: Json) -> Json:
    """Return the answer of a server: what its row says, and a call."""
    function = {"name": "find", "arguments": '{"q": 1}'}
    call = {"id": ID, "type": "function", "function": function, **row.get("call", {})}
    content = row.get("parts")
    return {"role": "assistant", "content": content, **row.get("answer", {}), "tool_calls": [call]}


def items_of(row: Json) -> list[Json]:
    """Return the items of an answer of Responses, with a call."""
    call = {"type": "function_call", "call_id": ID, "name": "find", "arguments": "{}"}
    return [*row["items"], call]


def reply_of(row: Json) -> Json:
    """Return the reply of a server."""
    if "items" in row:
        return {"object": "response", "status": "completed", "output": items_of(row)}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": answer_of(row)}
    return {"object": "chat.completion", "choices": [choice]}


def events_of(row: Json) -> Iterator[Json]:
    """Yield the reply of a server as a stream; texts come in two pieces."""
    if "items" in row:
        for number, item in enumerate(items_of(row)):
            yield {"type": "response.output_item.added", "output_index": number, "item": item}
            yield {"type": "response.output_item.done", "output_index": number, "item": item}
        yield {"type": "response.completed", "response": reply_of(row)}
        return
    answer = answer_of(row)
    for key, value in answer.items():
        if key in TEXTS and isinstance(value, str):
            yield chunk({key: value[:1]})
            yield chunk({key: value[1:]})
        elif key != "tool_calls":
            yield chunk({key: value})
    (call,) = answer["tool_calls"]
    first_delta = {**call, "function": {**call["function"], "arguments": '{"q"'}}
    yield chunk({"tool_calls": [{"index": 0, **first_delta}]})
    yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]})
    yield chunk({}, "tool_calls")


def chunk(delta: Json, finish: str | None = None) -> Json:
    """Return a chunk of a stream of Chat."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "choices": [choice]}


def rendered(name: str, prompt: Timeline) -> Rendered:
    """Return a prompt as it is rendered for the model of a row."""
    return render(prompt, provider=name, model=ROWS[name].get("model"))


def again(name: str, message: Message) -> Rendered:
    """Return the next request of a tool loop, with the answer and the result of its call."""
    return rendered(name, Timeline(User("q"), History([message]), ToolMessage(ID, "x")))


def test_every_server_has_a_row() -> None:
    """Each server of the data file has a row here with its evidence, and facts with a source."""
    assert [*SERVERS] == [name for name in SERVERS if ROWS[name]["evidence"]]
    assert {*SERVERS} == {*ROWS}


def test_every_server_is_a_name_for_type_checkers() -> None:
    """The type of the names of providers has each server of the data file, and no other."""
    assert (*SERVERS,) == get_args(ServerName)


def test_the_page_is_made_from_the_rows() -> None:
    """The table on the page is that of the data file: python -m tests.wire.servers_page."""
    text = PAGE.read_text("utf-8")
    assert page(text) == text


def test_each_row_names_its_source() -> None:
    """Each server says where its facts are from and when somebody looked, each family where."""
    rows = tomllib.loads(DATA.read_text("utf-8"))
    assert [] == [name for name, row in rows.items() if not (row["source"] and row["date"])]
    families = [family for row in rows.values() for family in row.get("families", ())]
    assert families
    assert [] == [family["words"] for family in families if not family["source"]]


@every_row
def test_a_reply_is_read(name: str) -> None:
    """The reasoning of a reply is read, and the name of the server is its origin."""
    message, row = read_response(reply_of(ROWS[name]), provider=name), ROWS[name]
    reasoning = [block for block in message.content if isinstance(block, ReasoningBlock)]
    expected = [row["thought"]] if "thought" in row else [""] * len(row.get("items", ()))
    assert expected == [block.text for block in reasoning]
    assert {name} >= {block.origin for block in reasoning}
    assert [ID] == [call.id for call in message.calls]


@every_row
def test_a_stream_is_read(name: str) -> None:
    """The stream of a reply makes the same message, and a cut one no error."""
    events = [*events_of(ROWS[name])]
    messages: list[Message] = []
    for count in range(1, len(events) + 1):
        reading = read_stream(events[:count], provider=name)
        assert events[:count] == [*reading]
        messages.append(reading.message)
    assert {"assistant"} == {message.role for message in messages}
    assert read_response(reply_of(ROWS[name]), provider=name) == messages[-1]


@every_row
def test_a_reply_goes_back(name: str) -> None:
    """What the server wants again goes back, and only reasoning that it does not want is told."""
    row = ROWS[name]
    result = again(name, read_response(reply_of(row), provider=name))
    if "items" in row:
        items = result.payload()["input"]
        assert row["back_items"] == items[1 : 1 + len(row["back_items"])]
        assert [] == [*reported(result)]
        return
    _, answer, tool = result.payload()["messages"]
    (call,) = answer.pop("tool_calls")
    keys = {key: value for key, value in answer.items() if key != "role" and value is not None}
    assert row.get("back", {}) == keys
    usual = ("id", "type", "function")
    assert row.get("call_back", {}) == {key: call[key] for key in call if key not in usual}
    sent_id = row.get("sent_id", ID)
    assert [sent_id, sent_id] == [call["id"], tool["tool_call_id"]]
    untold = "thought" in row and not row.get("back")
    is_tagged = "<think>" in str(row.get("answer", {}).get("content"))
    expected = ["unsent_reasoning"] if untold or is_tagged else []
    assert expected == [hint.name for hint in result.hints]


@every_row
def test_a_history_of_claude_goes_on(name: str) -> None:
    """A calling turn of another model gets the keys that the server requires."""
    row = ROWS[name]
    result = rendered(name, Timeline(History.from_anthropic(CLAUDE)))
    whys = {hint.why for hint in result.hints if hint.name == "unsent_reasoning"}
    assert len(whys) == 1
    if not is_chat(name):
        types = [item.get("type") for item in result.payload()["input"]]
        assert [None, "function_call", "function_call_output"] == types
        return
    answer = result.payload()["messages"][1]
    (call,) = answer.pop("tool_calls")
    assert {"role": "assistant", "content": None, **row.get("foreign", {})} == answer
    usual = ("id", "type", "function")
    assert row.get("foreign_call", {}) == {key: call[key] for key in call if key not in usual}


@every_row
def test_instructions(name: str) -> None:
    """Leading and later instructions have the roles that the server takes; fenced ones are told."""
    prompt = Timeline(
        System("Base."),
        Developer("First."),
        User("a"),
        Assistant("b"),
        Developer("Plan."),
        User("d"),
    )
    result = rendered(name, prompt)
    payload = result.payload()
    entries = payload["messages"] if is_chat(name) else payload["input"]
    assert ROWS[name]["later"] == " ".join(entry["role"] for entry in entries)
    fenced = [entry["content"] for entry in entries if "<developer>" in entry["content"]]
    is_fenced = ROWS[name]["later"].endswith("user user")
    assert (["<developer>\nPlan.\n</developer>"] if is_fenced else []) == fenced
    assert (["fenced_turn"] if is_fenced else []) == [hint.name for hint in result.hints]


@every_row
def test_marks(name: str) -> None:
    """Cache marks stay where the server takes them; each other one is a hint."""
    prompt = Timeline(
        Tool(name="find", description="Finds.", input_schema={"type": "object"}),
        CacheBreakpoint(),
        System("Be kind.", cache=True),
        User("q", cache=True),
        History(call_of_model()),
        ToolMessage(ID, "x", cache=True),
    )
    result = rendered(name, prompt)
    payload = result.payload()
    entries = payload["messages"] if is_chat(name) else payload["input"]
    holders = [
        ("tools", payload["tools"]),
        *((message.get("role", "tool"), message) for message in entries),
    ]
    keys = ("cache_control", "prompt_cache_breakpoint")
    places = [location for location, holder in holders if any(key in str(holder) for key in keys)]
    assert ROWS[name].get("marks", []) == places
    mark_hints = [hint for hint in result.hints if hint.name == "cache_mark"]
    assert 4 - len(places) == len(mark_hints) + sum(len(loss.also) for loss in mark_hints)


def call_of_model() -> list[Message]:
    """Return the turn of a model that calls a tool."""
    call: Json = {"type": "tool_use", "id": ID, "name": "find", "input": {}}
    return [Message.from_dict({"role": "assistant", "content": [call]})]


@every_row
def test_an_output(name: str) -> None:
    """A schema of the answer is sent where the server takes one, and is text elsewhere: a hint."""
    schema: Json = {"type": "object", "properties": {}, "additionalProperties": False}
    result = rendered(name, Timeline(Output(schema), User("q")))
    payload = result.payload()
    output_format = payload.get("response_format", payload.get("text"))
    is_sent = ROWS[name].get("output", False)
    assert (is_sent, not is_sent) == (
        output_format is not None,
        "prompted_output" in [hint.name for hint in result.hints],
    )


ADDRESSED = {"filename": "d.pdf", "file_data": "https://example.org/d.pdf"}


@pytest.mark.parametrize("name", [name for name in ROWS if is_chat(name)])
def test_a_document_by_address(name: str) -> None:
    """The address of a document is sent where the server takes one, and is a loss elsewhere."""
    part = {"type": "file", "file": ADDRESSED}
    prompt = read_payload({"messages": [{"role": "user", "content": [part]}]}, name)
    result = render(prompt, provider=name)
    if name == "openrouter":
        assert ([part], ()) == (result.payload()["messages"][0]["content"], reported(result))
    else:
        assert ["content"] == [loss.kind for loss in result.losses]


@pytest.mark.parametrize("name", [name for name in ROWS if is_chat(name)])
def test_a_document_in_a_data_url(name: str) -> None:
    """A ``data:`` URL contains the bytes: it is sent like base64, not as an address."""
    url = "data:application/pdf;base64,JVBERi0="
    [in_url, as_base64] = [
        render(User(DocumentBlock(source)), provider=name)
        for source in (
            MediaSource("url", url),
            MediaSource("base64", "JVBERi0=", "application/pdf"),
        )
    ]
    assert as_base64.payload() == in_url.payload()
    if name == "openrouter":
        part = {"type": "file", "file": {"file_data": url, "filename": "document.pdf"}}
        assert [part] == in_url.payload()["messages"][0]["content"]


@pytest.mark.parametrize("gap", ["", "\n", "\n\n", " "])
def test_reasoning_between_tags_goes_back(gap: str) -> None:
    """Reasoning that was read between tags goes back as it came, in the turn that is open."""
    call = {"id": ID, "type": "function", "function": {"name": "find", "arguments": "{}"}}
    text = f"<think>hm</think>{gap}One moment."
    answer = {"role": "assistant", "content": text, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": ID, "content": "x"}
    question = {"role": "user", "content": "q"}
    history = [question, answer, result]
    prompt = Timeline(History.from_openai(history, origin="vllm"))
    assert [*history] == render(prompt, provider="vllm").payload()["messages"]
    later = [*history, {"role": "assistant", "content": "a"}, question]
    for origin, content in (("openai_compatible", text), ("vllm", "One moment.")):
        prompt = Timeline(History.from_openai(later, origin=origin))
        messages = render(prompt, provider="vllm").payload()["messages"]
        assert content == messages[1]["content"]


def test_an_unknown_model_of_a_family() -> None:
    """An unknown model gets the facts of its family, and never a server."""
    prompt = Timeline(System("Base."), User("a"), Assistant("b"), Developer("Plan."), User("d"))
    qwen = render(prompt, provider="openai_compatible", model="qwen/qwen4-max")
    assert ["system", "user", "assistant", "user", "user"] == [
        entry["role"] for entry in qwen.payload()["messages"]
    ]
    for model in ("qwen/qwen4-max", "deepseek-v9", "mistral-giant", "openrouter/some"):
        assert render(prompt, model=model).facts.provider is None
    glm = [message.to_dict() for message in read_payload([THOUGHT], "openai_compatible").messages]
    payload_of_family = render(
        Timeline(User("q"), History(glm)), provider="openai_compatible", model="glm-9"
    )
    assert payload_of_family.payload()["messages"][1]["reasoning_content"] == "hm"


THOUGHT = {"role": "assistant", "content": "a", "reasoning_content": "hm"}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ("us.anthropic.claude-opus-9-v1:0", []),
        ("us.amazon.nova-9-pro-v1:0", []),
        ("acme.sees-1-v1:0", ["unproven_media"]),
        (None, []),
    ],
)
def test_a_picture_for_an_unknown_model_of_bedrock(model: str | None, names: list[str]) -> None:
    """A picture goes to a model of which nothing is known with a hint, and not to gpt-oss."""
    prompt = User("What is it?", Image.from_bytes(PNG))
    result = render(prompt, provider="bedrock", model=model)
    assert names == [hint.name for hint in result.hints if hint.name == "unproven_media"]
    lost = render(prompt, provider="bedrock", model="openai.gpt-oss-120b-1:0").losses
    assert ["content"] == [loss.kind for loss in lost]


@every_row
def test_what_is_rendered_is_kept(name: str) -> None:
    """The render for a server can be recorded, pickled, copied and counted like any other."""
    message = read_response(reply_of(ROWS[name]), provider=name)
    result = again(name, message)
    record = PromptRecord.from_dict(json.loads(result.record().to_json()))
    assert name == record.to_dict()["model"]["provider"]
    for copied in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert (result.payload(), result.facts) == (copied.payload(), copied.facts)
    assert name in str(result.to_otel()) or SERVERS[name].telemetry in str(result.to_otel())
    long = ReasoningBlock("word " * 500, origin=name)
    answer = Message("assistant", (long, TextBlock("a")))
    longer = rendered(name, Timeline(User("q"), History([answer])))
    payload_text = json.dumps(longer.payload())
    assert ("word word" in payload_text) is (longer.tokens.total > 400)


@pytest.mark.parametrize(
    ("name", "key"), [("github_copilot", "reasoning_opaque"), ("gemini_openai", "extra_content")]
)
def test_two_answers_that_are_one(name: str, key: str) -> None:
    """Of two signatures of one merged answer the later is sent, and the other is lost content."""
    answers = [{"role": "assistant", "content": value, key: value} for value in ("a", "b")]
    messages = [{"role": "user", "content": "q"}, *answers, {"role": "user", "content": "z"}]
    result = render(Timeline(History.from_openai(messages, origin=name)), provider=name)
    assert ["b"] == [entry[key] for entry in result.payload()["messages"] if key in entry]
    lost = [loss for loss in result.losses if loss.kind == "content"]
    assert [f"key {key!r}"] == [loss.what for loss in lost]


@pytest.mark.parametrize("target", [*PROVIDERS, "deepseek", "groq", "mistral", "meta"])
@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("openrouter", "reasoning_details", [{"type": "reasoning.text", "signature": "c2ln"}]),
        ("github_copilot", "reasoning_opaque", "b3BhcXVl"),
        ("litellm", "thinking_blocks", [{"type": "redacted_thinking", "data": "ZGF0YQ=="}]),
    ],
)
def test_a_signature_without_a_place(name: str, key: str, value: Json, target: str) -> None:
    """A signature that another target has no place for is lost content, and names both."""
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", key: value}]
    prompt = Timeline(History.from_openai(messages, origin=name), User("z"))
    losses = reported(render(prompt, provider=target))
    (lost,) = [loss for loss in losses if loss.kind == "content"]
    assert f"key {key!r}" == lost.what
    assert f"it comes from {name}, and {target} does not take it" == lost.why


def test_keys_that_stand_elsewhere() -> None:
    """A key that answers keep is told on a message of another role, and on a function."""
    question = {"role": "user", "content": "q", "extra_content": {"a": 1}}
    function = {"name": "f", "arguments": "{}", "extra_content": {"a": 1}}
    call = {"id": ID, "type": "function", "function": function}
    messages = [question, {"role": "assistant", "content": None, "tool_calls": [call]}]
    hints = render(
        Timeline(History.from_openai(messages, origin="gemini_openai"), ToolMessage(ID, "x")),
        provider="gemini_openai",
    ).hints
    unread_keys = [(loss.what, len(loss.also)) for loss in hints if loss.name == "unread_key"]
    assert 2 == sum(1 + count for _, count in unread_keys)
    assert {"key 'extra_content'"} == {what for what, _ in unread_keys}


def test_what_leading_instructions_lose() -> None:
    """Leading instructions that are sent as one tell of their names."""
    messages = [
        {"role": "system", "content": "A", "name": "x"},
        {"role": "system", "content": "B"},
        {"role": "user", "content": "q"},
    ]
    result = render(read_payload({"messages": messages}, "vllm"), provider="vllm")
    assert "A\n\nB" == result.payload()["messages"][0]["content"]
    assert ["speaker_name"] == [hint.name for hint in result.hints]


def test_texts_alone() -> None:
    """A refusal is a text where a server takes no lists, and an unknown part is lost content."""
    refused = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    odd = {"role": "user", "content": [{"type": "odd", "x": 1}, {"type": "text", "text": "q"}]}
    messages = [{"role": "user", "content": "q"}, refused, odd]
    result = render(read_payload({"messages": messages}, "deepseek"), provider="deepseek")
    contents = [entry["content"] for entry in result.payload()["messages"]]
    assert ["q", "No.", "q"] == contents
    assert ["odd block"] == [loss.what for loss in result.losses if loss.kind == "content"]


def test_a_server_with_developers() -> None:
    """A later developer is fenced also where the server has this role, and takes it first."""
    facts: Json = {"developer": True, "later_system": False, "several_systems": True}
    prompt = Timeline(Developer("A."), User("q"), Assistant("a"), Developer("B."), User("z"))
    with register_provider("house", adapter="openai_compatible", **facts):
        result = render(prompt, provider="house")
    roles = [entry["role"] for entry in result.payload()["messages"]]
    assert ["developer", "user", "assistant", "user", "user"] == roles
    assert ["fenced_turn"] == [hint.name for hint in result.hints]


def test_a_user_after_results() -> None:
    """A text of the model stands between results and a user where the server needs one."""
    call = ToolUse("find", {}, id="abCD12345")
    prompt = Timeline(User("q"), Assistant(call), ToolMessage("abCD12345", "x"), User("z"))
    result = render(prompt, provider="mistral")
    roles = [entry["role"] for entry in result.payload()["messages"]]
    assert ["user", "assistant", "tool", "assistant", "user"] == roles
    assert "." == result.payload()["messages"][3]["content"]
    assert "inserted_text" in [hint.name for hint in result.hints]


def test_items_of_a_stream() -> None:
    """Pieces of reasoning belong together by their number, or by their id."""
    pieces = [
        [{"type": "reasoning.text", "index": 0, "text": "a"}],
        [{"type": "reasoning.text", "index": 1, "text": "b"}],
        [{"type": "reasoning.text", "index": 0, "text": "c", "signature": "s"}],
        [{"type": "reasoning.text", "id": "x", "text": "d"}],
        [{"type": "reasoning.text", "id": "y", "text": "e"}],
    ]
    reading = read_stream(
        [*(chunk({"reasoning_details": piece}) for piece in pieces), chunk({}, "stop")],
        provider="openrouter",
    )
    assert 6 == len([*reading])
    (block,) = reading.message.content
    assert isinstance(block, ReasoningBlock)
    details: Json = block.extra["reasoning_details"]
    assert ["ac", "b", "d", "e"] == [item["text"] for item in details]


def test_a_flat_call_keeps_its_keys() -> None:
    """A call that another library wrote flat has the further keys of its server, too."""
    signed = {"google": {"thought_signature": "c2ln"}}
    call = {"id": ID, "name": "find", "arguments": "{}", "extra_content": signed}
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "tool_calls": [call]}]
    history = History.from_openai(messages, origin="gemini_openai")
    result = render(Timeline(history, ToolMessage(ID, "x")), provider="gemini_openai")
    assert signed == result.payload()["messages"][1]["tool_calls"][0]["extra_content"]


@pytest.mark.parametrize(("text", "names"), [("hm", []), ("other", ["unsent_reasoning"])])
def test_a_text_beside_kept_keys(text: str, names: list[str]) -> None:
    """A text that the kept keys repeat is no loss, and any other text is told."""
    details = [{"type": "reasoning.text", "text": "hm", "signature": "c2ln"}]
    answer = {"role": "assistant", "content": "a", "reasoning": text, "reasoning_details": details}
    messages = [{"role": "user", "content": "q"}, answer, {"role": "user", "content": "z"}]
    result = render(
        Timeline(History.from_openai(messages, origin="snowflake")), provider="snowflake"
    )
    assert details == result.payload()["messages"][1]["reasoning_details"]
    assert names == [hint.name for hint in result.hints]


def test_a_blank_question_ends_no_turn() -> None:
    """Reasoning of the open turn goes back where a later message of the user has no text."""
    call = {"id": ID, "type": "function", "function": {"name": "find", "arguments": "{}"}}
    answer = {"role": "assistant", "content": None, "reasoning": "hm", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": ID, "content": "x"}
    messages = [{"role": "user", "content": "q"}, answer, result, {"role": "user", "content": ""}]
    written_payload = render(
        Timeline(History.from_openai(messages, origin="vllm")), provider="vllm"
    ).payload()
    assert "hm" == written_payload["messages"][1]["reasoning"]
