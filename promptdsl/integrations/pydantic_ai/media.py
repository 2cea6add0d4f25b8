"""Attachments, both ways: an address, bytes, or a file that a provider stores."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import TypeAlias

from pydantic_ai import messages as ai

from promptdsl import Block
from promptdsl.foundation.json import JsonValue
from promptdsl.integrations.losses import Conversion
from promptdsl.integrations.values import (
    MediaBlock,
    address_source,
    media_block,
    media_kind,
    media_type_of,
)

DEVELOPER = {"role": "developer"}
"""The metadata of a system prompt that is a developer message."""

PROVIDERS: Mapping[str, ai.UploadedFileProviderName] = {
    "openai": "openai",
    "openai_responses": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
    "bedrock": "bedrock",
}
"""Pydantic AI's name of a provider, by our name."""

ORIGINS = {
    **dict.fromkeys(("openai", "azure"), "openai_responses"),
    **dict.fromkeys(("google", "google-cloud", "google-gla", "google-vertex"), "gemini"),
}
"""Our name of the provider of reasoning, by Pydantic AI's name if that is different."""

ITEM_DETAILS = ("phase", "namespace")
"""The provider details of a text or a call that Pydantic AI sends back to OpenAI Responses."""

REDACTED = ("redacted_thinking", "redacted_content")
"""The ids that Pydantic AI gives Claude's encrypted reasoning."""

FileUrl: TypeAlias = ai.ImageUrl | ai.AudioUrl | ai.DocumentUrl | ai.VideoUrl
Media: TypeAlias = FileUrl | ai.BinaryContent | ai.UploadedFile

_URLS: Mapping[str, type[FileUrl]] = {
    "image": ai.ImageUrl,
    "audio": ai.AudioUrl,
    "document": ai.DocumentUrl,
    "video": ai.VideoUrl,
}
_BUCKETS: Mapping[str, ai.UploadedFileProviderName] = {
    "s3://": "bedrock",
    "gs://": "google-cloud",
}
"""The owner of a bucket, by the scheme of its address."""


def written_media(conversion: Conversion, block: MediaBlock, provider: str | None) -> Media | None:
    """Return the content of an attachment, ``None`` if it is lost.

    ``provider`` is the one that stores files.
    """
    conversion.lose_hints(block, "detail", "cache")
    source = block.source
    value = conversion.clean(source.value, "a source")
    detail = conversion.clean_optional(block.detail, "a detail")
    metadata = None if detail is None else {"detail": detail}
    if source.kind == "url":
        media_type = conversion.clean_optional(source.media_type, "a media type")
        return _URLS[block.type](value, media_type=media_type, vendor_metadata=metadata)
    if source.kind == "base64":
        media_type = conversion.clean(media_type_of(block), "a media type")
        try:
            data = b64decode(source.value, validate=True)
        except ValueError:
            name = f"a block of type {block.type!r}"
            conversion.lose("content", name, "its text is not base64", block=block)
            return None
        # Pydantic AI has a separate class for a picture.
        content = ai.BinaryContent(data, media_type=media_type, vendor_metadata=metadata)
        return ai.BinaryContent.narrow_type(content)
    owner = _BUCKETS.get(value[:5].lower()) or PROVIDERS.get(provider or "")
    if owner is None:
        reason = "a file id belongs to a provider: render for the provider that stores the file"
        conversion.lose("content", f"{block.type} {value!r}", reason, block=block)
        return None
    media_type = conversion.clean(media_type_of(block), "a media type")
    return ai.UploadedFile(value, owner, media_type=media_type, vendor_metadata=metadata)


def read_media(conversion: Conversion, content: Media) -> Block:
    """Return the attachment of a content."""
    kind: str = content.kind.removesuffix("-url")
    source: dict[str, JsonValue]
    if isinstance(content, ai.BinaryContent):
        media_type: JsonValue = content.media_type
        source = {"data": b64encode(content.data).decode("ascii")}
    else:
        # The declared media type. Pydantic AI's property guesses one from the address.
        media_type = vars(content).get("_media_type")
        if isinstance(content, ai.UploadedFile):
            source = address_source(content.file_id)
            source = {"file_id": content.file_id} if "url" in source else source
        else:
            source = {"url": content.url}
    kind = kind if kind in _URLS else media_kind(media_type)
    metadata = dict(content.vendor_metadata or {})
    detail = metadata.pop("detail", None)
    if metadata:
        conversion.hint("unsent_key", "vendor_metadata of an attachment")
    return media_block(kind, media_type, source, detail=detail)
