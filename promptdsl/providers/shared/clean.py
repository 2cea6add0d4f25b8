"""Texts, JSON, names and attachments as they can be sent: lone surrogates become U+FFFD."""

import base64
import json
import re
from typing import TypeVar, cast

from promptdsl.foundation.escaping import attribute
from promptdsl.foundation.guards import guard
from promptdsl.foundation.json import read_json, write_json
from promptdsl.foundation.unicode import is_blank, is_valid_unicode, valid_unicode
from promptdsl.messages import ToolUseBlock
from promptdsl.messages.media.source import MediaSource, data_url, plain_type
from promptdsl.providers.shared.request import Location, Param, Request

V = TypeVar("V")

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
"""A surrogate in JSON text, plain or escaped; it may be lone, or one of a pair."""

MISFIT = re.compile(r"[^a-zA-Z0-9_-]")
"""A character that most providers refuse in names and ids."""

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""A control character, or the end of a line."""

_NO_FILE = re.compile(rf"[/\\]|{CONTROL.pattern}")
"""The characters that a file name cannot have: separators of paths, control characters."""

_LONGEST_FILE = 255
"""The longest name of a file on most systems."""

_OFFICE = "application/vnd.openxmlformats-officedocument."
_SUFFIXES = {
    "text/plain": "txt",
    "text/markdown": "md",
    "text/csv": "csv",
    "text/html": "html",
    "application/json": "json",
    "application/rtf": "rtf",
    "application/msword": "doc",
    "application/vnd.ms-excel": "xls",
    _OFFICE + "wordprocessingml.document": "docx",
    _OFFICE + "spreadsheetml.sheet": "xlsx",
    _OFFICE + "presentationml.presentation": "pptx",
}

TEXT_TYPE = re.compile(
    r"text/.*|application/(.*\+(json|xml|yaml)|(x-)?(json[a-z0-9]*|ndjson|xml|yaml|toml|sql|sh"
    r"|javascript|typescript|python))"
)
"""The media types of texts, code among them (OpenAI's documentation of file inputs)."""


def utf8(text: str) -> str:
    """Return a text with U+FFFD for lone surrogates, which UTF-8 cannot encode."""
    return valid_unicode(text)[0]


def mended(name: str, longest: int, misfit: re.Pattern[str] = MISFIT) -> str:
    """Return the first ``longest`` characters of a name or an id, with ``_`` for refused ones."""
    return (misfit.sub("_", name) or "_")[:longest]


def json_copy(value: V) -> V:
    """Return a copy of a JSON value, with U+FFFD for lone surrogates; raises :class:`DataError`."""
    # The data of an author has at most 200 levels. A payload adds a few levels around it.
    text = write_json(value, wrapped=10)
    if "\\ud" in text:  # an escaped surrogate, or a text that looks like one
        text = utf8(json.dumps(value, ensure_ascii=False))
    return cast("V", json.loads(text))


def arguments_of(request: Request, location: Location, block: ToolUseBlock) -> Param:
    """Return the arguments of a call as an object. Any other text is put into one, with a hint."""
    text = block.arguments
    arguments = read_json(text if has_arguments(request, location, block) else "{}")
    if not isinstance(arguments, dict):
        why = "they are not a JSON object, so they are sent as text in one"
        request.hint(location, "mended_arguments", "arguments of a call", why)
        return {"arguments": utf8(text)}
    if ("\\u" in text or not text.isascii()) and _SURROGATE.search(text):
        copied = json_copy(arguments)
        if copied != arguments:
            request.lose_surrogate(location, f"arguments of {block.name}")
        return copied
    return arguments


def has_arguments(request: Request, location: Location, block: ToolUseBlock) -> bool:
    """Return whether a call has a text of arguments. A blank one is sent as ``{}``, with a hint.

    Models write blank arguments for a tool without parameters, and servers fail to read them in the
    next request (vllm-project/vllm#19419). Pydantic AI 2.68 sends ``{}``, too.
    """
    if is_blank(block.arguments):
        request.hint(location, "mended_arguments", "arguments of a call", "no text: sent as {}")
        return False
    return True


def are_arguments(text: str) -> bool:
    """Return whether the text of a call's arguments is a JSON object."""
    return text == "{}" or isinstance(read_json(text), dict)


def text_of_arguments(request: Request, location: Location, block: ToolUseBlock, key: str) -> str:
    """Return the arguments of a call as text, with a hint if it is not a JSON object.

    ``key`` is the key under which the text is sent. Under any other key than ``arguments`` the text
    is free.
    """
    if key == "arguments" and not are_arguments(block.arguments):
        if not has_arguments(request, location, block):
            return "{}"
        why = "they are not a JSON object, and are sent unchanged"
        request.hint(location, "mended_arguments", "arguments of a call", why)
    return request.clean(location, block.arguments, key)


def is_sendable(request: Request, location: Location, *texts: str | None) -> bool:
    """Return whether reasoning can be sent unchanged. It cannot with a lone surrogate: a hint."""
    if all(is_valid_unicode(text) for text in texts if text):
        return True
    why = "it has a lone surrogate, which cannot be sent"
    request.hint(location, "unsent_reasoning", "reasoning", why)
    return False


def with_bytes(source: MediaSource) -> MediaSource:
    """Return a source. For a ``data:`` address it is a source with the bytes in the address."""
    return (data_url(source.value) if source.kind == "url" else None) or source


def text_of_file(source: MediaSource) -> str | None:
    """Return the text of a file, ``None`` if there are no bytes or they are not a text."""
    if source.kind != "base64" or not TEXT_TYPE.fullmatch(plain_type(source.media_type) or ""):
        return None
    try:
        return base64.b64decode(source.value).decode()
    except ValueError:
        return None


def fenced(tag: str, text: str, **attributes: str | None) -> str:
    """Return a text in a tag that it cannot close. Attributes without a value are left out."""
    named = [f' {key}="{attribute(value)}"' for key, value in attributes.items() if value]
    return f"<{tag}{''.join(named)}>\n{guard(text, (tag,))}\n</{tag}>"


def file_name(title: str | None, media_type: str) -> str:
    """Return the file name of a document: its title, or ``document`` with a suffix for its type.

    Services read the type of a file from the suffix.
    """
    if not title or title.isspace():
        return f"document.{_SUFFIXES.get(media_type, 'pdf')}"
    return _NO_FILE.sub("_", title)[:_LONGEST_FILE]


def lose_title(request: Request, location: Location, title: str, name: str) -> None:
    """Record a hint if the title of a document is sent as another name."""
    if name != title:
        reason = f"it is blank, too long, or has refused characters: sent as {name[:60]!r}"
        request.hint(location, "mended_name", "title of a document", reason)
