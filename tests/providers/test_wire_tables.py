"""What each provider gets and what is read of it, word for word: the tables in ``wire_tables/``.

A law of write, read, write cannot see a mistake that is made both ways. So the words are in tables,
and all providers that get the same stand in one line: ``"openai = openai_compatible"``.

``wire_tables/prompts.py`` names the cases and the targets. Under ``written`` stands the payload,
and under ``lost`` the kind and the subject of every loss; under ``read`` what ``read_payload``
makes of that payload, its messages as ``{role: content}``. ``$base64`` are bytes. Only ``tools``
and ``tool_choice`` show the tools. ``readings.json`` and ``replies.json`` are payloads and
responses that others made, with what is read of them.

Nothing writes these files. Who changes what is sent changes the table by hand: a test that fails
shows the lines that differ, and each new line is to be judged by the provider's own rules.
"""

from collections.abc import Callable
from typing import Any

import pytest

from promptdsl import Rendered, read_response
from tests.providers.every_target import check
from tests.providers.wire_tables.prompts import FILES, MAIN
from tests.providers.wire_tables.tables import (
    case_ids,
    difference,
    found,
    named,
    reading,
    rendered,
    reply,
    shown,
    table,
)
from tests.renders import lossy_payload


@pytest.mark.parametrize("file", FILES)
def test_cases(file: str) -> None:
    """Each case stands in its table, and nothing else does."""
    assert [*FILES[file]] == [*table(file)]


@pytest.mark.parametrize("file", FILES)
def test_targets(file: str) -> None:
    """Each table has every provider."""
    targets = {target for case in FILES[file].values() for target in case.targets}
    assert {*MAIN} <= targets


@pytest.mark.parametrize("id", case_ids(FILES))
def test_written(id: str) -> None:
    """A prompt is written, and read again, as its table says of each provider."""
    file, name = named(id)
    expected, actual = table(file)[name], found(FILES[file][name])
    assert shown(expected) == shown(actual), difference(expected, actual)


@pytest.mark.parametrize("id", case_ids({"readings": table("readings")}))
def test_read(id: str) -> None:
    """A payload that others made is read as the table says of each provider."""
    rows = table("readings")[named(id)[1]]
    expected = {provider: row["read"] for provider, row in rows.items()}
    actual = {provider: reading(row["given"], provider) for provider, row in rows.items()}
    assert shown(expected) == shown(actual), difference(expected, actual)


@pytest.mark.parametrize("id", case_ids({"replies": table("replies")}))
def test_replied(id: str) -> None:
    """A response is read as the table says of each provider."""
    rows = table("replies")[named(id)[1]]
    expected = {provider: row["read"] for provider, row in rows.items()}
    actual = {provider: reply(row) for provider, row in rows.items()}
    assert shown(expected) == shown(actual), difference(expected, actual)


UNTYPED = {
    # The author's own words, which are sent as they are.
    "tools: a key of no provider": [
        *("openai", "openai_compatible", "openai_responses", "anthropic", "gemini"),
    ],
    "blocks: a block of OpenAI": ["openai", "openai_compatible"],
    # The type lists only the older name of the search.
    "tool_choice: a tool of Responses": ["openai_responses"],
    # What only Anthropic has is beyond the checks: test_accepted_by_anthropic.
    "tools: a tool of Anthropic": ["anthropic"],
    "tool_choice: a tool of Anthropic": ["anthropic"],
    "blocks: a block of Anthropic": ["anthropic"],
    "blocks: an answer with citations of Anthropic": ["anthropic"],
}
"""The cases whose payload the checks refuse, and for which targets."""


@pytest.mark.sdk("anthropic", "boto3", "google.genai", "openai")
@pytest.mark.parametrize("id", case_ids(FILES))
def test_accepted(id: str) -> None:
    """The types of each provider's SDK accept what the table says, and so do its known rules."""
    file, name = named(id)
    case = FILES[file][name]
    assert UNTYPED.get(id, []) == [
        target for target in case.targets if not _accepts(check, rendered(case, target))
    ]


def _accepts(check: Callable[[Any, Any], None], result: Rendered) -> bool:
    try:
        check(lossy_payload(result), result.facts)
    except (AssertionError, ValueError):
        return False
    return True


@pytest.mark.sdk("anthropic")
@pytest.mark.parametrize("id", [id for id, targets in UNTYPED.items() if targets == ["anthropic"]])
def test_accepted_by_anthropic(id: str) -> None:
    """The types of Anthropic's SDK accept its own tools, blocks and citations."""
    types = pytest.importorskip("anthropic.types")
    file, name = named(id)
    payload = rendered(FILES[file][name], "anthropic").payload()
    blocks = [block for message in payload["messages"] for block in message["content"]]
    assert [] == _untyped(types.ToolUnionParam, payload.get("tools", []))
    assert [] == _untyped(types.ContentBlockParam, blocks)


def _untyped(type: Any, values: list[Any]) -> list[Any]:
    """Return what is not of a type."""
    pydantic = pytest.importorskip("pydantic")
    adapter = pydantic.TypeAdapter(type, config=pydantic.ConfigDict(extra="forbid"))
    refused: list[Any] = []
    for value in values:
        try:
            adapter.validate_python(value)
        except ValueError:
            refused.append(value)
    return refused


TEXT = '{"name": "Oslo"}'
PARSED: list[tuple[str, str, dict[str, Any]]] = [
    (
        "openai.types.chat",
        "ParsedChatCompletion",
        {
            **{"id": "chatcmpl_1", "object": "chat.completion", "created": 0, "model": "gpt-5"},
            "choices": [
                {
                    **{"index": 0, "finish_reason": "stop", "logprobs": None},
                    "message": {"role": "assistant", "content": TEXT, "parsed": {"name": "Oslo"}},
                }
            ],
        },
    ),
    (
        "openai.types.responses",
        "ParsedResponse",
        {
            **{"id": "resp_1", "object": "response", "created_at": 0, "model": "gpt-5"},
            **{"status": "completed", "tools": [], "tool_choice": "auto"},
            "parallel_tool_calls": True,
            "output": [
                {
                    **{"type": "message", "id": "msg_1", "role": "assistant"},
                    "status": "completed",
                    "content": [
                        {
                            **{"type": "output_text", "text": TEXT, "annotations": []},
                            "parsed": {"name": "Oslo"},
                        }
                    ],
                }
            ],
        },
    ),
    (
        "anthropic.types",
        "ParsedMessage",
        {
            **{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5"},
            **{"stop_reason": "end_turn", "stop_sequence": None},
            "content": [{"type": "text", "text": TEXT, "parsed_output": {"name": "Oslo"}}],
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    ),
]
"""What an SDK parsed the answer to: its module, its type, and the response as data."""


@pytest.mark.sdk("anthropic", "openai")
@pytest.mark.parametrize(("module", "type", "data"), PARSED)
def test_parsed(module: str, type: str, data: dict[str, Any]) -> None:
    """What an SDK parsed the answer to is the structured output of its message."""
    kind = getattr(pytest.importorskip(module), type)[dict[str, str]]
    assert {"name": "Oslo"} == read_response(kind.model_validate(data)).structured_output


@pytest.mark.sdk("google.genai")
def test_parsed_by_gemini() -> None:
    """What Google's SDK parsed the answer to is the structured output of its message."""
    types = pytest.importorskip("google.genai.types")
    response = types.GenerateContentResponse.model_validate(
        table("replies")["an answer in a form"]["gemini"]["given"]
    )
    response.parsed = {"name": "Oslo"}
    assert {"name": "Oslo"} == read_response(response).structured_output
