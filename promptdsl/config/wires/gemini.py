"""Gemini's ``generate_content``, with the keys of its SDK."""

from promptdsl.config.wire import CALL, TEXT, Part, Wire

_RESPONSE = (
    *("candidates", "prompt_feedback", "promptFeedback", "usage_metadata", "usageMetadata"),
    *("model_version", "modelVersion"),
)
_FILE = Part(media="document", source="inline")

WIRE = Wire(
    __name__,
    other_names=("google", "google_genai", "vertex", "vertexai", "vertex_ai"),
    telemetry=("gcp.gemini", "generate_content"),
    own_models=True,
    entries="contents",
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
    # Google, "Context caching", November 2026: no step is known, and the minimum is the model's.
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
