"""Requests in their normal form, and the places where two of them differ.

A reader and a writer together may change a request in the ways of this list, and in no other:
a string and a list of one text; absent and ``null``, ``[]``, an empty description, ``is_error:
false``, a status ``success`` or ``completed``, ``type: "message"``; the role of a system
instruction; the spelling and the base64 alphabet of Gemini.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

CONTENT_KEYS: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("system", "messages", "tools", "tool_choice", "output_config.format"),
    "bedrock": ("system", "messages", "toolConfig", "outputConfig"),
    "gemini": (
        *("contents", "system_instruction", "tools", "tool_config"),
        *("response_mime_type", "response_json_schema", "response_schema"),
    ),
    "openai": ("messages", "tools", "tool_choice", "response_format"),
    "openai_compatible": ("messages", "tools", "tool_choice", "response_format"),
    "openai_responses": ("instructions", "input", "tools", "tool_choice", "text.format"),
}
"""The keys of a request that are content; the others are settings of the caller."""

_TEXT_TYPES = {"text": "text", "input_text": "text", "output_text": "text"}
_ABSENT: tuple[tuple[str, object], ...] = (
    *(("description", ""), ("is_error", False), ("status", "success"), ("status", "completed")),
    ("type", "message"),
)
_CAMEL = re.compile(r"(?<=[a-z0-9])[A-Z]")
_SCHEMAS = ("parameters", "parameters_json_schema", "response_json_schema", "response_schema")
DATA = frozenset({*_SCHEMAS, "input", "args", "response", "json", "schema", "input_schema"})
"""The keys of data that is the user's own: nothing in it is spelled or left out."""


def content_of(provider: str, body: Mapping[str, Any], *, stored: bool = False) -> dict[str, Any]:
    """Return the content of a request in its normal form, by key.

    Where a conversation is ``stored`` at the server, instructions are not those of an item.
    """
    if provider == "gemini":
        body = _snake(body)
        inner = {**body.get("generation_config", {}), **body.get("config", {})}
        body = {**body, **inner}
        if isinstance(body.get("tools"), Mapping):
            body["tools"] = [body["tools"]]
    content: dict[str, Any] = {}
    for path in CONTENT_KEYS[provider]:
        value: Any = body
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value not in (None, [], {}):
            content[path] = _normal(value, path)
    if provider == "openai_responses":
        if isinstance(body["input"], str):
            content["input"] = [{"role": "user", "content": content["input"]}]
        if "instructions" in content and not stored:
            first = {"role": "system", "content": content.pop("instructions")}
            content["input"] = [first, *content["input"]]
    if provider == "gemini" and isinstance(system := content.get("system_instruction"), Mapping):
        content["system_instruction"] = system["parts"]
    return content


def spelled(key: str) -> str:
    """Return a key of Gemini as its SDK spells it."""
    return _CAMEL.sub(lambda letter: f"_{letter[0]}", key).lower()


def _snake(value: Any) -> Any:
    """Return data of Gemini in the spelling of its SDK."""
    if isinstance(value, list):
        return [_snake(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    entries: dict[str, Any] = {}
    for key, item in value.items():
        name = spelled(key)
        entries[name] = item if name in DATA else _snake(item)
    return entries


def _normal(value: Any, key: str = "") -> Any:
    if isinstance(value, bytes):
        from base64 import b64encode

        return b64encode(value).decode()
    if isinstance(value, list):
        return [_normal(item) for item in value]
    if isinstance(value, str) and key in ("content", "system", "instructions", "input", "output"):
        return [{"text": value}] if value else []
    if not isinstance(value, Mapping):
        alphabet = str.maketrans("-_", "+/")
        is_base64 = key in ("thought_signature", "data") and isinstance(value, str)
        return value.translate(alphabet) if is_base64 else value
    if value.get("type") in _TEXT_TYPES and "text" in value:
        value = {name: item for name, item in value.items() if name != "type"}
    entries: dict[str, Any] = {}
    for name, item in value.items():
        if name in DATA and isinstance(item, Mapping):
            entries[name] = item
            continue
        normal = _normal(item, name)
        if not (normal in (None, []) or (name, normal) in _ABSENT):
            entries[name] = normal
    return entries


def differences(left: Any, right: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the places where two values differ, each with both values, ``...`` for none."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        names = dict.fromkeys([*left, *right])
        is_data = path.rpartition(".")[2] in DATA
        equal = False
        for name in names:
            pair = left.get(name, ...), right.get(name, ...)
            inner = [*differences(*pair, f"{path}.{name}".removeprefix("."))]
            equal = equal or bool(inner)
            yield from inner
        if not equal and _in_data(path, is_data) and [*left] != [*right]:
            yield path, [*left], [*right]
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, pair in enumerate(zip(left, right, strict=True)):
            yield from differences(*pair, f"{path}[{index}]")
    elif left != right or type(left) is not type(right):
        yield path, left, right


def _in_data(path: str, is_data: bool) -> bool:
    return is_data or any(f".{name}." in f".{path}." for name in DATA)
