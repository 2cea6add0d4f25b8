"""The Converse operation of AWS Bedrock."""

from collections.abc import Mapping

from promptdsl.config.wire import ATTACHED, CALL, CONTENT, TEXT, CacheRule, Part, Wire

WIRE = Wire(
    __name__,
    other_names=("aws", "amazon", "bedrock_converse", "converse"),
    telemetry=("aws.bedrock", "chat"),
    system=("system",),
    tools=("toolConfig", "tools"),
    choice=("toolConfig", "toolChoice"),
    output=("outputConfig", "textFormat", "structure", "jsonSchema"),
    parts={
        "text": TEXT,
        "json": Part(texts=("json",)),
        "toolUse": CALL._replace(path=("toolUse",)),
        "toolResult": CONTENT._replace(path=("toolResult",)),
        "citationsContent": CONTENT._replace(path=("citationsContent",)),
        "guardContent": Part(contents=("text", "image"), path=("guardContent",)),
        "reasoningContent": TEXT._replace(path=("reasoningContent", "reasoningText")),
        **{kind: part._replace(path=(kind,)) for kind, part in ATTACHED.items()},
        "cachePoint": Part(),
    },
    keyed=True,
    silent=("toolUseId", "status", "signature", "redactedContent", "citations"),
    two_sided=True,
    signs=True,
    mark="cachePoint",
    # AWS, "Prompt caching for faster model inference", November 2026.
    cache=CacheRule(needs_marks=True, lookback=20),
    cached_choice=True,
    wrappers=("toolSpec",),
    tool_schema="inputSchema",
    strict_tools=True,
    choices={"auto": "auto", "required": "any", "tool": "tool"},
    response=({"stopReason": object}, {"output": Mapping}),
    event=("key: messageSt", "key: contentBlock"),
    finish_reasons={
        "stop": ("end_turn", "stop_sequence"),
        "length": ("max_tokens", "model_context_window_exceeded"),
        "tool_use": ("tool_use",),
        "filtered": ("content_filtered", "guardrail_intervened"),
        "error": ("malformed_model_output", "malformed_tool_use"),
    },
)
