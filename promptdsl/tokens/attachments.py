"""The tokens of an attachment, by formulas of providers. All these counts are estimates.

``attachment_tokens``, near the end, is the main function; ``image_tokens`` counts a picture.
"""

import base64
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, sqrt
from typing import TypeAlias, TypeVar

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.wire import ImageFormula, MediaKind
from promptdsl.messages.attachment import LONGEST_HEADER, Size, image_size
from promptdsl.messages.media_type import data_url
from promptdsl.tokens.count import TextCounter

# The tokens of a picture, by the formulas that providers publish for its size in pixels.
#
# If documentation and published measurements disagree, the larger number is used: with a count that
# is too low, a request could exceed its budget.

ASSUMED_SIZE: Size = (2048, 2048)
"""The size, in pixels, that is assumed for an address, a file id or an unknown header."""

_PerModel = TypeVar("_PerModel")
_ByName: TypeAlias = tuple[tuple[str, _PerModel], ...]
"""Values by patterns of model names: the first pattern in a model's name decides."""


def image_tokens(size: Size | None, facts: ModelFacts, detail: str | None = None) -> int:
    """Return the estimated tokens of a picture.

    ``detail`` is the requested level: OpenAI's ``low``, ``high``, ``original``, or Gemini's media
    resolution. A picture of unknown size counts as 2048 x 2048 pixels.

    If the formula of a model is unknown, the name of the model decides. If that does not help, the
    costliest formula of its provider is used; without a provider, that of the newest Claude.
    """
    model, formula = facts.model or "", facts.image_tokens
    if formula is None:
        formula = facts.wire.image_tokens
        if _first_match(_PATCHES, model) is not None:
            formula = "patches-32"
        elif _first_match(_TILES, model) is not None:
            formula = "tiles-512"
    width, height = size or ASSUMED_SIZE
    level = (detail or "").lower().removeprefix("media_resolution_")
    return _FORMULAS[formula]((max(width, 1), max(height, 1)), model, level)


def _first_match(table: _ByName[_PerModel], model: str) -> _PerModel | None:
    """Return the value of the first pattern that occurs in the name of a model, or ``None``."""
    return next((value for pattern, value in table if re.search(pattern, model)), None)


# OpenAI. Source: its guide "Images and vision" (November 2026). "Measured" means that users have
# published it: in the data set image-token-cost (gpt-5.5, gpt-6), and in OpenAI's developer forum,
# topics 1344040 (gpt-5-mini), 1372291 (gpt-5.2) and 1377015 (gpt-5.4-mini).

_TILES: _ByName[tuple[int, int]] = (
    (r"gpt-4o-mini", (2833, 5667)),
    (r"\bo[13]\b", (75, 150)),
    (r"gpt-4(o|\.1|\.5|-turbo|-vision)", (85, 170)),
    (r"gpt-5(\.1)?(-chat|-20\d\d|$)", (70, 140)),
)
"""By model, the tokens of a picture and of each of its tiles."""


def _tiles_512(size: Size, model: str, detail: str) -> int:
    """Return the tokens by tiles of 512 pixels.

    The picture is first scaled down into a square of 2048, then to a shortest side of 768.
    """
    base, per_tile = _first_match(_TILES, model) or (85, 170)
    if detail == "low":
        return base
    scale = min(2048 / max(size), 1)
    width, height = (max(round(side * scale), 1) for side in size)
    scale = min(768 / min(width, height), 1)
    width, height = (max(int(side * scale), 1) for side in (width, height))
    return base + per_tile * _squares((width, height), 512)


@attrs.frozen
class _Patches:
    """The tokens of 100 patches of an image, and the maximum number of patches for each detail.

    ``None`` means no maximum. The guide also limits the longest side, but measurements do not show
    this limit.
    """

    tokens_per_100: int
    high: int = 1536
    original: int | None = 1536
    low: int = 1536
    auto: str = "high"


# The maximum of patches of newer models, by the requested detail.
_LOW_PATCHES = 16 * 16
_HIGH_PATCHES = 2500
_ORIGINAL_PATCHES = 10_000
_PATCHES: _ByName[_Patches] = (
    (r"gpt-4\.1-mini", _Patches(162)),
    (r"gpt-4\.1-nano", _Patches(246)),
    (r"(o4|codex)-mini", _Patches(172)),
    # Measured: 1.2 per patch and up to 2,500 patches; documented: 1.62 and 1,536.
    (r"gpt-5\.4-mini", _Patches(162, _HIGH_PATCHES, _HIGH_PATCHES, _HIGH_PATCHES)),
    # Measured: 1.2 and 1.5.
    (r"gpt-5(\.\d)?-mini", _Patches(162)),
    (r"gpt-5(\.\d)?-nano", _Patches(246)),
    # 1.2 is measured for all the following models.
    (r"gpt-5(\.[0-3])?(?![.\d])", _Patches(120)),
    (r"gpt-5\.4", _Patches(120, _HIGH_PATCHES, _ORIGINAL_PATCHES, _LOW_PATCHES)),
    (r"gpt-5\.5", _Patches(120, _HIGH_PATCHES, _ORIGINAL_PATCHES, _LOW_PATCHES, "original")),
)
_NEWEST_PATCHES = _Patches(120, _HIGH_PATCHES, None, _LOW_PATCHES, "original")
"""From gpt-5.6 on, a picture keeps its size, unless the request asks for less detail."""


