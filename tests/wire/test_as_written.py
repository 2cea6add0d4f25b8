"""What was written apart is sent apart, with the settings that join nothing."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.renders import reported
from tests.searching import examples

CALLS = Assistant("I look.", ToolUse("f", {}, id="a"), ToolUse("f", {}, id="b"))
RESULTS = ToolMessage("a", "1"), ToolMessage("b", "2")


def turns(payload: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the role of each turn of a payload, with the number of its parts."""
    entries = payload.get("messages", payload.get("contents", ()))
    return [(turn["role"], len(turn.get("content", turn.get("parts")))) for turn in entries]


PROMPTS: dict[str, tuple[list[Node], list[tuple[str, int]]]] = {
    "two users": ([User("a"), User("b")], [("user", 1), ("user", 1)]),
    "three, with texts": (
        [User("a"), User(Text("b"), Text("c")), User("d")],
        [("user", 1), ("user", 2), ("user", 1)],
    ),
    "two answers": (
        [User("a"), Assistant("b"), Assistant("c"), User("d")],
        [("user", 1), ("model", 1), ("model", 1), ("user", 1)],
    ),
    "two results, then two users": (
        [User("a"), CALLS, *RESULTS, User("b"), User("c")],
        [("user", 1), ("model", 3), ("user", 3), ("user", 1)],
    ),
    "a text between results": (
        [User("a"), CALLS, RESULTS[0], Event("e"), RESULTS[1], User("b")],
        [("user", 1), ("model", 3), ("user", 3), ("user", 1)],
    ),
    "an instruction": (
        [User("a"), Developer("b"), User("c")],
        [("user", 1), ("user", 1), ("user", 1)],
    ),
}


@pytest.mark.parametrize("name", PROMPTS)
def test_anthropic(name: str) -> None:
    """Each message is a turn; results and what follows them are one."""
    messages, expected = PROMPTS[name]
    prompt = Timeline(Tool(name="f", description="f"), *messages)
    rendered = render(prompt, model="claude-opus-4-5", transformation=AS_WRITTEN, hints=False)
    roles = {"model": "assistant", "user": "user"}
    assert [(roles[role], count) for role, count in expected] == turns(rendered.to_anthropic())


@pytest.mark.parametrize("name", [name for name in PROMPTS if "result" not in name])
def test_gemini(name: str) -> None:
    """So it is for Gemini."""
    messages, expected = PROMPTS[name]
    rendered = render(Timeline(*messages), model="gemini-2.5-pro", transformation=AS_WRITTEN)
    assert expected == turns(rendered.to_gemini())


@pytest.mark.parametrize("provider", ["bedrock", "chat_template"])
def test_roles_that_alternate(provider: str) -> None:
    """Where roles alternate neighbours are one turn, and a hint tells it, once for each line."""
    prompt = Timeline(User("a"), User("b"), Assistant("c"), User("d"))
    rendered = render(prompt, provider=provider, transformation=AS_WRITTEN)
    assert ["joined_turns"] == [hint.name for hint in rendered.hints]
    assert 3 == len(rendered.payload()["messages"])
    assert () == reported(render(prompt, provider=provider))


def test_what_a_component_writes_stays() -> None:
    """Blank lines between the parts of a component, tags and encoding are what they were."""
    parts = "Be kind.", Section("style", "Be brief.")
    usual, apart = (
        render(Timeline(System(*parts), User("a")), model="gpt-5", transformation=settings)
        for settings in ({"format": "xml"}, {**AS_WRITTEN, "format": "xml"})
    )
    assert usual.to_openai() == apart.to_openai()


def test_recorded_instructions() -> None:
    """The system messages of a recording stay apart where nothing else is system text."""
    recorded = [{"role": "system", "content": text} for text in "ab"]
    recorded += [{"role": "user", "content": "c"}]

    def roles(*before: Node) -> list[str]:
        prompt = Timeline(*before, History.from_openai(recorded))
        rendered = render(prompt, model="gpt-5", transformation=AS_WRITTEN)
        return [message["role"] for message in rendered.to_openai()["messages"]]

    assert ["system", "system", "user"] == roles()
    assert ["system", "user"] == roles(System("d"))
    assert ["system", "user"] == roles(Section("d", "e"))


@pytest.mark.parametrize("position", ["after_system", "start", "before_user", "end"])
@pytest.mark.parametrize("following", [[], [{"role": "system", "content": "b"}]])
def test_request_only_turns_beside_recorded_instructions(
    position: Any, following: list[Any]
) -> None:
    """What goes after the system text goes behind all of its messages."""
    systems = [{"role": "system", "content": "a"}, *following]
    recorded = [*systems, {"role": "user", "content": "c"}]
    prompt = Timeline(History.from_openai(recorded), Ephemeral("e", position=position))
    payload_messages: Any = render(prompt, model="gpt-5", transformation=AS_WRITTEN).to_openai()[
        "messages"
    ]
    texts = [message["content"] for message in payload_messages]
    context = "<context>\ne\n</context>"
    expected = ["c", context] if position == "end" else [context, "c"]
    assert [*(message["content"] for message in systems), *expected] == texts


def test_it_cannot_be_changed() -> None:
    """The settings are those of everybody: a change is an error."""
    with pytest.raises(TypeError, match="frozen"):
        AS_WRITTEN["join_texts"] = True


def test_a_wrong_setting_beside_it() -> None:
    """What is added is checked as any setting is."""
    with pytest.raises(Exception, match="unknown key 'merge'"):
        render(Timeline(User("a")), transformation={**AS_WRITTEN, "merge": True})


any_turn = st.sampled_from(["user", "assistant"])


@examples(100)
@given(st.lists(st.tuples(any_turn, st.lists(st.sampled_from("xyz"), min_size=1, max_size=3))))
@pytest.mark.parametrize("provider", ["anthropic", "gemini", "openai"])
def test_any_conversation(provider: str, turns: list[tuple[Any, list[str]]]) -> None:
    """Any conversation has as many turns as messages, and is read as what it was."""
    messages = [Message("user", "q"), *(Message(role, texts) for role, texts in turns)]
    settings = {**AS_WRITTEN, "silent_hints": ["ended_conversation"]}
    rendered = render(Timeline(History(messages)), provider=provider, transformation=settings)
    again = read_payload(rendered.payload(), provider)
    assert [message.content for message in messages] == [m.content for m in again.messages]
    assert rendered.payload() == render(again, provider=provider).payload()
