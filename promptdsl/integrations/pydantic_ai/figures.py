"""Token counts and finish reasons, both ways."""

from collections.abc import Mapping

from pydantic_ai import messages as ai
from pydantic_ai.usage import RequestUsage

from promptdsl import Message
from promptdsl.integrations.losses import Conversion

_COUNTS = {
    **{"input": "input_tokens", "output": "output_tokens", "total": "total_tokens"},
    **{"cache_read": "cache_read_tokens", "cache_write": "cache_write_tokens"},
    "reasoning": "output_reasoning_tokens",
}
"""Pydantic AI's name of a count, by our name."""

_REASONS: Mapping[str | None, ai.FinishReason] = {
    **{"stop": "stop", "length": "length", "error": "error"},
    **{"tool_use": "tool_call", "filtered": "content_filter"},
}
"""Pydantic AI's finish reason, by our reason."""

_RAW_REASONS = {"refusal": "refused", "refused": "refused", "pause_turn": "paused"}
"""Our reason, by raw reasons for which Pydantic AI's own reason says less or nothing."""


def written_usage(writer: Conversion, message: Message) -> RequestUsage:
    """Return token counts. A total is a hint if it is not the sum of input and output."""
    counts = writer.renamed_counts(message.token_usage or {}, _COUNTS)
    usage, total = RequestUsage(), counts.pop("total_tokens", None)
    for name, count in counts.items():
        setattr(usage, name, count)
    if total not in (None, usage.total_tokens):
        writer.hint("unsent_key", "the token count 'total'")
    return usage


def read_usage(conversion: Conversion, usage: RequestUsage) -> Mapping[str, int] | None:
    """Return the token counts of a response, ``None`` if it has none."""
    sides = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    fields: dict[str, object] = {**sides, "total_tokens": usage.total_tokens}
    # Older responses have the count of reasoning only in the details.
    if reasoning := usage.details.get("reasoning_tokens"):
        fields["output_reasoning_tokens"] = reasoning
    fields |= {key: n for key, n in vars(usage).items() if key.endswith("_tokens") and n}
    names = {theirs: ours for ours, theirs in _COUNTS.items()}
    counts = conversion.renamed_counts(fields, names)
    return counts if any(counts.values()) else None


def written_reason(
    writer: Conversion, message: Message
) -> tuple[ai.FinishReason | None, dict[str, str] | None]:
    """Return the finish reason of Pydantic AI, and the details for it.

    The details have the raw reason, or our reason if Pydantic AI's says less. A raw reason is a
    hint if our reason could not be read again next to it.
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
    """Return the finish reason of a response, and the raw reason if it is different.

    If Pydantic AI has no reason, the raw reason is used for both.
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
