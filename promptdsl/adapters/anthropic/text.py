"""Text that has a UTF-8 form, as all that is sent must."""

import json
from typing import Any

from promptdsl.encoding import whole
from promptdsl.json_text import read_json, write_json


def utf8(text: str) -> str:
    """Return a text with U+FFFD for lone surrogates."""
    return whole(text)[0]


def json_copy(value: object) -> Any:
    """Return a copy of a JSON value, with U+FFFD for lone surrogates in its strings.

    Raises :class:`DataError` for what is no JSON value.
    """
    write_json(value)
    return read_json(utf8(json.dumps(value, ensure_ascii=False)))
