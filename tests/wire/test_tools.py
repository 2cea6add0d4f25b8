"""Tools, the choice of one, the form of an answer, and calls: names, keys and arguments as sent."""

from typing import Any

import pytest

from promptdsl import *
from tests.errors import raised
from tests.providers.conversations import answer, call, say
from tests.wire.sent import lost, sent, written

ASK = say("user", "Hi.")
OPEN = {"type": "object", "properties": {}}
CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {},
    "required": [],
    "additionalProperties": False,
}
ANTHROPIC, OPENAI, RESPONSES = "anthropic", "openai", "openai_responses"
GEMINI, BEDROCK, TEMPLATE = "gemini", "bedrock", "chat_template"
ALL = (ANTHROPIC, OPENAI, RESPONSES, GEMINI, BEDROCK, TEMPLATE)
AT = Source("prompt.py", 7)


def tool(name: str = "t", schema: Any = CLOSED, **options: Any) -> ToolDefinition:
    """Return a tool that takes nothing."""
    return ToolDefinition(name, input_schema=schema, **options)


def reported_losses(target: str, **request: Any) -> list[tuple[str, str, str, str, Source | None]]:
    """Return every loss of a request: kind, subject, reason, path and line."""
    losses = written(target, Prompt((ASK,), **request))[1]
    return [(loss.kind, loss.what, loss.why, loss.path, loss.source) for loss in losses]


# Which tools are sent.


@pytest.mark.parametrize("target", ALL)
def test_a_tool_of_another_provider(target: str) -> None:
    """A tool that only another provider has is a loss at its line, and the others are sent."""
    raw = ToolDefinition("s", raw={"type": "x"}, origin="elsewhere", cache="default", at=AT)
    why = "only elsewhere has this tool"
    assert [("content", "tool 's'", why, "tools/s", AT)] == reported_losses(
        target, tools=(raw, tool("t"))
    )
    assert sent(target, ASK, tools=(tool("t"),)) == sent(target, ASK, tools=(raw, tool("t")))


@pytest.mark.parametrize(
    ("target", "raw"),
    [
        (ANTHROPIC, {"type": "web_search_20250305", "name": "w"}),
        (RESPONSES, {"type": "web_search"}),
    ],
)
def test_a_tool_of_the_provider(target: str, raw: dict[str, Any]) -> None:
    """A tool that only this provider has is sent as it is, in its place."""
    own_tool = ToolDefinition("w", raw=raw, origin=target)
    tools = sent(target, ASK, tools=(tool("a"), own_tool, tool("b")))["tools"]
    assert ("a", raw, "b") == (tools[0]["name"], tools[1], tools[2]["name"])


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (OPENAI, "the target takes no cache mark after a tool"),
        (RESPONSES, "the target takes no cache mark after a tool"),
        (GEMINI, "Gemini takes no cache marks: it caches by itself, or in an object of its own"),
        (BEDROCK, "this model takes no cache marks"),
        (TEMPLATE, "a template has no cache marks"),
    ],
)
def test_marks_behind_tools(target: str, why: str) -> None:
    """A mark behind a tool is a hint where there may be none, with the line of the tool."""
    marked = (tool("a", cache="1h", at=AT), tool("b", cache="default"))
    assert [
        ("hint", "cache mark", why, "tools/a", AT),
        ("hint", "cache mark", why, "tools/b", None),
    ] == reported_losses(target, tools=marked)
    plain = (tool("a"), tool("b"))
    assert sent(target, ASK, tools=plain) == sent(target, ASK, tools=marked)


def test_a_mark_behind_a_tool_of_the_provider() -> None:
    """A tool that only Anthropic has may have a mark behind it, too."""
    raw = {"type": "web_search_20250305", "name": "w"}
    own_tool = ToolDefinition("w", raw=raw, origin=ANTHROPIC, cache="1h")
    assert [{**raw, "cache_control": {"type": "ephemeral", "ttl": "1h"}}] == sent(
        ANTHROPIC, ASK, tools=(own_tool,)
    )["tools"]


# Further keys.


