"""The payload of a prompt as a snapshot keeps it: JSON, with signs for values that change."""

import json
import re
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from itertools import groupby
from typing import Any, Protocol, TypeAlias, cast

from promptdsl import Rendered
from promptdsl.comparing.canonical import Scrubber
from promptdsl.comparing.escapes import alias

Path: TypeAlias = "tuple[tuple[str | int, type[object]], ...]"


class Matcher(Protocol):
    """A matcher of syrupy, such as one that ``path_type`` returns."""

    def __call__(self, *, data: Any, path: Path) -> Any:  # Any: a value of any type in a payload
        """Return what stands in the snapshot for a value at a path of keys and indexes."""


def payload_text(
    rendered: Rendered, scrubbers: Mapping[str, Scrubber], matcher: Matcher | None
) -> str:
    """Return the payload as JSON, its keys in the order in which they are sent.

    A text with volatile values has their labels instead. Scrubbers replace what they match in any
    string. A matcher gets each value before that.
    """
    payload = _Payload(_without_volatiles(rendered), scrubbers, matcher)
    text = json.dumps(payload.value(rendered.payload(), ()), indent=2, ensure_ascii=False)
    return f"{text}\n".encode("utf-8", "backslashreplace").decode()


class _Payload:
    """Copies the values of a payload, with signs for those that change."""

    def __init__(
        self, texts: Mapping[str, str], scrubbers: Mapping[str, Scrubber], matcher: Matcher | None
    ) -> None:
        self.texts = texts
        self.scrubbers = scrubbers
        self.matcher = matcher
        self.numbers: dict[str, dict[str, int]] = {}

    def value(self, value: Any, path: Path) -> Any:  # Any: a value of any type in a payload
        if self.matcher:
            value = self.matcher(data=value, path=path)
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            items = cast("dict[str, object]", value).items()  # a payload is JSON
            return {key: self.value(it, (*path, (key, type(it)))) for key, it in items}
        if isinstance(value, list | tuple):
            values = cast("list[object]", value)  # a payload is JSON
            return [self.value(it, (*path, (n, type(it)))) for n, it in enumerate(values)]
        if isinstance(value, bytes):
            return f"{len(value)} bytes, sha256:{sha256(value).hexdigest()[:12]}"
        return value if isinstance(value, int | float | None) else repr(value)

    def text(self, text: str) -> str:
        for volatile, signed in self.texts.items():
            text = text.replace(volatile, signed)
        for name, scrubber in self.scrubbers.items():
            sign = partial(self.sign, name)
            if isinstance(scrubber, str | re.Pattern):
                text = re.sub(scrubber, sign, text)
                continue
            values = sorted(filter(None, scrubber(text)), key=len, reverse=True)
            if values:
                text = re.sub("|".join(map(re.escape, values)), sign, text)
        return text

    def sign(self, name: str, match: "re.Match[str]") -> str:
        numbers = self.numbers.setdefault(name, {})
        return alias(name, numbers.setdefault(match[0], len(numbers) + 1)) if match[0] else ""


def _without_volatiles(rendered: Rendered) -> dict[str, str]:
    """Return the texts with volatile values, and each with the labels instead."""
    blocks = groupby(rendered.spans(), lambda span: (span.message, span.block, span.inner))
    texts: dict[str, str] = {}
    for _, group in blocks:
        spans = list(group)
        if any(span.kind == "volatile" for span in spans):
            signed = [
                alias(span.label or "value") if span.kind == "volatile" else span.text
                for span in spans
            ]
            texts["".join(span.text for span in spans)] = "".join(signed)
    return texts
