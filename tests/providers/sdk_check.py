"""Payloads checked offline: strictly against the SDKs' types, then by the rules no type states.

The SDKs' message types hold lazy iterables, which pydantic checks only when somebody walks them,
and unions that let unknown blocks pass; so iterators are walked here and every block is checked
against the one type its ``type`` names.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, cast

from pydantic import ConfigDict, TypeAdapter

from promptdsl import ModelFacts

STRICT = ConfigDict(extra="forbid", strict=True)
IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
MOST_MARKS = 4


SETTINGS = ("tools", "tool_choice", "response_format")
CLAUDE_SETTINGS = ("tools", "tool_choice", "output_config")
CLAUDE_PLACES = {
    "system": {"text"},
    "user": {"text", "image", "document", "search_result", "tool_result"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use"},
    "tool_result": {"text", "image", "document", "search_result"},
}


def _walk(value: object) -> None:
    """Walk every container and lazy iterator, which is what makes pydantic check its items."""
    unvisited = [value]
    while unvisited:
        item = unvisited.pop()
        if isinstance(item, Mapping):
            unvisited.extend(cast("Mapping[str, object]", item).values())
        elif isinstance(item, Iterable) and not isinstance(item, str | bytes):
            unvisited.extend(cast("Iterable[object]", item))


def _check_types(adapter: TypeAdapter[Any], value: object) -> None:
    _walk(adapter.validate_python(value))


def _check_json(payload: Mapping[str, Any], keys: set[str]) -> None:
    assert set(payload) <= keys, f"unknown keys {set(payload) - keys}"
    json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()


class MessageTypes(NamedTuple):
    """The types of an SDK: of the messages, of each setting, and of blocks by their ``type``."""

    messages: TypeAdapter[Any]
    settings: Mapping[str, TypeAdapter[Any]]
    blocks: Mapping[str, TypeAdapter[Any]]

    def check(self, payload: Mapping[str, Any]) -> None:
        """Check messages and settings, blocks aside."""
        _check_types(self.messages, payload["messages"])
        for key in self.settings.keys() & payload.keys():
            _check_types(self.settings[key], payload[key])


def _lists_of(type: Any) -> TypeAdapter[Any]:
    return TypeAdapter(list[type], config=STRICT)


def _check_settings(payload: Mapping[str, Any], keys: Iterable[str]) -> None:
    for key in keys:
        assert payload.get(key) != [], f"an empty {key!r} is left out"
    assert "tools" in payload or "tool_choice" not in payload, "a choice needs tools"


def _check_tool_names(names: list[str], longest: int) -> None:
    assert len(names) == len(set(names)), "a tool's name twice"
    for name in names:
        assert _matches(f"[a-zA-Z0-9_-]{{1,{longest}}}", name), f"tool name {name!r}"


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return cast("list[dict[str, Any]]", content) if isinstance(content, list) else []


# OpenAI Chat Completions.


def without_names_of_tools(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a payload without the names on results: recordings have them, the types do not."""
    messages = [
        {key: value for key, value in message.items() if (message["role"], key) != ("tool", "name")}
        for message in payload["messages"]
    ]
    return {**payload, "messages": messages}


@cache
def _chat_types() -> MessageTypes:
    from openai.types import chat
    from openai.types.shared_params import ResponseFormatJSONSchema

    settings = {
        "tools": _lists_of(chat.ChatCompletionToolUnionParam),
        "tool_choice": TypeAdapter(chat.ChatCompletionToolChoiceOptionParam),
        "response_format": TypeAdapter(ResponseFormatJSONSchema),
    }
    return MessageTypes(_lists_of(chat.ChatCompletionMessageParam), settings, {})


def check_openai(payload: Mapping[str, Any]) -> None:
    """Check the arguments of ``chat.completions.create``, model aside.

    Raises :class:`pydantic.ValidationError` for what the types refuse and :class:`AssertionError`
    for what the service is known to refuse beyond them.
    """
    _chat_types().check(without_names_of_tools(payload))
    openai_rules(payload)


def openai_rules(payload: Mapping[str, Any]) -> None:
    """Check what the service is known to refuse beyond the types; this needs no SDK."""
    _check_json(payload, {"messages", *SETTINGS})
    messages = payload["messages"]
    _check_settings(payload, SETTINGS)
    functions = [tool["function"] for tool in payload.get("tools", ()) if "function" in tool]
    _check_tool_names([function["name"] for function in functions], 64)
    json_schema = payload.get("response_format", {}).get("json_schema", {"name": "x"})
    assert _matches(r"[a-zA-Z0-9_-]{1,64}", json_schema["name"]), (
        f"output name {json_schema['name']!r}"
    )
    for message in messages:
        _check_chat_message(message)
    _check_chat_pairing(messages)
    marks = [part for m in messages for part in _parts(m) if "prompt_cache_breakpoint" in part]
    assert len(marks) <= MOST_MARKS, "at most four cache marks in a request"


