"""The text of marks for blocks that are no text, and of schemas, with a line for each property."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, cast

from promptdsl import AudioBlock, DocumentBlock, ImageBlock, ReasoningBlock, VideoBlock
from promptdsl.comparing.shown_texts import ShownTexts


def as_one_word(text: str) -> str:
    """Return a text as one word: as a JSON string if it has blanks or could be misread."""
    plain = text and not text.startswith('"') and not any(map(str.isspace, text))
    return text if plain and not text.endswith((",", ":")) else json_text(text)


def cache_mark(cache: str) -> str:
    """Return the mark of a position up to which a provider caches."""
    return "─⚑ cache" if cache == "default" else f"─⚑ cache {cache}"


def attachment(
    block: ImageBlock | AudioBlock | DocumentBlock | VideoBlock, texts: ShownTexts
) -> str:
    """Return the words for an attachment: its type, size and digest or its address; its title."""
    source = block.source
    words: list[str] = [block.type, *filter(None, [block.media_type])]
    data: bytes | None = None
    if source.kind == "base64" or source.value[:5].lower() == "data:":
        try:
            data = base64.b64decode(source.value, validate=True)
        except ValueError:
            data = source.value.encode(errors="surrogatepass")
    if data is None:
        words.append(source.kind)
        address = [texts.name(as_one_word(source.value))]
    else:
        size = block.pixels
        words += [f"{size[0]}x{size[1]}"] if size else []
        words += [f"{len(data):,} B", f"sha256:{_digest(data)}"]
        address = []
    title = [] if block.title is None else ["titled", texts.name(as_one_word(block.title))]
    detail = [] if block.detail is None else ["detail", texts.line(as_one_word(block.detail))]
    return " ".join([texts.line(" ".join(words)), *address, *title, *detail])


def reasoning(block: ReasoningBlock, texts: ShownTexts) -> str:
    """Return the words for reasoning: its origin, and digests of what only its provider reads."""
    secrets = (("signature", block.signature), ("encrypted", block.encrypted))
    words = ["reasoning", *([] if block.origin is None else ["of", as_one_word(block.origin)])]
    for name, value in secrets:
        if value is not None:
            words += [name, f"sha256:{_digest(value.encode(errors='surrogatepass'))}"]
    return texts.line(" ".join(words))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def schema_text(schema: object, texts: ShownTexts) -> str:
    r"""Return a JSON schema as text: a line for each property, then the other keys as JSON.

    >>> city = {"type": "string", "description": "A city.\nBy name."}
    >>> print(schema_text({"type": "object", "properties": {"city": city}}, ShownTexts({})))
    city (string): A city.⟦LF⟧By name.
    """
    keys: dict[str, Any] = dict(cast("Mapping[str, object]", schema))  # Any: JSON data
    if not isinstance(keys.get("properties"), dict) or keys.get("type") != "object":
        return texts.data(json_text(keys))
    properties = cast("Mapping[str, object]", keys["properties"])
    required: list[object] = keys.get("required", [])
    needed = [name for name in properties if name in required]
    if "required" in keys and (not needed or needed != list(required)):
        needed = []  # empty or in another order: the list is kept with the other keys
    else:
        keys.pop("required", None)
    del keys["type"], keys["properties"]
    lines: list[str] = []
    for name, value in properties.items():
        kind, more, description = _property(value)
        words = [kind, "required"] if name in needed else [kind]
        shown = name if _NAME.fullmatch(name) else json_text(name)
        typed = texts.line(f"{shown} ({', '.join(words)})")
        lines.append(typed + texts.data(more) + texts.name(description))
    lines += [texts.data(json_text(keys))] if keys or not lines else []
    return "\n".join(lines)


def _property(schema: object) -> tuple[str, str, str]:
    """Return the type of a property, the other keys of its schema, and its description."""
    if not isinstance(schema, dict):
        return "schema", f" {json_text(schema)}", ""
    rest = dict(cast("Mapping[str, object]", schema))  # Any: JSON data
    description = rest.get("description")
    is_described = isinstance(description, str)
    if is_described:
        del rest["description"]
    kind = " or ".join(_types(rest.get("type")))
    if kind:
        del rest["type"]
    more = f" {json_text(rest)}" if rest else ""
    return kind or "any", more, f": {description}" if is_described else ""


def _types(kind: object) -> list[str]:
    """Return the names of types; an empty list unless they are one name, or a list of several."""
    if isinstance(kind, list):
        kinds = cast("list[object]", kind)
        names = [name for name in kinds if isinstance(name, str) and name in _TYPES]
        return names if 1 < len(names) == len(kinds) else []
    return [kind] if isinstance(kind, str) and kind in _TYPES else []


def json_text(value: object) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)
