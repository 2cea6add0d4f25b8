"""How keys and bytes are spelled: keys as the SDK does, ``inline_data``, bytes as base64 text."""

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from promptdsl.providers.shared.checks import items, mapping

_STANDARD = str.maketrans("-_", "+/")
_UPPER = re.compile(r"[A-Z]")
_LOWER = re.compile(r"(?<=[a-z])_([a-z])")


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


def camel(key: str) -> str:
    """Return a key as the service's own JSON spells it: ``anyOf``."""
    return _LOWER.sub(lambda letter: letter[1].upper(), key)


def several(data: Any, place: str) -> Sequence[Any]:
    """Return the items of a list; of a single item, which the SDK takes too, a list of one."""
    if isinstance(data, str | Mapping) or callable(getattr(data, "model_dump", None)):
        return [data]
    return items(data, place)


def base64_text(value: object) -> object:
    """Return bytes, which is what the SDK's objects hold, as text; any other value as it is."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def standard(text: str) -> str:
    """Return base64 in its standard alphabet: the SDK's objects are dumped in the other one."""
    return text.translate(_STANDARD)


def is_base64(text: str) -> bool:
    """Whether the SDK takes a text for bytes: base64 to the letter, in either of its alphabets."""
    text = standard(text)
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode() == text
    except ValueError:
        return False
