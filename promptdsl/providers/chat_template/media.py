"""Write attachments as the parts that a template prints, and read them back."""

import re
from collections.abc import Callable, Mapping

from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.json import JsonObject
from promptdsl.messages import AudioBlock, Block, ImageBlock, MediaBlock, VideoBlock
from promptdsl.messages.media.source import SHORTHANDS, MediaSource, SourceKind, data_url
from promptdsl.providers.shared.clean import utf8
from promptdsl.providers.shared.request import Param

CLASSES: Mapping[str, Callable[..., Block]] = {
    "image": ImageBlock,
    "image_url": ImageBlock,
    "audio": AudioBlock,
    "video": VideoBlock,
}
"""The class of a block, by the type of its part."""

_KINDS: tuple[SourceKind, ...] = ("url", "base64", "path")
"""The kinds of sources that are also keys of a part."""
OWN = frozenset((*SHORTHANDS, *_KINDS, *CLASSES, "source", "title", "detail", "cache", "extra"))
"""The keys of a part that are fields of a block; all others are its further keys."""
_ADDRESS = re.compile(r"https?://|data:", re.IGNORECASE)


def media_part(block: MediaBlock, shown: frozenset[str]) -> tuple[Param, str] | None:
    """Return the part of an attachment with its address or bytes, ``None`` if it has no part.

    ``shown`` are the types of parts that the template prints. The keys are those of
    ``apply_chat_template`` in ``transformers``. That function opens an address that is neither
    HTTP nor ``data:`` as a file, so such an address gets no part.
    """
    source = block.source
    address = utf8(source.value)
    if source.kind not in _KINDS or (source.kind == "url" and not _ADDRESS.match(address)):
        return None
    if block.type in shown:
        # Numbers are sizes for the program that reads the bytes, such as ``min_pixels``.
        numbers: Param = {
            key: value
            for key, value in thawed(block.extra).items()
            if isinstance(value, int | float) and key.isidentifier() and key not in OWN
        }
        return {"type": block.type, source.kind: address, **numbers}, address
    if block.type == "image" and "image_url" in shown and source.kind != "path":
        if source.kind == "base64":
            address = f"data:{utf8(source.media_type or 'image/png')};base64,{address}"
        return {"type": "image_url", "image_url": {"url": address}}, address
    return None


def needs_bytes(_block: MediaBlock, _role: str) -> bool:
    """Return ``False``: the program that runs a template opens addresses itself."""
    return False


def read_media(part: JsonObject) -> Block | None:
    """Return the block of a part, ``None`` if the part has no address and no bytes."""
    kind = str(part.get("type"))
    if kind not in CLASSES:
        return None
    source, detail = None, None
    # The address is under the type, alone or in a mapping, or under the kind of the source.
    inner = part.get(kind)
    url = inner.get("url") if isinstance(inner, Mapping) else inner
    if isinstance(url, str) and (isinstance(inner, Mapping) or _ADDRESS.match(url)):
        source = data_url(url) or MediaSource("url", url, from_data=True)
        detail = inner.get("detail") if isinstance(inner, Mapping) else None
    for key in _KINDS if source is None else ():
        value = part.get(key)
        if isinstance(value, str):
            source = MediaSource(key, value, from_data=True)
            break
    if source is None:
        return None
    extra = {name: value for name, value in part.items() if name not in OWN}
    return CLASSES[kind](source, detail=detail if isinstance(detail, str) else None, extra=extra)
