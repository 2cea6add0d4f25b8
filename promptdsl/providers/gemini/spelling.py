"""The spelling of keys and bytes: keys such as ``inline_data``, and bytes as base64 text."""

import base64
import re
from collections.abc import Mapping, Sequence

from promptdsl.foundation.json import JsonValue
from promptdsl.providers.shared.checks import items, mapping

_STANDARD = str.maketrans("-_", "+/")
_UPPER = re.compile(r"[A-Z]")


def fields_of(data: object) -> dict[str, JsonValue]:
    """Return a mapping with the keys of the SDK, without ``None``; raises like ``mapping``."""
    fields: dict[str, JsonValue] = {}
    for key, value in mapping(data).items():
        if value is not None:
            # A key of a recording may be any object.
            is_camel = type(key) is str and not key.islower()
            name = _UPPER.sub(lambda letter: f"_{letter[0].lower()}", key) if is_camel else key
            fields[name] = value
    return fields


def camel(name: str) -> str:
    """Return a key of the SDK in the spelling of the service."""
    first, *words = name.split("_")
    return first + "".join(map(str.capitalize, words))


def items_or_one(data: object, path: str) -> Sequence[object]:
    """Return the items of a list. A single item, which the SDK takes too, becomes a list."""
    if isinstance(data, str | Mapping) or callable(getattr(data, "model_dump", None)):
        return [data]  # pyright: ignore[reportUnknownVariableType]
    return items(data, path)


def base64_text(value: JsonValue) -> JsonValue:
    """Return bytes of the SDK's objects as base64 text, and any other value unchanged."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def standard_base64(text: str) -> str:
    """Return base64 in the standard alphabet. Dumps of the SDK's objects have the other one."""
    return text.translate(_STANDARD)


def is_base64(text: str) -> bool:
    """Return whether the SDK takes a text as bytes: exact base64, in one of its alphabets."""
    text = standard_base64(text)
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode() == text
    except ValueError:
        return False
