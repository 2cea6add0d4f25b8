"""Payloads of OpenAI Responses checked offline: by the SDK's types, then by the rules beyond them.

The union of all items gives a hundred errors for one mistake and lets an assistant's message hold
what the service refuses there, so every item is checked against the one type that it is.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple, cast

from pydantic import ConfigDict, TypeAdapter

from promptdsl import ModelFacts

STRICT = ConfigDict(extra="forbid", strict=True)


def _adapter(type: Any) -> TypeAdapter[Any]:
    return TypeAdapter(list[type], config=STRICT)


class ItemTypes(NamedTuple):
    """The types of the SDK: of an item by its kind, and of the settings."""

    any_item: TypeAdapter[Any]
    items: Mapping[str, TypeAdapter[Any]]
    tools: TypeAdapter[Any]
    choices: TypeAdapter[Any]
    texts: TypeAdapter[Any]


@cache
def _types() -> ItemTypes:
    import openai.types.responses as sdk
    from openai.types.responses import response_create_params, response_input_item_param

    items = {
        "input": sdk.EasyInputMessageParam,
        "output": sdk.ResponseOutputMessageParam,
        "function_call": sdk.ResponseFunctionToolCallParam,
        "function_call_output": response_input_item_param.FunctionCallOutput,
        "custom_tool_call": sdk.ResponseCustomToolCallParam,
        "custom_tool_call_output": sdk.ResponseCustomToolCallOutputParam,
        "reasoning": sdk.ResponseReasoningItemParam,
    }
    return ItemTypes(
        _adapter(sdk.ResponseInputItemParam),
        {kind: _adapter(type) for kind, type in items.items()},
        _adapter(sdk.ToolParam),
        _adapter(response_create_params.ToolChoice),
        _adapter(sdk.ResponseTextConfigParam),
    )


PREFIXES = {"output": "msg_", "reasoning": "rs_", "function_call": "fc_", "custom_tool_call": "ctc"}
PARTS = {
    "user": {"input_text", "input_image", "input_file"},
    "system": {"input_text"},
    "developer": {"input_text"},
    "assistant": {"output_text", "refusal"},
}
IMAGES = tuple(f"data:image/{type};base64," for type in ("png", "jpeg", "webp", "gif"))
RESULTS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}
KNOWN = {"input", "output", "function_call", "custom_tool_call", *RESULTS.values()}
TEXT: dict[str, Any] = {"format": {"type": "text"}}
MARK = "prompt_cache_breakpoint"


def check_openai_responses(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    """Check the arguments of ``responses.create``, model aside.

    Raises :class:`pydantic.ValidationError` for what the types refuse and :class:`AssertionError`
    for what the service is known to refuse beyond them.
    """
    types = _types()
    for item in payload["input"]:
        _check_item_type(item, types)
    for tool in payload.get("tools", ()):
        _check_types(types.tools, tool)
    _check_types(types.choices, payload.get("tool_choice", "auto"))
    _check_types(types.texts, payload.get("text", TEXT))
    openai_responses_rules(payload, facts)


def openai_responses_rules(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    """Check what the service is known to refuse beyond the types; this needs no SDK."""
    assert set(payload) <= {"input", "tools", "tool_choice", "text"}, f"keys {set(payload)}"
    json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
    items = payload["input"]
    for item in items:
        _check_item(item)
    _check_order([_kind(item) for item in items])
    _check_pairing(items)
    ids = [item["id"] for item in items if "id" in item]
    assert len(ids) == len(set(ids)), "an item's id twice"
    marks = [part for item in items for part in _parts(item) if MARK in part]
    assert len(marks) <= (4 if facts.cache_marks else 0), "too many cache marks"
    _check_settings(payload, facts)


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
    _walk(adapter.validate_python([value]))


def _kind(item: Mapping[str, Any]) -> str:
    if item.get("type", "message") != "message":
        return cast("str", item["type"])
    return "output" if item["role"] == "assistant" else "input"


def _parts(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    content: object = item.get("content", item.get("output"))
    return cast("list[dict[str, Any]]", content) if isinstance(content, list) else []


def _check_item_type(item: Mapping[str, Any], types: ItemTypes) -> None:
    kind = _kind(item)
    text = kind == "output" and isinstance(item["content"], str)
    # The service takes an answer that it did not make, without an id; the type demands one.
    unnamed = {"id": "msg_", "status": "completed", "type": "message"} if kind == "output" else {}
    adapter = types.items["input"] if text else types.items.get(kind, types.any_item)
    _check_types(adapter, item if text else {**unnamed, **item})


def _check_item(item: Mapping[str, Any]) -> None:
    kind = _kind(item)
    prefix = PREFIXES.get(kind, "")
    assert str(item.get("id", prefix)).startswith(prefix), f"id {item.get('id')!r}"
    if "role" in item:
        assert item["content"], "a message without content"
    if kind in RESULTS:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", item["name"]), f"name {item['name']!r}"
    assert 1 <= len(item.get("call_id", "x")) <= 64, f"call_id {item.get('call_id')!r}"
    role = item.get("role", "user")
    for part in _parts(item) if kind in KNOWN else []:
        assert part["type"] in PARTS[role], f"{part['type']} in {role}"
        _check_part(part)


def _check_part(part: Mapping[str, Any]) -> None:
    if part["type"] == "input_text":
        assert part["text"], "an empty text"
    if part["type"] == "input_image":
        url = part.get("image_url", "https://")
        assert ("file_id" in part) != ("image_url" in part), "an image has an address or an id"
        assert url.lower().startswith(("https://", "http://", *IMAGES)), f"address {url[:40]!r}"
    if part["type"] == "input_file":
        sources = [key for key in ("file_data", "file_url", "file_id") if key in part]
        assert len(sources) == 1, f"a file has one of {sources}"
        assert ("file_data" in part) == ("filename" in part), "data has a filename"
        assert part.get("file_data", "data:").startswith("data:"), "file_data is a data URL"
        assert part.get("file_url", "http").lower().startswith("http"), "file_url is fetched"


def _check_order(kinds: list[str]) -> None:
    for kind, following in zip(kinds, [*kinds, "input"][1:], strict=True):
        produced = following != "input" and following not in RESULTS.values()
        assert kind != "reasoning" or produced, f"{following} right behind reasoning"


def _check_pairing(items: Iterable[Mapping[str, Any]]) -> None:
    open_calls: dict[str, str] = {}
    for item in items:
        kind = _kind(item)
        if kind in RESULTS:
            assert item["call_id"] not in open_calls, "a call's id twice before its result"
            open_calls[item["call_id"]] = RESULTS[kind]
        elif kind in RESULTS.values():
            assert open_calls.pop(item["call_id"], None) == kind, (
                "a result without its call before it"
            )
    assert not open_calls, f"calls without results: {open_calls}"


def _check_settings(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    tools = payload.get("tools", [])
    assert "tools" not in payload or tools, "an empty list of tools is left out"
    names = [tool["name"] for tool in tools if tool["type"] in ("function", "custom")]
    assert len(names) == len(set(names)), "two tools of one name"
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names), f"names {names}"
    choice = payload.get("tool_choice", "auto")
    assert tools or "tool_choice" not in payload, "a choice without tools"
    assert choice in ("auto", "none") or facts.forced_tools, "this model is not forced to call"
    assert isinstance(choice, str) or choice.get("name", None) in (None, *names), "no such tool"
    text = payload.get("text", TEXT)
    assert "text" not in payload or facts.schema_output, "this model takes no schema"
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", text["format"].get("name", "x")), "a form's name"
