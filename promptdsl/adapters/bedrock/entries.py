"""Bytes on the wire, which are base64 text in blocks."""

import base64

from promptdsl.errors import DataError


def encoded(data: object, key: str) -> str:
    """Return bytes as base64 text, and text as it is; :class:`DataError` for anything else."""
    if isinstance(data, bytes | bytearray):
        return base64.b64encode(data).decode("ascii")
    if not isinstance(data, str):
        raise DataError(f"{key!r} is bytes or their base64 text, not {type(data).__name__}")
    return data


def decoded(text: str) -> bytes | None:
    """Return the bytes of a base64 text, ``None`` for another text."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None
