"""The chat template of an open model, as it is given."""

from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from promptdsl.chat_templates import ChatTemplate
from promptdsl.errors import ContentError, OptionError

NOON = datetime(2026, 11, 21, 12)
TOKENIZER = SimpleNamespace(chat_template="{{ bos_token }}", bos_token="<s>", eos_token=None)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("x", ChatTemplate("x")),
        (ChatTemplate("x", "<s>"), ChatTemplate("x", "<s>")),
        (TOKENIZER, ChatTemplate("{{ bos_token }}", "<s>")),
        (SimpleNamespace(chat_template="x", tokenizer=TOKENIZER), ChatTemplate("x", "<s>")),
        (SimpleNamespace(chat_template={"default": "x", "tool_use": "y"}), ChatTemplate("x")),
    ],
    ids=["text", "template", "tokenizer", "processor", "several"],
)
def test_of(given: object, expected: ChatTemplate) -> None:
    """A text, a template, a tokenizer and a processor are a template."""
    assert expected == ChatTemplate.of(given)


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
