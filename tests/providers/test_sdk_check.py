"""The checkers themselves: payloads that break one of their rules each.

What they take is what ``test_accepted`` in ``test_every_adapter`` gives them.
"""

from typing import Any

import pytest

from promptdsl import ModelFacts
from tests.providers.recorder import Clients
from tests.providers.sdk_check import check_anthropic, check_openai

pytestmark = pytest.mark.sdk("anthropic", "openai")

ABLE = ModelFacts(instructions=True, cache_marks=True)
A = {"type": "text", "text": "a"}
ASK = {"role": "user", "content": "a"}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ANSWER = {"role": "tool", "tool_call_id": "a", "content": "b"}
BREAK = {**A, "prompt_cache_breakpoint": {"mode": "explicit"}}
WEB = {"type": "image_url", "image_url": {"url": "https://x"}}


def ask(*parts: Any) -> dict[str, Any]:
    """Return a user's message of parts, for either service."""
    return {"role": "user", "content": [*parts]}


def calling(*calls: Any) -> dict[str, Any]:
    """Return a Chat message with calls."""
    return {"role": "assistant", "content": None, "tool_calls": [*calls]}


def file(**keys: str) -> dict[str, Any]:
    """Return a Chat message with a file."""
    return ask({"type": "file", "file": keys})


BAD_CHAT: dict[str, list[Any]] = {
    "unknown key": [{**ASK, "id": "a"}],
    "unknown role": [{"role": "event", "content": "a"}],
    "function role": [{"role": "function", "name": "f", "content": "a"}],
    "no content": [{"role": "user"}],
    "null answer": [{"role": "assistant", "content": None}],
    "null question": [{"role": "user", "content": None}],
    "number as content": [{"role": "user", "content": 5}],
    "call without a type": [calling({"id": "a", "function": CALL["function"]}), ANSWER],
    "empty content": [ask()],
    "unknown part": [ask({"type": "hologram"})],
    "key of a part": [ask({**A, "id": "a"})],
    "picture in a system message": [{"role": "system", "content": [WEB]}],
    "picture in a result": [ASK, calling(CALL), {**ANSWER, "content": [WEB]}],
    "refusal by a user": [ask({"type": "refusal", "refusal": "a"})],
    "picture type": [ask({**WEB, "image_url": {"url": "data:image/bmp;base64,QQ=="}})],
    "file with id and data": [file(file_id="a", file_data="data:x", filename="a")],
    "file without a name": [file(file_data="data:x")],
    "bare file": [file(file_data="QQ==", filename="a")],
    "name": [{**ASK, "name": "Ada Lovelace"}],
    "long name": [{**ASK, "name": "a" * 65}],
    "name on a result": [ASK, calling(CALL), {**ANSWER, "name": "look up"}],
    "empty calls": [{"role": "assistant", "content": "a", "tool_calls": []}],
    "long id": [calling({**CALL, "id": "a" * 41}), {**ANSWER, "tool_call_id": "a" * 41}],
    "tool name": [calling({**CALL, "function": {"name": "look up", "arguments": "{}"}}), ANSWER],
    "arguments": [calling({**CALL, "function": {"name": "f", "arguments": {}}}), ANSWER],
    "id twice": [calling(CALL, CALL), ANSWER],
    "call without result": [ASK, calling(CALL)],
    "result without call": [ASK, ANSWER],
    "result twice": [ASK, calling(CALL), ANSWER, ANSWER],
    "result too late": [ASK, calling(CALL), {"role": "developer", "content": "a"}, ANSWER],
    "mark on an answer": [{"role": "assistant", "content": [BREAK]}],
    "five marks": [ask(*[BREAK] * 5)],
    "lone surrogate": [{"role": "user", "content": "\ud83d"}],
}

