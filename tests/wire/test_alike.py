"""What is alike at every target: blank texts, who speaks first, white space at the end."""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.folding import folded
from tests.internals import facts_for
from tests.providers.conversations import LOOK_UP, answer, call, say
from tests.providers.every_target import FACTS, read, write
from tests.providers.strategies import joined, rounds_of, turns_of
from tests.searching import examples
from tests.wire.sent import sent

OPENING = {"role": "user", "content": "."}
LLAMA = "meta.llama3-1-70b-instruct-v1:0"
TARGETS = {
    **{name: FACTS[name] for name in FACTS if name != "o1-mini" and "template " not in name},
    "bedrock llama": facts_for(LLAMA, "bedrock"),
}
"""Every target that has system text."""
every_target = folded("target", TARGETS)

U, V, A, S = say("user", "u"), say("user", "v"), say("assistant", "a"), say("system", "s")
CALL, ANSWER = say("assistant", call("c")), answer("c", "o")

BLANK = ("hint", "text block", "it is only white space, so it is left out")
FIRST = (
    *("hint", "the model speaks first"),
    "every API needs a user message first, so '.' is sent before it",
)
TRAILING = (
    *("hint", "trailing white space"),
    "many models refuse it at the end of the last answer, so it is left out",
)
ELSEWHERE = "a call without a signature"
"""The hint about what only some targets ask for."""


def turns(messages: tuple[Message, ...]) -> list[tuple[str, str]]:
    """Return the sides that speak, each with its texts; neighbours on one side are one."""
    groups = groupby(messages, lambda message: "user" if message.role == "tool" else message.role)
    return [(side, "\n\n".join(message.text for message in group)) for side, group in groups]


def losses_and_turns(target: str, *messages: Message) -> tuple[list[tuple[str, str]], list[Any]]:
    """Return the turns that a target gets of messages, and the losses."""
    payload, losses = write(Prompt(messages, (LOOK_UP,)), TARGETS[target])
    loss_fields = [(loss.kind, loss.what, loss.why) for loss in losses if loss.what != ELSEWHERE]
    return turns(read(payload, TARGETS[target]).messages), loss_fields


@every_target
@pytest.mark.parametrize(
    ("messages", "expected", "losses"),
    [
        ((say("system", " "), U), [("user", "u")], [BLANK]),
        ((say("system", "\n\t "), S, U), [("system", "s"), ("user", "u")], [BLANK]),
        ((say("system", "s", " \n"), U), [("system", "s"), ("user", "u")], [BLANK]),
        ((say("developer", " "), U), [("user", "u")], [BLANK]),
        ((say("user", " "), U), [("user", "u")], [BLANK]),
        ((U, A, say("user", "\n")), [("user", "u"), ("assistant", "a")], [BLANK]),
        ((say("user", " ", "u", "\n"),), [("user", "u")], [BLANK, BLANK]),
        ((U, say("assistant", "\u3000"), V), [("user", "u\n\nv")], [BLANK]),
        ((U, say("assistant", " \n")), [("user", "u")], [BLANK]),
        (
            (U, say("developer", " "), A, V),
            [("user", "u"), ("assistant", "a"), ("user", "v")],
            [BLANK],
        ),
        (
            (U, CALL, answer("c", " "), A, V),
            [("user", "u"), ("assistant", ""), ("user", ""), ("assistant", "a"), ("user", "v")],
            [BLANK],
        ),
        ((U, say("developer", ""), say("user", ""), say("assistant")), [("user", "u")], []),
    ],
)
def test_blank_texts(target: str, messages: Any, expected: object, losses: object) -> None:
    """A text of white space is left out wherever it stands, a hint; an empty one is no loss."""
    assert (expected, losses) == losses_and_turns(target, *messages)


@every_target
@pytest.mark.parametrize(
    ("messages", "expected", "losses"),
    [
        ((A, U), [("user", "."), ("assistant", "a"), ("user", "u")], [FIRST]),
        (
            (S, CALL, ANSWER, A, U),
            [
                *[("system", "s"), ("user", "."), ("assistant", ""), ("user", "o")],
                *[("assistant", "a"), ("user", "u")],
            ],
            [FIRST],
        ),
        (
            (say("user", " "), A, U),
            [("user", "."), ("assistant", "a"), ("user", "u")],
            [FIRST, BLANK],
        ),
        ((say("assistant", " "), U), [("user", "u")], [BLANK]),
        ((A,), [("user", "."), ("assistant", "a")], [FIRST]),
    ],
)
def test_who_speaks_first(target: str, messages: Any, expected: object, losses: Any) -> None:
    """Before a model that speaks first a user says a point, which is a hint."""
    turns, reported_losses = losses_and_turns(target, *messages)
    assert (expected, losses) == (turns, sorted(reported_losses, key=losses.index))


@every_target
@pytest.mark.parametrize(
    ("content", "expected", "losses"),
    [
        (("a",), "a", []),
        (("a \n",), "a", [TRAILING]),
        ((" a\t",), " a", [TRAILING]),
        (("a ", "\n"), "a", [BLANK, TRAILING]),
    ],
)
def test_a_blank_at_the_end(target: str, content: Any, expected: str, losses: object) -> None:
    """A last answer is sent without the white space at its end, which is a hint; others keep it."""
    messages = (U, say("assistant", "x "), V, say("assistant", *content))
    wire = [("user", "u"), ("assistant", "x "), ("user", "v"), ("assistant", expected)]
    assert (wire, losses) == losses_and_turns(target, *messages)


