"""The setting ``json_keys``: tools and the inputs of calls with sorted keys, and what stays."""

import gc
import json
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from promptdsl.comparing import record_rendered
from promptdsl.integrations.litellm import to_litellm
from tests.errors import raised
from tests.internals import TARGETS
from tests.providers.every_target import as_wire
from tests.searching import examples

SORTED: Any = {"json_keys": "sorted"}
EVERY_PROVIDER = pytest.mark.parametrize("provider", sorted(TARGETS))
KEYS = st.sampled_from(["a", "b", "c", "B", "é", "10", "9", "type", ""])
DATA = st.recursive(
    st.integers(-9, 9) | st.sampled_from(["x", "", None, True, 1.5]),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(KEYS, parts, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, DATA, max_size=4)


def reordered(value: Any, order: Callable[[list[str]], list[str]]) -> Any:
    """Return equal JSON data with its keys in another order."""
    if isinstance(value, dict):
        return {key: reordered(value[key], order) for key in order([*value])}
    return [reordered(part, order) for part in value] if isinstance(value, list) else value


def prompt_with(schema: Any, arguments: Any, **extra: Any) -> Timeline:
    """Return a prompt with a tool, a call of it, its result and an output schema."""
    return Timeline(
        Tool(name="find", description="Find it.", input_schema=schema),
        User("Hi."),
        Assistant(ToolUse("find", arguments, id="c1", **extra)),
        ToolMessage("c1", '{"b": 1, "a": 2}'),
        User("Go on."),
    )


def schema_of(properties: Any) -> Any:
    """Return a schema of an object whose properties have default values."""
    fields = {key or "x": {"default": part} for key, part in properties.items()}
    return {"type": "object", "properties": fields}


def payload(prompt: Any, provider: str, **settings: Any) -> Any:
    """Return the payload for a provider."""
    return render(prompt, provider=provider, transformation=settings).payload()  # type: ignore[arg-type]


@EVERY_PROVIDER
@examples(200, 8)
@given(properties=OBJECTS, arguments=OBJECTS, data=st.data())
def test_any_order_gives_the_same_bytes(
    provider: str, properties: Any, arguments: Any, data: st.DataObject
) -> None:
    """Tools and calls with keys in any order are sent as equal bytes."""

    def shuffled(keys: list[str]) -> list[str]:
        return data.draw(st.permutations(keys))

    schema = schema_of(properties)
    other = reordered(schema, shuffled), reordered(arguments, shuffled)
    payload_in_order = payload(prompt_with(schema, arguments), provider, **SORTED)
    assert as_wire(payload_in_order) == as_wire(payload(prompt_with(*other), provider, **SORTED))


def parsed(value: Any) -> Any:
    """Return a payload in which a text of JSON, such as the arguments of a call, is its data."""
    if isinstance(value, dict):
        return {key: parsed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [*map(parsed, value)]
    if isinstance(value, str) and value.startswith("{"):
        return json.loads(value)
    return value


@pytest.mark.parametrize("provider", sorted({*TARGETS} - {"chat_template"}))
@examples(100, 5)
@given(properties=OBJECTS, arguments=OBJECTS)
def test_only_the_order_changes(provider: str, properties: Any, arguments: Any) -> None:
    """With the setting the payload has the same data, and without it nothing changes."""
    prompt = prompt_with(schema_of(properties), arguments)
    in_author_order, without = payload(prompt, provider), payload(prompt, provider, json_keys=None)
    assert as_wire(in_author_order) == as_wire(without)
    assert parsed(in_author_order) == parsed(payload(prompt, provider, **SORTED))


ARGUMENTS = {"b": 1, "a": {"d": [{"z": 0, "y": 0}], "c": "é"}}
SCHEMA: Any = {"type": "object", "required": ["b"], "properties": {"b": {}, "a": {}}}


@pytest.mark.parametrize(
    ("provider", "path", "tool", "call"),
    [
        (
            "anthropic",
            ("messages", 1, "content", 0, "input"),
            ("tools", 0, "input_schema"),
            {"a": {"c": "é", "d": [{"y": 0, "z": 0}]}, "b": 1},
        ),
        (
            "openai",
            ("messages", 1, "tool_calls", 0, "function", "arguments"),
            ("tools", 0, "function", "parameters"),
            '{"a": {"c": "é", "d": [{"y": 0, "z": 0}]}, "b": 1}',
        ),
        (
            "openai_responses",
            ("input", 1, "arguments"),
            ("tools", 0, "parameters"),
            '{"a": {"c": "é", "d": [{"y": 0, "z": 0}]}, "b": 1}',
        ),
        (
            "gemini",
            ("contents", 1, "parts", 0, "function_call", "args"),
            ("config", "tools", 0, "function_declarations", 0, "parameters_json_schema"),
            {"a": {"c": "é", "d": [{"y": 0, "z": 0}]}, "b": 1},
        ),
        (
            "bedrock",
            ("messages", 1, "content", 0, "toolUse", "input"),
            ("toolConfig", "tools", 0, "toolSpec", "inputSchema", "json"),
            {"a": {"c": "é", "d": [{"y": 0, "z": 0}]}, "b": 1},
        ),
    ],
)
def test_what_is_sent(provider: str, path: Any, tool: Any, call: Any) -> None:
    """The keys of a schema and of an input are sorted at each depth; lists keep their order."""
    sorted_payload = payload(prompt_with(SCHEMA, ARGUMENTS), provider, **SORTED)

    def at(address: Any) -> Any:
        value = sorted_payload
        for key in address:
            value = value[key]
        return value

    assert json.dumps(call) == json.dumps(at(path))
    schema = {"properties": {"a": {}, "b": {}}, "required": ["b"], "type": "object"}
    assert json.dumps(schema) == json.dumps(at(tool))


def calls_sent(*blocks: Any, model: str = "claude-opus-5-5") -> list[Any]:
    """Return the inputs of the calls of a message, as they are sent to a model."""
    ids = [block.id for block in blocks if isinstance(block, ToolUseBlock)]
    results = Message("tool", [ToolResultBlock(id, (TextBlock("ok"),)) for id in ids])
    messages = (Message("user", "Hi."), Message("assistant", [*blocks]), results)
    sorted_payload = render(Prompt(messages), model=model, transformation=SORTED).payload()
    content = sorted_payload["messages"][1]["content"]
    return [json.dumps(block["input"]) for block in content if block["type"] == "tool_use"]


def test_a_call_before_reasoning_stays() -> None:
    """Reasoning may be valid only after the bytes before it, so these stay; later calls do not."""
    reasoning = ReasoningBlock("Hm.", signature="c2ln", origin="anthropic")
    first, second = (ToolUseBlock(id, "find", '{"b": 1, "a": 2}') for id in ("c1", "c2"))
    unsorted, in_order = '{"b": 1, "a": 2}', '{"a": 2, "b": 1}'
    assert [in_order, in_order] == calls_sent(first, second)
    assert [in_order, in_order] == calls_sent(reasoning, first, second)
    assert [unsorted, in_order] == calls_sent(first, reasoning, second)
    assert [unsorted, unsorted] == calls_sent(first, second, reasoning)


def test_a_call_before_a_signed_text_stays() -> None:
    """Gemini may sign a text after a call: the call is sent as it was recorded."""
    call = {"function_call": {"name": "find", "args": {"b": 1, "a": 2}}}
    signed = {"text": "Done.", "thought_signature": "c2ln"}
    result = {"function_response": {"name": "find", "response": {"output": "ok"}}}

    def first_keys(*parts: Any) -> list[str]:
        """Return the first key of each call of an answer with these parts."""
        answer = {"role": "model", "parts": [*parts]}
        results = {"role": "user", "parts": [result] * parts.count(call)}
        turns = [{"role": "user", "parts": [{"text": "Hi."}]}, answer, results]
        sorted_payload = payload(Timeline(History.from_gemini(turns)), "gemini", **SORTED)
        calls = [part.get("function_call") for part in sorted_payload["contents"][1]["parts"]]
        return [next(iter(call["args"])) for call in calls if call]

    assert ["b"] == first_keys(call, signed)
    assert ["a"] == first_keys(call, {"text": "Done."})
    assert ["b", "a"] == first_keys(call, signed, call)


def chat_calls(calls: list[Any], provider: str, **answer: Any) -> Any:
    """Return the calls of a recorded answer of Chat, as they are sent."""
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in calls]
    recorded = {"role": "assistant", "content": "", "tool_calls": calls, **answer}
    turns = [{"role": "user", "content": "Hi."}, recorded, *results]
    sorted_payload = payload(Timeline(History.from_openai(turns)), provider, **SORTED)
    return sorted_payload["messages"][1]["tool_calls"]


def chat_call(call_id: str, arguments: str) -> Any:
    """Return a call as Chat has it."""
    function = {"name": "find", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def test_a_call_that_reasoning_names_stays() -> None:
    """OpenRouter's encrypted reasoning has the id of the call that it belongs to."""
    details = [{"type": "reasoning.encrypted", "data": "x", "id": "c1"}]
    calls = [chat_call(call_id, '{"b": 1, "a": 2}') for call_id in ("c1", "c2")]
    payload_calls = chat_calls(calls, "openrouter", reasoning_details=details)
    assert ['{"b": 1, "a": 2}', '{"a": 2, "b": 1}'] == [
        call["function"]["arguments"] for call in payload_calls
    ]


TEXT_INPUT = '{"z":1,"a":2}'


def test_the_input_of_a_custom_tool_stays() -> None:
    """The input of a custom tool is text, also if it is the JSON of an object."""
    call = {"id": "c1", "type": "custom", "custom": {"name": "run", "input": TEXT_INPUT}}
    assert [call] == chat_calls([call], "openai")
    recorded = [
        {"role": "user", "content": "Hi."},
        {"type": "custom_tool_call", "call_id": "c1", "name": "run", "input": TEXT_INPUT},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"},
    ]
    prompt = Timeline(History.from_openai_responses(recorded))
    assert TEXT_INPUT == payload(prompt, "openai_responses", **SORTED)["input"][1]["input"]


@pytest.mark.parametrize(
    "arguments",
    [
        '{"id": 12345678901234567.25, "a": 1}',
        '{"total": 0.30000000000000000001, "a": 1}',
        '{"small": 1e-400, "a": 1}',
        '{"small": 1e-99999999999999999999, "a": 1}',
        '{"b": 1, "a": 1, "a": 2}',
        '{"b": [{"d": 1, "c": 2, "d": 3}], "a": 1}',
    ],
)
def test_no_digit_or_key_is_lost(arguments: str) -> None:
    """Arguments that Python cannot hold stay as they are."""
    (call,) = chat_calls([chat_call("c1", arguments)], "openai")
    assert arguments == call["function"]["arguments"]


@pytest.mark.parametrize(
    "number", ["1.10", "1E2", "123456789012345678901234567890", "0.1", "5e-324"]
)
def test_equal_numbers_are_sorted(number: str) -> None:
    """A number that keeps its value does not hold back the order of keys."""
    (call,) = chat_calls([chat_call("c1", f'{{"b": {number}, "a": 1}}')], "openai")
    assert '{"a": 1, "b": ' == call["function"]["arguments"][:14]


def test_a_signed_call_stays() -> None:
    """A call with a signature is sent as it was recorded."""
    call = {"function_call": {"name": "find", "args": {"b": 1, "a": 2}}}
    recorded = [
        {"role": "user", "parts": [{"text": "Hi."}]},
        {"role": "model", "parts": [{**call, "thought_signature": "c2ln"}, call]},
        {
            "role": "user",
            "parts": [{"function_response": {"name": "find", "response": {"output": "ok"}}}] * 2,
        },
    ]
    history = Timeline(History.from_gemini(recorded))
    parts = payload(history, "gemini", **SORTED)["contents"][1]["parts"]
    assert ['{"b": 1, "a": 2}', '{"a": 2, "b": 1}'] == [
        json.dumps(part["function_call"]["args"]) for part in parts
    ]


@pytest.mark.parametrize("arguments", ['{"b": 1, "a"', "[1]", '{"b": NaN, "a": 1}', ""])
def test_arguments_that_are_no_object_stay(arguments: str) -> None:
    """Arguments that are no JSON object are sent as without the setting."""
    calls = [ToolUseBlock("c1", "find", arguments)]
    result = Message("tool", [ToolResultBlock("c1", (TextBlock("ok"),))])
    prompt = Prompt((Message("user", "Hi."), Message("assistant", calls), result))
    assert payload(prompt, "openai") == payload(prompt, "openai", **SORTED)


def test_what_else_stays() -> None:
    """Messages, results and the output schema keep their order; a provider's own tool has none."""
    output = {"type": "object", "properties": {"why": {}, "answer": {}}}
    prompt = Timeline(Output(output), *prompt_with(SCHEMA, ARGUMENTS).content)
    rendered = render(prompt, model="gpt-5", transformation=SORTED)
    assert render(prompt, model="gpt-5").messages == rendered.messages
    sorted_payload = rendered.to_openai()
    assert ["why", "answer"] == [
        *sorted_payload["response_format"]["json_schema"]["schema"]["properties"]
    ]
    assert '{"b": 1, "a": 2}' == sorted_payload["messages"][2]["content"]
    search = {"type": "web_search_20250305", "name": "search", "max_uses": 3}
    tools = (ToolDefinition("search", raw=search, origin="anthropic"),)
    own_prompt = Prompt((Message("user", "Hi."),), tools)
    sorted_payload = render(own_prompt, provider="anthropic", transformation=SORTED).to_anthropic()
    assert ["max_uses", "name", "type"] == [*sorted_payload["tools"][0]]


def test_layers() -> None:
    """The timeline sets it, a later layer takes it back, and another target keeps it."""
    prompt = Timeline(*prompt_with(SCHEMA, ARGUMENTS).content, transformation=SORTED)
    rendered = render(prompt, model="gpt-5")
    assert ("sorted", "Timeline") == rendered.explain()["json_keys"]

    def first_key(rendered: Rendered) -> str:
        return next(iter(rendered.to_openai()["tools"][0]["function"]["parameters"]))

    assert "properties" == first_key(rendered)
    assert "properties" == first_key(rendered.for_target("openai"))
    assert "type" == first_key(render(prompt, model="gpt-5", transformation={"json_keys": None}))


def test_a_cache_serves_reordered_data() -> None:
    """With the setting, an order of keys that changes ends no shared prefix."""
    schema, arguments = reordered(SCHEMA, sorted), reordered(ARGUMENTS, sorted)
    before, after = prompt_with(SCHEMA, ARGUMENTS), prompt_with(schema, arguments)
    options: Any = {"model": "claude-opus-5-5", "cache": "auto"}

    def report(**settings: Any) -> PrefixReport:
        first, second = (
            render(prompt, transformation=settings, **options) for prompt in (before, after)
        )
        return prefix_report(first, second)

    assert report().first is not None
    assert report(**SORTED).first is None


def test_records_are_compared_as_they_were_sent() -> None:
    """A record of such a request is rendered with sorted keys again."""
    schema, arguments = reordered(SCHEMA, sorted), reordered(ARGUMENTS, sorted)
    prompts = prompt_with(SCHEMA, ARGUMENTS), prompt_with(schema, arguments)

    def records(**settings: Any) -> list[PromptRecord]:
        options: Any = {"model": "gpt-5", "transformation": settings}
        return [render(prompt, **options).record() for prompt in prompts]

    before, after = map(record_rendered, records(**SORTED))
    assert as_wire(before.payload()) == as_wire(after.payload())
    before, after = map(record_rendered, records())
    assert as_wire(before.payload()) != as_wire(after.payload())


@pytest.mark.parametrize("setting", ["x", ["x"], None, {}])
def test_a_record_with_a_wrong_setting(setting: Any) -> None:
    """A record whose settings are no settings is an error that says so; an older one has none."""
    data = render(Timeline(User("Hi.")), model="gpt-5").record().to_dict()
    data["settings"]["json_keys"] = setting
    error = raised(DataError, lambda: record_rendered(PromptRecord.from_dict(data)))
    assert "this is not a record: its settings have no value of json_keys" == error.what
    del data["settings"]["json_keys"]
    assert record_rendered(PromptRecord.from_dict(data)).messages


def test_the_cached_prefix() -> None:
    """What warms a cache is the beginning of the payload, byte for byte."""
    prompt = prompt_with(SCHEMA, ARGUMENTS)
    rendered = render(prompt, model="claude-opus-5-5", transformation=SORTED, cache="auto")
    prefix, sorted_payload = rendered.prefix(), rendered.payload()
    assert as_wire(prefix["tools"]) == as_wire(sorted_payload["tools"])
    assert as_wire(prefix["messages"][:2]) == as_wire(sorted_payload["messages"][:2])


@pytest.mark.parametrize("model", ["gpt-5", None])
def test_a_gateway(model: str | None) -> None:
    """A gateway gets sorted keys, whether the prompt was rendered for a model or for none."""
    schema, arguments = reordered(SCHEMA, sorted), reordered(ARGUMENTS, sorted)

    def payload_bytes(prompt: Timeline, **settings: Any) -> bytes:
        converted = to_litellm(render(prompt, model=model, transformation=settings))
        return as_wire([converted.messages, converted.tools])

    before, after = prompt_with(SCHEMA, ARGUMENTS), prompt_with(schema, arguments)
    assert payload_bytes(before) != payload_bytes(after)
    assert payload_bytes(before, **SORTED) == payload_bytes(after, **SORTED)


def test_a_growing_conversation() -> None:
    """Of a long conversation each request is that of a conversation rendered at once."""
    tool = Tool(name="find", description="", input_schema=SCHEMA)
    messages: list[Message] = []
    sorted_payload: Any = None
    for number in range(30):
        call = ToolUseBlock(f"c{number}", "find", '{"b": 1, "a": 2}')
        result = ToolResultBlock(call.id, (TextBlock("ok"),))
        messages += Message("user", f"{number}"), Message("assistant", [call])
        messages.append(Message("tool", [result]))
        prompt = Timeline(tool, History(messages))
        sorted_payload = render(
            prompt, model="claude-opus-5-5", transformation=SORTED
        ).to_anthropic()
    copied = Timeline(tool, History([Message.from_dict(message.to_dict()) for message in messages]))
    assert (
        sorted_payload
        == render(copied, model="claude-opus-5-5", transformation=SORTED).to_anthropic()
    )
    assert '{"a": 2, "b": 1}' == json.dumps(sorted_payload["messages"][1]["content"][0]["input"])


def test_no_message_is_kept() -> None:
    """A message that nobody holds any more ends, and what was made of it."""
    messages = [Message("assistant", [ToolUseBlock("c1", "find", '{"b": 1, "a": 2}')])]
    end = weakref.ref(messages[0])
    result = Message("tool", [ToolResultBlock("c1", (TextBlock("ok"),))])
    payload(Prompt((Message("user", "Hi."), *messages, result)), "anthropic", **SORTED)
    messages.clear()
    gc.collect()
    assert end() is None
