"""The tokens of a picture, by the formulas that providers publish for its size in pixels.

If documentation and published measurements disagree, the larger figure is used: with a count that
is too low, a request could exceed its budget.
"""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, sqrt
from typing import TypeAlias, TypeVar

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.wire import ImageFormula
from promptdsl.messages.media.image_size import Size

ASSUMED: Size = (2048, 2048)
"""The size that is assumed for an address, a file id or an unknown header."""

_Figure = TypeVar("_Figure")
_ByName: TypeAlias = tuple[tuple[str, _Figure], ...]
"""Figures by model: the first pattern that the model's name contains decides."""


def image_tokens(size: Size | None, facts: ModelFacts, detail: str | None = None) -> int:
    """Return the estimated tokens of a picture.

    ``detail`` is the requested level: OpenAI's ``low``, ``high``, ``original``, or Gemini's media
    resolution. A picture of unknown size counts as 2048 x 2048 pixels. If the formula of a model is
    unknown, its name decides, else the costliest formula of its provider is used; without a
    provider it is that of the newest Claude.
    """
    model, formula = facts.model or "", facts.image_tokens
    if formula is None:
        formula = facts.wire.image_tokens
        if _figures(_PATCHES, model) is not None:
            formula = "patches-32"
        elif _figures(_TILES, model) is not None:
            formula = "tiles-512"
    width, height = size or ASSUMED
    level = (detail or "").lower().removeprefix("media_resolution_")
    return _FORMULAS[formula]((max(width, 1), max(height, 1)), model, level)


def _figures(table: _ByName[_Figure], model: str) -> _Figure | None:
    return next((figure for pattern, figure in table if re.search(pattern, model)), None)


# OpenAI. Source: its guide "Images and vision" (November 2026). "Measured" means that others have
# published it: the data set image-token-cost (gpt-5.5, gpt-6), and OpenAI's developer forum, topics
# 1344040 (gpt-5-mini), 1372291 (gpt-5.2) and 1377015 (gpt-5.4-mini).

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
    base, each = _figures(_TILES, model) or (85, 170)
    if detail == "low":
        return base
    scale = min(2048 / max(size), 1)
    width, height = (max(round(side * scale), 1) for side in size)
    scale = min(768 / min(width, height), 1)
    across, down = (max(int(side * scale), 1) for side in (width, height))
    return base + each * _squares((across, down), 512)


@attrs.frozen
class _Patches:
    """The price of a patch in hundredths of a token, and the most patches for each detail.

    ``None`` means no limit. The guide also has a limit for the longest side, but measurements do
    not show it.
    """

    each: int
    high: int = 1536
    original: int | None = 1536
    low: int = 1536
    auto: str = "high"


_LOW = 16 * 16
_HIGH = 2500
_ORIGINAL = 10_000
_PATCHES: _ByName[_Patches] = (
    (r"gpt-4\.1-mini", _Patches(162)),
    (r"gpt-4\.1-nano", _Patches(246)),
    (r"(o4|codex)-mini", _Patches(172)),
    # Measured: 1.2 a patch and up to 2,500 of them; documented: 1.62 and 1,536.
    (r"gpt-5\.4-mini", _Patches(162, _HIGH, _HIGH, _HIGH)),
    # Measured: 1.2 and 1.5.
    (r"gpt-5(\.\d)?-mini", _Patches(162)),
    (r"gpt-5(\.\d)?-nano", _Patches(246)),
    # 1.2 is measured, for all that follow.
    (r"gpt-5(\.[0-3])?(?![.\d])", _Patches(120)),
    (r"gpt-5\.4", _Patches(120, _HIGH, _ORIGINAL, _LOW)),
    (r"gpt-5\.5", _Patches(120, _HIGH, _ORIGINAL, _LOW, "original")),
)
_NEWEST = _Patches(120, _HIGH, None, _LOW, "original")
"""From gpt-5.6 on, a picture keeps its size unless the request asks for less detail."""


def _patches_32(size: Size, model: str, detail: str) -> int:
    """Return the tokens by patches of 32 pixels, at most as many as the model's limit.

    Measured: ``low`` changes nothing for older minis; for others it is the patches of 512 x 512.
    """
    figures = _figures(_PATCHES, model) or _NEWEST
    limits = {"high": figures.high, "original": figures.original, "low": figures.low}
    limit = limits.get(detail, limits[figures.auto])
    patches = _squares(size, 32)
    if limit is not None and patches > limit:
        # Scaled down to complete patches, as in the guide. Less than one patch counts as one.
        scale = sqrt(limit * 32 * 32 / size[0] / size[1])
        sides = [side * scale / 32 for side in size]
        scale *= min(max(int(side), 1) / side for side in sides)
        width, height = (max(int(side * scale), 1) for side in size)
        patches = min(_squares((width, height), 32), limit)
    return ceil(Fraction(patches * figures.each, 100))


def _squares(size: Size, side: int) -> int:
    return ceil(size[0] / side) * ceil(size[1] / side)


# Anthropic. Source: its documentation "Vision", and "Coordinates and bounding boxes" for the rule.

_STANDARD = re.compile(
    r"claude-(?:[23]|v2|instant|(?:opus|sonnet|haiku)-4(?!-(?:[7-9]|\d\d)(?!\d)))"
)
"""The names of Claude models before 4.7. They have lower limits."""


def _patches_28(size: Size, model: str, _: str) -> int:
    """Return the tokens by patches of 28 pixels, for the largest size within the model's limits."""
    edge = most = 1568
    if not _STANDARD.search(model):
        edge, most = 2576, 4784
    if not _keeps(size, edge, most):
        # Find the largest size of the same shape by bisection, as in Anthropic's own example of the
        # rule. Halves are rounded to even numbers.
        shape = max(size) / min(size)
        fits, exceeds = 1, max(size)
        while fits + 1 < exceeds:
            middle = (fits + exceeds) // 2
            if _keeps((middle, max(round(middle / shape), 1)), edge, most):
                fits = middle
            else:
                exceeds = middle
        size = fits, max(round(fits / shape), 1)
    return _squares(size, 28)


def _keeps(size: Size, edge: int, most: int) -> bool:
    """Return whether a size is within the limits of the longest edge and of the patch count."""
    return ceil(max(size) / 28) * 28 <= edge and _squares(size, 28) <= most


# Google. Sources: its documentation "Image understanding" and "Media resolution".

TILE_TOKENS = 258


def _tiles_258(size: Size, _: str, detail: str) -> int:
    """Return the tokens by tiles.

    There is one tile up to 384 pixels or at less detail, else up to nine by the shape (~2,300).
    """
    if max(size) <= 384 or detail in ("low", "medium"):
        return TILE_TOKENS
    unit = min(max(int(min(size) / 1.5), 256), 768)
    return TILE_TOKENS * min(_squares(size, unit), 9)


_RESOLUTIONS = {"low": 280, "medium": 560, "high": 1120, "ultra_high": 2240}


def _resolution(_size: Size, _: str, detail: str) -> int:
    """Return the tokens by the media resolution alone. Its default is high."""
    return _RESOLUTIONS.get(detail, _RESOLUTIONS["high"])


_FORMULAS: Mapping[ImageFormula, Callable[[Size, str, str], int]] = {
    "tiles-512": _tiles_512,
    "patches-32": _patches_32,
    "patches-28": _patches_28,
    "tiles-258": _tiles_258,
    "resolution": _resolution,
}
