"""Payloads as a cache sees them, and what two of them begin with alike."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import render
from tests.internals import (
    beginning_tokens,
    certain,
    equal_start,
    facts_for,
    request,
    shared_by,
    tokens_for,
)
from tests.internals import encoding_named as encoding
from tests.renders import lossy_payload
from tests.reports.prompts import PROVIDERS, everything, pictured, words

OPENAI = facts_for(None, "openai")
COUNTER = tokens_for(OPENAI, words)
FRAME = 4
"""The frame of a message, in words: 3, and its role."""


def shared(one: dict[str, Any], two: dict[str, Any]) -> tuple[str, int, bool]:
    """Return where two payloads part, the words they share, and whether these are the first."""
    found = shared_by(request(one, OPENAI), request(two, OPENAI))
    return found.location, beginning_tokens(found.payload, COUNTER, OPENAI), found.is_complete


def user(content: object, **more: object) -> dict[str, Any]:
    """Return the payload of one message of a user."""
    return {"messages": [{"role": "user", "content": content, **more}]}


@pytest.mark.parametrize("provider", PROVIDERS[1:])
@pytest.mark.parametrize("prompt", [everything, pictured])
def test_a_request_shares_all_of_itself(provider: str, prompt: object) -> None:
    """Of two equal payloads everything is shared, the frame of the reply aside."""
    rendered = render(prompt(), provider=provider, counter=words)  # type: ignore[operator]
    found = request(lossy_payload(rendered), rendered.facts)
    whole = shared_by(found, request(lossy_payload(rendered), rendered.facts))
    assert ("", rendered.tokens.total - 3) == (
        whole.location,
        beginning_tokens(whole.payload, COUNTER, rendered.facts),
    )


MARK = {"cache_control": {"type": "ephemeral"}}
POINT: dict[str, Any] = {"cachePoint": {}}
SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (user("One two."), user([{"type": "text", "text": "One two.", **MARK}])),
    (user("One.\n\nTwo."), user([{"text": "One."}, POINT, {"text": "Two."}])),
    ({"system": "One."}, {"system": [{"type": "text", "text": "One.", **MARK}]}),
    ({"tools": [{"name": "a"}]}, {"tools": [{"name": "a", **MARK}]}),
    (
        {"toolConfig": {"tools": [{"toolSpec": {"name": "a"}}, POINT]}},
        {"toolConfig": {"tools": [POINT, {"toolSpec": {"name": "a"}}]}},
    ),
    ({"instructions": "One.", "input": "Two."}, {"instructions": "One.", "input": "Two."}),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_marks_are_no_difference(one: dict[str, Any], two: dict[str, Any]) -> None:
    """A mark divides no text, makes no part, and changes nothing."""
    assert "" == shared(one, two)[0]


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        (user("One two."), user("One three."), ("messages[0]", FRAME + 1, False)),
        (user("One"), user("One two."), ("messages[0]", FRAME + 1, True)),
        (
            user("One."),
            {"messages": [{"role": "tool", "content": "One."}]},
            ("messages[0]", 0, False),
        ),
        (user("One."), user("One.", name="ann"), ("messages[0]", 0, False)),
        (user(["One.", {"type": "x"}, "Two."]), user(["One."]), ("messages[0]", FRAME + 1, False)),
        (user([{"image": b"1"}]), user([{"image": b"2"}]), ("messages[0]", FRAME, False)),
        (
            {"messages": [{"role": "user", "refusal": "One."}]},
            user("One."),
            ("messages[0]", FRAME, False),
        ),
        ({"messages": []}, user("One."), ("messages[0]", 0, True)),
        (user("One."), {"messages": []}, ("messages[0]", 0, False)),
        ({"system": "One."}, {"system": "One. Two."}, ("system", FRAME + 1, False)),
        ({"tools": [{"name": "a"}]}, {"tools": [{"name": "b"}]}, ("tools[0]", 0, False)),
        ({"text": {"format": {"schema": {}}}}, {}, ("settings", 0, False)),
        ({"tool_choice": "auto"}, {"tool_choice": "none"}, ("", 0, True)),
    ],
)
def test_where_two_requests_part(
    one: dict[str, Any], two: dict[str, Any], expected: tuple[str, int, bool]
) -> None:
    """What is the same at the beginning is shared, down to the text of the first other message."""
    assert expected == shared(one, two)


def test_a_tool_choice_is_another_conversation_for_some() -> None:
    """Where the provider says so, another tool choice shares tools and system text only."""
    facts = facts_for(None, "anthropic")
    one, two = (
        request({"system": "One.", "tool_choice": {"type": kind}, **user("Two.")}, facts)
        for kind in ("auto", "any")
    )
    found = shared_by(one, two)
    assert ("tool_choice", FRAME + 1) == (
        found.location,
        beginning_tokens(found.payload, COUNTER, facts),
    )


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_what_two_texts_have_in_common(one: str, two: str) -> None:
    """Two texts have their longest common beginning in common, whatever they are."""
    length = equal_start(one, two)
    more = one[length : length + 1], two[length : length + 1]
    assert (one[:length], True) == (two[:length], more == ("", "") or more[0] != more[1])


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("One two.", "One three.", 3),
        ("One", "One two.", 3),
        ("One two", "One twofold", 3),
        ("Help", "Hello", 0),
        ("One.\nTwo", "One.\nSix", 5),
        ("a" * 100, "a" * 99 + "b", 99),
        ("", "One.", 0),
    ],
)
def test_a_token_is_shared_as_a_whole(one: str, two: str, expected: int) -> None:
    """A token that goes on in another way is not shared, as far as it can be told."""
    assert expected == certain(one, two, equal_start(one, two))


O200K = encoding("o200k_base")


@given(*[st.lists(st.sampled_from(["a", "to", "of", " ", "\n", ".", "é", "/"])).map("".join)] * 3)
def test_what_is_shared_is_the_same_tokens(head: str, one: str, two: str) -> None:
    """The tokens of what two texts share are the first tokens of both, whatever they are."""
    before, after = head + one, head + two
    shared = after[: certain(before, after, equal_start(before, after))]
    ids = O200K.encode_ordinary(shared)
    assert [ids, ids] == [O200K.encode_ordinary(text)[: len(ids)] for text in (before, after)]
