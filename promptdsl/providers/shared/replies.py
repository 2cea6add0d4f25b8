"""The message of a reply, and why the model stopped, in one word for all providers."""

from collections.abc import Mapping

from promptdsl.config.wires import wires
from promptdsl.foundation.unicode import exact
from promptdsl.messages import Block, TextBlock, ToolUseBlock
from promptdsl.messages.details import Details
from promptdsl.messages.message import Message, message

FINISH_REASONS: Mapping[str, str | None] = {
    raw: word or None
    for wire in wires()
    for word, raws in wire.finish_reasons.items()
    for raw in raws
}
"""Our word, by that of any provider, as the SDKs list them; ``None`` for no end yet."""


def reply_message(
    blocks: tuple[Block, ...],
    raw: str | None,
    token_usage: Mapping[str, object] | None,
    *,
    name: str | None = None,
    finish_reason: str | None = None,
) -> Message:
    """Return the message of a reply with its token counts, and why the model stopped.

    ``raw`` is the provider's word for that, and stays beside ours where they differ; an unknown one
    is ours, too. Whatever the provider says, a refusal is ``refused``, and an end with calls is
    ``tool_use``: Gemini and Responses have no word for it, and Chat says ``stop`` where the request
    names the tool (vllm-project/vllm#25054). A ``finish_reason`` that is given counts more.
    """
    raw = None if raw is None else exact(raw)
    word = finish_reason or FINISH_REASONS.get(raw or "", raw)
    if any(isinstance(block, TextBlock) and block.extra.get("refusal") for block in blocks):
        word = "refused"
    elif word == "stop" and any(isinstance(block, ToolUseBlock) for block in blocks):
        word = "tool_use"
    details = Details(
        name=name,
        token_usage=token_usage,
        finish_reason=word,
        raw_finish_reason=None if raw == word else raw,
    )
    return message("assistant", blocks, kind="recorded", details=details)
