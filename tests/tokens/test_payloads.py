"""Tests of the tokens of what is really sent, against a plain and slow count."""

import string
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import ChatTemplate, Message, Prompt
from tests.internals import (
    CLAUDE_TOOLS,
    Tally,
    entries_key,
    entry_tokens,
    facts_for,
    message_tokens,
    output_tokens,
    tally,
    tokens_for,
    tool_tokens,
)
from tests.providers.conversations import FORM, LOOK_UP, PDF, PNG, PROMPTS, answer, call, say
from tests.providers.every_target import FACTS, write
from tests.tokens.oracle import FREE, NO_MODEL, characters_said, compact_json, framed

ATTACHED = {
    *("media", "media in other roles", "audio and video", "error with a picture"),
    *("only media that cannot be said", "lone surrogates"),
}
WORDED = sorted(PROMPTS.keys() - ATTACHED)
FRAMED = sorted(name for name, facts in FACTS.items() if facts.template is None)
TEMPLATED = sorted(FACTS.keys() - set(FRAMED))


def entries_of(payload: Mapping[str, Any]) -> list[Any]:
    """Return the messages, items or turns of a payload."""
    return next(payload[key] for key in ("messages", "input", "contents") if key in payload)


def system_of(payload: Mapping[str, Any]) -> list[Any]:
    """Return the parts of the system text."""
    config = payload.get("config", {})
    found: list[Any] = config.get("system_instruction", {}).get("parts", [])
    return payload.get("system", found)


def payloads_of(target: str, names: Iterable[str] = WORDED) -> dict[str, Any]:
    """Return the payloads of prompts, by name."""
    return {name: write(PROMPTS[name], FACTS[target])[0] for name in names}


def tallies_of(target: str, names: Iterable[str] = WORDED) -> dict[str, Tally]:
    """Return what is counted of these."""
    payloads = payloads_of(target, names)
    return {name: entry_tokens(payloads[name], FREE, FACTS[target]) for name in names}


@pytest.mark.parametrize("target", FRAMED)
def test_every_entry_of_every_target(target: str) -> None:
    """Each is its frame and what it says, in the order of the payload."""
    expected = {
        name: [framed(entry) + characters_said(entry) for entry in entries_of(payload)]
        for name, payload in payloads_of(target).items()
    }
    assert expected == {name: tally.entries for name, tally in tallies_of(target).items()}


@pytest.mark.parametrize("target", FRAMED)
def test_what_stands_beside_the_entries(target: str) -> None:
    """System text in a frame of its own, 3 for the reply; the rest is tools and the form."""
    systems = {name: system_of(payload) for name, payload in payloads_of(target).items()}
    expected = {
        name: 3 + (3 + len("system") + characters_said(system) if system else 0)
        for name, system in systems.items()
    }
    tallies = tallies_of(target)
    assert expected == {name: tally.fixed - tally.tools for name, tally in tallies.items()}


@pytest.mark.parametrize("target", FACTS)
def test_a_payload_is_the_sum_of_its_parts(target: str) -> None:
    """What is fixed and all entries are the whole, one for each entry."""
    payloads = payloads_of(target, PROMPTS)
    expected = {
        name: (entry_tokens(payload, FREE, FACTS[target]).total, len(entries_of(payload)))
        for name, payload in payloads.items()
    }
    assert expected == {
        name: (tally.fixed + sum(tally.entries), len(tally.entries))
        for name, tally in tallies_of(target, PROMPTS).items()
    }


@pytest.mark.parametrize("target", FACTS)
def test_entries_are_found(target: str) -> None:
    """The payload of every target holds its entries under a key that is counted."""
    assert None not in {entries_key(payload) for payload in payloads_of(target, PROMPTS).values()}


def test_entries_that_are_not_found_are_refused() -> None:
    """A payload whose entries are under a key nobody counts is an error that says where it goes."""
    passage: Any = None
    with pytest.raises(KeyError, match=r"tools, turns .* promptdsl\.tokens\.payloads\.ENTRY_KEYS"):
        tally({"tools": [], "turns": []}, NO_MODEL, FREE, passage)


@pytest.mark.parametrize("target", TEMPLATED)
def test_the_text_of_a_template_counts_as_it_is(target: str) -> None:
    """No frame and no message is added to it."""
    payloads = payloads_of(target)
    expected = {
        name: Tally(len(payload["prompt"]), [0] * len(payload["messages"]))
        for name, payload in payloads.items()
    }
    assert expected == tallies_of(target)


