"""Token counts and finish reasons, both ways."""

from collections.abc import Mapping

from pydantic_ai import messages as ai
from pydantic_ai.usage import RequestUsage

from promptdsl import Message
from promptdsl.integrations.losses import Crossing

_REASONS: Mapping[ai.FinishReason | None, str] = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tool_use",
    "content_filter": "filtered",
    "error": "error",
}
"""Our finish reason, by Pydantic AI's; it has none for a turn that is paused."""

_WRITTEN: Mapping[str | None, ai.FinishReason | None] = {
    **{ours: theirs for theirs, ours in _REASONS.items()},
    "refused": "content_filter",
}

_RAW_REASONS = {"refusal": "refused", "refused": "refused", "pause_turn": "paused"}
"""Our reason, by a raw one, beside which Pydantic AI's says less or nothing."""


def _key_of(name: str) -> str:
    return "output_reasoning_tokens" if name == "reasoning" else f"{name}_tokens"


def written_usage(writer: Crossing, message: Message) -> RequestUsage:
    """Return the token counts of a message; one that Pydantic AI has no name for is a hint.

    So is a total that is not the sum of input and output.
    """
    usage, counts = RequestUsage(), message.token_usage or {}
    for name, count in counts.items():
        if name != "total" and type(count) is int and hasattr(RequestUsage, _key_of(name)):
            setattr(usage, _key_of(name), count)
    for name, count in counts.items():
        if getattr(usage, _key_of(name), None) != count:
            writer.hint("unsent_key", f"the token count {name!r}")
    return usage


def read_usage(usage: RequestUsage) -> Mapping[str, int] | None:
    """Return the token counts of a response, ``None`` when it has none."""
    counts = {"input": usage.input_tokens, "output": usage.output_tokens}
    if reasoning := usage.details.get("reasoning_tokens"):
        counts["reasoning"] = reasoning
    for key, count in vars(usage).items():
        if key.endswith("_tokens") and type(count) is int and count:
            name = key.removesuffix("_tokens")
            counts["reasoning" if name == "output_reasoning" else name] = count
    return {**counts, "total": usage.total_tokens} if any(counts.values()) else None


def written_reason(
    writer: Crossing, message: Message
) -> tuple[ai.FinishReason | None, dict[str, str] | None]:
    """Return the finish reason, and the details that keep ours where Pydantic AI's says less."""
    reason = writer.clean_optional(message.finish_reason, "a finish reason")
    written = _WRITTEN.get(reason)
    is_whole = reason is None or _REASONS.get(written) == reason
    return written, None if is_whole else {"finish_reason": str(reason)}


def read_reason(response: ai.ModelResponse) -> str | None:
    """Return the finish reason of a response, a raw one where Pydantic AI has no word for it."""
    details = response.provider_details or {}
    raw: object = details.get("finish_reason")
    if details.get("refusal"):
        return "refused"
    if isinstance(raw, str) and (raw in _RAW_REASONS or response.finish_reason is None):
        return _RAW_REASONS.get(raw, raw)
    return _REASONS.get(response.finish_reason, "paused" if response.state == "suspended" else None)
