"""Anthropic's Messages."""

from promptdsl.config.wire import ATTACHED, CALL, CONTENT, TEXT, CacheRule, Part, Wire

WIRE = Wire(
    __name__,
    other_names=("claude",),
    telemetry=("anthropic", "chat"),
    own_models=True,
    system=("system",),
    output=("output_config", "format"),
    parts={
        "text": TEXT,
        "thinking": Part(texts=("thinking",), recognised_by="signature"),
        "redacted_thinking": Part(recognised_by="data"),
        "tool_use": CALL._replace(recognised_by="input"),
        "tool_result": CONTENT._replace(recognised_by="tool_use_id"),
        "image": ATTACHED["image"]._replace(recognised_by="source"),
        "document": ATTACHED["document"]._replace(recognised_by="source"),
    },
    nulls={
        **dict.fromkeys(
            ("char_location", "page_location", "content_block_location"), ("document_title",)
        ),
        **dict.fromkeys(("web_search_result_location", "search_result_location"), ("title",)),
    },
    silent=("id", "tool_use_id", "is_error", "signature", "encrypted_index", "citations", "caller"),
    two_sided=True,
    takes_neighbours=True,
    signs=True,
    mark="cache_control",
    # Anthropic, "Prompt caching", November 2026: 20 blocks, the marked one included. (A run of
    # calls or results counts as one block there: not done here.) The minimum is the model's.
    cache=CacheRule(needs_marks=True, lookback=20),
    cached_choice=True,  # Anthropic, "What invalidates the cache"
    tool_schema="input_schema",
    strict_tools=True,
    tools_prompt=True,
    choices={"auto": "auto", "none": "none", "required": "any", "tool": "tool"},
    longest_name=128,
    response=(
        {"type": "message", "content": object},
        {"stop_reason": object, "content": object},
    ),
    event=("type: message_", "type: content_block_"),
    finish_reasons={
        "stop": ("end_turn", "stop_sequence"),
        "length": ("max_tokens", "model_context_window_exceeded"),
        "tool_use": ("tool_use",),
        "refused": ("refusal",),
        # The turn goes on in the next response.
        "paused": ("pause_turn", "compaction"),
    },
    # Anthropic, "Compaction", November 2026: what is before the block is ignored, a content of null
    # is a failure. One that was asked for has to be the first block of a request.
    compactions=(("compaction", "content"),),
)
