"""The tokens around the texts of a request, and the label that says how sure its count is.

The frames are those OpenAI has published for its chat models (OpenAI Cookbook, "How to count tokens
with tiktoken"). No other provider publishes any: theirs are assumed to be the same.
"""

PER_MESSAGE = 3
"""The frame of each message, beside the tokens of its role."""

PER_NAME = 1
"""The frame of a speaker's name, beside its tokens."""

REPLY = 3
"""The tokens that the answer begins with."""


def label_of(
    text_label: str, *, has_media: bool = False, has_tools: bool = False, framed: bool = True
) -> str:
    """Return the label of a request's count; ``text_label`` is the label of its texts.

    Only the ``prompt`` of a chat template counts exactly: it is sent as it is and has no frames
    (``framed`` is false). Attachments, tools and the form of an answer are always estimates.
    """
    parts = [name for name, has in (("attachments", has_media), ("tools", has_tools)) if has]
    if text_label == "exact":
        text_label, method = "exact text, assumed frame" if framed else "exact", "exact text"
    elif text_label.startswith("estimate "):
        method = text_label.removeprefix("estimate (").removesuffix(")")
    else:
        method = text_label
    if parts:
        return f"estimate ({method}; {' and '.join(parts)} by published formulas)"
    return text_label
