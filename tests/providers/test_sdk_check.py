"""The checkers themselves: they refuse what the types or the services refuse."""

from collections.abc import Mapping
from typing import Any

import pytest

from promptdsl import ModelFacts
from tests.providers.recorder import Clients
from tests.providers.sdk_check import check_anthropic, check_openai

pytestmark = pytest.mark.sdk("anthropic", "openai")

ABLE = ModelFacts(instructions=True, cache_marks=True)
PLAIN = ModelFacts(prefill=True)
ASK = {"role": "user", "content": "a"}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWER = {"role": "tool", "tool_call_id": "a", "content": "b"}
BREAK = {"prompt_cache_breakpoint": {"mode": "explicit"}}


def chat(*messages: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a Chat payload."""
    return {"messages": list(messages), **more}


def ask(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a user's message of content parts, in either wire form."""
    return {"role": "user", "content": list(parts)}


def part(text: str = "a", /, **keys: Any) -> dict[str, Any]:
    """Return a text part, in either wire form."""
    return {"type": "text", "text": text, **keys}


def function(**keys: str) -> dict[str, Any]:
    """Return a message with one call, its function changed."""
    return {**CALLING, "tool_calls": [{**CALL, "function": {**CALL["function"], **keys}}]}  # type: ignore[dict-item]


GOOD_CHAT = {
    "plain": chat({"role": "system", "content": "a"}, ASK, {"role": "developer", "content": "b"}),
    "calls": chat(ASK, CALLING, ANSWER),
    "parts": chat(
        ask(
            part(**BREAK),
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}},
            {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "wav"}},
            {"type": "file", "file": {"file_id": "a"}},
            {"type": "file", "file": {"file_data": "data:text/plain;base64,QQ==", "filename": "a"}},
        )
    ),
}
BAD_CHAT = {
    "unknown argument": chat(ASK, system="a"),
    "unknown key": chat({**ASK, "id": "a"}),
    "unknown role": chat({"role": "event", "content": "a"}),
    "function role": chat({"role": "function", "name": "f", "content": "a"}),
    "no content": chat({"role": "user"}),
    "null content": chat({"role": "user", "content": None}),
    "null answer": chat({"role": "assistant", "content": None}),
    "no answer": chat({"role": "assistant"}),
    "empty content": chat(ask()),
    "number as content": chat({"role": "user", "content": 7}),
    "unknown part": chat(ask({"type": "hologram"})),
    "part with an unknown key": chat(ask(part(id="a"))),
    "part of a wrong type": chat(ask({"type": "text", "text": 7})),
    "audio format": chat(
        ask({"type": "input_audio", "input_audio": {"data": "QQ==", "format": "ogg"}})
    ),
    "picture in a system message": chat(
        {
            "role": "system",
            "content": [{"type": "image_url", "image_url": {"url": "https://x"}}],
        }
    ),
    "picture in a result": chat(
        ASK,
        CALLING,
        {**ANSWER, "content": [{"type": "image_url", "image_url": {"url": "https://x"}}]},
    ),
    "refusal by a user": chat(ask({"type": "refusal", "refusal": "a"})),
    "picture type": chat(
        ask({"type": "image_url", "image_url": {"url": "data:image/bmp;base64,QQ=="}})
    ),
    "detail": chat(
        ask({"type": "image_url", "image_url": {"url": "https://x", "detail": "closely"}})
    ),
    "file with id and data": chat(
        ask({"type": "file", "file": {"file_id": "a", "file_data": "data:x", "filename": "a"}})
    ),
    "file without a name": chat(ask({"type": "file", "file": {"file_data": "data:x"}})),
    "bare file": chat(ask({"type": "file", "file": {"file_data": "QQ==", "filename": "a"}})),
    "name": chat({**ASK, "name": "Ada Lovelace"}),
    "long name": chat({**ASK, "name": "a" * 65}),
    "name on a result": chat(ASK, CALLING, {**ANSWER, "name": "f"}),
    "empty calls": chat({"role": "assistant", "content": "a", "tool_calls": []}),
    "long id": chat(
        {**CALLING, "tool_calls": [{**CALL, "id": "a" * 41}]}, {**ANSWER, "tool_call_id": "a" * 41}
    ),
    "tool name": chat(function(name="look up"), ANSWER),
    "arguments": chat(function(arguments={}), ANSWER),  # type: ignore[arg-type]
    "call without a type": chat(
        {**CALLING, "tool_calls": [{"id": "a", "function": CALL["function"]}]}, ANSWER
    ),
    "call with an unknown key": chat({**CALLING, "tool_calls": [{**CALL, "index": 0}]}, ANSWER),
    "id twice": chat({**CALLING, "tool_calls": [CALL, CALL]}, ANSWER),
    "call without result": chat(ASK, CALLING),
    "result without call": chat(ASK, ANSWER),
    "result twice": chat(ASK, CALLING, ANSWER, ANSWER),
    "result too late": chat(ASK, CALLING, {"role": "developer", "content": "a"}, ANSWER),
    "mark on an answer": chat({"role": "assistant", "content": [part(**BREAK)]}),
    "five marks": chat(ask(*[part(**BREAK)] * 5)),
    "lone surrogate": chat({"role": "user", "content": "\ud83d"}),
}