def _patches_32(size: Size, model: str, detail: str) -> int:
    """Return the tokens by patches of 32 pixels, up to the model's maximum of patches.

    Measured: ``low`` changes nothing for older mini models; for other models, the picture has at
    most as many patches as 512 x 512 pixels.
    """
    patch = _first_match(_PATCHES, model) or _NEWEST_PATCHES
    limits = {"high": patch.high, "original": patch.original, "low": patch.low}
    limit = limits.get(detail, limits[patch.auto])
    patches = _squares(size, 32)
    if limit is not None and patches > limit:
        # Scaled down to complete patches, as in the guide. A side has at least one patch.
        scale = sqrt(limit * 32 * 32 / size[0] / size[1])
        sides_in_patches = [side * scale / 32 for side in size]
        scale *= min(max(int(side), 1) / side for side in sides_in_patches)
        width, height = (max(int(side * scale), 1) for side in size)
        patches = min(_squares((width, height), 32), limit)
    return ceil(Fraction(patches * patch.tokens_per_100, 100))


def _squares(size: Size, side: int) -> int:
    """Return how many squares of a side, in pixels, cover a picture."""
    return ceil(size[0] / side) * ceil(size[1] / side)


# Anthropic. Source: its documentation "Vision", and "Coordinates and bounding boxes" for the rule.

_OLDER_CLAUDE = re.compile(
    r"claude-(?:[23]|v2|instant|(?:opus|sonnet|haiku)-4(?!-(?:[7-9]|\d\d)(?!\d)))"
)
"""The names of Claude models before 4.7. They have lower limits."""


def _patches_28(size: Size, model: str, _: str) -> int:
    """Return the tokens by patches of 28 pixels, for the largest size within the model's limits."""
    edge = max_patches = 1568
    if not _OLDER_CLAUDE.search(model):
        edge, max_patches = 2576, 4784
    if not _is_within(size, edge, max_patches):
        # Find the largest size of the same shape by bisection, as in Anthropic's own example of the
        # rule. Halves are rounded to even numbers.
        shape = max(size) / min(size)
        fits, exceeds = 1, max(size)
        while fits + 1 < exceeds:
            middle = (fits + exceeds) // 2
            if _is_within((middle, max(round(middle / shape), 1)), edge, max_patches):
                fits = middle
            else:
                exceeds = middle
        size = fits, max(round(fits / shape), 1)
    return _squares(size, 28)


def _is_within(size: Size, edge: int, max_patches: int) -> bool:
    """Return whether a size is within the limits of the longest edge and of the patch count."""
    return ceil(max(size) / 28) * 28 <= edge and _squares(size, 28) <= max_patches


# Google. Sources: its documentation "Image understanding" and "Media resolution".

TILE_TOKENS = 258


def _tiles_258(size: Size, _: str, detail: str) -> int:
    """Return the tokens by tiles.

    A picture of at most 384 pixels, or with less detail, has one tile. Another picture has up to
    nine tiles (about 2,300 tokens), by its shape.
    """
    if max(size) <= 384 or detail in ("low", "medium"):
        return TILE_TOKENS
    unit = min(max(int(min(size) / 1.5), 256), 768)
    return TILE_TOKENS * min(_squares(size, unit), 9)


_RESOLUTION_TOKENS = {"low": 280, "medium": 560, "high": 1120, "ultra_high": 2240}


def _resolution(_size: Size, _: str, detail: str) -> int:
    """Return the tokens by the media resolution, whose default is high; the size does not count."""
    return _RESOLUTION_TOKENS.get(detail, _RESOLUTION_TOKENS["high"])


_FORMULAS: Mapping[ImageFormula, Callable[[Size, str, str], int]] = {
    "tiles-512": _tiles_512,
    "patches-32": _patches_32,
    "patches-28": _patches_28,
    "tiles-258": _tiles_258,
    "resolution": _resolution,
}


# The tokens of an attachment: a picture counts by its size, another attachment by the assumptions
# below.

