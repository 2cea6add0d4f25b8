"""How many tokens an attachment is: pictures by their size, all else by documented assumptions.

Nothing is decoded but what is text. Whatever this says is an estimate.
"""

import base64
import re
import struct
from collections.abc import Mapping
from math import ceil

import attrs

from promptdsl.config.model_facts import MediaKind, ModelFacts
from promptdsl.messages.media.image_size import HEADER, Size, image_size
from promptdsl.messages.media.source import data_url
from promptdsl.tokens.count import TextTokens
from promptdsl.tokens.images import image_tokens

PAGE: Size = (1075, 1520)
"""The picture of a page: A4 at 130 dots an inch, the example of Anthropic's documentation."""

PAGE_TEXT = 3_000
"""A page's text, sent beside its picture: 1,500 to 3,000 (Anthropic, "PDF support")."""

GEMINI_PAGE = {"tiles-258": 258, "resolution": 560}
"""A page for Gemini, by formula of pictures ("Document understanding", "Media resolution")."""

BYTES_PER_PAGE = 25_000
"""Assumed of documents whose pages cannot be seen from outside."""

PAGES = 10
"""Assumed of a document that is only an address or an id."""

AUDIO_PER_SECOND = 32
"""Gemini ("Audio understanding"); OpenAI bills 10 a second."""

VIDEO_PER_SECOND = {"resolution": 70 + AUDIO_PER_SECOND}
FILM_PER_SECOND = 263 + AUDIO_PER_SECOND
"""Gemini, one frame a second with its sound ("Video understanding", "Media resolution")."""

BYTES_PER_SECOND: Mapping[str, int] = {"audio": 8_000, "video": 62_500}
"""Assumed where a header does not tell: 64 and 500 kbit/s, which is little, so that it is long."""

SECONDS = 300
"""Assumed of a recording or film that is only an address or an id."""

SLOWEST = 1_000
"""The least a header of a recording is believed, in bytes a second."""

_FIRST = 4_096
"""How much base64 text mostly holds a header, in characters."""

_TEXTUAL = ("text/", "application/json", "application/xml", "application/yaml")
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")


@attrs.frozen
class Attachment:
    """What is attached: ``data`` is base64 text or bytes, ``None`` where there is only an address.

    ``detail`` is how closely the model is asked to look.
    """

    kind: MediaKind
    data: str | bytes | None = None
    media_type: str | None = None
    detail: str | None = None


def attachment(
    kind: MediaKind, address: object, media_type: str | None = None, detail: object = None
) -> Attachment:
    """Return what an address holds: the bytes of a data URL, of any other nothing that is known."""
    source = data_url(address) if isinstance(address, str) else None
    level = detail if isinstance(detail, str) else None
    if source is None:
        return Attachment(kind, None, media_type, level)
    return Attachment(kind, source.value, source.media_type, level)


def attachment_tokens(attached: Attachment, tokens: TextTokens, facts: ModelFacts) -> int:
    """Return how many tokens an attachment is, about.

    A picture: its formula. A document: its text where it is one, else its pages, each with its text
    and its picture. Recordings and films: by the second. What is only an address is taken for a
    picture of 2048 x 2048 pixels, a document of 10 pages, a recording or film of 5 minutes.
    """
    if attached.kind == "image":
        return image_tokens(pixels(attached.data), facts, attached.detail)
    if attached.kind == "document":
        return _document(attached, tokens, facts)
    return _seconds(attached) * _per_second(attached.kind, facts)


def pixels(data: str | bytes | None) -> Size | None:
    """Return the size of a picture from its header, ``None`` where there is none to be seen."""
    if not isinstance(data, str):
        return None if data is None else image_size(data[:HEADER])
    return image_size(_decoded(data[:_FIRST])) or image_size(_decoded(data[:HEADER]))


def _decoded(data: str | bytes) -> bytes:
    if isinstance(data, bytes):
        return data
    try:
        return base64.b64decode(data)
    except ValueError:
        return b""


def _document(attached: Attachment, tokens: TextTokens, facts: ModelFacts) -> int:
    if attached.data is not None and (attached.media_type or "").lower().startswith(_TEXTUAL):
        return tokens.of(_decoded(attached.data).decode("utf-8", "replace"))
    page = GEMINI_PAGE.get(facts.image_tokens or "")
    return _pages(attached.data) * (page or PAGE_TEXT + image_tokens(PAGE, facts))


def _pages(data: str | bytes | None) -> int:
    """Return how many pages a document has: those a PDF names, unless they are compressed."""
    if data is None:
        return PAGES
    found = _decoded(data)
    return len(_PAGE.findall(found)) or ceil(len(found) / BYTES_PER_PAGE) or 1


def _per_second(kind: MediaKind, facts: ModelFacts) -> int:
    if kind == "audio":
        return AUDIO_PER_SECOND
    return VIDEO_PER_SECOND.get(facts.image_tokens or "", FILM_PER_SECOND)


def _seconds(attached: Attachment) -> int:
    data = attached.data
    if data is None:
        return SECONDS
    size = len(data) if isinstance(data, bytes) else len(data) * 3 // 4
    return ceil(size / (_rate(data) or BYTES_PER_SECOND[attached.kind])) or 1


def _rate(data: str | bytes) -> int | None:
    """Return the bytes a second of a WAV recording, as its header has them (RFC 2361)."""
    head = _decoded(data[:64])
    if head[:4] != b"RIFF" or head[8:16] != b"WAVEfmt " or len(head) < 32:
        return None
    (rate,) = struct.unpack_from("<I", head, 28)
    return max(int(rate), SLOWEST)