@pytest.mark.parametrize(
    ("origin", "target", "keys"),
    [
        *((origin, origin, ["strict", "k"]) for origin in (ANTHROPIC, OPENAI, RESPONSES, GEMINI)),
        *((None, target, ["strict", "k"]) for target in (ANTHROPIC, OPENAI, RESPONSES, GEMINI)),
        *(
            (origin, target, ["strict"])
            for origin in (ANTHROPIC, OPENAI, RESPONSES, BEDROCK)
            for target in (ANTHROPIC, OPENAI, RESPONSES)
            if origin != target
        ),
        *((origin, GEMINI, []) for origin in (ANTHROPIC, OPENAI, RESPONSES, BEDROCK)),
        *((GEMINI, target, []) for target in (ANTHROPIC, OPENAI, RESPONSES)),
        (ANTHROPIC, BEDROCK, ["strict"]),
        (GEMINI, BEDROCK, []),
    ],
)
def test_keys_of_a_tool(origin: str | None, target: str, keys: list[str]) -> None:
    """A further key goes to its own provider; ``strict`` goes wherever there is one."""
    keys_of_tool = {"strict": True, "k": 1}
    keyed = tool("t", extra=keys_of_tool, origin=origin, at=AT)
    (spec,) = _specs(target, sent(target, ASK, tools=(keyed,)))
    default = {"strict": False} if target == RESPONSES else {}
    (plain,) = _specs(target, sent(target, ASK, tools=(tool("t"),)))
    assert default == {key: plain[key] for key in plain if key in keys_of_tool}
    assert {**default, **{key: keys_of_tool[key] for key in keys}} == {
        key: spec[key] for key in spec if key in keys_of_tool
    }
    assert [
        ("hint", f"key {key!r}", f"{target} has no such key", "tools/t", AT)
        for key in keys_of_tool
        if key not in keys
    ] == reported_losses(target, tools=(keyed,))


def _specs(target: str, payload: Any) -> list[Any]:
    """Return what is sent of each tool."""
    if target == GEMINI:
        return list(payload["config"]["tools"][0]["function_declarations"])
    if target == BEDROCK:
        return [param["toolSpec"] for param in payload["toolConfig"]["tools"]]
    return [param.get("function", param) for param in payload["tools"]]


@pytest.mark.parametrize("target", [OPENAI, RESPONSES])
def test_a_strict_tool(target: str) -> None:
    """Where a strict tool has to have a closed schema, an open one is not strict, a hint."""
    strict = {"strict": True}
    tools = (
        tool("a", OPEN, extra=strict, at=AT),
        ToolDefinition("raw", raw={"type": "x"}, origin="elsewhere"),
        tool("b", CLOSED, extra=strict),
        tool("c", OPEN, extra={"strict": False}),
        tool("d", OPEN, extra={"strict": "yes"}),
    )
    specs = _specs(target, sent(target, ASK, tools=tools))
    # Responses would take a tool as strict where nothing is said.
    left_out = False if target == RESPONSES else None
    assert [left_out, True, False, "yes"] == [spec.get("strict") for spec in specs]
    why = "strict is left out: the schema is not closed, but strict requires it"
    foreign = "only elsewhere has this tool"
    assert [
        ("hint", "the schema of the tool 'a'", why, "tools/a", AT),
        ("content", "tool 'raw'", foreign, "tools/raw", None),
    ] == reported_losses(target, tools=tools)


def test_a_strict_tool_of_the_provider() -> None:
    """What a tool of the provider's own says of strict is sent as it is."""
    own_tool = ToolDefinition("w", raw={"type": "custom", "strict": True}, origin=RESPONSES)
    tools = (own_tool, tool("a", OPEN, extra={"strict": True}))
    payload_tools = sent(RESPONSES, ASK, tools=tools)["tools"]
    assert [True, False] == [param["strict"] for param in payload_tools]


# The choice.


@pytest.mark.parametrize("target", [ANTHROPIC, OPENAI, RESPONSES, GEMINI, BEDROCK])
@pytest.mark.parametrize(
    ("choice", "tools", "why"),
    [
        ("auto", (), "no tool is sent to choose from"),
        ("none", (), "no tool is sent to choose from"),
        ("required", (), "no tool is sent to choose from"),
        ("t", (), "no tool of this name is sent"),
        ("u", (tool("t"),), "no tool of this name is sent"),
    ],
)
def test_a_choice_of_nothing(target: str, choice: str, tools: Any, why: str) -> None:
    """A choice among no tools, or of one that is not sent, is a hint, and is left out."""
    assert [("hint", f"tool_choice {choice!r}", why, "", None)] == reported_losses(
        target, tools=tools, tool_choice=choice
    )
    assert sent(target, ASK, tools=tools) == sent(target, ASK, tools=tools, tool_choice=choice)