def test_attachments_beside_the_text_of_a_template_count() -> None:
    """The text only says where they stand."""
    content = [{"type": "text", "text": "Look:"}, {"type": "image", "base64": PNG}]
    payload = {"messages": [{"role": "user", "content": content}], "prompt": "<image>Look:"}
    assert Tally(12, [1], 1) == entry_tokens(payload, FREE, NO_MODEL)


TOOLS = {
    "gpt-5": 12,
    "responses": 12,
    "gemini-3.1-pro": 12,
    "bedrock nova": 12,
    "claude-opus-5": CLAUDE_TOOLS,
    "claude-opus-4-5": 589,
    "bedrock claude": 589,
    "chat_template": 12,
}


@pytest.mark.parametrize("target", TOOLS)
def test_tools_count_as_their_definitions(target: str) -> None:
    """A tool costs the same on each wire, whatever it is wrapped in there."""
    payload, _ = write(PROMPTS["a tool"], FACTS[target])
    found = entry_tokens(payload, FREE, FACTS[target]).tools
    assert TOOLS[target] + tool_tokens(LOOK_UP, FREE) == found


@pytest.mark.parametrize("target", ["gpt-5", "responses"])
def test_the_form_of_an_answer_counts(target: str) -> None:
    """OpenAI takes its name and description too."""
    payload, _ = write(PROMPTS["an output schema"], FACTS[target])
    assert output_tokens(FORM, FREE) == entry_tokens(payload, FREE, FACTS[target]).tools


@pytest.mark.parametrize("target", ["claude-opus-5", "gemini-3.1-pro"])
def test_a_form_without_a_name_counts_its_schema(target: str) -> None:
    """Anthropic and Google have no word for more."""
    payload, _ = write(PROMPTS["an output schema"], FACTS[target])
    expected = 12 + len(compact_json(dict(FORM.schema)))
    assert expected == entry_tokens(payload, FREE, FACTS[target]).tools


