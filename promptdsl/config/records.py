"""The records of all providers: what the requests and replies of each look like.

``wire.py`` explains each field. OpenAI's record comes first, because other records are made of it.
"""

from collections.abc import Mapping

import attrs

from promptdsl.config.wire import ATTACHED, CALL, CONTENT, TEXT, CacheRule, Part, Wire

# OpenAI's Chat Completions.

OPENAI = Wire(
    "openai",
    folder="openai_chat",
    unnamed="openai_compatible",  # OpenAI's Chat has no reasoning, so it is from another server
    other_names=("azure", "azure_openai", "openai_chat", "chat"),
    telemetry=("openai", "chat"),
    deploys=True,
    some_models=True,
    output=("response_format", "json_schema"),
    contents=("content", "reasoning_content", "refusal", "tool_calls"),
    own_keys=("tool_calls", "tool_call_id", "function_call"),
    parts={
        "text": TEXT,
        "refusal": Part(texts=("refusal",)),
        "image_url": Part(media="image", source="addressed", recognised_by="image_url"),
        "input_audio": Part(path=("input_audio",), media="audio", recognised_by="input_audio"),
        "file": Part(("filename",), (), ("file",), "document", "addressed", recognised_by="file"),
        "function": CALL._replace(path=("function",)),
        "custom": CALL._replace(path=("custom",)),
    },
    silent=("id", "tool_call_id"),
    joins=True,
    image_tokens="patches-32",
    cache_mark_key="prompt_cache_breakpoint",
    # OpenAI, "Prompt caching", November 2026: from 1,024 tokens, in steps of 128.
    cache=CacheRule(step=128, minimum=1_024),
    wrappers=("function", "custom"),
    tool_schema="parameters",
    strict_tools=True,
    choices={"auto": "auto", "none": "none", "required": "required"},
    response=({"choices": object},),
    event=("object: chat.completion.chunk", "choices[]: delta"),
    # Also the words of servers: vLLM, text generation inference, Mistral, Z.AI (Pydantic AI 2.68),
    # DeepSeek.
    finish_reasons={
        "stop": ("stop", "eos_token"),
        "length": ("length", "model_length"),
        "tool_use": ("tool_calls", "function_call"),
        "filtered": ("content_filter", "sensitive"),
        "error": (
            *("error", "abort", "repetition", "insufficient_system_resource", "network_error"),
        ),
    },
)


# OpenAI's Responses.

_ADDRESSED = Part(media="image", source="addressed", recognised_by="type")
_OUTPUT = Part(contents=("output",))

OPENAI_RESPONSES = Wire(
    "openai_responses",
    other_names=("responses", "openai_response"),
    telemetry=("openai", "chat"),
    chat="openai",
    deploys=True,
    own_models=True,
    messages_key="input",
    system=("instructions",),
    output=("text", "format"),
    parts={
        "input_text": TEXT._replace(recognised_by="type"),
        "output_text": TEXT._replace(recognised_by="text"),
        "refusal": OPENAI.parts["refusal"],
        "summary_text": TEXT,
        "reasoning_text": TEXT,
        "input_image": _ADDRESSED,
        "input_file": _ADDRESSED._replace(texts=("filename",), media="document"),
        "message": CONTENT,
        "function_call": CALL._replace(recognised_by="call_id"),
        "custom_tool_call": CALL,
        "function_call_output": _OUTPUT._replace(recognised_by="call_id"),
        "custom_tool_call_output": _OUTPUT,
        "reasoning": Part(contents=("summary", "content"), recognised_by="summary"),
    },
    nulls={
        "code_interpreter_call": ("code", "outputs"),
        "image_generation_call": ("result",),
        "double_click": ("keys",),
    },
    silent=("id", "call_id", "approval_request_id", "status", "encrypted_content", "caller"),
    joins=True,
    image_tokens=OPENAI.image_tokens,
    cache_mark_key=OPENAI.cache_mark_key,
    cache=OPENAI.cache,
    tool_schema=OPENAI.tool_schema,
    strict_tools=True,
    choices=OPENAI.choices,
    response=({"object": "response"}, {"output": list}),
    event=("type: response.",),
    finish_reasons={
        "": ("queued", "in_progress"),
        "stop": ("completed",),
        # "incomplete" without a reason also means that the answer was cut (BerriAI/litellm#34352).
        "length": ("max_output_tokens", "max_messages", "incomplete"),
        "filtered": ("content_filter",),
        # The turn continues in the next response.
        "paused": ("steered",),
        "error": ("failed", "cancelled"),
    },
    # OpenAI, "Compaction", November 2026: the items before the newest compaction may be left out.
    # If they are sent, they are read and billed. The output of /responses/compact is sent
    # unchanged.
    compactions=(("compaction", "encrypted_content"), ("compaction_summary", "encrypted_content")),
    keeps_questions=True,
)