def test_a_choice_of_a_tool_of_another_provider() -> None:
    """A tool that is not sent cannot be chosen, nor can any when it is the only one."""
    raw = ToolDefinition("s", raw={"type": "x"}, origin="elsewhere")
    foreign = ("content", "tool 's'", "only elsewhere has this tool")
    assert [foreign, ("hint", "tool_choice 's'", "no tool of this name is sent")] == lost(
        ANTHROPIC, ASK, tools=(raw, tool("t")), tool_choice="s"
    )
    assert [foreign, ("hint", "tool_choice 'auto'", "no tool is sent to choose from")] == lost(
        ANTHROPIC, ASK, tools=(raw,), tool_choice="auto"
    )


@pytest.mark.parametrize(
    ("choice", "sent_as", "why"),
    [
        ("auto", {"type": "auto"}, []),
        ("none", {"type": "none"}, []),
        ("required", None, ["this model cannot be forced to call a tool"]),
        ("t", None, ["this model cannot be forced to call a tool"]),
    ],
)
def test_a_model_that_is_not_forced(choice: str, sent_as: object, why: list[str]) -> None:
    """A model may refuse to be forced to call; left free, or forbidden to, it is as told."""
    request: Any = {"tools": (tool("t"),), "tool_choice": choice}
    assert sent_as == sent("claude-opus-5-5", ASK, **request).get("tool_choice")
    assert why == [loss[2] for loss in reported_losses("claude-opus-5-5", **request)]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (ANTHROPIC, {"type": "tool", "name": "a_b_2"}),
        (OPENAI, {"type": "function", "function": {"name": "a_b_2"}}),
        (RESPONSES, {"type": "function", "name": "a_b_2"}),
    ],
)
def test_a_choice_by_name(target: str, expected: object) -> None:
    """A tool is chosen by the name it is sent with."""
    tools = (tool("a.b"), tool("a_b"))
    assert expected == sent(target, ASK, tools=tools, tool_choice="a.b")["tool_choice"]


def test_no_choice() -> None:
    """Without a choice nothing is said of one."""
    assert ["messages", "tools"] == [*sent(ANTHROPIC, ASK, tools=(tool("t"),))]


# Names.

MENDED = "it has characters that are refused, is too long, or is taken: sent as "


@pytest.mark.parametrize(
    ("defined", "called_names", "expected", "mended"),
    [
        (
            ("a.b", "a_b"),
            ("a_b", "a.b", "a-b", "a b"),
            (["a_b_2", "a_b"], ["a_b", "a_b_2", "a-b", "a_b_3"]),
            [("a.b", "a_b_2", "tools/a.b"), ("a.b", "a_b_2", ""), ("a b", "a_b_3", "")],
        ),
        (
            (),
            ("a.b", "a b", "a.b"),
            ([], ["a_b", "a_b_2", "a_b"]),
            [("a.b", "a_b", ""), ("a b", "a_b_2", ""), ("a.b", "a_b", "")],
        ),
        (
            ("a_b_2", "a_b", "a.b"),
            (),
            (["a_b_2", "a_b", "a_b_3"], []),
            [("a.b", "a_b_3", "tools/a.b")],
        ),
        ((), ("", "é"), ([], ["_", "__2"]), [("", "_", ""), ("é", "__2", "")]),
        (
            ("x" * 130, "x" * 128),
            ("x" * 129,),
            ([f"{'x' * 126}_2", "x" * 128], [f"{'x' * 126}_3"]),
            [
                ("x" * 130, f"{'x' * 126}_2", f"tools/{'x' * 130}"),
                ("x" * 129, f"{'x' * 126}_3", ""),
            ],
        ),
    ],
)
def test_names(defined: Any, called_names: Any, expected: object, mended: Any) -> None:
    """A name that cannot be sent is mended to one that no tool has, in calls as in its tool."""
    used = [call(f"c{number}", name, "{}") for number, name in enumerate(called_names)]
    messages: list[Message] = [say("assistant", *used)] if used else []
    results = [answer(block.id, "x") for block in used]
    prompt = Prompt((ASK, *messages, *results), tuple(map(tool, defined)))
    payload, losses = written(ANTHROPIC, prompt)
    assert expected == (
        [param["name"] for param in payload.get("tools", [])],
        [block["name"] for param in payload["messages"][1:2] for block in param["content"]],
    )
    assert [("hint", f"tool name {name!r}", MENDED + as_, at) for name, as_, at in mended] == [
        (loss.kind, loss.what, loss.why, loss.path)
        for loss in losses
        if loss.what != "there are no tools"
    ]


