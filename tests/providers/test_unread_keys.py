"""Unknown keys of recorded messages: sent back, or told with their place and the author's line."""

import copy
import re
from typing import Any

import pytest

from promptdsl import History, Loss, Timeline, User, render
from tests.errors import this_line
from tests.folding import folded
from tests.internals import TARGETS, facts_for, unread_keys
from tests.providers.conversations import CONVERSATIONS, whole
from tests.providers.wire_tables.tables import table

CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
MEDIA = [
    {"type": "text", "text": "Hi."},
    {"type": "image_url", "image_url": {"url": "https://a.org/b.png"}},
    {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    {"type": "file", "file": {"file_id": "f"}},
]
SUMMARY = [{"type": "summary_text", "text": "Hm."}]
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": SUMMARY, "encrypted_content": "e"}
ANSWER = {"type": "output_text", "text": "Yes.", "annotations": []}
SAID = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant"}
PNG = "iVBORw0KGgo="

RECORDED: dict[str, dict[str, Any]] = {
    "openai": {
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": MEDIA},
            {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "one"}]},
            {
                "role": "assistant",
                "content": None,
                "function_call": {"name": "f", "arguments": "{}"},
            },
            {"role": "function", "name": "f", "content": "two"},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        ]
    },
    "openai_responses": {
        "instructions": [{"role": "system", "content": [{"type": "input_text", "text": "Be."}]}],
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Hi."},
                    {"type": "input_image", "image_url": "https://a.org/b.png"},
                    {"type": "input_file", "file_id": "f"},
                ],
            },
            THOUGHT,
            {**SAID, "content": [ANSWER, {"type": "refusal", "refusal": "No."}]},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
            {
                "type": "function_call_output",
                "call_id": "a",
                "output": [{"type": "input_text", "text": "one"}],
            },
            {"type": "custom_tool_call", "call_id": "b", "name": "g", "input": "x"},
            {"type": "custom_tool_call_output", "call_id": "b", "output": "two"},
        ],
    },
    "anthropic": {
        "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}},
                    {"type": "image", "source": {"type": "url", "url": "https://a.org/b.png"}},
                    {"type": "document", "source": {"type": "file", "file_id": "f"}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                    {"type": "redacted_thinking", "data": "d"},
                    {"type": "tool_use", "id": "a", "name": "f", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "a",
                        "content": [{"type": "text", "text": "one"}],
                    }
                ],
            },
        ],
    },
    "gemini": {
        "config": {"system_instruction": {"parts": [{"text": "Be kind."}]}},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "Hi."},
                    {"inline_data": {"mime_type": "image/png", "data": PNG}},
                ],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "Hm.", "thought": True, "thoughtSignature": "c2ln"},
                    {"functionCall": {"id": "a", "name": "f", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "a", "name": "f", "response": {"x": 1}}}],
            },
        ],
    },
    "bedrock": {
        "system": [{"text": "Be kind."}, {"cachePoint": {"type": "default"}}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"text": "Hi."},
                    {"image": {"format": "png", "source": {"bytes": PNG}}},
                    {"cachePoint": {"type": "default"}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}},
                    {"citationsContent": {"content": [{"text": "So."}], "citations": []}},
                    {"toolUse": {"toolUseId": "a", "name": "f", "input": {}}},
                ],
            },
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "one"}]}}],
            },
        ],
    },
    "chat_template": {
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "Hi."}]},
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "a", "content": "one"},
            {"role": "assistant", "content": "Yes."},
        ]
    },
}
"""A conversation in the form of each provider, with all that its reader knows."""

MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-3.1-pro",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}

