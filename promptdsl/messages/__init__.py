"""Content blocks: what a message is made of, frozen values that know no tree and no provider.

Other rooms import the types of blocks from here, everything else from the file it is in.
"""

from promptdsl.messages.blocks import (
    AudioBlock,
    Block,
    CodeBlock,
    DocumentBlock,
    EventBlock,
    ImageBlock,
    JsonBlock,
    MediaBlock,
    ReasoningBlock,
    StateChangeBlock,
    SystemEventBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    UserActionBlock,
    VideoBlock,
)
from promptdsl.messages.read_blocks import block_from_dict

__all__ = [
    "AudioBlock",
    "Block",
    "CodeBlock",
    "DocumentBlock",
    "EventBlock",
    "ImageBlock",
    "JsonBlock",
    "MediaBlock",
    "ReasoningBlock",
    "StateChangeBlock",
    "SystemEventBlock",
    "TextBlock",
    "ToolResultBlock",
    "ToolUseBlock",
    "UnknownBlock",
    "UserActionBlock",
    "VideoBlock",
    "block_from_dict",
]