SIGNS = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
EVERY = "".join(map(chr, range(128))) + "\u00aa\u00e9\u0660\u212a"


def test_signs() -> None:
    """ASCII letters, digits, hyphens and underscores may stand in names and ids, and no others."""
    tools = tuple(tool(f"{number} {sign}") for number, sign in enumerate(EVERY))
    calls = [call(f"{number} {sign}") for number, sign in enumerate(EVERY)]
    forms = [OutputSchema(CLOSED, f"{number} {sign}") for number, sign in enumerate(EVERY)]
    payload = sent(ANTHROPIC, ASK, say("assistant", *calls), tools=tools)
    formats_sent = [sent(OPENAI, ASK, output=param)["response_format"] for param in forms]
    expected = [f"{n}_{sign if sign in SIGNS else '_'}" for n, sign in enumerate(EVERY)]
    assert (expected, expected, expected) == (
        [param["name"] for param in payload["tools"]],
        [param["id"] for param in payload["messages"][1]["content"]],
        [param["json_schema"]["name"] for param in formats_sent],
    )


# Arguments.

NO_TEXT = "they are blank, so {} is sent"


@pytest.mark.parametrize(
    ("arguments", "expected", "losses"),
    [
        ('{"a": 1}', {"a": 1}, []),
        *((text, {}, [("arguments of a call", "no text")]) for text in ("", " \n")),
        ('{"a": "\\u00e9 é \\ud83d\\ude00"}', {"a": "é é \U0001f600"}, []),
        *(
            (text, {"arguments": text}, [("arguments of a call", "not a JSON object")])
            for text in ("[1]", '"x"', "null", "nonsense", '{"a": NaN}')
        ),
        ("\ud800", {"arguments": "\ufffd"}, [("arguments of a call", "not a JSON object")]),
        *(
            (text, {"a": "\ufffd"}, [("a lone surrogate in arguments of t", "it has no UTF-8")])
            for text in (
                '{"a": "\ud800"}',
                '{"a": "\udfff"}',
                *(f'{{"a": "\\u{d}{digit}0F"}}' for d in "dD" for digit in "89abcdefABCDEF"),
            )
        ),
    ],
)
@pytest.mark.parametrize("target", [ANTHROPIC, BEDROCK])
def test_arguments(target: str, arguments: str, expected: object, losses: Any) -> None:
    """Arguments are sent as an object; what is none stands in one as text, which is a hint."""
    why = {
        "no text": NO_TEXT,
        "not a JSON object": "they are not a JSON object, so they are sent as a text in an object",
        "it has no UTF-8": "UTF-8 cannot encode it, so U+FFFD is sent",
    }
    messages = (ASK, say("assistant", call("c", "t", arguments)), answer("c", "x"))
    (block,) = sent(target, *messages, tools=(tool("t"),))["messages"][1]["content"]
    assert expected == block.get("toolUse", block)["input"]
    assert [("hint", what, why[reason]) for what, reason in losses] == lost(
        target, *messages, tools=(tool("t"),)
    )


def test_arguments_as_text() -> None:
    """Where arguments are text they stay as they came, but for what has no UTF-8 form."""
    messages = (ASK, say("assistant", call("c", "t", '{"a": "\ud800\\ud800"}')), answer("c", "x"))
    (payload_call,) = sent(OPENAI, *messages, tools=(tool("t"),))["messages"][1]["tool_calls"]
    assert '{"a": "\ufffd\\ud800"}' == payload_call["function"]["arguments"]
    assert [
        ("hint", "a lone surrogate in arguments", "UTF-8 cannot encode it, so U+FFFD is sent")
    ] == lost(OPENAI, *messages, tools=(tool("t"),))


