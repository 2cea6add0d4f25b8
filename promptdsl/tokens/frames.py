"""The frames of a request (the tokens around its texts), and the label of its count.

The frames are those that OpenAI has published for its chat models (OpenAI Cookbook, "How to count
tokens with tiktoken"). No other provider has published its own, so these are assumed for all.
"""

PER_MESSAGE = 3
"""The frame of each message, in addition to the tokens of its role."""

PER_NAME = 1
"""The frame of a speaker's name, in addition to its tokens."""

REPLY = 3
"""The tokens at the beginning of the answer."""

OWN = "the target's own form"
"""The name of a target's own text, such as the frame of the reply, in reports and errors."""


def label_of(
    text_label: str, *, has_media: bool = False, has_tools: bool = False, framed: bool = True
) -> str:
    """Return the label of a request's count; ``text_label`` is the label of its texts.

    Only the ``prompt`` of a chat template is counted exactly: it is sent unchanged, without frames
    (``framed`` is false). Attachments, tools and the output schema are always estimates.
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
