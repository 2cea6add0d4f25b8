"""Values that several integrations read and write in the same way.

Lists and mappings of other libraries, the sources and media types of attachments, and the
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
MarkedBlock: TypeAlias = TextBlock | MediaBlock | ToolUseBlock | ToolResultBlock
"""The blocks that may have a cache mark."""

SIGNATURE = "thought_signature"
"""The further key of a block with a signature of Gemini."""

JSON = "json"
"""The further key of a text that is the JSON of a value."""

ITEM = "item"
"""The further key of a block with what it was recorded with, which no provider sees as content."""

FROM = "origin_of_keys"
"""The further key of a block with the origin of its others."""

MARK_OF_MESSAGE: JsonObject = {"mark": "message"}
"""What a text was recorded with whose cache mark was that of its message."""

RESPONSES: Final = "openai_responses"
"""The provider whose reasoning has an id and summaries."""


def listed(given: object, name: str) -> list[object]:
    """Return an iterable of messages as a list; :class:`DataError` with their name for others."""
    kind = type(given).__name__
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        return list(cast("Iterable[object]", given))
    raise DataError(f"{name} are needed, not {kind}", fix="give a list of them")


def entries_of(value: object) -> JsonObject:
    """Return a mapping as it is, and an empty one for any other value."""
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}


def items_of(value: object) -> Sequence[JsonValue]:
    """Return a list as it is, and an empty one for any other value."""
    return cast("Sequence[JsonValue]", value) if isinstance(value, list | tuple) else ()


def instruction_role(before: Sequence[Message], *, is_developer: bool) -> tuple[Role, Kind]:
    """Return the role and the kind of an instruction after the messages ``before``.

    A system message after another role is a developer's message that remembers its role.
    """
    if is_developer:
        return "developer", "recorded"
    is_leading = not before or before[-1].role == "system"
    return ("system", "recorded") if is_leading else ("developer", "recorded_system")


def is_developer(message: Message) -> bool:
    """Whether a message is a developer's, and was not read as a system message."""
    return message.role == "developer" and message.kind != "recorded_system"


def signature_of(block: Block) -> str | None:
    """Return the signature of Gemini of a text or a call."""
    if not isinstance(block, TextBlock | ToolUseBlock):
        return None
    signature = block.extra.get(SIGNATURE)
    return signature if isinstance(signature, str) else None


def address_source(url: JsonValue) -> dict[str, JsonValue]:
    """Return the source of an address, in dictionary form: that of a bucket has another key."""
    is_bucket = isinstance(url, str) and url[:5].lower() in ("s3://", "gs://")
    return {"uri" if is_bucket else "url": url}


def media_block(
    kind: str, media_type: JsonValue, source: Mapping[str, JsonValue], **fields: JsonValue
) -> Block:
    """Return an attachment; the media type of ``image/*`` and the like is unknown."""
    known = None if media_type == f"{kind}/*" else media_type
    return block_from_dict({"type": kind, "source": {**source, "media_type": known}, **fields})


def media_kind(media_type: object) -> str:
    """Return the type of the block for a media type; by default it is a document."""
    head = media_type.partition("/")[0] if isinstance(media_type, str) else ""
    return head if head in ("image", "audio", "video") else "document"


def media_type_of(block: MediaBlock) -> str:
    """Return the media type of an attachment, such as ``image/*`` when it is unknown."""
    unknown = "application/octet-stream" if block.type == "document" else f"{block.type}/*"
    return block.source.media_type or unknown


# Reasoning of OpenAI, which other libraries split into one part for each summary.


def summaries(block: ReasoningBlock) -> list[str] | None:
    """Return the summaries whose texts make up the text of a block, ``None`` without them."""
    parts = [entries_of(part) for part in items_of(block.extra.get("summary"))]
    texts = [part["text"] for part in parts if set(part) == {"type", "text"}]
    whole = [text for text in texts if isinstance(text, str)]
    is_whole = len(whole) == len(parts) and "\n\n".join(whole) == block.text
    return whole if is_whole else None


def further_keys(block: ReasoningBlock, *known: str) -> set[str]:
    """Return the further keys of a block, without those ``known`` and its summaries."""
    return set(block.extra) - {*known, *(() if summaries(block) is None else ("summary",))}


def joined_reasoning(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Return blocks, with consecutive reasoning of one id as one block with several summaries."""
    joined: list[Block] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if not isinstance(block, ReasoningBlock) or not isinstance(last, ReasoningBlock):
            joined.append(block)
            continue
        is_bare = block.signature is block.encrypted is None and set(block.extra) == {"id"}
        same_id = block.origin == last.origin and block.extra.get("id") == last.extra.get("id")
        if not is_bare or not same_id:
            joined.append(block)
            continue
        texts = [text for part in (last, block) for text in summaries(part) or [part.text]]
        summary = [{"type": "summary_text", "text": text} for text in texts]
        extra = {**last.extra, "summary": summary}
        joined[-1] = attrs.evolve(last, text="\n\n".join(texts), extra=extra)
    return tuple(joined)