@pytest.mark.parametrize("name", ["t", "other"])
@pytest.mark.parametrize(
    ("arguments", "is_told"),
    [
        *((text, False) for text in ("{}", '{"a": [1]}', ' {"a": 1}\n')),
        *((text, True) for text in ("[1, 2]", "null", '"x"', '{"a":', "{'a': 1}", '{"a": NaN}')),
    ],
)
@pytest.mark.parametrize("target", [OPENAI, "openai_compatible", RESPONSES])
def test_arguments_that_are_no_object(
    target: str, arguments: str, is_told: bool, name: str
) -> None:
    """Where arguments are text, what is no JSON object is sent as it is, which is a hint."""
    messages = (ASK, say("assistant", call("c", name, arguments)), answer("c", "x"))
    payload = sent(target, *messages, tools=(tool("t"),))
    calls = payload["input"][1:2] if target == RESPONSES else payload["messages"][1]["tool_calls"]
    why = "they are not a JSON object, and are sent unchanged"
    assert [arguments] == [
        payload_call.get("function", payload_call)["arguments"] for payload_call in calls
    ]
    assert [("hint", "arguments of a call", why)][: int(is_told)] == lost(
        target, *messages, tools=(tool("t"),)
    )


@pytest.mark.parametrize("name", ["t", "other"])
@pytest.mark.parametrize("arguments", ["", " \n"])
@pytest.mark.parametrize("target", [OPENAI, "openai_compatible", RESPONSES])
def test_no_arguments(target: str, arguments: str, name: str) -> None:
    """Where arguments are text, a blank one is sent as an empty object, which is a hint."""
    messages = (ASK, say("assistant", call("c", name, arguments)), answer("c", "x"))
    payload = sent(target, *messages, tools=(tool("t"),))
    calls = payload["input"][1:2] if target == RESPONSES else payload["messages"][1]["tool_calls"]
    assert (["{}"], [("hint", "arguments of a call", NO_TEXT)]) == (
        [payload_call.get("function", payload_call)["arguments"] for payload_call in calls],
        lost(target, *messages, tools=(tool("t"),)),
    )


@pytest.mark.parametrize("text", ["ls -l", ""])
def test_the_arguments_of_a_free_tool(text: str) -> None:
    """The text for a tool that takes free text is not JSON."""
    free = ToolUseBlock("c", "t", text, extra={"custom": True})
    messages = (ASK, say("assistant", free), answer("c", "x"))
    assert [[], []] == [lost(target, *messages) for target in (OPENAI, RESPONSES)]


# Surrogates, and what no JSON is.


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize(
    "odd",
    [
        ToolDefinition("t", "\ud800", OPEN, at=AT),
        ToolDefinition("t", None, {**OPEN, "title": "\ud800"}, at=AT),
        ToolDefinition("t", None, {**OPEN, "\ud800": 1}, at=AT),
    ],
)
def test_a_lone_surrogate(target: str, odd: ToolDefinition) -> None:
    """What has no UTF-8 form in a tool is a hint at its line, and a whole pair is none."""
    valid_tool = ToolDefinition("t", "\U0001f600", {**OPEN, "title": "é"})
    why = "UTF-8 cannot encode it, so U+FFFD is sent"
    assert [("hint", "a lone surrogate in tool 't'", why, "tools/t", AT)] == reported_losses(
        target, tools=(odd,)
    )
    assert [] == reported_losses(target, tools=(valid_tool,))


@pytest.mark.parametrize("target", ALL)
def test_a_schema_that_is_too_deep(target: str) -> None:
    """A schema that is deeper than 200 levels is refused by name."""
    deep: Any = {"type": "string"}
    for _ in range(100):
        deep = {"type": "object", "properties": {"a": deep}}
    error = raised(DataError, lambda: sent(target, ASK, tools=(tool("t", deep),)))
    assert error.what.endswith("is nested deeper than 200 levels")


# The form of an answer.


