"""The names of hints: ``Loss.name``, by which a render can leave them out."""

from collections.abc import Mapping

HINTS: Mapping[str, str] = {
    "empty_conversation": "There is no user, assistant or tool turn.",
    "ended_conversation": "The last turn is the model's, which this model does not continue.",
    "empty_message": "A recorded message has no content.",
    "repeated_message": "A message comes twice: in a recording, or at its end and behind it.",
    "repeated_system": "The system text of a recording is also written in the prompt.",
    "empty_block": "Nothing was written in a block.",
    "missing_space": "A sentence of a text ends, and the next one begins at once.",
    "part_as_text": "A text contains the outline of a part that was not rendered.",
    "unread_key": "A recorded message has a key that the reader of its form passes over.",
    "unused_variable": "A variable was given to a template that does not use it.",
}
"""Each name, and what the hint says. Docs and tests read them here."""
