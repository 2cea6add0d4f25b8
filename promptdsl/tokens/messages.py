"""The tokens of a neutral message, before it is written for a provider."""

from promptdsl.config.model_facts import ModelFacts
from promptdsl.messages import (
    Block,
    DataBlock,
    MediaBlock,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from promptdsl.messages.description import default_text
from promptdsl.messages.details import NO_DETAILS
from promptdsl.messages.message import Message, results_in
from promptdsl.tokens.attachments import (
    AttachedMedia,
    attachment_tokens,
    is_textual,
    media_at,
    pixels,
)
from promptdsl.tokens.count import TextTokens
from promptdsl.tokens.frames import PER_MESSAGE, PER_NAME
from promptdsl.tokens.payload_parts import unknown_tokens


def message_tokens(message: Message, tokens: TextTokens, facts: ModelFacts) -> int:
    """Return the tokens of a message: its frame, role, name and blocks.

    - The frame is OpenAI's: 3 tokens, and 1 more for a name.
    - A call counts as the name of its tool and its arguments.
    - A result counts as its content, the name of its tool and the type of its error.
    - Reasoning counts by its text, because the length of encrypted reasoning is unknown.
    - Attachments are estimates (:func:`attachment_tokens`). A kind that the target does not take
      is not sent, and has no tokens.
    - Ids, cache marks and signatures have no tokens.
    """
    total = PER_MESSAGE + tokens.of(message.role)
    if message._details is not NO_DETAILS and message._details.name:
        total += PER_NAME + tokens.of(message._details.name)
    if message._plain is not None:
        return total + tokens.of(message._plain)
    return total + sum(block_tokens(block, tokens, facts) for block in message.content)


def block_tokens(block: Block, tokens: TextTokens, facts: ModelFacts) -> int:
    """Return the tokens of a block, without the frame of its message."""
    if isinstance(block, TextBlock):
        return tokens.of(block.text)
    if isinstance(block, ToolUseBlock):
        return tokens.of(block.name) + tokens.of(block.arguments)
    if isinstance(block, ToolResultBlock):
        total = tokens.of(block.name) if block.name else 0
        if block.is_error:
            total += tokens.of(f"Error: {block.error_type or ''}")
        for inner in block.content:
            total += block_tokens(inner, tokens, facts)
        return total
    if isinstance(block, ReasoningBlock):
        return tokens.of(block.text)
    if isinstance(block, MediaBlock):
        if not _is_sent(block, facts):
            return 0
        title = tokens.of(block.title) if block.title else 0
        return title + attachment_tokens(_attached(block), tokens, facts)
    if isinstance(block, DataBlock):
        return tokens.of(default_text(block))
    data = block.data if isinstance(block, UnknownBlock) else block.to_dict()
    return sum(unknown_tokens(data, tokens, facts))


def _is_sent(block: MediaBlock, facts: ModelFacts) -> bool:
    """Return whether a target takes attachments of this kind; text may be sent as text."""
    if not facts.provider or block.type in facts.media:
        return True
    return block.type == "document" and is_textual(block.source.media_type)


def assumes_size(block: Block) -> bool:
    """Return whether a block is a picture of unknown size, or a result that has one."""
    if isinstance(block, ToolResultBlock):
        return any(map(assumes_size, block.content))
    if not isinstance(block, MediaBlock) or block.type != "image":
        return False
    return pixels(_attached(block).data) is None


def _attached(block: MediaBlock) -> AttachedMedia:
    source, detail = block.source, block.detail or block.extra.get("media_resolution")
    if source.kind == "base64":
        return AttachedMedia(block.type, source.value, source.media_type, detail)
    address = source.value if source.kind == "url" else None
    return media_at(block.type, address, source.media_type, detail)


def has_media(message: Message) -> bool:
    """Return whether a message has an attachment, also in the result of a tool."""
    if message._plain is not None:
        return False
    inner = (block for result in results_in(message) for block in result.content)
    return any(isinstance(block, MediaBlock) for block in (*message.content, *inner))