# By form, the places whose unknown keys are told when they are read.
UNREAD = {
    "openai": """
        messages[0] messages[1] messages[1].content[0] messages[1].content[1]
        messages[1].content[1].image_url messages[1].content[2] messages[1].content[2].input_audio
        messages[1].content[3] messages[1].content[3].file messages[2] messages[2].tool_calls[0]
        messages[2].tool_calls[0].function messages[3] messages[3].content[0] messages[4]
        messages[4].function_call messages[5] messages[6] messages[6].content[0]
        """,
    "openai_responses": """
        instructions[0] instructions[0].content[0] input[0] input[0].content[0] input[0].content[1]
        input[0].content[2] input[1] input[2] input[2].content[0] input[2].content[1] input[3]
        input[4] input[4].output[0] input[5] input[6]
        """,
    "anthropic": """
        system[0] system[0].cache_control messages[0] messages[0].content[0].cache_control
        messages[0].content[1].source messages[0].content[2].source messages[1]
        messages[1].content[0] messages[1].content[1] messages[2]
        """,
    "gemini": """
        config.system_instruction config.system_instruction.parts[0] contents[0] contents[1]
        contents[1].parts[0] contents[2]
        """,
    "bedrock": """
        system[1].cachePoint messages[0] messages[0].content[2].cachePoint messages[1]
        messages[1].content[0].reasoningContent
        messages[1].content[0].reasoningContent.reasoningText messages[1].content[2].toolUse
        messages[2] messages[2].content[0].toolResult
        """,
    "chat_template": """
        messages[0] messages[1] messages[1].content[0] messages[2] messages[2].tool_calls[0]
        messages[2].tool_calls[0].function messages[3] messages[4]
        """,
}
# The places whose unknown keys are kept by their block: told when it is written, by the number of
# its message.
KEPT = {
    "anthropic": """
        messages[0].content[0]:1 messages[0].content[1]:1 messages[0].content[2]:1
        messages[1].content[2]:2 messages[2].content[0]:3 messages[2].content[0].content[0]:3
        """,
    "gemini": """
        contents[0].parts[0]:1 contents[0].parts[1]:1 contents[1].parts[1]:2
        contents[1].parts[1].functionCall:2 contents[2].parts[0]:3
        contents[2].parts[0].functionResponse:3
        """,
    "bedrock": "messages[0].content[1].image:1",
}
# The places whose unknown keys are sent back.
SENT = {
    "openai_responses": "input[1].summary[0]",
    "gemini": "contents[2].parts[0].functionResponse.response",
    "bedrock": """
        messages[0].content[1].image.source messages[1].content[1].citationsContent
        """,
}


def with_key(form: str, place: str, value: object) -> dict[str, Any]:
    """Return the conversation of a form with an unknown key at a place."""
    data: Any = copy.deepcopy(RECORDED[form])
    container: Any = data
    for step in re.findall(r"\w+", place):
        container = container[int(step) if step.isdigit() else step]
    container["weird"] = value
    return data


def reported_keys(
    form: str, place: str, value: object = "secret"
) -> tuple[list[tuple[str, ...]], bool]:
    """Return the losses of the unknown key at a place, and whether it is sent."""
    read, data = getattr(History, f"from_{form}"), with_key(form, place, value)
    history, line = read(data), f"{__file__}:{this_line()}"
    rendered = render(Timeline(history, User("Bye.")), provider=form, model=MODELS.get(form))
    losses = [
        (hint.kind, hint.path, hint.why)
        for hint in rendered.hints
        if "weird" in hint.what and str(hint.source) == line
    ]
    return losses, "secret" in str(rendered.payload())


def places(by_form: dict[str, str]) -> list[tuple[str, str]]:
    """Return each form with each of its places."""
    return [(form, place) for form, named in by_form.items() for place in named.split()]


@pytest.mark.parametrize(("form", "place"), places(UNREAD))
def test_an_unread_key_is_told(form: str, place: str) -> None:
    """A key that the reader passes over is a hint with its place and the line of the History."""
    why = f"History.from_{form} does not read it, so it is not sent"
    assert ([("hint", place, why)], False) == reported_keys(form, place)


def test_a_flat_call() -> None:
    """A call with its name beside its ids is read whole."""
    call = {"id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}"}
    assert [] == [*unread_keys([{"role": "assistant", "tool_calls": [call]}], "openai")]


