"""Write a model's reply as the parts of a response."""

from collections.abc import Iterator

from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)

from promptdsl import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolUseBlock,
    VideoBlock,
)
from promptdsl.integrations.losses import Crossing
from promptdsl.integrations.pydantic_ai.media import PROVIDERS, REDACTED, written_media
from promptdsl.integrations.values import (
    RESPONSES,
    SIGNATURE,
    entries_of,
    further_keys,
    items_of,
    summaries,
)


class PydanticAIWriter(Crossing):
    """A crossing to Pydantic AI.

    ``provider`` is the target of the render, ``called`` the name of the called tool by call id.
    """

    provider: str | None
    called: dict[str, str]


def reply_parts(writer: PydanticAIWriter, message: Message) -> Iterator[ModelResponsePart]:
    """Yield the parts of a model's message."""
    gemini = PROVIDERS["gemini"]
    for block in message.content:
        match block:
            case TextBlock():
                signed = _signature_details(writer, block)
                text = writer.clean(block.text, "a text")
                name = gemini if signed else None
                if text or signed:
                    yield TextPart(text, provider_name=name, provider_details=signed)
            case ToolUseBlock():
                id, tool = writer.clean_id(block.id), writer.clean(block.name, "a tool's name")
                writer.called[id] = tool
                arguments = writer.clean_json(block.arguments)
                signed = _signature_details(writer, block)
                name = gemini if signed else None
                yield ToolCallPart(tool, arguments, id, provider_name=name, provider_details=signed)
            case ReasoningBlock():
                yield from _thinking_parts(writer, block)
            case ImageBlock() | AudioBlock() | DocumentBlock() | VideoBlock():
                writer.lose_hints(block, "title", "detail", "extra")
                content = written_media(writer, block, writer.provider)
                if isinstance(content, BinaryContent):
                    yield FilePart(content)
                elif content is not None:
                    why = "a response takes files only as bytes"
                    writer.lose("content", f"a block of type {block.type!r}", why)
            case _:
                writer.lose_block(block)


def _signature_details(
    writer: PydanticAIWriter, block: TextBlock | ToolUseBlock
) -> dict[str, str] | None:
    """Return the details with the signature of Gemini of a block; its other keys are lost."""
    signature = block.extra.get(SIGNATURE)
    if not isinstance(signature, str):
        writer.lose_hints(block)
        return None
    writer.lose_hints(block, "extra")
    if len(block.extra) > 1:
        writer.lose("hint", "further keys of a block")
    return {SIGNATURE: writer.clean(signature, "a signature")}


def _thinking_parts(writer: PydanticAIWriter, block: ReasoningBlock) -> Iterator[ThinkingPart]:
    """Yield the part of a reasoning block; of OpenAI's a part for each summary, under one id."""
    if block.origin == RESPONSES:
        yield from _item_parts(writer, block)
        return
    writer.lose_hints(block)
    text = writer.clean(block.text, "reasoning")
    signature = block.signature if block.encrypted is None else block.encrypted
    if block.signature not in (None, signature):
        writer.lose("hint", "the signature of reasoning", "it is encrypted beside it")
    if block.origin == "gemini" and signature is not None:
        # As a signature of the part, Pydantic AI would send it with the part after it.
        details = {SIGNATURE: writer.clean(signature, "a signature")}
        yield ThinkingPart(text, provider_name=PROVIDERS["gemini"], provider_details=details)
        return
    is_redacted = block.encrypted is not None and block.origin == "anthropic"
    provider = PROVIDERS.get(block.origin or "", block.origin)
    yield ThinkingPart(
        text,
        id=REDACTED[0] if is_redacted else None,
        signature=writer.clean_optional(signature, "a signature"),
        provider_name=writer.clean_optional(provider, "a provider"),
    )


def _item_parts(writer: PydanticAIWriter, block: ReasoningBlock) -> Iterator[ThinkingPart]:
    """Yield the parts of a reasoning item of OpenAI Responses."""
    if further_keys(block, "id", "content", "status"):
        writer.lose("hint", "further keys of a block")
    if block.signature is not None:
        writer.lose("hint", "the signature of reasoning", "it is encrypted beside it")
    id = block.extra.get("id")
    id = writer.clean(id, "an id") if isinstance(id, str) else None
    first, *rest = [writer.clean(text, "reasoning") for text in summaries(block) or [block.text]]
    # The texts of the reasoning itself, which some models show.
    contents = items_of(block.extra.get("content"))
    texts = [entries_of(part).get("text") for part in contents]
    raw = [writer.clean(text, "reasoning") for text in texts if isinstance(text, str)]
    if len(raw) < len(contents):
        writer.lose("hint", "further keys of a block")
    yield ThinkingPart(
        first,
        id=id,
        signature=writer.clean_optional(block.encrypted, "a signature"),
        provider_name="openai",
        provider_details={"raw_content": raw} if raw else None,
    )
    for text in rest:
        yield ThinkingPart(text, id=id, provider_name="openai")