def test_the_form_of_converse_is_a_text_already() -> None:
    """It is counted as that text."""
    payload, _ = write(PROMPTS["an output schema"], FACTS["bedrock claude"])
    form: Any = payload["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    expected = 12 + len(form["schema"]) + len("city") + len("Where it is.")
    assert expected == entry_tokens(payload, FREE, FACTS["bedrock claude"]).tools


EXAMPLE = (
    (
        "system",
        None,
        "You are a helpful, pattern-following assistant that translates corporate jargon into"
        " plain English.",
    ),
    ("system", "example_user", "New synergies will help drive top-line growth."),
    ("system", "example_assistant", "Things working well together will increase revenue."),
    (
        "system",
        "example_user",
        "Let's circle back when we have more bandwidth to touch base on opportunities for"
        " increased leverage.",
    ),
    (
        "system",
        "example_assistant",
        "Let's talk later when we're less busy about how to do better.",
    ),
    (
        "user",
        None,
        "This late pivot means we don't have time to boil the ocean for the client deliverable.",
    ),
)


@pytest.mark.parametrize(
    ("model", "tokens"), [("gpt-3.5-turbo", 129), ("gpt-4", 129), ("gpt-4o", 124)]
)
def test_the_example_of_openai(model: str, tokens: int) -> None:
    """The OpenAI Cookbook prints these counts, and that its service charged as much."""
    facts = facts_for(model, None)
    named = [
        {"role": role, "content": text, **({"name": name} if name else {})}
        for role, name, text in EXAMPLE
    ]
    assert tokens == entry_tokens({"messages": named}, tokens_for(facts, None), facts).total


LETTERS = st.text(string.ascii_letters, min_size=1, max_size=20)


@given(st.lists(LETTERS, min_size=1, max_size=9), st.none() | LETTERS)
def test_plain_turns_of_chat_are_the_sum_of_their_messages(
    texts: list[str], system: str | None
) -> None:
    """What was counted before a target was known is what is sent, and 3 for the reply."""
    facts = facts_for("gpt-5", None)
    turns = [say("assistant" if n % 2 else "user", text) for n, text in enumerate(texts)]
    messages = (*([say("system", system)] if system else []), *turns)
    payload, _ = write(Prompt(messages), facts)
    expected = sum(message_tokens(one, FREE, facts) for one in messages) + 3
    assert expected == entry_tokens(payload, FREE, facts).total


@given(st.sampled_from(FRAMED), st.lists(LETTERS, min_size=1, max_size=9), st.none() | LETTERS)
def test_texts_of_every_target_count_in_their_frames(
    target: str, texts: list[str], system: str | None
) -> None:
    """Never less than the texts, never more than these with a frame each and the reply's."""
    turns = [say("assistant" if n % 2 else "user", text) for n, text in enumerate(texts)]
    messages = (*([say("system", system)] if system else []), *turns)
    payload, _ = write(Prompt(messages), FACTS[target])
    least = sum(len(one.text) for one in messages)
    most = least + (3 + len("assistant")) * len(messages) + 3
    assert least <= entry_tokens(payload, FREE, FACTS[target]).total <= most


CALLS = (say("user", "Hi"), say("assistant", "So:", call("a")), answer("a", "rain"))


@pytest.mark.parametrize("target", ["gpt-5", "claude-opus-5", "gemini-3.1-pro", "bedrock nova"])
def test_calls_and_results_count_about_what_their_messages_do(target: str) -> None:
    """Frames differ, and how an object of arguments is written: by a dozen characters a message."""
    payload, _ = write(Prompt(CALLS), FACTS[target])
    counted = sum(entry_tokens(payload, FREE, FACTS[target]).entries)
    expected = sum(message_tokens(one, FREE, FACTS[target]) for one in CALLS)
    assert abs(expected - counted) <= 12 * len(CALLS)


DOT = {
    "openai": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    "responses": {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
    "anthropic": {"type": "image", "source": {"type": "base64", "data": PNG}},
    "gemini": {"inline_data": {"mime_type": "image/png", "data": PNG}},
    "template": {"type": "image", "base64": PNG},
    "template url": {"type": "image_url", "image_url": f"data:image/png;base64,{PNG}"},
}
PAPER = f"data:application/pdf;base64,{PDF}"


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        *((part, 1) for part in DOT.values()),
        ({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}, 4761),
        ({"type": "input_image", "file_id": "file-1", "detail": "auto"}, 4761),
        ({"type": "image", "source": {"type": "url", "url": "https://example.org"}}, 4761),
        ({"type": "image", "url": f"data:image/png;base64,{PNG}"}, 1),
        ({"type": "image"}, 4761),
        ({"file_data": {"mime_type": "image/png", "file_uri": "gs://b/a.png"}}, 4761),
        ({"file_data": {"file_uri": "gs://b/a"}}, 51_450),
        ({"type": "file", "file": {"file_data": PAPER, "filename": "a.pdf"}}, 5 + 5145),
        ({"type": "input_file", "file_data": PAPER, "filename": "a.pdf"}, 5 + 5145),
        ({"type": "input_file", "file_url": "https://example.org/a.pdf"}, 51_450),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}, 32),
        ({"type": "document", "source": {"type": "base64", "data": PDF}, "title": "A"}, 1 + 5145),
        ({"type": "document", "source": {"type": "text", "data": "Hello"}, "context": "B"}, 6),
        (
            {
                "type": "document",
                "source": {"type": "content", "content": [{"type": "text", "text": "Hi"}]},
            },
            2,
        ),
        ({"document": {"name": "A", "format": "txt", "source": {"bytes": b"Hello"}}}, 6),
        ({"document": {"name": "A", "format": "txt", "source": {"text": "Hello"}}}, 6),
        ({"document": {"name": "A", "format": "pdf", "source": {"bytes": b"x"}}}, 1 + 5145),
        ({"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://b/a"}}}}, 88_500),
        ({"inline_data": {"mime_type": "video/mp4", "data": "AAAA"}}, 295),
    ],
)
def test_attachments_of_every_provider(part: Any, tokens: int) -> None:
    """They cost what the formulas say, with a title or a name where the model is told one."""
    payload = {"messages": [{"role": "user", "content": [part]}]}
    assert [3 + 4 + tokens] == entry_tokens(payload, FREE, NO_MODEL).entries


def test_how_much_is_attached_is_told() -> None:
    """So that a label can say that it is an estimate."""
    content = [{"text": "See"}, {"image": {"format": "png", "source": {"bytes": b"?"}}}]
    payload = {"messages": [{"content": content}]}
    assert Tally(3, [3 + 4 + 3 + 4761], 4761) == entry_tokens(payload, FREE, NO_MODEL)


