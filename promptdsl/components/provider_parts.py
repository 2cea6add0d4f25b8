"""The advice for the part of a provider's request that was given as content of a component.

This module is imported with the error. What the parts are is in the records of the providers.
"""

from collections.abc import Mapping
from typing import NamedTuple

from promptdsl.config.wire import CALL, TEXT, Part, Wire
from promptdsl.config.wires import provider_formats
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.remedies import is_reply
from promptdsl.messages.blocks import CLASSES


class ProviderPart(NamedTuple):
    """A part as a provider writes it: the name of its type, and the advice for its author."""

    description: str
    fix: str


def provider_part(value: object) -> ProviderPart | None:
    """Return what the part of a provider's request is, ``None`` for any other value."""
    if not is_mapping(value) or is_reply(value):
        return None
    for wire in provider_formats():
        name = _keyed_name(value, wire) if wire.keyed else _typed_name(value, wire)
        if name is not None:
            fix = f"write {_instead(name, wire.parts[name], value)}"
            history = f"a recorded message is History.from_{wire.name}([message])"
            return ProviderPart(f"a part {name!r} of {wire.name}", f"{fix}; {history}")
    return None


def _typed_name(value: Mapping[str, object], wire: Wire) -> str | None:
    """Return the type of a part, if a provider has it and it is not that of a block."""
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in wire.parts or kind in CLASSES:
        return None
    function = value.get("function")
    is_definition = is_mapping(function) and "arguments" not in function
    return None if is_definition else kind


def _keyed_name(value: Mapping[str, object], wire: Wire) -> str | None:
    """Return the type of a part whose only key is its type, if a provider has it."""
    if len(value) != 1:
        return None
    (key,) = value
    name = key if key in wire.parts else _with_underscores(str(key))
    if name not in wire.parts:
        return None
    is_text = wire.parts[name] == TEXT
    is_part = isinstance(value[key], str) if is_text else is_mapping(value[key])
    return name if is_part else None


def _with_underscores(name: str) -> str:
    """Return a name in the spelling of Python: SDKs take ``inlineData`` and ``inline_data``."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _instead(name: str, part: Part, value: Mapping[str, object]) -> str:
    """Return what an author writes instead of a part."""
    name = _with_underscores(name)
    if part.media is not None:
        component = _media_component(part.media, next(iter(value.values())))
        return f"{component}.from_url(url), {component}.from_base64(data) or .from_file_id(id)"
    if part.texts == CALL.texts:
        return "ToolUse(name, input, id=...) in an Assistant"
    if name.endswith(("_output", "_response", "_result")):
        return "ToolMessage(id, text)"
    if name == "cache_point":
        return "CacheBreakpoint(), or cache=True on a turn"
    if "reasoning" in name or "thinking" in name:
        return "Reasoning(text, signature=...) in an Assistant"
    return "the text itself"


def _media_component(kind: str, content: object) -> str:
    """Return the component of an attachment; Gemini's parts have its media type in them."""
    if is_mapping(content):
        media_type = content.get("mime_type", content.get("mimeType"))
        top = str(media_type).partition("/")[0]
        if top in ("image", "audio", "video"):
            kind = top
    return kind.capitalize()
