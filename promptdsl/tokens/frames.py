"""What stands around the texts of a request, in tokens, and how sure a count of all of it is.

The frames are those OpenAI has published for its chat models (OpenAI Cookbook, "How to count tokens
with tiktoken"). No other provider publishes any: theirs are assumed to be the same.
"""

PER_MESSAGE = 3
"""Around each message, beside the tokens of its role."""

PER_NAME = 1
"""Beside the tokens of a speaker's name."""

REPLY = 3
"""What the answer begins with."""


def label_of(
    text_label: str, *, has_media: bool = False, has_tools: bool = False, framed: bool = True
) -> str:
    """Return how sure the count of a request is; ``text_label`` says it of its texts.

    Only one text that is sent as it is counts exactly: the ``prompt`` of a chat template, which has
    no frames (``framed`` false). Attachments, tools and the form of an answer are always estimates.
    """
    parts = [name for name, has in (("attachments", has_media), ("tools", has_tools)) if has]
    exact = text_label == "exact"
    if parts:
        method = "exact text" if exact else _method(text_label)
        return f"estimate ({method}; {' and '.join(parts)} by published formulas)"
    return "exact text, assumed frame" if exact and framed else text_label


def _method(label: str) -> str:
    """Return what stands in the brackets of a label, or else the label."""
    return label.removeprefix("estimate (").removesuffix(")") if label[:9] == "estimate " else label
