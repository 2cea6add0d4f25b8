"""Reading: the parts of a response become blocks, with what their provider asks back."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from promptdsl import Block, Message, ReasoningBlock, TextBlock, ToolUseBlock, block_from_dict
from promptdsl.integrations.losses import Crossing
from promptdsl.integrations.pydantic_ai.media import ORIGINS, REDACTED, read_media
from promptdsl.integrations.values import RESPONSES, SIGNATURE, joined

_REASONED = ("raw_content", SIGNATURE)


def read_response(crossing: Crossing, response: Any) -> Message:
    """Return the message of a response."""
    parts: list[Any] = list(response.parts)
    around = zip([None, *parts], parts, [*parts[1:], None], strict=False)
    blocks = [block for near in around for block in _blocks(crossing, *near)]
    counts = {key: getattr(response.usage, key) for key in ("input_tokens", "output_tokens")}
    return Message(
        "assistant",
        joined(blocks),
        kind="recorded",
        token_usage=counts if any(counts.values()) else None,
        finish_reason=response.finish_reason,
    )


def _blocks(crossing: Crossing, before: Any, part: Any, behind: Any) -> list[Block]:
    read = _REPLIES.get(part.part_kind)
    if read is None:
        crossing.lose("content", f"a part of kind {part.part_kind!r}")
        return []
    _lose_details(crossing, part)
    block: Any = read(crossing, part)
    if _hands_on(part, behind):
        return [attrs.evolve(block, signature=None)]
    signature = before.signature if _hands_on(before, part) else _signature(part)
    signed = isinstance(signature, str) and part.part_kind != "thinking"
    return [attrs.evolve(block, extra={SIGNATURE: signature}) if signed else block]


def _lose_details(crossing: Crossing, part: Any) -> None:
    known = _REASONED if part.part_kind == "thinking" else (SIGNATURE,)
    if set(part.provider_details or ()) - set(known):
        crossing.lose("hint", f"provider_details of a part of kind {part.part_kind!r}")
    if getattr(part, "citations", None):
        crossing.lose("hint", "citations of a text")


def _signature(part: Any) -> str | None:
    """Return the signature of Gemini's that a part has itself."""
    details: dict[str, Any] = part.provider_details or {}
    return details.get(SIGNATURE)


def _hands_on(part: Any, behind: Any) -> bool:
    """Whether the signature of a thought of Gemini's is that of the part behind, as it is sent."""
    if part is None or behind is None or part.part_kind != "thinking":
        return False
    if ORIGINS.get(part.provider_name) != "gemini" or part.signature is None:
        return False
    if behind.part_kind not in ("text", "tool-call"):
        return False
    return _signature(part) is None and _signature(behind) is None


def _thought(_: Crossing, part: Any) -> ReasoningBlock:
    origin = ORIGINS.get(part.provider_name, part.provider_name)
    if origin == RESPONSES:
        extra = _item(part, part.provider_details or {})
        return ReasoningBlock(part.content, None, part.signature, origin, extra)
    if part.id in REDACTED:
        return ReasoningBlock(part.content, encrypted=part.signature, origin=origin)
    own = _signature(part)
    signature = part.signature if own is None else own
    return ReasoningBlock(part.content, signature, origin=origin)


def _item(part: Any, details: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an item of OpenAI Responses had beside its summaries."""
    raw = details.get("raw_content") or ()
    content = [{"type": "reasoning_text", "text": text} for text in raw]
    return {
        **({} if part.id is None else {"id": part.id}),
        **({"content": content} if content else {}),
    }


def _call(_: Crossing, part: Any) -> Block:
    if isinstance(part.args, str):
        return ToolUseBlock(part.tool_call_id, part.tool_name, part.args)
    args: dict[str, Any] = part.args or {}
    data = {"id": part.tool_call_id, "name": part.tool_name, "input": args}
    return block_from_dict({"type": "tool_use", **data})


_REPLIES: Mapping[str, Callable[[Crossing, Any], Block]] = {
    "text": lambda _, part: TextBlock(part.content),
    "thinking": _thought,
    "tool-call": _call,
    "file": lambda crossing, part: read_media(crossing, part.content),
}
