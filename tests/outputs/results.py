"""What is compared of a prompt: all that is sent and told of it, each as one text."""

import base64
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import attrs

from promptdsl import *
from tests.internals import prompt_file, serialise
from tests.renders import lossy_payload, reported

ROOT = Path(__file__).parents[2]
CRASH = "crash: "
"""How the text of an error begins that the package does not mean to raise."""
Outputs = Mapping[str, str]
"""The outputs of a prompt by their name."""


def outputs_of(make: Callable[[], Rendered]) -> tuple[Outputs, Rendered | None]:
    """Return what a prompt comes to, and its result: its error is an output, and has no result."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            rendered = make()
        except (NameError, SyntaxError):  # of the code that was drawn
            raise
        except Exception as error:
            return {"error": _error(error)}, None
        outputs = {name: _output(write, rendered) for name, write in OUTPUTS.items()}
    told = [f"{it.category.__name__} {it.filename}:{it.lineno} {it.message}" for it in warned]
    return {**outputs, "warnings": _masked("\n".join(told))}, rendered


def digests(outputs: Outputs) -> dict[str, str]:
    """Return a short digest of each output."""
    return {
        name: sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        for name, text in outputs.items()
    }


def _output(write: Callable[[Rendered], object], rendered: Rendered) -> str:
    try:
        value = write(rendered)
    except Exception as error:
        return _error(error)
    return _masked(value if isinstance(value, str) else _json(value))


def _error(error: Exception) -> str:
    name = type(error).__name__
    return _masked(f"{name if isinstance(error, PromptError) else CRASH + name}: {error}")


def _masked(text: str) -> str:
    """Return a text without the folders of this machine, and without addresses in memory."""
    folders = {str(ROOT): "<root>", sys.prefix: "<python>", sys.base_prefix: "<python>"}
    for folder, name in sorted(folders.items(), key=lambda it: -len(it[0])):
        text = text.replace(folder, name)
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def _json(value: object) -> str:
    return json.dumps(_plain(value), indent=1, sort_keys=False, allow_nan=True)


def _plain(value: Any) -> Any:
    """Return a value as JSON: public fields of objects, bytes in base64."""
    plain: Any = value
    match value:
        case Message():
            sources = _plain(value.sources)
            plain = {"message": _plain(value.to_dict()), "sources": sources}
        case None | str() | int() | float():
            pass
        case bytes():
            plain = base64.b64encode(value).decode()
        case Mapping():
            plain = {str(key): _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            plain = [_plain(inner) for inner in value]
        case Source():
            plain = str(value)
        case _ if attrs.has(type(value)):
            plain = dict(_fields(value))
        case _:
            plain = str(value)
    return plain


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    for field in attrs.fields(type(value)):
        if not field.name.startswith("_"):
            yield field.name, _plain(getattr(value, field.name))


def _masked_volatile(rendered: Rendered) -> object:
    masked = rendered.masked(lambda span: f"<{span.label}>")
    return [masked.messages, masked.spans(), masked.tokens.total]


def _payload(rendered: Rendered) -> object:
    if rendered.facts.provider is None:
        return lossy_payload(rendered.for_target("anthropic"))
    return lossy_payload(rendered)


def _tokens(rendered: Rendered) -> object:
    tokens = rendered.tokens
    parts = [*tokens.parts], tokens.messages, tokens.spans, tokens.sections, tokens.tools
    by_line = {str(line): count for line, count in tokens.sources.items()}
    return [tokens.total, tokens.typical, tokens.label, str(tokens), *parts, by_line]


OUTPUTS: Mapping[str, Callable[[Rendered], object]] = {
    "messages": lambda rendered: rendered.messages,
    "payload": _payload,
    "losses": reported,
    "spans": lambda rendered: rendered.spans(),
    "places": lambda rendered: rendered.locations(),
    "dropped": lambda rendered: rendered.dropped,
    "tokens": _tokens,
    "outline": lambda rendered: rendered.outline(),
    "text": str,
    "snapshot": lambda rendered: serialise(prompt_file(rendered)),
    "record": lambda rendered: rendered.record({"a": 1}).to_json(),
    "record without content": lambda rendered: rendered.record(content=False).to_json(),
    "html": lambda rendered: rendered._repr_html_(),
    "markdown": lambda rendered: rendered._repr_markdown_(),
    "telemetry": lambda rendered: rendered.to_otel(content=True),
    "settings": lambda rendered: rendered.explain(),
    "prefix": lambda rendered: rendered.prefix(),
    "masked": _masked_volatile,
}
"""What is written of a prompt. The places of losses and spans have files and lines."""
