"""Token counts and finish reasons, both ways."""

from collections.abc import Mapping

from pydantic_ai import messages as ai
from pydantic_ai.usage import RequestUsage

from promptdsl import Message
from promptdsl.integrations.losses import Crossing

_COUNTS = {
    **{"input": "input_tokens", "output": "output_tokens", "total": "total_tokens"},
    **{"cache_read": "cache_read_tokens", "cache_write": "cache_write_tokens"},
    "reasoning": "output_reasoning_tokens",
}
"""Pydantic AI's name of a count, by ours."""

_REASONS: Mapping[str | None, ai.FinishReason] = {
    **{"stop": "stop", "length": "length", "error": "error"},
    **{"tool_use": "tool_call", "filtered": "content_filter"},
}
"""Pydantic AI's finish reason, by ours."""

_RAW_REASONS = {"refusal": "refused", "refused": "refused", "pause_turn": "paused"}
"""Our reason, by a raw one, beside which Pydantic AI's says less or nothing."""


def written_usage(writer: Crossing, message: Message) -> RequestUsage:
    """Return token counts; a total is a hint where it is not the sum of input and output."""
    counts = writer.renamed_counts(message.token_usage or {}, _COUNTS)
    usage, total = RequestUsage(), counts.pop("total_tokens", None)
    for name, count in counts.items():
        setattr(usage, name, count)
    if total not in (None, usage.total_tokens):
        writer.hint("unsent_key", "the token count 'total'")
    return usage


def read_usage(crossing: Crossing, usage: RequestUsage) -> Mapping[str, int] | None:
    """Return the token counts of a response, ``None`` when it has none."""
    sides = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    given: dict[str, object] = {**sides, "total_tokens": usage.total_tokens}
    # Older responses have the count of reasoning in the details only.
    if reasoning := usage.details.get("reasoning_tokens"):
        given["output_reasoning_tokens"] = reasoning
    given |= {key: count for key, count in vars(usage).items() if key.endswith("_tokens") and count}
    names = {theirs: ours for ours, theirs in _COUNTS.items()}
    counts = crossing.renamed_counts(given, names)
    return counts if any(counts.values()) else None


def written_reason(
    writer: Crossing, message: Message
) -> tuple[ai.FinishReason | None, dict[str, str] | None]:
    """Return the finish reason, and the details with the raw one, or ours where theirs says less.

    A raw one beside which ours would be forgotten is a hint.
    """
    reason = writer.clean_optional(message.finish_reason, "a finish reason")
    detail = writer.clean_optional(message.raw_finish_reason, "a finish reason")
    known = reason if reason in _REASONS else None
    if not reason or _RAW_REASONS.get(detail or "", known) != reason:
        if detail is not None:
            writer.hint("unsent_key", f"the finish reason {detail!r} of the provider")
        detail = None if known else reason
    name = "content_filter" if reason == "refused" else _REASONS.get(reason)
    return name, None if detail is None else {"finish_reason": detail}


def read_reasons(response: ai.ModelResponse) -> tuple[str | None, str | None]:
    """Return the finish reason of a response, and the raw one where it is another.

    The raw one is the reason where Pydantic AI has no word for it.
    """
    details = response.provider_details or {}
    raw: object = details.get("finish_reason")
    raw = raw if isinstance(raw, str) else None
    reason = "paused" if response.state == "suspended" else None
    if details.get("refusal"):
        reason = "refused"
    elif raw and (raw in _RAW_REASONS or response.finish_reason is None):
        reason = _RAW_REASONS.get(raw, raw)
    elif response.finish_reason:
        reason = {theirs: ours for ours, theirs in _REASONS.items()}[response.finish_reason]
    return reason, None if raw == reason else raw
