"""OpenAI's Responses."""

from promptdsl.config.wire import CALL, CONTENT, TEXT, Part, Wire
from promptdsl.config.wires.openai import WIRE as CHAT

_ADDRESSED = Part(media="image", source="addressed", recognised_by="type")
_OUTPUT = Part(contents=("output",))

WIRE = Wire(
    __name__,
    other_names=("responses", "openai_response"),
    telemetry=("openai", "chat"),
    chat="openai",
    deploys=True,
    own_models=True,
    entries="input",
    system=("instructions",),
    output=("text", "format"),
    parts={
        "input_text": TEXT._replace(recognised_by="type"),
        "output_text": TEXT._replace(recognised_by="text"),
        "refusal": CHAT.parts["refusal"],
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
    image_tokens=CHAT.image_tokens,
    mark=CHAT.mark,
    cache=CHAT.cache,
    tool_schema=CHAT.tool_schema,
    strict_tools=True,
    choices=CHAT.choices,
    response=({"object": "response"}, {"output": list}),
    event=("type: response.",),
    finish_reasons={
        "": ("queued", "in_progress"),
        "stop": ("completed",),
        # One that does not say why was cut off, too (BerriAI/litellm#34352).
        "length": ("max_output_tokens", "max_messages", "incomplete"),
        "filtered": ("content_filter",),
        # The turn goes on in the next response.
        "paused": ("steered",),
        "error": ("failed", "cancelled"),
    },
    # OpenAI, "Compaction", November 2026: what is before the newest item may be left out, and is
    # read and billed otherwise. The output of /responses/compact is sent as it is.
    compactions=(("compaction", "encrypted_content"), ("compaction_summary", "encrypted_content")),
    keeps_questions=True,
)