@pytest.mark.parametrize(
    ("output", "expected", "losses"),
    [
        (OutputSchema(CLOSED), {"name": "output", "strict": True}, []),
        (
            OutputSchema(CLOSED, "A-b_1", "Where.", strict=False),
            {"name": "A-b_1", "description": "Where."},
            [],
        ),
        (
            OutputSchema(CLOSED, "x" * 64, ""),
            {"name": "x" * 64, "strict": True},
            [],
        ),
        (
            OutputSchema(CLOSED, "x" * 65),
            {"name": "x" * 64, "strict": True},
            [("x" * 65, "x" * 64)],
        ),
        (OutputSchema(CLOSED, "a b.é"), {"name": "a_b__", "strict": True}, [("a b.é", "a_b__")]),
        (OutputSchema(CLOSED, ""), {"name": "_", "strict": True}, [("", "_")]),
    ],
)
def test_a_form(output: OutputSchema, expected: dict[str, Any], losses: Any) -> None:
    """A form has its name, mended where it cannot be sent, its schema and what is said of it."""
    chat = sent(OPENAI, ASK, output=output)["response_format"]["json_schema"]
    responses = sent(RESPONSES, ASK, output=output)["text"]["format"]
    output_format = {**expected, "schema": CLOSED}
    why = "it has characters that are refused, or is too long: sent as "
    hints = [("hint", f"output name {name!r}", why + as_, "output", None) for name, as_ in losses]
    assert (output_format, {"type": "json_schema", **output_format}) == (chat, responses)
    assert (hints, hints) == (
        reported_losses(OPENAI, output=output),
        reported_losses(RESPONSES, output=output),
    )


@pytest.mark.parametrize("target", [OPENAI, RESPONSES])
@pytest.mark.parametrize(
    ("strict", "losses"),
    [
        (False, []),
        (
            True,
            [
                (
                    "hint",
                    "strict",
                    "the schema is not closed, but strict requires it: sent without it",
                )
            ],
        ),
    ],
)
def test_an_open_form(target: str, strict: bool, losses: object) -> None:
    """A form with an open schema is not strict, which is a hint where it asks to be."""
    output = OutputSchema(OPEN, strict=strict)
    assert losses == lost(target, ASK, output=output)
    assert "strict" not in str(sent(target, ASK, output=output))


CLAUDE, PRO, CONVERSE = "claude-opus-5", "gemini-3.1-pro", "bedrock us.anthropic.claude-opus-4-5"
NAMING = (OPENAI, RESPONSES, CONVERSE)


@pytest.mark.parametrize(
    ("target", "output"),
    [
        *(
            (target, OutputSchema(schema))
            for target in (CLAUDE, PRO, *NAMING)
            for schema in ({**CLOSED, "title": "\ud800"}, {**CLOSED, "$defs": {"\ud800": OPEN}})
        ),
        *((target, OutputSchema(CLOSED, "n", "\ud800")) for target in NAMING),
        (CONVERSE, OutputSchema(CLOSED, "\ud800")),
    ],
)
def test_a_lone_surrogate_in_a_form(target: str, output: OutputSchema) -> None:
    """What has no UTF-8 form in a form is a hint, and is sent as U+FFFD."""
    what, why = "a lone surrogate in the output", "UTF-8 cannot encode it, so U+FFFD is sent"
    assert ("hint", what, why, "output", None) in reported_losses(target, output=output)
    payload_text = str(sent(target, ASK, output=output))
    assert (True, False) == ("\ufffd" in payload_text, "\ud800" in payload_text)


@pytest.mark.parametrize("target", [CLAUDE, PRO, *NAMING])
def test_a_whole_form(target: str) -> None:
    """A form of which everything has a UTF-8 form is sent as it is, and tells nothing."""
    output = OutputSchema({**CLOSED, "title": "\U0001f600"})
    assert [] == lost(target, ASK, output=output)
    assert "\U0001f600" in str(sent(target, ASK, output=output))


@pytest.mark.parametrize("target", ALL)
def test_an_empty_description(target: str) -> None:
    """An empty description of a tool or a form is none, in a payload that is read as well."""
    described, unsaid = (
        sent(target, ASK, tools=(tool(description=text),), output=OutputSchema(CLOSED, "a", text))
        for text in ("", None)
    )
    assert unsaid == described
