"""A conversation of LiteLLM's goes out as it came in, when its settings join nothing.

Three things have one form: content that is missing or empty, a list of one text without a mark, and
the address of a picture, which is in a mapping. A id that is used twice is a call of its own.
"""

import json
from importlib import import_module
from itertools import cycle
from typing import Any

import pytest

from promptdsl import AS_WRITTEN, History, TargetError, Timeline, Tool, render
from promptdsl.integrations.litellm import from_litellm, to_litellm
from tests.folding import failures, unequal
from tests.renders import reported

Item = dict[str, Any]
MARK = {"type": "ephemeral"}
HOUR, SHORT = {**MARK, "ttl": "1h"}, {**MARK, "ttl": "5m"}
DOT = "data:image/png;base64,iVBORw0KGgo="


def text(words: str, **keys: Any) -> Item:
    """Return a part with a text."""
    return {"type": "text", "text": words, **keys}


def call(id: str, **keys: Any) -> Item:
    """Return a call of a tool."""
    function = {"name": "find", "arguments": '{"q": "a < b"}'}
    return {"id": id, "type": "function", "function": function, **keys}


def picture(url: str, **keys: Any) -> Item:
    """Return a part with a picture."""
    return {"type": "image_url", "image_url": {"url": url, **keys}}


SYSTEMS: list[list[Item]] = [
    [],
    [{"role": "system", "content": "Be kind."}],
    [{"role": "system", "content": "Be kind.\n"}, {"role": "system", "content": " Be brief."}],
    [{"role": "system", "content": [text("Rules.", cache_control=HOUR), text("Date.")]}],
    [{"role": "system", "content": [text("Rules."), text("Date.", cache_control=MARK)]}],
    [{"role": "system", "content": "Rules.", "cache_control": MARK}],
]
QUESTIONS: list[list[Item]] = [
    [{"role": "user", "content": "Where?"}],
    [{"role": "user", "content": "  Where?\n\n"}, {"role": "user", "content": "And when?"}],
    [{"role": "user", "content": [text("Where?"), text("When?"), text("Who?")]}],
    [{"role": "user", "content": [text("What?", cache_control=MARK), text("Hm."), picture(DOT)]}],
    [{"role": "user", "content": "Where?", "name": "ada"}, {"role": "user", "content": "Or <b>?"}],
    [{"role": "user", "content": [picture("https://a.org/a", format="image/webp"), text("This?")]}],
    [{"role": "user", "content": "Long.", "cache_control": SHORT}],
    [{"role": "user", "content": "One."}, {"role": "system", "content": "Now be brief."}],
    [{"role": "user", "content": [picture(DOT, detail="high"), picture(DOT), text("Same?")]}],
]
THINKING = [
    {"type": "thinking", "thinking": "Hm.\n", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "ZW5j"},
    {"type": "thinking", "thinking": "So.", "signature": "c2lnMg=="},
]
TOLD = "Here <it> is."


def answers_of(origin: str) -> list[list[Item]]:
    """Return answers of a model, with the keys that LiteLLM gives the answers of a provider."""
    plain = {"role": "assistant", "content": TOLD}
    one = {"role": "tool", "tool_call_id": "a", "content": "It is here."}
    two = {"role": "tool", "tool_call_id": "b", "content": [text("A."), text("B.")]}
    asking = {"role": "assistant", "content": "I look.", "tool_calls": [call("a"), call("b")]}
    common: list[list[Item]] = [
        [plain],
        [asking, {**one, "name": "find"}, two, plain],
        [{**asking, "content": None}, two, one],
        [plain, {"role": "assistant", "content": "More."}],
        [{"role": "assistant", "content": [text("A."), text("B.")], "name": "bot"}],
        [plain, {"role": "user", "content": "Well?"}, asking, one, two, plain],
        [{**plain, "reasoning_content": "Hm."}, {"role": "user", "content": "So?"}],
        [{**plain, "reasoning_items": [{"type": "reasoning", "id": "rs_1", "summary": []}]}],
    ]
    if origin == "gemini":
        signed = call("a", provider_specific_fields={"thought_signature": "c2ln"})
        fields = {"thought_signatures": ["c2ln"], "continuation_token": "t"}
        unsigned = [{"type": "thinking", "thinking": "Hm."}]
        return [
            *common,
            [{**asking, "tool_calls": [signed, call("b")]}, one, two],
            [{**plain, "provider_specific_fields": {"thought_signatures": ["c2ln"]}}],
            [{**asking, "tool_calls": [signed], "provider_specific_fields": fields}, one],
            [{**plain, "thinking_blocks": unsigned, "reasoning_content": "Hm."}],
            [{**plain, "thinking_blocks": THINKING[:1], "reasoning_content": "Hm.\n"}],
        ]
    marked = call("b", cache_control=MARK)
    return [
        *common,
        [{**asking, "thinking_blocks": THINKING}, one, two, plain],
        [{**asking, "thinking_blocks": THINKING, "reasoning_content": "Hm.\nSo."}, one, two],
        [{**plain, "thinking_blocks": THINKING[1:2]}, {"role": "user", "content": "So?"}],
        [{**plain, "thinking_blocks": [{**THINKING[0], "cache_control": MARK}]}],
        [{**asking, "tool_calls": [call("a"), marked]}, {**one, "cache_control": MARK}, two],
        [asking, {**one, "content": [text("A.", cache_control=SHORT), picture(DOT)]}, two],
        [asking, {**one, "content": [picture(DOT), text("B.")], "name": "find"}, two, plain],
        [{**plain, "provider_specific_fields": {"citations": [{"a": 1}], "own": None}}],
        [{"role": "assistant", "content": "A.", "cache_control": MARK}],
    ]


