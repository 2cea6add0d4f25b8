"""The chat template of an open model, as it is given."""

from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from promptdsl import ChatTemplate, ContentError, OptionError

NOON = datetime(2026, 11, 21, 12)
TOKENIZER = SimpleNamespace(chat_template="{{ bos_token }}", bos_token="<s>", eos_token=None)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("x", ChatTemplate("x")),
        (ChatTemplate("x", "<s>"), ChatTemplate("x", "<s>")),
        (TOKENIZER, ChatTemplate("{{ bos_token }}", "<s>")),
        (SimpleNamespace(chat_template="x", tokenizer=TOKENIZER), ChatTemplate("x", "<s>")),
        (
            SimpleNamespace(chat_template={"default": "x", "tool_use": "y"}),
            ChatTemplate("x", tool_source="y"),
        ),
    ],
    ids=["text", "template", "tokenizer", "processor", "several"],
)
def test_of(given: object, expected: ChatTemplate) -> None:
    """A text, a template, a tokenizer and a processor are a template."""
    assert expected == ChatTemplate.of(given)


def test_special_tokens() -> None:
    """A tokenizer tells all of its special tokens, and some of them by name."""
    by_name = {"bos_token": "<s>", "pad_token": "<p>", "additional_special_tokens": ["<a>"]}
    tokenizer = SimpleNamespace(
        chat_template="x",
        bos_token="<s>",
        special_tokens_map=by_name,
        all_special_tokens=["<s>", "<p>", "<a>"],
    )
    made = ChatTemplate.of(tokenizer, variables={"depth": 1})
    told = {"pad_token": "<p>", "additional_special_tokens": ["<a>"], "depth": 1}
    assert (("<s>", "<p>", "<a>"), told) == (made.special_tokens, made.variables)


def test_tool_use() -> None:
    """A prompt with tools has the template of its own, where there is one."""
    sources = [
        ChatTemplate("x", tool_source="y").with_tools().source,
        ChatTemplate("x").with_tools().source,
    ]
    assert ["y", "x"] == sources


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ("Qwen/Qwen3-8B", "give its text: Path('Qwen/Qwen3-8B').read_text(), or the tokenizer"),
        ("chat.jinja", "give its text: Path('chat.jinja').read_text(), or the tokenizer"),
        (Path("a/chat.jinja"), "give its text: path.read_text(), or the tokenizer"),
    ],
)
def test_names(given: object, fix: str) -> None:
    """The name of a template, or where it is, is not its text."""
    with pytest.raises(ContentError, match="is the path of a chat template") as caught:
        ChatTemplate.of(given)
    assert caught.value.fix.startswith(fix)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bos_token": None}, "bos_token must be a string, not NoneType"),
        ({"eos_token": 5}, "eos_token must be a string, not int"),
        ({"tool_source": "x" * 1_000_001}, "the chat template has more than 1,000,000 characters"),
        ({"special_tokens": [1]}, "a special token must be a string, not int"),
        ({"now": "noon"}, "now must be a datetime, not str"),
        ({"variables": [1]}, r"variables must be a mapping or pairs, not \[1\]"),
        ({"variables": {1: 2}}, "the name of a variable must be a string, not 1"),
    ],
)
def test_wrong(options: dict[str, Any], message: str) -> None:
    """What a template cannot be made of is refused by name."""
    with pytest.raises(ContentError, match=message):
        ChatTemplate.of("x", **options)


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"bos_token": None}, 'leave it out if there is none, or write ""'),
        ({"variables": 5}, 'write variables={"enable_thinking": False}'),
        ({"now": "noon"}, "write now=datetime(2026, 11, 21)"),
    ],
)
def test_the_advice_for_wrong_options(options: dict[str, Any], fix: str) -> None:
    """The advice says what to write instead."""
    with pytest.raises(ContentError) as caught:
        ChatTemplate.of("x", **options)
    assert fix == caught.value.fix


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("messages", "the prompt sets it: choose another name"),
        ("tools", "the prompt sets it: choose another name"),
        ("add_generation_prompt", "the prompt sets it: choose another name"),
        ("bos_token", "write bos_token= instead"),
        ("eos_token", "write eos_token= instead"),
        ("strftime_now", "write now= instead"),
    ],
)
def test_reserved(name: str, fix: str) -> None:
    """No variable stands in the place of what the prompt says, or of an option."""
    with pytest.raises(OptionError) as caught:
        ChatTemplate("x", variables={name: 1})
    assert (f"{name!r} cannot be set in variables", fix) == (caught.value.what, caught.value.fix)


def test_one_special_token() -> None:
    """A text is one special token."""
    assert ("<p>",) == ChatTemplate("x", special_tokens="<p>").special_tokens


class Failing:
    """A tokenizer that cannot say what its template is."""

    @property
    def chat_template(self) -> str:
        """Raise."""
        raise RuntimeError("Several!")


def test_failing_tokenizer() -> None:
    """What a tokenizer raises is told."""
    with pytest.raises(ContentError, match="the chat template of Failing cannot be read: Several!"):
        ChatTemplate.of(Failing())


@pytest.mark.parametrize("given", ["x", ChatTemplate("x", "<s>"), TOKENIZER])
def test_options_win(given: object) -> None:
    """What is said beside it counts before what it says itself."""
    made = ChatTemplate.of(given, bos_token="<b>", now=NOON)
    assert ("<b>", NOON) == (made.bos_token, made.now)


@pytest.mark.parametrize(
    "given",
    [None, 1, SimpleNamespace(chat_template=None), SimpleNamespace(chat_template={"rag": "x"})],
)
def test_no_template(given: object) -> None:
    """What holds no template is refused, and the error says what to write."""
    with pytest.raises(ContentError, match=r"not \w+\n  give its text: chat_template="):
        ChatTemplate.of(given)


def test_unknown_option() -> None:
    """An unknown option is refused with the nearest one."""
    with pytest.raises(OptionError, match=r"no option 'bos_tokens'\n  did you mean 'bos_token'\?"):
        ChatTemplate.of("x", bos_tokens="<s>")


@pytest.mark.parametrize("given", [{"think": [1]}, (("think", [1]),)])
def test_variables(given: Any) -> None:
    """Variables are a mapping or pairs, and what is done to them later changes nothing."""
    template = ChatTemplate("x", variables=given)
    dict(given)["think"].append(2)
    assert {"think": [1]} == template.variables


def test_hashable() -> None:
    """Templates are told apart by their variables, and hashed without them."""
    first, second = (ChatTemplate("x", variables={"depth": [n]}) for n in (1, 2))
    assert (True, True) == (hash(first) == hash(second), first != second)
