"""A request of any provider as atoms: the smallest pieces that can differ by themselves.

Every value of a request becomes an atom, but for the settings. JSON is compared as data.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

SETTINGS = (
    *("model", "modelId", "max_tokens", "stream", "timeout", "extra_headers", "http_options"),
    *("tool_choice", "tool_config", "response_modalities", "include", "inferenceConfig"),
)
"""What promptdsl leaves to the caller."""
KINDS = {
    "name": ("name",),
    "id": ("id", "call_id", "tool_call_id", "tool_use_id", "toolUseId"),
    "arguments": ("arguments", "args", "input"),
    "error": ("is_error", "status"),
    "thinking": ("thinking", "summary"),
    "signature": ("signature", "thought_signature", "encrypted_content"),
    "text": ("text",),
    "file": ("data", "bytes", "url", "image_url", "file_data", "file_url", "file_uri"),
    "type": ("media_type", "mime_type", "format"),
    "title": ("filename", "title", "display_name"),
    "content": ("content", "output", "response"),
    "parts": ("parts",),
    "cache": ("cache_control", "cachePoint"),
    "schema": ("parameters", "input_schema", "parameters_json_schema", "json"),
}
"""The kinds of atoms in their order, each with the keys of all providers that hold it."""

_KIND = {key: kind for kind, keys in KINDS.items() for key in keys}
_ROLES = {"model": "assistant", "system": "instruction", "developer": "instruction"}


class Atom(NamedTuple):
    """One piece of a request: whose it is, its kind, its value, and what it is the first of."""

    role: str
    kind: str
    value: str
    opens: str = ""


def atoms_of(request: Mapping[str, Any]) -> list[Atom]:
    """Return the atoms of a request, in their order."""
    whole = {**request, **(request.get("config") or {}), "config": None}
    tools = whole.pop("tools", None) or (whole.pop("toolConfig", None) or {}).get("tools") or ()
    turns = [whole.pop(key, None) or () for key in ("messages", "contents", "input")]
    standing = [whole.pop(key, None) for key in ("system", "system_instruction", "instructions")]
    rest = {key: value for key, value in whole.items() if key not in SETTINGS and _is_sent(value)}
    atoms = [atom for value in standing if _is_sent(value) for atom in _turn("system", value)]
    atoms += [atom for messages in turns for message in messages for atom in _message(message)]
    for tool in tools:
        atoms += _turn("tools", tool.get("function_declarations", [tool]))
    return atoms + _atoms("request", rest)


def _message(message: Mapping[str, Any]) -> list[Atom]:
    """Return the atoms of a message, or of an item of OpenAI Responses."""
    role = message.get("role", "assistant")
    if "role" not in message or role == "tool":
        return _turn(role, [message])
    keys = ("content", "parts", "tool_calls")
    held = [message.get(key) or () for key in keys]
    parts = [part for value in held for part in ([value] if isinstance(value, str) else value)]
    rest = {key: value for key, value in message.items() if key not in keys}
    return _turn(_ROLES.get(role, role), [*parts, rest])


def _turn(role: str, content: Any, opens: str = "turn") -> list[Atom]:
    """Return the atoms of the parts of a content."""
    content = content["parts"] if isinstance(content, Mapping) else content or []
    parts = [content] if isinstance(content, str) else content
    found = [_atoms(role, {"text": part} if isinstance(part, str) else part) for part in parts]
    atoms = [a._replace(opens="" if n else "part") for part in found for n, a in enumerate(part)]
    return [atom._replace(opens=opens if n == 0 else atom.opens) for n, atom in enumerate(atoms)]


def _atoms(role: str, part: Mapping[str, Any]) -> list[Atom]:
    """Return the atoms of a part of a content, of any provider's form."""
    fields = dict(_fields(part))
    if fields.pop("thought", False):
        fields["thinking"] = fields.pop("text")
    role = "tool" if "content" in fields or (role == "user" and "id" in fields) else role
    order = [kind for kind in KINDS if kind in fields] + sorted(fields.keys() - KINDS.keys())
    return [atom for kind in order for atom in _values(role, kind, fields[kind])]


def _fields(part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values in a part by their kinds, whatever object holds them."""
    for key, value in part.items():
        kind = _KIND.get(key, key)
        if kind in ("arguments", "content", "cache", "schema") or not isinstance(value, Mapping):
            yield from [(kind, value)] if key not in ("type", "role") else []
            continue
        # In a document of Bedrock the name is a file's, in its reasoning the text is a thought.
        own = {"document": {"name": "title"}, "reasoningText": {"text": "thinking"}}.get(key, {})
        yield from _fields({own.get(name, name): value[name] for name in value})


def _values(role: str, kind: str, value: Any) -> Iterator[Atom]:
    if kind in ("content", "parts"):
        yield from _result(value) if kind == "content" else _turn(role, value, "part")
    elif kind == "thinking" and isinstance(value, list):
        yield from (Atom(role, kind, item["text"]) for item in value)
    elif kind in ("text", "arguments") or (kind == "schema" and role == "tool"):
        data = as_data(value)
        texts = data.split("\n\n") if isinstance(data, str) else [dumped(data)]
        yield from (Atom(role, kind.replace("schema", "text"), text) for text in texts)
    elif kind == "schema":
        lines = json.dumps(value, sort_keys=True, indent=1).splitlines()
        yield from (Atom(role, kind, line.strip()) for line in lines)
    elif kind == "file":
        yield from _file(role, value)
    elif kind == "cache":
        yield Atom(role, kind, value.get("ttl", "5m"))
    elif _is_sent(value) and value not in ("success", "completed"):
        text = b64encode(value).decode() if isinstance(value, bytes) else value
        yield Atom(role, kind, text if isinstance(text, str) else dumped(text))


def _result(content: Any) -> Iterator[Atom]:
    """Yield the content of a tool result; Gemini has an object, or a value under one key."""
    if isinstance(content, Mapping):
        key = next(iter(content)) if len(content) == 1 else ""
        is_value = key in ("output", "error", "return_value")
        yield Atom("tool", "key", key if is_value else "object" if content else "empty")
        value = content[key] if is_value else content or ""
        content = value if isinstance(value, str) else dumped(value)
    yield from _turn("tool", content, "part")


def _file(role: str, data: str | bytes) -> Iterator[Atom]:
    if isinstance(data, str) and data.startswith("data:"):
        head, data = data.removeprefix("data:").split(";base64,")
        yield Atom(role, "type", head)
    value = data
    if not isinstance(data, str) or "://" not in data:
        try:
            held = b64decode(data, validate=True) if isinstance(data, str) else data
        except ValueError:
            held = str(data).encode()
        value = held.decode("latin-1")
    yield Atom(role, "file", str(value))


def as_data(text: Any) -> Any:
    """Return the object or list that a text of JSON is, or the text."""
    try:
        data = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text
    return data if isinstance(data, dict | list) else text


def dumped(value: Any) -> str:
    """Return plain data as text, equal for equal data."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=repr)


def _is_sent(value: Any) -> bool:
    """Whether a value is sent; the SDKs have marks for arguments that are left out."""
    is_mark = type(value).__name__ in ("Omit", "NotGiven")
    return not is_mark and value not in (None, "", [], {}, False)
