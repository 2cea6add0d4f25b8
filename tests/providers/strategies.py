"""Any messages that an adapter may be given, with what each provider knows beside the others.

``messages_of`` are messages that no pass would let through; ``conversations_of`` are those that a
renderer would hand over: every call is answered, and roles hold what they may hold.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import attrs
from hypothesis import strategies as st

from promptdsl import *
from tests.internals import EMPTY, KINDS, facts_for
from tests.providers.conversations import LONG_ID, PDF, PNG, answer, call, say
from tests.providers.every_target import FACTS

Run: TypeAlias = tuple[Message, ...]
Extras: TypeAlias = tuple[Mapping[str, Any], ...]


class Own(NamedTuple):
    """What a provider knows: keys of blocks, blocks that have no type here, tools, addresses."""

    extras: Extras = ()
    texts: Extras = ()
    attachments: Extras = ()
    calls: Extras = ()
    thoughts: Extras = (EMPTY,)
    results: Extras = ()
    unknown: Extras = ()
    tools: Extras = ()
    keys_of_tools: Extras = ()
    sources: tuple[str, ...] = ()
    details: tuple[str | None, ...] = (None, "low")
    facts: tuple[ModelFacts, ...] = ()


_HOUR = {"cachePoint": {"type": "default", "ttl": "1h"}}
_MARKED = {"prompt_cache_breakpoint": {"mode": "explicit"}}
_DATA = ("data:image/png;base64,QQ==", "data:,x", "data:;base64,QQ==", "x;base64,y", "https://x")
_ITEMS: Extras = (
    {"item": {"id": "msg_1", "status": "incomplete", "phase": "commentary"}},
    {"item": {"id": "msg_2", "reasoning": "rs_1"}},
    {"item": {"phase": "final_answer"}},
    {"item": {"id": "fc_1", "reasoning": "rs_1", "caller": {"type": "direct"}}},
    {"item": {"id": "other", "status": "completed"}},
    {"item": 7, "annotations": [{"x": "\ud800"}]},
    {"refusal": True},
    {"refusal": True, "item": {"id": "msg_1"}},
)
_SIGNATURES: Extras = (
    {"part_metadata": {"a": "\ud800"}},
    {"thought_signature": "c2ln"},
    {"thought_signature": "c2l"},
    {"thought_signature": 7},
    {"thought": True},
)
_FREE: Extras = ({"custom": True},)

OWN: Mapping[str, Own] = {
    "openai": Own(
        texts=({"refusal": True}, {"x": 1}, {"audio": {"id": "audio_2"}}),
        calls=_FREE,
        unknown=(
            {"type": "hologram"},
            {"type": "hologram", **_MARKED},
            {"type": "tool_use", "input": {}},
            {"type": "text", "text": 7},
            {"type": "chat_audio", "audio": {"id": "audio_1"}},
        ),
        sources=_DATA,
        details=(None, "low", "closely"),
        facts=(
            attrs.evolve(FACTS["openai"], cache_marks=True),
            FACTS["openai_compatible"],
            FACTS["o1-mini"],
        ),
    ),
    "openai_responses": Own(
        extras=_ITEMS,
        calls=_FREE,
        thoughts=({"id": "rs_1"}, {"id": "rs_2", "summary": []}, {"id": 7}, EMPTY),
        unknown=(
            {"type": "hologram", "data": [1, "\udc00"]},
            {"type": "hologram", "id": "msg_1", **_MARKED},
            {"type": "input_audio"},
            {"type": "input_image", "image_url": "https://x"},
            {"type": "text", "text": "a"},
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            {},
        ),
        sources=_DATA,
        details=(None, "auto", "low", "closely"),
        facts=(
            FACTS["responses gpt-5.6-sol"],
            attrs.evolve(FACTS["responses"], instructions=False),
            facts_for("o1-mini", "openai_responses"),
            ModelFacts(provider="openai_responses", forced_tools=False),
        ),
    ),
    "anthropic": Own(
        extras=({"x": 1}, {"y": None}, {"context": "\ud800"}),
        texts=({"citations": []},),
        unknown=(
            {"type": "hologram", "data": [1, "\udc00"]},
            {"cache_control": {"type": "ephemeral", "ttl": "1h"}, "type": "hologram"},
            {"thinking": "Hm.", "signature": "c2ln", "type": "thinking"},
            {"type": "redacted_thinking", "data": "ZW5j"},
            {"type": "tool_removal", "cache_control": {"type": "ephemeral"}},
        ),
    ),
    "gemini": Own(
        extras=({"x": 1}, {"y": None}, *_SIGNATURES),
        results=({"scheduling": "SILENT"},),
        unknown=(
            {"type": "hologram", "data": [1, "\udc00"]},
            {"executableCode": {"language": "PYTHON", "code": "\udc00"}},
            {"tool_call": {"id": "a"}, "thought_signature": "c2ln"},
            {"text": "Hm.", "thought": True, "thoughtSignature": "c2ln"},
            {"inline_data": {"data": "", "x": 1}},
            {"function_call": {"name": "f", "args": "{bad"}},
        ),
        tools=({"google_search": {}},),
        keys_of_tools=({"behavior": "BLOCKING"}, {"parameters": {"type": "OBJECT"}}),
        sources=(
            *("c2l", "-_8=", "gs://a/b.mp4", "HTTPS://e.org/a.PNG?x", "https://youtu.be/x"),
            "https://generativelanguage.googleapis.com/a",
        ),
    ),
    "bedrock": Own(
        extras=({"x": 1}, {"y": None}, {"context": "\ud800"}),
        texts=({"citations": []}, {"json": True}, {"citationsContent": [{"title": "T"}]}),
        attachments=({"text": True}, {"content": [{"text": "Hello"}]}),
        unknown=(
            {"type": "hologram", "data": [1, "\udc00"]},
            {"searchResult": {"source": "s", "title": "t", "content": [{"text": "x"}]}},
            {"guardContent": {"text": {"text": "x"}}, **_HOUR},
            {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}},
            {"SDK_UNKNOWN_MEMBER": {"name": "hologram"}},
            {"document": {"name": "a.b", "source": {"text": "\ud800"}}},
            {"document": {"name": "D", "source": {"content": [{"text": "x"}]}}},
            {"citationsContent": {"citations": [{"title": "T"}]}},
            {"toolResult": {"toolUseId": "a", "content": [{"json": {}}], "type": "f"}},
            {"toolUse": {"toolUseId": "a", "name": "f", "input": "{bad"}},
            {"json": {"n": 1}},
        ),
        tools=({"systemTool": {"name": "s"}},),
        keys_of_tools=({"strict": True}, {"x": 1}),
        sources=("s3://bucket/a.pdf",),
    ),
    "chat_template": Own(
        unknown=({"type": "image"},),
        facts=tuple(facts for facts in FACTS.values() if facts.provider == "chat_template"),
    ),
}
"""By provider, what it knows beside the others."""

TEXTS = st.text(max_size=6) | st.sampled_from([" \n", "x ", "\n\n", "\n\na", "</developer>"])
WILD = st.text(st.characters(codec=None), max_size=4) | st.sampled_from(
    [
        *("", "a", "a_2", "a.b", "a_b", "a  b", "1a", LONG_ID),
        *('{"a": "\\ud800"}', "{}", '{"x": 1e400}', '{"x": NaN}', "[]"),
    ]
)
"""Any text, also what has no UTF-8 form; and names, ids and arguments that make trouble."""
IDS = st.lists(WILD.filter(bool), min_size=1, max_size=3)
OTHER_IDS = st.lists(WILD.filter(bool), min_size=1, max_size=3, unique=True)
"""Ids for Chat, whose calls of one turn have different ones."""
_CACHES = st.sampled_from([None, None, "default", "5m", "1h"])
_TYPES = st.sampled_from(
    [
        *(None, "", "image/png", "Image/JPG", "image/bmp", "audio/WAV", "audio/mpeg", "video/mp4"),
        *("application/pdf", "text/csv", "Text/Plain;charset=x", "x;base64,y", " ;x"),
    ]
)
_KINDS = st.sampled_from(KINDS)
_SCHEMAS = st.sampled_from(
    [{}, {"type": "object"}, {"title": "\ud800"}, {"properties": {"type": {"type": "string"}}}]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "x", "\ud800", "a.png"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["output", "error", "$ref", "n"]), inner, max_size=2)
    ),
    max_leaves=5,
)
_OBJECTS = _VALUES.map(lambda value: TextBlock(json.dumps(value), extra={"json": True}))


def _one_of(*values: Any) -> st.SearchStrategy[Any]:
    """Return one of what a provider knows, or, as often, nothing."""
    return st.sampled_from([EMPTY, EMPTY, *values])


@cache
def texts_of(provider: str) -> st.SearchStrategy[Any]:
    """Return texts."""
    own_content = OWN[provider]
    return st.builds(TextBlock, TEXTS, _CACHES, _one_of(*own_content.extras, *own_content.texts))


@cache
def attachments_of(provider: str) -> st.SearchStrategy[Any]:
    """Return attachments of every kind, from anywhere."""
    own_content = OWN[provider]
    sources = st.builds(
        MediaSource,
        st.sampled_from(["base64", "url", "file_id", "s3", "gcs"]),
        WILD | st.sampled_from([PNG, PDF, "SGVsbG8=", "/w==", *own_content.sources]),
        _TYPES,
    )
    return st.sampled_from([ImageBlock, AudioBlock, DocumentBlock, VideoBlock]).flatmap(
        lambda kind: st.builds(
            kind,
            sources,
            st.none() | WILD,
            st.sampled_from(own_content.details),
            _CACHES,
            _one_of(*own_content.extras, *own_content.attachments),
        )
    )


@cache
def reasoning_of(provider: str) -> st.SearchStrategy[Any]:
    """Return reasoning, of this provider more often than not."""
    return st.builds(
        ReasoningBlock,
        TEXTS,
        st.sampled_from([None, "", "c2ln", "é"]),
        st.sampled_from([None, "", "ZW5j", "no base64", "\ud800"]),
        st.sampled_from([None, "anthropic", "gemini", *[provider] * 3]),
        st.sampled_from(OWN[provider].thoughts),
    )


@cache
def messages_of(provider: str) -> st.SearchStrategy[Message]:
    """Return messages in which anything may stand anywhere."""
    own_content = OWN[provider]
    texts, attachments = texts_of(provider), attachments_of(provider)
    reasoning = reasoning_of(provider)
    unknown = st.sampled_from(
        [
            *(UnknownBlock(data, provider) for data in own_content.unknown),
            UnknownBlock({"type": "hologram"}, "elsewhere"),
        ]
    )
    calls = st.builds(
        ToolUseBlock,
        WILD.filter(bool),
        WILD,
        WILD,
        _CACHES,
        _one_of(*own_content.extras, *own_content.calls),
    )
    results = st.builds(
        ToolResultBlock,
        WILD.filter(bool),
        st.lists(texts | _OBJECTS | attachments | unknown, max_size=3).map(tuple),
        st.none() | TEXTS,
        st.booleans(),
        st.sampled_from([None, "timeout_error"]),
        _CACHES,
        _one_of(*own_content.extras, *own_content.results),
    )
    blocks = st.one_of(texts, attachments, calls, reasoning, unknown, results)
    answers = st.builds(
        Message,
        st.sampled_from(["system", "developer", "user", "assistant"]),
        st.lists(blocks, max_size=4).map(tuple),
        name=st.sampled_from([None, None, "Ada", "Ada Lovelace"]),
        kind=_KINDS,
    )
    result_messages = st.lists(results, max_size=3).map(tuple)
    return answers | st.builds(Message, st.just("tool"), result_messages, kind=_KINDS)


@cache
def tools_of(provider: str) -> st.SearchStrategy[tuple[ToolDefinition, ...]]:
    """Return tools of different names, those that only the provider has among them."""
    own_content = OWN[provider]
    functions = st.builds(
        ToolDefinition,
        WILD,
        st.none() | WILD,
        _SCHEMAS,
        _CACHES,
        _one_of(*own_content.keys_of_tools),
        origin=st.sampled_from([None, provider, "elsewhere"]),
    )
    raw = [ToolDefinition("s", raw=raw, origin=provider) for raw in own_content.tools]
    tools = functions | st.sampled_from(raw) if raw else functions
    return st.lists(tools, max_size=3, unique_by=lambda tool: tool.name).map(tuple)


CHOICES = st.sampled_from([None, "auto", "none", "required", "a", "s"])
OUTPUTS = st.builds(OutputSchema, _SCHEMAS, WILD, st.none() | WILD)


@cache
def prompts_of(provider: str) -> st.SearchStrategy[Prompt]:
    """Return prompts of any messages, with tools and the form of the answer."""
    return st.builds(
        Prompt,
        st.lists(messages_of(provider), max_size=8).map(tuple),
        tools_of(provider),
        CHOICES,
        st.none() | OUTPUTS,
    )


@cache
def facts_of(provider: str) -> st.SearchStrategy[ModelFacts]:
    """Return what is known of a target: any abilities together, or what a target really has."""
    if provider in ("openai", "chat_template"):
        return st.sampled_from(OWN[provider].facts)
    facts = st.builds(
        ModelFacts,
        st.just(provider),
        st.sampled_from([None, "us.anthropic.claude-opus-5-5", "meta.llama4"]),
        developer=st.booleans(),
        instructions=st.just(False) if provider == "gemini" else st.booleans(),
        prefill=st.booleans(),
        cache_marks=st.booleans(),
        binds_reasoning=st.booleans(),
        signatures=st.booleans(),
        forced_tools=st.booleans(),
        schema_output=st.booleans(),
        media=st.sampled_from([(), ("image", "audio", "document", "video")]),
        result_media=st.sampled_from([(), ("image", "document")]),
    )
    return facts | st.sampled_from(OWN[provider].facts) if OWN[provider].facts else facts


def rounds_of(
    said: st.SearchStrategy[Any], ids: st.SearchStrategy[list[str]]
) -> st.SearchStrategy[Run]:
    """Return rounds: an answer with a call for each of some ids, and their results."""
    return st.builds(
        lambda said, ids: (
            say("assistant", *said, *map(call, ids)),
            *(answer(id, "x") for id in ids),
        ),
        st.lists(said, max_size=2),
        ids,
    )


def turns_of(
    content: st.SearchStrategy[Any],
    rounds: st.SearchStrategy[Run],
    kinds: st.SearchStrategy[Any],
) -> st.SearchStrategy[list[Run]]:
    """Return runs of turns, events and request-only turns among them."""
    contents = st.lists(content, max_size=2)
    users = st.builds(lambda content: (say("user", *content),), contents)
    answers = st.builds(lambda content: (say("assistant", *content),), contents)
    instructions = st.builds(
        lambda content, kind: (say("developer", *content, kind=kind),), contents, kinds
    )
    other_turns = st.builds(
        lambda content, kind: (say("user", *content, kind=kind),),
        contents,
        st.sampled_from(["event", "request"]),
    )
    return st.lists(st.one_of(users, answers, rounds, instructions, other_turns), max_size=6)


@cache
def conversations_of(provider: str) -> st.SearchStrategy[Run]:
    """Return the messages of a conversation with what a provider knows."""
    texts = texts_of(provider)
    ids = OTHER_IDS if provider == "openai" else IDS
    rounds = rounds_of(texts | reasoning_of(provider), ids)
    return turns_of(texts | attachments_of(provider), rounds, _KINDS).map(joined)


def joined(runs: list[Run]) -> Run:
    """Return the messages of several runs."""
    return tuple(message for run in runs for message in run)
