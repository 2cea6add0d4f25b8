"""The names of hints: ``Loss.name``, by which a render can leave them out."""

from collections.abc import Mapping

HINTS: Mapping[str, str] = {
    # About the request and its conversation.
    "empty_conversation": "There is no user, assistant or tool turn.",
    "ended_conversation": "The last turn is the model's; this one is not known to continue it.",
    "empty_message": "A recorded message has no content.",
    "repeated_message": "A message comes twice: in a recording, or at its end and after it.",
    "repeated_system": "The system text of a recording is also written in the prompt.",
    "inserted_text": "The target needs a text where none was written: '.' is sent.",
    "unknown_model": "A model has almost the name of a known one: careful defaults hold for it.",
    "useless_reserve": "A reserve was given without the budget that it is a part of.",
    "other_provider": "The model is one of another provider than the given one.",
    # About what was written.
    "empty_block": "Nothing was written in a block.",
    "title_only": "A section or a grounding has a title and no content: it is left out.",
    "empty_grounding": "The arguments of a Grounding are None, False or an empty text.",
    "missing_space": "A sentence of a text ends, and the next one begins at once.",
    "part_as_text": "A text contains the outline of a part that was not rendered.",
    "unused_variable": "A variable was given to a template that does not use it.",
    "glued_item": "An item of a list in a template is on the line of the text before it.",
    "undescribed_tool": "A tool has neither a description nor a docstring.",
    "volatile_in_cache": "A Volatile stands before a cache mark of the author.",
    "white_space": "White space is left out: a text of it, or the end of the last answer.",
    "invisible_characters": "A value contains control characters or invisible ones.",
    "lone_surrogate": "A text contains a half of a character: U+FFFD is sent.",
    "control_token": "A text contains a token of the chat template: a backslash breaks it.",
    # About what the target takes in another form, or not.
    "cache_mark": "A cache mark is not sent, or lives for another time than was asked for.",
    "speaker_name": "The target has no field for the name of a speaker.",
    "fenced_turn": "An event or a request-only turn is sent as text in a user turn.",
    "media_field": "The target has no field for the title or the detail of an attachment.",
    "mended_name": "The target refuses the name of a tool, an output or a file: it is sent mended.",
    "unread_key": "A recorded message has a key that the reader of its form passes over.",
    "unsent_key": "A block, a message or a tool has a further key that the target does not take.",
    "unsent_reasoning": "The reasoning of a model cannot be sent to this target, or not here.",
    "repeated_item": "An item with the id of another one is left out.",
    "unsent_setting": "Another library takes the tools, the tool_choice or the output elsewhere.",
    "no_tools": "The conversation contains calls, and no tool is sent.",
    "tool_choice": "The choice of a tool cannot be sent.",
    "mended_arguments": "The arguments of a call are no JSON object: sent as text, if blank as {}.",
    "parallel_calls": "The template shows one call in a turn: each has a turn of its own.",
    "unsigned_call": "A call lacks the signature that this model needs: a substitute is sent.",
    "error_flag": "The target has no field for the error of a result.",
    "result_as_text": "A result that was recorded as an object is sent as text.",
    "document_as_text": "A document of text is sent as text: the target takes no such file.",
    "moved_file": "A file in a tool result is sent in the user's turn after it.",
    "beside_tool_result": "The model refuses content beside a tool result: it has its own turn.",
    "strict_schema": "A schema is sent with another value of strict, or without one.",
    "output_schema": "The schema of the answer is sent without its name, its description or a key.",
}
"""Each name, and what the hint says. Docs and tests read them here."""