# Servers of open models with the API of OpenAI's Chat Completions.

OPENAI_COMPATIBLE = attrs.evolve(
    OPENAI,
    name="openai_compatible",
    adapter="openai_compatible",
    other_names=("cohere", "llama_cpp", "lm_studio", "sambanova", "nebius"),
    telemetry=("", "chat"),  # each server has another name
    contents=(
        *OPENAI.contents,
        *("reasoning", "reasoning_text", "reasoning_details", "thinking_blocks"),
    ),
    parts={
        **OPENAI.parts,
        "reasoning.text": TEXT,
        "reasoning.summary": Part(texts=("summary",)),
        "reasoning.encrypted": Part(),
    },
    any_model=True,
    deploys=False,
    some_models=False,
    image_tokens="patches-28",
    cache=CacheRule(),  # each server has another cache
    strict_tools=False,
)


# The messages of an open model: its chat template makes one text of them.

CHAT_TEMPLATE = Wire(
    "chat_template",
    other_names=("hf", "transformers"),
    any_model=True,
    templated=True,
    contents=OPENAI.contents,
    parts={
        **{kind: part._replace(recognised_by="") for kind, part in OPENAI.parts.items()},
        **ATTACHED,
    },
    silent=OPENAI.silent,
    wrappers=("function",),
    tool_schema=OPENAI.tool_schema,
)


# Anthropic's Messages.

ANTHROPIC = Wire(
    "anthropic",
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
    cache_mark_key="cache_control",
    # Anthropic, "Prompt caching", November 2026: 20 blocks, including the block with the mark. (For
    # Anthropic several calls or results in a row count as one block. Here they count separately.)
    # The minimum depends on the model.
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
        # The turn continues in the next response.
        "paused": ("pause_turn", "compaction"),
    },
    # Anthropic, "Compaction", November 2026: everything before the block is ignored. A content of
    # null means that the compaction failed. A compaction that was requested explicitly has to be
    # the first block of a request.
    compactions=(("compaction", "content"),),
)


# The Converse operation of AWS Bedrock.

BEDROCK = Wire(
    "bedrock",
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
    cache_mark_key="cachePoint",
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


# Gemini's ``generate_content``, with the keys of its SDK.

_RESPONSE = (
    *("candidates", "prompt_feedback", "promptFeedback", "usage_metadata", "usageMetadata"),
    *("model_version", "modelVersion"),
)
_FILE = Part(media="document", source="inline")

GEMINI = Wire(
    "gemini",
    other_names=("google", "google_genai", "vertex", "vertexai", "vertex_ai"),
    telemetry=("gcp.gemini", "generate_content"),
    own_models=True,
    messages_key="contents",
    system=("config", "system_instruction", "parts"),
    tools=("config", "tools"),
    choice=("config", "tool_config"),
    output=("config",),
    output_schema="response_json_schema",
    contents=("parts",),
    own_keys=("parts",),
    parts={
        "text": TEXT,
        "function_call": CALL._replace(path=("function_call",)),
        "function_response": Part(("name", "response"), ("parts",), ("function_response",)),
        "inline_data": _FILE,
        "file_data": _FILE,
    },
    keyed=True,
    silent=("id", "thought_signature"),
    two_sided=True,
    takes_neighbours=True,
    results_apart=True,
    image_tokens="tiles-258",
    # Google, "Context caching", November 2026: a step is not published, and the minimum depends on
    # the model.
    wrappers=("function_declarations",),
    tool_schema="parameters_json_schema",
    choices={"auto": "AUTO", "none": "NONE", "required": "ANY", "tool": "ANY"},
    longest_name=128,
    response=tuple({key: object} for key in _RESPONSE),
    finish_reasons={
        "": ("FINISH_REASON_UNSPECIFIED",),
        "stop": ("STOP",),
        "length": ("MAX_TOKENS", "CONTINUATION"),
        "filtered": (
            *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
            *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"),
            *("ESCALATION", "PUP_LIMITED_DISABLED", "JAILBREAK"),
        ),
        "error": (
            *("OTHER", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"),
            *("MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE", "IMAGE_OTHER", "NO_IMAGE"),
        ),
    },
)

RECORDS: dict[str, Wire] = {
    wire.name: wire
    for wire in (
        *(OPENAI, OPENAI_RESPONSES, OPENAI_COMPATIBLE, CHAT_TEMPLATE),
        *(ANTHROPIC, BEDROCK, GEMINI),
    )
}
"""The record of each provider, by its name."""
