"""What the tests of all integrations share: rendered conversations, and any messages at all."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
from hypothesis import strategies as st

from promptdsl import *
from tests.internals import RecordedNode, Written, lower, make, replace
from tests.providers.conversations import LONG_ID, PNG


def rendered(
    messages: Iterable[Message], provider: str | None = None, model: str | None = None
) -> Rendered:
    """Return a render of exactly these messages, also those no pass would let through."""
    some = render(User("Hi."), provider=provider, model=model)
    marked = attrs.evolve(some._prompt_with_marks, messages=tuple(messages))
    written = Written(marked, some.facts) if provider else None
    recorded = make(RecordedNode, items=marked.messages, provider_format="messages", start=0)
    finished = replace(some._stages[-1][1], content=(recorded,), mask=0)
    return attrs.evolve(
        some,
        messages=marked.messages,
        prompt_with_marks=marked,
        written_payload=written,
        losses=(),
        stages=(*some._stages[:-1], ("merge", finished)),
        layout=lower(finished, config=some.config).layout,
    )


def as_rendered(messages: Any) -> Rendered:
    """Return a recorded conversation, rendered for no target."""
    return render(History.from_openai(messages), transformation={"tool_pairing": "fill"})


def texts(messages: Sequence[Message]) -> set[str]:
    """Return what is said, and what results say, without white space at the ends."""
    blocks = [block for message in messages for block in message.content]
    inner = [b for block in blocks if isinstance(block, ToolResultBlock) for b in block.content]
    found = [block.text for block in (*blocks, *inner) if isinstance(block, TextBlock)]
    return {text for text in found if text}


def dumped(value: Any) -> str:
    """Return plain data as text in which every other text can be looked for."""
    return json.dumps(value, ensure_ascii=False, default=str)


# Any messages.

_text = st.text(max_size=6)
_wild = st.text(st.characters(codec=None), max_size=6) | st.sampled_from(["", LONG_ID, "a.b"])
_caches = st.sampled_from([None, None, "default", "5m", "1h"])
_media_types = st.sampled_from(
    [None, "", "image/png", "image/bmp", "audio/wav", "video/mp4", "application/pdf", "text/plain"]
)
_sources = st.builds(
    MediaSource,
    st.sampled_from(["base64", "url", "file_id", "s3", "gcs"]),
    _wild | st.sampled_from([PNG, "QQ==", "s3://b/a", "gs://b/a", "https://example.org/a.png"]),
    _media_types,
)
_titles = st.none() | _wild | st.sampled_from(["a://b", "attachment:///a b", "100%.pdf"])
_extras = st.sampled_from(
    [
        *({}, {"refusal": True}, {"x": 1}, {"thought_signature": "c2ln"}, {"json": True}),
        *({"item": {"id": "msg_1"}}, {"item": {"id": "fc_1", "reasoning": "rs_1", "x": 1}}),
    ]
)
_texts = st.builds(TextBlock, _wild, _caches, _extras)
_attachments = st.sampled_from([ImageBlock, AudioBlock, DocumentBlock, VideoBlock]).flatmap(
    lambda kind: st.builds(kind, _sources, _titles, st.sampled_from([None, "low"]), _caches)
)
_arguments = _wild | st.sampled_from(
    ["{}", '{ "q":1}', "[1]", '{"q": NaN}', '{"q": "\\ud83d\\ude00 \\ud83d"}', '{"\\udc00": 1}']
)
_calls = st.builds(ToolUseBlock, _wild.filter(bool), _wild, _arguments, _caches, _extras)
_thoughts = st.builds(
    ReasoningBlock,
    _wild,
    st.none() | _wild,
    st.none() | _wild,
    st.sampled_from([None, "anthropic", "openai_responses", "gemini", "elsewhere"]),
    st.sampled_from([{}, {"id": "rs_1"}, {"id": "rs_1", "summary": []}, {"summary": [1]}]),
)
_unknown = st.builds(
    UnknownBlock,
    st.sampled_from([{"type": "hologram"}, {"type": "text", "x": [1]}, {"cachePoint": {}}]),
    st.sampled_from([None, "anthropic", "openai_responses", "gemini"]),
)
_results = st.builds(
    ToolResultBlock,
    _wild.filter(bool),
    st.lists(_texts | _attachments | _thoughts | _unknown, max_size=3).map(tuple),
    st.none() | _text,
    st.booleans(),
    st.sampled_from([None, "timeout_error", "interrupted"]),
    _caches,
)
_blocks: st.SearchStrategy[Block] = st.one_of(
    _texts, _attachments, _calls, _thoughts, _unknown, _results
)
_ROLES = st.sampled_from(["system", "developer", "user", "assistant"])
_said = st.tuples(_ROLES, st.lists(_blocks, max_size=4).map(tuple))
_told = st.tuples(st.just("tool"), st.lists(_results, max_size=4).map(tuple))


def _message(said: tuple[Any, Any], **more: Any) -> Message:
    return Message(*said, **more)


any_message = st.builds(
    _message,
    _said | _told,
    name=st.none() | _wild,
    kind=st.sampled_from(["written", "recorded", "recorded_system", "event", "request"]),
    finish_reason=st.sampled_from([None, "stop", "refused", "elsewhere"]),
    raw_finish_reason=st.sampled_from([None, "end_turn", "refusal"]),
    token_usage=st.sampled_from(
        [None, {"input": 1, "output": 2, "total": 3}, {"input": "x", "cache_read": 1, "y": 2}]
    ),
)
any_messages = st.lists(any_message, max_size=6)
AMBIGUOUS = re.compile(r"kind='base64', value='\w+:|kind='file_id', value='https?:")
"""An address under the key of data or of a file id: it is converted as LiteLLM reads it."""
plain_messages = any_messages.filter(lambda messages: not AMBIGUOUS.search(repr(messages)))


def are_joined(messages: Sequence[Message]) -> bool:
    """Return whether two answers of what was read became one turn: a call of theirs was open."""
    return any("joined_turns" in message.metadata for message in messages)