def test_media_resolution_of_a_part_counts() -> None:
    """Gemini 3 is asked how closely to look, part by part."""
    part = {**DOT["gemini"], "media_resolution": {"level": "MEDIA_RESOLUTION_LOW"}}
    payload = {"contents": [{"role": "user", "parts": [part]}]}
    assert [3 + 4 + 280] == entry_tokens(payload, FREE, facts_for("gemini-3.1-pro", None)).entries


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        ({"type": "thinking", "thinking": "Hm.", "signature": "x" * 99}, 3),
        ({"type": "redacted_thinking", "data": "x" * 99}, 0),
        (
            {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}, "citations": []},
            2,
        ),
        ({"text": "Hm.", "thought": True, "thought_signature": "x" * 99}, 3),
        ({"function_call": {"id": "x", "name": "go", "args": {"é": 1}}}, 2 + 7),
        ({"function_response": {"id": "x", "name": "go", "response": {"output": 1}}}, 2 + 12),
        (
            {"function_response": {"name": "go", "response": {}, "parts": [DOT["gemini"]]}},
            2 + 2 + 1,
        ),
        ({"toolUse": {"toolUseId": "x", "name": "go", "input": {}}}, 2 + 2),
        ({"toolResult": {"toolUseId": "x", "content": [{"json": {"a": 1}}], "status": "error"}}, 7),
        ({"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "x"}}}, 3),
        ({"reasoningContent": {"redactedContent": b"x"}}, 0),
        ({"guardContent": {"text": {"text": "Hi", "qualifiers": ["x"]}}}, 2),
        ({"citationsContent": {"content": [{"text": "Hi"}], "citations": [{"title": "x"}]}}, 2),
        ({"cachePoint": {"type": "default"}}, 0),
        ({"type": "custom", "id": "x", "custom": {"name": "go", "input": "now"}}, 2 + 3),
        ({"type": "tool_result", "tool_use_id": "x", "content": "rain"}, 4),
        ({"type": "refusal", "refusal": "No."}, 3),
        ({"type": "hologram", "id": "x", "data": [1]}, len('{"data":[1]}')),
    ],
)
def test_parts_of_every_provider(part: Any, tokens: int) -> None:
    """Ids, marks, signatures, what is encrypted and the keys of parts are no tokens."""
    payload = {"messages": [{"role": "user", "content": [part]}]}
    assert [3 + 4 + tokens] == entry_tokens(payload, FREE, NO_MODEL).entries


@pytest.mark.parametrize(
    ("item", "tokens"),
    [
        ({"type": "function_call", "call_id": "x", "name": "go", "arguments": "{}"}, 3 + 9 + 4),
        ({"type": "custom_tool_call", "call_id": "x", "name": "go", "input": "now"}, 3 + 9 + 5),
        ({"type": "function_call_output", "call_id": "x", "output": "rain"}, 3 + 4 + 4),
        (
            {"type": "function_call_output", "output": [{"type": "input_text", "text": "mud"}]},
            3 + 4 + 3,
        ),
        (
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "Hm."}],
                "encrypted_content": "x" * 99,
            },
            3 + 9 + 3,
        ),
        (
            {
                "type": "reasoning",
                "summary": [],
                "content": [{"type": "reasoning_text", "text": "So."}],
            },
            3 + 9 + 3,
        ),
        ({"type": "web_search_call", "id": "x", "action": {"query": "a"}}, 3 + 9 + 24),
    ],
)
def test_items_of_responses(item: Any, tokens: int) -> None:
    """One without a role is the model's, an output is a tool's."""
    assert [tokens] == entry_tokens({"input": [item]}, FREE, NO_MODEL).entries


@pytest.mark.parametrize(
    ("payload", "tally"),
    [
        ({}, Tally(3, [])),
        ({"input": "Hello."}, Tally(3, [3 + 4 + 6])),
        ({"input": [], "instructions": "Be brief."}, Tally(3 + 3 + 6 + 9, [])),
        ({"system": "Be brief.", "messages": []}, Tally(3 + 3 + 6 + 9, [])),
        ({"messages": [{"role": "user", "content": "", "name": "ada"}]}, Tally(3, [3 + 4 + 1 + 3])),
    ],
)
def test_payloads_of_other_shapes(payload: Any, tally: Tally) -> None:
    """What a user wrote by hand counts too."""
    assert tally == entry_tokens(payload, FREE, NO_MODEL)