def claude(*messages: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return an Anthropic payload."""
    return {"messages": list(messages), **more}


def say(role: str, *blocks: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message of blocks, one text when there are none."""
    return {"role": role, "content": list(blocks) or [part()]}


def use(id: str = "a", **keys: Any) -> dict[str, Any]:
    """Return a call."""
    return {"type": "tool_use", "id": id, "name": "f", "input": {}, **keys}


def result(id: str = "a", **keys: Any) -> dict[str, Any]:
    """Return a result."""
    return {"type": "tool_result", "tool_use_id": id, "content": [part()], **keys}


def image(**source: str) -> dict[str, Any]:
    """Return a picture."""
    return {"type": "image", "source": source}


PICTURE = image(type="base64", media_type="image/png", data="QQ==")
PDF = {"type": "base64", "media_type": "application/pdf", "data": "QQ=="}
KEPT = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}

GOOD_CLAUDE = {
    "plain": claude(say("user"), say("assistant"), system=[part(**KEPT)]),
    "calls": claude(
        say("user"),
        say("assistant", part(), use("a"), use("b")),
        say("user", result("b"), result("a", is_error=True)),
        say("user"),
    ),
    "instruction": claude(say("user"), say("system"), say("assistant"), say("user"), say("system")),
    "media": claude(say("user", PICTURE, {"type": "document", "source": PDF, "title": "a"})),
    "marks": claude(say("user", part(**HOUR), part(**KEPT)), system=[part(**HOUR)]),
    "thinking": claude(
        say("user"),
        say(
            "assistant",
            {"type": "thinking", "thinking": "a", "signature": "b"},
            {"type": "redacted_thinking", "data": "c"},
            part(),
        ),
    ),
}
BAD_CLAUDE = {
    "unknown argument": claude(say("user"), metadata={}),
    "unknown key": claude({**say("user"), "name": "ada"}),
    "unknown role": claude({**say("user"), "role": "developer"}),
    "string content": claude({"role": "user", "content": "a"}),
    "no content": claude({"role": "user", "content": []}),
    "string system": claude(say("user"), system="a"),
    "empty system": claude(say("user"), system=[]),
    "picture in system": claude(say("user"), system=[PICTURE]),
    "unknown block": claude(say("user", {"type": "hologram"})),
    "block with an id": claude(say("user", part(id="a"))),
    "block of a wrong type": claude(say("user", {"type": "text", "text": 7})),
    "empty text": claude(say("user", part(""))),
    "white text": claude(say("user", part(" \n"))),
    "white text in a result": claude(
        say("user"), say("assistant", use()), say("user", result(content=[part(" ")]))
    ),
    "white system": claude(say("user"), system=[part(" ")]),
    "citations": claude(
        say(
            "user",
            part(
                citations=[
                    {
                        "type": "char_location",
                        "cited_text": "a",
                        "document_index": 0,
                        "document_title": None,
                        "start_char_index": 0,
                        "end_char_index": 1,
                    }
                ]
            ),
        )
    ),
    "system first": claude(say("system"), say("assistant")),
    "system behind an answer": claude(say("user"), say("assistant"), say("system")),
    "system before a question": claude(say("user"), say("system"), say("user")),
    "system twice": claude(say("user"), say("system"), say("system")),
    "system between call and result": claude(
        say("user"), say("assistant", use()), say("system"), say("user", result())
    ),
    "picture in a system message": claude(say("user"), say("system", PICTURE)),
    "document by the assistant": claude(
        say("user"), say("assistant", {"type": "document", "source": PDF})
    ),
    "call by a user": claude(say("user", use())),
    "result by the assistant": claude(say("user"), say("assistant", use(), result())),
    "call without result": claude(say("user"), say("assistant", use())),
    "call without result in the next turn": claude(
        say("user"), say("assistant", use()), say("user"), say("assistant"), say("user", result())
    ),
    "result without call": claude(say("user", result())),
    "result twice": claude(say("user"), say("assistant", use()), say("user", result(), result())),
    "text before the result": claude(
        say("user"), say("assistant", use()), say("user", part(), result())
    ),
    "id twice in a turn": claude(
        say("user"), say("assistant", use(), use()), say("user", result(), result())
    ),
    "id twice": claude(
        say("user"),
        say("assistant", use()),
        say("user", result()),
        say("assistant", use()),
        say("user", result()),
    ),
    "id charset": claude(say("user"), say("assistant", use("a.b")), say("user", result("a.b"))),
    "tool name": claude(say("user"), say("assistant", use(name="look up")), say("user", result())),
    "long tool name": claude(
        say("user"), say("assistant", use(name="a" * 129)), say("user", result())
    ),
    "string input": claude(say("user"), say("assistant", use(input="{}")), say("user", result())),
    "empty error": claude(
        say("user"), say("assistant", use()), say("user", result(is_error=True, content=[]))
    ),
    "picture in an error": claude(
        say("user"),
        say("assistant", use()),
        say("user", result(is_error=True, content=[part(), PICTURE])),
    ),
    "unknown block in a result": claude(
        say("user"), say("assistant", use()), say("user", result(content=[{"type": "hologram"}]))
    ),
    "picture type": claude(say("user", image(type="base64", media_type="image/bmp", data="QQ=="))),
    "picture source": claude(say("user", image(type="path", path="a.png"))),
    "mark in a result": claude(
        say("user"), say("assistant", use()), say("user", result(content=[part(**KEPT)]))
    ),
    "mark on thinking": claude(
        say("user"),
        say("assistant", {"type": "thinking", "thinking": "a", "signature": "b", **KEPT}),
    ),
    "five marks": claude(say("user", *[part(**KEPT)] * 4), system=[part(**KEPT)]),
    "an hour behind five minutes": claude(say("user", part(**KEPT), part(**HOUR))),
    "unknown ttl": claude(say("user", part(cache_control={"type": "ephemeral", "ttl": "2h"}))),
    "unsigned thinking": claude(
        say("user"), say("assistant", {"type": "thinking", "thinking": "a", "signature": ""})
    ),
    "lone surrogate": claude(say("user", part("\ud83d"))),
}