MODELS = {"anthropic": "claude-opus-4-5", "gemini": "gemini-3.1-pro"}


def lists_of(origin: str) -> list[list[Item]]:
    """Return as many lists as make each system, question and answer meet several others."""
    answers = answers_of(origin)
    numbers = range(6 * len(answers))
    # A model of Gemini's is sent no marks.
    systems, questions = (
        [pieces for pieces in table if origin == "anthropic" or "cache" not in str(pieces)]
        for table in (SYSTEMS, QUESTIONS)
    )
    ended = [{"role": "user", "content": "Thanks."}]
    pieces = zip(numbers, cycle(systems), cycle(questions), cycle(answers), strict=False)
    return [[*system, *question, *answer, *ended] for _, system, question, answer in pieces]


def usual(item: Item) -> Item:
    """Return a message without content that is empty."""
    return {key: value for key, value in item.items() if key != "content" or value}


def difference(messages: list[Item], origin: str, model: str) -> str:
    """Return where a list differs after it was read and written, and what was lost on the way."""
    history = History(from_litellm(messages, origin=origin).messages)
    bridged = to_litellm(render(Timeline(history), model=model, transformation=AS_WRITTEN))
    sent = json.loads(json.dumps(bridged.messages))
    losses = bridged.losses
    return unequal([*map(usual, messages)], [*map(usual, sent)]) or "".join(map(str, losses))


@pytest.mark.parametrize("origin", MODELS)
def test_lists(origin: str) -> None:
    """Reasoning, signatures, cache marks, pictures and names are kept, next to anything."""
    lists = lists_of(origin)
    names = [str(number) for number in range(len(lists))]
    assert len(names) >= 60

    def wrong(name: str) -> str:
        return difference(lists[int(name)], origin, MODELS[origin])

    assert [] == failures(names, wrong)


@pytest.mark.parametrize("model", ["claude-opus-4-5", "gpt-5", "gemini-2.5-pro"])
def test_recorded_conversations(recorded: dict[str, list[Item]], model: str) -> None:
    """So does every recorded conversation, up to its last message that is no open call."""

    def wrong(name: str) -> str:
        messages = recorded[name]
        last = max(n for n, message in enumerate(messages) if message["role"] != "assistant")
        return difference(messages[: last + 1], "openai_compatible", model)

    assert [] == failures(recorded, wrong)


@pytest.mark.sdk("litellm")
def test_replies_as_litellm_gives_them() -> None:
    """Other fields of a reply, such as numbers of calls, are left out, without a wrong hint.

    Read as an object or as what is dumped of it, it is the same.
    """
    thinking = [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]
    reply = import_module("litellm.types.utils").Message(
        role="assistant",
        content="I look.",
        tool_calls=[{**call("a"), "index": 0}],
        thinking_blocks=thinking,
        reasoning_content="Hm.",
        provider_specific_fields={"citations": None, "thinking_blocks": thinking},
        images=[],
    )
    expected = {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [call("a")],
        "thinking_blocks": thinking,
        "reasoning_content": "Hm.",
        "provider_specific_fields": {"citations": None},
    }
    asked, result = {"role": "user", "content": "q"}, {"role": "tool", "tool_call_id": "a"}
    for answer in (reply, reply.model_dump(), reply.model_dump(exclude_none=True)):
        conversation = [asked, answer, {**result, "content": "r"}]
        history = History(from_litellm(conversation, origin="anthropic").messages)
        prompt = Timeline(Tool(name="find", description="Find."), history)
        rendered = render(prompt, model="claude-opus-4-5", transformation=AS_WRITTEN)
        bridged = to_litellm(rendered, strict=True)
        assert ([asked, expected], ()) == (bridged.messages[:2], reported(bridged))
        assert () == rendered.losses
        assert thinking == rendered.to_anthropic()["messages"][1]["content"][:1]


def test_an_unknown_origin() -> None:
    """The origin of a conversation is a provider: another name is an error that names the right."""
    with pytest.raises(TargetError, match="did you mean 'anthropic'"):
        from_litellm([{"role": "user", "content": "q"}], origin="claude")