USER = ask(A)
PICTURE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="},
}
KEPT = {**A, "cache_control": {"type": "ephemeral"}}
HOUR = {**A, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
USE = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": [A]}
THOUGHT = {"type": "thinking", "thinking": "a", "signature": "b"}
NEWS = {"role": "system", "content": [A]}


def reply(*blocks: Any) -> dict[str, Any]:
    """Return a message of Claude."""
    return {"role": "assistant", "content": [*blocks]}


def with_result(**keys: Any) -> list[Any]:
    """Return a call and its result, changed."""
    return [USER, reply(USE), ask({**RESULT, **keys})]


BAD_CLAUDE: dict[str, list[Any]] = {
    "unknown key": [{**USER, "name": "ada"}],
    "unknown role": [{**USER, "role": "developer"}],
    "string content": [ASK],
    "no content": [ask()],
    "unknown block": [ask({"type": "hologram"})],
    "key of a block": [ask({**A, "id": "a"})],
    "white text": [ask({**A, "text": " \n"})],
    "empty text": [ask({**A, "text": ""})],
    "unknown ttl": [ask({**A, "cache_control": {"type": "ephemeral", "ttl": "2h"}})],
    "white text in a result": with_result(content=[{**A, "text": " "}]),
    "system first": [NEWS, reply(A)],
    "system behind an answer": [USER, reply(A), NEWS],
    "system before a question": [USER, NEWS, USER],
    "system twice": [USER, NEWS, NEWS],
    "system between call and result": [USER, reply(USE), NEWS, ask(RESULT)],
    "picture in a system message": [USER, {**NEWS, "content": [PICTURE]}],
    "picture by the assistant": [USER, reply(PICTURE)],
    "call by a user": [ask(USE)],
    "result by the assistant": [USER, reply(USE, RESULT)],
    "call without result": [USER, reply(USE)],
    "result in a later turn": [USER, reply(USE), USER, reply(A), ask(RESULT)],
    "result without call": [ask(RESULT)],
    "result twice": [USER, reply(USE), ask(RESULT, RESULT)],
    "text before the result": [USER, reply(USE), ask(A, RESULT)],
    "id twice": [*with_result(), *with_result()[1:]],
    "id charset": [USER, reply({**USE, "id": "a.b"}), ask({**RESULT, "tool_use_id": "a.b"})],
    "tool name": [USER, reply({**USE, "name": "look up"}), ask(RESULT)],
    "long tool name": [USER, reply({**USE, "name": "a" * 129}), ask(RESULT)],
    "string input": [USER, reply({**USE, "input": "{}"}), ask(RESULT)],
    "empty error": with_result(is_error=True, content=[]),
    "picture in an error": with_result(is_error=True, content=[A, PICTURE]),
    "unknown block in a result": with_result(content=[{"type": "hologram"}]),
    "picture type": [ask({**PICTURE, "source": {**PICTURE["source"], "media_type": "image/bmp"}})],  # type: ignore[dict-item]
    "mark in a result": with_result(content=[KEPT]),
    "mark on thinking": [USER, reply({**THOUGHT, "cache_control": {"type": "ephemeral"}})],
    "five marks": [ask(*[KEPT] * 5)],
    "an hour behind five minutes": [ask(KEPT, HOUR)],
    "unsigned thinking": [USER, reply({**THOUGHT, "signature": ""})],
    "lone surrogate": [ask({**A, "text": "\ud83d"})],
}


@pytest.mark.parametrize("name", BAD_CHAT)
def test_bad_chat(name: str) -> None:
    """What Chat refuses does not pass (a ``ValidationError`` is a ``ValueError``)."""
    with pytest.raises((AssertionError, ValueError)):
        check_openai({"messages": BAD_CHAT[name]})


@pytest.mark.parametrize("name", BAD_CLAUDE)
def test_bad_claude(name: str) -> None:
    """What Anthropic refuses does not pass."""
    with pytest.raises((AssertionError, ValueError)):
        check_anthropic({"messages": BAD_CLAUDE[name]}, ABLE)


@pytest.mark.parametrize("system", ["a", [], [PICTURE], [{**A, "text": " "}]])
def test_bad_system(system: object) -> None:
    """Nor does system text that is no list of texts."""
    with pytest.raises((AssertionError, ValueError)):
        check_anthropic({"messages": [USER], "system": system}, ABLE)


@pytest.mark.parametrize("last", [NEWS, reply({**A, "text": "It is "})])
def test_bad_for_a_model(last: dict[str, Any]) -> None:
    """A system message inside, and white space before a continuation, are judged by the model."""
    with pytest.raises(AssertionError):
        check_anthropic({"messages": [USER, last]}, ModelFacts(prefill=True))


def test_recorder(clients: Clients) -> None:
    """The recorder keeps what each client sends, and both clients can read its reply."""
    chat, claude = {"messages": [ASK]}, {"messages": [USER]}
    assert (
        {"model": "gpt-5.6-sol", **chat},
        {"model": "claude-opus-5-5", "max_tokens": 1, **claude},
    ) == (clients.openai(chat), clients.anthropic(claude))
