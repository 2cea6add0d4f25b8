"""How many tokens a message is, before a provider's form is known."""

from collections.abc import Callable, Mapping
from typing import Any

from promptdsl import messages as b
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.escaping import json_text
from promptdsl.messages.details import NO_DETAILS
from promptdsl.messages.message import Message
from promptdsl.tokens.attachments import Attachment, attachment, attachment_tokens
from promptdsl.tokens.count import TextTokens
from promptdsl.tokens.frames import PER_MESSAGE, PER_NAME
from promptdsl.tokens.payload_parts import unknown_tokens


def message_tokens(message: Message, tokens: TextTokens, facts: ModelFacts) -> int:
    """Return how many tokens a message is: its frame, role, name and blocks.

    The frame is OpenAI's: 3, and 1 beside a name. A call is its tool's name and its arguments, a
    result what it holds, the tool's name and the type of an error. Reasoning counts by its text: of
    what is encrypted nobody outside knows the length. Ids, marks and signatures count nothing.
    Attachments are estimates (:func:`attachment_tokens`).
    """
    total = PER_MESSAGE + tokens.of(message.role)
    if message.details is not NO_DETAILS and message.details.name:
        total += PER_NAME + tokens.of(message.details.name)
    if message.plain is not None:
        return total + tokens.of(message.plain)
    return total + sum(block_tokens(block, tokens, facts) for block in message.content)


def block_tokens(block: b.Block, tokens: TextTokens, facts: ModelFacts) -> int:
    """Return how many tokens a block is, its message's frame left out."""
    return _COUNTERS[type(block)](block, tokens, facts)


def has_media(message: Message) -> bool:
    """Return whether an attachment is anywhere in a message."""
    if message.plain is not None:
        return False
    results = [block for block in message.content if isinstance(block, b.ToolResultBlock)]
    inner = (one for block in results for one in block.content)
    return any(isinstance(block, b.MediaBlock) for block in (*message.content, *inner))


def _text(block: Any, tokens: TextTokens, _: ModelFacts) -> int:
    return tokens.of(block.text)


def _call(block: b.ToolUseBlock, tokens: TextTokens, _: ModelFacts) -> int:
    return tokens.of(block.name) + tokens.of(block.arguments)


def _result(block: b.ToolResultBlock, tokens: TextTokens, facts: ModelFacts) -> int:
    total = sum(block_tokens(inner, tokens, facts) for inner in block.content)
    if block.is_error:
        total += tokens.of(f"Error: {block.error_type or ''}")
    return total + (tokens.of(block.name) if block.name else 0)


def _media(block: b.MediaBlock, tokens: TextTokens, facts: ModelFacts) -> int:
    source, detail = block.source, block.detail or block.extra.get("media_resolution")
    if source.kind == "base64":
        level = detail if isinstance(detail, str) else None
        held = Attachment(block.type, source.value, source.media_type, level)
    else:
        address = source.value if source.kind == "url" else None
        held = attachment(block.type, address, source.media_type, detail)
    titled = tokens.of(block.title) if block.title else 0
    return titled + attachment_tokens(held, tokens, facts)


def _json(block: b.JsonBlock, tokens: TextTokens, _: ModelFacts) -> int:
    return tokens.of(json_text(block.value))


def _code(block: b.CodeBlock, tokens: TextTokens, _: ModelFacts) -> int:
    # Recorded code is sent in these fences whatever the format of the prompt around it.
    return tokens.of(f"```{block.language or ''}\n{block.text}\n```")


def _unknown(block: b.UnknownBlock, tokens: TextTokens, facts: ModelFacts) -> int:
    return sum(unknown_tokens(block.data, tokens, facts))


def _event(block: b.EventBlock, tokens: TextTokens, facts: ModelFacts) -> int:
    return sum(unknown_tokens(block.to_dict(), tokens, facts))


_COUNTERS: Mapping[type, Callable[[Any, TextTokens, ModelFacts], int]] = {
    **dict.fromkeys((b.TextBlock, b.ReasoningBlock), _text),
    b.ToolUseBlock: _call,
    b.ToolResultBlock: _result,
    **dict.fromkeys((b.ImageBlock, b.AudioBlock, b.DocumentBlock, b.VideoBlock), _media),
    **dict.fromkeys((b.UserActionBlock, b.StateChangeBlock, b.SystemEventBlock), _event),
    b.JsonBlock: _json,
    b.CodeBlock: _code,
    b.UnknownBlock: _unknown,
}
