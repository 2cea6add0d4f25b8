"""Probing a template: what it can say is found by running it."""

from typing import Any

import attrs
import pytest

from promptdsl import ChatTemplate, TemplateError
from tests.internals import Abilities, probed
from tests.providers.templates import TEMPLATES

LOOP = "{% for message in messages %}{{ message.role }} {{ message.content }} {% endfor %}"
CALLS = (
    "{% for message in messages %}{{ message.content }}"
    "{% for call in message.tool_calls or [] %} {{ call | tojson }}{% endfor %} {% endfor %}"
)
ABLE = Abilities(
    no_user=True,
    user_after_result=True,
    parallel=True,
    short_ids=False,
    reasoning=False,
    reasoning_with_text=False,
    answers=False,
    rounds=False,
)
"""What a template can say that prints calls but no thoughts."""


def differing(template: ChatTemplate, usual: Abilities = ABLE) -> dict[str, Any]:
    """Return in what a template differs from the usual."""
    features, expected = attrs.asdict(probed(template)), attrs.asdict(usual)
    return {key: value for key, value in features.items() if value != expected[key]}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("chatml", dict.fromkeys(("reasoning", "reasoning_with_text", "answers", "rounds"), True)),
        ("deepseek", {"tools": False, "text_with_calls": False}),
        ("functionary", {"mapping": False}),
        ("llama", {"parallel": False, "text_with_calls": False}),
        (
            "mistral",
            {
                "system": False,
                "no_user": False,
                "user_after_result": False,
                "text_with_calls": False,
                "short_ids": True,
            },
        ),
    ],
)
def test_abilities(name: str, expected: dict[str, Any]) -> None:
    """What each template can say is found."""
    assert expected == differing(TEMPLATES[name])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gemma", ("system", "no_user", "tools", "calls")),
        ("vision", ("tools", "calls")),
    ],
)
def test_disabilities(name: str, expected: tuple[str, ...]) -> None:
    """What a template without tools cannot say is found."""
    features = probed(TEMPLATES[name])
    names = ("system", "no_user", "tools", "calls")
    assert expected == tuple(key for key in names if not getattr(features, key))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (LOOP, frozenset()),
        ("{% for p in messages[0].content %}{{ p.text or p.type }}{% endfor %}", frozenset()),
        (
            "{% for p in messages[0].content %}{{ p.text or '<image>' }}{% endfor %}",
            frozenset({"image"}),
        ),
        (
            "{% for p in messages[0].content %}"
            "{{ p.text if p.type == 'text' else '<a>' if p.type == 'audio' }}{% endfor %}",
            frozenset({"audio"}),
        ),
        (
            "{% for p in messages[0].content %}"
            "{{ p.text or ('<i>' if p.type == 'image_url' else '') }}{% endfor %}",
            frozenset({"image_url"}),
        ),
    ],
    ids=["none", "types", "image", "audio", "image_url"],
)
def test_media(source: str, expected: frozenset[str]) -> None:
    """The attachments are found for which something is printed between texts."""
    assert expected == probed(ChatTemplate(source)).media & {"image", "audio", "image_url"}


@pytest.mark.parametrize("name", TEMPLATES)
def test_lists(name: str) -> None:
    """Content is a list of parts only where a string is not taken."""
    assert (name == "vision") == probed(TEMPLATES[name]).lists


def test_list_of_tools() -> None:
    """A template that walks through tools without asking is given an empty list."""
    features = probed(ChatTemplate("{% for tool in tools %}{{ tool | tojson }}{% endfor %}" + LOOP))
    assert (True, True) == (features.tools, features.tools_list)


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("call.function.arguments | tojson", (True, True)),
        ("call.function.arguments", (True, False)),
        ("(call.function.arguments | list)[0]", (False, True)),
    ],
    ids=["as JSON", "as it is", "a part"],
)
def test_arguments(printed: str, expected: tuple[bool, bool]) -> None:
    """Arguments are a mapping where that is printed as JSON, and text where text is printed."""
    source = CALLS.replace("call | tojson", f"call.function.name }}}} {{{{ {printed}")
    features = probed(ChatTemplate(source))
    assert expected == (features.calls, features.mapping)


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("<function={{ f.name }}>{% for k, v in a %}<p={{ k }}>{{ v }}", (True, True)),
        ('<invoke name="{{ f.name }}">{% for k, v in a %}<{{ k }}>{{ v }}', (True, True)),
        ("<call>{{ f.name }}{% for k, v in a %}<k>{{ k }}</k>{{ v }}", (False, False)),
        ("<call>{{ f | tojson }}</call>{% for k in [] %}", (False, False)),
    ],
)
def test_tags(printed: str, expected: tuple[bool, bool]) -> None:
    """It is found whether names of tools and of arguments are printed in tags."""
    heads = "{% set f = call.function %}{% set a = f.arguments.items() %}"
    source = CALLS.replace("{{ call | tojson }}", f"{heads}{printed}{{% endfor %}}")
    features = probed(ChatTemplate(source))
    assert expected == (features.tag_names, features.tag_keys)


def test_descriptions() -> None:
    """A template that prints the description of every argument is given them all."""
    described = (
        "{% for tool in tools or [] %}{{ tool.function | tojson }}"
        "{% for p in tool.function.parameters.properties.values() %}{{ '' + p.description }}"
        "{% endfor %}{% endfor %}"
    )
    features = probed(ChatTemplate(described + CALLS))
    assert (True, True, True) == (features.tools, features.described, features.calls)


def test_dropped_result() -> None:
    """A call whose result is dropped is none that a template can say."""
    source = CALLS.replace(
        "{{ message.content }}", "{{ message.content if message.role != 'tool' }}"
    )
    assert not probed(ChatTemplate(source)).calls


def test_text_that_vanishes() -> None:
    """Text beside a call that is dropped once there is an answer is no text beside a call."""
    dropped = (
        "{{ message.content if not message.tool_calls or loop.index > messages | length - 2 }}"
    )
    source = CALLS.replace("{{ message.content }}", dropped)
    assert not probed(ChatTemplate(source)).text_with_calls


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (ChatTemplate("{{ raise_exception('Never!') }}"), "the chat template: Never!"),
        (ChatTemplate("{{ strftime_now('%Y') }}" + LOOP), "asks for the time"),
        (ChatTemplate("nothing"), "does not print the words of a user\n  check whether it reads"),
        (ChatTemplate("{% for %}"), "line 1: Expected an expression"),
    ],
    ids=["raises", "time", "prints nothing", "syntax"],
)
def test_refused(template: ChatTemplate, message: str) -> None:
    """A template that does not even print a question is refused, with what it says."""
    with pytest.raises(TemplateError) as caught:
        probed(template)
    assert message in str(caught.value)


def test_careful() -> None:
    """An unknown template is taken for one that drops all that any of them drops."""
    expected = {
        "no_user": False,
        "user_after_result": False,
        "parallel": False,
        "short_ids": True,
        "lists": False,
        "media": frozenset(),
    }
    assert expected == {key: getattr(Abilities(), key) for key in expected}


def test_remembered() -> None:
    """A template is probed once."""
    assert probed(ChatTemplate(LOOP)) is probed(ChatTemplate(LOOP))