def _check_chat_message(message: Mapping[str, Any]) -> None:
    assert message["role"] != "function", "the function role is deprecated"
    name = message.get("name")
    assert name is None or _matches(r"[^\s<|\\/>]{1,64}", name), f"name {name!r}"
    calls = message.get("tool_calls")
    assert calls is None or calls, "tool_calls may not be empty"
    excuses = ("tool_calls", "function_call", "refusal", "audio")
    excused = message["role"] == "assistant" and any(message.get(key) for key in excuses)
    assert message.get("content") is not None or excused, "content may not be null"
    assert message.get("content") != [], "content may not be an empty list"
    for call in calls or ():
        _check_chat_call(call)
    for part in _parts(message):
        _check_chat_part(message["role"], part)


def _check_chat_call(call: Mapping[str, Any]) -> None:
    assert len(call["id"]) <= 40, f"id {call['id']!r} is longer than 40 characters"
    name = call[call["type"]]["name"]
    assert _matches(r"[a-zA-Z0-9_-]{1,64}", name), f"function name {name!r}"


def _check_chat_part(role: str, part: Mapping[str, Any]) -> None:
    marked_answer = role == "assistant" and "prompt_cache_breakpoint" in part
    assert not marked_answer, "no cache mark on what the assistant said"
    if part["type"] == "image_url":
        url = part["image_url"]["url"]
        data = tuple(f"data:{media_type};base64," for media_type in IMAGE_TYPES)
        assert url.startswith(("https://", "http://", *data)), f"image address {url[:40]!r}"
    if part["type"] == "file":
        file = part["file"]
        has_data = "file_data" in file and "filename" in file
        assert has_data != ("file_id" in file), "a file has an id, or data and a filename"
        assert file.get("file_data", "data:").startswith("data:"), "file_data is a data URL"


def _check_chat_pairing(messages: Iterable[Mapping[str, Any]]) -> None:
    open_ids: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_ids, "a result without its call before it"
            open_ids.remove(message["tool_call_id"])
            continue
        assert not open_ids, f"something stands between calls and results: {open_ids}"
        ids = [call["id"] for call in message.get("tool_calls", ())]
        open_ids = set(ids)
        assert len(ids) == len(open_ids), "an id twice in one turn"
    assert not open_ids, f"calls without results: {open_ids}"


# Anthropic Messages.


@cache
def _claude_types() -> MessageTypes:
    import anthropic.types as claude

    settings = {
        "tools": _lists_of(claude.ToolParam),
        "tool_choice": TypeAdapter(claude.ToolChoiceParam),
        "output_config": TypeAdapter(claude.OutputConfigParam),
    }
    blocks = {
        "text": claude.TextBlockParam,
        "image": claude.ImageBlockParam,
        "document": claude.DocumentBlockParam,
        "search_result": claude.SearchResultBlockParam,
        "thinking": claude.ThinkingBlockParam,
        "redacted_thinking": claude.RedactedThinkingBlockParam,
        "tool_use": claude.ToolUseBlockParam,
        "tool_result": claude.ToolResultBlockParam,
    }
    by_type = {name: _lists_of(type) for name, type in blocks.items()}
    return MessageTypes(_lists_of(claude.MessageParam), settings, by_type)


