"""Attachments, both ways: an address, bytes, or a file that a provider holds."""

from base64 import b64decode, b64encode
from typing import Any, cast

from promptdsl import Block, block_from_dict
from promptdsl.integrations.losses import Crossing, media_type_of
from promptdsl.integrations.values import address, foreign, kind_of_media

DEVELOPER = {"role": "developer"}
"""The metadata of a system prompt that is a developer's."""

PROVIDERS = {
    "openai": "openai",
    "openai_responses": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
    "bedrock": "bedrock",
}
"""By our name of a provider, theirs."""

ORIGINS = {
    **dict.fromkeys(("openai", "azure"), "openai_responses"),
    **dict.fromkeys(("google", "google-cloud", "google-gla", "google-vertex"), "gemini"),
}
"""By their name of a provider, whose reasoning it is where the name differs."""

REDACTED = ("redacted_thinking", "redacted_content")
"""The ids of thoughts that are encrypted, of Claude."""


def pydantic_ai() -> Any:
    """Return Pydantic AI's module of messages; :class:`PromptError` when it is not installed."""
    return foreign("pydantic_ai.messages", "pydantic-ai")


_URLS = {"image": "ImageUrl", "audio": "AudioUrl", "document": "DocumentUrl", "video": "VideoUrl"}
_BUCKETS = {"s3": "bedrock", "gcs": "google-cloud"}


def written_media(ai: Any, crossing: Crossing, block: Any, provider: str | None) -> Any:
    """Return an attachment as a content, ``None`` when it has none. ``provider`` holds the file."""
    crossing.lose_hints(block, "detail", "cache")
    source, detail = block.source, block.detail
    value = crossing.clean(source.value, "a source")
    more = {
        "vendor_metadata": None if detail is None else {"detail": crossing.name(detail, "a detail")}
    }
    if source.kind == "base64":
        data = _decoded(crossing, block)
        media_type = crossing.clean(media_type_of(block), "a media type")
        if data is None:
            return None
        # As it is read again: a picture is of a class of its own.
        return ai.BinaryContent.narrow_type(ai.BinaryContent(data, media_type=media_type, **more))
    if source.kind == "url":
        made = getattr(ai, _URLS[block.type])
        return made(value, media_type=crossing.name(source.media_type, "a media type"), **more)
    holder = _BUCKETS.get(address(value)["type"]) or PROVIDERS.get(provider or "")
    if holder is None:
        why = "a file has a holder there: render for the provider that has it"
        crossing.lose("content", f"{block.type} {value!r}", why)
        return None
    media_type = crossing.clean(media_type_of(block), "a media type")
    return ai.UploadedFile(value, holder, media_type=media_type, **more)


def _decoded(crossing: Crossing, block: Any) -> bytes | None:
    try:
        return b64decode(block.source.value, validate=True)
    except ValueError:
        crossing.lose("content", f"a block of type {block.type!r}", "its text is no base64")
        return None


def read_media(crossing: Crossing, content: Any) -> Block:
    """Return the attachment a content is."""
    # What was given, not what is guessed of an address.
    media_type: str | None = cast("Any", vars(content)).get("_media_type")
    if content.kind == "binary":
        data = b64encode(content.data).decode("ascii")
        media_type, source = content.media_type, {"type": "base64", "data": data}
    elif content.kind == "uploaded-file":
        found = address(content.file_id)
        source = found if found["type"] != "url" else {"file_id": content.file_id}
    else:
        source = {"type": "url", "url": content.url}
    kind = content.kind.removesuffix("-url")
    kind = kind if kind in _URLS else kind_of_media(media_type)
    beside: dict[str, Any] = dict(content.vendor_metadata or {})
    detail = beside.pop("detail", None)
    if beside:
        crossing.lose("hint", "vendor_metadata of an attachment")
    known = None if media_type == f"{kind}/*" else media_type
    told = {} if detail is None else {"detail": detail}
    return block_from_dict({"type": kind, "source": {**source, "media_type": known}, **told})
