"""Blocks as parts of a content: LangChain's standard ones, and those a provider sent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from promptdsl import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    MediaSource,
    ReasoningBlock,
    TextBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from promptdsl.integrations.langchain.reasoning import NATIVE, PROVIDERS, written_thought
from promptdsl.integrations.losses import Crossing
from promptdsl.integrations.values import SIGNATURE


class Writing(Crossing):
    """A crossing to LangChain.

    ``lc`` is its module of messages, ``origin`` whose message is at hand, by our name.
    """

    lc: Any
    origin: str | None

    @property
    def metadata(self) -> dict[str, str]:
        """What a message says of its provider, nothing where it has none."""
        return {} if self.origin is None else {"model_provider": PROVIDERS[self.origin]}


def origin_of(blocks: Iterable[Block]) -> str | None:
    """Return the provider whose the blocks are: the first that LangChain has a name for."""
    # Not the first of them: what comes back stands in another order.
    found = {_origin(block) for block in blocks}
    return next((origin for origin in PROVIDERS if origin in found), None)


def _origin(block: Block) -> str | None:
    if type(block) is ReasoningBlock:
        return block.origin
    if type(block) is UnknownBlock:
        return block.origin if block.origin in NATIVE else None
    return "gemini" if signature_of(block) is not None else None


def signature_of(block: Block) -> str | None:
    """Return the signature of Gemini's that a text or a call has."""
    if type(block) is not TextBlock and type(block) is not ToolUseBlock:
        return None
    signature = block.extra.get(SIGNATURE)
    return signature if isinstance(signature, str) else None


def lose_hints(w: Writing, block: Any) -> None:
    """Record what a text or a call says beside its content and its signature."""
    signed = signature_of(block) is not None
    w.lose_hints(block, *(("extra",) if signed else ()))
    if signed and len(block.extra) > 1:
        w.lose("hint", "further keys of a block")


def is_refusal(block: Block) -> bool:
    """Whether a block is a refusal, which stands beside the content there."""
    return type(block) is TextBlock and block.extra.get("refusal") is True


def content_of(w: Writing, blocks: Sequence[Block]) -> str | list[Any]:
    """Return one text as a string, all else as standard content blocks."""
    parts = [part for block in blocks if not is_refusal(block) for part in _parts(w, block)]
    if not parts:
        return ""
    plain = len(parts) == 1 and parts[0].keys() == {"type", "text"}
    return str(parts[0]["text"]) if plain else parts


def _parts(w: Writing, block: Block) -> list[dict[str, Any]]:
    match block:
        case TextBlock():
            return _text(w, block)
        case ImageBlock() | AudioBlock() | VideoBlock() | DocumentBlock():
            return [_file(w, block)]
        case ReasoningBlock():
            return written_thought(w, block, w.origin)
        case UnknownBlock():
            return _given(w, block)
        case _:
            w.lose_block(block)
            return []


def _text(w: Writing, block: TextBlock) -> list[dict[str, Any]]:
    signature = w.name(signature_of(block), "a signature")
    if not (block.text or signature is not None):
        return []
    lose_hints(w, block)
    part = {"type": "text", "text": w.clean(block.text, "a text")}
    return [part if signature is None else {**part, "extras": {"signature": signature}}]


def _given(w: Writing, block: UnknownBlock) -> list[dict[str, Any]]:
    """Return a block as its provider knows it, which LangChain sends as it is."""
    if block.origin is None:
        # In a message of a provider it would be taken for that provider's.
        held = block.to_dict() if w.origin is None else _held(block)
        return [{"type": "non_standard", "value": held}]
    if block.origin == w.origin and block.origin in NATIVE:
        # As plain data that belongs to who asked for it.
        return [{"type": "non_standard", "value": block.to_dict()["data"]}]
    kind = block.data.get("type", next(iter(block.data), None))
    w.lose("content", f"a block of type {kind!r}", f"only {block.origin} knows it")
    return []


def _held(block: UnknownBlock) -> dict[str, Any]:
    """Return a dictionary of ours with what a block holds under ``data``."""
    return attrs.evolve(block, origin="unknown").to_dict() | {"origin": None}


def _file(w: Writing, block: Any) -> dict[str, Any]:
    w.lose_hints(block, "title", "detail")
    source: MediaSource = block.source
    kind = "file" if type(block) is DocumentBlock else block.type
    where = source.kind if source.kind in ("base64", "file_id") else "url"
    part = {"type": kind, where: w.clean(source.value, "a source")}
    if source.media_type is not None:
        part["mime_type"] = w.clean(source.media_type, "a media type")
    extras: Mapping[str, str | None] = {"filename": block.title, "detail": block.detail}
    told = {key: w.clean(text, key) for key, text in extras.items() if text is not None}
    return {**part, "extras": told} if told else part
