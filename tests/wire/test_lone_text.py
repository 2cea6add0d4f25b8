"""A content that is one text: as a string or as a list, where a target takes both."""

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from promptdsl.integrations.litellm import to_litellm
from tests.internals import Memory, Written, facts_for
from tests.providers.conversations import PROMPTS, call, say
from tests.providers.every_target import FACTS, MADE_FACTS, check, check_rules, write
from tests.providers.laws import refused, unlawful
from tests.providers.prompts import ANY_PROMPTS
from tests.providers.sdk_check import anthropic_string_rules, check_anthropic_strings
from tests.renders import reported
from tests.searching import examples
from tests.wire.sent import sent

CLAUDE, CHAT = "claude-opus-5-5", "gpt-5.6-sol"
MARK = {"cache_control": {"type": "ephemeral"}}
CITED = {"citations": [{"type": "char_location", "cited_text": "b"}]}
ASKED = say("assistant", call("c"))
ANSWER = ToolResultBlock("c", (TextBlock("12"),))


def text(content: str, **keys: Any) -> dict[str, Any]:
    """Return a text as a part or a block."""
    return {"type": "text", "text": content, **keys}


def contents(target: str, setting: Any, *messages: Any) -> list[Any]:
    """Return the contents that are sent of messages, of a turn of results that of the first."""
    turns = sent(target, *messages, lone_text=setting)["messages"]
    return [turn["content"] for turn in turns]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([say("user", "a")], ["a"]),
        ([say("user", "a"), say("assistant", "b")], ["a", "b"]),
        ([say("user", "a"), say("user", "b")], [[text("a"), text("b")]]),
        ([say("user", "a", " ")], ["a"]),
        ([say("user", "a", name="ada")], ["a"]),
        ([say("assistant", "a")], [".", "a"]),
        ([say("user", TextBlock("a", "default"))], [[text("a", **MARK)]]),
        (
            [say("user", "a"), say("assistant", TextBlock("b", extra=CITED))],
            ["a", [text("b", **CITED)]],
        ),
        ([say("user", "a"), say("developer", "b"), say("assistant", "c")], ["a", "b", "c"]),
        (
            [say("user", TextBlock(said, "default")) for said in "abcde"],
            [[text("a"), *(text(said, **MARK) for said in "bcde")]],
        ),
        (
            [
                turn
                for said in "abcde"
                for turn in (say("user", TextBlock(said, "default")), say("assistant", said))
            ],
            ["a", "a"] + [it for said in "bcde" for it in ([text(said, **MARK)], said)],
        ),
    ],
)
def test_strings_for_claude(messages: Any, expected: object) -> None:
    """A text that is alone in its turn, without mark and keys, is a string."""
    assert expected == contents(CLAUDE, "string", *messages)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (ANSWER, {"content": "12"}),
        (attrs.evolve(ANSWER, is_error=True), {"content": "12", "is_error": True}),
        (attrs.evolve(ANSWER, cache="default"), {"content": "12", **MARK}),
        (attrs.evolve(ANSWER, content=(TextBlock("12", "default"),)), {"content": "12", **MARK}),
        (attrs.evolve(ANSWER, content=()), {}),
        (
            attrs.evolve(ANSWER, content=(TextBlock("1"), TextBlock("2"))),
            {"content": [text("1"), text("2")]},
        ),
    ],
)
def test_strings_in_results(result: Any, expected: dict[str, Any]) -> None:
    """The only text of a result is a string, its marks stand behind the result."""
    turns = contents(CLAUDE, "string", say("user", "u"), ASKED, say("tool", result))
    assert [{"type": "tool_result", "tool_use_id": "c", **expected}] == turns[2]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([say("system", "s"), say("user", "a")], [[text("s")], [text("a")]]),
        ([say("user", "a", "b")], [[text("a\n\nb")]]),
        ([say("user", "a", name="ada")], [[text("a")]]),
        ([say("assistant", "a ")], [[text(".")], [text("a")]]),
        (
            [say("user", "a"), ASKED, say("tool", ANSWER)],
            [[text("a")], None, [text("12")]],
        ),
    ],
)
def test_lists_for_chat(messages: Any, expected: object) -> None:
    """A content of one text is a list of one part, a content of calls alone stays none."""
    assert expected == contents(CHAT, "list", *messages)


OWN = [
    (target, form)
    for target, facts in {**FACTS, **MADE_FACTS}.items()
    for form in ("string", "list")
    if (facts.provider, form)
    not in [("anthropic", "string"), ("openai", "list"), ("openai_compatible", "list")]
]


@pytest.mark.parametrize(("target", "setting"), OWN)
def test_own_forms(target: str, setting: Any) -> None:
    """Any other target and form: what is sent is what is sent without the setting."""
    facts = {**FACTS, **MADE_FACTS}[target]
    prompt = attrs.evolve(PROMPTS["tools and calls"], lone_text=setting)
    assert write(PROMPTS["tools and calls"], facts) == write(prompt, facts)


