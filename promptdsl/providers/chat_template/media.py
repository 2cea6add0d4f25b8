"""Attachments, both ways: parts of the types that a template shows."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from promptdsl import messages as b
from promptdsl.foundation.frozen import thawed
from promptdsl.messages.media.source import SHORTHANDS, MediaSource, SourceKind, data_url
from promptdsl.providers.shared.clean import utf8
from promptdsl.providers.shared.request import Param

CLASSES: Mapping[str, Callable[..., b.Block]] = {
    "image": b.ImageBlock,
    "image_url": b.ImageBlock,
    "audio": b.AudioBlock,
    "video": b.VideoBlock,
}
"""By the type of a part, the block it is."""

_KINDS: tuple[SourceKind, ...] = ("url", "base64", "path")
"""The sources that have a key of their name."""
OWN = frozenset((*SHORTHANDS, *_KINDS, *CLASSES, "source", "title", "detail", "cache", "extra"))
"""The keys of a part that say what a block says itself: none of them is a further one."""
_ADDRESS = re.compile(r"https?://|data:", re.IGNORECASE)


def media_part(block: b.MediaBlock, shown: frozenset[str]) -> Param | None:
    """Return an attachment as a part that a template shows, ``None`` where there is none.

    The keys are those of ``apply_chat_template`` in ``transformers``, which opens an address of
    another scheme as a file: there is no part of one.
    """
    source = block.source
    if source.kind not in _KINDS or (source.kind == "url" and not _ADDRESS.match(source.value)):
        return None
    if block.type in shown:
        return {"type": block.type, source.kind: utf8(source.value), **_numbers(block)}
    if block.type == "image" and "image_url" in shown and source.kind != "path":
        return {"type": "image_url", "image_url": {"url": utf8(_address(source))}}
    return None


def _numbers(block: b.MediaBlock) -> Param:
    """Return what a program is told of the size, such as ``min_pixels``."""
    extra = thawed(block.extra).items()
    return {
        key: value
        for key, value in extra
        if isinstance(value, int | float) and key.isidentifier() and key not in OWN
    }


def address_of(part: Param) -> str:
    """Return where the bytes of a written part are, or the bytes."""
    held = next(part[key] for key in ("image_url", *_KINDS) if key in part)
    return held["url"] if isinstance(held, dict) else held  # type: ignore[no-any-return]  # pyright: ignore[reportUnknownVariableType]


def _address(source: MediaSource) -> str:
    if source.kind != "base64":
        return source.value
    return f"data:{source.media_type or 'image/png'};base64,{source.value}"


def read_media(part: Mapping[str, Any]) -> b.Block | None:
    """Return the block of a part, ``None`` for one that says not where its bytes are."""
    kind = str(part.get("type"))
    made, found = CLASSES.get(kind), _source(part, kind)
    if made is None or found is None:
        return None
    key, source = found
    extra = {name: value for name, value in part.items() if name not in OWN}
    held = part[key]
    detail = held.get("detail") if isinstance(held, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return made(source, detail=detail if isinstance(detail, str) else None, extra=extra)


def _source(part: Mapping[str, Any], kind: str) -> tuple[str, MediaSource] | None:
    """Return the key that says where the bytes of a part are, and what it says."""
    held = part.get(kind)
    url = held.get("url") if isinstance(held, Mapping) else held  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if isinstance(url, str) and (_ADDRESS.match(url) or held is not url):
        return kind, data_url(url) or MediaSource("url", url, from_data=True)
    for key in _KINDS:
        if isinstance(part.get(key), str):
            return key, MediaSource(key, part[key], from_data=True)
    return None
