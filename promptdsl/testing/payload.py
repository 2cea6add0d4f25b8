"""The payload of a prompt in a snapshot: JSON, with placeholders for values that change."""

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Protocol, TypeAlias, cast

from promptdsl import Rendered
from promptdsl.comparing.shown_texts import Scrubber, ShownTexts

Path: TypeAlias = "tuple[tuple[str | int, type[object]], ...]"

# The keys of the strings that are scrubbed, in the payloads of all providers.
TEXTS = frozenset({
    *("cited_text", "content", "description", "instructions", "output", "prompt", "reasoning"),
    *("reasoning_content", "refusal", "system", "system_instruction", "text", "thinking"),
    *("const", "default", "enum"),  # of a schema
})  # fmt: skip
IDS = frozenset({"call_id", "id", "toolUseId", "tool_call_id", "tool_use_id"})
FILES = frozenset({
    *("display_name", "file_id", "file_uri", "file_url", "filename", "image_url", "title", "uri"),
    "url",
})  # fmt: skip
DATA = frozenset({"args", "arguments", "input", "json", "response"})
"""The keys of the arguments and results of calls, in which all strings are scrubbed."""


class Matcher(Protocol):
    """A matcher of syrupy, such as one that ``path_type`` returns."""

    def __call__(self, *, data: Any, path: Path) -> Any:  # Any: a value of any type in a payload
        """Return the value for the snapshot; ``path`` are keys and indexes."""


def payload_text(
    rendered: Rendered, scrubbers: Mapping[str, Scrubber], matcher: Matcher | None
) -> str:
    """Return the payload as JSON, its keys in the order in which they are sent.

    Volatile values are placeholders. Scrubbers replace what they match in texts, in arguments and
    ids of calls, and in file names. A matcher gets each value before the scrubbers.
    """
    texts = ShownTexts(scrubbers)
    masked = rendered.masked(texts.volatile)
    value = _Payload(texts, matcher).value(masked._payload(), ())
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return f"{text}\n".encode("utf-8", "backslashreplace").decode()


class _Payload:
    """Copies the values of a payload, with placeholders for those that are scrubbed."""

    def __init__(self, texts: ShownTexts, matcher: Matcher | None) -> None:
        self.texts = texts
        self.matcher = matcher
        self.volatile = re.compile(f"({'|'.join(map(re.escape, texts.signs)) or '(?!)'})")

    def value(  # Any: a value of any type in a payload
        self, value: Any, path: Path, *, is_data: bool = False
    ) -> Any:
        """Return a copy of a value; in data, as arguments of a call, all strings are scrubbed."""
        if self.matcher:
            value = self.matcher(data=value, path=path)
        keys = ["", "", *(key for key, _ in path if isinstance(key, str))]
        if isinstance(value, str):
            return self.text(value) if is_data or _is_scrubbed(value, *keys[-2:]) else value
        if isinstance(value, dict):
            # A list is the input of Responses. A schema and a property of this name are not data.
            is_data_field = bool(path) and path[-1][0] in DATA
            is_data_field &= keys[-2] not in ("inputSchema", "properties")
            items = cast("dict[str, object]", value).items()  # a payload is JSON
            return {
                key: self.value(
                    inner, (*path, (key, type(inner))), is_data=is_data or is_data_field
                )
                for key, inner in items
            }
        if isinstance(value, list | tuple):
            values = cast("list[object]", value)  # a payload is JSON
            return [
                self.value(inner, (*path, (index, type(inner))), is_data=is_data)
                for index, inner in enumerate(values)
            ]
        if isinstance(value, bytes):
            return f"{len(value)} bytes, sha256:{sha256(value).hexdigest()[:12]}"
        return value if isinstance(value, int | float | None) else repr(value)

    def text(self, text: str) -> str:
        """Return a scrubbed text; placeholders of volatile values in it stay."""
        pieces = self.volatile.split(text)
        for index in range(0, len(pieces), 2):
            pieces[index] = "".join([piece for _, piece in self.texts.scrubbed(pieces[index])])
        return "".join(pieces)


def _is_scrubbed(text: str, around: str, key: str) -> bool:
    """Return whether a string may differ between runs, by its key and the key around it."""
    if key in FILES or (around, key) == ("document", "name"):
        return text[:5].lower() != "data:"
    return key in TEXTS or key in IDS or key in DATA