PAGE_SIZE: Size = (1075, 1520)
"""The size of a page's picture, in pixels: A4 at 130 dots per inch (Anthropic's documentation)."""

PAGE_TEXT_TOKENS = 3_000
"""The tokens of a page's text, sent with its picture: 1,500 to 3,000 (Anthropic, "PDF support")."""

GEMINI_PAGE_TOKENS = {"tiles-258": 258, "resolution": 560}
"""The tokens of a page for Gemini, by the name of the model's formula for pictures.

The names are in ``config/wire.py``, the formulas above. By ``tiles-258``, each tile of a picture
has 258 tokens. By ``resolution``, the tokens of a picture depend on its requested detail.
Sources: "Document understanding", "Media resolution".
"""

BYTES_PER_PAGE = 25_000
"""The bytes of a page, assumed for documents whose pages cannot be counted."""

ASSUMED_PAGES = 10
"""The number of pages, assumed for a document that is only an address or an id."""

AUDIO_TOKENS = 32
"""The tokens of a second of sound for Gemini ("Audio understanding").

OpenAI bills 10. The higher number is used for all providers, so that no request exceeds its budget.
"""

VIDEO_TOKENS = 263 + AUDIO_TOKENS
"""The tokens of a second of video for Gemini: one frame, and its sound.

Source: "Video understanding".
"""
VIDEO_TOKENS_BY_FORMULA: Mapping[str, int] = {"resolution": 70 + AUDIO_TOKENS}
"""The tokens of a second of video, by the model's formula for pictures. Source: "Media resolution".
"""

ASSUMED_RATES: Mapping[str, int] = {"audio": 8_000, "video": 62_500}
"""The bytes of a second of a recording without a header: 64 and 500 kbit/s are assumed.

The rates are low, so that the assumed recordings are long and their counts are high.
"""

ASSUMED_SECONDS = 300
"""The length in seconds, assumed for a recording or video that is only an address or an id."""

LOWEST_RATE = 1_000
"""The lowest rate that is accepted from the header of a recording, in bytes per second.

A lower rate is a mistake. With a rate of 1, a short recording would last hours; with 0, its length
would be undefined.
"""

_TEXTUAL = ("text/", "application/json", "application/xml", "application/yaml")
_PDF_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


@attrs.frozen
class AttachedMedia:
    """An attachment to count: ``data`` is base64 text or bytes, ``None`` for an address or id."""

    kind: MediaKind
    data: str | bytes | None = None
    media_type: str | None = attrs.field(default=None, converter=_text_or_none)
    detail: str | None = attrs.field(default=None, converter=_text_or_none)


def media_at(
    kind: MediaKind, address: object, media_type: object = None, detail: object = None
) -> AttachedMedia:
    """Return the attachment of an address; a ``data:`` address has the data itself.

    The arguments may be any values of a payload: a value that is not a text counts as missing.
    """
    source = data_url(address) if isinstance(address, str) else None
    if source is None:
        return AttachedMedia(kind, None, media_type, detail)
    return AttachedMedia(kind, source.value, source.media_type, detail)


def attachment_tokens(media: AttachedMedia, tokens: TextCounter, facts: ModelFacts) -> int:
    """Return the estimated tokens of an attachment.

    - A picture counts by the formula of the model.
    - A document of plain text counts as this text. Another document counts as its pages, each with
      its text and its picture.
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
        # The header of a WAV recording has its bytes per second (RFC 2361).
        head = _decoded(data[:64])
        if head[:4] == b"RIFF" and head[8:16] == b"WAVEfmt " and len(head) >= 32:
            rate = max(int.from_bytes(head[28:32], "little"), LOWEST_RATE)
        seconds = ceil(size / rate) or 1
    if media.kind == "audio":
        return seconds * AUDIO_TOKENS
    return seconds * VIDEO_TOKENS_BY_FORMULA.get(formula, VIDEO_TOKENS)


def is_textual(media_type: str | None) -> bool:
    """Return whether documents of a media type are texts."""
    return (media_type or "").lower().startswith(_TEXTUAL)


def pixels(data: str | bytes | None) -> Size | None:
    """Return the size of a picture from its header, ``None`` if the header has no size."""
    if not isinstance(data, str):
        return None if data is None else image_size(data[:LONGEST_HEADER])
    # Most headers are short, so decode only the beginning first.
    return image_size(_decoded(data[:4_096])) or image_size(_decoded(data[:LONGEST_HEADER]))


def _decoded(data: str | bytes) -> bytes:
    """Return the bytes of an attachment; none for a text that is not base64."""
    if isinstance(data, bytes):
        return data
    try:
        return base64.b64decode(data)
    except ValueError:
        return b""
