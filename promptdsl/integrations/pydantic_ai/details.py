"""Pydantic AI's token counts, finish reasons and attachments, both ways.

In this order: token counts and finish reasons; names and keys of Pydantic AI; and attachments.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import TypeAlias

from pydantic_ai import messages as ai
from pydantic_ai.usage import RequestUsage

from promptdsl import Block, Message
from promptdsl.foundation.json import JsonValue
from promptdsl.integrations.shared import (
    Conversion,
    MediaBlock,
    address_source,
    media_block,
    media_kind,
    media_type_of,
)

# Token counts and finish reasons, both ways.

_COUNT_NAMES = {
    **{"input": "input_tokens", "output": "output_tokens", "total": "total_tokens"},
    **{"cache_read": "cache_read_tokens", "cache_write": "cache_write_tokens"},
    "reasoning": "output_reasoning_tokens",
}
"""Pydantic AI's name of a count, by promptdsl's name."""

_FINISH_REASONS: Mapping[str | None, ai.FinishReason] = {
    **{"stop": "stop", "length": "length", "error": "error"},
    **{"tool_use": "tool_call", "filtered": "content_filter"},
}
"""Pydantic AI's finish reason, by promptdsl's reason."""

_RAW_REASONS = {"refusal": "refused", "refused": "refused", "pause_turn": "paused"}
"""promptdsl's reason, by raw reasons for which Pydantic AI has a less exact reason or none."""


def written_usage(writer: Conversion, message: Message) -> RequestUsage:
    """Return Pydantic AI's token counts.

    A count that Pydantic AI does not have becomes a hint, and so does a total that is not its sum
    of input and output.
    """
    counts = writer.renamed_counts(message.token_usage or {}, _COUNT_NAMES)
    usage, total = RequestUsage(), counts.pop("total_tokens", None)
    for name, count in counts.items():
        setattr(usage, name, count)
    if total not in (None, usage.total_tokens):
        writer.hint("unsent_key", "the token count 'total'")
    return usage


def read_usage(conversion: Conversion, usage: RequestUsage) -> Mapping[str, int] | None:
    """Return promptdsl's token counts of a response; ``None`` without counts."""
    counts_in_usage = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    fields: dict[str, object] = {**counts_in_usage, "total_tokens": usage.total_tokens}
    # Older responses have the tokens of reasoning only in the details.
    if reasoning := usage.details.get("reasoning_tokens"):
        fields["output_reasoning_tokens"] = reasoning
    fields |= {
        key: count for key, count in vars(usage).items() if key.endswith("_tokens") and count
    }
    names = {their_name: our_name for our_name, their_name in _COUNT_NAMES.items()}
    counts = conversion.renamed_counts(fields, names)
    return counts if any(counts.values()) else None


def written_reason(
    writer: Conversion, message: Message
) -> tuple[ai.FinishReason | None, dict[str, str] | None]:
    """Return the finish reason of Pydantic AI, and its details.

    The details have the raw reason, or promptdsl's reason if Pydantic AI's reason is less exact. A
    raw reason becomes a hint if ``read_reasons`` would not return promptdsl's reason again.
    """
    reason = writer.clean_optional(message.finish_reason, "a finish reason")
    detail = writer.clean_optional(message.raw_finish_reason, "a finish reason")
    exact_reason = reason if reason in _FINISH_REASONS else None
    if not reason or _RAW_REASONS.get(detail or "", exact_reason) != reason:
        if detail is not None:
            writer.hint("unsent_key", f"the finish reason {detail!r} of the provider")
        detail = None if exact_reason else reason
    name = "content_filter" if reason == "refused" else _FINISH_REASONS.get(reason)
    return name, None if detail is None else {"finish_reason": detail}


def read_reasons(response: ai.ModelResponse) -> tuple[str | None, str | None]:
    """Return the finish reason of a response, and the raw reason if that is different.

    If Pydantic AI has no reason, the raw reason is the reason.
    """
    details = response.provider_details or {}
    raw: object = details.get("finish_reason")
    raw = raw if isinstance(raw, str) else None
    reason = "paused" if response.state == "suspended" else None
    if details.get("refusal"):
        reason = "refused"
    elif raw and (raw in _RAW_REASONS or response.finish_reason is None):
        reason = _RAW_REASONS.get(raw, raw)
    elif response.finish_reason:
        reason = {their_name: our_name for our_name, their_name in _FINISH_REASONS.items()}[
            response.finish_reason
        ]
    return reason, None if raw == reason else raw


