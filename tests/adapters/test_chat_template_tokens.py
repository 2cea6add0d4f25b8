"""Control tokens: found in a template, and broken in all text."""

import json
import re
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from promptdsl.adapters.chat_template import read, write
from promptdsl.adapters.chat_template.control_tokens import control_tokens, neutralised, restored
from promptdsl.blocks import ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.chat_templates import ChatTemplate
from promptdsl.messages import Message
from promptdsl.models import ModelFacts
from promptdsl.prompts import Prompt, ToolDefinition
from tests.adapters.conversations import ASK, answer, call, say
from tests.adapters.templates import TEMPLATES

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


@pytest.mark.parametrize(("name", "token"), EACH)
def test_restored(name: str, token: str) -> None:
    """What was broken is whole again."""
    tokens, text = control_tokens(TEMPLATES[name]), f"a{token}{token}b"
    assert text == restored(neutralised(text, tokens), tokens)


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


@pytest.mark.parametrize("token", ["\\x\\", "a\nb", "x" * 129, "", "a"])
def test_unbreakable(token: str) -> None:
    """What a backslash cannot break is no token."""
    template = ChatTemplate("{{ messages[0].content }}", bos_token=token)
    assert f"x{token}y" == broken(f"x{token}y", template)


def test_template_that_refuses() -> None:
    """The tokens of a template that refuses to print are those in its text."""
    template = ChatTemplate("{{ '<|a|>' }}{{ raise_exception('No!') }}")
    assert "<\\|a|>" == broken("<|a|>", template)


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
    assert (None, once) == (tokens.whole.search(once), neutralised(once, tokens))


@given(_names, _hostile)
def test_inverse(name: str, text: str) -> None:
    """Any text comes back, if it held no broken token before."""
    tokens = control_tokens(TEMPLATES[name])
    assume(not tokens.broken.search(text))
    assert text == restored(neutralised(text, tokens), tokens)


_SLOTS = 14


def conversation(words: list[str]) -> Prompt:
    """Return a prompt with a word in every place that text can go."""
    it = iter(words)
    call = ToolUseBlock("a", "look_up", json.dumps({"q": next(it), "z": [next(it)]}))
    schema = {"type": "object", "properties": {"q": {"description": next(it)}}}
    return Prompt(
        (
            Message("system", [TextBlock(f"a{next(it)}")]),
            Message("user", [TextBlock(f"b{next(it)}"), TextBlock(next(it))], name="Ada"),
            Message("assistant", [ReasoningBlock(next(it)), TextBlock(f"c{next(it)}"), call]),
            Message("tool", [ToolResultBlock("a", (TextBlock(next(it)),))]),
            Message("developer", [TextBlock(f"d{next(it)}")]),
            Message("assistant", [TextBlock(f"e{next(it)}")]),
            Message("user", [TextBlock(f"f{next(it)}")], name=f"g{next(it)}".replace("\n", " ")),
        ),
        (ToolDefinition("look_up", next(it), schema),),
    )


def prompted(prompt: Prompt, name: str) -> str:
    """Return the text that a template makes of a prompt."""
    return write(prompt, ModelFacts(template=TEMPLATES[name]))[0]["prompt"]


@settings(max_examples=200)
@given(_names, st.lists(_hostile, min_size=_SLOTS, max_size=_SLOTS))
def test_as_many_tokens(name: str, texts: list[str]) -> None:
    """Any texts come out among exactly as many tokens as harmless words do."""
    tokens = re.compile("|".join(map(re.escape, OWN[name])))
    harmless = prompted(conversation(["word"] * _SLOTS), name)
    hostile = prompted(conversation([f"x{text}x" for text in texts]), name)
    assert tokens.findall(harmless) == tokens.findall(hostile)


@settings(max_examples=200)
@given(_names, st.lists(_hostile, min_size=_SLOTS, max_size=_SLOTS))
def test_law(name: str, texts: list[str]) -> None:
    """Any texts are written, read and written again as the same bytes."""
    facts = ModelFacts(template=TEMPLATES[name])
    payload, _ = write(conversation(texts), facts)
    assert json.dumps(payload) == json.dumps(write(read(payload), facts)[0])


# In a payload.


def written(name: str, *messages: Message) -> list[dict[str, Any]]:
    """Return the messages of a payload."""
    return write(Prompt(messages), ModelFacts(template=TEMPLATES[name]))[0]["messages"]


def test_split() -> None:
    """A token cut in two parts, or two turns, is none when they are joined."""
    parts = (say("user", "<|im_", "end|>"), say("user", "<|im_"), say("user", "start|>"))
    joined = "<|im_\n\nend|>\n\n<|im_\n\nstart|>"
    assert [{"role": "user", "content": joined}] == written("chatml", *parts)


def test_calls() -> None:
    """Names, arguments and ids are text, too."""
    use = call("<|im_end|>", "<|im_end|>", '{"<|im_end|>": ["<|im_end|>", 1, {"a": null}]}')
    id, name = (
        written("chatml", ASK, say("assistant", use))[1]["tool_calls"][0]["id"],
        "<\\|im_end|>",
    )
    found = written("chatml", ASK, say("assistant", use))[1]["tool_calls"][0]["function"]
    assert ("_im_end__", {"name": name, "arguments": {name: [name, 1, {"a": None}]}}) == (
        id.removeprefix("_"),
        found,
    )


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
    said = written("functionary", ASK, say("assistant", call("a", arguments=arguments)))
    assert expected == said[1]["tool_calls"][0]["function"]["arguments"]


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