@pytest.mark.parametrize(("form", "place"), places(KEPT))
def test_a_kept_key_is_told(form: str, place: str) -> None:
    """A key that its block keeps is a hint with the message, where it cannot be sent."""
    place, _, number = place.partition(":")
    losses, is_sent = reported_keys(form, place)
    assert ([("hint", f"history[{number}]")], False) == ([loss[:2] for loss in losses], is_sent)


@pytest.mark.parametrize(("form", "place"), places(SENT))
def test_a_sent_key(form: str, place: str) -> None:
    """A key of data that is kept whole goes back to its provider."""
    assert ([], True) == reported_keys(form, place)


@pytest.mark.parametrize("value", [None, "", [], {}, ()])
@folded(("form", "place"), places(UNREAD))
def test_nothing_is_no_loss(form: str, place: str, value: object) -> None:
    """A key without a value is not told."""
    assert ([], False) == reported_keys(form, place, value)


class Vector:
    """A value that compares item by item, and is neither true nor false, as an array is."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")


def test_an_array_is_a_value() -> None:
    """An unknown key may have any object as its value: it is told, and never compared."""
    entries = [{"role": "user", "content": "a", "embedding": Vector()}]
    hints = render(History.from_openai(entries), provider="openai").hints
    assert [("key 'embedding'", "messages[0]")] == [(loss.what, loss.path) for loss in hints]


@pytest.mark.parametrize("form", RECORDED)
def test_what_readers_know_is_no_loss(form: str) -> None:
    """A conversation without unknown keys has none that are not read."""
    assert [] == [*unread_keys(RECORDED[form], form)]


def test_one_hint_for_many() -> None:
    """A key that all messages have is told once, with the first place."""
    entries = [{"role": "user", "content": "a", "time": n} for n in range(1, 1_201)]
    losses: tuple[Loss, ...] = render(History.from_openai(entries), provider="openai").hints
    assert [("key 'time'", "messages[0] and 1,199 more")] == [
        (loss.what, loss.path) for loss in losses
    ]


def test_for_every_target() -> None:
    """It is told whatever the target, and without one."""
    entries = [{"role": "user", "content": "a", "weird": 1}]
    prompt = Timeline(History.from_openai(entries))
    targets = (None, "openai", "anthropic", "gemini", "bedrock", "chat_template")
    assert [["key 'weird'"]] * 6 == [
        [hint.what for hint in render(prompt, provider=target).hints] for target in targets
    ]


@pytest.mark.parametrize("form", RECORDED)
def test_what_is_written_is_read(form: str) -> None:
    """Nothing of the payload of any conversation is passed over when it is read."""
    write, facts = TARGETS[form].write, facts_for(None, form)
    payloads = [write(whole(messages), facts, None)[0] for messages in CONVERSATIONS.values()]
    assert [] == [pair for payload in payloads for pair in unread_keys(payload, form)]


@pytest.mark.parametrize("form", RECORDED)
def test_what_others_wrote_is_read(form: str) -> None:
    """Nothing of the payloads that others wrote is passed over."""
    inputs = [row[form]["given"] for row in table("readings").values() if form in row]
    assert [] == [pair for payload in inputs for pair in unread_keys(payload, form)]


def test_data_that_changed_since() -> None:
    """A message that the author changed after the render takes no hint from the others."""
    messages: list[Any] = [{"role": "user"}, {"role": "user"}, {"role": "user", "content": "Hi."}]
    messages[0]["content"] = [{"type": "text", "text": "Well?"}]
    messages[1]["content"] = [{"type": "text", "text": "So?"}]
    messages[2]["extra"] = 1
    rendered = render(Timeline(History.from_openai(messages)))
    messages[0]["content"][0] = object()
    messages[1]["content"][0]["type"] = []
    assert ["key 'extra'"] == [hint.what for hint in rendered.hints]
    assert 3 == len(rendered.messages[0].content)
