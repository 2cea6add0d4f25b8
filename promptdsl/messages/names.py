"""The names of providers, for annotations, and the names of hints with what they mean."""

from collections.abc import Mapping
from typing import Literal, NewType, TypeAlias, Union

# The names of providers, for annotations.

AdapterName: TypeAlias = Literal[
    "openai",
    "openai_responses",
    "openai_compatible",
    "anthropic",
    "gemini",
    "bedrock",
    "chat_template",
]
"""The providers whose request format has an adapter. Servers use the adapter of one of them."""

ServerName: TypeAlias = Literal[
    "deepseek",
    "deepseek_responses",
    "openrouter",
    "openrouter_responses",
    "mistral",
    "groq",
    "gemini_openai",
    "ollama",
    "vllm",
    "moonshotai",
    "zai",
    "cerebras",
    "github_copilot",
    "huggingface",
    "together",
    "fireworks",
    "xai",
    "alibaba",
    "snowflake",
    "crusoe",
    "litellm",
    "bedrock_mantle",
    "meta",
]
"""The servers of ``config/servers.toml``."""

ProviderId = NewType("ProviderId", str)
ProviderId.__doc__ = """Tell type checkers that a string is the name of a provider.

It returns the string. Use it for a name that :func:`register_provider` added, and for a name that a
variable holds. A name that promptdsl has can be written without it. The function that gets the name
checks it.

>>> from promptdsl import ProviderId, Timeline, User, register_provider, render
>>> with register_provider("house", adapter="openai_compatible"):
...     rendered = render(Timeline(User("Hi.")), provider=ProviderId("house"))
>>> rendered.facts.provider
'house'
"""

ProviderName: TypeAlias = Union[ProviderId, AdapterName, ServerName]  # noqa: UP007 (jedi fails on `|`)
"""A provider that promptdsl has, or a :class:`ProviderId`."""


# The names of hints (``Loss.name``), and what each means. ``docs/reference.md`` has the same table.

HINTS: Mapping[str, str] = {
    # About the request and its conversation.
    "empty_conversation": "There is no user, assistant or tool turn.",
    "ended_conversation": "The last message is an answer, but the model may not continue answers.",
    "empty_message": "A recorded message has no content.",
    "repeated_message": (
        "A message occurs twice in a recording, or also directly after it. So it is sent twice."
    ),
    "repeated_system": "The system text of a recording is also written in the prompt.",
    "unknown_name": "`pin` names an unknown message, or `exclude` an unknown tool.",
    "unreached_clearing": "`ClearResults` clears nothing: its `at_least` or `keep` is too large.",
    "early_clearing": "`ClearResults` with `at_least` clears results far below the budget.",
    "unknown_model": "The name of an unknown model is similar to a known name.",
    "useless_reserve": "You pass a reserve, but no budget.",
    "other_provider": "The model belongs to another provider than `provider=` names.",
    # About what was written.
    "empty_block": "Nothing was written in a block.",
    "title_only": "A section or a grounding has a title but no content, so it is left out.",
    "empty_grounding": "The arguments of a Grounding are None, False or an empty text.",
    "text_as_id": "The first argument is an id, but has white space: you may have meant content.",
    "missing_space": "A sentence begins directly after another sentence, without a space.",
    "part_as_text": "A text contains the outline of a part that was not rendered.",
    "unused_variable": "You pass a variable to a template that does not use the variable.",
    "encoded_tag": "A value in instructions is a tag or a code fence, so it is sent encoded.",
    "glued_item": "An item of a list in a template is on the line of the text before it.",
    "undescribed_tool": "A tool has neither a description nor a docstring.",
    "volatile_in_cache": "A `Volatile` part is before a cache mark that the author wrote.",
    "volatile_grounding": (
        'With `cache="auto"`, a `Volatile` in a grounding is before answers. When it changes, no '
        "cache serves the messages after it."
    ),
    "white_space": "White space is left out: a text of white space, or the end of the last answer.",
    "invisible_characters": "A value contains control characters or invisible characters.",
    "lone_surrogate": "A text contains half of a character (a lone surrogate): U+FFFD is sent.",
    "control_token": "A text contains a token of the chat template, which a backslash breaks.",
    # About details that the target does not accept, or accepts only with a change. Text or media
    # that is not sent is a loss of another kind: see ``Loss.kind``.
    "inserted_text": "The target needs a text where you wrote none, so '.' is sent.",
    "cache_mark": "A cache mark is not sent, or is sent with another lifetime.",
    "speaker_name": "The target has no field for the name of a speaker.",
    "fenced_turn": "An instruction, an event or a grounding is sent in a user message.",
    "later_instruction": "A system message after the first is sent, but some servers refuse it.",
    "unproven_media": "An attachment is sent to an unknown model.",
    "media_field": "The target has no field for the title or the detail of an attachment.",
    "mended_name": "The target refuses the name of a tool, an output or a file, so it is changed.",
    "unread_key": "A reply or a recorded message has an unknown key, which is not sent.",
    "unsent_key": "A block, a message or a tool has an extra key that the target does not accept.",
    "needed_key": "The request needs a key or a header that the caller must add.",
    "unsent_reasoning": "Reasoning cannot be sent to this target, or not in this message.",
    "moved_reasoning": "Reasoning after other content of an answer is sent before this content.",
    "repeated_item": "An item has the id of another item, so it is left out.",
    "unsent_setting": "The other library takes the tools, the tool_choice or the output elsewhere.",
    "no_tools": "The conversation contains calls, but no tool is sent.",
    "tool_choice": "The choice of a tool cannot be sent.",
    "joined_turns": "Neighbouring turns of one role are sent as one.",
    "mended_arguments": "The arguments of a call are no JSON object: text or {} is sent.",
    "parallel_calls": "The chat template takes one call in a turn, so each call gets its own turn.",
    "unsigned_call": "A call lacks the signature that this model needs: a substitute is sent.",
    "error_flag": "The target has no field for the error of a result.",
    "result_as_text": "A result that was recorded as an object is sent as text.",
    "document_as_text": "The target does not accept a text document as a file: it is sent as text.",
    "moved_file": "A file in a tool result is sent in the user's turn after it.",
    "beside_tool_result": "The model refuses content next to a tool result: it gets its own turn.",
    "tool_schema": "The target refuses keywords of a tool's schema, so they are replaced.",
    "prompted_output": "The target takes no output schema, so the schema is sent as text.",
    "strict_schema": "A schema is sent with another value of strict, or without it.",
    "output_schema": "The output schema is sent without its name, its description or a key.",
}
"""By name, what a hint means. The setting ``silent_hints`` takes these names."""
