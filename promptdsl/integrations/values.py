"""Values that several integrations read and write in the same way.

These are lists and mappings of other libraries, the sources and media types of attachments, and the
summaries of OpenAI's reasoning, which other libraries split into several parts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias, cast

import attrs

from promptdsl import (
    AudioBlock,
    Block,
    DataError,
    DocumentBlock,
    ImageBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
    block_from_dict,
)
from promptdsl.foundation.json import JsonObject, JsonValue

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
Kind: TypeAlias = Literal["recorded", "recorded_system"]
MediaBlock: TypeAlias = ImageBlock | AudioBlock | DocumentBlock | VideoBlock
CacheableBlock: TypeAlias = TextBlock | MediaBlock | ToolUseBlock | ToolResultBlock
"""The blocks that may have a cache mark."""

SIGNATURE = "thought_signature"
"""The key in ``extra`` of a block with a signature of Gemini."""

JSON = "json"
"""The key in ``extra`` of a text that is the JSON of a value."""

ITEM = "item"
"""The key in ``extra`` of a block with data that was recorded with it.

No provider gets this data as content.
"""

ORIGIN_KEY = "origin_of_keys"
"""The key in ``extra`` of a block with the origin of its other keys there."""

MESSAGE_CACHE_MARK: JsonObject = {"mark": "message"}
"""The ``ITEM`` of a text whose cache mark was the mark of its message."""

RESPONSES: Final = "openai_responses"
"""The provider whose reasoning has an id and summaries."""


def listed(messages: object, name: str) -> list[object]:
    """Return an iterable of messages as a list.

    Raises :class:`DataError`, which has the ``name`` of the messages, for anything else.
    """
    kind = type(messages).__name__
    if isinstance(messages, Iterable) and not isinstance(messages, str | bytes | Mapping):
        return list(cast("Iterable[object]", messages))
    raise DataError(f"{name} are needed, not {kind}", fix="give a list of them")


def mapping_of(value: object) -> JsonObject:
    """Return a mapping unchanged, and an empty mapping for any other value."""
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}


def list_of(value: object) -> Sequence[JsonValue]:
    """Return a list unchanged, and an empty sequence for any other value."""
    return cast("Sequence[JsonValue]", value) if isinstance(value, list | tuple) else ()


def instruction_role(before: Sequence[Message], *, is_developer: bool) -> tuple[Role, Kind]:
    """Return the role and the kind of an instruction after the messages ``before``.

    A system message after a message of another role becomes a developer message; its kind is
    ``recorded_system``.
    """
    if is_developer:
        return "developer", "recorded"
    is_leading = not before or before[-1].role == "system"
    return ("system", "recorded") if is_leading else ("developer", "recorded_system")


def is_developer(message: Message) -> bool:
    """Return whether a message is a developer message that was not read as a system message."""
    return message.role == "developer" and message.kind != "recorded_system"


def signature_of(block: Block) -> str | None:
    """Return Gemini's signature of a text or a call, ``None`` without one."""
    if not isinstance(block, TextBlock | ToolUseBlock):
        return None
    signature = block.extra.get(SIGNATURE)
    return signature if isinstance(signature, str) else None


def address_source(url: JsonValue) -> dict[str, JsonValue]:
    """Return the source of an address as a dictionary. The address of a bucket has another key."""
    is_bucket = isinstance(url, str) and url[:5].lower() in ("s3://", "gs://")
    return {"uri" if is_bucket else "url": url}


def media_block(
    kind: str, media_type: JsonValue, source: Mapping[str, JsonValue], **fields: JsonValue
) -> Block:
    """Return an attachment. A media type such as ``image/*`` counts as unknown."""
    known = None if media_type == f"{kind}/*" else media_type
    return block_from_dict({"type": kind, "source": {**source, "media_type": known}, **fields})


def media_kind(media_type: object) -> str:
    """Return the type of the block for a media type, by default ``"document"``."""
    head = media_type.partition("/")[0] if isinstance(media_type, str) else ""
    return head if head in ("image", "audio", "video") else "document"


def media_type_of(block: MediaBlock) -> str:
    """Return the media type of an attachment, or one such as ``image/*`` if it is unknown."""
    unknown = "application/octet-stream" if block.type == "document" else f"{block.type}/*"
    return block.source.media_type or unknown


# OpenAI's reasoning: other libraries split it into one part for each summary.


def summaries(block: ReasoningBlock) -> list[str] | None:
    """Return the summaries of a block if they make up its text, else ``None``."""
    parts = [mapping_of(part) for part in list_of(block.extra.get("summary"))]
    texts = [part["text"] for part in parts if set(part) == {"type", "text"}]
    summary_texts = [text for text in texts if isinstance(text, str)]
    is_complete = len(summary_texts) == len(parts) and "\n\n".join(summary_texts) == block.text
    return summary_texts if is_complete else None


def further_keys(block: ReasoningBlock, *known: str) -> set[str]:
    """Return the keys in ``extra`` of a block, without the ``known`` ones and its summaries."""
    return set(block.extra) - {*known, *(() if summaries(block) is None else ("summary",))}


def joined_reasoning(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Return blocks in which consecutive reasoning with the same id is one block.

    That block has several summaries.
    """
    joined: list[Block] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if not isinstance(block, ReasoningBlock) or not isinstance(last, ReasoningBlock):
            joined.append(block)
            continue
        has_only_id = block.signature is block.encrypted is None and set(block.extra) == {"id"}
        same_id = block.origin == last.origin and block.extra.get("id") == last.extra.get("id")
        if not has_only_id or not same_id:
            joined.append(block)
            continue
        texts = [text for part in (last, block) for text in summaries(part) or [part.text]]
        summary = [{"type": "summary_text", "text": text} for text in texts]
        extra = {**last.extra, "summary": summary}
        joined[-1] = attrs.evolve(last, text="\n\n".join(texts), extra=extra)
    return tuple(joined)