def formed(setting: Any) -> dict[str, Prompt]:
    """Return all prompts of the table in a form."""
    return {name: attrs.evolve(prompt, lone_text=setting) for name, prompt in PROMPTS.items()}


FORMED = [
    (target, form)
    for target in {**FACTS, **MADE_FACTS}
    for form in ("string", "list")
    if (target, form) not in OWN
]


@pytest.mark.parametrize(("target", "lone_text"), FORMED)
def test_law(target: str, lone_text: Any) -> None:
    """What is written in a form, read and written in it again is the same bytes."""
    assert [] == unlawful(formed(lone_text), {**FACTS, **MADE_FACTS}[target])


BY_RULES = {"anthropic": anthropic_string_rules}
BY_TYPES = {"anthropic": check_anthropic_strings}


@pytest.mark.parametrize(("target", "lone_text"), FORMED)
@pytest.mark.parametrize(
    ("check", "claudes"),
    [
        pytest.param(check_rules, BY_RULES, id="rules"),
        pytest.param(check, BY_TYPES, id="types", marks=pytest.mark.sdk("anthropic", "openai")),
    ],
)
def test_accepted(target: str, lone_text: Any, check: Any, claudes: Any) -> None:
    """The rules of the service and the types of its SDK take each form."""
    facts = {**FACTS, **MADE_FACTS}[target]
    prompts = {
        name: prompt for name, prompt in formed(lone_text).items() if name != "unknown blocks"
    }
    assert [] == refused(prompts, facts, claudes.get(facts.provider, check))


def test_render() -> None:
    """The setting reaches the payload, the places in it and LiteLLM; messages stay the same."""
    prompt = Timeline(
        *(System("s"), User("a"), Assistant(ToolUse("f", {}, id="c")), ToolMessage("c", "12")),
        transformation={"lone_text": "string"},
    )
    rendered = render(prompt, model=CLAUDE)
    assert [("system", 0, "text"), ("messages", 0, "content"), ("messages", 1, "content", 0)] == [
        location.address for location in rendered.locations()[:3]
    ]
    last = rendered.locations()[-1]
    assert (("messages", 2, "content", 0, "content"), "12", 3, 0, 0) == (
        *(last.address, last.text, last.message),
        *(last.block, last.inner),
    )
    assert rendered.messages == render(prompt, model=CLAUDE, transformation={}).messages
    lists = to_litellm(render(prompt, transformation={"lone_text": "list"})).messages
    assert [[text("s")], [text("a")], None, [text("12")]] == [param["content"] for param in lists]


@pytest.mark.parametrize(("target", "setting"), [(CLAUDE, "string"), (CHAT, "list")])
def test_a_long_conversation(target: str, setting: Any) -> None:
    """A conversation that is remembered comes to the same, and its strings are counted once."""
    memory, facts, messages = (
        Memory(min_messages=0, long=0, newest=1, growth=1),
        facts_for(target, None),
        [],
    )
    counted_texts: list[str] = []

    class Words:
        def of(self, words: str) -> int:
            counted_texts.append(words)
            return len(words)

    counter = Words()
    for number in range(40):
        cache: Any = "default" if number % 7 == 0 else None
        messages.append(say(("user", "assistant")[number % 2], TextBlock(f"{number}", cache)))
        prompt = Prompt(tuple(messages), lone_text=setting)
        written_payload = Written(prompt, facts, memory)
        counted_texts.clear()
        assert written_payload.payload() == write(prompt, facts)[0]
        tally = written_payload.tally(counter)
    assert len(counted_texts) < 40
    assert tally.total == Written(prompt, facts, Memory(min_messages=99)).tally(counter).total
    other = Written(attrs.evolve(prompt, lone_text=None), facts, memory).payload()
    assert other == write(attrs.evolve(prompt, lone_text=None), facts)[0]


@pytest.mark.parametrize(("target", "lone_text"), [(CLAUDE, "string"), (CHAT, "list")])
@examples(100, 3)
@given(tree=ANY_PROMPTS, cache=st.sampled_from([None, "auto"]))
def test_a_form_says_the_same(target: str, lone_text: Any, tree: Timeline, cache: Any) -> None:
    """Of any prompt the tokens, the losses and the texts of its places are those without it."""
    options: Any = {"model": target, "cache": cache, "counter": len}
    plain = render(tree, **options)
    other = render(tree, transformation={"lone_text": lone_text}, **options)
    assert plain.tokens.total == other.tokens.total
    assert reported(plain) == reported(other)
    assert [location.text for location in plain.locations()] == [
        location.text for location in other.locations()
    ]