@pytest.mark.parametrize("name", GOOD_CHAT)
def test_good_chat(name: str) -> None:
    """What Chat accepts passes."""
    check_openai(GOOD_CHAT[name])


@pytest.mark.parametrize("name", BAD_CHAT)
def test_bad_chat(name: str) -> None:
    """What Chat refuses does not pass (a ``ValidationError`` is a ``ValueError``)."""
    with pytest.raises((AssertionError, ValueError)):
        check_openai(BAD_CHAT[name])


@pytest.mark.parametrize("name", GOOD_CLAUDE)
def test_good_claude(name: str) -> None:
    """What Anthropic accepts passes."""
    check_anthropic(GOOD_CLAUDE[name], ABLE)


@pytest.mark.parametrize("name", BAD_CLAUDE)
def test_bad_claude(name: str) -> None:
    """What Anthropic refuses does not pass."""
    with pytest.raises((AssertionError, ValueError)):
        check_anthropic(BAD_CLAUDE[name], ABLE)


@pytest.mark.parametrize(
    "payload",
    [
        GOOD_CLAUDE["instruction"],
        claude(say("user"), say("assistant", part("It is "))),
    ],
)
def test_bad_for_a_model(payload: dict[str, Any]) -> None:
    """A system message inside, and white space before a continuation, are judged by the model."""
    with pytest.raises(AssertionError):
        check_anthropic(payload, PLAIN)


def test_recorder(clients: Clients) -> None:
    """The recorder keeps what each client sends, and both clients can read its reply."""
    sent = clients.openai(chat(ASK)), clients.anthropic(claude(say("user")))
    assert (
        {"model": "gpt-5.6-sol", **chat(ASK)},
        {"model": "claude-opus-5-5", "max_tokens": 1, **claude(say("user"))},
    ) == sent