def check_anthropic(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    """Check the arguments of ``messages.create``, model and token limit aside.

    Raises as :func:`check_openai` does. ``facts`` says whether the model takes a system role inside
    the messages, and whether it continues a last assistant turn.
    """
    types = _claude_types()
    types.check(payload)
    for block in _claude_blocks(payload):
        _check_types(types.blocks[block["type"]], [block])
    anthropic_rules(payload, facts)


def anthropic_rules(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    """Check what the service is known to refuse beyond the types; this needs no SDK."""
    _check_json(payload, {"messages", "system", *CLAUDE_SETTINGS})
    assert payload.get("system") != [], "an empty system is left out"
    _check_settings(payload, CLAUDE_SETTINGS)
    _check_tool_names([tool["name"] for tool in payload.get("tools", ())], 128)
    forced = payload.get("tool_choice", {}).get("type") in ("any", "tool")
    assert facts.forced_tools or not forced, "this model cannot be forced to call a tool"
    messages = payload["messages"]
    for block in _claude_blocks(payload):
        CLAUDE_RULES.get(block["type"], _no_rule)(block)
    for index, message in enumerate(messages):
        last_answer = index == len(messages) - 1 and message["role"] == "assistant"
        assert message["content"] or last_answer, "a message without content"
    _check_claude_order(messages, facts)
    _check_claude_pairing([*_turns(messages)])
    _check_claude_marks(payload)


def check_anthropic_strings(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    """Check a payload in which a content may be a string, by the types and then as blocks."""
    _claude_types().check(payload)
    check_anthropic(_in_blocks(payload), facts)


def anthropic_string_rules(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    """Check such a payload by the rules alone."""
    anthropic_rules(_in_blocks(payload), facts)


def _in_blocks(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a payload in which a content that is a string is a list of one block."""

    def listed(item: dict[str, Any]) -> dict[str, Any]:
        content = item.get("content", [])
        if isinstance(content, str):
            return {**item, "content": [{"type": "text", "text": content}]}
        return {**item, "content": [*map(listed, content)]} if content else item

    return {**payload, "messages": [*map(listed, payload["messages"])]}


def _claude_blocks(payload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every block, what results hold among them; each is one that its place takes."""
    yield from _blocks_in("system", payload.get("system", []))
    for message in payload["messages"]:
        yield from _blocks_in(message["role"], message["content"])


def _blocks_in(path: str, blocks: object) -> Iterator[dict[str, Any]]:
    assert isinstance(blocks, list), "content is a list of blocks"
    for block in cast("list[dict[str, Any]]", blocks):
        assert block["type"] in CLAUDE_PLACES[path], f"{block['type']!r} in {path}"
        yield block
        if block["type"] == "tool_result":
            yield from _blocks_in("tool_result", block.get("content", []))


def _no_rule(block: Mapping[str, Any]) -> None:
    """Blocks of other types are held by their type alone."""


def _check_claude_text(block: Mapping[str, Any]) -> None:
    assert block["text"].strip(), "a text that is empty or white space"
    assert not block.get("citations"), "citations on a text that is sent"


def _check_claude_call(block: Mapping[str, Any]) -> None:
    assert _matches(r"[a-zA-Z0-9_-]+", block["id"]), f"id {block['id']!r}"
    assert _matches(r"[a-zA-Z0-9_-]{1,128}", block["name"]), f"tool name {block['name']!r}"


def _check_claude_result(block: Mapping[str, Any]) -> None:
    content = block.get("content", [])
    nested = [inner for inner in content if "cache_control" in inner]
    assert not nested, "a cache mark inside a result belongs on the result"
    if block.get("is_error"):
        types = {inner["type"] for inner in content}
        assert types == {"text"}, "an error is told in text, and in nothing else"


def _check_claude_thinking(block: Mapping[str, Any]) -> None:
    assert block["signature"], "thinking without a signature"


CLAUDE_RULES: dict[str, Callable[[Mapping[str, Any]], None]] = {
    "text": _check_claude_text,
    "tool_use": _check_claude_call,
    "tool_result": _check_claude_result,
    "thinking": _check_claude_thinking,
}


def _turns(messages: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Merge neighbours of one role, as the service does."""
    role, blocks = "", list[dict[str, Any]]()
    for message in messages:
        if message["role"] != role and role:
            yield role, blocks
            blocks = []
        role = message["role"]
        blocks = [*blocks, *message["content"]]
    if role:
        yield role, blocks


def _check_claude_order(messages: list[dict[str, Any]], facts: ModelFacts) -> None:
    roles = ["", *(message["role"] for message in messages), "assistant"]
    for before, role, after in zip(roles, roles[1:], roles[2:], strict=False):
        assert role != "system" or facts.instructions, "this model takes no system message here"
        assert role != "system" or before == "user", "a system message stands behind a user turn"
        assert role != "system" or after == "assistant", "a system message stands before an answer"
    last: dict[str, Any] = messages[-1] if messages else {"role": "user"}
    if facts.prefill and last["role"] == "assistant" and last["content"]:
        text = last["content"][-1].get("text", "")
        assert text == text.rstrip(), "white space at the end of a text to be continued"


def _check_claude_pairing(turns: list[tuple[str, list[dict[str, Any]]]]) -> None:
    seen: set[str] = set()
    open_ids: set[str] = set()
    for role, blocks in turns:
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert open_ids == set(results), f"calls and results differ: {open_ids ^ set(results)}"
        assert len(results) == len(open_ids), "a result twice"
        heads = [block["type"] for block in blocks[: len(results)]]
        assert heads == ["tool_result"] * len(results), f"results come first in a {role} turn"
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        open_ids = set(calls)
        assert len(open_ids) == len(calls), "an id twice in one turn"
        assert not open_ids & seen, f"ids used before: {open_ids & seen}"
        seen |= open_ids
    assert not open_ids, f"calls without results: {open_ids}"


def _check_claude_marks(payload: Mapping[str, Any]) -> None:
    blocks = [*payload.get("system", [])]
    blocks += [block for message in payload["messages"] for block in message["content"]]
    ttls = [block["cache_control"].get("ttl", "5m") for block in blocks if "cache_control" in block]
    assert len(ttls) <= MOST_MARKS, "at most four cache marks in a request"
    assert ttls == sorted(ttls), "one hour comes before five minutes"
