"""Control tokens: found in a template, and broken in all text."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.internals import control_tokens, neutralised
from tests.internals import read_chat_template as read
from tests.internals import write_chat_template as write
from tests.providers.conversations import ASK, answer, call, say
from tests.providers.templates import TEMPLATES
from tests.searching import examples

OWN = {
    "chatml": ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>"),
    "deepseek": ("<\uff5cUser\uff5c>", "<\uff5ctool\u2581sep\uff5c>", "</think>", "<bos>"),
    "functionary": ("<|header|>", "<|end|>", "<eos>"),
    "gemma": ("<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>"),
    "llama": ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<bos>"),
    "mistral": ("[INST]", "[/INST]", "[TOOL_CALLS]", "[/TOOL_RESULTS]", "[IMG]", "<eos>"),
    "vision": ("<image>", "<end_of_utterance>"),
}
EACH = [(name, token) for name, tokens in OWN.items() for token in tokens]


def broken(text: str, template: ChatTemplate | None) -> str:
    """Return a text as it is printed by a template."""
    return neutralised(text, control_tokens(template))


@pytest.mark.parametrize(("name", "token"), EACH)
def test_own(name: str, token: str) -> None:
    """The tokens of a template are broken behind their first character."""
    expected = f"a {token[0]}\\{token[1:]} b"
    assert expected == broken(f"a {token} b", TEMPLATES[name])


@pytest.mark.parametrize(
    "text",
    [
        "a < b",
        "a <| b |> c",
        "x <|> y",
        "<div>",
        "[1]",
        "[TODO]",
        "user",
        "\\|im_end|>",
        "<im_end>",
    ],
)
def test_kept(text: str) -> None:
    """What is no token stays as it is."""
    assert text == broken(text, TEMPLATES["chatml"])


@pytest.mark.parametrize(
    "token",
    ["<|im_end|>", "<|any|>", "<\uff5cany\uff5c>", "<|turn>", "<turn|>", "[INST]", "</s>", "<bos>"],
)
def test_unknown_template(token: str) -> None:
    """Without a template the tokens of all families are broken."""
    assert f"{token[0]}\\{token[1:]}" == broken(token, None)


@pytest.mark.parametrize("text", ["x<|im_end|", "x<|im_end", "x<|", "x<eos"])
def test_unfinished(text: str) -> None:
    """A token that a template could complete behind the text is broken."""
    assert text.replace("<", "<\\") == broken(text, TEMPLATES["chatml"])


def test_overlapping() -> None:
    """Tokens that share characters are all broken."""
    assert "a\\ba\\ba" == broken("ababa", ChatTemplate("{{ bos_token }}", bos_token="aba"))


def test_plain_words() -> None:
    """Where a template has no tokens, the lines it prints between two turns are some."""
    turn = "{{ message.role | capitalize }}: {{ message.content }}\n\n"
    template = ChatTemplate(f"{{% for message in messages %}}{turn}{{% endfor %}}Assistant:")
    assert "Hi\n\nA\\ssistant: U\\ser: user" == broken("Hi\n\nAssistant: User: user", template)


def test_odd_tokens() -> None:
    """A short text in the template that begins and ends with a bracket is a token."""
    template = ChatTemplate("{% set begin = ']~b]' %}{{ begin ~ messages[0].content }}")
    assert "]\\~b]" == broken("]~b]", template)


EACH_TURN = "{% for m in messages %}"
HASHED = (
    EACH_TURN + "{% if m.role == 'tool' %}Observation: {{ m.content }}\n"
    "{% elif m.tool_calls %}{% for c in m.tool_calls %}Action: {{ c.function.name }}\n"
    "Action Input: {{ c.function.arguments | tojson }}\n{% endfor %}"
    "{% else %}### {{ m.role | title }}:\n{{ m.content }}\n\n{% endif %}{% endfor %}"
)
ANGLED = EACH_TURN + "{{ '<' + m.role + '>' + m.content }}{% endfor %}"
OPENCHAT = EACH_TURN + "{{ 'GPT4 Correct ' + m.role.title() + ': ' + m.content + '<|end|>' }}"
SUFFIXED = (
    "{% set end = ':open>' %}" + EACH_TURN + "{{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ '<call' + end }}{{ c.function.name }}{% endfor %}"
    "{% if m.role == 'tool' %}{{ '</result' + end }}{% endif %}{% endfor %}"
)
LISTED = EACH_TURN + "{% for p in m.content %}{{ '<' ~ 'x>' ~ p.text }}{% endfor %}{% endfor %}"
APOSTROPHE = "{# It's ours. #}{{ ']~b]system' ~ messages[0].content }}"


@pytest.mark.parametrize(
    ("source", "token"),
    [
        (HASHED, "### System:"),
        (HASHED, "### User:"),
        (HASHED, "Observation:"),
        (HASHED, "Action:"),
        (HASHED, "Action Input:"),
        (ANGLED, "<user>"),
        (ANGLED, "<system>"),
        (ANGLED, "<tool>"),
        (OPENCHAT + "{% endfor %}", "GPT4 Correct Assistant:"),
        (SUFFIXED, "<call:open>"),
        (SUFFIXED, "</result:open>"),
        (LISTED, "<x>"),
        (APOSTROPHE, "]~b]"),
        ("{{ messages[0].content }}<invoke name='x'>", "<invoke name="),
        ("{{ messages[0].content }}[gMASK]", "[gMASK]"),
    ],
)
def test_printed(source: str, token: str) -> None:
    """What a template prints around turns, calls and results is broken."""
    assert f"a {token[0]}\\{token[1:]} b" == broken(f"a {token} b", ChatTemplate(source))


@pytest.mark.parametrize("token", ["<\uff5cDSML\uff5cinvoke name", "</\uff5cDSML\uff5cinvoke>"])
def test_barred_tags(token: str) -> None:
    """A tag whose name stands behind the bars is broken."""
    assert token.replace("<", "<\\") == broken(token, TEMPLATES["deepseek"])


@pytest.mark.parametrize("text", ["functions.look_up", "# Tools", '"name": ', "It's ours."])
def test_prose(text: str) -> None:
    """What a template says in prose, and JSON, is no token."""
    source = "{# It's ours. #}{{ tools | tojson if tools }}# Tools\nto=functions.\n" + HASHED
    assert text == broken(text, ChatTemplate(source))


def test_special_tokens() -> None:
    """What a tokenizer calls special is a token."""
    template = ChatTemplate("{{ messages[0].content }}", special_tokens=("@pad@",))
    assert "@\\pad@" == broken("@pad@", template)


@pytest.mark.parametrize("token", ["\\x\\", "a\nb", "x" * 129, "", "a"])
def test_unbreakable(token: str) -> None:
    """What a backslash cannot break is no token."""
    template = ChatTemplate("{{ messages[0].content }}", bos_token=token)
    assert f"x{token}y" == broken(f"x{token}y", template)


def test_template_that_refuses() -> None:
    """The tokens of a template that refuses to print are those in its text."""
    template = ChatTemplate("{{ '<|a|>' }}{{ raise_exception('No!') }}")
    assert "<\\|a|>" == broken("<|a|>", template)


def test_no_jinja() -> None:
    """The tokens of what is no Jinja are those in its text."""
    assert "<\\|a|>" == broken("<|a|>", ChatTemplate("<|a|>{{ '"))


# Any text.

_pieces = st.sampled_from(sorted({token for _, token in EACH} | {"<|", "|>", "[", "\\", "\n", "x"}))
_texts = st.lists(_pieces | st.text(max_size=3), max_size=6).map("".join)
_cut = st.tuples(_pieces, st.integers(0, 20)).map(lambda pair: pair[0][: pair[1]])
_hostile = st.tuples(_texts, _cut, _texts).map("".join)
_names = st.sampled_from(sorted(TEMPLATES))


@given(_names, _hostile)
def test_none_left(name: str, text: str) -> None:
    """In no text is a token left, and breaking it once more changes nothing."""
    tokens = control_tokens(TEMPLATES[name])
    once = neutralised(text, tokens)
    assert (None, once) == (tokens.search(once), neutralised(once, tokens))


_SLOTS = 14


def conversation(words: list[str]) -> Prompt:
    """Return a prompt with a word in every place that text can go."""
    next_words = iter(words)
    call = ToolUseBlock(
        "a", "look_up", json.dumps({"q": next(next_words), "z": [next(next_words)]})
    )
    schema = {"type": "object", "properties": {"q": {"description": next(next_words)}}}
    return Prompt(
        (
            Message("system", [TextBlock(f"a{next(next_words)}")]),
            Message(
                "user", [TextBlock(f"b{next(next_words)}"), TextBlock(next(next_words))], name="Ada"
            ),
            Message(
                "assistant",
                [ReasoningBlock(next(next_words)), TextBlock(f"c{next(next_words)}"), call],
            ),
            Message("tool", [ToolResultBlock("a", (TextBlock(next(next_words)),))]),
            Message("developer", [TextBlock(f"d{next(next_words)}")]),
            Message("assistant", [TextBlock(f"e{next(next_words)}")]),
            Message(
                "user",
                [TextBlock(f"f{next(next_words)}")],
                name=f"g{next(next_words)}".replace("\n", " "),
            ),
        ),
        (ToolDefinition("look_up", next(next_words), schema),),
    )


def prompted(prompt: Prompt, name: str) -> str:
    """Return the text that a template makes of a prompt."""
    return write(prompt, ModelFacts(template=TEMPLATES[name]))[0]["prompt"]


@examples(200)
@given(_names, st.lists(_hostile, min_size=_SLOTS, max_size=_SLOTS))
def test_as_many_tokens(name: str, texts: list[str]) -> None:
    """Any texts come out among exactly as many tokens as harmless words do."""
    tokens = re.compile("|".join(map(re.escape, OWN[name])))
    harmless = prompted(conversation(["word"] * _SLOTS), name)
    hostile = prompted(conversation([f"x{text}x" for text in texts]), name)
    assert tokens.findall(harmless) == tokens.findall(hostile)


@examples(200)
@given(_names, st.lists(_hostile, min_size=_SLOTS, max_size=_SLOTS))
def test_law(name: str, texts: list[str]) -> None:
    """Any texts are written, read and written again as the same bytes."""
    facts = ModelFacts(template=TEMPLATES[name])
    payload, _ = write(conversation(texts), facts)
    assert json.dumps(payload) == json.dumps(write(read(payload), facts)[0])


# In a payload.


def payload_messages(name: str, *messages: Message) -> list[dict[str, Any]]:
    """Return the messages of a payload."""
    return write(Prompt(messages), ModelFacts(template=TEMPLATES[name]))[0]["messages"]


def test_split() -> None:
    """A token cut in two parts, or two turns, is none when they are joined."""
    parts = (say("user", "<|im_", "end|>"), say("user", "<|im_"), say("user", "start|>"))
    joined = "<|im_\n\nend|>\n\n<|im_\n\nstart|>"
    assert [{"role": "user", "content": joined}] == payload_messages("chatml", *parts)


def test_calls() -> None:
    """Names, arguments and ids are text, too."""
    use = call("<|im_end|>", "<|im_end|>", '{"<|im_end|>": ["<|im_end|>", 1, {"a": null}]}')
    id, name = (
        payload_messages("chatml", ASK, say("assistant", use))[1]["tool_calls"][0]["id"],
        "<\\|im_end|>",
    )
    function = payload_messages("chatml", ASK, say("assistant", use))[1]["tool_calls"][0][
        "function"
    ]
    assert (name, {"name": name, "arguments": {name: [name, 1, {"a": None}]}}) == (id, function)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"q":  "<|end|>"}', '{"q": "<\\\\|end|>"}'),
        ('{"q": <|end|>', '{"q": <\\|end|>'),
        ('{"q":  "end"}', '{"q":  "end"}'),
        ('"<|end|>"', '"<\\\\|end|>"'),
    ],
)
def test_arguments_as_text(arguments: str, expected: str) -> None:
    """Where arguments are JSON text, what they say is broken, and the text stays JSON."""
    messages = payload_messages(
        "functionary", ASK, say("assistant", call("a", arguments=arguments))
    )
    assert expected == messages[1]["tool_calls"][0]["function"]["arguments"]


def test_hints() -> None:
    """A hint says which turn, and which tool, held a token."""
    tool = ToolDefinition("look_up", "<|im_end|>", {"type": "object"})
    messages = (
        ASK,
        say("assistant", ReasoningBlock("</think>"), call("a")),
        answer("a", "<think>"),
    )
    losses = write(Prompt(messages, (tool,)), ModelFacts(template=TEMPLATES["chatml"]))[1]
    expected = [("tools/look_up", None), ("", messages[1]), ("", messages[2])]
    assert expected == [(loss.path, loss.message) for loss in losses]


TOKEN = "<|im_end|>"


def test_names_and_more() -> None:
    """A hint says that a speaker's name, or a further key of a tool, held a token."""
    tool = ToolDefinition("a", "b", {"type": "object"}, extra={"x": [TOKEN]})
    prompt = Prompt((say("user", "Hi.", name=TOKEN),), (tool,))
    losses = write(prompt, ModelFacts(template=TEMPLATES["chatml"]))[1]
    assert 2 == [loss.what for loss in losses].count("control token")


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"type": ["string", "null"], "description": TOKEN}, {"type": ["image"], "v": TOKEN}),
        ({"type": "image", "description": TOKEN}, {"type": "image", "v": TOKEN}),
    ],
)
def test_no_media(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    """Arguments and schemas are text, whatever they call themselves."""
    tool = ToolDefinition("look_up", None, {"type": "object", "properties": {"q": schema}})
    use = call("a", arguments=json.dumps({"q": arguments}))
    payload, _ = write(
        Prompt((ASK, say("assistant", use)), (tool,)), ModelFacts(template=TEMPLATES["chatml"])
    )
    assert TOKEN not in json.dumps([payload["messages"], payload["tools"]])


def test_unknown_media() -> None:
    """What an unknown part says is not sent."""
    part = UnknownBlock({"type": "image", "text": "<image>"}, "chat_template")
    content = [{"type": "text", "text": "Hi."}]
    assert [{"role": "user", "content": content}] == payload_messages(
        "vision", say("user", "Hi.", part)
    )


def test_keys_stay_two() -> None:
    """Two keys that are the same once they are broken stay two."""
    use = call("a", arguments=json.dumps({TOKEN: 1, "<\\|im_end|>": 2, "<\\|im_end|>_2": 3}))
    function = payload_messages("chatml", ASK, say("assistant", use))[1]["tool_calls"][0][
        "function"
    ]
    key = "<\\|im_end|>"
    assert {key: 1, f"{key}_2": 2, f"{key}_2_2": 3} == function["arguments"]


TAGGED = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}"
    "<function={{ c.function.name }}>{% for k, v in c.function.arguments.items() %}"
    "<{{ k }}>{{ v }}</{{ k }}>{% endfor %}{% endfor %}\n{% endfor %}{{ tools | tojson if tools }}"
)


def test_keys_in_tags() -> None:
    """Names of tools and arguments that a template prints in tags cannot end them."""
    arguments = {"/x": [{"a>b": 1}], "_x": 2, "": 3, "ok": 4}
    use = call("a", "f>g", json.dumps(arguments))
    prompt = Prompt((ASK, say("assistant", use)), (ToolDefinition("f>g"),))
    payload, losses = write(prompt, ModelFacts(template=ChatTemplate(TAGGED)))
    function = payload["messages"][1]["tool_calls"][0]["function"]
    tool_name = payload["tools"][0]["function"]["name"]
    expected = {"_x": [{"a_b": 1}], "_x_2": 2, "_": 3, "ok": 4}
    whats = {loss.what for loss in losses}
    assert ({"name": "f_g", "arguments": expected}, "f_g", True) == (
        function,
        tool_name,
        {"tool name 'f>g'", "names of arguments"} <= whats,
    )
