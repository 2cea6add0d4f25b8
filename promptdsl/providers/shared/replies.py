"""The message of a reply, and why the model stopped, in one word for all providers."""

from collections.abc import Mapping

from promptdsl.foundation.unicode import exact
from promptdsl.messages import Block, TextBlock, ToolUseBlock
from promptdsl.messages.details import Details
from promptdsl.messages.message import Message, message

_WORDS: Mapping[str | None, tuple[str, ...]] = {
    # Not ended, as far as one knows.
    None: ("FINISH_REASON_UNSPECIFIED", "queued", "in_progress"),
    "stop": ("stop", "completed", "end_turn", "stop_sequence", "STOP", "eos_token"),
    "length": (
        *("length", "max_tokens", "model_context_window_exceeded", "MAX_TOKENS", "CONTINUATION"),
        # Responses; one that does not say why was cut off, too (BerriAI/litellm#34352).
        *("max_output_tokens", "max_messages", "incomplete", "model_length"),
    ),
    "tool_use": ("tool_calls", "function_call", "tool_use"),
    "filtered": (
        *("content_filter", "content_filtered", "guardrail_intervened", "sensitive"),
        *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
        *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"),
        *("ESCALATION", "PUP_LIMITED_DISABLED", "JAILBREAK"),
    ),
    "refused": ("refusal",),
    # The turn goes on in the next response.
    "paused": ("pause_turn", "compaction", "steered"),
    "error": (
        *("error", "failed", "cancelled", "malformed_model_output", "malformed_tool_use"),
        *("OTHER", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"),
        *("MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE", "IMAGE_OTHER", "NO_IMAGE"),
        *("abort", "repetition", "insufficient_system_resource", "network_error"),
    ),
}
FINISH_REASONS = {raw: word for word, raws in _WORDS.items() for raw in raws}
"""Our word, by that of a provider, as the SDKs list them, and of servers of Chat: vLLM, text
generation inference, Mistral, Z.AI (Pydantic AI 2.68) and DeepSeek."""


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
