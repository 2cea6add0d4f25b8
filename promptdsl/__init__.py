"""Prompts written with ``with`` blocks, rendered to messages, sent to any provider."""

from promptdsl.blocks import (
    AudioBlock,
    Block,
    CodeBlock,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    ReasoningBlock,
    StateChangeBlock,
    SystemEventBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    UserActionBlock,
    VideoBlock,
    block_from_dict,
)
from promptdsl.components.any_turn import Turn
from promptdsl.components.events import StateChange, SystemEvent, UserAction
from promptdsl.components.history import History
from promptdsl.components.media import Image
from promptdsl.components.requests import Ephemeral, Grounding
from promptdsl.components.sections import Fragment, Note, Section, include
from promptdsl.components.text import Text, Value, dedent
from promptdsl.components.timeline import Timeline
from promptdsl.components.tools import ToolMessage, ToolResult, ToolUse
from promptdsl.components.turns import (
    Assistant,
    Developer,
    Event,
    System,
    User,
)
from promptdsl.config import MessageTransformationConfig
from promptdsl.encoding import decode
from promptdsl.errors import (
    ConfigError,
    ContentError,
    DataError,
    LossError,
    MediaError,
    OptionError,
    PairingError,
    PendingToolCalls,
    PlacementError,
    PromptError,
    ScopeError,
    TargetError,
    TemplateError,
)
from promptdsl.losses import Loss
from promptdsl.messages import Message, Origin
from promptdsl.rendering import Rendered, Stage, render
from promptdsl.scope import detached
from promptdsl.sources import MediaSource, Source
from promptdsl.tree import Node

__all__ = [
    "Assistant",
    "AudioBlock",
    "Block",
    "CodeBlock",
    "ConfigError",
    "ContentError",
    "DataError",
    "Developer",
    "DocumentBlock",
    "Ephemeral",
    "Event",
    "Fragment",
    "Grounding",
    "History",
    "Image",
    "ImageBlock",
    "JsonBlock",
    "Loss",
    "LossError",
    "MediaError",
    "MediaSource",
    "Message",
    "MessageTransformationConfig",
    "Node",
    "Note",
    "OptionError",
    "Origin",
    "PairingError",
    "PendingToolCalls",
    "PlacementError",
    "PromptError",
    "ReasoningBlock",
    "Rendered",
    "ScopeError",
    "Section",
    "Source",
    "Stage",
    "StateChange",
    "StateChangeBlock",
    "System",
    "SystemEvent",
    "SystemEventBlock",
    "TargetError",
    "TemplateError",
    "Text",
    "TextBlock",
    "Timeline",
    "ToolMessage",
    "ToolResult",
    "ToolResultBlock",
    "ToolUse",
    "ToolUseBlock",
    "Turn",
    "UnknownBlock",
    "User",
    "UserAction",
    "UserActionBlock",
    "Value",
    "VideoBlock",
    "block_from_dict",
    "decode",
    "dedent",
    "detached",
    "include",
    "render",
]