def nested(depth: int) -> Any:
    """Return an object of arguments that is nested so deep."""
    value: Any = 0
    for _ in range(depth):
        value = {"a": value}
    return value


def test_deep_arguments() -> None:
    """Arguments of 200 levels are counted."""
    part = {"type": "tool_use", "name": "go", "input": nested(200)}
    found = entry_tokens({"messages": [{"role": "assistant", "content": [part]}]}, FREE, NO_MODEL)
    assert found.entries[0] >= 3 + 9 + 2 + 200 * len('{"a":}')


def results(depth: int) -> Any:
    """Return results in results, and the innermost says something."""
    part: Any = {"type": "text", "text": "Hi"}
    for _ in range(depth):
        part = {"type": "tool_result", "content": [part]}
    return part


def test_parts_of_any_depth() -> None:
    """Nothing recurses."""
    payload = {"messages": [{"role": "user", "content": [results(20_000)]}]}
    assert [3 + 4 + 2] == entry_tokens(payload, FREE, NO_MODEL).entries


KEYS = st.sampled_from(
    [
        *("role", "content", "parts", "type", "text", "name", "input", "output", "source", "data"),
        *("image", "document", "inline_data", "function_call", "toolUse", "tool_calls", "function"),
        *("arguments", "image_url", "url", "file", "bytes", "json", "title", "config", "tools"),
        *("system", "messages", "prompt", "response_format", "json_schema", "schema", "x"),
    ]
)
WORDS = st.sampled_from(
    ["text", "image", "tool_use", "document", "function", "file", "user", "base64", "", "é\ud800"]
)
HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)


@given(
    st.dictionaries(KEYS, HOSTILE, max_size=4),
    st.lists(HOSTILE, max_size=3),
    st.sampled_from(["messages", "input", "contents"]),
)
def test_any_payload_counts(payload: dict[str, Any], entries: list[Any], key: str) -> None:
    """Whatever is in it, nothing raises, and each entry has its frame at least."""
    tally = entry_tokens({**payload, "prompt": None, key: entries}, FREE, NO_MODEL)
    assert all(count >= 3 for count in tally.entries)


def test_one_turn_more_costs_that_turn() -> None:
    """An entry counts the same whatever stands around it, so that counts can be added up."""
    facts = FACTS["claude-opus-5"]
    messages = [Message("user", "One."), Message("assistant", "Two."), Message("user", "Three.")]
    fewer, more = (write(Prompt(tuple(messages[:n])), facts)[0] for n in (2, 3))
    counts = entry_tokens(fewer, FREE, facts).entries
    assert [*counts, 3 + 4 + 6] == entry_tokens(more, FREE, facts).entries


def test_a_template_that_is_known_counts_its_text() -> None:
    """The text begins and ends as the template has it."""
    facts = facts_for(None, "chat_template")
    template = ChatTemplate.of("{% for m in messages %}<{{ m.content }}>{% endfor %}")
    payload, _ = write(
        Prompt((say("user", "Hi"),)), type(facts)(provider="chat_template", template=template)
    )
    assert len("<Hi>") == entry_tokens(payload, FREE, facts).total


TEXTS_OF_ENTRIES = st.text() | st.one_of(
    st.fixed_dictionaries({"text": st.text()}),
    st.fixed_dictionaries({"type": st.sampled_from(["text", "hologram"]), "text": st.text()}),
).map(lambda part: [part])
PLAIN_ENTRIES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", None])},
    optional={
        "content": TEXTS_OF_ENTRIES | st.just([]) | st.none(),
        "parts": TEXTS_OF_ENTRIES,
        "name": st.text(),
    },
)


@given(st.lists(PLAIN_ENTRIES, max_size=4))
def test_the_fast_path_and_the_slow_one(entries: list[dict[str, Any]]) -> None:
    """An entry counts the same where its class keeps it from the fast path."""
    slow = [MappingProxyType(entry) for entry in entries]
    assert entry_tokens({"contents": slow}, FREE, NO_MODEL) == entry_tokens(
        {"contents": entries}, FREE, NO_MODEL
    )
