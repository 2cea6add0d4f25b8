"""Content blocks: what a message is made of, frozen values that know no tree and no provider."""

from promptdsl.blocks.drafts import text_block, tool_result_block, tool_use_block
from promptdsl.blocks.fields import CACHES, ERROR_TYPES, Cache, mapping, optional, string
from promptdsl.blocks.kinds import (
    CLASSES,
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
from promptdsl.blocks.reading import block_from_dict, contents
from promptdsl.json_text import EMPTY

__all__ = [
    "CACHES",
    "CLASSES",
    "EMPTY",
    "ERROR_TYPES",
    "AudioBlock",
    "Block",
    "Cache",
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
    "contents",
    "mapping",
    "optional",
    "string",
    "text_block",
    "tool_result_block",
    "tool_use_block",
]
