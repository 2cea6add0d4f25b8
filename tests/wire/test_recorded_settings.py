"""Settings that no prompt can say: kept as they came, for their provider, and a loss elsewhere."""

from typing import Any

import attrs
import pytest

from promptdsl import *
from tests.errors import raised
from tests.renders import reported

ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "q"}]}
BLOCKS: dict[str, Any] = {
    "messages": [{"role": "user", "content": [{"type": "text", "text": "q"}]}]
}
ITEMS: dict[str, Any] = {"input": [{"role": "user", "content": "q"}]}
CONTENTS: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "q"}]}]}
TURNS: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "q"}]}]}
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


def functions(*names: str) -> list[Any]:
    """Return functions of Chat."""
    return [
        {"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in names
    ]


def flat(*names: str) -> list[Any]:
    """Return functions of Responses."""
    tool = {"type": "function", "parameters": SCHEMA, "strict": False}
    return [{**tool, "name": name} for name in names]


def specs(*names: str) -> dict[str, Any]:
    """Return the tools of Converse."""
    tool = {"inputSchema": {"json": SCHEMA}}
    return {"tools": [{"toolSpec": {"name": name, **tool}} for name in names]}


DECLARED = [
    {"function_declarations": [{"name": name, "parameters_json_schema": SCHEMA} for name in "fg"]}
]
CLAUDE_TOOLS = [{"name": name, "input_schema": SCHEMA} for name in "fg"]
ALLOWED = {"mode": "required", "tools": [{"type": "function", "name": "f"}]}
ANY_OF = {"mode": "ANY", "allowed_function_names": ["f", "g"]}
FORM = {"name": "a", "schema": SCHEMA}

KEPT: dict[str, tuple[str, dict[str, Any], str | None, str]] = {
    "JSON mode of Chat": (
        "openai",
        {**ASKED, "response_format": {"type": "json_object"}},
        None,
        "content: response_format 'json_object'",
    ),
    "text as the format": ("openai", {**ASKED, "response_format": {"type": "text"}}, None, ""),
    "a schema with strict: false": (
        "openai",
        {
            **ASKED,
            "response_format": {"type": "json_schema", "json_schema": {**FORM, "strict": False}},
        },
        None,
        "",
    ),
    "several tools of Chat": (
        "openai",
        {
            **ASKED,
            "tools": functions("f", "g"),
            "tool_choice": {"type": "allowed_tools", "allowed_tools": ALLOWED},
        },
        "required",
        "hint: tool_choice 'allowed_tools'",
    ),
    "Mistral's word for a call": (
        "openai_compatible",
        {**ASKED, "tools": functions("f"), "tool_choice": "any"},
        "required",
        "",
    ),
    "a word that nobody knows": (
        "openai",
        {**ASKED, "tools": functions("f"), "tool_choice": "perhaps"},
        None,
        "hint: tool_choice 'perhaps'",
    ),
    "a tool with the name of a choice": (
        "openai",
        {
            **ASKED,
            "tools": functions("auto"),
            "tool_choice": {"type": "function", "function": {"name": "auto"}},
        },
        None,
        "hint: the choice of a tool called 'auto'",
    ),
    "JSON mode of Responses": (
        "openai_responses",
        {**ITEMS, "text": {"format": {"type": "json_object"}}},
        None,
        "content: format 'json_object'",
    ),
    "several tools of Responses": (
        "openai_responses",
        {**ITEMS, "tools": flat("f", "g"), "tool_choice": {"type": "allowed_tools", **ALLOWED}},
        "required",
        "hint: tool_choice 'allowed_tools'",
    ),
    "a tool of a server": (
        "openai_responses",
        {**ITEMS, "tool_choice": {"type": "mcp", "server_label": "a", "name": "b"}},
        None,
        "hint: the choice of one tool of a server",
    ),
    "no calls side by side": (
        "anthropic",
        {
            **BLOCKS,
            "tools": CLAUDE_TOOLS,
            "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        },
        "required",
        "hint: 'disable_parallel_tool_use' of tool_choice",
    ),
    "a tool without calls side by side": (
        "anthropic",
        {
            **BLOCKS,
            "tools": CLAUDE_TOOLS,
            "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
        },
        "f",
        "hint: 'disable_parallel_tool_use' of tool_choice",
    ),
    "a choice that is new": (
        "anthropic",
        {**BLOCKS, "tools": CLAUDE_TOOLS, "tool_choice": {"type": "each"}},
        None,
        "hint: tool_choice 'each'",
    ),
    "calls that are checked": (
        "gemini",
        {
            **CONTENTS,
            "config": {
                "tools": DECLARED,
                "tool_config": {"function_calling_config": {"mode": "VALIDATED"}},
            },
        },
        "auto",
        "hint: the mode VALIDATED",
    ),
    "some functions of Gemini": (
        "gemini",
        {
            **CONTENTS,
            "config": {"tools": DECLARED, "tool_config": {"function_calling_config": ANY_OF}},
        },
        "required",
        "hint: a choice among several functions",
    ),
    "a further setting of Gemini": (
        "gemini",
        {
            **CONTENTS,
            "config": {
                "tools": DECLARED,
                "tool_config": {"include_server_side_tool_invocations": True},
            },
        },
        None,
        "hint: 'include_server_side_tool_invocations' of tool_config",
    ),
    "JSON mode of Gemini": (
        "gemini",
        {**CONTENTS, "config": {"response_mime_type": "application/json"}},
        None,
        "content: response_mime_type 'application/json'",
    ),
    "a schema in Gemini's dialect": (
        "gemini",
        {
            **CONTENTS,
            "config": {
                "response_mime_type": "text/x.enum",
                "response_schema": {"type": "STRING", "enum": ["a"]},
            },
        },
        None,
        "",
    ),
    "a choice of Converse": (
        "bedrock",
        {**TURNS, "toolConfig": {**specs("f"), "toolChoice": {"none": {}}}},
        None,
        "hint: toolChoice 'none'",
    ),
    "a schema's own text": (
        "bedrock",
        {
            **TURNS,
            "outputConfig": {
                "textFormat": {
                    "type": "json_schema",
                    "structure": {"jsonSchema": {"name": "a", "schema": '{"type":"object"}'}},
                }
            },
        },
        None,
        "",
    ),
}
"""By name: the provider, a payload that it takes, the choice that it means, the loss elsewhere."""
OTHERS = {"openai": "openai_responses"}


@pytest.mark.parametrize("what", KEPT)
def test_it_goes_back_as_it_came(what: str) -> None:
    """A setting that was recorded is sent to its provider again, and is no loss there."""
    provider, payload, choice, _ = KEPT[what]
    prompt = read_payload(payload, provider)
    rendered = render(prompt, provider=provider, model=MODELS.get(provider))
    assert (choice, payload, []) == (
        prompt.tool_choice,
        rendered.payload(),
        [hint for hint in rendered.hints if hint.name != "undescribed_tool"],
    )


MODELS = {"bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0"}


@pytest.mark.parametrize("what", KEPT)
def test_it_is_a_loss_elsewhere(what: str) -> None:
    """Another provider gets what it means, and a loss names what no prompt can say of it."""
    provider, payload, _, expected = KEPT[what]
    prompt = attrs.evolve(read_payload(payload, provider), output=None)
    rendered = render(prompt, provider="anthropic" if provider != "anthropic" else "openai")
    losses = [f"{loss.kind}: {loss.what}" for loss in reported(rendered)]
    assert ([expected] if expected else []) == [loss for loss in losses if loss == expected]
    assert expected or not [
        loss for loss in reported(rendered) if loss.path in ("tool_choice", "output")
    ]


def test_the_author_wins() -> None:
    """A choice, and a form of the answer, that the author gives are sent in their place."""
    payload = {
        **ASKED,
        "tools": functions("f", "g"),
        "tool_choice": {"type": "allowed_tools", "allowed_tools": ALLOWED},
        "response_format": {"type": "json_object"},
    }
    prompt = read_payload(payload, "openai")
    chosen = render(prompt, provider="openai", tool_choice="required").payload()
    authors_prompt = attrs.evolve(prompt, output=OutputSchema(SCHEMA, "a"), tool_choice="g")
    written_payload = render(authors_prompt, provider="openai").payload()
    assert ("required", {"type": "json_object"}) == (
        chosen["tool_choice"],
        chosen["response_format"],
    )
    response_format = {"type": "json_schema", "json_schema": {**FORM, "strict": True}}
    expected_choice = {"type": "function", "function": {"name": "g"}}
    assert (expected_choice, response_format) == (
        written_payload["tool_choice"],
        written_payload["response_format"],
    )


def test_written_settings_stay() -> None:
    """What an author writes is sent as it was, without anything recorded."""
    prompt = Timeline(
        Output(SCHEMA), Tool(name="f", description="d", input_schema=SCHEMA), User("q")
    )
    payload = render(prompt, provider="openai", tool_choice="f").payload()
    again = render(read_payload(payload, "openai"), provider="openai").payload()
    assert payload == again


# Tools.

TOOLS: dict[str, tuple[str, dict[str, Any], Any, str]] = {
    "without a type": (
        "openai_compatible",
        {"function": {"name": "f", "description": "d", "parameters": SCHEMA}},
        "f",
        "",
    ),
    "a toolset without a name": (
        "anthropic",
        {"type": "mcp_toolset", "mcp_server_name": "s"},
        "s",
        "hint: tool 's': it needs mcp_servers, and the beta header of MCP",
    ),
    "neither type nor name": ("openai_responses", {"search": {}}, "tool", ""),
    "a tool of a kind alone": ("openai", {"type": "web_search"}, "web_search", ""),
    "a system tool without a name": ("bedrock", {"systemTool": {"size": 1}}, "systemTool", ""),
}


@pytest.mark.parametrize("what", TOOLS)
def test_tools_of_others(what: str) -> None:
    """A tool without a name or a type is read, and goes back as it came."""
    provider, tool, name, hint = TOOLS[what]
    messages = {"anthropic": BLOCKS, "openai_responses": ITEMS, "bedrock": TURNS}.get(
        provider, ASKED
    )
    payload = {**messages, "tools": [tool]}
    if provider == "bedrock":
        payload = {**messages, "toolConfig": {"tools": [tool]}}
    prompt = read_payload(payload, provider)
    rendered = render(prompt, provider=provider)
    losses = [f"{hint.kind}: {hint.what}: {hint.why}" for hint in rendered.hints]
    assert (name, payload, [hint] if hint else []) == (
        prompt.tools[0].name,
        rendered.payload(),
        losses,
    )


def test_a_function_without_a_type_elsewhere() -> None:
    """A function that has no type is a function for every other provider."""
    _, tool, _, _ = TOOLS["without a type"]
    prompt = read_payload({**ASKED, "tools": [tool]}, "openai_compatible")
    rendered = render(prompt, provider="anthropic")
    expected = [{"name": "f", "description": "d", "input_schema": SCHEMA}]
    assert (expected, ()) == (rendered.payload()["tools"], reported(rendered))


def test_one_object_of_tools() -> None:
    """Gemini's tools may be one object in the place of a list."""
    tools = {"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]}
    (tool,) = read_payload({**CONTENTS, "tools": tools}, "gemini").tools
    assert ("f", SCHEMA) == (tool.name, tool.input_schema)


# Conversations that are stored at the server.

OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "x"}


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
def test_a_stored_conversation(key: str) -> None:
    """The result of a call that the server has is sent alone, with a hint to name the rest."""
    payload = {"input": [OUTPUT], "instructions": "Be brief.", key: "id_1"}
    prompt = read_payload(payload, "openai_responses")
    rendered = render(prompt, provider="openai_responses")
    assert {"input": [OUTPUT], "instructions": "Be brief."} == rendered.payload()
    assert ["needed_key"] == [hint.name for hint in rendered.hints]
    elsewhere = render(prompt, provider="anthropic").losses
    assert [("content", "the conversation before")] == [
        (loss.kind, loss.what) for loss in elsewhere
    ]


LATER: dict[str, list[Any]] = {
    "an asynchronous call": [
        {"role": "user", "content": "q"},
        {
            **{"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            **{"id": "fc_1", "status": "completed", "async": True},
        },
        {"role": "assistant", "content": "working"},
        {"role": "user", "content": "And?"},
        OUTPUT,
    ],
    "one that is not answered yet": [
        {"role": "user", "content": "q"},
        {
            **{"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            **{"id": "fc_1", "async": True},
        },
    ],
    "a search for tools that the client ran": [
        {"role": "user", "content": "q"},
        {
            **{"type": "tool_search_call", "call_id": "c1", "execution": "client"},
            **{"id": "ts_1", "arguments": {"q": "x"}, "status": "completed"},
        },
        OUTPUT,
    ],
}


@pytest.mark.parametrize("what", LATER)
def test_results_of_later_turns(what: str) -> None:
    """Calls that Responses takes the results of at another place go back as they were."""
    payload = {"input": LATER[what]}
    prompt = read_payload(payload, "openai_responses")
    assert payload == render(prompt, provider="openai_responses").payload()
    if what == "an asynchronous call":
        fault = "the call 'c1' has no result before the next turn"
        assert fault == raised(PairingError, lambda: render(prompt, provider="openai")).what


def test_what_a_program_called() -> None:
    """A result names the program that made its call, written or not."""
    caller = {"type": "program", "caller_id": "call_p"}
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    items = [{"role": "user", "content": "q"}, {**call, "caller": caller}]
    prompt = Timeline(History.from_openai_responses(items), ToolMessage("c1", "done"))
    last_item = render(prompt, provider="openai_responses").payload()["input"][-1]
    assert {**OUTPUT, "output": "done", "caller": caller} == last_item


def test_pairing_can_be_left_alone() -> None:
    """With ``tool_pairing="keep"`` calls and results are sent as they stand."""
    prompt = read_payload({"input": [OUTPUT]}, "openai_responses")
    keep = {"tool_pairing": "keep"}
    payload = render(prompt, provider="openai_responses", transformation=keep).payload()
    assert {"input": [OUTPUT]} == payload