@pytest.mark.parametrize("reasoning", [[], [{"type": "reasoning", "id": "rs_1", "summary": []}]])
@pytest.mark.parametrize("texts", [["a "], [" "], ["a", "\n"]])
def test_the_item_of_a_response(texts: list[str], reasoning: list[Any]) -> None:
    """At Responses an answer with the id of its item goes back as it came, and its reasoning."""
    recorded = [
        {"role": "user", "content": "u"},
        *reasoning,
        {
            **{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"},
            "content": [{"type": "output_text", "text": text, "annotations": []} for text in texts],
        },
    ]
    messages = read_payload(recorded, "openai_responses").messages
    payload, losses = write(Prompt(messages), TARGETS["responses"])
    assert (recorded, ()) == (payload["input"], losses)


@pytest.mark.parametrize(
    ("item", "opening"),
    [
        ({"type": "web_search_call", "id": "ws_1", "status": "completed"}, [OPENING]),
        ({"type": "reasoning", "id": "rs_1", "summary": []}, [OPENING]),
        ({"type": "compaction", "encrypted_content": "x"}, []),
    ],
)
def test_what_the_model_begins_with(item: Any, opening: list[Any]) -> None:
    """At Responses a call of the service's own tools is a turn of the model, too."""
    text_part = {"type": "output_text", "text": "a", "annotations": []}
    answer = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    recorded = [item, {**answer, "content": [text_part]}, {"role": "user", "content": "u"}]
    messages = read_payload(recorded, "openai_responses").messages
    assert [*opening, *recorded] == sent("openai_responses", *messages)["input"]


def test_an_answer_of_parts() -> None:
    """At Chat white space goes from the end of the last part, unless that is a refusal."""
    refusal = TextBlock("r ", extra={"refusal": True})
    refused = {"type": "refusal", "refusal": "r "}
    expected = [
        [refused, {"type": "text", "text": "a"}],
        [{"type": "text", "text": "a "}, refused],
    ]
    assert expected == [
        sent("openai", U, say("assistant", *content))["messages"][-1]["content"]
        for content in ((refusal, "a "), ("a ", refusal))
    ]


@every_target
def test_where_it_is_told(target: str) -> None:
    """A hint names the block that is left out, and the last text of the model that is sent."""
    last = say("assistant", "a ", " ")
    losses = write(Prompt((U, last, say("assistant", " "), say("user", ""))), TARGETS[target])[1]
    locations = [(loss.what, loss.at) for loss in losses if loss.what != ELSEWHERE]
    assert [
        ("text block", (1, 1)),
        ("text block", (2, 0)),
        ("trailing white space", (1, 0)),
    ] == locations


@pytest.mark.parametrize("provider", ["openai", "openai_responses", "gemini", "bedrock"])
def test_the_line_of_a_hint(provider: str) -> None:
    """A hint about a blank system text names the author's line."""
    tree = Timeline(System(" "), User("Hi."))
    [hint] = render(tree, provider=provider).hints
    assert ("hint", "text block", "system[0]") == (hint.kind, hint.what, hint.path)
    assert str(hint).endswith(f": {hint.source}")


# Any conversation.

TEXTS = st.sampled_from(["", " ", "\n", "a", "a \n", " b"])
CONTENTS = TEXTS.map(TextBlock)
IDS = st.sampled_from([["a"], ["a", "b"]])
KINDS = st.sampled_from(["written", "event", "request"])
CONVERSATIONS = st.builds(
    lambda leading, runs: (*leading, *joined(runs)),
    st.lists(st.builds(say, st.sampled_from(["system", "developer"]), TEXTS), max_size=2),
    turns_of(CONTENTS, rounds_of(CONTENTS, IDS), KINDS),
)


def texts(messages: tuple[Message, ...]) -> Iterator[str]:
    """Yield the texts of messages and of the results in them."""
    unvisited: list[Block] = [block for message in messages for block in message.content]
    for block in unvisited:
        unvisited += block.content if isinstance(block, ToolResultBlock) else ()
        if isinstance(block, TextBlock):
            yield block.text


@examples(2_000, fast=50)
@given(st.sampled_from([*FACTS]), CONVERSATIONS)
def test_any_conversation(target: str, messages: tuple[Message, ...]) -> None:
    """No text is blank, the model never speaks first, no last answer ends in white space."""
    payload, _ = write(Prompt(messages, (LOOK_UP,)), FACTS[target])
    prompt = read(payload, FACTS[target])
    roles = [message.role for message in prompt.messages if message.role in ("user", "assistant")]
    last = prompt.messages[-1:]
    ends = [message.text for message in last if message.role == "assistant" and not message.calls]
    assert [] == [text for text in texts(prompt.messages) if not text.strip()]
    assert "assistant" not in roles[:1]
    assert [end.rstrip() for end in ends] == ends
    assert json.dumps(payload, default=repr) == json.dumps(
        write(prompt, FACTS[target])[0], default=repr
    )
