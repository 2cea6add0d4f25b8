"""Attachments, both ways: parts of the types that a template shows."""

from collections.abc import Callable, Mapping
from typing import Any

from promptdsl import blocks as b
from promptdsl.sources import MediaSource, SourceKind, data_url
from promptdsl.wire.request import Param
from promptdsl.wire.text import utf8

CLASSES: Mapping[str, Callable[[MediaSource], b.Block]] = {
    "image": b.ImageBlock,
    "image_url": b.ImageBlock,
    "audio": b.AudioBlock,
    "video": b.VideoBlock,
}
"""By the type of a part, the block it is."""

_KINDS: tuple[SourceKind, ...] = ("url", "base64", "path")
"""The sources that have a key of their name."""


def media_part(block: b.MediaBlock, shown: frozenset[str]) -> Param | None:
    """Return an attachment as a part that a template shows, ``None`` where there is none.

    The keys are those of ``apply_chat_template`` in ``transformers``.
    """
    source = block.source
    if source.kind not in _KINDS:
        return None
    if block.type in shown:
        return {"type": block.type, source.kind: utf8(source.value)}
    if block.type == "image" and "image_url" in shown:
        return {"type": "image_url", "image_url": {"url": utf8(_address(source))}}
    return None


def _address(source: MediaSource) -> str:
    if source.kind != "base64":
        return source.value
    return f"data:{source.media_type or 'image/png'};base64,{source.value}"


def read_media(part: Mapping[str, Any]) -> b.Block | None:
    """Return the block of a part, ``None`` for one that says not where its bytes are."""
    made = CLASSES.get(str(part.get("type")))
    held = part.get("image_url")
    if made is not None and isinstance(held, Mapping):
        url = str(held.get("url"))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        return made(data_url(url) or MediaSource("url", url, from_data=True))
    for kind in _KINDS:
        if made is not None and isinstance(part.get(kind), str):
            return made(MediaSource(kind, part[kind], from_data=True))
    return None
