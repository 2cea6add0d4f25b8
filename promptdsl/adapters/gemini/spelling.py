"""How keys and bytes are spelled: keys as the SDK does, ``inline_data``, bytes as base64 text."""

import base64
import re
from typing import Any

from promptdsl.wire.entries import mapping

_STANDARD = str.maketrans("-_", "+/")
_UPPER = re.compile(r"[A-Z]")


def entries_of(data: object) -> dict[str, Any]:
    """Return a mapping under the SDK's keys, without what is ``None``.

    Raises :class:`DataError` for what is no mapping.
    """
    found = mapping(data).items()
    return {_snake(key): value for key, value in found if value is not None}


def _snake(key: Any) -> Any:
    if not isinstance(key, str) or key.islower():
        return key
    return _UPPER.sub(lambda letter: f"_{letter[0].lower()}", key)


def base64_text(value: object) -> object:
    """Return bytes, which is what the SDK's objects hold, as text; any other value as it is."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def is_base64(text: str) -> bool:
    """Whether the SDK takes a text for bytes: base64 to the letter, in either of its alphabets."""
    text = text.translate(_STANDARD)
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode() == text
    except ValueError:
        return False