# Names and keys of Pydantic AI.

DEVELOPER = {"role": "developer"}
"""The metadata of a system prompt that is a developer message."""

PROVIDERS: Mapping[str, ai.UploadedFileProviderName] = {
    "openai": "openai",
    "openai_responses": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
    "bedrock": "bedrock",
}
"""Pydantic AI's name of a provider, by promptdsl's name."""

ORIGINS = {
    **dict.fromkeys(("openai", "azure"), "openai_responses"),
    **dict.fromkeys(("google", "google-cloud", "google-gla", "google-vertex"), "gemini"),
}
"""promptdsl's name of the provider of reasoning, by Pydantic AI's name if the names differ."""

ITEM_DETAILS = ("phase", "namespace")
"""The provider details of a text or a call that Pydantic AI sends back to OpenAI Responses."""

REDACTED_IDS = ("redacted_thinking", "redacted_content")
"""The ids that Pydantic AI gives to Claude's encrypted reasoning."""

# Attachments, both ways: an address, bytes, or a file that a provider stores.

FileUrl: TypeAlias = ai.ImageUrl | ai.AudioUrl | ai.DocumentUrl | ai.VideoUrl
Media: TypeAlias = FileUrl | ai.BinaryContent | ai.UploadedFile

_URL_CLASSES: Mapping[str, type[FileUrl]] = {
    "image": ai.ImageUrl,
    "audio": ai.AudioUrl,
    "document": ai.DocumentUrl,
    "video": ai.VideoUrl,
}
"""Pydantic AI's class for an address, by the type of the block."""
_BUCKET_OWNERS: Mapping[str, ai.UploadedFileProviderName] = {
    "s3://": "bedrock",
    "gs://": "google-cloud",
}
"""The owner of a bucket, by the scheme of its address."""


def written_media(conversion: Conversion, block: MediaBlock, provider: str | None) -> Media | None:
    """Return Pydantic AI's content for an attachment; ``None`` if the attachment is lost.

    ``provider`` is the provider that stores the file of a file id.
    """
    conversion.lose_hints(block, "detail", "cache")
    source = block.source
    value = conversion.clean(source.value, "a source")
    # Pydantic AI has the detail of a picture only in the metadata for the provider.
    detail = conversion.clean_optional(block.detail, "a detail")
    metadata = None if detail is None else {"detail": detail}
    if source.kind == "url":
        media_type = conversion.clean_optional(source.media_type, "a media type")
        return _URL_CLASSES[block.type](value, media_type=media_type, vendor_metadata=metadata)
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
    owner = _BUCKET_OWNERS.get(value[:5].lower()) or PROVIDERS.get(provider or "")
    if owner is None:
        reason = "a file id belongs to a provider: render for the provider that stores the file"
        conversion.lose("content", f"{block.type} {value!r}", reason, block=block)
        return None
    media_type = conversion.clean(media_type_of(block), "a media type")
    return ai.UploadedFile(value, owner, media_type=media_type, vendor_metadata=metadata)


def read_media(conversion: Conversion, content: Media) -> Block:
    """Return the block for an attachment of Pydantic AI."""
    kind: str = content.kind.removesuffix("-url")
    source: dict[str, JsonValue]
    if isinstance(content, ai.BinaryContent):
        media_type: JsonValue = content.media_type
        source = {"data": b64encode(content.data).decode("ascii")}
    else:
        # Use the declared media type: the property of Pydantic AI guesses it from the address.
        media_type = vars(content).get("_media_type")
        if isinstance(content, ai.UploadedFile):
            source = address_source(content.file_id)
            source = {"file_id": content.file_id} if "url" in source else source
        else:
            source = {"url": content.url}
    kind = kind if kind in _URL_CLASSES else media_kind(media_type)
    metadata = dict(content.vendor_metadata or {})
    detail = metadata.pop("detail", None)
    if metadata:
        conversion.hint("unsent_key", "vendor_metadata of an attachment")
    return media_block(kind, media_type, source, detail=detail)
