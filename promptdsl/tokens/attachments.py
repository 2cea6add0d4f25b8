"""The tokens of an attachment. All of these counts are estimates.

A picture counts by its size, another attachment by the assumptions below.
"""

import base64
import re
from collections.abc import Mapping
from math import ceil

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.wire import MediaKind
from promptdsl.messages.media.image_size import LONGEST_HEADER, Size, image_size
from promptdsl.messages.media.source import data_url
from promptdsl.tokens.count import TextTokens
from promptdsl.tokens.images import image_tokens

PAGE_SIZE: Size = (1075, 1520)
"""The size of a page's picture: A4 at 130 dots an inch, as in Anthropic's documentation."""

PAGE_TEXT_TOKENS = 3_000
"""The tokens of a page's text, sent with its picture: 1,500 to 3,000 (Anthropic, "PDF support")."""

GEMINI_PAGE_TOKENS = {"tiles-258": 258, "resolution": 560}
"""The tokens of a page for Gemini, by the name of the model's formula for pictures.

The names are in ``config/wire.py``, the formulas in ``tokens/images.py``: by ``tiles-258``, each
tile of a picture counts 258 tokens; by ``resolution``, a picture counts by its requested detail.
Sources: "Document understanding", "Media resolution".
"""

BYTES_PER_PAGE = 25_000
"""The bytes of a page, assumed for documents whose pages cannot be counted."""

ASSUMED_PAGES = 10
"""The count of pages, assumed for a document that is only an address or an id."""

AUDIO_TOKENS = 32
"""The tokens of a second of sound for Gemini ("Audio understanding").

OpenAI bills 10. The higher number is used for all providers, so that a budget is not exceeded.
"""

VIDEO_TOKENS = 263 + AUDIO_TOKENS
"""The tokens of a second of video for Gemini: one frame, and its sound.

Source: "Video understanding".
"""
VIDEO_TOKENS_BY_FORMULA: Mapping[str, int] = {"resolution": 70 + AUDIO_TOKENS}
"""The same, for models with one of these formulas for pictures. Source: "Media resolution"."""

ASSUMED_RATES: Mapping[str, int] = {"audio": 8_000, "video": 62_500}
"""The bytes of a second of a recording, assumed without a header: 64 and 500 kbit/s.

The rates are low, so the assumed recordings are long and their counts are high.
"""

ASSUMED_SECONDS = 300
"""The length assumed for a recording or video that is only an address or an id."""

LOWEST_RATE = 1_000
"""The lowest rate that is accepted from the header of a recording, in bytes a second.

A lower one is a mistake: by a rate of 1, a short recording would have hours, by 0 no length at all.
"""

_TEXTUAL = ("text/", "application/json", "application/xml", "application/yaml")
_PDF_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


@attrs.frozen
class AttachedMedia:
    """An attachment to count; ``data`` is base64 text or bytes, ``None`` for an address or id."""

    kind: MediaKind
    data: str | bytes | None = None
    media_type: str | None = attrs.field(default=None, converter=_text_or_none)
    detail: str | None = attrs.field(default=None, converter=_text_or_none)


def media_at(
    kind: MediaKind, address: object, media_type: object = None, detail: object = None
) -> AttachedMedia:
    """Return the attachment of an address. A data URL contains the data itself.

    The arguments may be any values of a payload: one that is no text counts as missing.
    """
    source = data_url(address) if isinstance(address, str) else None
    if source is None:
        return AttachedMedia(kind, None, media_type, detail)
    return AttachedMedia(kind, source.value, source.media_type, detail)


def attachment_tokens(media: AttachedMedia, tokens: TextTokens, facts: ModelFacts) -> int:
    """Return the estimated tokens of an attachment.

    - A picture counts by the formula of the model.
    - A document of plain text counts as that text; another document as its pages, each with its
      text and its picture.
    - Recordings and videos count by the second.
    - An address counts as a picture of 2048 x 2048 pixels, a document of 10 pages, or 5 minutes.
    """
    # ``facts.image_tokens`` is the name of a formula, ``image_tokens()`` counts by it.
    formula, data = facts.image_tokens or "", media.data
    if media.kind == "image":
        return image_tokens(pixels(data), facts, media.detail)
    if media.kind == "document":
        if data is not None and is_textual(media.media_type):
            return tokens.of(_decoded(data).decode("utf-8", "replace"))
        pages = ASSUMED_PAGES
        if data is not None:
            # An uncompressed PDF contains ``/Type /Page`` for each page.
            content = _decoded(data)
            pages = len(_PDF_PAGE.findall(content)) or ceil(len(content) / BYTES_PER_PAGE) or 1
        with_picture = PAGE_TEXT_TOKENS + image_tokens(PAGE_SIZE, facts)
        return pages * (GEMINI_PAGE_TOKENS.get(formula) or with_picture)
    seconds = ASSUMED_SECONDS
    if data is not None:
        size = len(data) if isinstance(data, bytes) else len(data) * 3 // 4
        rate = ASSUMED_RATES[media.kind]
        # The header of a WAV recording has its bytes for a second (RFC 2361).
        head = _decoded(data[:64])
        if head[:4] == b"RIFF" and head[8:16] == b"WAVEfmt " and len(head) >= 32:
            rate = max(int.from_bytes(head[28:32], "little"), LOWEST_RATE)
        seconds = ceil(size / rate) or 1
    if media.kind == "audio":
        return seconds * AUDIO_TOKENS
    return seconds * VIDEO_TOKENS_BY_FORMULA.get(formula, VIDEO_TOKENS)


def is_textual(media_type: str | None) -> bool:
    """Return whether a document is a text."""
    return (media_type or "").lower().startswith(_TEXTUAL)


def pixels(data: str | bytes | None) -> Size | None:
    """Return the size of a picture from its header, ``None`` if the header has no size."""
    if not isinstance(data, str):
        return None if data is None else image_size(data[:LONGEST_HEADER])
    # Most headers are short, so decode only the beginning first.
    return image_size(_decoded(data[:4_096])) or image_size(_decoded(data[:LONGEST_HEADER]))


def _decoded(data: str | bytes) -> bytes:
    if isinstance(data, bytes):
        return data
    try:
        return base64.b64decode(data)
    except ValueError:
        return b""
