"""OpenAI's Chat Completions."""

from promptdsl.config.wire import CALL, TEXT, CacheRule, Part, Wire

WIRE = Wire(
    __name__,
    folder="openai_chat",
    unnamed="openai_compatible",  # OpenAI itself writes none
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
    mark="prompt_cache_breakpoint",
    # OpenAI, "Prompt caching", November 2026: from 1,024 tokens, in steps of 128.
    cache=CacheRule(step=128, minimum=1_024),
    wrappers=("function", "custom"),
    tool_schema="parameters",
    strict_tools=True,
    choices={"auto": "auto", "none": "none", "required": "required"},
    response=({"choices": object},),
    event=("object: chat.completion.chunk", "choices[]: delta"),
    # Those of servers, too: vLLM, text generation inference, Mistral, Z.AI (Pydantic AI 2.68),
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
