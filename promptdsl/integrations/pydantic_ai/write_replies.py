"""Writing: what a model said becomes the parts of a response."""

from collections.abc import Iterator
from typing import Any

from promptdsl import (
    AudioBlock,
    Block,
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
    further,
    items_of,
    summaries,
)


class Writing(Crossing):
    """A crossing to Pydantic AI.

    ``ai`` is its module of messages, ``provider`` the render's target, ``called`` the name of the
    tool that each call was made to.
    """

    ai: Any
    provider: str | None
    called: dict[str, str]


def written_reply(w: Writing, said: Message) -> Iterator[Any]:
    """Yield the parts of what a model said."""
    for block in said.content:
        match block:
            case TextBlock():
                yield from _text(w, block)
            case ReasoningBlock():
                yield from _thoughts(w, block)
            case ToolUseBlock():
                yield _call(w, block)
            case ImageBlock() | AudioBlock() | DocumentBlock() | VideoBlock():
                w.lose_hints(block, "title", "detail", "extra")
                yield from _file(w, block)
            case _:
                w.lose_block(block)


def _call(w: Writing, block: ToolUseBlock) -> Any:
    id, name = w.id(block.id), w.clean(block.name, "a tool's name")
    w.called[id] = name
    return w.ai.ToolCallPart(name, w.clean_json(block.arguments), id, **_signed(w, block))


def _text(w: Writing, block: TextBlock) -> Iterator[Any]:
    signed = _signed(w, block)
    text = w.clean(block.text, "a text")
    yield from [w.ai.TextPart(text, **signed)] if text or signed else ()


def _signed(w: Writing, block: Any) -> dict[str, Any]:
    """Return the signature of Gemini's that a block has; all else it says beside is lost."""
    signature = block.extra.get(SIGNATURE)
    if not isinstance(signature, str):
        w.lose_hints(block)
        return {}
    w.lose_hints(block, "extra")
    if len(block.extra) > 1:
        w.lose("hint", "further keys of a block")
    return _details(w, signature)


def _details(w: Writing, signature: str) -> dict[str, Any]:
    details = {SIGNATURE: w.clean(signature, "a signature")}
    return {"provider_name": PROVIDERS["gemini"], "provider_details": details}


def _file(w: Writing, block: Block) -> Iterator[Any]:
    content = written_media(w.ai, w, block, w.provider)
    if isinstance(content, w.ai.BinaryContent):
        yield w.ai.FilePart(content)
    elif content is not None:
        w.lose("content", f"a block of type {block.type!r}", "a response holds bytes alone")


def _thoughts(w: Writing, block: ReasoningBlock) -> Iterator[Any]:
    """Yield a thought; of OpenAI's a part for each summary, under one id."""
    if block.origin == RESPONSES:
        yield from _items(w, block)
        return
    w.lose_hints(block)
    text = w.clean(block.text, "reasoning")
    signature = block.signature if block.encrypted is None else block.encrypted
    if block.signature not in (None, signature):
        w.lose("hint", "the signature of reasoning", "it is encrypted beside it")
    if block.origin == "gemini" and signature is not None:
        # The signature of a thought would be sent with the part behind it.
        yield w.ai.ThinkingPart(text, **_details(w, signature))
        return
    redacted = block.encrypted is not None and block.origin == "anthropic"
    yield w.ai.ThinkingPart(
        text,
        id=REDACTED[0] if redacted else None,
        signature=w.name(signature, "a signature"),
        provider_name=w.name(PROVIDERS.get(block.origin or "", block.origin), "a provider"),
    )


def _items(w: Writing, block: ReasoningBlock) -> Iterator[Any]:
    if further(block, "id", "content", "status"):
        w.lose("hint", "further keys of a block")
    if block.signature is not None:
        w.lose("hint", "the signature of reasoning", "it is encrypted beside it")
    id = block.extra.get("id")
    named = {"id": w.clean(id, "an id") if isinstance(id, str) else None, "provider_name": "openai"}
    first, *rest = [w.clean(text, "reasoning") for text in summaries(block)]
    raw = _raw(w, block)
    encrypted = w.name(block.encrypted, "a signature")
    details = {"provider_details": {"raw_content": raw}} if raw else {}
    yield w.ai.ThinkingPart(first, signature=encrypted, **details, **named)
    yield from (w.ai.ThinkingPart(text, **named) for text in rest)


def _raw(w: Writing, block: ReasoningBlock) -> list[str]:
    """Return the texts of a thought itself, which some models show."""
    parts = items_of(block.extra.get("content"))
    texts = [entries_of(part).get("text") for part in parts]
    kept = [w.clean(text, "reasoning") for text in texts if isinstance(text, str)]
    if len(kept) < len(parts):
        w.lose("hint", "further keys of a block")
    return kept
