"""The tokens of the parts of a payload, for all providers. No function is recursive."""

from collections.abc import Callable, Mapping

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.wire import MEDIA_KINDS, MediaKind, Wire
from promptdsl.config.wires import wires
from promptdsl.tokens.attachments import AttachedMedia, attachment_tokens, media_at
from promptdsl.tokens.count import TextTokens
from promptdsl.tokens.wire_json import WireObject, WireValue, compact, object_at, pruned


def unknown_tokens(data: WireObject, tokens: TextTokens, facts: ModelFacts) -> tuple[int, int]:
    """Return the tokens of unknown data as JSON, and the tokens of its pictures.

    Keys that the model does not read, such as ids and cache marks, have no tokens. Bytes in the
    data count as pictures, so base64 text is never counted as text.
    """
    rest, encoded = pruned(data)
    pictures = 0
    for item in encoded:
        is_address = isinstance(item, str) and item.startswith("data:")
        picture = media_at("image", item) if is_address else AttachedMedia("image", item)
        pictures += attachment_tokens(picture, tokens, facts)
    return tokens.of(compact(rest)) if rest else 0, pictures


def _addressed(part: WireObject, kind: MediaKind) -> AttachedMedia:
    """Return the attachment of OpenAI's parts: an address, alone or with a detail.

    Chat templates that show these parts use it, too.
    """
    address = part.get("image_url", part.get("file_data"))
    if isinstance(address, Mapping):
        return media_at(kind, address.get("url"), None, address.get("detail"))
    return media_at(kind, part.get("url", address), None, part.get("detail"))


def _sourced(part: WireObject, kind: MediaKind) -> "AttachedMedia | WireValue":
    """Return the attachment of a part of Anthropic, Converse or a chat template.

    For a document that is text or parts, return these.
    """
    source = object_at(part, "source")
    if source.get("type") in ("text", "content"):
        return source.get("data", source.get("content"))
    if "text" in source or "content" in source:
        return source.get("text", source.get("content"))
    media_type = source.get("media_type")
    if part.get("format") in ("txt", "md", "csv", "html"):
        media_type = "text/plain"
    for data in (source.get("data"), source.get("bytes"), part.get("base64"), part.get("data")):
        if isinstance(data, str | bytes):
            return AttachedMedia(kind, data, media_type)
    return media_at(kind, part.get(kind, part.get("url")), media_type)


def _inline(part: WireObject, kind: MediaKind) -> AttachedMedia:
    """Return the attachment of Gemini's parts: bytes or an address. Its media type has the kind."""
    source = object_at(part, "inline_data", "file_data")
    media_type, data = source.get("mime_type"), source.get("data")
    family = str(media_type).partition("/")[0]
    for other in MEDIA_KINDS:
        kind = other if family == other else kind
    detail = part.get("media_resolution")
    detail = detail.get("level") if isinstance(detail, Mapping) else detail
    return AttachedMedia(kind, data if isinstance(data, str | bytes) else None, media_type, detail)


_ATTACHMENTS: Mapping[str, Callable[[WireObject, MediaKind], "AttachedMedia | WireValue"]] = {
    "sourced": _sourced,
    "addressed": _addressed,
    "inline": _inline,
}
_TYPED, _KEYED = (
    {kind: part for wire in wires() if wire.keyed is keyed for kind, part in wire.parts.items()}
    for keyed in (False, True)
)
"""The payload parts of all providers: by type, and by key for providers without types."""


@attrs.define(eq=False)
class Parts:
    """A counter of payload parts; ``media`` has the tokens of all attachments so far."""

    tokens: TextTokens
    facts: ModelFacts
    media: int = 0
    _wire: Wire = attrs.field(
        init=False,
        default=attrs.Factory(lambda parts: parts.facts.wire, takes_self=True),
    )
    _waiting: list[WireValue] = attrs.field(init=False, factory=list[WireValue])
    """The contents of parts that are not yet counted."""

    def content(self, *values: WireValue) -> int:
        """Return the tokens of contents: texts, parts, lists of these. Other values have none."""
        total, waiting = 0, self._waiting
        waiting.extend(values)
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                total += self.tokens.of(item)
            elif isinstance(item, list | tuple):
                waiting.extend(item)
            elif isinstance(item, Mapping):
                total += self._part(item)
        return total

    def _part(self, part: WireObject) -> int:
        """Return the tokens of a part, and put its contents into ``_waiting``."""
        # Find its shape. If several providers have a part of this name, the target's shape counts.
        wire, kind = self._wire, part.get("type")
        if isinstance(kind, str):
            shape = (None if wire.keyed else wire.parts.get(kind)) or _TYPED.get(kind)
        else:
            name = next((key for key in part if key in _KEYED), "")
            shape = (wire.parts.get(name) if wire.keyed else None) or _KEYED.get(name)
        if shape is None:
            text, pictures = unknown_tokens(part, self.tokens, self.facts)
            self.media += pictures
            return text + pictures
        for key in shape.path:
            inner = part.get(key)
            if not isinstance(inner, Mapping):
                return 0
            part = inner
        # Count its texts.
        total = 0
        for key in shape.texts:
            value = part.get(key)
            if value is not None:
                total += self.tokens.of(value if isinstance(value, str) else compact(value))
        for key in shape.contents:
            self._waiting.append(part.get(key))
        # Count its attachment.
        if shape.media is not None:
            attachment = _ATTACHMENTS[shape.source](part, shape.media)
            if isinstance(attachment, AttachedMedia):
                count = attachment_tokens(attachment, self.tokens, self.facts)
                self.media += count
                return total + count
            self._waiting.append(attachment)
        return total
