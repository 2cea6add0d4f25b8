"""Laws that hold at every server, also at one with any facts, for any recorded conversation."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.internals import facts_for, servers
from tests.renders import reported
from tests.searching import examples

Json = Any  # Any: the JSON of a server
CHAT = [server.name for server in servers() if server.adapter == "openai_compatible"]
WORDS = st.sampled_from(["hm", "a\n\nb", "<think>x</think>y", "\u00e9", "{}"])
IDS = ["call_1", "toolu_01Ab", "abCD12345", "x" * 70]
DETAILS = st.lists(
    st.fixed_dictionaries(
        {"type": st.just("reasoning.text"), "text": WORDS}, optional={"signature": st.just("c2ln")}
    ),
    min_size=1,
    max_size=2,
)
SIGNED = st.fixed_dictionaries({"google": st.fixed_dictionaries({"thought_signature": WORDS})})
KEYS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("reasoning", "reasoning_content", "reasoning_text"), WORDS),
        "reasoning_details": DETAILS,
        "reasoning_opaque": WORDS,
        "extra_content": SIGNED,
    },
)
FACTS = st.fixed_dictionaries(
    {},
    optional={
        "later_system": st.sampled_from([True, False, None]),
        **dict.fromkeys(
            ("several_systems", "developer", "result_names", "signatures", "schema_output"),
            st.booleans(),
        ),
        "user_after_results": st.booleans(),
        "exact_id": st.sampled_from([None, 9, 12]),
        "list_roles": st.sampled_from([[], ["user"]]),
        "kept_keys": st.sampled_from([[], ["reasoning_details"], ["extra_content", "state"]]),
    },
)
REASONING = st.sampled_from(
    [
        {},
        {"reasoning_key": "thoughts", "reasoning_back": "always", "missing_reasoning": ""},
        {"reasoning_key": "reasoning", "reasoning_back": "turn"},
        {
            **{"reasoning_key": "content", "reasoning_back": "always"},
            "thinking_tags": ["<think>", "</think>"],
        },
    ]
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Json]:
    """Return a conversation of Chat: questions, answers with any keys, calls and results."""
    messages: list[Json] = []
    for _ in range(draw(st.integers(1, 3))):
        messages.append({"role": "user", "content": draw(WORDS)})
        ids = draw(st.lists(st.sampled_from(IDS), max_size=2, unique=True))
        calls = [
            call(id, draw(st.one_of(st.just({}), st.fixed_dictionaries({"extra_content": SIGNED}))))
            for id in ids
        ]
        answer = {"role": "assistant", "content": draw(WORDS), **draw(KEYS)}
        messages.append({**answer, "tool_calls": calls} if calls else answer)
        messages += [{"role": "tool", "tool_call_id": id, "content": draw(WORDS)} for id in ids]
    return messages


def call(id: str, keys: Json) -> Json:
    """Return a call of a tool with further keys."""
    return {"id": id, "type": "function", "function": {"name": "find", "arguments": "{}"}, **keys}


def check(name: str, messages: list[Json]) -> None:
    """Check the request that a conversation becomes at a server."""
    history = History.from_openai(messages, origin=name)
    prompt = Timeline(System("Base."), Developer("First."), history, Developer("Plan."), User("z"))
    result = render(prompt, provider=name)
    payload_messages = result.to_openai()["messages"]
    json.dumps(payload_messages).encode("utf-8")
    again = render(read_payload(result.payload(), name), provider=name).payload()
    if result.facts.reasoning_back != "turn":
        assert result.payload() == again
    check_roles(result, payload_messages)
    check_calls(result, payload_messages)
    check_texts(messages, result)


def check_roles(result: Rendered, messages: list[Json]) -> None:
    """Check the order of the roles, and the contents that are lists."""
    facts, roles = result.facts, [entry["role"] for entry in messages]
    head = next(n for n, role in enumerate(roles) if role not in ("system", "developer"))
    assert head == 1 if not facts.several_systems else head == 2
    if facts.later_system is False:
        assert {"system", "developer"}.isdisjoint(roles[head:])
    pairs = {*pairwise(roles)}
    assert facts.user_after_results or ("tool", "user") not in pairs
    lists = {entry["role"] for entry in messages if isinstance(entry["content"], list)}
    assert lists <= {*facts.list_roles}


def check_calls(result: Rendered, messages: list[Json]) -> None:
    """Check the ids, the signatures and the names of calls and results."""
    facts = result.facts
    for number, entry in enumerate(messages):
        calls = entry.get("tool_calls", [])
        ids = [call["id"] for call in calls]
        results = messages[number + 1 : number + 1 + len(ids)]
        assert ids == [answer["tool_call_id"] for answer in results]
        assert facts.exact_id is None or {facts.exact_id} >= {len(id) for id in ids}
        assert not facts.result_names or all(answer["name"] == "find" for answer in results)
        assert not (facts.signatures and calls) or "thought_signature" in str(calls[0])
        if calls and facts.missing_reasoning is not None:
            assert str(facts.reasoning_key) in entry


def check_texts(messages: list[Json], result: Rendered) -> None:
    """Check that each further key of an answer or a call is sent, or is told."""
    payload, losses = json.dumps(result.payload()), " ".join(map(str, reported(result)))
    for message in messages:
        for holder in (message, *message.get("tool_calls", [])):
            for key in ("reasoning_details", "reasoning_opaque", "extra_content"):
                if key in holder:
                    assert json.dumps(holder[key]) in payload or f"key '{key}'" in losses
        for key in ("reasoning", "reasoning_content", "reasoning_text"):
            if key in message:
                is_sent = json.dumps(message[key])[1:-1] in payload
                assert is_sent or "reasoning block" in losses


@pytest.mark.parametrize("name", CHAT)
@given(messages=conversations())
@examples(10)
def test_a_conversation_at_a_server(name: str, messages: list[Json]) -> None:
    """A conversation is sent as the facts of a server say, and nothing of it is lost unseen."""
    check(name, messages)


@given(messages=conversations(), facts=FACTS, reasoning=REASONING)
@examples(100)
def test_a_conversation_at_any_server(messages: list[Json], facts: Json, reasoning: Json) -> None:
    """The same at a server with any facts, which is known only here."""
    assert "house" not in [server.name for server in servers()]
    with register_provider("house", adapter="openai_compatible", **facts, **reasoning):
        assert facts_for(None, "house").provider == "house"
        check("house", messages)
