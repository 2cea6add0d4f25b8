"""How many tokens the parts of a payload are, of any provider. Nothing recurses."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

import attrs

from promptdsl.config.model_facts import MediaKind, ModelFacts
from promptdsl.tokens.attachments import Attachment, attachment, attachment_tokens
from promptdsl.tokens.count import TextTokens
from promptdsl.tokens.wire_json import compact, pruned


class Unknown(NamedTuple):
    """The tokens of what nobody here knows: those of its text, and of the bytes in it."""

    text: int
    pictures: int


def unknown_tokens(data: Mapping[str, Any], tokens: TextTokens, facts: ModelFacts) -> Unknown:
    """Return the tokens of the JSON of what nobody here knows, without its ids and marks.

    Bytes in it are taken for pictures, so that base64 text is never counted letter by letter.
    """
    said, held = pruned(data)
    pictures = sum(attachment_tokens(_picture(one), tokens, facts) for one in held)
    return Unknown(tokens.of(compact(said)) if said else 0, pictures)


def _picture(data: str | bytes) -> Attachment:
    if isinstance(data, str) and data[:5] == "data:":
        return attachment("image", data)
    return Attachment("image", data)


Part: TypeAlias = Mapping[str, Any]


@attrs.define(eq=False)
class Parts:
    """Counts parts; ``media`` is how much of all that was counted were attachments.

    ``waiting`` is what stood inside a part and still has to be counted.
    """

    tokens: TextTokens
    facts: ModelFacts
    media: int = 0
    waiting: list[Any] = attrs.field(init=False, factory=list[Any])

    def content(self, *values: Any) -> int:
        """Return how many tokens contents are: texts, parts, lists of them, nothing."""
        total, waiting = 0, self.waiting
        waiting.extend(values)
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                total += self.tokens.of(item)
            elif isinstance(item, list | tuple):
                waiting.extend(cast("list[Any]", item))
            elif isinstance(item, Mapping):
                total += self._part(cast("Part", item))
        return total

    def _part(self, part: Part) -> int:
        kind = part.get("type")
        if isinstance(kind, str):
            count = _TYPED.get(kind)
            return count(self, part) if count else self._unknown(part)
        for key in part:
            if key in _KEYED:
                return _KEYED[key](self, part)
        return self._unknown(part)

    def _unknown(self, part: Part) -> int:
        found = unknown_tokens(part, self.tokens, self.facts)
        self.media += found.pictures
        return sum(found)

    def text(self, value: object) -> int:
        """Return how many tokens a text is, a value that is none as its JSON."""
        if value is None:
            return 0
        return self.tokens.of(value if isinstance(value, str) else compact(value))

    def attached(self, held: Attachment) -> int:
        """Return how many tokens an attachment is, and note that there was one."""
        found = attachment_tokens(held, self.tokens, self.facts)
        self.media += found
        return found


PartCounter: TypeAlias = Callable[[Parts, Part], int]


def _holding(*keys: str) -> PartCounter:
    """Return what counts the texts and parts under some keys."""

    def count(parts: Parts, part: Part) -> int:
        parts.waiting += [part[key] for key in keys if part.get(key)]
        return 0

    return count


def _saying(*keys: str) -> PartCounter:
    """Return what counts the texts under some keys, and other values there as JSON."""

    def count(parts: Parts, part: Part) -> int:
        return sum(parts.text(part.get(key)) for key in keys)

    return count


def _within(key: str, count: PartCounter) -> PartCounter:
    """Return what counts a part that stands under a key of another."""

    def inner(parts: Parts, part: Part) -> int:
        held = part.get(key)
        return count(parts, cast("Part", held)) if isinstance(held, Mapping) else 0

    return inner


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


# Attachments.


def _image_url(parts: Parts, part: Part) -> int:
    """OpenAI, and templates that show its parts: the address alone, or with a detail."""
    held = part.get("image_url")
    said: Part = cast("Part", held) if isinstance(held, Mapping) else {"url": held, **part}
    return parts.attached(attachment("image", said.get("url"), None, said.get("detail")))


def _file(parts: Parts, part: Part) -> int:
    name = part.get("filename")
    named = parts.text(name) if isinstance(name, str) else 0
    return named + parts.attached(attachment("document", part.get("file_data")))


def _input_audio(parts: Parts, part: Part) -> int:
    return parts.attached(Attachment("audio", _text(part.get("data"))))


def _sourced(kind: MediaKind) -> PartCounter:
    """Return what counts an attachment of Anthropic, or one that a chat template shows."""

    def count(parts: Parts, part: Part) -> int:
        held = part.get("source")
        source: Part = cast("Part", held) if isinstance(held, Mapping) else {}
        parts.waiting += [
            part[key] for key in ("title", "context") if isinstance(part.get(key), str)
        ]
        if source.get("type") in ("text", "content"):
            parts.waiting.append(source.get("data", source.get("content")))
            return 0
        data = _text(source.get("data", part.get("base64")))
        media_type = _text(source.get("media_type"))
        if data is not None:
            return parts.attached(Attachment(kind, data, media_type))
        return parts.attached(attachment(kind, part.get(kind, part.get("url")), media_type))

    return count


def _inline(parts: Parts, part: Part) -> int:
    """Gemini: bytes, or an address, with a media type that tells what they are."""
    held = part.get("inline_data", part.get("file_data"))
    source: Part = cast("Part", held) if isinstance(held, Mapping) else {}
    media_type = _text(source.get("mime_type")) or ""
    kind = cast("MediaKind", media_type.partition("/")[0])
    level: Any = part.get("media_resolution")
    level = cast("Part", level).get("level") if isinstance(level, Mapping) else level
    kind = kind if kind in ("image", "audio", "video") else "document"
    data = source.get("data")
    held = data if isinstance(data, str | bytes) else None
    return parts.attached(Attachment(kind, held, media_type, _text(level)))


_TEXT_FORMATS = ("txt", "md", "csv", "html")


def _formatted(kind: MediaKind) -> PartCounter:
    """Return what counts an attachment of Converse; documents have names."""

    def count(parts: Parts, part: Part) -> int:
        held = part.get("source")
        source: Part = cast("Part", held) if isinstance(held, Mapping) else {}
        parts.waiting += [
            part[key] for key in ("name", "context") if isinstance(part.get(key), str)
        ]
        if "text" in source or "content" in source:
            parts.waiting.append(source.get("text", source.get("content")))
            return 0
        data = source.get("bytes")
        media_type = "text/plain" if part.get("format") in _TEXT_FORMATS else None
        found = data if isinstance(data, bytes | str) else None
        return parts.attached(Attachment(kind, found, media_type))

    return count


def _responded(parts: Parts, part: Part) -> int:
    """Gemini: the object a tool answered with, and what is attached to it."""
    parts.waiting.append(part.get("parts"))
    return parts.text(part.get("name")) + parts.text(part.get("response"))


# By the type of a part, or for Gemini and Converse by its key: what counts it.

_called = _saying("name", "arguments", "input", "args")
_TYPED: Mapping[str, PartCounter] = {
    **dict.fromkeys(
        ("text", "input_text", "output_text", "summary_text", "reasoning_text"), _saying("text")
    ),
    "refusal": _saying("refusal"),
    "thinking": _saying("thinking"),
    "redacted_thinking": _holding(),
    **dict.fromkeys(("tool_use", "function_call", "custom_tool_call"), _called),
    "function": _within("function", _called),
    "custom": _within("custom", _called),
    "tool_result": _holding("content"),
    **dict.fromkeys(("function_call_output", "custom_tool_call_output"), _holding("output")),
    "reasoning": _holding("summary", "content"),
    "message": _holding("content"),
    **dict.fromkeys(("image_url", "input_image"), _image_url),
    "file": _within("file", _file),
    "input_file": _file,
    "input_audio": _within("input_audio", _input_audio),
    "image": _sourced("image"),
    "document": _sourced("document"),
    "audio": _sourced("audio"),
    "video": _sourced("video"),
}
_KEYED: Mapping[str, PartCounter] = {
    "text": _saying("text"),
    "json": _saying("json"),
    "function_call": _within("function_call", _called),
    "toolUse": _within("toolUse", _called),
    "function_response": _within("function_response", _responded),
    "inline_data": _inline,
    "file_data": _inline,
    "toolResult": _within("toolResult", _holding("content")),
    "citationsContent": _within("citationsContent", _holding("content")),
    "guardContent": _within("guardContent", _holding("text", "image")),
    "reasoningContent": _within("reasoningContent", _within("reasoningText", _saying("text"))),
    "image": _within("image", _formatted("image")),
    "document": _within("document", _formatted("document")),
    "audio": _within("audio", _formatted("audio")),
    "video": _within("video", _formatted("video")),
    "cachePoint": _holding(),
}
